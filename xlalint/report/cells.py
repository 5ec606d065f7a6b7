"""Places in the module of a notebook → places in its cells, for all that is shown."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

import msgspec

from xlalint.diagnostics.finding import Edit, Finding, Location, TraceStep
from xlalint.source.model import Cell, SourceError, place_in
from xlalint.source.reading import decode_json, from_bytes, is_notebook

Read = Callable[[str], bytes]
"""Gives the bytes of a file; may raise `SourceError`."""


def cells_of(path: str, content: bytes) -> dict[int, str]:
    """The text of each code cell of a notebook, by number."""
    from xlalint.source.notebooks import read_notebook

    return read_notebook(decode_json(content)).sources() if is_notebook(path) else {}


class Cells:
    """Where rows of notebooks are, which are read when they are asked for."""

    def __init__(self, read: Read) -> None:
        self._read = read
        self._known: dict[str, tuple[Cell, ...]] = {}

    def of(self, path: str) -> tuple[Cell, ...]:
        """The cells of a file: none if it is no notebook, or cannot be read as one."""
        if not is_notebook(path):
            return ()
        if path not in self._known:
            try:
                self._known[path] = from_bytes(path, self._read(path)).cells
            except SourceError:
                self._known[path] = ()
        return self._known[path]

    def place(self, path: str, row: int) -> tuple[int | None, int]:
        """The cell, if there are any, and the row in it."""
        cells = self.of(path)
        return place_in(cells, row) if cells else (None, row)

    def locate(self, findings: Iterable[Finding]) -> list[Finding]:
        """Return the findings with all of their places in cells."""
        return [self._finding(finding) for finding in findings]

    def _finding(self, finding: Finding) -> Finding:
        trace = tuple(map(self.step, finding.trace))
        cells = self.of(finding.filename)
        if not cells:
            return finding if trace == finding.trace else msgspec.structs.replace(finding, trace=trace)
        cell, location, end = _extent(cells, finding.location, finding.end_location)
        fix = finding.fix
        if fix is not None:
            fix = msgspec.structs.replace(fix, edits=tuple(_edit(cells, edit) for edit in fix.edits))
        return msgspec.structs.replace(finding, cell=cell, location=location, end_location=end, trace=trace, fix=fix)

    def step(self, step: TraceStep) -> TraceStep:
        """A link of a trace, in its cell."""
        cell, row = self.place(step.filename, step.row)
        return step if cell is None else msgspec.structs.replace(step, cell=cell, row=row)


def _edit(cells: Sequence[Cell], edit: Edit) -> Edit:
    cell, location, end = _extent(cells, edit.location, edit.end_location)
    return Edit(edit.content, location, end, cell)


def _extent(cells: Sequence[Cell], start: Location, end: Location) -> tuple[int, Location, Location]:
    """An extent in the cell that it begins in."""
    cell, row = place_in(cells, start.row)
    return cell, Location(row, start.column), Location(row + end.row - start.row, end.column)
