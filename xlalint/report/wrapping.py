"""Break lines at words, for terminals of any width."""

from __future__ import annotations

from collections.abc import Iterator

from xlalint.report.view import width


def wrap_words(text: str, columns: int, first: int, indent: int) -> Iterator[str]:
    """Yield the lines of a text, each after the first with `indent` blanks; `first` columns of the first line are taken.

    A word that is wider than a line has one of its own. With no `columns` nothing is broken. Takes time in proportion to the text.
    """
    if columns <= 0 or first + width(text) <= columns:
        yield text
        return
    line: list[str] = []
    taken = first
    margin = ""
    for word in text.split(" "):
        needed = width(word) + bool(line)
        if line and taken + needed > columns:
            yield margin + " ".join(line)
            line, margin = [], " " * indent
            taken, needed = indent, width(word)
        line.append(word)
        taken += needed
    yield margin + " ".join(line)
