"""A function that rewrites of a file call: written once, in front of the file's first function or class."""

from __future__ import annotations

import re

from xlalint.diagnostics.logical_lines import logical_lines
from xlalint.fixes.toolkit.function_source import Document, FunctionSource, Replacement

_DEFINITION = re.compile(rb"(?:@|class\b|def\b|async\s+def\b)")


def share(scene: FunctionSource, name: str, body: str) -> tuple[str, list[Replacement]]:
    """The name of a function, given as text from its parameters on, and what brings it into the file; nothing where it is there."""
    document = scene.document
    if f"\ndef {name}{body}".replace("\n", document.newline) in document.text:
        return name, []
    name = scene.fresh(name)
    start = _find_place(document)
    return name, [Replacement(start, start, f"def {name}{body}\n\n")]


def _find_place(document: Document) -> int:
    """In front of the first function or class that is not indented, and of the comments directly above it."""
    text = document.text
    for byte, _ in logical_lines(document.data):
        if document.data[byte - 1 : byte] in (b"", b"\n", b"\r") and _DEFINITION.match(document.data, byte):
            start = document.offset(byte)
            while (above := text.rfind("\n", 0, start - 1) + 1) < start and text.startswith("#", above):
                start = above
            return start
    return len(text)
