"""Places in a text: byte offsets, rows and columns, with lines split where Python's tokenizer splits them."""

from __future__ import annotations

import re
from bisect import bisect_right
from itertools import pairwise

# Not `str.splitlines`: to Python a form feed, U+0085 or U+2028 ends no line.
_LINE_END = re.compile(rb"\r\n|\n|\r")
_ROW_END = re.compile(r"\r\n|\n|\r")


def split_rows(text: str) -> list[str]:
    """The rows of a text, with their ends."""
    starts = [0, *(match.end() for match in _ROW_END.finditer(text)), len(text)]
    return [text[start:end] for start, end in pairwise(starts)]


class Lines:
    """The lines of one text, given as UTF-8; made in one pass, each question costs O(log lines)."""

    def __init__(self, data: bytes) -> None:
        self.data = data
        self.starts = [0, *(match.end() for match in _LINE_END.finditer(data))]

    def byte_place(self, offset: int) -> tuple[int, int]:
        """The row, from 1, and byte column, from 0, as ast counts them."""
        row = bisect_right(self.starts, offset)
        return row, offset - self.starts[row - 1]

    def place(self, offset: int) -> tuple[int, int]:
        """The row and column, both from 1, the column in code points."""
        row = bisect_right(self.starts, offset)
        return row, len(self.data[self.starts[row - 1] : offset].decode(errors="replace")) + 1
