"""Containers of inputs: `batch={"x": "f32[4]"}` is kept as one input for each value, by its path, and made a container again for a call.

A path says of what kind each container is: `batch{x}` is an item of a dict, `xs[0]` of a list, `pair(1)` of a tuple.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any

_PATH = re.compile(r"(?P<name>\w+)(?P<rest>(?:\{[^{}]*\}|\[\d+\]|\(\d+\))*)")
_PART = re.compile(r"\{(?P<key>[^{}]*)\}|\[(?P<item>\d+)\]|\((?P<place>\d+)\)")

Node = dict[tuple[str, str], Any]


def flatten(path: str, value: object) -> Iterator[tuple[str, object]]:
    """Yield the values in a container by their paths; one that holds no array is a value itself.

    Raises: ValueError for a key that is no string, or has braces.
    """
    if not _holds_array(value):
        yield path, value
    elif isinstance(value, dict):
        for key, one in value.items():
            if not isinstance(key, str) or set("{}") & set(key):
                raise ValueError(f"the key {key!r} of `{path}` is no string without braces")
            yield from flatten(f"{path}{{{key}}}", one)
    elif isinstance(value, (list, tuple)):
        form = "{}[{}]" if isinstance(value, list) else "{}({})"
        for number, one in enumerate(value):
            yield from flatten(form.format(path, number), one)


def nest(values: Mapping[str, Any]) -> dict[str, Any]:
    """Make the containers whose values are given by their paths; other values keep their names."""
    roots: dict[str, Any] = {}
    for path, value in values.items():
        match = _PATH.fullmatch(path)
        parts = [] if match is None else list(_PART.finditer(match["rest"]))
        if match is None or not parts:
            roots[path] = value
            continue
        node: Node = roots.setdefault(match["name"], _Open())
        for part in parts[:-1]:
            node = node.setdefault(_step(part), _Open())
        node[_step(parts[-1])] = value
    return {name: _close(one) for name, one in roots.items()}


def write(value: Any) -> str:
    """Python text of a container of texts."""
    if isinstance(value, dict):
        return "{" + ", ".join(f"{key!r}: {write(one)}" for key, one in value.items()) + "}"
    if isinstance(value, list):
        return f"[{', '.join(map(write, value))}]"
    if isinstance(value, tuple):
        return f"({', '.join(map(write, value))}{',' if len(value) == 1 else ''})"
    return str(value)


class _Open(dict[tuple[str, str], Any]):
    """A container that is being filled, by kind and key of each value."""


def _step(part: re.Match[str]) -> tuple[str, str]:
    kind = part.lastgroup or ""
    return kind, part[kind]


def _close(value: Any) -> Any:
    if not isinstance(value, _Open):
        return value
    kinds = {kind for kind, _ in value}
    if kinds == {"key"}:
        return {key: _close(one) for (_, key), one in value.items()}
    inner = [_close(one) for one in value.values()]
    return inner if kinds == {"item"} else tuple(inner)


def _holds_array(value: object) -> bool:
    """Return whether a container holds a text that stands for an array."""
    if isinstance(value, dict):
        return any(map(_is_array_in, value.values()))
    return isinstance(value, (list, tuple)) and any(map(_is_array_in, value))


def _is_array_in(value: object) -> bool:
    return ("[" in value) if isinstance(value, str) else _holds_array(value)
