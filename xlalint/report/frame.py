"""The lines around a finding, with the culprit underlined: right also for tabs, wide characters and very long lines."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, NamedTuple

from xlalint.report.printable import printable
from xlalint.report.view import SEVERITY_STYLE, View, width

if TYPE_CHECKING:
    from xlalint.diagnostics.finding import Finding

_CONTEXT = 2
_LONGEST = 160
_UNDERLINED = 6  # rows of a long culprit that are shown, from its first
_TAB = "    "


class Frame(NamedTuple):
    """Ready lines, and how many columns the row numbers take."""

    margin: int
    lines: list[str]


def frame(finding: Finding, lines: Sequence[str], view: View) -> Frame | None:
    """The frame of a finding in a file's lines; None if the place is not there (any more)."""
    first, last = finding.location.row, max(finding.location.row, finding.end_location.row)
    if not 1 <= first <= len(lines) or not any(lines):
        return None
    cut = min(last, first + _UNDERLINED - 1, len(lines))
    rows = _trim(range(max(1, first - _CONTEXT), min(len(lines), cut + _CONTEXT) + 1), first, cut, lines)
    margin = len(str(rows[-1]))
    bar = view.paint("|", "blue")
    shown = [f"{' ' * margin} {bar}"]
    for row in rows:
        shown += _row(row, finding, lines[row - 1], view, margin, bar)
        if row == cut and cut < last:
            shown.append(f"{' ' * margin} {bar} {view.paint('...', 'dim')}")
            break
    return Frame(margin, [*shown, f"{' ' * margin} {bar}"])


def _trim(rows: range, first: int, last: int, lines: Sequence[str]) -> list[int]:
    """The rows without blank ones at the edges."""
    start, stop = rows.start, rows.stop
    while start < first and not lines[start - 1].strip():
        start += 1
    while stop - 1 > last and not lines[stop - 2].strip():
        stop -= 1
    return list(range(start, stop))


def _row(row: int, finding: Finding, line: str, view: View, margin: int, bar: str) -> Iterator[str]:
    start, end = _span(row, finding, line)
    offset = _window(start, end, line)
    piece = line[offset : offset + _LONGEST]
    before, after = "…" if offset else "", "…" if offset + _LONGEST < len(line) else ""
    number = view.paint(f"{row:>{margin}}", "blue")
    yield f"{number} {bar} {before}{_show(piece)}{after}".rstrip()
    if start < end:
        pad = width(before) + width(_show(line[offset:start]))
        marks = "^" * max(1, width(_show(line[start : min(end, offset + _LONGEST)])))
        yield f"{' ' * margin} {bar} {' ' * pad}{view.paint(marks, *SEVERITY_STYLE[finding.severity])}"


def _span(row: int, finding: Finding, line: str) -> tuple[int, int]:
    """Return the extent to underline in a row: code points from 0, end exclusive; (0, 0) for nothing."""
    begin, finish = finding.location, finding.end_location
    if not begin.row <= row <= max(begin.row, finish.row):
        return 0, 0
    start = begin.column - 1 if row == begin.row else len(line) - len(line.lstrip())
    end = finish.column - 1 if row == finish.row else len(line.rstrip())
    start = min(start, len(line))
    # Also an empty place, such as that of a syntax error at a line's end, gets one mark; a blank row inside gets none.
    return start, max(end, start + 1) if row == begin.row else end


def _window(start: int, end: int, line: str) -> int:
    """Where to begin showing a line that is too long: so that the culprit is seen with what stands before it."""
    if len(line) <= _LONGEST or end <= _LONGEST:
        return 0
    return max(0, start - _LONGEST // 4)


def _show(text: str) -> str:
    return printable(text.replace("\t", _TAB))
