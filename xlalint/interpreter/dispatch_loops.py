"""Loops of the host that call a compiled function: what it gives is computed while the host goes on, until that reads it.

A result is marked with the depth of the loop in which it is made, in `Tensor.place`. Arithmetic keeps the mark. What is read behind the
loop, or once in many turns, is not read at each turn. A loop that trains nothing, as far as that can be told, is there to collect what it
reads: its results have a mark of their own.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from xlalint.abstract.structures import map_leaves
from xlalint.abstract.values import (
    ARRAYS,
    UNKNOWN,
    Function,
    Partial,
    Tensor,
    Value,
    constant,
    field,
    function,
    partial,
    tensor,
)

if TYPE_CHECKING:
    from xlalint.interpreter.context import Context

_MARK = "turn:"
_COLLECTED = "~"
# In a function's closure: no name of Python's reads so.
_COMPILED = "<compiled by>"


def mark_compiled(func: Value, framework: str) -> Value:
    """Return a function as one whose calls are dispatched to a device."""
    if isinstance(func, Partial):
        return partial(mark_compiled(func.func, framework), func.args, func.keywords)
    if not isinstance(func, Function) or compiled_by(func):
        return func
    return function(func.info, func.receiver, (*func.closure, (_COMPILED, constant(framework))))


def compiled_by(func: Function) -> str:
    """The framework that a function was marked with, "" if it was not."""
    found = field(func.closure, _COMPILED) if func.closure else None
    return str(getattr(found, "value", ""))


def leads_to(context: Context, names: frozenset[str]) -> bool:
    """Return whether what a context runs, or what that calls in turn, calls something of one of these names."""
    seen, todo = {context}, [context]
    while todo:
        one = todo.pop()
        if one.function is not None and not names.isdisjoint(one.function.ir.calls):
            return True
        fresh = [inner for inner in one.calls if inner not in seen]
        seen.update(fresh)
        todo.extend(fresh)
    return False


def mark_result(value: Value, framework: str, depth: int, *, whole: bool, trains: bool = True) -> Value:
    """Mark the tensors that a compiled function gives in a turn of a loop; with `whole`, all that is not known is such a tensor."""
    place = f"{_MARK}{depth}{'' if trains else _COLLECTED}"

    def mark(leaf: Value) -> Value:
        if type(leaf) is Tensor and leaf.framework != ARRAYS:
            return tensor(leaf.framework, leaf.dtype, leaf.rank, place, leaf.sure)
        return tensor(framework, place=place, sure=False) if whole and leaf is UNKNOWN else leaf

    return map_leaves(value, mark)


def of_earlier_turn(value: Value) -> Value:
    """Return what an earlier turn kept: the host waits for that while the device works on what came after."""
    return map_leaves(value, _without_mark)


def _without_mark(leaf: Value) -> Value:
    if type(leaf) is Tensor and leaf.place.startswith(_MARK):
        return tensor(leaf.framework, leaf.dtype, leaf.rank, "", leaf.sure, leaf.static)
    return leaf


def is_of_turn(value: Tensor, depth: int) -> bool:
    """Return whether a tensor is made in each turn of a loop around code at this depth."""
    return value.place.startswith(_MARK) and int(value.place.removeprefix(_MARK).removesuffix(_COLLECTED)) <= depth


def is_collected(value: Tensor) -> bool:
    """Return whether a tensor is made in a loop that trains nothing."""
    return value.place.startswith(_MARK) and value.place.endswith(_COLLECTED)
