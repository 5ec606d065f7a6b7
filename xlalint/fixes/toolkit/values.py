"""Questions that rewrites ask of what the analysis knows of an expression: is it surely a tensor, of bools, of which rank."""

from __future__ import annotations

from collections.abc import Collection

from xlalint.abstract.values import NONE, Const, Host, LibrarySymbol, Method, Tensor, Value, members


def tensors_only(value: Value) -> list[Tensor]:
    """The tensors that a value may be, if it can be nothing else; else none."""
    found = [member for member in members(value) if type(member) is Tensor]
    return found if len(found) == len(members(value)) else []


def is_tensor(value: Value, framework: str) -> bool:
    """Return whether a value is a tensor of a framework, whichever of its alternatives it is."""
    found = tensors_only(value)
    return bool(found) and all(tensor.framework == framework for tensor in found)


def are_on_device(found: Collection[Value]) -> bool:
    """Return whether alternatives are tensors of torch's on the device, all of them; none is no tensor."""
    return bool(found) and all(type(one) is Tensor and one.framework == "torch" and not one.place for one in found)


def dtype_of(value: Value) -> str:
    """The dtype's kind, "b", "i", "f" or "c", where a value is a tensor and all that it may be agree; else ""."""
    kinds = {tensor.dtype for tensor in tensors_only(value)}
    return kinds.pop() if len(kinds) == 1 else ""


def rank_of(value: Value) -> int:
    """The number of dimensions, where a value is a tensor and all that it may be agree; else -1."""
    ranks = {tensor.rank for tensor in tensors_only(value)}
    return ranks.pop() if len(ranks) == 1 else -1


def is_bool(value: Value) -> bool:
    """Return whether a value is a tensor of bools."""
    return dtype_of(value) == "b"


def is_number(value: Value) -> bool:
    """Return whether a value is a Python number or bool."""
    return all(
        (type(member) is Const and type(member.value) in (bool, int, float))
        or (type(member) is Host and member.type in ("bool", "int", "float"))
        for member in members(value)
    ) and bool(members(value))


def is_whole(value: Value) -> bool:
    """Return whether a value is a Python integer and no bool."""
    return bool(members(value)) and all(
        (type(one) is Const and type(one.value) is int) or (type(one) is Host and one.type == "int")
        for one in members(value)
    )


def is_none(value: Value) -> bool:
    """Return whether a value is None."""
    return value is NONE


def callee(value: Value) -> str:
    """Name a callee: a library's function by its dotted name ("torch.where"), a method of a library's object with a leading dot (".any");
    "" for anything else.
    """
    names = {_find_callee(member) for member in members(value)}
    return names.pop() if len(names) == 1 else ""


def _find_callee(value: Value) -> str:
    if type(value) is LibrarySymbol:
        return value.name
    return f".{value.name}" if type(value) is Method else ""
