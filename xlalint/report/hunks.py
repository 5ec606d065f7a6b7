"""The edits of a fix → the rows that they change, before and after: what a diff is made of by whoever shows it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from xlalint.diagnostics.finding import Edit, Location


class Hunk(NamedTuple):
    """Some whole rows, from one on, before and after."""

    row: int
    before: str
    after: str


def list_hunks(edits: Sequence[Edit], lines: Sequence[str]) -> list[Hunk]:
    """Return the rows of a text that edits change; edits of the same row, or of rows that touch, are in one."""
    groups: list[list[Edit]] = []
    for edit in sorted(edits, key=lambda one: (one.location, one.end_location)):
        if groups and edit.location.row <= max(one.end_location.row for one in groups[-1]) + 1:
            groups[-1].append(edit)
        else:
            groups.append([edit])
    return [_make(group, lines) for group in groups]


def _make(edits: Sequence[Edit], lines: Sequence[str]) -> Hunk:
    first, last = edits[0].location.row, max(edit.end_location.row for edit in edits)
    rows = lines[first - 1 : last]
    before = after = "\n".join(rows)

    def offset(place: Location) -> int:
        return min(sum(len(row) + 1 for row in rows[: place.row - first]) + place.column - 1, len(before))

    for edit in reversed(edits):
        after = after[: offset(edit.location)] + edit.content + after[offset(edit.end_location) :]
    return Hunk(first, before, after)
