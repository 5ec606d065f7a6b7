"""Containers of inputs: `batch={"x": "f32[4]"}` is kept as one input for each value, by its path, and made a container again for a call.

A path says of what kind each container is: `batch{x}` is an item of a dict, `xs[0]` of a list, `pair(1)` of a tuple, `batch<Batch:x>` an
argument of a class of the program's own, such as a dataclass or a named tuple, and `batches<iter:0>` an item of an iterator.
"""

from __future__ import annotations

import builtins
import re
from collections.abc import Callable, Iterator, Mapping
from typing import Any

from msgspec import Struct

_PATH = re.compile(r"(?P<name>\w+)(?P<rest>(?:\{[^{}]*\}|\[\d+\]|\(\d+\)|<[\w.]+:\w*>)*)")
_PART = re.compile(r"\{(?P<key>[^{}]*)\}|\[(?P<item>\d+)\]|\((?P<place>\d+)\)|<(?P<made>[\w.]+:\w*)>")
ITERATOR = "iter"

Node = dict[tuple[str, str], Any]


class Made(Struct, frozen=True):
    """A call of a class that makes an input, `Batch(x="f32[4]")`, by the class's name and its arguments, the positional ones by number; of
    `iter`, the items of an iterator.
    """

    name: str
    arguments: dict[str, Any]


Build = Callable[[Made], Any]
"""Makes what a call stands for."""


class Batches(Iterator[Any]):
    """An iterator that can tell what it holds, and how much of it was taken, without giving it."""

    def __init__(self, items: list[Any]) -> None:
        self.items = items
        self.taken = 0

    def __next__(self) -> Any:
        if self.taken == len(self.items):
            raise StopIteration
        self.taken += 1
        return self.items[self.taken - 1]


def builder(names: Mapping[str, Any]) -> Build:
    """Return a function that makes what calls stand for, whose classes have these names."""

    def build(made: Made) -> Any:
        positional = [one for key, one in made.arguments.items() if key.isdigit()]
        if made.name == ITERATOR:
            return Batches(positional)
        first, *rest = made.name.split(".")
        found = names[first] if first in names else getattr(builtins, first, None)
        for one in rest:
            found = getattr(found, one, None)
        if found is None:
            raise NameError(f"inputs speak of `{made.name}`, which is no name of the module")
        return found(*positional, **{key: one for key, one in made.arguments.items() if not key.isdigit()})

    return build


def flatten(path: str, value: object) -> Iterator[tuple[str, object]]:
    """Yield the values in a container by their paths; one that holds no array, and no call, is a value itself.

    Raises: ValueError for a key that is no string, or has braces.
    """
    if isinstance(value, Made):
        for key, one in (value.arguments or {"": None}).items():
            yield from flatten(f"{path}<{value.name}:{key}>", one)
    elif not holds_array(value):
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


def nest(values: Mapping[str, Any], build: Build | None = None) -> dict[str, Any]:
    """Make the containers whose values are given by their paths, those of classes by `build`, if it is given; other values keep their
    names.
    """
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
    return {name: _close(one, build) for name, one in roots.items()}


def root_of(path: str) -> str:
    """The argument that a path leads into."""
    match = _PATH.fullmatch(path)
    return path if match is None else match["name"]


def access_of(path: str) -> str:
    """Write how Python comes to the value of a path: `batch['x']`, `xs[0]`, `batch.x`."""
    match = _PATH.fullmatch(path)
    return path if match is None else match["name"] + "".join(map(_access, _PART.finditer(match["rest"])))


def _access(part: re.Match[str]) -> str:
    kind, key = _step(part)
    if kind == "key":
        return f"[{key!r}]"
    argument = key.rpartition(":")[2]
    return f".{argument}" if kind == "made" and not argument.isdigit() else f"[{argument}]"


def write(value: Any) -> str:
    """Python text of a container of texts."""
    if isinstance(value, dict):
        return "{" + ", ".join(f"{key!r}: {write(one)}" for key, one in value.items()) + "}"
    if isinstance(value, list):
        return f"[{', '.join(map(write, value))}]"
    if isinstance(value, Made):
        given = [write(one) if key.isdigit() else f"{key}={write(one)}" for key, one in value.arguments.items()]
        return f"{value.name}([{', '.join(given)}])" if value.name == ITERATOR else f"{value.name}({', '.join(given)})"
    if isinstance(value, tuple):
        return f"({', '.join(map(write, value))}{',' if len(value) == 1 else ''})"
    return str(value)


class _Open(dict[tuple[str, str], Any]):
    """A container that is being filled, by kind and key of each value."""


def _step(part: re.Match[str]) -> tuple[str, str]:
    kind = part.lastgroup or ""
    return kind, part[kind]


def _close(value: Any, build: Build | None) -> Any:
    if not isinstance(value, _Open):
        return value
    kinds = {kind for kind, _ in value}
    closed = {key: _close(one, build) for (_, key), one in value.items()}
    if kinds == {"key"}:
        return closed
    if kinds == {"made"}:
        name = next(iter(closed)).partition(":")[0]
        given = {key.partition(":")[2]: one for key, one in closed.items()}
        made = Made(name, {key: one for key, one in given.items() if key})
        return made if build is None else build(made)
    inner = list(closed.values())
    return inner if kinds == {"item"} else tuple(inner)


def holds_array(value: object) -> bool:
    """Return whether a container holds a call, a function, or a text that stands for an array."""
    if isinstance(value, dict):
        return any(map(_is_array_in, value.values()))
    return isinstance(value, (list, tuple)) and any(map(_is_array_in, value))


def _is_array_in(value: object) -> bool:
    return ("[" in value) if isinstance(value, str) else isinstance(value, Struct) or holds_array(value)
