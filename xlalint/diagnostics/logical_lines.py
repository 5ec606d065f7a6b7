"""Logical lines: the stretch of a text that holds one simple statement, or the header of a compound one."""

from __future__ import annotations

import re
from collections.abc import Iterator

# Strings, comments, brackets and line ends are all that bounds a logical line. Unrolled: no backtracking.
_TOKEN = re.compile(
    rb"""
    (?P<text> \"{3} [^"\\]* (?: (?:\\.|"(?!"")) [^"\\]* )* \"{3}
            | '{3} [^'\\]* (?: (?:\\.|'(?!'')) [^'\\]* )* '{3}
            | " (?:[^"\\\r\n]|\\\r\n|\\.)* "
            | ' (?:[^'\\\r\n]|\\\r\n|\\.)* '
            | \\ (?:\r\n?|\n)
            | [^\s\\()\[\]{}"'\#]+ )
    | (?P<comment> \#[^\r\n]* )
    | (?P<open> [(\[{] )
    | (?P<close> [)\]}] )
    | (?P<newline> \r\n? | \n )
    """,
    re.VERBOSE | re.DOTALL,
)

_BACKSLASH = ord("\\")


def logical_line(data: bytes, start: int) -> tuple[int, int] | None:
    """The extent of the first logical line from `start`, without indentation, comment and line end.

    None if there is none, or if `start` turns out to lie inside brackets.
    """
    first = end = -1
    depth = 0
    for token in _TOKEN.finditer(data, start):
        kind = token.lastgroup
        if kind == "comment":
            continue
        if kind == "newline":
            if first >= 0 and depth == 0:
                break
            continue
        if first < 0:
            if data[token.start()] == _BACKSLASH:  # a line that is nothing but continued
                continue
            first = token.start()
        end = token.end()
        if kind == "open":
            depth += 1
        elif kind == "close":
            depth -= 1
            if depth < 0:
                return None
    return (first, end) if first >= 0 else None


def logical_lines(data: bytes) -> Iterator[tuple[int, int]]:
    """The extents of all logical lines, in order; what follows an unmatched bracket is left out."""
    extent = logical_line(data, 0)
    while extent is not None:
        yield extent
        extent = logical_line(data, extent[1])


def begins_line(data: bytes, offset: int) -> bool:
    """Return whether nothing but indentation stands before `offset`, and the line above is not continued by a backslash."""
    line = max(data.rfind(b"\n", 0, offset), data.rfind(b"\r", 0, offset)) + 1
    return not data[line:offset].strip(b" \t\f") and not data[:line].rstrip(b"\r\n").endswith(b"\\")
