"""Places in a text: byte offsets, rows and columns, with lines split where Python's tokenizer splits them."""

from __future__ import annotations

import re
from bisect import bisect_right
from itertools import accumulate, pairwise

# Not `str.splitlines`: to Python's tokenizer a form feed, U+0085 or U+2028 ends no line.
_LINE_ENDS = b"\r\n"
_ROW_END = re.compile(r"\r\n|\n|\r")


def split_rows(text: str) -> list[str]:
    """The rows of a text, with their ends."""
    starts = [0, *(match.end() for match in _ROW_END.finditer(text)), len(text)]
    return [text[start:end] for start, end in pairwise(starts)]


class Lines:
    """The lines of one text, given as UTF-8; made in one pass, each question costs O(log lines)."""

    def __init__(self, data: bytes) -> None:
        self.data = data
        # Of bytes, `splitlines` ends lines where Python's tokenizer does.
        self.starts = [0, *accumulate(map(len, data.splitlines(keepends=True)))]
        if data and data[-1] not in _LINE_ENDS:
            self.starts.pop()

    def byte_place(self, offset: int) -> tuple[int, int]:
        """The row, from 1, and byte column, from 0, as ast counts them."""
        row = bisect_right(self.starts, offset)
        return row, offset - self.starts[row - 1]

    def place(self, offset: int) -> tuple[int, int]:
        """The row and column, both from 1, the column in code points."""
        row = bisect_right(self.starts, offset)
        return row, len(self.data[self.starts[row - 1] : offset].decode(errors="replace")) + 1
