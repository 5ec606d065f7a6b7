"""Findings and the comments of their file → the findings that stay, and the comments that were of no use.

What the comments look like is said in `xlalint.source.directives`.
"""

from __future__ import annotations

from bisect import bisect_right
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Protocol, TypeVar

from xlalint.source.directives import Directive, Suppressions, shift, suppressions
from xlalint.source.lines import split_rows
from xlalint.source.model import SourceFile
from xlalint.source.unused import Unused, find_unused, means

__all__ = ["Directive", "Suppressions", "Unused", "apply", "suppressions", "suppressions_of"]

# Errors of reading: after one of them nothing else was looked for, so nothing can be called unused.
_UNREAD = ("XLA001", "XLA002", "XLA004")
_END = 1 << 31  # past the end of any range


class Placed(Protocol):
    """A finding as `apply` needs it."""

    @property
    def code(self) -> str: ...
    @property
    def location(self) -> Place: ...
    @property
    def end_location(self) -> Place: ...


class Place(Protocol):
    """A row of a text, from 1."""

    @property
    def row(self) -> int: ...


Found = TypeVar("Found", bound=Placed)


def suppressions_of(source: SourceFile) -> Suppressions:
    """Read the suppressions in a file's comments. In a notebook each holds for its cell, unless it is for the whole file."""
    if not source.cells:
        return suppressions(source.text)
    rows = split_rows(source.text)
    told = [
        shift(suppressions("".join(rows[cell.first - 1 : cell.first - 1 + cell.rows])), cell.first - 1, cell.rows)
        for cell in source.cells
    ]
    return Suppressions(
        tuple(directive for each in told for directive in each.directives),
        tuple(one for each in told for one in each.taught),
        tuple(word for each in told for word in each.misspelt),
        endless=tuple(one for each in told for one in each.endless),
    )


def apply(
    findings: Iterable[Found],
    given: Suppressions,
    names: Mapping[str, str],
    judged: Callable[[str], bool] = lambda _: True,
) -> tuple[list[Found], list[Unused]]:
    """Split the findings of one file: those that no comment silences, and what comments silence in vain.

    `names` maps every known code to its rule's name. `judged` says for a code whether its rule was looked for in this run; only then
    can its suppression be called unused. Give all findings, before confidence and severity filter them.
    """
    kept: list[Found] = []
    used: set[tuple[int, str]] = set()
    unread = False
    covering = _Covering(given.directives)
    for finding in findings:
        unread |= finding.code in _UNREAD
        silencing = list(_silencing(finding, covering, names))
        used.update(silencing)
        if not silencing:
            kept.append(finding)
    if unread:
        return kept, []
    return kept, list(find_unused(given, used, names, judged))


class _Covering:
    """An index of the directives by the rows for which they hold, so that a file full of both takes no longer than its length."""

    def __init__(self, directives: Sequence[Directive]) -> None:
        self.everywhere: list[tuple[int, Directive]] = []
        self.by_row: defaultdict[int, list[tuple[int, Directive]]] = defaultdict(list)
        # By word, the ranges that it holds in, which do not overlap: first and last row, and the directive's index.
        self.ranges: defaultdict[str, list[tuple[int, int, int]]] = defaultdict(list)
        for entry in enumerate(directives):
            directive = entry[1]
            if directive.scope == "range":
                for word, end in zip(directive.listed, directive.ends, strict=True):
                    if end:
                        self.ranges[word].append((directive.row, end, entry[0]))
            elif directive.scope == "file":
                self.everywhere.append(entry)
            elif directive.row in (directive.first, directive.last):
                for row in range(directive.first, directive.last + 1):
                    self.by_row[row].append(entry)
            else:
                self.by_row[directive.row].append(entry)

    def over(self, row: int, end_row: int) -> Iterator[tuple[int, Directive]]:
        """The directives that hold for a finding on some rows; the same one may come more than once."""
        yield from self.everywhere
        for at in range(row, end_row + 1):
            yield from self.by_row.get(at, ())

    def around(self, row: int) -> Iterator[tuple[int, str]]:
        """The directives of ranges that hold for a finding which begins in a row, with their words."""
        for word, spans in self.ranges.items():
            at = bisect_right(spans, (row, _END, 0)) - 1
            if at >= 0 and row <= spans[at][1]:
                yield spans[at][2], word


def _silencing(finding: Placed, covering: _Covering, names: Mapping[str, str]) -> Iterator[tuple[int, str]]:
    """Find the directives, and their words ("" for a blanket one), that silence the finding."""
    for i, directive in covering.over(finding.location.row, finding.end_location.row):
        if directive.blanket:
            yield i, ""
        for word, _, _ in directive.words:
            if means(word, finding.code, names):
                yield i, word
    for i, word in covering.around(finding.location.row):
        if not word or means(word, finding.code, names):
            yield i, word
