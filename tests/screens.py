"""Screens of the documentation, held against what commands print."""

from __future__ import annotations

import re

_MEASURED = re.compile(r" *\d+(?:\.\d+)? (?:m?s|B|[KM]iB)\b|(?<=\s)time$| {2,}", re.MULTILINE)
_AT_ENDS = re.compile(r" +$", re.MULTILINE)


def shows(screen: str, printed: str) -> bool:
    """Whether a screen shows what was printed: a line `...` stands for any lines, `...` within one for any words; times, sizes and the
    widths of columns and blanks at the ends of lines are not compared."""
    pattern = ""
    screen, printed = (_AT_ENDS.sub("", text) for text in (screen, printed))
    for line in screen.splitlines(keepends=True):
        told = re.escape(_MEASURED.sub("~", line)).replace(r"\.\.\.", ".*?")
        pattern += r"(?:.*\n)*?" if line == "...\n" else told
    return bool(re.fullmatch(pattern, _MEASURED.sub("~", printed)))
