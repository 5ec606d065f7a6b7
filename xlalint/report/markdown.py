"""Markdown for a comment on a pull request or the summary of a job: what was found, how often, and where, in as much as a comment holds."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from xlalint.report.full import notes
from xlalint.report.order import rank_files, rank_rules
from xlalint.report.printable import printable
from xlalint.report.summary import by_severity, describe_program, describe_unjudged, format_count
from xlalint.report.view import View

if TYPE_CHECKING:
    from xlalint.diagnostics.finding import Finding

_CODE = re.compile(r"(`[^`]*`)")
_ACTIVE = re.compile(r"([\\*_\[\]<>#|~&$@])")
_FENCE = re.compile(r"`+")
# GitHub refuses comments that are longer, and a job's summary above 1 MiB.
_LONGEST = 65_536
_FAILURES, _FAILURE = 20, 500  # how many internal errors are shown, and how many characters of each
_ROOM = 200  # for the line that says how much is left out


def render(findings: Sequence[Finding], view: View) -> str:
    """The text. Findings that there is no room for are counted, in the table and at the end."""
    head, tail = list(_head(findings, view)), list(_failures(view))
    room = _LONGEST - _ROOM - sum(len(line) + 1 for line in (*head, *tail))
    shown = 0
    groups: defaultdict[str, list[Finding]] = defaultdict(list)
    for finding in findings:
        groups[finding.filename].append(finding)
    files = rank_files(findings) if view.order == "cost" else list(groups)
    findings = [finding for filename in files for finding in groups[filename]]
    for filename in files:
        title = f"\n#### {_code(view.path(filename))}\n"
        for finding in groups[filename]:
            lines = [*([title] if title else []), *_finding(finding, view)]
            room -= sum(len(line) + 1 for line in lines)
            if room < 0:
                break
            head += lines
            title = ""
            shown += 1
        if room < 0:
            left = findings[shown:]
            places = format_count(len({finding.filename for finding in left}), "file")
            head.append(
                f"\n… and {format_count(len(left), 'more finding')} in {places}, for which there is no room here."
            )
            break
    return "\n".join([*head, *tail]) + "\n"


def _head(findings: Sequence[Finding], view: View) -> Iterator[str]:
    checked = f"{format_count(view.checked.files, 'file')} checked{describe_program(view)}."
    unjudged = [f"\n{describe_unjudged(view)}"] if view.checked.unjudged else []
    if not findings:
        yield f"### xlalint: {'nothing found' if unjudged else 'all clear'}\n\n{checked}"
        yield from unjudged
        return
    places = format_count(len({finding.filename for finding in findings}), "file")
    yield f"### xlalint: {by_severity(findings)} in {places}\n\n{checked}\n"
    yield from _table(findings)
    yield from unjudged


def _failures(view: View) -> Iterator[str]:
    failures = view.checked.failures
    for failure in failures[:_FAILURES]:
        yield f"\n**internal error**: {escape(failure[:_FAILURE])}"
    if len(failures) > _FAILURES:
        yield f"\n{format_count(len(failures) - _FAILURES, 'more internal error')}."


def _table(findings: Sequence[Finding]) -> Iterator[str]:
    yield "| rule | | severity | found |"
    yield "| --- | --- | --- | ---: |"
    for code, name, severity, number in rank_rules(findings):
        yield f"| {code} | {escape(name)} | {severity} | {number:,} |"


def _finding(finding: Finding, view: View) -> Iterator[str]:
    yield f"- **{view.within(finding)}** {finding.severity} {finding.code}: {escape(finding.message)}"
    yield from (f"  - {label}: {escape(text)}" for label, text in notes(finding, view))


def escape(text: str) -> str:
    """Escape a text, whose `code` stays code and whose other characters mean nothing to Markdown."""
    pieces = _CODE.split(printable(text))
    return "".join(
        _code(piece[1:-1]) if n % 2 else _ACTIVE.sub(r"\\\1", piece).replace("`", "\\`")
        for n, piece in enumerate(pieces)
    )


def _code(text: str) -> str:
    """A span of code, whatever is in it."""
    longest = max((len(run) for run in _FENCE.findall(text)), default=0)
    fence = "`" * (longest + 1)
    blank = " " if not text.strip() or longest else ""
    return f"{fence}{blank}{text}{blank}{fence}" if text else ""
