"""Formats of texts: which of the values that are put into one are asked for as numbers, and which only for how they print."""

from __future__ import annotations

import re
from string import Formatter
from typing import NamedTuple

_CONVERSION = re.compile(r"%(?:\((?P<key>[^)]*)\))?[#0 +-]*(?:\*|\d*)(?:\.(?:\*|\d*))?[hlL]?(?P<type>[a-zA-Z%])")
_AS_PRINTED = "sra"


def percent_numbers(text: str) -> tuple[bool, ...]:
    """For each value of `text % values` in order: whether a number is asked of it (`%f`), not its text (`%s`)."""
    return tuple(found["type"] not in _AS_PRINTED for found in _CONVERSION.finditer(text) if found["type"] != "%")


class Field(NamedTuple):
    """A value that `text.format(…)` puts into the text: the argument by its position or name, the attributes that are read of it in turn,
    and whether a format is asked of what is found (`{:.2f}`)."""

    argument: str
    attributes: tuple[str, ...]
    asked: bool


def brace_fields(text: str) -> list[Field]:
    """List what `text.format(…)` puts into a text; nothing for a wrong text. What lies behind an index (`{x[0].y}`) is not told apart."""
    found: list[Field] = []
    counted = 0
    try:
        for _, field, spec, conversion in Formatter().parse(text):
            if field is None:
                continue
            name, *attributes = field.partition("[")[0].split(".")
            if not name:
                name, counted = str(counted), counted + 1
            found.append(Field(name, tuple(attributes), bool(spec) and not conversion))
    except ValueError:
        return []
    return found
