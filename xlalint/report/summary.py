"""The last line of a report: how many findings, how bad, in how many files."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import TYPE_CHECKING

from xlalint.report.view import View
from xlalint.source.model import TOO_LARGE

if TYPE_CHECKING:
    from xlalint.diagnostics.finding import Finding


def summary(findings: Sequence[Finding], view: View) -> str:
    """`Found 3 errors, 1 warning in 2 files (1,533 checked, 1 too large).`"""
    files, known = view.checked.files, view.checked.known
    more = f" {format_count(known, 'more finding')} {'is' if known == 1 else 'are'} in the baseline." if known else ""
    if not findings:
        return f"{view.paint('All clear', 'bold')}: {format_count(files, 'file')} checked.{more}\n"
    places = format_count(len({finding.filename for finding in findings}), "file")
    found = view.paint(f"Found {by_severity(findings)}", "bold")
    large = sum(finding.code == TOO_LARGE for finding in findings)
    checked = f"{files - large:,} checked, {large:,} too large" if large else f"{files:,} checked"
    return f"{found} in {places} ({checked}).{more}\n"


def by_severity(findings: Sequence[Finding]) -> str:
    """`3 errors, 1 warning`"""
    counts = Counter(finding.severity for finding in findings)
    told = [format_count(counts[severity], severity) for severity in ("error", "warning") if counts[severity]]
    if counts["info"]:
        told.append(f"{counts['info']:,} for information")
    return ", ".join(told)


def format_count(number: int, noun: str) -> str:
    """Write a number with its noun: `1 file`, `1,533 files`."""
    return f"{number:,} {noun}" if number == 1 else f"{number:,} {noun}s"
