"""The common parts of HTML pages: made by Jinja2, one file that needs nothing beside it, source in colours for light and dark screens."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup, escape
from pygments.formatters import HtmlFormatter
from pygments.lexers import PythonLexer
from pygments.token import STANDARD_TYPES

from xlalint import __version__

SHADES = 5
_LEXER = PythonLexer(stripnl=False, ensurenl=False)
_LINE_END = re.compile(r"\r\n?|\n")
_DEFINITION = re.compile(r"[ \t]*(?:(?:async[ \t]+)?def|class)[ \t]+\w+[ \t]*[(:\[]")
_CONTEXT = 4  # rows shown around one with a note


def page(template: str, **told: Any) -> str:
    """A page from a template of this folder."""
    environment = Environment(
        loader=PackageLoader("xlalint.report", ""),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    text: str = environment.get_template(template).render(style=Markup(_style()), version=__version__, **told)
    return text


def _style() -> str:
    light = HtmlFormatter(style="default").get_style_defs(".code")
    dark = HtmlFormatter(style="github-dark").get_style_defs(".code")
    return f"{light}\n@media (prefers-color-scheme: dark) {{\n{dark}\n}}"


def lines_of(text: str) -> list[str]:
    """The lines of a text, without an empty one behind the last line's end."""
    lines = _LINE_END.split(text)
    return lines[:-1] if len(lines) > 1 and not lines[-1] else lines


def around(rows: Iterable[int], count: int) -> list[int]:
    """The rows with those near them, of so many."""
    near = {other for row in rows for other in range(row - _CONTEXT, row + _CONTEXT + 1)}
    return sorted(row for row in near if 1 <= row <= count)


def highlight_rows(
    lines: Sequence[str], rows: Sequence[int], marks: Mapping[int, Sequence[tuple[int, int]]] | None = None
) -> dict[int, Markup]:
    """Colour some rows (in order) of Python source; by row, the code points from one to another that are marked.

    Pygments is slow: each run of rows is read from the definition above it on, which is code and not within a string.
    """
    found: dict[int, Markup] = {}
    for first, last in _runs(rows):
        start = next((row for row in range(first, 1, -1) if _DEFINITION.match(lines[row - 1])), 1)
        pieces = _pieces("\n".join(lines[start - 1 : last]))
        for row in range(first, last + 1):
            found[row] = _row(pieces[row - start], (marks or {}).get(row, ()))
    return found


def _runs(rows: Sequence[int]) -> Iterator[tuple[int, int]]:
    """The first and the last of each run of rows that follow one another."""
    for index, row in enumerate(rows):
        if index == 0 or rows[index - 1] != row - 1:
            first = row
        if index + 1 == len(rows) or rows[index + 1] != row + 1:
            yield first, row


def _pieces(text: str) -> list[list[tuple[str, str]]]:
    """Each line of a text as pieces, with the class of each."""
    lines: list[list[tuple[str, str]]] = [[]]
    for kind, value in _LEXER.get_tokens(text):
        looks = STANDARD_TYPES.get(kind, "")
        first, *others = value.split("\n")
        lines[-1].append((looks, first))
        lines.extend([(looks, other)] for other in others)
    return lines


def _row(pieces: Sequence[tuple[str, str]], marks: Sequence[tuple[int, int]]) -> Markup:
    edges = sorted({edge for mark in marks for edge in mark})
    done: list[Markup] = []
    at = 0
    for looks, text in pieces:
        cuts = [edge - at for edge in edges if 0 < edge - at < len(text)]
        for start, end in zip([0, *cuts], [*cuts, len(text)], strict=True):
            marked = any(first <= at + start and at + end <= last for first, last in marks)
            done.append(_span(text[start:end], looks, "mark" if marked else "span"))
        at += len(text)
    return Markup("").join(done)


def _span(text: str, looks: str, tag: str) -> Markup:
    if not text:
        return Markup("")
    if not looks and tag == "span":
        return escape(text)
    return Markup('<{tag} class="{looks}">{text}</{tag}>').format(tag=Markup(tag), looks=looks, text=text)
