"""Two contents of a file → a unified diff: in bytes, for `patch -p0` and `git apply -p0`, or as text with colours, for eyes."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Mapping
from difflib import unified_diff

from xlalint.report.printable import printable
from xlalint.report.view import View

_LINE = re.compile(r"[^\n]*\n|[^\n]+")  # to patch, nothing but a line feed ends a line
_QUOTED = re.compile(rb'[\x00-\x1f\x7f"\\]')  # in names, by diff and git
_STYLES = {"+": "green", "-": "red", "@": "cyan"}


def cell_diff(filename: str, before: Mapping[int, str], after: Mapping[int, str], view: View) -> str:
    """The diffs of a notebook's cells, which no `patch` takes: the file is their JSON. What a cell's last line lacks is not remarked on."""
    path = view.path(filename)
    return "".join(
        _diff(f"{path}:cell {number}", _ended_text(text), _ended_text(after.get(number, "")), view)
        for number, text in before.items()
    )


def _ended_text(text: str) -> str:
    return text if not text or text.endswith("\n") else f"{text}\n"


def patch(filename: str, before: bytes, after: bytes, view: View) -> bytes:
    """The diff as a patch in the file's own encoding, in which `patch` finds the lines; nothing where there is no difference."""
    name = _name(os.fsencode(view.relative(filename)))
    # Latin-1 has a character for each byte, and the other way round.
    old, new = (_LINE.findall(content.decode("latin-1")) for content in (before, after))
    lines = unified_diff(old, new, name, name)
    return "".join(_end_lines(lines)).encode("latin-1")


def _name(path: bytes) -> str:
    """A path in the heading of a patch: as C has a text where it holds what would end it; a tab ends one that holds blanks."""
    if _QUOTED.search(path):
        return '"' + _QUOTED.sub(lambda match: b"\\%03o" % match[0][0], path).decode("latin-1") + '"'
    return path.decode("latin-1") + ("\t" if b" " in path else "")


def diff(filename: str, before: str, after: str, view: View) -> str:
    """The diff, or nothing where the texts are the same."""
    return _diff(view.path(filename), before, after, view)


def _diff(path: str, before: str, after: str, view: View) -> str:
    lines = unified_diff(_LINE.findall(before), _LINE.findall(after), path, path)
    return "".join(_show(line, i < 2, view) for i, line in enumerate(_end_lines(lines)))


def _end_lines(lines: Iterator[str]) -> Iterator[str]:
    """The lines, each ending in a line feed, with diff's remark where the text has none."""
    for line in lines:
        if line.endswith("\n"):
            yield line
        else:
            yield line + "\n"
            yield "\\ No newline at end of file\n"


def _show(line: str, heading: bool, view: View) -> str:
    if not view.colour:
        return line
    style = "bold" if heading else _STYLES.get(line[0])
    text = printable(line.rstrip("\r\n").replace("\t", "    "))
    return (view.paint(text, style) if style else text) + "\n"
