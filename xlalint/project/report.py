"""What a run says: its findings, and what went wrong inside xlalint."""

from __future__ import annotations

import msgspec

from xlalint.checks.finding import Finding


class Report(msgspec.Struct, frozen=True, array_like=True):
    """`findings` in order of place, `files` the number of files looked at, `failures` internal errors, a line each."""

    findings: list[Finding]
    files: int
    failures: list[str]


_decoder = msgspec.msgpack.Decoder(Report)


def encode_report(report: Report) -> bytes:
    """The form in which reports are cached."""
    return msgspec.msgpack.encode(report)


def decode_report(blob: bytes) -> Report | None:
    """The report of a cached blob; None when it is foreign."""
    try:
        return _decoder.decode(blob)
    except msgspec.MsgspecError:
        return None
