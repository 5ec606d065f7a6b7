"""Functions that a library calls as branches or loop bodies of one operation: their results must be of one type."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from xlalint.abstract.values import DISCRETE, NONE, Function, Host, Sequence, Tensor, Value, members
from xlalint.frameworks.jax.gradient_flow import may_flow
from xlalint.interpreter.device_loops import last_name
from xlalint.interpreter.dispatch_loops import leads_to
from xlalint.lowering import ir

if TYPE_CHECKING:
    from xlalint.interpreter.frame import Frame
    from xlalint.interpreter.library_calls import LibraryCall

_COND: Final = ("jax.lax.cond", "jax.lax.switch")
_WHILE: Final = ("jax.lax.while_loop", "jax.lax.fori_loop")
_LOOPS: Final = ("jax.lax.scan", *_WHILE)
_JOINING: Final = frozenset(("concatenate", "hstack", "vstack"))
_GRADIENTS: Final = frozenset(("grad", "value_and_grad"))


def check_callbacks(call: LibraryCall) -> None:
    """Report branches that return different things, and loops that cannot be differentiated."""
    if call.name in _COND:
        _check_branches(call)
    elif call.name in _WHILE:
        _check_gradient(call)
    if call.name in _LOOPS:
        call.frame.context.takes_steps = call.frame.context.takes_steps or _takes_steps(call)
        _check_carry(call)


def _check_carry(call: LibraryCall) -> None:
    """Report a carry to which each turn appends: its shape may not change."""
    body = call.argument("f" if call.name == "jax.lax.scan" else "body_fun")
    if not isinstance(body, Function) or body.receiver is not None:
        return
    params = body.info.params
    place = 1 if call.name == "jax.lax.fori_loop" else 0
    last = body.info.body[-1] if body.info.body else None
    if len(params) <= place or type(last) is not ir.Return or last.value is None:
        return
    carry, node = params[place].name, last.value
    if call.name == "jax.lax.scan":
        node = node.items[0] if type(node) is ir.Display and node.items else node
    made = _find_made(body, node)
    if type(made) is ir.Call and _appends(made, carry):
        call.frame.note("XLA108", call.node.at, "jax", carry, last_name(made.func), "carry")


def _find_made(body: Function, node: ir.Node) -> ir.Node:
    """Return what a body gives a name once, and the name stands for: where it is assigned again, it stands for itself."""
    if type(node) is not ir.Name:
        return node
    assigned = [
        one.value
        for one in ir.walk(body.info.body)
        if type(one) is ir.Assign
        and any(target == node or getattr(target, "id", "") == node.id for target in one.targets)
    ]
    return assigned[0] if len(assigned) == 1 else node


def _appends(made: ir.Call, carry: str) -> bool:
    """Return whether a call puts a carry as it is beside something else."""
    if last_name(made.func) == "append":
        return bool(made.args) and len(made.args) > 1 and _is_name(made.args[0], carry)
    parts = made.args[0] if made.args else None
    joined = last_name(made.func) in _JOINING and type(parts) is ir.Display and len(parts.items) > 1
    return joined and any(_is_name(one, carry) for one in parts.items)  # type: ignore[union-attr]


def _is_name(node: ir.Node, name: str) -> bool:
    return type(node) is ir.Name and node.id == name


def _takes_steps(call: LibraryCall) -> bool:
    """Return whether a loop of the graph takes steps of a program's, and is no part of one, as layers and sequences are.

    What is run over nothing simulates; what takes gradients trains. A gradient through a `while` there is none, and a `fori` is seldom
    written for one.
    """
    if call.name == "jax.lax.scan":
        over = call.argument("xs")
        return over in (None, NONE) or (isinstance(over, Sequence) and over.items == ()) or _differentiates(call)
    return not call.frame.interpreter.differentiating


def _differentiates(call: LibraryCall) -> bool:
    body = call.argument("f")
    entered = [one for one in call.frame.context.calls if isinstance(body, Function) and one.function is body.info]
    return any(leads_to(one, _GRADIENTS) for one in entered)


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
    if _is_discrete(call.argument("init_val")) or _counts(call.frame, call.node_of("init_val")):
        return
    for param in ("lower", "upper"):
        value = call.argument(param)
        if value is not None and any(isinstance(member, Tensor) for member in members(value)):
            detail = "that needs bounds that are known while tracing"
            call.frame.report("XLA102", call.node.at, value, call.node_of(param), detail, variant="reverse")


def _is_discrete(value: Value | None) -> bool:
    """Return whether a loop carries whole numbers and truths alone, of which no gradient is taken."""
    if isinstance(value, Sequence) and value.items:
        return all(map(_is_discrete, value.items))
    return value is not None and all(isinstance(one, Tensor) and one.dtype in DISCRETE for one in members(value))


def _counts(frame: Frame, node: ir.Node | None) -> bool:
    """Return whether a call makes a whole number or a truth of what it is given: `jnp.int32(0)`."""
    made = frame.eval(node.func) if type(node) is ir.Call else None
    return isinstance(made, Host) and made.type.removeprefix("dtype:") in DISCRETE


def _tensors(value: Value | None) -> list[Tensor]:
    if value is None:
        return []
    if isinstance(value, Sequence) and value.items is not None:
        return [t for item in value.items for t in _tensors(item)]
    return [member for member in members(value) if isinstance(member, Tensor) and member.dtype not in DISCRETE]
