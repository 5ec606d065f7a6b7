"""Loops that drive a device: host code of which each turn makes torch's device take a step.

What they count changes from step to step. Handed to a module it enters the graph (`semantics.recompiles` says where that costs a
compilation): until then it is a number that the host uses to slice its own data, to log, to save.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from xlalint.lowering import ir
from xlalint.semantics.arguments import Arguments
from xlalint.semantics.lattice import join_all
from xlalint.semantics.values import Const, Host, Sequence, Value, host, sequence

if TYPE_CHECKING:
    from xlalint.semantics.frame import Frame
    from xlalint.semantics.program import ModuleInfo

STEPS = frozenset(("optimizer_step", "mark_step", "sync", "step", "backward"))
_DRIVERS = frozenset(("torch_xla", "accelerate"))
_COUNTING = frozenset(("range", "trange", "count"))
# What gives the turns of what it is given: `tqdm(range(n))`.
_SHOWING = frozenset(("tqdm", "track", "list", "iter"))


def may_drive(module: ModuleInfo) -> bool:
    """Whether a module imports what makes an XLA device take steps."""
    return not _DRIVERS.isdisjoint(binding.module.partition(".")[0] for binding in module.unit.imports)


def drives(statements: tuple[ir.Statement, ...]) -> bool:
    """Whether a loop among the statements makes the device take a step in each turn."""
    return any(_takes_step(loop.body) or drives(loop.body) for loop in _loops(statements))


def paces(body: tuple[ir.Statement, ...]) -> bool:
    """Whether each turn of a loop with this body is one step of the device: no loop within takes steps of its own (an epoch's)."""
    return _takes_step(body) and not drives(body)


def _takes_step(body: tuple[ir.Statement, ...]) -> bool:
    return any(
        _steps(statement) if isinstance(statement, ir.Eval) else _takes_step(tuple(_blocks(statement)))
        for statement in body
    )


def _steps(statement: ir.Eval) -> bool:
    if not isinstance(statement.value, ir.Call):
        return False
    func = statement.value.func
    return (func.name if isinstance(func, ir.Attr) else func.id if isinstance(func, ir.Name) else "") in STEPS


def _loops(statements: tuple[ir.Statement, ...]) -> Iterator[ir.For | ir.While]:
    for statement in statements:
        if isinstance(statement, (ir.For, ir.While)):
            yield statement
        else:
            yield from _loops(tuple(_blocks(statement)))


def _blocks(statement: ir.Statement) -> Iterator[ir.Statement]:
    """What runs in the same turn as a statement: the blocks of conditions, of `with` and of `try`."""
    if isinstance(statement, (ir.If, ir.With, ir.Try)):
        yield from statement.body
    if isinstance(statement, (ir.If, ir.Try)):
        yield from statement.orelse
    if isinstance(statement, ir.Try):
        yield from statement.final


# ------------------------------------------------------------------------------------------ what a loop counts


def turned(node: ir.For, element: Value) -> Value:
    """What a loop that drives a device binds in each turn: the numbers that it counts are told from others."""
    counter = node.iterable
    while isinstance(counter, ir.Call) and _name(counter.func) in _SHOWING and counter.args:
        counter = counter.args[0]
    if not isinstance(counter, ir.Call):
        return element
    if _name(counter.func) in _COUNTING:
        return _turn(element)
    if _name(counter.func) == "enumerate" and isinstance(element, Sequence) and element.items:
        return sequence(element.kind, (_turn(element.items[0]), *element.items[1:]), element.element)
    return element


def stepped(frame: Frame, target: ir.Node, old: Value, right: Value) -> Value | None:
    """What `step += 1` gives in a loop that drives a device; None where it counts something else."""
    if not frame.pace or frame.turning != frame.pace or not isinstance(target, ir.Name) or not isinstance(right, Const):
        return None
    if not isinstance(right.value, int) or not isinstance(old, Host):  # a constant: the turn began with it
        return None
    return _turn(old)


def entering(arguments: Arguments) -> Arguments:
    """The arguments of a module that a loop calls which drives a device: what the loop counts is now a number in the graph."""
    return Arguments(
        [_entered(value) for value in arguments.args],
        {name: _entered(value) for name, value in arguments.keywords.items()},
        arguments.rest,
        arguments.extra,
    )


def _name(func: ir.Node) -> str:
    return func.name if isinstance(func, ir.Attr) else func.id if isinstance(func, ir.Name) else ""


def _turn(value: Value) -> Value:
    return host("int", "turn") if type(value) is Host and value.type in ("int", "") else value


def _entered(value: Value) -> Value:
    if type(value) is Host and value.origin == "turn":
        return host(value.type, "counted")
    if type(value) is Sequence and value.items:
        items = tuple(map(_entered, value.items))
        return value if items == value.items else sequence(value.kind, items, join_all(items))
    return value


__all__ = ["STEPS", "drives", "entering", "may_drive", "paces", "stepped", "turned"]
