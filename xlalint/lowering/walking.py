"""All that a node of the IR is made of.

Which fields of a node may hold others follows from its type; so each type is asked once.
"""

from __future__ import annotations

from typing import Any, Final

import msgspec

_SCALARS: Final = frozenset(("str", "int", "bool", "bytes"))
_fields: Final[dict[type, tuple[str, ...]]] = {}


def parts(node: object) -> list[object]:
    """The expressions, statements and tuples of such that a node is made of, in the order of the source."""
    found: list[object] = []
    for field in _fields_of(type(node)):
        value = getattr(node, field)
        if isinstance(value, tuple):
            found.extend([part for part in value if isinstance(part, (msgspec.Struct, tuple))])
        elif isinstance(value, msgspec.Struct):
            found.append(value)
    return found


def walk(node: object) -> list[object]:
    """A node, or each of a tuple of nodes, with all that it is made of, in the order of the source. Nested functions are not entered."""
    found: list[object] = []
    todo: list[object] = [node]
    while todo:
        one = todo.pop()
        if isinstance(one, tuple):
            todo.extend([part for part in reversed(one) if isinstance(part, (msgspec.Struct, tuple))])
        else:
            found.append(one)
            todo.extend(reversed(parts(one)))
    return found


def _fields_of(kind: type[Any]) -> tuple[str, ...]:
    """The fields of a type of nodes that may hold nodes; none of what is no node."""
    found = _fields.get(kind)
    if found is None:
        names: tuple[str, ...] = getattr(kind, "__struct_fields__", ())
        told: dict[str, object] = getattr(kind, "__annotations__", {})
        found = _fields[kind] = tuple(name for name in names if told.get(name) not in _SCALARS)
    return found
