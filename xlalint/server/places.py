"""Places as editors count them: lines from 0, and characters in the units of the encoding that client and server agreed upon.

Lines end where Python's tokenizer ends them, which is where the protocol does: at `\\n`, `\\r\\n` and `\\r`.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from itertools import accumulate

from lsprotocol import types

from xlalint.diagnostics.finding import Location

_LINE_END = re.compile(r"\r\n|\n|\r")
UTF8, UTF16, UTF32 = "utf-8", "utf-16", "utf-32"


def choose_encoding(offered: Sequence[str] | None) -> str:
    """Choose the encoding of positions: the client's first choice that is known, UTF-16 where it has none."""
    known = (UTF8, UTF16, UTF32)
    return next((str(getattr(name, "value", name)) for name in offered or () if name in known), UTF16)


def units(text: str, encoding: str) -> int:
    """How long a text without line ends is."""
    if encoding == UTF32 or text.isascii():
        return len(text)
    if encoding == UTF8:
        return len(text.encode("utf-8", "surrogatepass"))
    return len(text.encode("utf-16-le", "surrogatepass")) // 2


def index(text: str, count: int, encoding: str) -> int:
    """How many code points of a text are so many units; all of it where it is shorter. A place inside of a character is its beginning."""
    if encoding == UTF32 or text.isascii():
        return min(count, len(text))
    codec, width = ("utf-8", 1) if encoding == UTF8 else ("utf-16-le", 2)
    return len(text.encode(codec, "surrogatepass")[: count * width].decode(codec, "ignore"))


class Lined:
    """A text by lines. `marked`: in the client's the text follows a byte order mark, which counts as a character of the first line."""

    def __init__(self, text: str, encoding: str, *, marked: bool = False) -> None:
        self.text = text
        self._encoding = encoding
        self._mark = units("\ufeff", encoding) if marked else 0
        if "\r" in text:
            self._starts = [0, *(match.end() for match in _LINE_END.finditer(text))]
        else:
            self._starts = [0, *accumulate(len(line) + 1 for line in text.split("\n")[:-1])]

    def line(self, number: int) -> str:
        """A line without its end, "" where there is none."""
        if not 0 <= number < len(self._starts):
            return ""
        end = self._starts[number + 1] if number + 1 < len(self._starts) else len(self.text)
        return self.text[self._starts[number] : end].rstrip("\r\n")

    def offset(self, place: types.Position) -> int:
        """The code points before a place; a line has no places behind its end, the text none behind its last line."""
        line: int = place.line
        if line >= len(self._starts):
            return len(self.text)
        return self._starts[line] + index(self.line(line), self._within(place), self._encoding)

    def place(self, offset: int) -> types.Position:
        """The place of a code point."""
        low, high = 0, len(self._starts)
        while high - low > 1:
            middle = (low + high) // 2
            low, high = (middle, high) if self._starts[middle] <= offset else (low, middle)
        return self._position(low, units(self.text[self._starts[low] : offset], self._encoding))

    def position(self, place: Location) -> types.Position:
        """The position of a row and column that count from 1, the column in code points."""
        if place.row > len(self._starts):
            return self.place(len(self.text))
        return self._position(place.row - 1, units(self.line(place.row - 1)[: place.column - 1], self._encoding))

    def location(self, place: types.Position) -> Location:
        """A position as row and column."""
        line = min(place.line, len(self._starts) - 1)
        return Location(line + 1, index(self.line(line), self._within(place), self._encoding) + 1)

    def _position(self, line: int, character: int) -> types.Position:
        return types.Position(line, character + (self._mark if line == 0 else 0))

    def _within(self, place: types.Position) -> int:
        character: int = place.character
        return max(character - self._mark, 0) if place.line == 0 else character

    def range(self, start: Location, end: Location) -> types.Range:
        """An extent."""
        return types.Range(self.position(start), self.position(end))

    def span(self, start: int, end: int) -> types.Range:
        """An extent by offsets."""
        return types.Range(self.place(start), self.place(end))
