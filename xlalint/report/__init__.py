"""Findings → text: `full` for people, `concise` for terminals and editors, `json` for programs."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from xlalint.report import concise, full, json
from xlalint.report.cells import Cells, cells_of
from xlalint.report.fixes import fix_hint, fixes
from xlalint.report.statistics import statistics
from xlalint.report.summary import summary
from xlalint.report.view import View

if TYPE_CHECKING:
    from xlalint.checks.finding import Finding

__all__ = ["FORMATS", "Cells", "View", "cells_of", "fix_hint", "fixes", "render", "statistics", "summary"]

FORMATS: dict[str, Callable[[Sequence[Finding], View], str]] = {
    "full": full.render,
    "concise": concise.render,
    "json": json.render,
}


def render(findings: Sequence[Finding], form: str, view: View) -> str:
    """All findings, in order of file and place, in one of `FORMATS`."""
    return FORMATS[form](sorted(findings, key=_place), view)


def _place(finding: Finding) -> tuple[str, int, int, int, str]:
    return finding.filename, finding.cell or 0, finding.location.row, finding.location.column, finding.code
