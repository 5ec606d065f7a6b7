"""Identify a finding across edits elsewhere: its code, its file, the function around it and the text that it underlines.

Rows, messages and layout do not count: lines move, messages are reworded, formatters break lines.
"""

from __future__ import annotations

import os
import re
from bisect import bisect_right
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from hashlib import blake2b
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from xlalint.diagnostics.finding import Finding

_LINE_END = re.compile(r"\r\n?|\n")
# Not the syntax tree: a file may not parse, and parsing thousands of files takes longer than checking them again.
_DEFINITION = re.compile(r"([ \t]*)(?:async[ \t]+)?(?:def|class)[ \t]+(\w+)")
_LAYOUT = re.compile(r"\s+|,(?=\s*[)\]}])")
_LONGEST = 100
_SHOWN = 80


class Identity(NamedTuple):
    """`path` is relative, with slashes; `scope` a dotted name, "" at a module's top; `source` has no blanks."""

    code: str
    path: str
    scope: str
    source: str


class Texts(NamedTuple):
    """How to get at the text of a file and at the cells of a notebook."""

    text_of: Callable[[str], str | None]
    cells_of: Callable[[str], Mapping[int, str]]

    def of(self, finding: Finding) -> str | None:
        """The text that the rows of a finding count in; None where it cannot be read."""
        if finding.cell is None:
            return self.text_of(finding.filename)
        return self.cells_of(finding.filename).get(finding.cell)


class _Text:
    """The lines of a text and the functions and classes that begin in it."""

    def __init__(self, text: str) -> None:
        self.lines = _LINE_END.split(text)
        self.rows: list[int] = []
        self.definitions: list[tuple[int, str]] = []
        for row, line in enumerate(self.lines, 1):
            if match := _DEFINITION.match(line):
                self.rows.append(row)
                self.definitions.append((_indent(match[1]), match[2]))

    def scope(self, row: int) -> str:
        """The functions and classes around a row, as a dotted name."""
        if not 1 <= row <= len(self.lines):
            return ""
        line = self.lines[row - 1]
        limit = _indent(line[: len(line) - len(line.lstrip())])
        names: list[str] = []
        for index in range(bisect_right(self.rows, row) - 1, -1, -1):
            indent, name = self.definitions[index]
            if indent < limit or self.rows[index] == row:
                names.append(name)
                limit = indent
            if limit == 0:
                break
        return ".".join(reversed(names))

    def scopes(self) -> set[str]:
        """All functions and classes, and the module's top."""
        return {"", *map(self.scope, self.rows)}

    def extent(self, finding: Finding) -> str:
        """Return the code that a finding underlines, without layout; of an empty place its line."""
        start, end = finding.location, finding.end_location
        lines = self.lines[start.row - 1 : end.row]
        if not lines:
            return ""
        if end > start:
            lines[-1] = lines[-1][: end.column - 1]
            lines[0] = lines[0][start.column - 1 :]
        return _LAYOUT.sub("", "\n".join(lines))


def identities(findings: Iterable[Finding], folder: str, texts: Texts) -> list[Identity]:
    """The identity of each of some findings (their places in cells), with paths relative to a folder."""
    known: dict[tuple[str, int | None], _Text] = {}
    found = []
    for finding in findings:
        key = finding.filename, finding.cell
        if key not in known:
            known[key] = _Text(texts.of(finding) or "")
        text = known[key]
        found.append(
            Identity(
                finding.code,
                relative(finding.filename, folder),
                text.scope(finding.location.row),
                _cut(text.extent(finding)),
            )
        )
    return found


def scopes(texts: Texts, filename: str) -> set[str]:
    """The functions and classes of a file; of one that cannot be read only the module's top, "", which each has."""
    cells = texts.cells_of(filename)
    found = cells.values() if cells else [texts.text_of(filename) or ""]
    return {scope for text in found for scope in _Text(text).scopes()}


def fingerprints(findings: Sequence[Finding], folder: str, texts: Texts) -> list[str]:
    """A hash for each of some findings, in order of place: no two are the same, as those of one identity are numbered."""
    seen: Counter[Identity] = Counter()
    made = []
    for identity in identities(findings, folder, texts):
        told = "\0".join((*identity, str(seen[identity])))
        seen[identity] += 1
        made.append(blake2b(told.encode("utf-8", "surrogatepass"), digest_size=16).hexdigest())
    return made


def relative(filename: str, folder: str) -> str:
    """A path from a folder, with slashes; that of a file on another drive stays as it is."""
    try:
        return os.path.relpath(filename, folder).replace(os.sep, "/")
    except ValueError:
        return filename.replace(os.sep, "/")


def _indent(blanks: str) -> int:
    return len(blanks.expandtabs())


def _cut(source: str) -> str:
    """A long text by its beginning and a hash."""
    if len(source) <= _LONGEST:
        return source
    return f"{source[:_SHOWN]}…{blake2b(source.encode('utf-8', 'surrogatepass'), digest_size=4).hexdigest()}"
