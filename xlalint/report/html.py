"""One page that needs nothing beside it: what was found, a heat map of the files, the source with notes, and what the rules say."""

from __future__ import annotations

import json
import math
import re
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from itertools import groupby
from typing import TYPE_CHECKING, NamedTuple
from urllib.parse import quote

from markdown_it import MarkdownIt
from markupsafe import Markup, escape
from pygments import highlight
from pygments.formatters import HtmlFormatter
from pygments.lexers import get_lexer_by_name
from pygments.util import ClassNotFound

from xlalint.report.copies import fold_copies
from xlalint.report.full import notes
from xlalint.report.hunks import list_hunks
from xlalint.report.order import is_costly, rank_files, rank_rules, sort_findings
from xlalint.report.pages import SHADES, around, highlight_rows, lines_of, page
from xlalint.report.printable import printable
from xlalint.report.summary import by_severity, format_count
from xlalint.report.view import View

if TYPE_CHECKING:
    from xlalint.diagnostics.finding import Finding
    from xlalint.rules import Rule

_QUOTED = re.compile(r"`([^`]+)`")
_HOLDERS = 12  # functions to begin with
_OPEN = 20  # files whose source is shown at once; of more, each is opened by a click


class Note(NamedTuple):
    """A finding below the row that it is in. `facts` are what findings are chosen by, `hunks` the rows that its fix changes, as JSON, and
    `copies` the places and anchors of those like it in copies of the function, where it stands for them; one of these `is_copy`.
    """

    finding: Finding
    message: Markup
    details: list[tuple[str, Markup]]
    facts: dict[str, str]
    hunks: str
    copies: list[tuple[str, str]]
    is_copy: bool


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


class Root(NamedTuple):
    """A function that tracing begins with, by the name that `facts` have: what it leads to."""

    name: str
    found: int
    errors: int
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
    place = {view.path(filename): rank for rank, filename in enumerate(rank_files(findings))}
    files = sorted(_Files(findings, view).list_all(), key=lambda file: place[file.path])
    known = view.checked.rules()
    tiles: defaultdict[str, list[File]] = defaultdict(list)
    for file in files:
        tiles[file.folder].append(file)
    text = page(
        "html.jinja",
        checked=f"{format_count(view.checked.files, 'file')} checked",
        found=by_severity(findings) if findings else "",
        places=format_count(len(files), "file"),
        failures=view.checked.failures,
        rules=_list_broken(findings, known),
        texts=_texts(findings, known),
        folders=list(tiles.items()),
        holders=_list_holders(findings, view),
        choices=_list_choices(findings, view),
        roots=_list_roots(findings, view),
        folded=len(findings) - len(fold_copies(findings)),
        files=files,
        opened=len(files) <= _OPEN,
    )
    return text.encode("ascii", "xmlcharrefreplace").decode() if view.ascii_only else text


# ------------------------------------------------------------------------------------------------------------ files


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
            _anchor_of(own[0], view),
            own[0].severity,
            len(own),
            sum(map(is_costly, own)),
        )
        for (filename, name), own in by_holder.items()
    ]
    errors = Counter((one.filename, one.trace[-1].name) for one in findings if one.trace and one.severity == "error")
    by_path = {view.path(filename): filename for filename, _ in by_holder}
    found.sort(key=lambda one: (-errors[by_path[one.path], one.name], -one.costly, -one.found, one.path, one.name))
    return found[:_HOLDERS]


def _facts(finding: Finding, view: View) -> dict[str, str]:
    """Values by which findings can be chosen."""
    return {
        "severity": finding.severity,
        "rule": finding.code,
        "framework": finding.framework or "",
        "target": finding.target or "",
        "confidence": finding.confidence,
        "frequency": finding.frequency or "",
        "root": _name_root(finding, view),
    }


def _name_root(finding: Finding, view: View) -> str:
    """The function that tracing begins with, and its file: several have one name."""
    return f"{finding.trace[0].name} ({view.path(finding.trace[0].filename)})" if finding.trace else ""


def _list_choices(findings: Sequence[Finding], view: View) -> list[tuple[str, list[tuple[str, int]]]]:
    """List the facts that findings can be chosen by: a label, and its values with how many have them; none with a single value."""
    counts: defaultdict[str, Counter[str]] = defaultdict(Counter)
    for finding in findings:
        for label, value in _facts(finding, view).items():
            if value and label != "root":  # of which there are too many to list
                counts[label][value] += 1
    return [
        (label, sorted(own.items(), key=lambda item: (-item[1], item[0])))
        for label, own in counts.items()
        if len(own) > 1
    ]


def _list_roots(findings: Sequence[Finding], view: View) -> list[Root]:
    """The functions that tracing begins with: those that lead to most errors first, then to most that costs in each step."""
    by_root: defaultdict[str, list[Finding]] = defaultdict(list)
    for finding in findings:
        if finding.trace:
            by_root[_name_root(finding, view)].append(finding)
    found = [
        Root(name, len(own), sum(one.severity == "error" for one in own), sum(map(is_costly, own)))
        for name, own in by_root.items()
    ]
    return sorted(found, key=lambda one: (-one.errors, -one.costly, -one.found, one.name))


def _anchor_of(finding: Finding, view: View) -> str:
    """The anchor of the row that a finding is in."""
    return _anchor(f"{_place(view.path(finding.filename), finding.cell)}:{finding.location.row}")


def _place(path: str, cell: int | None) -> str:
    return path if cell is None else f"{path}:cell {cell}"


def _anchor(place: str) -> str:
    """A name for a place which links have as it is: without blanks, and no browser takes anything in it for an escape."""
    return quote(place, safe="/:")


class _Files:
    """Makes the files of a page."""

    def __init__(self, findings: Sequence[Finding], view: View) -> None:
        self._findings = findings
        self._view = view
        self._copies: dict[int, list[Finding]] = {}
        self._copied: set[int] = set()
        for entry in fold_copies(findings):
            self._copies[id(entry.finding)] = entry.copies
            self._copied.update(map(id, entry.copies))

    def list_all(self) -> Iterator[File]:
        """Yield the files, in order of their findings."""
        counts = Counter(finding.filename for finding in self._findings)
        most = max(counts.values(), default=1)
        for filename, group in groupby(self._findings, key=lambda finding: finding.filename):
            path = self._view.path(filename)
            folder, _, name = path.rpartition("/")
            cells = groupby(group, key=lambda finding: finding.cell)
            parts = [self._part(path, list(own)) for _, own in cells]
            heat = _shade(counts[filename], most)
            yield File(path, _anchor(path), f"{folder}/" if folder else "", name, counts[filename], heat, parts)

    def _part(self, path: str, findings: list[Finding]) -> Part:
        cell = findings[0].cell
        place = _place(path, cell)
        text = self._view.texts.of(findings[0])
        title = "" if cell is None else f"cell {cell}"
        if text is None:
            return Part(title, [], [self._note(finding, ()) for finding in findings])
        marks: dict[int, list[tuple[int, int]]] = defaultdict(list)
        for finding in findings:
            for row, extent in _extents(finding):
                marks[row].append(extent)
        lines = lines_of(text)
        by_row: dict[int, list[Finding]] = defaultdict(list)
        for finding in findings:
            by_row[finding.location.row].append(finding)
        loose = [self._note(finding, lines) for row, own in by_row.items() if row > len(lines) for finding in own]
        code = highlight_rows(lines, around(by_row, len(lines)), marks)
        return Part(title, list(self._rows(code, lines, by_row, place)), loose)

    def _rows(
        self, code: Mapping[int, Markup], lines: Sequence[str], by_row: Mapping[int, Sequence[Finding]], place: str
    ) -> Iterator[Row | None]:
        last = 0
        for row, line in code.items():
            if row > last + 1:
                yield None
            last = row
            own = by_row.get(row, ())
            heat = {"error": 3, "warning": 2, "info": 1}[own[0].severity] if own else 0
            yield Row(row, _anchor(f"{place}:{row}"), line, heat, [self._note(finding, lines) for finding in own])
        if last < len(lines):
            yield None

    def _note(self, finding: Finding, lines: Sequence[str]) -> Note:
        view = self._view
        told = [(label, _write_sentence(text)) for label, text in notes(finding, view)]
        edits = [edit for edit in finding.fix.edits if edit.cell == finding.cell] if finding.fix is not None else []
        hunks = [(one.row, one.before, one.after) for one in list_hunks(edits, lines)]
        copies = [
            (f"{view.path(one.filename)}:{view.row(one)}", _anchor_of(one, view))
            for one in self._copies.get(id(finding), ())
        ]
        return Note(
            finding,
            _write_sentence(finding.message),
            told,
            _facts(finding, view),
            json.dumps(hunks) if hunks else "",
            copies,
            id(finding) in self._copied,
        )


def _extents(finding: Finding) -> Iterator[tuple[int, tuple[int, int]]]:
    """The rows of what a finding underlines, each from one code point to another; where it goes on, to the end of the row."""
    start, end = finding.location, finding.end_location
    for row in range(start.row, end.row + 1):
        yield row, (start.column - 1 if row == start.row else 0, end.column - 1 if row == end.row else 1 << 30)


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
    ranked = rank_rules(findings)
    most = max((number for *_, number in ranked), default=1)
    return [
        Broken(
            code,
            name,
            _write_sentence(known[code].summary if code in known else ""),
            severity,
            number,
            100 * number / most,
        )
        for code, name, severity, number in ranked
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
