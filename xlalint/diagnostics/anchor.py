"""Bind findings to the libcst nodes that they speak of: proof that the construct is there, and what fixes start from.

libcst reads 11,000 lines a second, so only the logical line around a finding is parsed, made a program of its own:
a header gets a body, `elif` an `if`, `case` a `match`. Copies are parsed once.
"""

from __future__ import annotations

import ast
from bisect import bisect_right
from collections.abc import Iterator
from typing import NamedTuple

import libcst as cst

from xlalint.diagnostics.logical_lines import begins_line, logical_line, logical_lines
from xlalint.diagnostics.snippet import Snippet, file_snippet, line_snippet
from xlalint.source.concrete import is_too_deep
from xlalint.source.lines import Lines
from xlalint.source.model import SourceError
from xlalint.source.syntax import parse


class Anchored(NamedTuple):
    """A node, the statement or clause that holds it (a header has `pass` for its body), and the node's extent in bytes."""

    node: cst.CSTNode
    statement: cst.CSTNode
    start: int
    end: int


class Anchors:
    """Anchors the findings of any number of files, one file after the other; remembers the lines that it has parsed, at `most` so many."""

    def __init__(self, most: int = 1_000_000) -> None:
        self._snippets: dict[str, Snippet | None] = {}
        self._most = most
        self._data = b""
        self._lines: list[tuple[int, int]] = []
        self._begun: dict[int, tuple[int, int] | None] = {}
        self._whole: Snippet | None = None
        self._read_whole = False
        self._deep: frozenset[tuple[int, int]] | None = None

    def anchor(self, data: bytes, start: int, end: int, statement: int) -> Anchored | None:
        """Bind the extent from `start` to `end` of a file's UTF-8; None if no node has that extent.

        `statement` is where the statement that holds it is thought to begin: a hint that saves time.
        """
        if data is not self._data:
            self._data, self._lines, self._begun = data, [], {}
            self._whole, self._read_whole = None, False
            self._deep = None
        for first, snippet in self._candidates(start, end, statement):
            lead = len(data[first:start].decode(errors="replace"))
            node = snippet.find(lead, lead + len(data[start:end].decode(errors="replace")))
            if node is not None:
                return Anchored(node, snippet.statement, start, end)
        return None

    def confirms(self, data: bytes, start: int, end: int, statement: int) -> bool:
        """Return whether a node has that extent, told by Python's own parser where a chain is too long for libcst."""
        if self.anchor(data, start, end, statement) is not None:
            return True
        if self._deep is None:
            self._deep = _extents(data) if is_too_deep(data.decode(errors="replace")) else frozenset()
        return (start, end) in self._deep

    def _candidates(self, start: int, end: int, statement: int) -> Iterator[tuple[int, Snippet]]:
        """Parsed stretches that hold the extent, and where they begin, the cheapest to find first."""
        for find, offset in ((self._line_from, statement), (self._line_around, start)):
            line = find(offset)
            if line is not None and line[0] <= start and end <= line[1]:
                snippet = self._line_snippet(*line)
                if snippet is not None:
                    yield line[0], snippet
        if not self._read_whole:
            self._whole, self._read_whole = file_snippet(self._data.decode(errors="replace")), True
        if self._whole is not None:
            yield 0, self._whole

    def _line_from(self, statement: int) -> tuple[int, int] | None:
        """The logical line that begins at `statement`. Kept: a generated line may hold thousands of findings."""
        if statement not in self._begun:
            begins = begins_line(self._data, statement)
            self._begun[statement] = logical_line(self._data, statement) if begins else None
        return self._begun[statement]

    def _line_around(self, offset: int) -> tuple[int, int] | None:
        self._lines = self._lines or list(logical_lines(self._data))
        index = bisect_right(self._lines, (offset, len(self._data))) - 1
        return self._lines[index] if index >= 0 else None

    def _line_snippet(self, first: int, last: int) -> Snippet | None:
        text = self._data[first:last].decode(errors="replace")
        if text not in self._snippets:
            if len(self._snippets) >= self._most:
                self._snippets.clear()
            self._snippets[text] = line_snippet(text)
        return self._snippets[text]


def _extents(data: bytes) -> frozenset[tuple[int, int]]:
    """Where the expressions of a file stand; nothing where Python cannot read it."""
    try:
        nodes = [node for node in ast.walk(parse(data.decode())) if isinstance(node, ast.expr)]
    except (SourceError, UnicodeDecodeError):
        return frozenset()
    starts = [0, *Lines(data).starts]
    return frozenset(
        (starts[node.lineno] + node.col_offset, starts[node.end_lineno] + node.end_col_offset)
        for node in nodes
        if node.end_lineno is not None and node.end_col_offset is not None
    )
