"""A run as one HTML file that needs nothing beside it: the timeline, the cost by line, the source with both. Made by Jinja2."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from typing import NamedTuple

from markupsafe import Markup

from xlalint.diagnostics.finding import Finding
from xlalint.report.pages import SHADES, around, highlight_rows, lines_of, page
from xlalint.report.run import KINDS, codes, duration, format_counts, how_it_went, number, reasons, what_it_cost
from xlalint.report.run.timeline import HEIGHT, LEFT, WIDTH, lanes
from xlalint.verify.joined import Joined, Line
from xlalint.verify.seen import plural, shorten_path

_REASONS = 4  # that are shown of a line

TextOf = Callable[[str], "str | None"]


class RunNote(NamedTuple):
    """Annotates a row: with what was observed ("compilation" and so on) or predicted ("finding")."""

    looks: str
    head: str
    text: str


class RunRow(NamedTuple):
    """One row of source, as HTML; `heat` from 0 to 5 by what it cost."""

    number: int
    code: Markup
    cost: str
    heat: int
    notes: list[RunNote]


class RunFile(NamedTuple):
    """The rows of a file that are shown; None stands for rows that are left out."""

    path: str
    rows: list[RunRow | None]


def render(joined: Joined, script: str, text_of: TextOf) -> str:
    """The page."""
    lines = joined.lines
    return page(
        "run/page.html.jinja",
        codes=codes,
        duration=duration,
        plural=plural,
        shown=shorten_path,
        reasons=reasons,
        script=script,
        how=how_it_went(joined, script),
        cost=what_it_cost(joined),
        warm=format_counts(joined.warm),
        lanes=lanes(joined),
        size={"width": WIDTH, "height": HEIGHT, "left": LEFT},
        steps=number(len(joined.recording.steps), "step"),
        sections=_sections(joined),
        kinds=KINDS,
        most=max((line.seconds for line in lines), default=0.0),
        predicted_only=joined.predicted_only,
        files=list(_files(joined, text_of)),
    )


def _sections(joined: Joined) -> list[tuple[str, str, Sequence[Line]]]:
    told: list[tuple[str, str, Sequence[Line]]] = [
        ("Predicted and observed", "xlalint check says so without running anything.", joined.predicted),
        ("Observed only", "The analysis missed these, or they are not of this project.", joined.observed_only),
    ]
    return [section for section in told if section[2]]


def _files(joined: Joined, text_of: TextOf) -> Iterator[RunFile]:
    """The source of all files that have something to say, the costliest first."""
    cost: dict[str, float] = defaultdict(float)
    lines: dict[str, dict[int, list[Line]]] = defaultdict(lambda: defaultdict(list))
    for line in joined.lines:
        cost[line.place.file] += line.seconds
        lines[line.place.file][line.place.line].append(line)
    findings: dict[str, dict[int, list[Finding]]] = defaultdict(lambda: defaultdict(list))
    met = [finding for line in joined.lines for finding in line.findings]
    for finding in dict.fromkeys(finding for finding in (*met, *joined.predicted_only)):
        findings[finding.filename][finding.location.row].append(finding)
    most = max((line.seconds for line in joined.lines), default=0.0)
    for file in sorted({*lines, *findings} - {""}, key=lambda file: (-cost[file], file)):
        text = text_of(file)
        if text is not None:
            yield RunFile(shorten_path(file), list(_rows(text, lines[file], findings[file], most)))


def _rows(
    text: str, lines: dict[int, list[Line]], findings: dict[int, list[Finding]], most: float
) -> Iterator[RunRow | None]:
    source = lines_of(text)
    code = highlight_rows(source, around({*lines, *findings}, len(source)))
    last = 0
    for row, shown_line in code.items():
        if row > last + 1:
            yield None
        last = row
        own = lines.get(row, [])
        seconds = sum(line.seconds for line in own)
        notes = [*_list_observed(own), *_list_predicted(findings.get(row, []))]
        cost = duration(seconds) if seconds >= 0.0005 else ""
        yield RunRow(row, shown_line, cost, _heat(seconds, most) if own else 0, notes)
    if last < len(source):
        yield None


def _list_observed(lines: Sequence[Line]) -> Iterator[RunNote]:
    for line in lines:
        head = f"{plural(line.count, line.kind)} in {number(line.steps, 'step')}"
        yield RunNote(line.kind, head, "; ".join(reasons(line, _REASONS)))


def _list_predicted(findings: Sequence[Finding]) -> Iterator[RunNote]:
    for finding in findings:
        yield RunNote("finding", f"{finding.code} {finding.name}", finding.message)


def _heat(seconds: float, most: float) -> int:
    """A shade for a cost, logarithmic over three decades below the costliest; at least 1."""
    if not most or not seconds:
        return 1
    return max(1, round(SHADES * (1 + math.log10(seconds / most) / 3)))
