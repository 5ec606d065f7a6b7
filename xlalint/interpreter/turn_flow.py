"""Values that the turns of a loop hand on to each other through code of the host: an action that a simulation needs before it goes on.

Only the source of the loop is looked at: which names its statements assign, of which others, and which objects of the host are called.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

from xlalint.interpreter.device_loops import Loop
from xlalint.interpreter.loop_names import names_read_first
from xlalint.interpreter.spelling import path_of
from xlalint.lowering import ir

_Assigned = list[tuple[set[str], ir.Node]]


def feeds_next_turn(loop: Loop, read: ir.Node, is_of_host: Callable[[ir.Node], bool]) -> bool:
    """Return whether a call of the host takes what is read, and gives what the value of the next turn is computed of.

    It gives that by itself, or the object does whose method it is: by a call of another one. `is_of_host` says of what is called that it is
    none of the framework's.
    """
    assigned = list(_assignments(loop))
    return _feeds(loop, read, assigned, _carriers_of(read, assigned), is_of_host)


def gives_to_next_turn(loop: Loop, call: ir.Call, is_of_host: Callable[[ir.Node], bool]) -> bool:
    """Return whether a call of the host takes what another gives, by itself or by name, and gives what the next turn begins with."""
    assigned = list(_assignments(loop))
    carriers = {name for targets, value in assigned if any(one == call for one in ir.walk(value)) for name in targets}
    carriers |= {name for targets, value in assigned if path_of(value) in carriers for name in targets}
    return _feeds(loop, call, assigned, carriers, is_of_host)


def _feeds(
    loop: Loop, read: ir.Node, assigned: _Assigned, carriers: set[str], is_of_host: Callable[[ir.Node], bool]
) -> bool:
    names = _names_in(read)
    given: set[str] = set()
    for targets, value in assigned:
        if any(isinstance(call, ir.Call) and _takes(call, read, carriers, is_of_host) for call in ir.walk(value)):
            given |= targets
    sources = _sources_of(names, assigned)
    if not given.isdisjoint(sources):
        return True
    receivers = {
        path
        for call in ir.walk(loop.body)
        if isinstance(call, ir.Call) and (path := _receiver(call)) and _takes(call, read, carriers, is_of_host)
    }
    return any(
        _receiver(call) in receivers
        for targets, value in assigned
        if not targets.isdisjoint(sources | names)
        for call in ir.walk(value)
        if isinstance(call, ir.Call) and is_of_host(call.func)
    )


def adds_up(loop: Loop, read: ir.Node) -> bool:
    """Return whether a statement adds what the host makes of a read to a number: `total += np.sum(np.array(x))`."""
    added = [one for one in ir.walk(loop.body) if isinstance(one, ir.AugAssign) and one.op == "+"]
    numbers = [one.value for one in added if isinstance(one.target, ir.Name) and not _makes_list(one.value)]
    return any(inner == read for value in numbers for inner in ir.walk(value))


def _makes_list(node: ir.Node) -> bool:
    return isinstance(node, ir.Display) or (isinstance(node, ir.Call) and path_of(node.func) in ("list", "tuple"))


def reads_at_end(loop: Loop, read: ir.Node) -> bool:
    """Return whether a branch reads that leaves the loop behind it: that is read once."""
    inner = [
        one for around in ir.walk(loop.body) if isinstance(around, (ir.For, ir.While)) for one in ir.walk(around.body)
    ]
    return any(
        _leaves(block[-1], nested=branch in inner) and any(one == read for one in ir.walk(block))
        for branch in ir.walk(loop.body)
        if isinstance(branch, ir.If)
        for block in (branch.body, branch.orelse)
        if block
    )


def _leaves(last: ir.Statement, *, nested: bool) -> bool:
    return isinstance(last, ir.Return) or (isinstance(last, ir.Jump) and last.leaves and not nested)


def carries_state(
    loop: Loop, read: ir.Node, holds_state: Callable[[ir.Attr], bool], is_changed: Callable[[ir.Node], bool]
) -> bool:
    """Return whether what is read is computed of what an earlier turn gave: by a name, or an object of which a method is called.

    `holds_state` says of an attribute that is called that it is a method of such an object. What the loop goes over is none.
    `is_changed` says of what a call is given that it is an object which compiled functions change.
    Where nothing is, the turns collect their results, as an evaluation does.
    """
    assigned = [one for one in _assignments(loop) if not any(inner == read for inner in ir.walk(one[1]))]
    names = _names_in(read)
    known = names | _sources_of(names, assigned)
    given = {one.id for one in ir.walk(loop.target) if isinstance(one, ir.Name)} if isinstance(loop, ir.For) else set()
    for name in (known - given) & names_read_first(loop):
        values = [value for targets, value in assigned if name in targets]
        inner = set().union(*map(_names_in, values)) if values else set()
        if name in inner | _sources_of(inner, assigned):
            return True
    sources = [value for targets, value in assigned if not targets.isdisjoint(known)]
    calls = [one for value in sources for one in ir.walk(value) if isinstance(one, ir.Call)]
    methods = [one.func for one in calls if isinstance(one.func, ir.Attr)]
    if any(path_of(func.value).partition(".")[0] not in given and holds_state(func) for func in methods):
        return True
    calls += [one for one in ir.walk(read) if isinstance(one, ir.Call)]
    return any(is_changed(arg) for call in calls for arg in call.args)


def _carriers_of(read: ir.Node, assigned: _Assigned) -> set[str]:
    """Return the names that stand for what is read: those of what the host makes of it at once, and other names of these."""
    names: set[str] = set()
    for targets, value in assigned:
        stands_for = isinstance(value, ir.Name) and value.id in names
        if stands_for or (value is not read and any(one == read for one in ir.walk(value))):
            names |= targets
    return names


def _takes(call: ir.Call, read: ir.Node, carriers: set[str], is_of_host: Callable[[ir.Node], bool]) -> bool:
    given = (one for arg in (*call.args, *dict(call.keywords).values()) for one in ir.walk(arg))
    return any(one == read or (isinstance(one, ir.Name) and one.id in carriers) for one in given) and is_of_host(
        call.func
    )


def _receiver(call: ir.Call) -> str:
    """Return the path of the object whose method is called, "" where a function is."""
    return path_of(call.func.value) if isinstance(call.func, ir.Attr) else ""


def _assignments(loop: Loop) -> Iterator[tuple[set[str], ir.Node]]:
    for one in ir.walk(loop.body):
        if isinstance(one, ir.Assign):
            yield set().union(*map(_names_in, one.targets)), one.value
        elif isinstance(one, (ir.For, ir.Generator)):
            yield _names_in(one.target), one.iterable
        elif isinstance(one, ir.Call) and isinstance(one.func, ir.Attr) and one.func.name == "append" and one.args:
            yield _names_in(one.func.value), one.args[0]


def _sources_of(names: set[str], assigned: _Assigned) -> set[str]:
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


__all__ = ["adds_up", "carries_state", "feeds_next_turn", "gives_to_next_turn", "reads_at_end"]
