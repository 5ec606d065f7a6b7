"""Values that the turns of a loop hand on to each other through code of the host: an action that a simulation needs before it goes on.

Only the source of the loop is looked at: which names its statements assign, and of which others.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

from xlalint.interpreter.device_loops import Loop
from xlalint.lowering import ir


def feeds_next_turn(loop: Loop, read: ir.Node, is_of_host: Callable[[ir.Node], bool]) -> bool:
    """Return whether a call of the host takes what is read, and gives what the value of the next turn is computed of.

    `is_of_host` says of what is called that it is none of the framework's.
    """
    names = _names_in(read)
    assigned = list(_assignments(loop))
    given: set[str] = set()
    for targets, value in assigned:
        if any(isinstance(call, ir.Call) and _takes(call, read, is_of_host) for call in ir.walk(value)):
            given |= targets
    return bool(given) and not given.isdisjoint(_sources_of(names, assigned))


def _takes(call: ir.Call, read: ir.Node, is_of_host: Callable[[ir.Node], bool]) -> bool:
    return any(one == read for arg in call.args for one in ir.walk(arg)) and is_of_host(call.func)


def _assignments(loop: Loop) -> Iterator[tuple[set[str], ir.Node]]:
    for one in ir.walk(loop.body):
        if isinstance(one, ir.Assign):
            yield set().union(*map(_names_in, one.targets)), one.value


def _sources_of(names: set[str], assigned: list[tuple[set[str], ir.Node]]) -> set[str]:
    """Return the names that values are computed of which a loop's body gives to names, and those that these are computed of."""
    known: set[str] = set()
    todo = set(names)
    while todo:
        known |= todo
        todo = {
            name for targets, value in assigned if not targets.isdisjoint(todo) for name in _names_in(value)
        } - known
    return known - names


def _names_in(node: ir.Node) -> set[str]:
    return {one.id for one in ir.walk(node) if isinstance(one, ir.Name)}


__all__ = ["feeds_next_turn"]
