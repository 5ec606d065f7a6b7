"""JUnit's XML, which every continuous integration shows: a suite a file, a failed case a finding."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import groupby
from operator import attrgetter
from typing import TYPE_CHECKING
from xml.etree import ElementTree

from xlalint.report.full import notes
from xlalint.report.printable import printable
from xlalint.report.view import View

if TYPE_CHECKING:
    from xlalint.diagnostics.finding import Finding


def render(findings: Sequence[Finding], view: View) -> str:
    """The document. A run that found nothing is one case that passed: many readers refuse a report without any."""
    suites = [_suite(filename, list(group), view) for filename, group in groupby(findings, key=attrgetter("filename"))]
    if view.checked.failures:
        suites.append(_failures(view.checked.failures))
    if not suites:
        suites.append(_make("testsuite", {"name": "xlalint"}, [_make("testcase", {"name": "no findings"})]))
    for suite in suites:
        suite.attrib |= _counts(suite)
    document = _make("testsuites", {"name": "xlalint"}, suites)
    document.attrib |= _counts(document)
    ElementTree.indent(document)
    text = ElementTree.tostring(document, "us-ascii" if view.ascii_only else "utf-8", xml_declaration=False).decode()
    return f'<?xml version="1.0" encoding="UTF-8"?>\n{text}\n'


def _suite(filename: str, findings: list[Finding], view: View) -> ElementTree.Element:
    return _make("testsuite", {"name": view.path(filename)}, [_case(finding, view) for finding in findings])


def _case(finding: Finding, view: View) -> ElementTree.Element:
    place = view.place(finding)
    path = view.path(finding.filename)
    said = "\n".join(
        [f"{place}: {finding.code} {finding.message}", *(f"{label}: {text}" for label, text in notes(finding, view))]
    )
    failure = _make("failure", {"type": finding.severity, "message": finding.message})
    failure.text = "\n".join(_text(line) for line in said.split("\n"))
    start = view.in_file(finding.filename, finding.cell, finding.location)
    told = {"name": f"{finding.code} {place}", "classname": path, "file": path, "line": str(start.row)}
    return _make("testcase", told, [failure])


def _failures(failures: Sequence[str]) -> ElementTree.Element:
    cases = [
        _make("testcase", {"name": f"internal error {number}"}, [_make("error", {"message": failure})])
        for number, failure in enumerate(failures, 1)
    ]
    return _make("testsuite", {"name": "xlalint"}, cases)


def _counts(element: ElementTree.Element) -> dict[str, str]:
    tags = {"tests": "testcase", "failures": "failure", "errors": "error"}
    return {name: str(sum(1 for _ in element.iter(tag))) for name, tag in tags.items()}


def _make(tag: str, told: dict[str, str], children: Sequence[ElementTree.Element] = ()) -> ElementTree.Element:
    element = ElementTree.Element(tag, {key: _text(value) for key, value in told.items()})
    element.extend(children)
    return element


def _text(text: str) -> str:
    """A text as XML can hold it: without control characters, lone surrogates and what is no character."""
    return "".join(_characters(printable(text)))


def _characters(text: str) -> Iterator[str]:
    for character in text:
        yield "�" if "\ud800" <= character <= "\udfff" or character in "\ufffe\uffff" else character
