"""Structures of tensors: tuples, lists, dicts and records, walked to their leaves."""

from __future__ import annotations

from collections.abc import Callable

from xlalint.abstract.lattice import join_all
from xlalint.abstract.values import (
    ARRAYS,
    NEVER,
    Instance,
    Mapping,
    Sequence,
    Tensor,
    Union,
    Value,
    instance,
    mapping,
    sequence,
    tensor,
)


def map_leaves(
    value: Value, change: Callable[[Value], Value], of_object: Callable[[Instance], Value] | None = None
) -> Value:
    """The structure with each leaf changed. What `of_object` gives of an object of the program's is taken as it is."""
    if value is NEVER:
        return value
    if type(value) is Union:
        return join_all([map_leaves(one, change, of_object) for one in value.members])
    if type(value) is Sequence and value.kind != "slice":
        items = (
            tuple([map_leaves(item, change, of_object) for item in value.items]) if value.items is not None else None
        )
        prefix = tuple([map_leaves(item, change, of_object) for item in value.prefix])
        return sequence(value.kind, items, map_leaves(value.element, change, of_object), prefix)
    if type(value) is Mapping:
        fields = tuple([(key, map_leaves(item, change, of_object)) for key, item in value.items])
        return mapping(fields, map_leaves(value.rest, change, of_object))
    if type(value) is Instance and of_object is not None:
        return of_object(value)
    if type(value) is Instance and value.fields:
        return instance(value.klass, tuple([(key, map_leaves(item, change)) for key, item in value.fields]), value.made)
    return change(value)


def as_arrays(value: Value) -> Value:
    """The structure with arrays of the host in place of tensors."""
    return map_leaves(value, lambda leaf: tensor(ARRAYS, leaf.dtype, leaf.rank) if type(leaf) is Tensor else leaf)


def leaf_of(value: Value) -> Value:
    """The join of a structure's leaves, `NEVER` where it has none."""
    found: list[Value] = []

    def note(leaf: Value) -> Value:
        found.append(leaf)
        return leaf

    map_leaves(value, note)
    return join_all(found)
