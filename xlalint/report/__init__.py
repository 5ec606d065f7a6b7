"""Findings → text: `full` for people, `concise` for terminals and editors, the others for programs, forges and browsers."""

from __future__ import annotations

from collections.abc import Sequence
from importlib import import_module
from typing import TYPE_CHECKING

from xlalint.report.cells import Cells, cells_of
from xlalint.report.fixes import fix_hint, fixes
from xlalint.report.order import find_usual_confidence, sort_findings
from xlalint.report.statistics import statistics
from xlalint.report.summary import summary
from xlalint.report.view import Checked, View

if TYPE_CHECKING:
    from xlalint.diagnostics.finding import Finding

__all__ = [
    "FORMATS",
    "FOR_PEOPLE",
    "Cells",
    "Checked",
    "View",
    "cells_of",
    "fix_hint",
    "fixes",
    "render",
    "statistics",
    "summary",
]

# Each is what `render` of the module of its name makes of findings and a view; imported when it is asked for.
FORMATS = (
    "full",
    "concise",
    "json",
    "json-lines",
    "sarif",
    "github",
    "gitlab",
    "junit",
    "rdjson",
    "markdown",
    "html",
)
FOR_PEOPLE = ("full", "concise")


def render(findings: Sequence[Finding], form: str, view: View) -> str:
    """All findings (their places in cells), in the view's order, in one of `FORMATS`."""
    if form not in FORMATS:
        raise KeyError(form)
    module = import_module(f"xlalint.report.{form.replace('-', '_')}")
    usual = view._replace(usual_confidence=find_usual_confidence(findings))
    text: str = module.render(sort_findings(findings, view.order), usual)
    return text
