"""The loops around a call, and what changes in each of their turns, as the source has it."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from xlalint.interpreter.device_loops import Loop
from xlalint.lowering import ir

if TYPE_CHECKING:
    from xlalint.interpreter.frame import Frame


def body_of(frame: Frame) -> tuple[ir.Statement, ...]:
    """The statements that the frame runs: a function's, or the one of the module's that runs now."""
    if frame.function is not None:
        return frame.function.body
    unit = frame.module.unit
    starts = zip(ir.decode_body(unit.body), unit.starts, strict=False)
    return tuple(statement for statement, start in starts if start == frame.base >> 32)


def whole_body_of(frame: Frame) -> tuple[ir.Statement, ...]:
    """The same, at module level with all its other statements."""
    return frame.function.body if frame.function is not None else ir.decode_body(frame.module.unit.body)


def loops_around(frame: Frame, wanted: ir.Node | ir.Statement) -> list[Loop]:
    """The loops of the frame's own body that hold an expression or a statement, the outermost first."""
    return next(_around(body_of(frame), wanted, []), [])


def _around(
    statements: tuple[ir.Statement, ...], wanted: ir.Node | ir.Statement, loops: list[Loop]
) -> Iterator[list[Loop]]:
    for statement in statements:
        if isinstance(statement, (ir.For, ir.While)):
            yield from _around(statement.body, wanted, [*loops, statement])
            yield from _around(statement.orelse, wanted, loops)
            head = statement.iterable if isinstance(statement, ir.For) else statement.test
            if any(node == wanted for node in ir.walk(head)):
                yield loops
        elif isinstance(statement, (ir.If, ir.With, ir.Try)):
            if statement == wanted:
                yield loops
            for part in _blocks(statement):
                yield from _around(part, wanted, loops)
            if any(node == wanted for head in _heads(statement) for node in ir.walk(head)):
                yield loops
        elif any(node == wanted for node in ir.walk((statement,))):
            yield loops


def _blocks(statement: ir.If | ir.With | ir.Try) -> list[tuple[ir.Statement, ...]]:
    if isinstance(statement, ir.If):
        return [statement.body, statement.orelse]
    if isinstance(statement, ir.With):
        return [statement.body]
    return [statement.body, *(handler.body for handler in statement.handlers), statement.orelse, statement.final]


def _heads(statement: ir.If | ir.With | ir.Try) -> list[ir.Node]:
    if isinstance(statement, ir.If):
        return [statement.test]
    return [item for item, _ in statement.items] if isinstance(statement, ir.With) else []


def counters(loop: Loop) -> set[str]:
    """The names that are numbers of the turn: what counts, and what `enumerate` and `range` number by."""
    names = {
        node.target.id
        for node in ir.walk(loop.body)
        if isinstance(node, ir.AugAssign) and isinstance(node.target, ir.Name) and node.op in ("+", "-")
    }
    if (
        isinstance(loop, ir.For)
        and isinstance(loop.iterable, ir.Call)
        and isinstance(loop.iterable.func, (ir.Name, ir.Attr))
    ):
        func = loop.iterable.func
        name = func.id if isinstance(func, ir.Name) else func.name
        first = loop.target.items[0] if isinstance(loop.target, ir.Display) and loop.target.items else loop.target
        if isinstance(first, ir.Name) and (
            name in ("range", "trange") or (name == "enumerate" and first is not loop.target)
        ):
            names.add(first.id)
    return names


def numbers_of_turn(loop: Loop) -> set[str]:
    """The names that are numbers of the turn, and those that each turn computes of such: `lr *= 0.9`, `lr = 0.1 / (1 + i)`."""
    names = counters(loop)
    assigned: list[tuple[str, set[str]]] = []
    for one in each_turn(loop.body):
        if isinstance(one, ir.AugAssign) and isinstance(one.target, ir.Name):
            assigned.append((one.target.id, {one.target.id}))
        elif isinstance(one, ir.Assign) and len(one.targets) == 1 and isinstance(one.targets[0], ir.Name):
            assigned.append((one.targets[0].id, names_in(one.value)))
    names |= {name for name, read in assigned if name in read}
    while fresh := {name for name, read in assigned if read & names} - names:
        names |= fresh
    return names


def each_turn(body: tuple[ir.Statement, ...]) -> Iterator[ir.Statement]:
    """The statements of a loop's body that all turns run: none under an `if`, which some turns pass by."""
    for one in body:
        yield one
        if isinstance(one, (ir.With, ir.For, ir.While)):
            yield from each_turn(one.body)


def names_in(node: ir.Node | None) -> set[str]:
    """The names that an expression reads."""
    return {one.id for one in ir.walk(node) if isinstance(one, ir.Name)} if node is not None else set()
