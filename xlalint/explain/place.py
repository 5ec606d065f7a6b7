"""`FILE:LINE[:COL]` → the statement and the expressions that stand there."""

from __future__ import annotations

import ast
import re
from collections.abc import Container, Iterator
from pathlib import Path
from typing import NamedTuple

from xlalint.diagnostics.finding import Location
from xlalint.source.lines import Lines
from xlalint.source.model import SourceError, SourceFile, place_in
from xlalint.source.reading import is_notebook, read_source
from xlalint.source.syntax import parse

_PLACE = re.compile(
    r"(?P<file>.+?)(?::cell ?(?P<cell>\d+))?:(?P<row>\d+)(?::(?P<column>\d+))?(?::(?:\s.*)?)?", re.DOTALL
)
_LONGEST_HEADER = 6
LONGEST_CODE = 72

Definition = ast.FunctionDef | ast.AsyncFunctionDef
_DEFINITIONS = (ast.FunctionDef, ast.AsyncFunctionDef)
_COMPOUND = (ast.If, ast.For, ast.AsyncFor, ast.While, ast.With, ast.AsyncWith, ast.Try, ast.ClassDef, *_DEFINITIONS)


class PlaceError(Exception):
    """A place that cannot be explained; the message is one line."""


class Place(NamedTuple):
    """Names the place that the user asked about. In a notebook, `row` counts within `cell`."""

    file: str
    row: int
    column: int | None
    cell: int | None = None

    def __str__(self) -> str:
        cell = f":cell {self.cell}" if self.cell is not None else ""
        return f"{self.file}{cell}:{self.row}" + (f":{self.column}" if self.column is not None else "")


def parse_place(text: str) -> Place:
    """Read `FILE:LINE` or `FILE:LINE:COL`; what `check --output-format concise` prints behind it may follow."""
    match = _PLACE.fullmatch(text.strip())
    if match is None:
        hint = f": say which line, as in `{text}:12`" if Path(text).exists() else " and no rule"
        raise PlaceError(f"`{text}` is not FILE:LINE[:COL]{hint}")
    column, cell = (int(match[name]) if match[name] else None for name in ("column", "cell"))
    return Place(match["file"], int(match["row"]), column, cell)


def row_of(place: Place, source: SourceFile) -> int:
    """The row of a file that a place means; of a notebook, that of its module. Raises `PlaceError`."""
    if not is_notebook(source.path):
        if place.cell is not None:
            raise PlaceError(f"{source.path}: only notebooks have cells: say FILE:LINE[:COL]")
        return place.row
    if place.cell is None:
        raise PlaceError(f"{source.path}: say which cell, as in `{place.file}:cell 3:{place.row}`")
    cell = next((cell for cell in source.cells if cell.number == place.cell), None)
    if cell is None:
        raise PlaceError(f"{source.path}: cell {place.cell} is not there, or holds no Python")
    if not 1 <= place.row <= cell.rows:
        raise PlaceError(
            f"{source.path}: cell {cell.number} has no line {place.row}: it has {cell.rows} line{'s' * (cell.rows != 1)}"
        )
    return cell.first + place.row - 1


def clip(code: str, longest: int = LONGEST_CODE) -> str:
    """Return code on one line, cut off after `longest` characters."""
    code = " ".join(code.split())
    return code if len(code) <= longest else f"{code[: longest - 1]}…"


class Text:
    """A parsed file: places of its nodes as the representation packs them, and as people count them."""

    def __init__(self, source: SourceFile) -> None:
        self.source = source
        self.data = source.text.encode()
        self.lines = Lines(self.data)
        self.tree = parse(source.text)
        self.parents: dict[ast.AST, ast.AST] = {}
        for node in ast.walk(self.tree):
            for child in ast.iter_child_nodes(node):
                self.parents[child] = node

    @classmethod
    def read(cls, path: str) -> Text:
        """Read and parse a file. Raises `PlaceError`."""
        try:
            return cls(read_source(path))
        except SourceError as error:
            raise PlaceError(f"{path}: {error.message}") from error

    def describe_rows(self, *rows: int) -> str:
        """Put rows in words: `lines 3, 5`; of a notebook, with their cells."""
        cells = self.source.cells
        if not cells:
            return f"line{'s' * (len(rows) > 1)} {', '.join(map(str, rows))}"
        return ", ".join(f"line {row} of cell {cell}" for cell, row in (place_in(cells, row) for row in rows))

    def offset(self, row: int, column: int) -> int:
        return self.lines.starts[row - 1] + column

    def start(self, node: ast.AST) -> int:
        """The byte offset at which a node begins."""
        return self.offset(node.lineno, node.col_offset)  # type: ignore[attr-defined]

    def end(self, node: ast.AST) -> int:
        return self.offset(node.end_lineno, node.end_col_offset)  # type: ignore[attr-defined]

    def at(self, node: ast.AST) -> int:
        """A node's extent as the representation packs it."""
        return self.start(node) << 32 | self.end(node)

    def location(self, offset: int) -> Location:
        return Location(*self.lines.place(offset))

    def code(self, node: ast.AST, longest: int = LONGEST_CODE) -> str:
        """The source of a node, on one line of at most `longest` characters."""
        return clip(self.data[self.start(node) : self.end(node)].decode(errors="replace"), longest)

    def around(self, node: ast.AST) -> Iterator[ast.AST]:
        """The nodes that hold a node, the nearest first."""
        here: ast.AST | None = self.parents.get(node)
        while here is not None:
            yield here
            here = self.parents.get(here)

    def statement_of(self, node: ast.AST) -> ast.stmt | None:
        """The statement that a node is or stands in."""
        if isinstance(node, ast.stmt):
            return node
        return next((outer for outer in self.around(node) if isinstance(outer, ast.stmt)), None)

    def function_of(self, node: ast.AST) -> Definition | ast.Lambda | None:
        """The function whose body holds a node; None at module or class level. Defaults and decorators belong to the outside."""
        inner = node
        for outer in self.around(node):
            if isinstance(outer, _DEFINITIONS) and inner in outer.body:
                return outer
            if isinstance(outer, ast.Lambda) and inner is outer.body:
                return outer
            inner = outer
        return None


class Site(NamedTuple):
    """The statement at a place, the rows of it that are meant, the expressions there in order, and with a column the innermost of them."""

    text: Text
    statement: ast.stmt
    first: int
    last: int
    expressions: tuple[ast.expr, ...]
    pointed: ast.expr | None
    offset: int = -1

    def pointed_at(self, extents: Container[tuple[int, int]]) -> Site:
        """The site that points at an expression of one of these extents, if one begins where the user points, as findings are given."""
        for node in self.expressions if self.pointed is not None else ():
            start = self.text.start(node)
            if start == self.offset and (start, self.text.end(node)) in extents:
                return self._replace(pointed=node)
        return self

    @property
    def start(self) -> int:
        return self.text.start(self.pointed) if self.pointed is not None else header_start(self.text, self.statement)

    @property
    def end(self) -> int:
        if self.pointed is not None:
            return self.text.end(self.pointed)
        row = self.last
        starts = self.text.lines.starts
        end = starts[row] if row < len(starts) else len(self.text.data)
        line = self.text.data[starts[row - 1] : end]
        return max(starts[row - 1] + len(line.rstrip()), self.start)

    def covers(self, start: int, end: int) -> bool:
        """Return whether an extent is meant: it begins on one of the rows or, with a column, it holds the place or lies in it."""
        if self.pointed is not None:
            return (start <= self.start and self.end <= end) or (self.start <= start and end <= self.end)
        return self.first <= self.text.lines.byte_place(start)[0] <= self.last


def find_site(text: Text, row: int, column: int | None) -> Site:
    """The statement and expressions at a row and column. Raises `PlaceError`."""
    rows = text.source.text.replace("\r\n", "\n").replace("\r", "\n").split("\n")
    count = len(rows) - (1 if rows and not rows[-1] else 0)
    if not 1 <= row <= count:
        raise PlaceError(f"{text.source.path}: there is no line {row}: the file has {count:,} line{'s' * (count != 1)}")
    line = rows[row - 1]
    if column is not None and not 1 <= column <= len(line) + 1:
        raise PlaceError(f"{text.source.path}: {text.describe_rows(row)} has {len(line)} columns, not {column}")
    found = _statement(text, row)
    if found is None:
        raise PlaceError(f"{text.source.path}: there is no code on {text.describe_rows(row)}{_nearest(text, row)}")
    first, last = _rows(text, found, row)
    expressions = tuple(_expressions(text, found, first, last))
    pointed, offset = None, -1
    if column is not None:
        offset = text.offset(row, len(line[: column - 1].encode()))
        pointed = _innermost(text, expressions, offset)
    return Site(text, found, first, last, expressions, pointed, offset)


def header_start(text: Text, statement: ast.stmt) -> int:
    """Where a statement begins, its decorators included."""
    decorators = getattr(statement, "decorator_list", [])
    return min([text.start(statement), *(text.start(decorator) for decorator in decorators)])


def header_end_row(statement: ast.stmt) -> int:
    """The last row of a statement, or of the header of one that holds others."""
    if not isinstance(statement, _COMPOUND) and not hasattr(statement, "cases"):
        return statement.end_lineno or statement.lineno
    header = [node for node in ast.iter_child_nodes(statement) if not isinstance(node, (ast.stmt, ast.excepthandler))]
    rows = [getattr(inner, "end_lineno", 0) or 0 for node in header for inner in ast.walk(node) if _is_header(inner)]
    return max([statement.lineno, *rows])


def _is_header(node: ast.AST) -> bool:
    return isinstance(node, (ast.expr, ast.arg, ast.keyword))


def _statement(text: Text, row: int) -> ast.stmt | None:
    """The first statement that begins on a row, else the one whose header covers it."""
    begins: list[ast.stmt] = []
    covers: list[ast.stmt] = []
    closes = text.data[text.lines.starts[row - 1] :].lstrip(b" \t")[:1] in (b")", b"]", b"}")
    for node in ast.walk(text.tree):
        if isinstance(node, ast.stmt) and not _is_text(node):
            first = text.lines.byte_place(header_start(text, node))[0]
            if first == row:
                begins.append(node)
            elif first < row <= header_end_row(node) or (closes and first < row < _body_row(node)):
                covers.append(node)
    if begins:
        return min(begins, key=lambda node: (node.col_offset, -(node.end_lineno or 0)))
    return max(covers, key=lambda node: node.lineno, default=None)


def _body_row(statement: ast.stmt) -> int:
    """The row on which the first statement inside of a statement begins."""
    body = getattr(statement, "body", None)
    return body[0].lineno if isinstance(body, list) and body else 0


def _is_text(statement: ast.stmt) -> bool:
    """Return whether a statement is a docstring or another bare literal, which computes nothing."""
    return isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Constant)


def _nearest(text: Text, row: int) -> str:
    rows = [
        (abs(place - row), place)
        for node in ast.walk(text.tree)
        if isinstance(node, ast.stmt) and not _is_text(node)
        for place in (node.lineno, header_end_row(node))
    ]
    return f"; the nearest statement is on {text.describe_rows(min(rows)[1])}" if rows else ""


def _rows(text: Text, statement: ast.stmt, row: int) -> tuple[int, int]:
    """The rows that are meant: the whole statement where it is short, else the row alone."""
    first = text.lines.byte_place(header_start(text, statement))[0]
    last = max(header_end_row(statement), row)
    return (first, last) if last - first < _LONGEST_HEADER else (row, row)


def _expressions(text: Text, statement: ast.stmt, first: int, last: int) -> Iterator[ast.expr]:
    """The expressions of a statement that touch some rows, outer ones before what they hold, in order of place."""
    held = [
        node
        for node in ast.walk(statement)
        if isinstance(node, ast.expr) and node.lineno <= last and (node.end_lineno or 0) >= first
        if hasattr(node, "lineno") and not _within_text(text, node)
    ]
    yield from sorted(held, key=lambda node: (text.start(node), -text.end(node)))


def _within_text(text: Text, node: ast.expr) -> bool:
    """Return whether a node is a piece of a format specification, which has no place of its own."""
    return isinstance(text.parents.get(node), ast.JoinedStr) or isinstance(node, ast.Slice)


def _innermost(text: Text, expressions: tuple[ast.expr, ...], offset: int) -> ast.expr | None:
    """The smallest expression that holds an offset, or begins right behind the blanks there."""
    holding = [node for node in expressions if text.start(node) <= offset < text.end(node)]
    if holding:
        return min(holding, key=lambda node: text.end(node) - text.start(node))
    following = [node for node in expressions if text.start(node) >= offset]
    return min(following, key=lambda node: (text.start(node), -text.end(node)), default=None)
