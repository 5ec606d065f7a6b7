"""The report of a run: its findings, and what went wrong inside xlalint."""

from __future__ import annotations

import msgspec

from xlalint.diagnostics.finding import Finding
from xlalint.project.packing import Decoder, encode


class Report(msgspec.Struct, frozen=True, array_like=True):
    """`findings` in order of place, `files` the number of files looked at, `failures` internal errors, a line each;
    `unjudged` where code trains that nothing judged: path and row; `targets` those for which files of a framework that has several are
    judged where the user does not say, and what tells: "code", "pins", or "" where nothing does."""

    findings: list[Finding]
    files: int
    failures: list[str]
    unjudged: list[tuple[str, int]] = []
    targets: list[tuple[str, str]] = []


_decoder: Decoder[Report] = Decoder(Report)


def encode_report(report: Report) -> bytes:
    """The form in which reports are cached."""
    return encode(report)


def decode_report(blob: bytes) -> Report | None:
    """The report of a cached blob; None when it is foreign."""
    return _decoder.decode_or_none(blob)
