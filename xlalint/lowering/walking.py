"""All that a node of the IR is made of.

Which fields of a node may hold others follows from its type; so each type is asked once.
"""

from __future__ import annotations

import re
from typing import Any, Final

import msgspec

_PLAIN: Final = frozenset(("None", "Union", "bool", "bytes", "float", "int", "str", "tuple"))
_BLOCKS: Final = re.compile(r"\b(Statement|Handler|Case)\b")
_fields: Final[dict[type, tuple[str, ...]]] = {}
_reversed_fields: Final[dict[type, tuple[str, ...]]] = {}
_reversed_blocks: Final[dict[type, tuple[str, ...]]] = {}
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
        if one is None:
            continue
        if isinstance(one, tuple):
            for place in range(len(one) - 1, -1, -1):
                todo.append(one[place])  # noqa: PERF401 - no list of its own for it: this is compiled
            continue
        kind = type(one)
        fields = _reversed_fields.get(kind)
        if fields is None:
            if not _is_node(kind):
                continue
            fields = _reversed_fields[kind] = _fields_of(kind)[::-1]
        found.append(one)
        for field in fields:
            todo.append(getattr(one, field))  # noqa: PERF401 - as above
    return found


def walk_statements(body: tuple[object, ...]) -> list[object]:
    """The statements of a block with those of the blocks in them, and the clauses that hold these, in the order of the source: what `walk`
    gives without expressions."""
    found: list[object] = []
    todo: list[object] = [*body[::-1]]
    while todo:
        one = todo.pop()
        found.append(one)
        kind = type(one)
        blocks = _reversed_blocks.get(kind)
        if blocks is None:
            blocks = _reversed_blocks[kind] = _blocks_of(kind)[::-1]
        for field in blocks:
            block: tuple[object, ...] = getattr(one, field)
            todo += block[::-1]
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
        told = _annotations_of(kind)
        found = _fields[kind] = tuple(name for name, text in told if not _PLAIN.issuperset(re.findall(r"\w+", text)))
    return found


def _blocks_of(kind: type[Any]) -> tuple[str, ...]:
    """The fields of a type of nodes that hold statements, or clauses that hold them."""
    return tuple(name for name, text in _annotations_of(kind) if _BLOCKS.search(text))


def _annotations_of(kind: type[Any]) -> list[tuple[str, str]]:
    """The fields of a type of nodes, each with its annotation; none of what is no node."""
    names: tuple[str, ...] = getattr(kind, "__struct_fields__", ())
    told: dict[str, object] = getattr(kind, "__annotations__", {})
    return [(name, str(told.get(name, "object"))) for name in names]
