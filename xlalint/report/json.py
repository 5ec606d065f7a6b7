"""The machine-readable form: one array of findings, one finding a line, so that `grep` and `diff` are of use on it."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import msgspec

from xlalint.report.view import View

if TYPE_CHECKING:
    from xlalint.checks.finding import Finding


def render(findings: Sequence[Finding], view: View) -> str:
    """The array."""
    return array(findings, ascii_only=view.ascii_only)


def array(values: Sequence[Any], *, ascii_only: bool = False) -> str:
    """A JSON array with one value a line; escaped to ASCII for streams that take no more."""
    if not values:
        return "[]\n"
    return "[\n" + ",\n".join(encoded(value, ascii_only=ascii_only) for value in values) + "\n]\n"


def document(value: Any, *, ascii_only: bool = False) -> str:
    """One JSON value, indented for people who look into it."""
    if not ascii_only:
        try:
            return msgspec.json.format(msgspec.json.encode(value), indent=2).decode() + "\n"
        except UnicodeEncodeError:  # a file name that is not UTF-8
            pass
    return json.dumps(msgspec.to_builtins(value), indent=2) + "\n"


def encoded(value: Any, *, ascii_only: bool = False) -> str:
    """One JSON value."""
    if ascii_only:
        return _ascii(value)
    try:
        return msgspec.json.encode(value).decode()
    except UnicodeEncodeError:  # a file name that is not UTF-8
        return _ascii(value)


def _ascii(value: Any) -> str:
    return json.dumps(msgspec.to_builtins(value), separators=(",", ":"))
