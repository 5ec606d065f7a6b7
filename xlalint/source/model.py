"""The source file: bytes on disk, decoded once, with what later stages need to speak of places in it."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Sequence
from typing import NamedTuple

import msgspec

TOO_LARGE = "XLA004"
"""The code of a finding that says that a file was not read since it is too large."""


class Cell(NamedTuple):
    """A notebook's code cell in its module: its number among all cells, from 1; the row of its first row; how many rows it has."""

    number: int
    first: int
    rows: int


class Problem(NamedTuple):
    """Describes why a cell cannot be read, as `SourceError` does; the other cells are read."""

    code: str
    message: str
    row: int
    column: int


class SourceFile(msgspec.Struct, frozen=True):
    """One Python file (or notebook, as one module) that was read and decoded.

    `path` is absolute, as findings print it. `module` is the dotted module name as an importer would write it
    ("pkg.mod"; "pkg" for `pkg/__init__.py`), `is_package` is true for `__init__` files. `text` is the decoded text without BOM, with
    line endings as on disk. Byte offsets everywhere in xlalint index `text.encode()`. `digest` is a hash of the raw bytes.
    `cells` are those of a notebook, and `problems` says which of them are left out of its text.
    """

    path: str
    module: str
    is_package: bool
    text: str
    digest: str
    cells: tuple[Cell, ...] = ()
    problems: tuple[Problem, ...] = ()

    def describe_row(self, row: int) -> str:
        """Describe a row as people are told of it: with the cell of a notebook."""
        if not self.cells:
            return f"{self.path}:{row}"
        cell, row = place_in(self.cells, row)
        return f"{self.path}:cell {cell}:{row}"


def place_in(cells: Sequence[Cell], row: int) -> tuple[int, int]:
    """The cell and the row in it that a row of a module is; what stands in front of a cell's code counts as its first row."""
    index = max(bisect_right([cell.first for cell in cells], row) - 1, 0)
    if row >= cells[index].first + cells[index].rows + 1 and index + 1 < len(cells):
        return cells[index + 1].number, 1
    return cells[index].number, max(row - cells[index].first + 1, 1)


class SourceError(Exception):
    """A file that cannot be read, decoded or parsed: becomes an XLA001 or XLA002 finding at `row`, `column`."""

    def __init__(self, code: str, message: str, row: int = 1, column: int = 1) -> None:
        super().__init__(message)
        self.code = code
        self.message = message
        self.row = row
        self.column = column
