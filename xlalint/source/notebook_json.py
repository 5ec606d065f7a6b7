"""The JSON of a notebook, read with the place of every cell's source: writing puts new sources there and leaves the rest alone.

The values between are skipped by the decoder of the standard library, so a notebook full of images is read at its speed. (No library that
is kept up gives the extents of values: those that keep layout are for comments in configuration files, and read a megabyte in seconds.)
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator
from json.decoder import JSONDecoder
from typing import Any, NamedTuple

from xlalint.source.model import SourceError

_BLANKS = re.compile(r"[ \t\n\r]*")
_CHARACTER = re.compile(
    r"\\u[dD][89abAB][0-9a-fA-F]{2}\\u[dD][c-fC-F][0-9a-fA-F]{2}|\\u[0-9a-fA-F]{4}|\\.|[^\\]", re.DOTALL
)
_LONE = re.compile("[\ud800-\udfff]")
_ESCAPED = re.compile(r"\\u(?!00[0-7])[0-9a-fA-F]{4}")
_LFS = "version https://git-lfs.github.com/spec/"
_OLDEST, _NEWEST = 3, 4
# The value that begins at a place and where it ends, in C. `StopIteration` where none does.
_scan: Callable[[str, int], tuple[Any, int]] = JSONDecoder().scan_once  # type: ignore[attr-defined]


class JsonCell(NamedTuple):
    """A cell: its number among all cells, from 1; what kind it is; its source, and where in the JSON that stands; its metadata."""

    number: int
    kind: str
    language: str
    source: str
    start: int
    end: int
    metadata: dict[str, Any]


class Document(NamedTuple):
    """A notebook's text, cells and metadata."""

    text: str
    cells: list[JsonCell]
    metadata: dict[str, Any]


class _Value(NamedTuple):
    value: Any
    start: int
    end: int


_Members = dict[str, _Value]


def read_document(text: str) -> Document:
    """Read a notebook of format 3 or 4. Raises `SourceError` XLA001 at the row and column of the JSON that keeps it from being one."""
    reader = _Reader(text)
    try:
        notebook = reader.whole()
    except (ValueError, StopIteration, IndexError, RecursionError) as error:
        raise _invalid(text, error) from None
    version = notebook["nbformat"].value if "nbformat" in notebook else None
    if not isinstance(version, int):
        raise _no_notebook(text, 0, "it has no `nbformat`, a number")
    if not _OLDEST <= version <= _NEWEST:
        known = f"formats {_OLDEST} and {_NEWEST} are read"
        raise SourceError(
            "XLA001", f"the notebook is of format {version}; {known}", *_place(text, notebook["nbformat"].start)
        )
    metadata = notebook["metadata"].value if "metadata" in notebook else {}
    key = "cells" if version == _NEWEST else "worksheets"
    if key not in notebook:
        raise _no_notebook(text, 0, f"it has no `{key}`, as format {version} has")
    cells = [_cell(text, number, found) for number, found in enumerate(reader.cells, 1)]
    return Document(text, cells, metadata if isinstance(metadata, dict) else {})


def _cell(text: str, number: int, found: tuple[int, _Members]) -> JsonCell:
    start, members = found
    kind = members["cell_type"].value if "cell_type" in members else None
    if not isinstance(kind, str):
        raise _no_notebook(text, start, f"cell {number} has no `cell_type`, a string")
    language = members["language"].value if "language" in members else ""
    metadata = members["metadata"].value if "metadata" in members else {}
    metadata = metadata if isinstance(metadata, dict) else {}
    if kind != "code":
        return JsonCell(number, kind, "", "", start, start, metadata)
    given = members.get("source") or members.get("input")
    if given is None:
        raise _no_notebook(text, start, f"code cell {number} has no `source`")
    source = given.value
    if isinstance(source, list) and all(isinstance(line, str) for line in source):
        source = "".join(source)
    if not isinstance(source, str):
        raise _no_notebook(
            text, given.start, f"the `source` of cell {number} is neither a string nor a list of strings"
        )
    if _LONE.search(source):
        raise SourceError(
            "XLA002", f"cell {number} holds a lone surrogate, which is not a character", *_place(text, given.start)
        )
    if "\0" in source:
        raise SourceError("XLA001", f"cell {number} holds a null byte", *_place(text, given.start))
    return JsonCell(
        number, kind, language if isinstance(language, str) else "", source, given.start, given.end, metadata
    )


def _invalid(text: str, error: BaseException) -> SourceError:
    """Describe what is wrong with a text that is no JSON."""
    if not text.strip():
        return SourceError("XLA001", "not a notebook: the file is empty")
    if text.startswith(_LFS):
        return SourceError("XLA001", "not a notebook: a pointer of Git LFS (`git lfs pull` fetches the notebook)")
    if conflict := re.search(r"^<<<<<<<(?: |$)", text, re.MULTILINE):
        return SourceError("XLA001", "not a notebook: an unresolved merge conflict", *_place(text, conflict.start()))
    try:
        json.loads(text)
    except json.JSONDecodeError as wrong:
        return SourceError("XLA001", f"not a notebook: invalid JSON: {wrong.msg}", wrong.lineno, wrong.colno)
    except RecursionError:
        return SourceError("XLA001", "not a notebook: its JSON is nested too deeply")
    except ValueError as wrong:  # numbers of more than 4,300 digits
        return SourceError("XLA001", f"not a notebook: invalid JSON: {wrong}")
    return _no_notebook(text, 0, f"{error}")


def _no_notebook(text: str, at: int, why: str) -> SourceError:
    return SourceError("XLA001", f"not a notebook: {why}", *_place(text, at))


def _place(text: str, at: int) -> tuple[int, int]:
    return text.count("\n", 0, at) + 1, at - text.rfind("\n", 0, at)


class _Reader:
    """Goes through a notebook once; keeps the members of its cells, and of the notebook all others."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.cells: list[tuple[int, _Members]] = []
        self._end = 0

    def whole(self) -> _Members:
        at = self._blanks(0)
        if self.text[at] != "{":
            _scan(self.text, at)
            raise ValueError("it is not a JSON object")
        members, end = self._object(at, {"cells": self._cells, "worksheets": self._worksheets})
        end = self._blanks(end)
        if end != len(self.text):
            raise ValueError("there is more after its end")
        return members

    def _blanks(self, at: int) -> int:
        match = _BLANKS.match(self.text, at)
        assert match is not None
        return match.end()

    def _object(self, at: int, inner: dict[str, Callable[[int], int]]) -> tuple[_Members, int]:
        """The members of the object at a place, and where it ends; `inner` goes through the values of some, and says where they end."""
        members: _Members = {}
        for here, closed in self._items(at, "{", "}"):
            at = here
            if closed:
                break
            if self.text[at] != '"':
                raise ValueError("a key is not a string")
            key, end = _scan(self.text, at)
            at = self._blanks(end)
            if self.text[at] != ":":
                raise ValueError("a key has no value")
            start = self._blanks(at + 1)
            value, self._end = (None, inner[key](start)) if key in inner else _scan(self.text, start)
            members[key] = _Value(value, start, self._end)
        return members, at

    def _array(self, at: int, each: Callable[[int], int]) -> int:
        for here, closed in self._items(at, "[", "]"):
            if closed:
                return here
            self._end = each(here)
        return at

    def _items(self, at: int, opening: str, closing: str) -> Iterator[tuple[int, bool]]:
        """Where the items of a container begin; last, where it ends. Whoever takes an item says in `_end` where that ends."""
        if self.text[at] != opening:
            raise ValueError(f"expected `{opening}`")
        at = self._blanks(at + 1)
        if self.text[at] == closing:
            yield at + 1, True
            return
        while True:
            yield at, False
            at = self._blanks(self._end)
            if self.text[at] == closing:
                yield at + 1, True
                return
            if self.text[at] != ",":
                raise ValueError("items are not separated by commas")
            at = self._blanks(at + 1)

    def _cells(self, at: int) -> int:
        return self._array(at, self._cell)

    def _cell(self, at: int) -> int:
        members, end = self._object(at, {})
        self.cells.append((at, members))
        return end

    def _worksheets(self, at: int) -> int:
        return self._array(at, lambda at: self._object(at, {"cells": self._cells})[1])


def place_of(text: str, cell: JsonCell, row: int, column: int) -> tuple[int, int]:
    """Where in the JSON a character of a cell's source stands, which programs are told that know files only by their lines."""
    return _place(text, _offset(text, cell, row, column))


def _offset(text: str, cell: JsonCell, row: int, column: int) -> int:
    spelling = literals(text, cell)
    at = cell.start
    here, before = (1, 1), ""
    for number, string in enumerate(spelling.strings):
        at += len(spelling.between[number]) if spelling.is_list else 0
        at += 1
        for character in string:
            value = json.loads(f'"{character}"') if character.startswith("\\") else character
            if before + value != "\r\n" and here >= (row, column):
                return at
            if before + value != "\r\n":
                here = (here[0] + 1, 1) if value in ("\r", "\n") else (here[0], here[1] + 1)
            at += len(character)
            before = value
        at += 1
    return at - 1 if spelling.strings else at


# ------------------------------------------------------------------------------------------------------------ writing


class Literals(NamedTuple):
    """A source as the JSON spells it: the characters of each of its strings, as they are escaped, and what stands around these."""

    strings: list[list[str]]
    between: list[str]
    is_list: bool


def literals(text: str, cell: JsonCell) -> Literals:
    """How the source of a cell is spelt."""
    if text[cell.start] == '"':
        return Literals([_CHARACTER.findall(text[cell.start + 1 : cell.end - 1])], [], False)
    strings: list[list[str]] = []
    between: list[str] = []
    done = at = cell.start
    while (start := text.find('"', at, cell.end)) >= 0:
        _, at = _scan(text, start)
        between.append(text[done:start])
        strings.append(_CHARACTER.findall(text[start + 1 : at - 1]))
        done = at
    return Literals(strings, [*between, text[done : cell.end]], True)


def escape_alike(content: str, text: str) -> list[str]:
    """Escape new characters as those of the notebook `text` are: beyond ASCII only if it escapes some, and holds none."""
    ascii_only = text.isascii() and _ESCAPED.search(text) is not None
    return _CHARACTER.findall(json.dumps(content, ensure_ascii=ascii_only)[1:-1])


def write_source(strings: list[list[str]], old: Literals, text: str) -> str:
    """Write the JSON of a source with other strings than it had; those at both ends that stayed keep what stands between them."""
    said = ['"' + "".join(string) + '"' for string in strings]
    if not old.is_list:
        return said[0]
    if not said:
        return "[]"
    if not old.strings:
        return f"[{', '.join(said)}]"
    first, separators, last = old.between[0], old.between[1:-1], old.between[-1]
    usual = separators[0] if separators else _separator(first.removeprefix("["), text)
    same = 0
    while same < min(len(strings), len(old.strings)) and strings[same] == old.strings[same]:
        same += 1
    pieces = [first]
    for n, string in enumerate(said[:-1]):
        behind = n + len(old.strings) - len(strings)
        known = n if n < same else behind
        pieces += (string, separators[known] if 0 <= known < len(separators) else usual)
    return "".join([*pieces, said[-1], last])


def _separator(lead: str, text: str) -> str:
    """Return the separator for strings where there was one: with its indentation, else with the space that notebooks put behind keys."""
    return f",{lead}" if lead or not re.search(r'": ', text) else ", "
