"""Functions that a library calls as branches or loop bodies of one operation: their results must be of one type."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from xlalint.abstract.values import NONE, Function, Sequence, Tensor, Value, members
from xlalint.frameworks.jax.gradient_flow import may_flow
from xlalint.lowering import ir

if TYPE_CHECKING:
    from xlalint.interpreter.library_calls import LibraryCall

_COND: Final = ("jax.lax.cond", "jax.lax.switch")
_WHILE: Final = ("jax.lax.while_loop", "jax.lax.fori_loop")


def check_callbacks(call: LibraryCall) -> None:
    """Report branches that return different things, and loops that cannot be differentiated."""
    if call.name in _COND:
        _check_branches(call)
    elif call.name in _WHILE:
        _check_gradient(call)
    elif call.name == "jax.lax.scan" and call.argument("xs") in (None, NONE):
        call.frame.context.takes_steps = True


def _check_branches(call: LibraryCall) -> None:
    """Report `lax.cond` whose branches return another dtype or shape."""
    functions = _branches(call)
    results = [call.results.get(param) for param in ("true_fun", "false_fun")]
    first, second = results
    detail = _mismatch(first, second) if first is not None and second is not None else ""
    if not detail and len(functions) == 2:
        detail = _describe_difference(functions[0], functions[1])
    if detail:
        pred = call.argument("pred")
        node = call.node_of("pred")
        if pred is not None:
            call.frame.report("XLA108", call.node.at, pred, node, detail)


def _branches(call: LibraryCall) -> list[Function]:
    found = [call.argument("true_fun"), call.argument("false_fun")]
    return [value for value in found if isinstance(value, Function)]


def _mismatch(first: Value, second: Value) -> str:
    if isinstance(first, Tensor) and isinstance(second, Tensor):
        if first.dtype and second.dtype and first.dtype != second.dtype:
            return "the branches return different dtypes"
        if first.rank >= 0 and second.rank >= 0 and first.rank != second.rank:
            return "the branches return different ranks"
        return ""
    if isinstance(first, Sequence) and isinstance(second, Sequence) and first.items and second.items:
        if len(first.items) != len(second.items):
            return "the branches return different numbers of values"
        return next(filter(None, map(_mismatch, first.items, second.items)), "")
    return ""


def _describe_difference(first: Function, second: Function) -> str:
    """Say what tells apart the results of two functions of which one returns its argument; return "" where nothing does.

    The other returns a part of that argument, or casts it.
    """
    one, other = _find_returned_parameter(first), _find_returned_parameter(second)
    if one is not None and other is not None and (_part_of(one, other) or _part_of(other, one)):
        return "one branch returns a part of what the other returns"
    for plain, func in ((one, second), (other, first)):
        if plain is not None and plain[1] is None and plain[0] == _find_cast_parameter(func):
            return "one branch casts what the other returns"
    return ""


def _find_cast_parameter(func: Function) -> int | None:
    """The parameter, by number, of which a one-line function returns `p.astype(...)`."""
    last = func.info.body[0] if len(func.info.body) == 1 else None
    call = last.value if type(last) is ir.Return else None
    if type(call) is ir.Call and type(call.func) is ir.Attr and call.func.name == "astype":
        names = [param.name for param in func.info.params]
        source = call.func.value
        return names.index(source.id) if type(source) is ir.Name and source.id in names else None
    return None


def _part_of(whole: tuple[int, ir.Node | None], part: tuple[int, ir.Node | None]) -> bool:
    return whole[0] == part[0] and whole[1] is None and part[1] is not None


def _find_returned_parameter(func: Function) -> tuple[int, ir.Node | None] | None:
    """The parameter that a one-line function returns, by number, and the constant slice that it takes of it."""
    body = func.info.body
    last = body[0] if len(body) == 1 else None
    if type(last) is not ir.Return or last.value is None:
        return None
    node: ir.Node = last.value
    index: ir.Node | None = None
    if type(node) is ir.Sub and type(node.index) is ir.Slice and _bounded(node.index):
        index = node.index
        node = node.value
    names = [param.name for param in func.info.params]
    if type(node) is ir.Name and node.id in names:
        return names.index(node.id), index
    return None


def _bounded(index: ir.Slice) -> bool:
    return type(index.upper) is ir.Const or type(index.lower) is ir.Const


def _check_gradient(call: LibraryCall) -> None:
    """Report loops without a fixed number of turns that reverse-mode differentiation goes through."""
    if not call.frame.interpreter.differentiating:
        return
    if call.name == "jax.lax.while_loop":
        value, node = call.argument("init_val"), call.node_of("init_val")
        held = next(iter(_tensors(value)), None)
        if held is not None and may_flow(call.frame, node):
            detail = "reverse-mode differentiation cannot go through it"
            call.frame.report("XLA102", call.node.at, held, node, detail, variant="reverse")
        return
    for param in ("lower", "upper"):
        value = call.argument(param)
        if value is not None and any(isinstance(member, Tensor) for member in members(value)):
            detail = "that needs bounds that are known while tracing"
            call.frame.report("XLA102", call.node.at, value, call.node_of(param), detail, variant="reverse")


def _tensors(value: Value | None) -> list[Tensor]:
    if value is None:
        return []
    if isinstance(value, Sequence) and value.items is not None:
        return [t for item in value.items for t in _tensors(item)]
    return [member for member in members(value) if isinstance(member, Tensor) and member.dtype not in ("i", "b")]
