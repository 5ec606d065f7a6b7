"""A report of GitLab's Code Quality: places relative to the checkout, and fingerprints by which branches are compared."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from xlalint.baseline.identity import fingerprints, relative
from xlalint.report.json import array
from xlalint.report.view import View

if TYPE_CHECKING:
    from xlalint.diagnostics.finding import Finding

_SEVERITIES = {"error": "critical", "warning": "major", "info": "info"}


def render(findings: Sequence[Finding], view: View) -> str:
    """The array, one finding a line."""
    told = zip(findings, fingerprints(findings, view.base, view.texts), strict=True)
    return array([_entry(finding, mark, view) for finding, mark in told], ascii_only=view.ascii_only)


def _entry(finding: Finding, fingerprint: str, view: View) -> dict[str, Any]:
    cell = f"{view.within(finding)}: " if finding.cell is not None else ""
    start = view.in_file(finding.filename, finding.cell, finding.location)
    end = view.in_file(finding.filename, finding.cell, finding.end_location)
    return {
        "description": f"{cell}{finding.code} {finding.message}",
        "check_name": finding.code,
        "fingerprint": fingerprint,
        "severity": _SEVERITIES[finding.severity],
        "location": {
            "path": relative(finding.filename, view.base),
            "positions": {
                "begin": {"line": start.row, "column": start.column},
                "end": {"line": end.row, "column": end.column},
            },
        },
        "content": {"body": finding.help},
    }
