"""Text as a terminal or a CI job's log may show it. Whatever is printed for people goes through `printable`."""

from __future__ import annotations

import re

from xlalint.source.files import shown_name

# What a terminal would act on: control characters, and those that reorder the text around them.
_ACTIVE = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u200e\u200f\u202a-\u202e\u2066-\u2069]")
# What GitHub's and Azure's agents take for a command anywhere in a line of a log (`##[error]`, `##vso[task.setvariable …]`), and at its
# beginning, blanks aside (`::error::`).
_COMMAND = re.compile(r"##(?=\[|vso\[)", re.IGNORECASE)
_FIRST = re.compile(r"\s*::")
_APART = "#\u200b#"


def printable(text: str) -> str:
    """The text on one line, without characters that a terminal acts on and without what a CI job's log would take for a command.

    File names that are not UTF-8 are escaped.
    """
    if not text.isascii():
        text = shown_name(text)
    return _COMMAND.sub(_APART, _ACTIVE.sub(_picture, text)).replace("\n", "␊")


def printable_lines(text: str) -> str:
    """A text of several lines, each without what a terminal or a CI job's log acts on, its beginning included."""
    return "\n".join(leading(printable(line), "\u200b") for line in text.split("\n"))


def printable_path(path: str) -> str:
    """A path that may stand first in a line; one that would be taken for a command there is shown as `./path`."""
    return leading(printable(path), "./")


def leading(text: str, guard: str) -> str:
    """The text, behind a guard if it would be taken for a command at the beginning of a line."""
    return f"{guard}{text}" if _FIRST.match(text) else text


def inert_json(text: str) -> str:
    """JSON that means the same, with escapes in place of what a terminal or a CI job's log acts on."""
    text = _ACTIVE.sub(lambda match: f"\\u{ord(match[0]):04x}", text)
    return _COMMAND.sub("#\\\\u0023", text)


def _picture(match: re.Match[str]) -> str:
    code = ord(match[0])
    return chr(0x2400 + code) if code < 0x20 else "�"
