"""The machine-readable form: one array of findings, one finding a line, so that `grep` and `diff` are of use on it."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import msgspec

from xlalint.report.printable import inert_json
from xlalint.report.view import View
from xlalint.source.files import shown_name

if TYPE_CHECKING:
    from xlalint.diagnostics.finding import Finding


def render(findings: Sequence[Finding], view: View) -> str:
    """The array."""
    return array(findings, ascii_only=view.ascii_only)


def array(values: Sequence[Any], *, ascii_only: bool = False) -> str:
    """A JSON array with one value a line; escaped to ASCII for streams that take no more."""
    if not values:
        return "[]\n"
    return "[\n" + ",\n".join(encode(value, ascii_only=ascii_only) for value in values) + "\n]\n"


def document(value: Any, *, ascii_only: bool = False) -> str:
    """One JSON value, indented for people who look into it."""
    if ascii_only:
        return inert_json(json.dumps(_escape(msgspec.to_builtins(value)), indent=2)) + "\n"
    return inert_json(msgspec.json.format(_utf8(value), indent=2).decode()) + "\n"


def encode(value: Any, *, ascii_only: bool = False) -> str:
    """Encode one JSON value."""
    if ascii_only:
        return inert_json(json.dumps(_escape(msgspec.to_builtins(value)), separators=(",", ":")))
    return inert_json(_utf8(value).decode())


def _utf8(value: Any) -> bytes:
    try:
        return msgspec.json.encode(value)
    except UnicodeEncodeError:
        return msgspec.json.encode(_escape(msgspec.to_builtins(value)))


def _escape(value: Any) -> Any:
    """A value with file names that are not UTF-8 escaped: most readers of JSON refuse a lone surrogate, however it is written."""
    if isinstance(value, str):
        return shown_name(value)
    if isinstance(value, dict):
        return {_escape(key): _escape(item) for key, item in value.items()}
    return [_escape(item) for item in value] if isinstance(value, (list, tuple)) else value
