"""What pages have in common: made by Jinja2, one file that needs nothing beside it, source in colours for light and dark screens."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup, escape
from pygments.formatters import HtmlFormatter
from pygments.lexers import PythonLexer
from pygments.token import STANDARD_TYPES

from xlalint import __version__

SHADES = 5
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


def around(rows: Iterable[int], count: int) -> list[int]:
    """The rows with those near them, of so many."""
    near = {other for row in rows for other in range(row - _CONTEXT, row + _CONTEXT + 1)}
    return sorted(row for row in near if 1 <= row <= count)


def highlighted(text: str, marks: Mapping[int, Sequence[tuple[int, int]]] | None = None) -> list[Markup]:
    """The rows of Python source in colours; by row, the code points from one to another that are marked."""
    rows: list[list[tuple[str, str]]] = [[]]
    for kind, value in PythonLexer(stripnl=False, ensurenl=False).get_tokens(text):
        looks = STANDARD_TYPES.get(kind, "")
        first, *others = value.split("\n")
        rows[-1].append((looks, first))
        rows.extend([(looks, other)] for other in others)
    if len(rows) > 1 and not any(value for _, value in rows[-1]):
        rows.pop()  # what follows the last line's end
    marks = marks or {}
    return [_row(pieces, marks.get(number, ())) for number, pieces in enumerate(rows, 1)]


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
