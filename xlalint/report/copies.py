"""Findings in copies of one function → one entry: a class that was copied into a dozen files is read, and mended, once."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from xlalint.diagnostics.finding import Finding
    from xlalint.report.view import View

_NAMED = 3


class Folded(NamedTuple):
    """A finding, and those like it in copies of the function that holds it."""

    finding: Finding
    copies: list[Finding]


def fold_copies(findings: Sequence[Finding]) -> list[Folded]:
    """Return the findings, in order, each with those that follow it in copies: the same rule at the same place in functions that do the
    same, as bad and as often."""
    entries: list[Folded] = []
    first: dict[tuple[str, str, str, str | None], Folded] = {}
    for finding in findings:
        entry = Folded(finding, [])
        if finding.copy_key:
            key = finding.copy_key, finding.code, finding.severity, finding.frequency
            known = first.setdefault(key, entry)
            if known is not entry:
                known.copies.append(finding)
                continue
        entries.append(entry)
    return entries


def describe_copies(copies: Sequence[Finding], view: View) -> str:
    """`11 more, in copies of the function: b.py:12, c.py:40, d.py:9, …`"""
    named = ", ".join(f"{view.path(one.filename)}:{view.row(one)}" for one in copies[:_NAMED])
    more = ", …" if len(copies) > _NAMED else ""
    copied = "a copy" if len(copies) == 1 else "copies"
    return f"{len(copies):,} more, in {copied} of the function: {named}{more}"
