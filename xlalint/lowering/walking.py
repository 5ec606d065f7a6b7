"""All that a node of the IR is made of.

Which fields of a node may hold others follows from its type; so each type is asked once.
"""

from __future__ import annotations

from typing import Any, Final

import msgspec

_SCALARS: Final = frozenset(("str", "int", "bool", "bytes"))
_fields: Final[dict[type, tuple[str, ...]]] = {}
_reversed_fields: Final[dict[type, tuple[str, ...]]] = {}
_nodes: Final[dict[type, bool]] = {}


def parts(node: object) -> list[object]:
    """The expressions, statements and tuples of such that a node is made of, in the order of the source."""
    found: list[object] = []
    for field in _fields_of(type(node)):
        value = getattr(node, field)
        if type(value) is tuple:
            found.extend([part for part in value if _may_hold_nodes(part)])
        elif _may_hold_nodes(value):
            found.append(value)
    return found


def walk(node: object) -> list[object]:
    """A node, or each of a tuple of nodes, with all that it is made of, in the order of the source. Nested functions are not entered."""
    found: list[object] = []
    todo: list[object] = [node]
    while todo:
        one = todo.pop()
        if type(one) is tuple:
            todo += one[::-1]
            continue
        kind = type(one)
        fields = _reversed_fields.get(kind)
        if fields is None:
            if not _is_node(kind):
                continue
            fields = _reversed_fields[kind] = _fields_of(kind)[::-1]
        found.append(one)
        todo += [getattr(one, field) for field in fields]
    return found


def _may_hold_nodes(value: object) -> bool:
    return type(value) is tuple or _is_node(type(value))


def _is_node(kind: type[Any]) -> bool:
    """Return whether a type is one of nodes; asked once for each, since `isinstance` of a class with a metaclass is slow."""
    known = _nodes.get(kind)
    if known is None:
        known = _nodes[kind] = issubclass(kind, msgspec.Struct)
    return known


def _fields_of(kind: type[Any]) -> tuple[str, ...]:
    """The fields of a type of nodes that may hold nodes; none of what is no node."""
    found = _fields.get(kind)
    if found is None:
        names: tuple[str, ...] = getattr(kind, "__struct_fields__", ())
        told: dict[str, object] = getattr(kind, "__annotations__", {})
        found = _fields[kind] = tuple(name for name in names if told.get(name) not in _SCALARS)
    return found
