"""SARIF 2.1.0: the rules with their pages, the chain of calls that makes code traced as a code flow, fixes, and fingerprints.

Files are told relative to the repository's folder, as code scanning takes them; SRCROOT says where that is. In notebooks, regions are those
of the JSON, which is what the artifact holds; the cell is a logical location and in the message.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

from xlalint import __version__
from xlalint.baseline.identity import fingerprints
from xlalint.fixes.toolkit.edits import Offsets
from xlalint.report.json import document
from xlalint.report.view import View

if TYPE_CHECKING:
    from xlalint.diagnostics.finding import Edit, Finding, Location, TraceStep
    from xlalint.rules import Rule

_SCHEMA = "https://docs.oasis-open.org/sarif/sarif/v2.1.0/errata01/os/schemas/sarif-schema-2.1.0.json"
_LEVELS = {"error": "error", "warning": "warning", "info": "note"}
_WORST = ("error", "warning", "info")
_PRECISIONS = {"certain": "very-high", "likely": "high", "possible": "medium"}
_FOLDER = "SRCROOT"
_FINGERPRINT = "xlalint/v1"
_LINK = re.compile(r"\[(?=[^\]]*\]\()")  # what a reader would take for a link


def render(findings: Sequence[Finding], view: View) -> str:
    """The log of one run."""
    rules = _Rules(findings, view)
    places = _Artifacts(view)
    marks = fingerprints(findings, view.base, view.texts)
    run: dict[str, Any] = {
        "tool": {
            "driver": {
                "name": "xlalint",
                "fullName": f"xlalint {__version__}",
                "version": __version__,
                "semanticVersion": __version__,
                "rules": rules.descriptors,
            }
        },
        "invocations": [_invocation(view)],
        "originalUriBaseIds": {_FOLDER: {"uri": Path(view.base).as_uri().rstrip("/") + "/"}},
        "columnKind": "unicodeCodePoints",
        "results": [_result(finding, mark, rules, places, view) for finding, mark in zip(findings, marks, strict=True)],
    }
    if view.analysis:
        run["automationDetails"] = {"id": f"{view.analysis}/"}
    return document({"$schema": _SCHEMA, "version": "2.1.0", "runs": [run]}, ascii_only=view.ascii_only)


def _invocation(view: View) -> dict[str, Any]:
    told: dict[str, Any] = {"executionSuccessful": not view.checked.failures}
    if view.checked.failures:
        told["toolExecutionNotifications"] = [
            {"level": "error", "message": {"text": _plain(failure)}} for failure in view.checked.failures
        ]
    return told


class _Rules:
    """The rules that were broken, and where each is among them."""

    def __init__(self, findings: Sequence[Finding], view: View) -> None:
        first = {finding.code: finding for finding in reversed(findings)}
        self.index = {code: number for number, code in enumerate(sorted(first))}
        known = view.checked.rules() if first else {}
        self.descriptors = [_descriptor(first[code], known.get(code), view) for code in self.index]


def _descriptor(finding: Finding, rule: Rule | None, view: View) -> dict[str, Any]:
    told: dict[str, Any] = {"id": finding.code, "name": finding.name}
    if view.public(finding.url):
        told["helpUri"] = finding.url
    if rule is None:
        return told
    worst = next((level for level in _WORST if level in rule.severity.values()), "warning")
    return told | {
        "shortDescription": {"text": rule.summary},
        "fullDescription": {"text": rule.summary},
        "help": {"text": rule.help or rule.summary, "markdown": rule.text},
        "defaultConfiguration": {"level": _LEVELS[worst]},
        "properties": {"tags": [rule.kind, *rule.frameworks], "precision": "high"},
    }


class _Artifacts:
    """Places in files."""

    def __init__(self, view: View) -> None:
        self._view = view

    def artifact(self, filename: str) -> dict[str, Any]:
        """A file: relative to the repository's folder, or if it is elsewhere absolute."""
        base = self._view.base.rstrip(os.sep) + os.sep
        if filename.startswith(base):
            inside = filename.removeprefix(base).replace(os.sep, "/")
            return {"uri": quote(os.fsencode(inside)), "uriBaseId": _FOLDER}
        path = Path(filename)
        return {"uri": path.as_uri() if path.is_absolute() else quote(os.fsencode(filename))}

    def region(self, filename: str, cell: int | None, start: Location, end: Location) -> dict[str, Any]:
        """An extent, whose end is exclusive."""
        start, end = (self._view.in_file(filename, cell, place) for place in (start, end))
        return {"startLine": start.row, "startColumn": start.column, "endLine": end.row, "endColumn": end.column}

    def snippet(self, finding: Finding) -> dict[str, Any]:
        """The text of an extent, where it can be read."""
        text = self._view.texts.of(finding)
        if text is None or finding.end_location <= finding.location:
            return {}
        offsets = Offsets(text)
        found = text[offsets.at(finding.location) : offsets.at(finding.end_location)]
        return {"snippet": {"text": found}} if found else {}

    def step(self, step: TraceStep) -> dict[str, Any]:
        """A link of a chain of calls."""
        physical = {
            "artifactLocation": self.artifact(step.filename),
            "region": {"startLine": self._view.step_row(step)},
        }
        said = f"{step.name} ({step.why})" if step.why else step.name
        return {"physicalLocation": physical, "message": {"text": _plain(said)}} | _inside(step.name, step.cell)

    def location(self, finding: Finding) -> dict[str, Any]:
        """Where a finding is."""
        region = self.region(finding.filename, finding.cell, finding.location, finding.end_location)
        physical = {
            "artifactLocation": self.artifact(finding.filename),
            "region": region | self.snippet(finding),
        }
        return {"physicalLocation": physical} | _inside(finding.trace[-1].name if finding.trace else "", finding.cell)

    def edits(self, edits: Sequence[Edit]) -> Iterator[dict[str, Any]]:
        """The replacements that edits of a file are."""
        for edit in edits:
            region = self.region("", None, edit.location, edit.end_location)
            yield {"deletedRegion": region, "insertedContent": {"text": edit.content}}


def _inside(function: str, cell: int | None) -> dict[str, Any]:
    told = [{"fullyQualifiedName": function, "kind": "function"}] if function else []
    if cell is not None:
        told.append({"name": f"cell {cell}", "kind": "module"})
    return {"logicalLocations": told} if told else {}


def _result(finding: Finding, fingerprint: str, rules: _Rules, places: _Artifacts, view: View) -> dict[str, Any]:
    cell = f"{view.within(finding)}: " if finding.cell is not None else ""
    help_ = f"\n{finding.help}" if finding.help else ""
    told: dict[str, Any] = {
        "ruleId": finding.code,
        "ruleIndex": rules.index[finding.code],
        "level": _LEVELS[finding.severity],
        "message": {"text": _plain(f"{cell}{finding.message}{help_}")},
        "locations": [places.location(finding)],
        "partialFingerprints": {_FINGERPRINT: fingerprint},
        "properties": {
            "confidence": finding.confidence,
            "precision": _PRECISIONS[finding.confidence],
            "kind": finding.kind,
        },
    }
    if finding.framework is not None:
        told["properties"]["framework"] = finding.framework
    if finding.frequency is not None:
        told["properties"]["frequency"] = finding.frequency
    if finding.no_fix:
        told["properties"]["noFix"] = finding.no_fix
    if finding.trace:
        told["codeFlows"] = [_flow(finding, places)]
    if finding.fix is not None and finding.fix.edits and finding.cell is None:
        change = {
            "artifactLocation": places.artifact(finding.filename),
            "replacements": list(places.edits(finding.fix.edits)),
        }
        told["fixes"] = [
            {
                "description": {"text": _plain(finding.fix.message)},
                "artifactChanges": [change],
                "properties": {"applicability": finding.fix.applicability},
            }
        ]
    return told


def _flow(finding: Finding, places: _Artifacts) -> dict[str, Any]:
    """The calls from what is traced to the finding."""
    steps = [{"location": places.step(step), "nestingLevel": depth} for depth, step in enumerate(finding.trace)]
    here = places.location(finding) | {"message": {"text": _plain(finding.message)}}
    return {"threadFlows": [{"locations": [*steps, {"location": here, "nestingLevel": len(steps)}]}]}


def _plain(text: str) -> str:
    """A text with nothing in it that a reader of SARIF takes for a link."""
    return _LINK.sub(r"\\[", text)
