"""Loops of the host that call a compiled function: what it gives is computed while the host goes on, until that reads it.

A result is marked with the depth of the loop in which it is made, in `Tensor.place`. Arithmetic keeps the mark. What is read behind the
loop, or once in many turns, is not read at each turn. A loop that trains nothing, as far as that can be told, is there to collect what it
reads: its results have a mark of their own.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from collections.abc import Set as AnySet
from typing import TYPE_CHECKING, TypeGuard

from xlalint.abstract.lattice import join_all
from xlalint.abstract.structures import map_leaves
from xlalint.abstract.values import (
    ARRAYS,
    TRUE,
    UNKNOWN,
    Answer,
    Const,
    Function,
    Instance,
    LibraryInstance,
    LibrarySymbol,
    Method,
    Partial,
    Tensor,
    Union,
    Value,
    constant,
    external,
    field,
    foreign,
    function,
    partial,
    tensor,
    tensors,
)
from xlalint.interpreter.device_loops import Loop, blocks, is_long, last_name
from xlalint.interpreter.guards import lets_some_in
from xlalint.lowering import ir

if TYPE_CHECKING:
    from xlalint.interpreter.context import Context
    from xlalint.program.linker import FunctionInfo

_MARK = "turn:"
_COLLECTED = "~"
# In a function's closure: no name of Python's reads so.
_COMPILED = "<compiled by>"
_KEEPING = "<keeps numbers>"
# What makes new parameters of old ones, in libraries of optimizers.
_APPLYING = frozenset(("apply_gradients", "apply_updates", "minimize"))
# That, what takes a whole step on the devices of a strategy, and what people call a step.
_UPDATES = frozenset(("apply_gradients", "apply_updates", "run", "experimental_run_v2", "train_on_batch", "train_step"))


# What no function of the program is: a method of a library's, an object, something that nothing is known of.
_OTHER_CALLABLES = (Answer, Instance, LibraryInstance, LibrarySymbol, Method)


def mark_compiled(func: Value, framework: str, *, keeps: bool = False) -> Value:
    """Return what is called as that whose calls are dispatched to a device; `keeps`: what it gives that is no array it leaves as it is."""
    if isinstance(func, Union):
        return join_all(mark_compiled(one, framework, keeps=keeps) for one in func.members)
    if isinstance(func, Partial):
        return partial(mark_compiled(func.func, framework, keeps=keeps), func.args, func.keywords)
    if func is UNKNOWN or isinstance(func, _OTHER_CALLABLES):
        return partial(external(compiled_call(framework)), (func,), ())
    if not isinstance(func, Function) or compiled_by(func):
        return func
    marks = ((_COMPILED, constant(framework)), *(((_KEEPING, TRUE),) if keeps else ()))
    return function(func.info, func.receiver, (*func.closure, *marks))


def compiled_call(framework: str) -> str:
    """The name that stands for a call of what a framework compiled and no function of the program is: that is its first argument."""
    return f"{framework}.{_COMPILED}"


def compiled_by(func: Function) -> str:
    """The framework that a function was marked with, "" if it was not."""
    found = field(func.closure, _COMPILED) if func.closure else None
    return found.value if type(found) is Const and isinstance(found.value, str) else ""


def without_twins(found: tuple[Value, ...]) -> tuple[Value, ...]:
    """Return alternatives of what is called without the functions that are among them compiled as well: `f` beside `jit(f)`."""
    if len(found) < 2:
        return found
    compiled = {(one.info, one.receiver) for one in found if isinstance(one, Function) and compiled_by(one)}
    if not compiled:
        return found
    return tuple(
        one
        for one in found
        if not isinstance(one, Function) or compiled_by(one) or (one.info, one.receiver) not in compiled
    )


def keeps_numbers(func: Function) -> bool:
    """Return whether a function that was marked leaves what it gives as it is, where that is no array."""
    return field(func.closure, _KEEPING) is TRUE


def leads_to(context: Context, names: frozenset[str]) -> bool:
    """Return whether what a context runs, or what that calls in turn, calls something of one of these names."""
    return any(
        one.function is not None and not names.isdisjoint(one.function.ir.calls) for one in _walk_callees(context)
    )


def takes_many_steps(context: Context) -> bool:
    """Return whether what a context runs, or what that calls in turn, takes many steps by itself: who reads that reads seldom."""
    return any(one.takes_steps for one in _walk_callees(context))


def calls_loops(loop: Loop, context: Context) -> bool:
    """Return whether a loop of a context calls what has loops of its own that call compiled functions: each turn is a run of many steps."""
    called = {last_name(one.func) for one in ir.walk(loop.body) if isinstance(one, ir.Call)}
    return any(
        inner.dispatches_often
        for entered in context.calls
        if entered.function is not None and entered.function.name in called
        for inner in _walk_callees(entered)
    )


def _walk_callees(context: Context) -> Iterator[Context]:
    seen, todo = {context}, [context]
    while todo:
        one = todo.pop()
        yield one
        fresh = [inner for inner in one.calls if inner not in seen]
        seen.update(fresh)
        todo.extend(fresh)


def mark_result(value: Value, framework: str, depth: int, *, whole: bool, trains: bool = True) -> Value:
    """Mark the tensors that a compiled function gives in a turn of a loop; with `whole`, all that is not known is such a tensor."""
    place = f"{mark_at(depth)}{'' if trains else _COLLECTED}"

    def mark(leaf: Value) -> Value:
        if isinstance(leaf, LibraryInstance) or (isinstance(leaf, Tensor) and leaf.framework != ARRAYS):
            return _marked_anew(leaf, place)
        return tensor(framework, place=place, sure=False) if whole and leaf is UNKNOWN else leaf

    return map_leaves(value, mark)


def mark_at(depth: int) -> str:
    """The mark of what a turn of a loop at this depth computes."""
    return f"{_MARK}{depth}"


def of_earlier_turn(value: Value) -> Value:
    """Return what an earlier turn kept: the host waits for that while the device works on what came after."""
    return map_leaves(value, _without_mark)


def of_ended_loop(value: Value, depth: int) -> Value:
    """Return what a value is behind the loops deeper than this: what their last turn computed, and no turn of a loop that follows."""

    def end(leaf: Value) -> Value:
        made = is_marked(leaf) and _depth_of(leaf) > depth
        return _without_mark(leaf) if made else leaf

    return map_leaves(value, end)


def is_marked(leaf: Value) -> TypeGuard[Tensor | LibraryInstance]:
    """Return whether a turn of a loop, or a call, computes a value while the host goes on."""
    return (type(leaf) is Tensor or type(leaf) is LibraryInstance) and leaf.place.startswith(_MARK)


def _without_mark(leaf: Value) -> Value:
    if not is_marked(leaf):
        return leaf
    if isinstance(leaf, LibraryInstance):
        return foreign(leaf.name, leaf.made)
    return tensor(leaf.framework, leaf.dtype, leaf.rank, "", leaf.sure, leaf.static)


def _marked_anew(leaf: Tensor | LibraryInstance, place: str) -> Value:
    if isinstance(leaf, LibraryInstance):
        return foreign(leaf.name, leaf.made, place)
    return tensor(leaf.framework, leaf.dtype, leaf.rank, place, leaf.sure)


def handed_on(value: Value, depth: int, *, within: int = 0) -> Value:
    """Return what a function gives back that calls a compiled one: where it has no loop itself, its caller's turn computes that.

    What the turns of so many loops made `within` which a function is called is computed in each of its calls, as what no loop makes is.
    """

    def mark(leaf: Value) -> Value:
        if not is_marked(leaf):
            return leaf
        if _depth_of(leaf) > within:
            return _without_mark(leaf)
        suffix = _COLLECTED if leaf.place.endswith(_COLLECTED) else ""
        return _marked_anew(leaf, f"{mark_at(depth)}{suffix}")

    return map_leaves(value, mark)


def computed_in_turn(value: Value, depth: int, frameworks: AnySet[str]) -> Value:
    """Return what a function of the host's gives to a turn of a loop, for which it asked the device."""

    def mark(leaf: Value) -> Value:
        if type(leaf) is not Tensor or leaf.place or leaf.framework not in frameworks:
            return leaf
        return _marked_anew(leaf, mark_at(depth))

    return map_leaves(value, mark)


def computed_with(value: Value, mark: str) -> Value:
    """Return what a function computes with a turn's results that it is given, which has no loop of its own: as they are marked."""
    if not mark:
        return value

    def carry(leaf: Value) -> Value:
        return _marked_anew(leaf, mark) if is_marked(leaf) and not _depth_of(leaf) else leaf

    return map_leaves(value, carry)


def loops_over_steps(info: FunctionInfo, names: frozenset[str]) -> bool:
    """Return whether a loop of a function calls something of one of these names: each of its calls takes many steps."""
    loops = (one for one in ir.walk_statements(info.body) if isinstance(one, (ir.For, ir.While)))
    called = (one.func for loop in loops for one in ir.walk(loop.body) if isinstance(one, ir.Call))
    return any(
        (isinstance(func, ir.Name) and func.id in names) or getattr(func, "name", "") in names for func in called
    )


def unrolls_steps(info: FunctionInfo) -> bool:
    """Return whether a function updates parameters in a loop of its own, which its tracer unrolls: each of its calls takes many steps."""
    return loops_over_steps(info, _UPDATES)


def calls_steps(info: FunctionInfo, context: Context) -> bool:
    """Return whether a loop of a function calls what updates parameters in turn: a whole epoch."""
    loops = [one for one in ir.walk_statements(info.body) if isinstance(one, (ir.For, ir.While))]
    if not loops:
        return False
    called = {last_name(one.func) for loop in loops for one in ir.walk(loop.body) if isinstance(one, ir.Call)}
    return any(
        inner.function is not None and inner.function.name in called and leads_to(inner, _APPLYING)
        for inner in context.calls
    )


def takes_step(loop: Loop) -> bool:
    """Return whether each turn of a loop updates parameters itself, once: what else it calls in a turn is a part of that step."""
    inner = [
        call
        for one in ir.walk(loop.body)
        if isinstance(one, (ir.For, ir.While))
        for call in ir.walk(one.body)
        if _updates_parameters(call)
    ]
    return any(_updates_parameters(one) and one not in inner for one in ir.walk(loop.body))


def _updates_parameters(node: object) -> bool:
    return isinstance(node, ir.Call) and last_name(node.func) in _APPLYING


def takes_no_turns(info: FunctionInfo) -> bool:
    """Return whether a function has no loop of its own of more than a few turns: one over a table, as of a step's metrics, is none."""
    return not any(
        is_long(one) and not goes_over_table(one)
        for one in ir.walk_statements(info.body)
        if type(one) is ir.For or type(one) is ir.While
    )


def is_innermost(loop: Loop) -> bool:
    """Return whether no loop of many turns stands in each turn of one: at every n-th turn an evaluation may."""
    return not any(is_long(one) and not goes_over_table(one) for one in _loops_of_each_turn(loop.body))


def _loops_of_each_turn(statements: Iterable[ir.Statement]) -> Iterator[Loop]:
    for one in statements:
        if type(one) is ir.For or type(one) is ir.While:
            yield one
        elif type(one) is ir.If and lets_some_in(one.test):
            yield from _loops_of_each_turn(one.orelse)
        else:
            yield from _loops_of_each_turn(blocks(one))


def goes_over_table(loop: Loop) -> bool:
    """Return whether a loop goes over what a table holds: a few turns."""
    return isinstance(loop, ir.For) and lists_table(loop.iterable)


def lists_table(over: ir.Node) -> bool:
    """Return whether an expression lists what a table holds: `table.items()`."""
    return isinstance(over, ir.Call) and not over.args and last_name(over.func) in ("items", "keys", "values")


def mark_of(values: Iterable[Value]) -> str:
    """Return the mark of what is computed with values that loops make in each turn: that of the innermost; "" where there is none."""
    marked = [one for value in values for one in tensors(value) if one.place.startswith(_MARK)]
    return max(marked, key=lambda one: (_depth_of(one), not is_collected(one))).place if marked else ""


def _depth_of(value: Tensor | LibraryInstance) -> int:
    return int(value.place.removeprefix(_MARK).removesuffix(_COLLECTED))


def is_of_turn(value: Tensor, depth: int) -> bool:
    """Return whether a tensor is made in each turn of a loop around code at this depth."""
    return value.place.startswith(_MARK) and 0 < _depth_of(value) <= depth


def is_of_call(value: Tensor) -> bool:
    """Return whether a tensor is made in each call of the function that code stands in, which has no loop."""
    return value.place.startswith(_MARK) and not _depth_of(value)


def is_of_innermost(value: Tensor, depth: int) -> bool:
    """Return whether a tensor is made in the innermost of so many loops."""
    return value.place.startswith(_MARK) and _depth_of(value) == depth


def turns_beyond(value: Tensor, depth: int) -> int:
    """Return how many loops around code at this depth stand within the one that makes a tensor; 0 of what no loop makes."""
    return depth - _depth_of(value) if is_of_turn(value, depth) else 0


def is_collected(value: Tensor) -> bool:
    """Return whether a tensor is made in a loop that trains nothing."""
    return value.place.startswith(_MARK) and value.place.endswith(_COLLECTED)
