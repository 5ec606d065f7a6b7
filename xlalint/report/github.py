"""Commands that a GitHub Actions job prints to annotate its files.

Files are told by absolute path: the runner knows which part of it is its workspace, whatever folder the job changed to. Notebooks are
annotated in the lines of their JSON, which are those that a pull request shows.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from xlalint.report.printable import printable
from xlalint.report.view import View

if TYPE_CHECKING:
    from xlalint.diagnostics.finding import Finding

_COMMANDS = {"error": "error", "warning": "warning", "info": "notice"}


def render(findings: Sequence[Finding], view: View) -> str:
    """One command a finding; what went wrong inside xlalint is an error of the job."""
    commands = [_command(finding, view) for finding in findings]
    commands += [f"::error title=xlalint::{_message(failure)}" for failure in view.checked.failures]
    return "".join(f"{command}\n" for command in commands)


def _command(finding: Finding, view: View) -> str:
    told = ",".join(f"{key}={_property(value)}" for key, value in _properties(finding, view))
    said = f"{view.place(finding)}: {finding.code} {finding.message}"
    if finding.help:
        said += f"\n{finding.help}"
    return f"::{_COMMANDS[finding.severity]} {told}::{_message(said)}"


def _properties(finding: Finding, view: View) -> Iterator[tuple[str, str]]:
    start = view.in_file(finding.filename, finding.cell, finding.location)
    end = view.in_file(finding.filename, finding.cell, finding.end_location)
    yield "title", f"{finding.code} {finding.name}"
    yield "file", finding.filename
    yield "line", str(start.row)
    yield "endLine", str(end.row)
    if start.row == end.row:  # columns of an annotation of several lines are refused
        yield "col", str(start.column)
        yield "endColumn", str(max(end.column, start.column))


def _message(text: str) -> str:
    return "%0A".join(printable(line) for line in text.replace("%", "%25").split("\n"))


def _property(text: str) -> str:
    return _message(text).replace(":", "%3A").replace(",", "%2C")
