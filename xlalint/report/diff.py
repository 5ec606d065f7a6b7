"""Two texts of a file → a unified diff that `patch -p0` takes; in colour, it is for eyes and shows control characters."""

from __future__ import annotations

import re
from collections.abc import Iterator
from difflib import unified_diff

from xlalint.report.view import View, printable

_LINE = re.compile(r"[^\n]*\n|[^\n]+")  # to patch, nothing but a line feed ends a line
_STYLES = {"+": "green", "-": "red", "@": "cyan"}


def diff(filename: str, before: str, after: str, view: View) -> str:
    """The diff, or nothing where the texts are the same."""
    path = view.path(filename)
    lines = unified_diff(_LINE.findall(before), _LINE.findall(after), path, path)
    return "".join(_shown(line, i < 2, view) for i, line in enumerate(_ended(lines)))


def _ended(lines: Iterator[str]) -> Iterator[str]:
    """The lines, each ending in a line feed, with diff's remark where the text has none."""
    for line in lines:
        if line.endswith("\n"):
            yield line
        else:
            yield line + "\n"
            yield "\\ No newline at end of file\n"


def _shown(line: str, heading: bool, view: View) -> str:
    if not view.colour:
        return line
    style = "bold" if heading else _STYLES.get(line[0])
    text = printable(line.rstrip("\r\n").replace("\t", "    "))
    return (view.paint(text, style) if style else text) + "\n"
