"""Formats of texts: which of the values that are put into one are asked for as numbers, and which only for how they print."""

from __future__ import annotations

import re
from string import Formatter

_CONVERSION = re.compile(r"%(?:\((?P<key>[^)]*)\))?[#0 +-]*(?:\*|\d*)(?:\.(?:\*|\d*))?[hlL]?(?P<type>[a-zA-Z%])")
_AS_PRINTED = "sra"


def percent_numbers(text: str) -> tuple[bool, ...]:
    """For each value of `text % values` in order: whether a number is asked of it (`%f`), not its text (`%s`)."""
    return tuple(found["type"] not in _AS_PRINTED for found in _CONVERSION.finditer(text) if found["type"] != "%")


def brace_numbers(text: str) -> dict[str, bool]:
    """For each value of `text.format(…)`, by position or name: whether a format is asked of it (`{:.2f}`); empty for a wrong text."""
    found: dict[str, bool] = {}
    counted = 0
    try:
        for _, field, spec, conversion in Formatter().parse(text):
            if field is None:
                continue
            name = re.split(r"[.\[]", field, maxsplit=1)[0]
            if not name:
                name, counted = str(counted), counted + 1
            found[name] = found.get(name, False) or (bool(spec) and not conversion)
    except ValueError:
        return {}
    return found
