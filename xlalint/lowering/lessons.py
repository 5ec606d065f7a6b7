"""Collect what comments say of the names of a file, as lowering needs them, and which of the comments' words it did not ask for."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence
from difflib import get_close_matches
from typing import NamedTuple

from xlalint.source.directives import Teaching


class Lesson(NamedTuple):
    """A value is `kind`, "static" or "tensor". `name` is by which the comment lists it, "" where it lists none."""

    kind: str
    name: str


class Lessons:
    """The lessons of one file. Remembers which were taken, and which names there were besides."""

    def __init__(self, taught: Sequence[Teaching]) -> None:
        self._taught = taught
        self._taken: set[tuple[int, str]] = set()
        self._seen: defaultdict[int, set[str]] = defaultdict(set)
        self._by_row: defaultdict[int, list[int]] = defaultdict(list)
        for number, one in enumerate(taught):
            for row in range(one.first, one.last + 1) if one.names is not None else (one.row,):
                self._by_row[row].append(number)

    def find_named(self, name: str, row: int) -> Lesson | None:
        """Return what a comment that lists the name says of what is bound in a row."""
        found: Lesson | None = None
        for number in self._by_row.get(row, ()):
            names = self._taught[number].names
            if names is None:
                continue
            self._seen[number].add(name)
            if found is None and any(name == listed for listed, _, _ in names):
                self._taken.add((number, name))
                found = Lesson(self._taught[number].kind, name)
        return found

    def of(self, name: str, first: int, last: int) -> Lesson | None:
        """Return what a comment says of what is bound in some rows, by its name (in the first of them) or of all that is."""
        if (found := self.find_named(name, first)) is not None:
            return found
        for row in range(first, last + 1):
            for number in self._by_row.get(row, ()):
                if self._taught[number].names is None:
                    return Lesson(self._taught[number].kind, "")
        return None

    def list_unheeded(self) -> Iterator[tuple[int, int, int, str]]:
        """List the words of comments that say nothing of anything, once all is lowered: row, column, end column, message."""
        for number, one in enumerate(self._taught):
            if one.names == ():
                yield one.at, one.start, one.end, f"`{one.text}` has no effect: it names no value"
            for name, start, end in one.names or ():
                if (number, name) not in self._taken:
                    yield one.at, start, end, f"`{one.text}` has no effect on `{name}`: {self._why(number, name)}"

    def _why(self, number: int, name: str) -> str:
        seen = self._seen[number]
        if name in seen:
            return "another comment says what it is"
        nearest = get_close_matches(name, sorted(seen), n=1)
        said = "this statement neither assigns it nor has a parameter of that name"
        return f"{said}; did you mean `{nearest[0]}`?" if nearest else said
