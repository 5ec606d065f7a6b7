"""Values that the turns of a loop hand on to each other through code of the host: an action that a simulation needs before it goes on.

Only the source of the loop is looked at: which names its statements assign, of which others, and which objects of the host are called.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Final, NamedTuple, TypeGuard

from xlalint.interpreter.device_loops import Loop, blocks, last_name
from xlalint.interpreter.loop_names import names_read_first
from xlalint.interpreter.spelling import path_of
from xlalint.lowering import ir

_Assigned = list[tuple[set[str], ir.Node]]
# What is called where something is learned of the turns of a loop.
LEARNING: Final = frozenset(
    (
        "apply_gradients",
        "apply_updates",
        "fit",
        "grad",
        "learn",
        "optimize",
        "train",
        "train_step",
        "update",
        "value_and_grad",
    )
)

# Parts of the names of what changes what is trained.
_TEACHING: Final = ("fit", "grad", "learn", "optim", "train", "update")

# What writes what it is given, or what it is called of, to a file.
_WRITING: Final = frozenset(
    ("imsave", "imwrite", "save", "save_image", "savefig", "savetxt", "savez", "savez_compressed", "tofile")
)

# What looks into a table and leaves it as it is: no turn hands anything on to the next by that.
_LOOKING: Final = frozenset(("get", "items", "keys", "values"))


class AskedOfCalls(NamedTuple):
    """Questions about what a loop calls: `of_host`, whether it is none of the framework's; `of_arrays`, whether it computes with arrays of
    the host."""

    of_host: Callable[[ir.Node], bool]
    of_arrays: Callable[[ir.Node], bool]


def feeds_next_turn(loop: Loop, read: ir.Node, called: AskedOfCalls) -> bool:
    """Return whether a call of the host takes what is read, and gives what the value of the next turn is computed of.

    It gives that by itself, or the object does whose method it is: by a call of another one.
    """
    assigned = list(_assignments(loop))
    read_here = {name for targets, value in assigned if value is not read and _holds(value, read) for name in targets}
    return _feeds(loop, read, assigned, _carriers_of(read_here, assigned, called.of_arrays), called.of_host)


def is_needed_by_host(loop: Loop, name: ir.Name, called: AskedOfCalls) -> bool:
    """Return whether a call of the host takes what has a name, and gives what the value of the next turn is computed of: `env.step(a)`."""
    assigned = list(_assignments(loop))
    return _feeds(loop, name, assigned, _carriers_of({name.id}, assigned, called.of_arrays), called.of_host)


def find_stored(loop: Loop, read: ir.Node) -> tuple[ir.Name, ...]:
    """Find the names of what a loop stores where something is read: `a` of `actions[i] = a.copy()`."""
    stored = [one.value for one in ir.walk(loop.body) if isinstance(one, ir.Assign) and read in one.targets]
    return tuple([one for value in stored for one in ir.walk(value) if isinstance(one, ir.Name)])


def goes_to_its_source(body: tuple[ir.Statement, ...], read: ir.Node) -> bool:
    """Return whether a simulation takes what is read, of a part of which that was computed: `action = choose(env.state).item()`, then
    `env.step(action)`. The next call computes with what the simulation makes of it."""
    assigned = [
        (target, one) for one in ir.walk_statements(body) if isinstance(one, ir.Assign) for target in one.targets
    ]
    values = [one.value for target, one in assigned if target == read] if isinstance(read, ir.Name) else [read]
    asked = {path_of(part.value) for value in values for part in ir.walk(value) if isinstance(part, ir.Attr)} - {""}
    given = {target.id for target, one in assigned if isinstance(target, ir.Name) and _holds(one.value, read)}
    return any(
        any(_holds(arg, read) or not given.isdisjoint(_names_in(arg)) for arg in call.args)
        for call in ir.walk(body)
        if isinstance(call, ir.Call) and last_name(call.func) == "step" and _receiver(call) in asked
    )


def gives_to_next_turn(loop: Loop, call: ir.Call, called: AskedOfCalls) -> bool:
    """Return whether a call of the host takes what another gives, by itself or by name, and gives what the next turn begins with."""
    assigned = list(_assignments(loop))
    given = {name for targets, value in assigned if _holds(value, call) for name in targets}
    return _feeds(loop, call, assigned, _carriers_of(given, assigned, called.of_arrays), called.of_host)


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
    added = [one for one in ir.walk_statements(loop.body) if isinstance(one, ir.AugAssign) and one.op == "+"]
    numbers = [one.value for one in added if isinstance(one.target, ir.Name) and not _makes_list(one.value)]
    return any(inner == read for value in numbers for inner in ir.walk(value))


def _makes_list(node: ir.Node) -> bool:
    return isinstance(node, ir.Display) or (isinstance(node, ir.Call) and path_of(node.func) in ("list", "tuple"))


def writes_what_it_reads(loop: Loop, read: ir.Node) -> bool:
    """Return whether a call writes what is read to a file, and nothing is learned of the loop's turns: the files are what it is there
    for."""
    calls = [one for one in ir.walk(loop.body) if isinstance(one, ir.Call)]
    if any(last_name(one.func) in LEARNING for one in calls):
        return False
    return any(last_name(one.func) in _WRITING and _holds(one, read) for one in calls)


def teaches(called: Iterable[str]) -> bool:
    """Return whether something may be trained by what is called, as far as the names tell."""
    return any(part in name.lower() for name in called for part in _TEACHING)


def plays_episode(loop: Loop, body: tuple[ir.Statement, ...]) -> bool:
    """Return whether the turns of a loop of a body go on in a simulation that the device runs, and nothing there learns of it.

    A simulation is an object that is reset, and whose `step` is compiled: `step = jax.jit(env.step)`. Or its state is what a function of
    these names gave before, and gives of it: `state = env_reset(key)`, `state = env_step(state, action)`.
    """
    calls = [one for one in ir.walk(loop.body) if isinstance(one, ir.Call)]
    if any(last_name(one.func) in LEARNING for one in calls):
        return False
    return _steps_on(loop, body) or _steps_object(calls, body)


def _steps_object(calls: list[ir.Call], body: tuple[ir.Statement, ...]) -> bool:
    called = {one.func.id for one in calls if isinstance(one.func, ir.Name)}
    simulated = {
        path_of(part.value)
        for one in ir.walk(body)
        if isinstance(one, ir.Assign) and isinstance(one.value, ir.Call) and not called.isdisjoint(_list_targets(one))
        for part in ir.walk(one.value.args)
        if isinstance(part, ir.Attr) and part.name == "step"
    }
    return bool(simulated) and any(
        isinstance(one, ir.Attr) and one.name == "reset" and path_of(one.value) in simulated for one in ir.walk(body)
    )


def _steps_on(loop: Loop, body: tuple[ir.Statement, ...]) -> bool:
    """Return whether the state of a simulation is reset somewhere in a body, and goes on in a loop by what takes a step of it."""
    assigned = [one for one in ir.walk(body) if isinstance(one, ir.Assign) and isinstance(one.value, ir.Call)]
    begun = set().union(*(_targets_of(one) for one in assigned if "reset" in _called_name(one)))
    return any(
        "step" in _called_name(one) and not (begun & _targets_of(one)).isdisjoint(_names_in(one.value))
        for one in assigned
        if any(part is one for part in ir.walk_statements(loop.body))
    )


def _called_name(assign: ir.Assign) -> str:
    return last_name(assign.value.func).lower() if isinstance(assign.value, ir.Call) else ""


def _targets_of(assign: ir.Assign) -> set[str]:
    return set().union(*map(_names_given, assign.targets))


def _list_targets(assign: ir.Assign) -> set[str]:
    return {target.id for target in assign.targets if isinstance(target, ir.Name)}


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


def ends_generator(loop: Loop, read: ir.Node) -> bool:
    """Return whether a read says when a loop ends that gives something at each turn: who asks for the next sets the pace."""
    return any(isinstance(one, ir.Yield) for one in ir.walk(loop.body)) and any(
        bool(branch.body) and _leaves(branch.body[-1], nested=False) and _holds(branch.test, read)
        for branch in ir.walk(loop.body)
        if isinstance(branch, ir.If)
    )


def ends_loop_by(loop: Loop, read: ir.Node) -> bool:
    """Return whether what is read, or what the host makes of it under a name, says when a loop ends."""
    given = {name for targets, value in _assignments(loop) if _holds(value, read) for name in targets}
    return any(
        _ends(branch) and (_holds(branch.test, read) or not given.isdisjoint(_names_in(branch.test)))
        for branch in _branches_of(loop.body)
    )


def _branches_of(statements: tuple[ir.Statement, ...]) -> Iterator[ir.If]:
    """The conditions of a loop's own turns, in no loop within."""
    for one in statements:
        if isinstance(one, ir.If):
            yield one
        if not isinstance(one, (ir.For, ir.While)):
            yield from _branches_of(blocks(one))


def _ends(branch: ir.If) -> bool:
    return any(bool(block) and _leaves(block[-1], nested=False) for block in (branch.body, branch.orelse))


def _leaves(last: ir.Statement, *, nested: bool) -> bool:
    return isinstance(last, ir.Return) or (isinstance(last, ir.Jump) and last.leaves and not nested)


class AskedOfState(NamedTuple):
    """Questions about where the turns of a loop may keep state: `holds`, whether an attribute that is called is a method of an object
    that does; `changed`, whether compiled functions change what a call is given; `draws`, whether a call only goes on with a key of random
    numbers; `counts`, whether a name is that of a number of the host's, or a text."""

    holds: Callable[[ir.Attr], bool]
    changed: Callable[[ir.Node], bool]
    draws: Callable[[ir.Node], bool]
    counts: Callable[[str], bool]


def carries_state(loop: Loop, read: ir.Node, state: AskedOfState) -> bool:
    """Return whether what is read is computed of what an earlier turn gave: by a name, or an object of which a method is called.

    What the loop goes over, or a call gives in the turn itself, is no such object. Where nothing is, the turns collect their results, as an
    evaluation does.
    """
    assigned = [
        one
        for one in _assignments(loop)
        if not _holds(one[1], read) and not (_is_call(one[1]) and state.draws(one[1].func))
    ]
    names = _names_in(read)
    known = names | _sources_of(names, assigned)
    given = {one.id for one in ir.walk(loop.target) if isinstance(one, ir.Name)} if isinstance(loop, ir.For) else set()
    first = names_read_first(loop)
    for name in (known - given) & first:
        values = [value for targets, value in assigned if name in targets]
        inner = set().union(*map(_names_in, values)) if values else set()
        if name in inner | _sources_of(inner, assigned) and not state.counts(name):
            return True
    made = set().union(*(targets for targets, value in assigned if _is_call(value))) - first
    made |= given
    sources = [value for targets, value in assigned if not targets.isdisjoint(known)]
    calls = [one for value in (*sources, read) for one in ir.walk(value) if isinstance(one, ir.Call)]
    methods = [one.func for one in calls if isinstance(one.func, ir.Attr) and one.func.name not in _LOOKING]
    if any(path_of(func.value).partition(".")[0] not in made and state.holds(func) for func in methods):
        return True
    return any(state.changed(arg) for call in calls for arg in call.args)


def _is_call(node: ir.Node) -> TypeGuard[ir.Call]:
    return isinstance(node, ir.Call)


def given_with(loop: Loop, read: ir.Node) -> set[str]:
    """Return the names that one call gives all together, what is read among them: they are computed when that is."""
    names = _names_in(read)
    together = [targets for targets, value in _assignments(loop) if isinstance(value, ir.Call) and names <= targets]
    return set().union(*together)


def gives_state(loop: Loop, read: ir.Node) -> bool:
    """Return whether what is read comes of a call that gives the next turn a new value of something it takes:
    `params, loss = step(params, batch)`."""
    names = _names_in(read)
    first = names_read_first(loop)
    return any(
        not targets.isdisjoint(names) and not (targets & first).isdisjoint(_names_in(value))
        for targets, value in _assignments(loop)
        if _is_call(value)
    )


def _carriers_of(names: set[str], assigned: _Assigned, of_arrays: Callable[[ir.Node], bool]) -> set[str]:
    """Return names of the host's values, with other names of these and of what the host computes of their arrays."""
    found = set(names)
    for targets, value in assigned:
        calls = [one.func for one in ir.walk(value) if isinstance(one, ir.Call)]
        if not found.isdisjoint(_names_in(value)) and all(map(of_arrays, calls)):
            found |= targets
    return found


def _holds(value: ir.Node, part: ir.Node) -> bool:
    return any(one == part for one in ir.walk(value))


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
            yield set().union(*map(_names_given, one.targets)), one.value
        elif isinstance(one, ir.AnnAssign) and one.value is not None:
            yield _names_given(one.target), one.value
        elif isinstance(one, (ir.For, ir.Generator)):
            yield from ((_names_in(target), over) for target, over in _each_over(one.target, one.iterable))
        elif isinstance(one, ir.Call) and isinstance(one.func, ir.Attr) and one.func.name == "append" and one.args:
            yield _names_in(one.func.value), one.args[0]


def _names_given(target: ir.Node) -> set[str]:
    """Return the names of what an assignment changes: `x` of `x[i] = …`, which gives `i` nothing."""
    if isinstance(target, ir.Sub):
        return _names_given(target.value)
    if isinstance(target, ir.Display):
        return set().union(*map(_names_given, target.items))
    return _names_in(target)


def _each_over(target: ir.Node, iterable: ir.Node) -> Iterable[tuple[ir.Node, ir.Node]]:
    """Pair the targets of a loop with what each goes over: `zip` gives one of each."""
    if isinstance(iterable, ir.Call) and path_of(iterable.func) == "zip" and isinstance(target, ir.Display):
        return zip(target.items, iterable.args, strict=False)
    return ((target, iterable),)


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


__all__ = [
    "LEARNING",
    "AskedOfCalls",
    "AskedOfState",
    "adds_up",
    "carries_state",
    "ends_generator",
    "ends_loop_by",
    "feeds_next_turn",
    "find_stored",
    "given_with",
    "gives_state",
    "gives_to_next_turn",
    "goes_to_its_source",
    "is_needed_by_host",
    "reads_at_end",
    "teaches",
    "writes_what_it_reads",
]
