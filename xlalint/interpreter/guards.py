"""Guards that let code run at every n-th step: tests of the remainder of a number that counts steps.

What is divided decides: what a loop that drives a device counts, what a function adds to as it goes, an attribute that methods change. The
index of a layer, a size and a setting are no such numbers: code under a test of these runs at every step or never.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Collection, Mapping
from types import MappingProxyType
from typing import Final, NamedTuple

import msgspec

from xlalint.abstract.values import DUE, UNKNOWN, Const, Function, Host, Instance, Value, members
from xlalint.analysis.hazard import Frequency
from xlalint.interpreter.device_loops import blocks, last_name, leaves, loops, names_added_to
from xlalint.interpreter.spelling import path_of, spelling
from xlalint.interpreter.switches import DefaultOutcome
from xlalint.lowering import ir
from xlalint.program.linker import ClassInfo, FunctionInfo

_FEW: Final = 10
_FIRST: Final = 32  # turns that are the first ones of many
_NONE: Final = ir.Const(None)
_ONE: Final = ir.Const(1)
_CLOCKS: Final = frozenset(("time", "perf_counter", "monotonic", "now", "process_time"))
_CONSTRUCTORS: Final = frozenset(("__init__", "__post_init__", "setup", "build", "_setup"))
_COMPARING: Final = {"equal": "==", "not_equal": "!="}
_EQUALITIES: Final = (("==",), ("!=",))
_BELOW: Final = frozenset(("<", "<="))
_BOUNDING: Final = _BELOW | {">", ">="}
_UNSET: Final = (("<",), ("<=",), ("==",))
_REACHING: Final = frozenset(("==", ">", ">="))
_OUTDOING: Final = frozenset(("<", "<=", ">", ">=", "!="))
_SIMPLE: Final = frozenset((ir.Name, ir.Attr, ir.Call, ir.Sub, ir.Const))
_SUMMING: Final = frozenset(("+", "-", "*", "//"))


class Written(NamedTuple):
    """Tells what statements give values to: `added` are the names, attributes and entries of tables to which they add, as these are
    spelled, `counting` the attributes and entries to which they add one, `copies` the names that stand for others alone, with these, `sums`
    those that are given one sum or product alone, `clocks` those that stand for the time alone, `stored` the attributes that are given
    another value."""

    added: frozenset[str] = frozenset()
    copies: Mapping[str, tuple[ir.Name, ...]] = MappingProxyType({})
    sums: Mapping[str, ir.Bin] = MappingProxyType({})
    clocks: frozenset[str] = frozenset()
    counting: frozenset[str] = frozenset()
    stored: frozenset[str] = frozenset()


class Counting(NamedTuple):
    """Tells what counts around a test: how expressions are evaluated, the names that the loops around it count by, the parameters of the
    function and what it writes. `drives`: the function holds the loops of steps, so what it adds to counts these. `by_default` says how a
    condition comes out where nobody switches anything on, None where that does not follow."""

    evaluate: Callable[[ir.Node], Value]
    counters: frozenset[str]
    params: tuple[str, ...]
    written: Callable[[], Written]
    drives: bool
    by_default: Callable[[ir.Node], DefaultOutcome | None]


def find_written(body: tuple[ir.Statement, ...]) -> Written:
    """Find what statements give values to."""
    added, counting, attributes = set(names_added_to(body)), set[str](), set[str]()
    given: defaultdict[str, list[ir.Node]] = defaultdict(list)
    for one in ir.walk_statements(body):
        if type(one) is ir.AugAssign and one.op == "+":
            added.add(_spell_written(one.target))
            if one.value == _ONE:
                counting.add(_spell_written(one.target))
        elif type(one) is ir.Assign:
            sides = (one.value.body, one.value.orelse) if type(one.value) is ir.IfExp else (one.value,)
            for name in {target.id for target in one.targets if type(target) is ir.Name}:
                given[name].extend(sides)
            attributes.update(path_of(target) for target in one.targets if type(target) is ir.Attr)
    copies: dict[str, tuple[ir.Name, ...]] = {}
    sums: dict[str, ir.Bin] = {}
    for name, values in given.items():
        names = tuple([value for value in values if type(value) is ir.Name])
        if len(names) == len(values):
            copies[name] = names
        elif len(values) == 1 and type(values[0]) is ir.Bin and values[0].op in _SUMMING and name not in added:
            sums[name] = values[0]
    clocks = frozenset([name for name, values in given.items() if all(map(_is_clock, values))])
    return Written(frozenset(added), copies, sums, clocks, frozenset(counting), frozenset(attributes))


def _spell_written(node: ir.Node) -> str:
    """How an attribute or an entry of a table is spelled, "" of other expressions."""
    return path_of(node) if type(node) is ir.Attr else spelling(node) if type(node) is ir.Sub else ""


def tests_remainder(test: ir.Node) -> bool:
    """Return whether a condition asks for a remainder, of whatever."""
    if type(test) in _SIMPLE:
        return False
    if type(test) is ir.Bool:
        return any(map(tests_remainder, test.values))
    asked = test.value if type(test) is ir.Not else test.left if type(test) is ir.Compare else test
    if type(asked) is ir.Bin:
        return asked.op == "%"
    return type(test) is ir.Not and tests_remainder(asked)


def _tests_difference(test: ir.Node) -> bool:
    """Return whether a condition, or a part of it, asks how far one number is above another: `step - self.last >= n`."""
    if type(test) is ir.Bool:
        return any(map(_tests_difference, test.values))
    asked = test.value if type(test) is ir.Not else test
    return (
        type(asked) is ir.Compare
        and asked.ops[0] in (">=", ">", "<", "<=")
        and type(asked.left) is ir.Bin
        and asked.left.op == "-"
    )


def lets_some_in(test: ir.Node) -> bool:
    """Return whether a condition holds for one remainder of some number: `step % n == 0`, `not step % n`; for one number besides."""
    if type(test) is ir.Bool:
        letting = any(map(lets_some_in, test.values))
        return letting and (test.is_and or all(lets_some_in(one) or _lets_one_in(one) for one in test.values))
    if type(test) is ir.Compare:
        return test.ops in (("==",), ("is",)) and tests_remainder(test)
    return type(test) is ir.Not and tests_remainder(test.value) and type(test.value) is ir.Bin


def _lets_one_in(test: ir.Node) -> bool:
    """Return whether a condition holds for one number: `step == last`."""
    return type(test) is ir.Compare and test.ops == ("==",)


def _tests_bound(test: ir.Node) -> bool:
    """Return whether a condition, or a part of it, asks whether something is below a small number: `count <= 5`."""
    if type(test) is ir.Bool:
        return any(map(_tests_bound, test.values))
    asked = test.value if type(test) is ir.Not else test
    if type(asked) is not ir.Compare or asked.ops[0] not in _BOUNDING or len(asked.ops) != 1:
        return False
    sides = (asked.left, asked.rights[0])
    return any(map(_is_small, sides)) and any(type(side) is ir.Name or type(side) is ir.Attr for side in sides)


def _is_small(node: ir.Node) -> bool:
    return type(node) is ir.Const and type(node.value) is int and 0 < node.value <= _FIRST


def lets_first_in(test: ir.Node, counters: Collection[str]) -> bool:
    """Return whether a condition lets the first few turns of a loop in alone: `step < 20`, of which the loop counts `step`."""
    if type(test) is ir.Bool:
        return test.is_and and any(lets_first_in(one, counters) for one in test.values)
    if type(test) is not ir.Compare:
        return False
    sides = (test.left, *test.rights)
    pairs = zip(test.ops, sides, sides[1:], strict=False)
    ordered = ((low, high) if op in _BELOW else (high, low) for op, low, high in pairs if op in _BOUNDING)
    return any(type(low) is ir.Name and low.id in counters and _is_small(high) for low, high in ordered)


def may_guard_entered(test: ir.Node) -> bool:
    """Return whether a condition may let code run at every n-th step in a function that holds no loop over steps."""
    return tests_remainder(test) or _tests_difference(test) or _tests_bound(test)


def may_guard(test: ir.Node) -> bool:
    """Return whether a condition may let code run at every n-th step: it asks for a remainder, for one number, or a function that is told
    something."""
    if type(test) is ir.Bool:
        return any(map(may_guard, test.values))
    asked = test.value if type(test) is ir.Not else test
    if tests_equality(asked) or may_guard_entered(test):
        return True
    return type(asked) is ir.Call and bool(asked.args)


def decides_by(test: ir.Node, paths: Collection[str], wanted: bool) -> bool | None:
    """Return the outcome of a condition at which what stands at one of the paths surely has the value that is wanted, None where there is
    none."""
    if type(test) is ir.Attr:
        return wanted if path_of(test) in paths else None
    if type(test) is ir.Not:
        found = decides_by(test.value, paths, wanted)
        return None if found is None else not found
    if type(test) is ir.Bool:
        return test.is_and if any(decides_by(one, paths, wanted) is test.is_and for one in test.values) else None
    return None


def asks_flag(test: ir.Node, names: Mapping[str, Value]) -> bool:
    """Return whether a condition, or a part of it, is a flag that a guard sets at every n-th step."""
    if type(test) is ir.Bool:
        return any(asks_flag(one, names) for one in test.values)
    asked = test.value if type(test) is ir.Not else test
    return type(asked) is ir.Name and names.get(asked.id) is DUE


def name_guards(body: tuple[ir.Statement, ...]) -> dict[str, ir.Node]:
    """Return the conditions that one assignment each of a body gives names, and that ask for a remainder or for one number, themselves or
    by such a name: `logs = verbose and due`."""
    found: dict[str, ir.Node] = {}
    stored: set[str] = set()
    for one in ir.walk_statements(body):
        if type(one) is not ir.Assign:
            continue
        for target in one.targets:
            if type(target) is ir.Name:
                if target.id not in stored and _asks_for_turn(one.value, found):
                    found[target.id] = spell_out(one.value, lambda: found)
                else:
                    found.pop(target.id, None)
                stored.add(target.id)
    return found


def _asks_for_turn(value: ir.Node, found: Mapping[str, ir.Node]) -> bool:
    named = value.values if type(value) is ir.Bool else (value,)
    if any(type(one) is ir.Name and one.id in found for one in named):
        return True
    return tests_remainder(value) or _compares_equal(value)


def spell_out(test: ir.Node, guards: Callable[[], dict[str, ir.Node]]) -> ir.Node:
    """Return a condition with what the names in it stand for, of those that ask for a turn: `if logs:`, `if step and (logs or last):`."""
    if type(test) is ir.Name:
        return guards().get(test.id, test)
    if type(test) is ir.Not:
        value = spell_out(test.value, guards)
        return test if value is test.value else ir.Not(value, test.at)
    if type(test) is ir.Bool:
        values = tuple([spell_out(one, guards) for one in test.values])
        if any(one is not own for one, own in zip(values, test.values, strict=True)):
            return msgspec.structs.replace(test, values=values)
    return test


def _compares_equal(value: ir.Node) -> bool:
    return type(value) is ir.Compare and value.ops == ("==",)


def tests_equality(test: ir.Node) -> bool:
    """Return whether a condition, or a part of it, asks whether two things are equal."""
    if type(test) is ir.Bool:
        return any(map(tests_equality, test.values))
    asked = test.value if type(test) is ir.Not else test
    return type(asked) is ir.Compare and asked.ops in _EQUALITIES


def asks_when(test: ir.Node, around: Counting) -> bool:
    """Return whether a condition, or a part of it, asks at which turn a loop is: for a remainder, one number, or a function that divides
    the count."""
    if type(test) is ir.Bool:
        return any(asks_when(one, around) for one in test.values)
    test = _spell_comparison(test)
    if tests_remainder(test) or _is_one_turn(test, "==", around):
        return True
    if type(test) is ir.Not:
        return _is_one_turn(test.value, "!=", around)
    return type(test) is ir.Call and _of_call(test, around) is not None


def _spell_comparison(test: ir.Node) -> ir.Node:
    """Return `step % 100 == 0` for `tf.equal(step % 100, 0)`."""
    if type(test) is not ir.Call or len(test.args) != 2 or not isinstance(test.func, (ir.Attr, ir.Name)):
        return test
    op = _COMPARING.get(last_name(test.func))
    return test if op is None else ir.Compare(test.args[0], (op,), (test.args[1],), test.at)


def _is_one_turn(test: ir.Node, op: str, around: Counting) -> bool:
    """Return whether a condition compares the count of a loop's turns with one number, as in `step == steps_per_epoch`."""
    if type(test) is not ir.Compare or test.ops != (op,):
        return False
    return any(type(side) is ir.Name and _counts_steps(side, around) for side in (test.left, *test.rights))


def fills_once(node: ir.If, loop: tuple[ir.Statement, ...]) -> bool:
    """Return whether a branch gives a name its first value, which no turn of the loop around takes back: `if preds is None: preds = …`."""
    asked = node.test
    if type(asked) is not ir.Compare or asked.ops != ("is",) or asked.rights[0] != _NONE:
        return False
    if type(asked.left) is not ir.Name or not _gives(node.body, asked.left.id, none=False):
        return False
    return not _gives(loop, asked.left.id, none=True)


def ends_loop(node: ir.If, loop: tuple[ir.Statement, ...]) -> bool:
    """Return whether a branch ends by leaving a loop with this body: it runs once for all of the loop's turns."""
    return leaves(node.body) and _stands_in(node, loop)


def _stands_in(node: ir.If, body: tuple[ir.Statement, ...]) -> bool:
    """Return whether a statement stands in a body, in no loop within."""
    rest = (one for one in body if not isinstance(one, (ir.For, ir.While)))
    return any(one is node or _stands_in(node, blocks(one)) for one in rest)


def without_last(test: ir.Node, ending: Callable[[], frozenset[str]]) -> ir.Node | None:
    """Return a condition without what holds in the last turn of a loop alone: `step % n == 0 or step >= last` where it says
    `if step >= last: break`; None where nothing is left of it. `ending` are the conditions under which a loop is left, as they are spelled.
    """
    if type(test) is ir.Bool and not test.is_and:
        kept = tuple([one for one in test.values if not _ends(one, ending)])
        if len(kept) == len(test.values):
            return test
        return msgspec.structs.replace(test, values=kept) if len(kept) > 1 else kept[0] if kept else None
    return None if _ends(test, ending) else test


def _ends(test: ir.Node, ending: Callable[[], frozenset[str]]) -> bool:
    """Return whether a condition, a flag or a bound that is reached, holds in the last turn of a loop: that is left there, or goes over no
    more than the bound."""
    if type(test) is ir.Name:
        return test.id in ending()
    if type(test) is not ir.Compare or len(test.ops) != 1 or test.ops[0] not in _REACHING:
        return False
    return _is_length(_without_offset(test.rights[0])) or spelling(test) in ending()


def find_ending(body: tuple[ir.Statement, ...]) -> frozenset[str]:
    """Find the conditions under which the loops of a body are left, as they are spelled."""
    inside = tuple(loops(body))
    spelled = [spelling(one.test) for one in ir.walk_statements(inside) if type(one) is ir.If and leaves(one.body)]
    return frozenset([one for one in spelled if one and "…" not in one])


def keeps_what_it_compares(node: ir.If) -> bool:
    """Return whether a branch keeps what its condition found to be another one, or better: `if score > best: best = score`."""
    asked = node.test
    if type(asked) is not ir.Compare or len(asked.ops) != 1 or asked.ops[0] not in _OUTDOING:
        return False
    sides = {spelling(asked.left), spelling(asked.rights[0])}
    if len(sides) < 2 or any("…" in side for side in sides):
        return False
    given = [one for one in node.body if type(one) is ir.Assign]
    return any({spelling(target), spelling(one.value)} == sides for one in given for target in one.targets)


def _gives(body: tuple[ir.Statement, ...], name: str, *, none: bool) -> bool:
    """Return whether statements assign a name None, or something else."""
    assigned = (one for one in ir.walk_statements(body) if type(one) is ir.Assign and _assigns(one, name))
    return any((one.value == _NONE) is none for one in assigned)


def begins_count_anew(node: ir.If, written: Callable[[], Written]) -> bool:
    """Return whether a branch runs once a number, to which the code adds, has come so far, and sets it back: `if seen > n: seen = 0`."""
    tests = node.test.values if type(node.test) is ir.Bool and node.test.is_and else (node.test,)
    reached = [path_of(one.left) for one in tests if type(one) is ir.Compare and one.ops[0] in _REACHING]
    if not any(reached):
        return False
    given = [one for one in node.body if type(one) is ir.Assign and _is_whole(one.value)]
    set_back = {path_of(target) for one in given for target in one.targets}
    return any(path in set_back and path in written().added for path in reached if path)


def _is_whole(node: ir.Node) -> bool:
    return type(node) is ir.Const and type(node.value) is int


def sets_what_it_asks_for(node: ir.If, body: Callable[[], tuple[ir.Statement, ...]]) -> bool:
    """Return whether a branch gives an entry its first value, if its condition asks whether that has one yet: `if z < 0: params[2] = mean`,
    where `z` is `params[2].item()`."""
    asked = node.test
    if type(asked) is not ir.Compare or asked.ops not in _UNSET or type(asked.rights[0]) is not ir.Const:
        return False
    given = [one for one in node.body if type(one) is ir.Assign and type(one.value) is not ir.Const]
    entries = {spelling(target) for one in given for target in one.targets if type(target) is ir.Sub}
    if not entries:
        return False
    read = assigned_once(asked.left, body(), node.at)
    return any(type(one) is ir.Sub and spelling(one) in entries for one in ir.walk(read))


def attribute_filled_once(node: ir.If, receiver: str) -> str:
    """Return the attribute that a branch gives its first value, if that is what its condition asks for: `if not hasattr(self, "x"):
    self.x = …`, `if self.x is None:`, `if not self.ready: self.ready = True`; "" of others."""
    tests = node.test.values if type(node.test) is ir.Bool and node.test.is_and else (node.test,)
    for test in tests:
        name, given = _attribute_without(test, receiver)
        if name and any(_fills(one, receiver, name, given) for one in ir.walk_statements(node.body)):
            return name
    return ""


def _fills(statement: object, receiver: str, name: str, given: Callable[[ir.Node], bool]) -> bool:
    """Return whether a statement gives an attribute such a value, or a method of the object or `setattr` does so, told its name:
    `self.register_buffer("x", …)`."""
    if type(statement) is ir.Assign:
        return f"{receiver}.{name}" in map(path_of, statement.targets) and given(statement.value)
    if type(statement) is not ir.Eval or type(statement.value) is not ir.Call or len(statement.value.args) < 2:
        return False
    call = statement.value
    if type(call.func) is ir.Attr and path_of(call.func.value) == receiver:
        return call.args[0] == ir.Const(name) and given(call.args[1])
    told = path_of(call.func) == "setattr" and path_of(call.args[0]) == receiver and len(call.args) == 3
    return told and call.args[1] == ir.Const(name) and given(call.args[2])


def _attribute_without(test: ir.Node, receiver: str) -> tuple[str, Callable[[ir.Node], bool]]:
    """Return the attribute of which a condition asks if it has no value yet, and which expressions give it one; "" of others."""
    if type(test) is ir.Not:
        asked = test.value
        if type(asked) is ir.Call and path_of(asked.func) == "hasattr" and len(asked.args) == 2:
            name = asked.args[1]
            if path_of(asked.args[0]) == receiver and type(name) is ir.Const and isinstance(name.value, str):
                return name.value, _is_something
        return _own_attribute(asked, receiver), _is_true
    if type(test) is ir.Compare and test.ops in (("is",), ("==",)) and type(test.rights[0]) is ir.Const:
        compared = test.rights[0].value
        if compared is None or compared is False:
            return _own_attribute(test.left, receiver), _is_something if compared is None else _is_true
    return "", _is_something


def _own_attribute(node: ir.Node, receiver: str) -> str:
    return node.name if type(node) is ir.Attr and type(node.value) is ir.Name and node.value.id == receiver else ""


def _is_true(node: ir.Node) -> bool:
    return type(node) is ir.Const and node.value is True


def _is_something(node: ir.Node) -> bool:
    return node != _NONE


def keeps_attribute(owner: ClassInfo, name: str, receiver: str) -> bool:
    """Return whether no method of a class but constructors takes an attribute's value back."""
    setting = [one for one in owner.all_methods() if name in one.ir.stores and one.name not in _CONSTRUCTORS]
    return not any(_empties(one.body, f"{receiver}.{name}") for one in setting)


def _empties(body: tuple[ir.Statement, ...], path: str) -> bool:
    """Return whether statements take an attribute's value back: they assign None or what is false, or delete it."""
    for one in ir.walk_statements(body):
        if type(one) is ir.Assign and path in map(path_of, one.targets):
            if type(one.value) is ir.Const and not one.value.value:
                return True
        elif type(one) is ir.Delete and path in map(path_of, one.targets):
            return True
    return False


def asks_clock(test: ir.Node, body: tuple[ir.Statement, ...]) -> bool:
    """Return whether a condition, or a part of it, asks how much time went by: `now - last >= 60`, where `now` is the clock's."""
    if type(test) is ir.Bool:
        return any(asks_clock(one, body) for one in test.values)
    if type(test) is not ir.Compare:
        return False
    sides = [side for side in (test.left, *test.rights) if type(side) is ir.Bin and side.op == "-"]
    return any(_is_clock(assigned_once(one, body)) for side in sides for one in (side.left, side.right))


def reads_clock(body: tuple[ir.Statement, ...]) -> bool:
    """Return whether statements ask what time it is."""
    return any(isinstance(one, ir.Call) and _is_clock(one) for one in ir.walk(body))


def _is_clock(node: ir.Node) -> bool:
    return type(node) is ir.Call and isinstance(node.func, (ir.Attr, ir.Name)) and last_name(node.func) in _CLOCKS


def assigned_once(node: ir.Node, body: tuple[ir.Statement, ...], before: int | None = None) -> ir.Node:
    """Return what a name is assigned, if just one statement of the body does that, or one `before` a place; else the expression itself."""
    if type(node) is not ir.Name:
        return node
    name = node.id
    found = [one for one in ir.walk_statements(body) if type(one) is ir.Assign and _assigns(one, name)]
    if before is not None:
        found = [one for one in found if one.at < before]
    return found[0].value if len(found) == 1 else node


def attribute_assigned(info: FunctionInfo, name: str) -> list[ir.Node]:
    """List what a method assigns to an attribute, whatever object has it."""
    assigned = [one for one in ir.walk_statements(info.body) if type(one) is ir.Assign]
    return [one.value for one in assigned if any(type(to) is ir.Attr and to.name == name for to in one.targets)]


def name_assigned(body: tuple[ir.Statement, ...]) -> dict[str, ir.Node]:
    """Return what names are assigned that just one statement of a body assigns: `assigned_once` of all its names."""
    found: dict[str, ir.Node] = {}
    several: set[str] = set()
    for one in ir.walk_statements(body):
        if type(one) is ir.Assign:
            for name in {target.id for target in one.targets if type(target) is ir.Name}:
                if name in found:
                    several.add(name)
                found[name] = one.value
    return {name: value for name, value in found.items() if name not in several}


def _assigns(statement: ir.Assign, name: str) -> bool:
    return any(type(one) is ir.Name and one.id == name for one in statement.targets)


def guard_of(test: ir.Node, wanted: bool, around: Counting) -> Frequency | None:
    """Return how often a test comes out as wanted that asks for the remainder of a count of steps; None of other tests."""
    if type(test) is ir.Not:
        return guard_of(test.value, not wanted, around)
    if type(test) is ir.Bool:
        return _of_chain(test, wanted, around)
    if type(test) is ir.Compare:
        return _of_compare(test, wanted, around)
    if type(test) is ir.Name:
        return Frequency.NTH_STEP if wanted and around.evaluate(test) is DUE else None
    if type(test) is ir.Call:
        return _of_call(test, around) if wanted else None
    return _of_remainder(test, around) if type(test) is ir.Bin and test.op == "%" and not wanted else None


def _of_chain(test: ir.Bool, wanted: bool, around: Counting) -> Frequency | None:
    """Of several conditions that must all hold the strictest counts; of those of which one is enough, the loosest."""
    found = [guard_of(one, wanted, around) for one in test.values]
    known = [one for one in found if one is not None]
    if test.is_and is wanted:
        return min(known, default=None)
    others = (one for one, guard in zip(test.values, found, strict=True) if guard is None)
    return max(known) if known and all(_is_passing(one, wanted, around) for one in others) else None


def _is_passing(test: ir.Node, wanted: bool, around: Counting) -> bool:
    """Return whether a condition lets in single steps, or the first ones.

    The count is some number, or not above it; or an object is in a state that its methods end. What is off lets in none.
    """
    default = around.by_default(test)
    if default is not None and default.holds is not wanted:
        return True
    if type(test) is ir.Bool and test.is_and and wanted:
        return any(_is_passing(one, wanted, around) for one in test.values)
    if type(test) is ir.Compare:
        return wanted and len(test.ops) == 1 and any(_counts_steps(one, around) for one in _list_bounded(test))
    if type(test) is not ir.Attr or not wanted:
        return False
    states = [one for one in members(around.evaluate(test.value)) if type(one) is Instance]
    return bool(states) and all(_is_changed(one.klass, test.name) for one in states)


def _list_bounded(test: ir.Compare) -> tuple[ir.Node, ...]:
    """Return the sides of a comparison that are one number, or not above one, where it comes out true."""
    sides = {
        "==": (test.left, test.rights[0]),
        "<": (test.left,),
        "<=": (test.left,),
        ">": test.rights,
        ">=": test.rights,
    }
    return sides.get(test.ops[0], ())


def _of_compare(test: ir.Compare, wanted: bool, around: Counting) -> Frequency | None:
    """Of `step % n == 0` and the like; `step % n != 0` comes out false so often. `is` asks the same of a small number.

    A loop that counts its turns reaches one number once.
    """
    if len(test.ops) == 1 and _tests_difference(test):
        return _of_difference(test, wanted, around)
    if _tests_bound(test):
        return _of_bound(test, wanted, around)
    if len(test.ops) != 1 or test.ops[0] not in (("==", "is") if wanted else ("!=", "is not")):
        return None
    if type(test.left) is ir.Bin and test.left.op == "%":
        return _of_remainder(test.left, around)
    sides = _without_offset(test.left), _without_offset(test.rights[0])
    if _is_counter(sides[0], around) is _is_counter(sides[1], around):
        return None
    return Frequency.EPOCH if any(map(_is_length, sides)) else Frequency.NTH_STEP


def _without_offset(node: ir.Node) -> ir.Node:
    """Return what a number is added to, or taken from: `i` of `i + 1`."""
    offset = type(node) is ir.Bin and node.op in ("+", "-") and type(node.right) is ir.Const
    return node.left if type(node) is ir.Bin and offset else node


def _is_length(node: ir.Node) -> bool:
    """Return whether an expression is how many steps a pass over data takes: `len(loader)`."""
    return type(node) is ir.Call and type(node.func) is ir.Name and node.func.id == "len"


def _of_bound(test: ir.Compare, wanted: bool, around: Counting) -> Frequency | None:
    """Of `count <= 5`: it comes out true at the first steps alone."""
    below = (test.ops[0] in _BELOW) is wanted
    counted, bound = (test.left, test.rights[0]) if below else (test.rights[0], test.left)
    if not _is_small(bound):
        return None
    if type(counted) is ir.Name:
        return Frequency.NTH_STEP if counted.id in around.counters else None
    return Frequency.NTH_STEP if _spell_written(counted) in around.written().counting - {""} else None


def _of_difference(test: ir.Compare, wanted: bool, around: Counting) -> Frequency | None:
    """Of `step - self.last >= n`, where methods move the mark on: it comes out true once the count is so far above it. And of
    `time.time() - last > 60`: once so much time went by."""
    if test.ops[0] not in ((">=", ">") if wanted else ("<", "<=")) or type(test.left) is not ir.Bin:
        return None
    now, mark = test.left.left, test.left.right
    if _is_clock(now) or (type(now) is ir.Name and now.id in around.written().clocks):
        return Frequency.NTH_STEP
    if type(mark) is not ir.Attr or not _counts_steps(test.left.left, around):
        return None
    owners = [one for one in members(around.evaluate(mark.value)) if type(one) is Instance]
    return Frequency.NTH_STEP if any(_is_changed(one.klass, mark.name) for one in owners) else None


def _is_counter(node: ir.Node, around: Counting) -> bool:
    """Return whether an expression is a name by which a loop of steps counts, or to which it adds; or an object's own count of them."""
    if type(node) is not ir.Name:
        return type(node) is ir.Attr and around.drives and _is_added_to(node, around)
    return node.id in around.counters or (around.drives and node.id in around.written().added)


def _is_added_to(node: ir.Attr | ir.Sub, around: Counting) -> bool:
    """Return whether the function adds to an attribute or an entry of a table: `self.step += 1`, `state["step"] += 1`."""
    spelled = _spell_written(node)
    return spelled != "" and spelled in around.written().added


def _of_call(test: ir.Call, around: Counting) -> Frequency | None:
    """Of a function of the program that is asked whether it is time: it is told the step, and divides it. And of an object that does so, or
    compares the step with a mark of its own."""
    if not isinstance(test.func, (ir.Name, ir.Attr)) or not any(_counts_steps(arg, around) for arg in test.args):
        return None
    asked = around.evaluate(test.func)
    if type(asked) is Instance:
        method = asked.klass.method("__call__")
        return _of_function(method, 1, test, around) if method is not None else None
    return _of_function(asked.info, asked.receiver is not None, test, around) if type(asked) is Function else None


def _of_function(info: FunctionInfo, bound: int, test: ir.Call, around: Counting) -> Frequency | None:
    told = zip(info.params[bound:], test.args, strict=False)
    counting = {param.name for param, arg in told if _counts_steps(arg, around)}
    receiver = info.params[0].name if bound and info.params else ""
    told_steps = any(_weighs_count(one, counting, receiver) for one in ir.walk(info.body))
    return Frequency.NTH_STEP if told_steps else None


def _weighs_count(node: object, counting: Collection[str], receiver: str) -> bool:
    """Return whether an expression divides a count, or compares it with an attribute of the object that is asked: `step >= self.next`,
    `step - self.last >= n`."""
    if type(node) is ir.Bin and node.op == "%":
        return _is_one_of(node.left, counting)
    if type(node) is not ir.Compare and (type(node) is not ir.Bin or node.op != "-"):
        return False
    if type(node.left) is not ir.Name or node.left.id not in counting:
        return False
    against = node.right if type(node) is ir.Bin else node.rights
    return bool(receiver) and any(type(one) is ir.Attr and path_of(one.value) == receiver for one in ir.walk(against))


def _is_one_of(node: ir.Node, counting: Collection[str]) -> bool:
    """Return whether an expression is one of some names, or such a name with something added or taken away: `(step + 1) % n`."""
    if type(node) is ir.Bin and node.op in _SUMMING:
        return _is_one_of(node.left, counting) or _is_one_of(node.right, counting)
    return type(node) is ir.Name and node.id in counting


def asks_object(test: ir.Node, assigned: Callable[[ir.Node], ir.Node], around: Counting) -> bool:
    """Return whether a condition, or a part of it, asks an object of a library's class that was made before, and tells it the count:
    `log = Every(100)`, `if log(step):`. `assigned` gives what a name is assigned once."""
    if type(test) is ir.Bool:
        return any(asks_object(one, assigned, around) for one in test.values)
    if type(test) is not ir.Call or type(test.func) is not ir.Name or test.keywords:
        return False
    made = assigned(test.func)
    if type(made) is not ir.Call or not last_name(made.func)[:1].isupper() or len(test.args) != 1:
        return False
    told = test.args[0]
    return type(told) is ir.Name and told.id in around.counters and around.evaluate(test.func) is UNKNOWN


def _of_remainder(node: ir.Bin, around: Counting) -> Frequency | None:
    if not _counts_steps(node.left, around):
        return None
    if _is_length(node.right):
        return Frequency.EPOCH
    divisor = around.evaluate(node.right) if isinstance(node.right, (ir.Const, ir.Name)) else UNKNOWN
    few = type(divisor) is Const and isinstance(divisor.value, int) and divisor.value < _FEW
    return Frequency.FEW_STEPS if few else Frequency.NTH_STEP


def _counts_steps(node: ir.Node, around: Counting) -> bool:
    """Return whether a number may be counting steps: nothing says that it is something else."""
    if type(node) is ir.Bin and node.op in _SUMMING:
        return _counts_steps(node.left, around) or _counts_steps(node.right, around)
    if type(node) is ir.Name:
        return _is_counter(node, around) or _value_counts(node, around) or _is_sum_of_count(node, around)
    if type(node) is ir.Sub:
        return type(node.index) is ir.Const and type(node.index.value) is str and _entry_counts(node, around)
    return type(node) is ir.Attr and path_of(node) != "" and _attribute_counts(node, around)


def _value_counts(node: ir.Name, around: Counting) -> bool:
    value = around.evaluate(node)
    if any(type(one) is Host and one.origin in ("turn", "counted") for one in members(value)):
        return True
    if around.drives:
        # A whole number that was read of a tensor is the count that a model keeps with its parameters.
        return value is UNKNOWN or any(
            type(one) is Host and one.type in ("int", "") and one.origin == "data" for one in members(value)
        )
    if node.id not in around.params:
        return _names_count(node.id, around)
    return all(one is UNKNOWN or (type(one) is Host and one.origin == "python") for one in members(value))


def _is_sum_of_count(node: ir.Name, around: Counting) -> bool:
    """Return whether a name stands for a sum in which the function counts: `step = len(loader) * epoch + turn`."""
    made = around.written().sums.get(node.id)
    return made is not None and any(type(one) is ir.Name and _is_counter(one, around) for one in ir.walk((made,)))


def _names_count(name: str, around: Counting) -> bool:
    """Return whether a name is another one for parameters that may count steps: `step = global_step if train else test_step`."""
    others = around.written().copies.get(name, ())
    told = all(one.id in around.params for one in others)
    return bool(others) and told and all(_value_counts(one, around) for one in others)


def _entry_counts(node: ir.Sub, around: Counting) -> bool:
    """Return whether an entry of a table, `state["step"]`, is one to which the function adds, or may be one where it holds the loops."""
    if _is_added_to(node, around):
        return True
    return around.drives and around.evaluate(node) is UNKNOWN


def _attribute_counts(node: ir.Attr, around: Counting) -> bool:
    """Return whether an attribute is one that methods change, or that no class of the program assigns: a trainer's own count; or one that
    the function which holds the loops sets as it goes."""
    if around.drives and path_of(node) in around.written().stored:
        return True
    owner = around.evaluate(node.value)
    if any(type(one) is Instance for one in members(owner)):
        return any(type(one) is Instance and _is_changed(one.klass, node.name) for one in members(owner))
    return owner is UNKNOWN


def _is_changed(klass: ClassInfo, name: str) -> bool:
    assigned = False
    for method in klass.all_methods():
        if name in method.ir.stores:
            if method.name not in _CONSTRUCTORS:
                return True
            assigned = True
    return not assigned and name not in klass.ir.methods


__all__ = [
    "Counting",
    "Written",
    "asks_clock",
    "asks_flag",
    "asks_object",
    "asks_when",
    "assigned_once",
    "attribute_assigned",
    "attribute_filled_once",
    "begins_count_anew",
    "ends_loop",
    "fills_once",
    "find_ending",
    "find_written",
    "guard_of",
    "keeps_attribute",
    "keeps_what_it_compares",
    "lets_some_in",
    "may_guard",
    "may_guard_entered",
    "name_guards",
    "reads_clock",
    "sets_what_it_asks_for",
    "spell_out",
    "tests_equality",
    "tests_remainder",
    "without_last",
]
