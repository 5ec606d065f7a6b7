"""One page that needs nothing beside it: what was found, a heat map of the files, the source with notes, and what the rules say."""

from __future__ import annotations

import math
import re
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import groupby
from typing import TYPE_CHECKING, NamedTuple
from urllib.parse import quote

from markdown_it import MarkdownIt
from markupsafe import Markup, escape
from pygments import highlight
from pygments.formatters import HtmlFormatter
from pygments.lexers import get_lexer_by_name
from pygments.util import ClassNotFound

from xlalint.report.full import notes
from xlalint.report.order import sort_findings
from xlalint.report.pages import SHADES, around, highlight_rows, lines_of, page
from xlalint.report.printable import printable
from xlalint.report.summary import by_severity, format_count
from xlalint.report.view import View

if TYPE_CHECKING:
    from xlalint.diagnostics.finding import Finding
    from xlalint.rules import Rule

_QUOTED = re.compile(r"`([^`]+)`")
_SEVERITIES = ("error", "warning", "info")
_HOLDERS = 12  # functions to begin with
_CHOICES = 200
_OPEN = 20  # files whose source is shown at once; of more, each is opened by a click


class Note(NamedTuple):
    """A finding below the row that it is in."""

    finding: Finding
    message: Markup
    details: list[tuple[str, Markup]]


class Row(NamedTuple):
    """One row of source; `anchor` names it in links."""

    number: int
    anchor: str
    code: Markup
    heat: int
    notes: list[Note]


class Part(NamedTuple):
    """A file, or a cell of a notebook: the rows that are shown, where None stands for rows that are left out. `loose` are the notes that
    belong to no row that can be read.
    """

    title: str
    rows: list[Row | None]
    loose: list[Note]


class File(NamedTuple):
    """A file, how much was found in it, and the shade for that; `anchor` names it in links."""

    path: str
    anchor: str
    folder: str
    name: str
    found: int
    heat: int
    parts: list[Part]


class Holder(NamedTuple):
    """A function that holds findings: how many, how many that cost at every step, and the severity and `anchor` of what costs most."""

    name: str
    path: str
    anchor: str
    severity: str
    found: int
    costly: int


class Broken(NamedTuple):
    """A rule as it was broken in one severity, and how often; `width` is a percentage."""

    code: str
    name: str
    summary: Markup
    severity: str
    found: int
    width: float


class Text(NamedTuple):
    """Holds the texts of a rule."""

    code: str
    name: str
    summary: Markup
    text: Markup


def render(findings: Sequence[Finding], view: View) -> str:
    """The page."""
    files = sorted(_files(findings, view), key=_worst_first(findings, view))
    known = view.checked.rules()
    tiles: defaultdict[str, list[File]] = defaultdict(list)
    for file in files:
        tiles[file.folder].append(file)
    text = page(
        "html.jinja",
        root_of=root_of,
        checked=f"{format_count(view.checked.files, 'file')} checked",
        found=by_severity(findings) if findings else "",
        places=format_count(len(files), "file"),
        failures=view.checked.failures,
        rules=_list_broken(findings, known),
        texts=_texts(findings, known),
        folders=list(tiles.items()),
        holders=_list_holders(findings, view),
        choices=_list_choices(findings),
        files=files,
        opened=len(files) <= _OPEN,
    )
    return text.encode("ascii", "xmlcharrefreplace").decode() if view.ascii_only else text


# ------------------------------------------------------------------------------------------------------------ files


def _files(findings: Sequence[Finding], view: View) -> Iterator[File]:
    counts = Counter(finding.filename for finding in findings)
    most = max(counts.values(), default=1)
    for filename, group in groupby(findings, key=lambda finding: finding.filename):
        path = view.path(filename)
        folder, _, name = path.rpartition("/")
        cells = groupby(group, key=lambda finding: finding.cell)
        parts = [_part(path, list(own), view) for _, own in cells]
        heat = _shade(counts[filename], most)
        yield File(path, _anchor(path), f"{folder}/" if folder else "", name, counts[filename], heat, parts)


def _worst_first(findings: Sequence[Finding], view: View) -> Callable[[File], tuple[int, int, int, str]]:
    """The order of files: most errors first, then what costs in each step, then all, then by path."""
    errors = Counter(view.path(finding.filename) for finding in findings if finding.severity == "error")
    steps = Counter(view.path(finding.filename) for finding in findings if _is_costly(finding))
    return lambda file: (-errors[file.path], -steps[file.path], -file.found, file.path)


def _is_costly(finding: Finding) -> bool:
    return finding.frequency == "step" and finding.severity != "info"


def _list_holders(findings: Sequence[Finding], view: View) -> list[Holder]:
    """The functions to begin with: those of most errors, then of what costs in each step, then of most findings."""
    by_holder: defaultdict[tuple[str, str], list[Finding]] = defaultdict(list)
    for finding in sort_findings(findings, "cost"):
        if finding.trace:
            by_holder[finding.filename, finding.trace[-1].name].append(finding)
    found = [
        Holder(
            name,
            view.path(filename),
            _anchor(f"{view.path(filename)}{f':cell {own[0].cell}' if own[0].cell else ''}:{own[0].location.row}"),
            own[0].severity,
            len(own),
            sum(map(_is_costly, own)),
        )
        for (filename, name), own in by_holder.items()
    ]
    errors = Counter((one.filename, one.trace[-1].name) for one in findings if one.trace and one.severity == "error")
    by_path = {view.path(filename): filename for filename, _ in by_holder}
    found.sort(key=lambda one: (-errors[by_path[one.path], one.name], -one.costly, -one.found, one.path, one.name))
    return found[:_HOLDERS]


def _list_choices(findings: Sequence[Finding]) -> list[tuple[str, list[tuple[str, int]]]]:
    """List the facts that findings can be chosen by: a label, and its values with how many have them; none with a single value."""
    asked: dict[str, Callable[[Finding], str]] = {
        "severity": lambda one: one.severity,
        "rule": lambda one: one.code,
        "framework": lambda one: one.framework or "",
        "confidence": lambda one: one.confidence,
        "frequency": lambda one: one.frequency or "",
        "root": root_of,
    }
    counted = ((label, Counter(filter(None, map(value, findings)))) for label, value in asked.items())
    return [
        (label, sorted(counts.items(), key=lambda item: (-item[1], item[0]))[:_CHOICES])
        for label, counts in counted
        if len(counts) > 1
    ]


def root_of(finding: Finding) -> str:
    """The name of the function that tracing begins with."""
    return finding.trace[0].name if finding.trace else ""


def _anchor(place: str) -> str:
    """A name for a place which links have as it is: without blanks, and no browser takes anything in it for an escape."""
    return quote(place, safe="/:")


def _part(path: str, findings: list[Finding], view: View) -> Part:
    cell = findings[0].cell
    place = path if cell is None else f"{path}:cell {cell}"
    text = view.texts.of(findings[0])
    title = "" if cell is None else f"cell {cell}"
    if text is None:
        return Part(title, [], [_note(finding, view) for finding in findings])
    marks: dict[int, list[tuple[int, int]]] = defaultdict(list)
    for finding in findings:
        for row, extent in _extents(finding):
            marks[row].append(extent)
    lines = lines_of(text)
    by_row: dict[int, list[Finding]] = defaultdict(list)
    for finding in findings:
        by_row[finding.location.row].append(finding)
    loose = [_note(finding, view) for row, own in by_row.items() if row > len(lines) for finding in own]
    code = highlight_rows(lines, around(by_row, len(lines)), marks)
    return Part(title, list(_rows(code, len(lines), by_row, place, view)), loose)


def _rows(
    code: Mapping[int, Markup], count: int, by_row: Mapping[int, Sequence[Finding]], place: str, view: View
) -> Iterator[Row | None]:
    last = 0
    for row, line in code.items():
        if row > last + 1:
            yield None
        last = row
        own = by_row.get(row, ())
        heat = {"error": 3, "warning": 2, "info": 1}[own[0].severity] if own else 0
        yield Row(row, _anchor(f"{place}:{row}"), line, heat, [_note(finding, view) for finding in own])
    if last < count:
        yield None


def _extents(finding: Finding) -> Iterator[tuple[int, tuple[int, int]]]:
    """The rows of what a finding underlines, each from one code point to another; where it goes on, to the end of the row."""
    start, end = finding.location, finding.end_location
    for row in range(start.row, end.row + 1):
        yield row, (start.column - 1 if row == start.row else 0, end.column - 1 if row == end.row else 1 << 30)


def _note(finding: Finding, view: View) -> Note:
    told = [(label, _write_sentence(text)) for label, text in notes(finding, view)]
    return Note(finding, _write_sentence(finding.message), told)


def _write_sentence(text: str) -> Markup:
    """A sentence, its `code` as code."""
    pieces = _QUOTED.split(printable(text))
    return Markup("").join(
        Markup("<code>{}</code>").format(piece) if n % 2 else escape(piece) for n, piece in enumerate(pieces)
    )


def _shade(count: int, most: int) -> int:
    return max(1, math.ceil(SHADES * math.log1p(count) / math.log1p(most)))


# ------------------------------------------------------------------------------------------------------------ rules


def _list_broken(findings: Sequence[Finding], known: Mapping[str, Rule]) -> list[Broken]:
    counts = Counter((finding.code, finding.name, finding.severity) for finding in findings)
    most = max(counts.values(), default=1)
    return [
        Broken(
            code,
            name,
            _write_sentence(known[code].summary if code in known else ""),
            severity,
            number,
            100 * number / most,
        )
        for (code, name, severity), number in sorted(
            counts.items(), key=lambda item: (_SEVERITIES.index(item[0][2]), -item[1], item[0])
        )
    ]


def _texts(findings: Sequence[Finding], known: Mapping[str, Rule]) -> list[Text]:
    markdown = MarkdownIt("commonmark", {"html": False, "highlight": _code}).enable("table")
    rules = [known[code] for code in sorted({finding.code for finding in findings}) if code in known]
    return [
        Text(rule.code, rule.name, _write_sentence(rule.summary), Markup(markdown.render(rule.text))) for rule in rules
    ]


def _code(text: str, info: str, __: str) -> str:
    """A fence of a page, in colours; the page's own style is for `.code`."""
    language, _, told = info.partition(" ")
    try:
        lexer = get_lexer_by_name(language) if language else None
    except ClassNotFound:
        lexer = None
    coloured = highlight(text, lexer, HtmlFormatter(nowrap=True)) if lexer is not None else escape(text)
    kind = escape(told.partition(" ")[0])
    return f'<pre class="code" data-kind="{kind}"><code>{coloured}</code></pre>'
