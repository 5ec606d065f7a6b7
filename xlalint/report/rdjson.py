"""Reviewdog's format. It knows files only by their lines, and counts columns in bytes of UTF-8."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from xlalint.baseline.identity import relative
from xlalint.diagnostics.finding import Location
from xlalint.fixes.toolkit.edits import Change, Offsets
from xlalint.report.json import document
from xlalint.report.view import View

if TYPE_CHECKING:
    from xlalint.diagnostics.finding import Finding, Fix

_SEVERITIES = {"error": "ERROR", "warning": "WARNING", "info": "INFO"}


def render(findings: Sequence[Finding], view: View) -> str:
    """The document."""
    places = _Places(view)
    told = {
        "source": {"name": "xlalint"},
        "severity": "WARNING",
        "diagnostics": [_diagnostic(finding, view, places) for finding in findings],
    }
    return document(told, ascii_only=view.ascii_only)


class _Places:
    """Places as reviewdog counts them, in files as far as they can be read."""

    def __init__(self, view: View) -> None:
        self._view = view
        self._known: dict[str, Offsets] = {}

    def offsets(self, filename: str) -> Offsets:
        """The text of a file and where its rows begin."""
        if filename not in self._known:
            self._known[filename] = Offsets(self._view.text_of(filename) or "")
        return self._known[filename]

    def range(self, filename: str, cell: int | None, start: Location, end: Location) -> dict[str, Any]:
        """An extent; its end is exclusive."""
        return {"start": self._position(filename, cell, start), "end": self._position(filename, cell, end)}

    def suggestion(self, filename: str, fix: Fix) -> dict[str, Any]:
        """A fix as one replacement: reviewdog takes several for alternatives."""
        offsets = self.offsets(filename)
        spans = sorted(offsets.span(edit) for edit in fix.edits)
        start = min((edit.location for edit in fix.edits), default=Location(1, 1))
        end = max((edit.end_location for edit in fix.edits), default=start)
        first = offsets.at(start)
        moved = tuple(span._replace(start=span.start - first, end=span.end - first) for span in spans)
        text = Change((), moved).apply(offsets.text[first : offsets.at(end)])
        return {"range": self.range(filename, None, start, end), "text": text}

    def _position(self, filename: str, cell: int | None, place: Location) -> dict[str, int]:
        if cell is not None:  # the JSON of notebooks has little beyond ASCII
            place = self._view.in_file(filename, cell, place)
            return {"line": place.row, "column": place.column}
        offsets = self.offsets(filename)
        start = offsets.at(Location(place.row, 1))
        before = offsets.text[start : offsets.at(place)]
        beyond = place.column - 1 - len(before)
        return {"line": place.row, "column": len(before.encode("utf-8", "surrogatepass")) + beyond + 1}


def _diagnostic(finding: Finding, view: View, places: _Places) -> dict[str, Any]:
    cell = f"{view.within(finding)}: " if finding.cell is not None else ""
    told: dict[str, Any] = {
        "message": f"{cell}{finding.message}" + (f"\n{finding.help}" if finding.help else ""),
        "location": {
            "path": relative(finding.filename, view.folder),
            "range": places.range(finding.filename, finding.cell, finding.location, finding.end_location),
        },
        "severity": _SEVERITIES[finding.severity],
        "code": {"value": finding.code} | ({"url": finding.url} if view.public(finding.url) else {}),
    }
    # A suggestion is taken by a click: it has to be a safe one; and in a notebook it would have to be JSON.
    fix = finding.fix if finding.cell is None and finding.fixable(unsafe=view.unsafe_fixes) else None
    if fix is not None and fix.edits:
        told["suggestions"] = [places.suggestion(finding.filename, fix)]
    if finding.trace:
        told["related_locations"] = [
            {
                "message": f"{step.name} ({step.why})" if step.why else step.name,
                "location": {
                    "path": relative(step.filename, view.folder),
                    "range": {"start": {"line": view.step_row(step)}},
                },
            }
            for step in finding.trace
        ]
    return told
