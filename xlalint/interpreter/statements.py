"""Execution of statements: environments split at branches, join after them, and reach a fixed point in loops."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

import msgspec

from xlalint.abstract.lattice import join, join_all
from xlalint.abstract.values import (
    DUE,
    NEVER,
    NONE,
    TRUE,
    UNKNOWN,
    Class,
    Const,
    Host,
    LibraryInstance,
    LibrarySymbol,
    Mapping,
    Sequence,
    Tensor,
    Union,
    Value,
    class_value,
    function,
    host,
    is_leaf,
    mapping,
    members,
    sequence,
)
from xlalint.analysis.hazard import Frequency
from xlalint.interpreter.budget import tell_depth
from xlalint.interpreter.builtin_calls import element_of, is_staged
from xlalint.interpreter.device_loops import (
    NAMED,
    Loop,
    counts_to_few,
    find_counted,
    find_shown,
    is_long,
    mark_counted,
    names_added_to,
    names_counted,
    names_counting,
    values_of_turn,
)
from xlalint.interpreter.dispatch_loops import is_innermost
from xlalint.interpreter.drivers import DrivenBody
from xlalint.interpreter.expressions import binary_value, goes_over_written, store_subscript, test
from xlalint.interpreter.frame import _EXEC, Env, Frame, body_of, device_tensor, is_on_host, join_into
from xlalint.interpreter.frame_state import LoopTurns
from xlalint.interpreter.guards import tests_equality
from xlalint.interpreter.loop_names import names_taken_over, table_rewritten
from xlalint.interpreter.narrowing import assume, unpack_shape
from xlalint.interpreter.rates import Rate
from xlalint.interpreter.semantics import Branch
from xlalint.interpreter.spelling import path_of, position
from xlalint.interpreter.subscripts import kept_under
from xlalint.interpreter.traced_arguments import as_known, as_recorded, sizes_by
from xlalint.interpreter.tracing import hand_over
from xlalint.lowering import ir
from xlalint.program.linker import FunctionInfo
from xlalint.rules.codes import (
    AUTOGRAPH_UNSUPPORTED,
    TENSOR_ASSERT,
    TENSOR_IF,
    TENSOR_LOOP_BOUND,
    TENSOR_WHILE,
    TRACE_TIME_EFFECT,
    VALUE_SIZED_SHAPE,
)
from xlalint.rules.variants import ASSERT, HOST_ASSERT, NO_AUTOGRAPH

_LOOP_PASSES: Final = 3
_UNROLLED: Final = 12


def eval_statement(frame: Frame, node: ir.Eval) -> bool:
    frame.statement = node.at
    frame.eval(node.value)
    return True


def assign(frame: Frame, node: ir.Assign) -> bool:
    frame.statement = node.at
    if type(node.value) is ir.Display and len(node.targets) == 1 and type(node.targets[0]) is ir.Display:
        return _assign_each(frame, node.targets[0], node.value)
    value = frame.eval(node.value)
    if value is TRUE and _is_due(frame, node):
        value = DUE
    for look in frame.libraries.on_assign:
        look(frame, node, value)
    for target in node.targets:
        if type(target) is ir.Display and not any(type(item) is ir.Star for item in target.items):
            unpack_shape(frame, node.value, len(target.items))
        bind_target(frame, target, value)
    return True


def _is_due(frame: Frame, node: ir.Assign) -> bool:
    """Return whether a flag is set at every n-th step, and is put back at each: it says if something is due."""
    turn, ceiling = frame.loops.turn, frame.loops.rate.ceiling
    if turn is None or not frame.context.per_turn or not Frequency.NTH_STEP <= ceiling <= Frequency.FEW_STEPS:
        return False
    return all(type(one) is ir.Name and _assigns_false(turn.loop.body, one.id) for one in node.targets)


def _assigns_false(body: tuple[ir.Statement, ...], name: str) -> bool:
    """Return whether one of some statements, outside of blocks, assigns a name False."""
    plain = (one for one in body if type(one) is ir.Assign and type(one.value) is ir.Const and one.value.value is False)
    return any(type(target) is ir.Name and target.id == name for one in plain for target in one.targets)


def _assign_each(frame: Frame, target: ir.Display, source: ir.Display) -> bool:
    """`a, b, c = x, *y, z`: what is starred fills the places that are left."""
    stars = [i for i, item in enumerate(source.items) if type(item) is ir.Star]
    missing = len(target.items) - (len(source.items) - len(stars))
    if len(stars) != 1 or missing < 0 or any(type(item) is ir.Star for item in target.items):
        bind_target(frame, target, frame.eval(source))
        return True
    values: list[Value] = []
    for item in source.items:
        value = frame.eval(item)
        values += unpack(frame, value, missing, None) if type(item) is ir.Star else [value]
    for part, value in zip(target.items, values, strict=True):
        bind_target(frame, part, value)
    return True


def aug_assign(frame: Frame, node: ir.AugAssign) -> bool:
    frame.statement = node.at
    target = node.target
    right = frame.eval(node.value)
    if type(target) is ir.Sub:
        old = frame.eval(target.value)
        index = frame.eval(target.index)
        kept = kept_under(frame, target, old, index)
        if kept is not NEVER:
            right = binary_value(frame, node.op, kept, right, node.expr_at, target, node.value)
        store_subscript(frame, target, old, index, right, reads=True)
        return True
    old = frame.eval(target)
    if type(target) is ir.Name and frame.is_outer(target.id):
        frame.note(TRACE_TIME_EFFECT, target.at, "", target.id, "counts up once, while tracing", "effect")
    result = binary_value(frame, node.op, old, right, node.expr_at, target, node.value)
    if node.op in ("+", "-"):
        result = _count(frame, target, old, right) or _step(frame, target, old, right) or result
    if isinstance(old, Sequence) and old.kind == "list" and node.op == "+":
        result = sequence("list", None, join(old.element, element_of(frame, right)))
    bind_target(frame, target, result)
    return True


def _count(frame: Frame, target: ir.Node, old: Value, right: Value) -> Value | None:
    """Return what `self.step += 1` gives by a framework's account; None where none says."""
    for count in frame.libraries.on_augmented:
        found = count(frame, target, old, right)
        if found is not None:
            return found
    return None


def _step(frame: Frame, target: ir.Node, old: Value, right: Value) -> Value | None:
    """Return what `step += 1` gives in a loop that drives a device; None where it counts something else."""
    if (
        not frame.loops.step_depth
        or frame.loops.depth != frame.loops.step_depth
        or type(target) is not ir.Name
        or not isinstance(right, Const)
    ):
        return None
    if not isinstance(right.value, int) or not isinstance(old, Host):  # a constant: the turn began with it
        return None
    return mark_counted(old)


def ann_assign(frame: Frame, node: ir.AnnAssign) -> bool:
    frame.statement = node.at
    if type(node.target) is ir.Name:
        frame.scope.declared[node.target.id] = node.annotation
    if node.value is None:
        return True
    value = frame.eval(node.value)
    declared = frame.interpreter.annotations.value(frame.module, node.annotation)
    if declared is not None:
        value = declared if value is UNKNOWN else _as_declared(value, declared)
    bind_target(frame, node.target, value)
    return True


def _as_declared(value: Value, declared: Value) -> Value:
    """The value without tensors of a framework other than the declared one: what is said to be NumPy's is no torch tensor."""
    if not isinstance(declared, Tensor):
        return value
    kept = [m for m in members(value) if not (isinstance(m, Tensor) and m.framework != declared.framework)]
    return join_all(kept) if kept else declared


def bind_target(frame: Frame, target: ir.Node, value: Value) -> None:
    """Assign to a name, an attribute, an element, or unpack."""
    if type(target) is ir.Name:
        frame.bind(target.id, value)
    elif type(target) is ir.Attr:
        _bind_attribute(frame, target, value)
    elif type(target) is ir.Sub:
        base = frame.eval(target.value)
        store_subscript(frame, target, base, frame.eval(target.index), value, reads=False)
    elif type(target) is ir.Display:
        _unpack(frame, target, value)
    elif type(target) is ir.Star:
        bind_target(frame, target.value, value)


def _bind_attribute(frame: Frame, target: ir.Attr, value: Value) -> None:
    frame.eval(target.value)
    libraries = frame.libraries
    if target.name in libraries.options or target.name.isupper():
        for look in libraries.on_attribute:
            look(frame, target, value)
    path = path_of(target)
    if path:
        frame.refine(path, value)
        frame.forget(path)
    if type(target.value) is ir.Name and target.value.id == frame.scope.receiver_name:
        frame.store(target.name, value)
        for note in libraries.on_own_attribute:
            note(frame, path)


def _unpack(frame: Frame, target: ir.Display, value: Value) -> None:
    starred = next((i for i, item in enumerate(target.items) if type(item) is ir.Star), None)
    items = unpack(frame, value, len(target.items), starred)
    for item, part in zip(target.items, items, strict=True):
        bind_target(frame, item, UNKNOWN if _is_size(frame, item, part) else part)


def _is_size(frame: Frame, item: ir.Node, part: Value) -> bool:
    """Return whether what is passed in a row with tensors is a number, which the tracer leaves as it is: what a body makes sizes of."""
    if type(part) is not Tensor or part.sure or type(item) is not ir.Name or frame.function is None:
        return False
    return frame.libraries.of(part.framework).keeps_numbers and sizes_by(frame.function, item.id)


def unpack(frame: Frame, value: Value, count: int, starred: int | None) -> list[Value]:
    """The values that `count` targets get; `starred` is the position of a starred one."""
    if isinstance(value, Union):
        fitting = [
            m for m in value.members if isinstance(m, Sequence) and m.items is not None and len(m.items) == count
        ]
        # A function that returns either a tensor or a tuple is unpacked where it returns the tuple; a vector holds numbers too.
        plain = tuple(
            m
            for m in value.members
            if m is not NONE
            and not (fitting and isinstance(m, Tensor) and m.rank != 1)
            and not _fails(m, count, starred)
        )
        alternatives = [unpack(frame, member, count, starred) for member in plain]
        return [join_all(parts) for parts in zip(*alternatives, strict=True)] if alternatives else [UNKNOWN] * count
    if _fails(value, count, starred):
        return [UNKNOWN] * count
    if isinstance(value, Sequence) and value.items is not None:
        items = list(value.items)
        if starred is None:
            return items
        tail = count - 1 - starred
        middle = items[starred : len(items) - tail]
        rest = sequence("list", tuple(middle), join_all(middle))
        return [*items[:starred], rest, *items[len(items) - tail :]]
    # A structure that is taken apart into names is no dict.
    known = isinstance(value, Tensor) and is_leaf(value) and value.place
    element = value if known else element_of(frame, value)
    parts = [element] * count
    if isinstance(value, Sequence) and starred is None:
        parts[: len(value.prefix)] = value.prefix[:count]
    if starred is not None:
        parts[starred] = sequence("list", None, element)
    return parts


def _fails(value: Value, count: int, starred: int | None) -> bool:
    """Return whether unpacking a value to so many targets raises, since it has another number of elements."""
    if not isinstance(value, Sequence) or value.items is None:
        return False
    return len(value.items) != count if starred is None else len(value.items) < count - 1


def return_(frame: Frame, node: ir.Return) -> bool:
    frame.statement = node.at
    value = NONE if node.value is None else frame.eval(node.value)
    frame.context.returns = join(frame.context.returns, value)
    return False


def _only_raises(body: tuple[ir.Statement, ...]) -> bool:
    return bool(body) and type(body[-1]) is ir.Raise


def _ends_run(body: tuple[ir.Statement, ...]) -> bool:
    """Return whether a block ends what the program does: by raising, or by leaving it."""
    last = body[-1] if body else None
    if type(last) is ir.Eval:
        return type(last.value) is ir.Call and path_of(last.value.func) in _EXITS
    return type(last) is ir.Raise


def if_(frame: Frame, node: ir.If) -> bool:
    frame.statement = node.at
    rule, variant = _rule_of(frame, node)
    truth, asked = frame.asking(lambda: test(frame, node.test, rule, variant))
    drawn = frame.drawn
    reached = frame.rates_at(node)
    if truth is not None:
        return _exec_known(frame, node, truth, reached[not truth])
    asked_for = frame.rates_asked(node, reached)
    before = frame.env
    taken = dict(before)
    frame.env = taken
    assume(frame, node.test, True)
    outer, frame.paths.remembers = frame.paths.remembers, frame.paths.remembers or _missing_from(node.test)
    frame.paths.branch_depth += 1
    mine = len(frame.paths.tests)
    frame.paths.tests.append(node.test)
    falls = _exec_at(frame, node.body, asked_for[0])
    frame.paths.remembers = outer
    taken = frame.env
    other = dict(before)
    frame.env = other
    assume(frame, node.test, False)
    frame.paths.tests[mine] = ir.Not(node.test, node.at)
    other_falls = _exec_at(frame, node.orelse, asked_for[1])
    other = frame.env
    if falls and not other_falls:
        frame.paths.tests[mine] = node.test
    if falls is not other_falls:  # what follows runs as often as the branch that reaches it
        frame.loops.rate = (reached if _ends_run(node.orelse if falls else node.body) else asked_for)[other_falls]
    if falls == other_falls or _only_raises(node.orelse if falls else node.body):
        frame.paths.branch_depth -= 1  # else what follows runs only where it is not left before
        del frame.paths.tests[mine]
    if drawn is not None:
        ends = tuple(env for env, reached in ((taken, falls), (other, other_falls)) if reached)
        for look in frame.libraries.on_random_branch:
            look(frame, node, drawn, ends)
    if asked is not None:
        branched = frame.libraries.of(asked.framework).branched
        if branched is not None:
            branched(frame, Branch(node, asked, taken, other, falls, other_falls))
    if falls and other_falls:
        _keep_copies(frame, node.test, taken, other)
        join_into(taken, other, bool(frame.scope.owners))
    frame.env = taken if falls else other
    return falls or other_falls


def _exec_known(frame: Frame, node: ir.If, truth: bool, rate: Rate) -> bool:
    """Run the branch that a condition with this outcome lets run. What it asks of a number may be otherwise in a loop's later turns."""
    assume(frame, node.test, truth)
    varies = frame.loops.lasting > 0 and tests_equality(node.test)
    mine = len(frame.paths.tests)
    if varies:
        frame.paths.tests.append(node.test if truth else ir.Not(node.test, node.at))
    falls = _exec_at(frame, node.body if truth else node.orelse, rate)
    if varies:
        del frame.paths.tests[mine]  # what the branch left behind of its own holds for what follows
    return falls


def _keep_copies(frame: Frame, condition: ir.Node, taken: Env, other: Env) -> None:
    """Let what a branch copies to the host be there behind it, if it runs where there is a device: `if use_cuda: x = x.cpu()`."""
    copied = [name for name, value in taken.items() if value is not other.get(name) and is_on_host(value)]
    copied = [name for name in copied if _may_be_on_device(other.get(name, NEVER))]
    if copied and any(asks(frame, condition) for asks in frame.libraries.asks_for_device):
        other.update({name: taken[name] for name in copied})


def _may_be_on_device(value: Value) -> bool:
    held = value.element if type(value) is Sequence else value
    return held is UNKNOWN or device_tensor(held) is not None


def _missing_from(test: ir.Node) -> str:
    """The table that a condition finds a key to be missing from: `key not in table`, whose branch then fills it in."""
    if type(test) is ir.Compare and test.ops == ("not in",) and type(test.rights[0]) is ir.Name:
        return test.rights[0].id
    return ""


def _exec_at(frame: Frame, body: tuple[ir.Statement, ...], rate: Rate) -> bool:
    """Run a block that is reached so often."""
    outer, frame.loops.rate = frame.loops.rate, rate.under(Frequency.ONCE) if _ends_run(body) else rate
    falls = frame.exec(body)
    frame.loops.rate = outer
    return falls


def _rule_of(frame: Frame, node: ir.If) -> tuple[str, str]:
    """The rule that a tensor test of this `if` meets, and its variant: a check, the end of a loop, or a plain branch."""
    if _only_raises(node.body) and not node.orelse:
        return TENSOR_ASSERT, ""
    if frame.loops.kind in ("while", "endless") and (_leaves_loop(node.body) or _leaves_loop(node.orelse)):
        return (TENSOR_WHILE if frame.loops.kind == "endless" else TENSOR_IF), "break"
    return TENSOR_IF, ""


def _leaves_loop(body: tuple[ir.Statement, ...]) -> bool:
    """Return whether a block ends by a `break`."""
    last = body[-1] if body else None
    return type(last) is ir.Jump and last.leaves


def _loop(frame: Frame, node: Loop, once: Callable[[], bool]) -> bool:
    """Run a loop's body to a fixed point; `once` runs one iteration and says whether the loop can end before it."""
    outer = frame.loops.break_envs, frame.loops.continue_envs, frame.loops.step_depth
    around = frame.loops.rate, frame.loops.counters, frame.loops.counted
    frame.loops.break_envs = []
    turns = frame.loops.depth > 0 or not frame.context.per_turn or _turns(frame, node)
    lasts = is_long(node) and not _takes_few(frame, node)
    inside = _rate_of_turns(frame, node, turns, lasts)
    frame.loops.depth += turns
    frame.loops.lasting += lasts
    around_turn = frame.loops.turn
    if lasts:
        frame.loops.turn = LoopTurns(node, len(frame.paths.tests), is_innermost(node), around_turn)
    frame.loops.counted |= names_counted(node)
    if frame.context.per_turn and driven_body(frame).paces(node.body):
        frame.loops.step_depth = frame.loops.depth
    if frame.context.per_turn:
        _forget_counts(frame, node)
    exits: list[Env] = []
    endable = True
    for _ in range(_LOOP_PASSES):
        frame.turn()
        frame.loops.continue_envs = []
        frame.loops.rate = inside
        start = dict(frame.env)
        endable = once()
        frame.merge(frame.loops.continue_envs)
        join_into(frame.env, start, bool(frame.scope.owners))
        exits = frame.loops.break_envs
        if _is_fixed_point(frame, node, start):
            break
    frame.loops.depth -= turns
    frame.loops.lasting -= lasts
    many = False
    if lasts and frame.loops.turn is not None:
        frame.settle_turns(frame.loops.turn)
        many = frame.loops.turn.takes_many or frame.loops.stepping is node
    frame.loops.turn = around_turn
    frame.loops.step_depth = outer[2]
    frame.loops.rate, frame.loops.counters, frame.loops.counted = around
    if many:
        frame.takes_many()
    falls = endable
    if falls and node.orelse:
        falls = frame.exec(node.orelse)
    if exits:
        if not falls:
            frame.env = dict(exits[0])
        frame.merge(exits)
    if lasts and frame.loops.dispatches:
        frame.ends_turns()
    frame.loops.break_envs, frame.loops.continue_envs, _ = outer
    return falls or bool(exits)


def _forget_counts(frame: Frame, node: Loop) -> None:
    """Forget with which numbers a loop begins that it adds to. To what one over steps adds, it counts them.

    What its first turn hands on would be called for that number alone, and guards there would be true once and for all.
    """
    paced = 0 < frame.loops.step_depth == frame.loops.depth
    for name in names_added_to(node.body):
        value = frame.lookup(name)
        if type(value) is Const and isinstance(value.value, (int, float)) and not isinstance(value.value, bool):
            number = host(type(value.value).__name__)
            frame.env[name] = mark_counted(number) if paced else number


def _takes_few(frame: Frame, node: Loop) -> bool:
    """Return whether a loop counts to a number that is known and small, whatever name it has, or goes over a table that is written out."""
    if type(node) is not ir.For or type(node.iterable) is not ir.Call:
        return False
    if path_of(node.iterable.func) != "range":
        return goes_over_written(frame, node.iterable)
    last = node.iterable.args[-1] if len(node.iterable.args) == 1 else None
    return isinstance(last, (ir.Name, ir.Attr)) and counts_to_few(frame.eval(last))


def _is_fixed_point(frame: Frame, node: Loop, start: Env) -> bool:
    """Return whether another turn would find what this one found: what it began with is as it was, and it takes over nothing new."""
    env = frame.env
    if any(name not in env for name in start):
        return False
    changed = [name for name, value in env.items() if start.get(name) is not value]
    if not changed:
        return True
    if frame.loops.break_envs and any(name in start for name in changed):
        return False  # who leaves in the midst of a later turn has what an earlier one assigned
    taken_over = _names_taken_over(frame.function, node)
    return taken_over is not None and not any(name.partition(".")[0] in taken_over for name in changed)


def _names_taken_over(function: FunctionInfo | None, node: Loop) -> frozenset[str] | None:
    """`names_taken_over`, asked once for each loop of a function."""
    if function is None:
        return names_taken_over(node)
    if node.at not in function.loop_names:
        function.loop_names[node.at] = names_taken_over(node)
    return function.loop_names[node.at]


def _rate_of_turns(frame: Frame, node: Loop, turns: bool, lasts: bool) -> Rate:
    """How often the body of a loop runs; what a loop counts that drives a device is entered among the counters."""
    rate = frame.loops.rate
    if not frame.context.per_turn or frame.loops.depth:
        return rate.in_loop() if lasts else rate
    drivers, function = frame.interpreter.drivers, frame.function
    if turns:
        frame.loops.counters |= _names_counted(frame, node) | names_counting(node.body)
        evaluates = drivers.only_evaluates(function, frame.module)
        return rate.in_steps(driven_body(frame).frequency(node, evaluates=evaluates))
    if driven_body(frame).goes_around(node):
        frame.loops.counters |= _names_counted(frame, node)
        return rate.in_epochs()
    return rate.in_loop() if lasts else rate


def _names_counted(frame: Frame, node: Loop) -> frozenset[str]:
    """Return the names by which a loop counts."""
    return names_counted(_spell_out(frame, node) if type(node) is ir.For else node)


def _spell_out(frame: Frame, node: ir.For) -> ir.For:
    """Return a loop over what has a name as one over what that stands for: `bar = tqdm(range(n))`, `with tqdm(range(n)) as bar`."""
    over = node.iterable
    calls = frame.function.ir.calls if frame.function is not None else frame.module.unit.calls
    if type(over) is not ir.Name or NAMED.isdisjoint(calls):
        return node
    body = body_of(frame)
    stands_for = find_shown(over.id, body) or find_counted(node, body)
    return node if stands_for is None else msgspec.structs.replace(node, iterable=stands_for)


def _turns(frame: Frame, node: Loop) -> bool:
    """Return whether a loop of code that drives a device takes a step at each turn."""
    return driven_body(frame).takes_steps(node)


def driven_body(frame: Frame) -> DrivenBody:
    """Return what the loops of a frame's code do to a device."""
    return frame.interpreter.drivers.within(frame.function, frame.module)


def _begin_loop(frame: Frame) -> list[object]:
    return [watch.begins(frame) for watch in frame.libraries.on_loop]


def _end_loop(frame: Frame, node: Loop, begun: list[object]) -> None:
    for watch, known in zip(frame.libraries.on_loop, begun, strict=True):
        watch.ends(frame, node, known)


def _is_bounded(frame: Frame, body: tuple[ir.Statement, ...]) -> bool:
    """Return whether a loop's body says how many turns there are at most."""
    return any(bounds(body) for bounds in frame.libraries.bounds_loop)


def while_(frame: Frame, node: ir.While) -> bool:
    variant = "gradient" if frame.paths.tapes and not _is_bounded(frame, node.body) else ""
    outer = frame.loops.kind, frame.loops.names_before

    def once() -> bool:
        frame.statement = node.at
        frame.loops.kind, frame.loops.names_before = outer
        truth, asked = frame.asking(lambda: test(frame, node.test, TENSOR_WHILE, variant))
        if truth is False:
            return True
        if is_staged(frame, asked):
            frame.loops.kind, frame.loops.names_before = "", frozenset(frame.env)
        else:
            frame.loops.kind = "endless" if truth else "while"
        before = dict(frame.env)
        assume(frame, node.test, True)
        if not frame.exec(node.body):
            frame.env = before if not frame.loops.continue_envs else frame.loops.continue_envs.pop()
        return truth is None

    begun = _begin_loop(frame)
    _carry(frame, node)
    falls = _loop(frame, node, once)
    frame.loops.kind, frame.loops.names_before = outer
    _end_loop(frame, node, begun)
    return falls


def _carry(frame: Frame, node: Loop) -> None:
    """Take the names that a loop assigns for its own: what a graph carries from turn to turn is no constant of it."""
    for name, value in frame.env.items():
        if type(value) is Tensor and value.static and frame.libraries.of(value.framework).stages_loops:
            stored = (one for one in ir.walk_statements(node.body) if isinstance(one, (ir.Assign, ir.AugAssign)))
            if any(_assigns(one, name) for one in stored):
                frame.env[name] = as_recorded(value, value.framework)


def _assigns(node: ir.Assign | ir.AugAssign, name: str) -> bool:
    targets = node.targets if type(node) is ir.Assign else (node.target,)
    return any(type(one) is ir.Name and one.id == name for target in targets for one in ir.walk((target,)))


def for_(frame: Frame, node: ir.For) -> bool:
    frame.statement = node.at
    iterable = frame.eval(node.iterable)
    if type(iterable) is Tensor and iterable.static and frame.libraries.of(iterable.framework).stages_loops:
        iterable = as_recorded(iterable, iterable.framework)
    if isinstance(iterable, Sequence) and iterable.items == () and iterable.kind == "tuple":
        return frame.exec(node.orelse)
    turns = iterable.items if isinstance(iterable, Sequence) and not node.orelse else None
    if turns and len(turns) <= _UNROLLED and all(isinstance(t, Sequence) and t.items is not None for t in turns):
        return _unroll(frame, node, turns)
    frame.rename(VALUE_SIZED_SHAPE, TENSOR_LOOP_BOUND, position(node.iterable))
    element = element_of(frame, iterable, position(node.iterable))
    if frame.context.per_turn and driven_body(frame).paces(node.body):
        element = values_of_turn(_spell_out(frame, node), element)
    for look in frame.libraries.on_for:
        look(frame, node, iterable)
    batches = _find_batches(frame, node, iterable)
    outer = frame.loops.kind, frame.loops.names_before
    # What may as well be a list of tensors is one: who goes through it by a loop of Python's collects what it makes of each.
    if any(is_staged(frame, member) and isinstance(member, Tensor) and member.sure for member in members(iterable)):
        frame.report(AUTOGRAPH_UNSUPPORTED, position(node.iterable), iterable, node.iterable, variant=NO_AUTOGRAPH)
        _carry(frame, node)
        frame.loops.kind, frame.loops.names_before = "", frozenset(frame.env)
    else:
        frame.loops.kind = "for"

    table = _Rewritten(frame, table_rewritten(node))

    def once() -> bool:
        frame.statement = node.at
        before = dict(frame.env)
        bind_target(frame, node.target, element)
        frame.env.update([(name, value) for name, value in batches.items() if frame.env.get(name) is UNKNOWN])
        table.begin_turn()
        if not frame.exec(node.body):
            frame.env = before if not frame.loops.continue_envs else frame.loops.continue_envs.pop()
        table.end_turn()
        return True

    begun = _begin_loop(frame)
    falls = _loop(frame, node, once)
    table.end()
    frame.loops.kind, frame.loops.names_before = outer
    _end_loop(frame, node, begun)
    return falls


class _Rewritten:
    """A table to whose every key a loop gives a new value: what it held before, it holds no more behind the loop."""

    def __init__(self, frame: Frame, name: str) -> None:
        value = frame.env.get(name) if name else None
        self._frame = frame
        self._name = name if value is UNKNOWN or isinstance(value, Mapping) else ""
        self._old = value if isinstance(value, Mapping) else None
        self._given: Value = NEVER

    def begin_turn(self) -> None:
        """Set aside what the table holds, so that what the turn gives it stands alone."""
        if self._name:
            held = self._frame.env.get(self._name, UNKNOWN)
            table = held if isinstance(held, Mapping) else None
            rest, items = (table.rest, table.items) if table is not None else (held, ())
            self._frame.env[self._name] = mapping((("", rest), *items) if rest is not NEVER else items, NEVER)

    def end_turn(self) -> None:
        """Note what the turn gave, and let the table hold both."""
        if self._name:
            held = self._frame.env.get(self._name)
            self._given = held.rest if isinstance(held, Mapping) else UNKNOWN
            rest, items = (self._old.rest, self._old.items) if self._old is not None else (UNKNOWN, ())
            self._frame.env[self._name] = mapping(items, join(rest, self._given))

    def end(self) -> None:
        if self._name and self._given is not NEVER and self._given is not UNKNOWN:
            keys = [key for key, _ in self._old.items] if self._old is not None else []
            self._frame.env[self._name] = mapping(tuple([(key, self._given) for key in keys]), self._given)
        elif self._name and self._old is None:
            self._frame.env[self._name] = UNKNOWN


def _find_batches(frame: Frame, node: ir.For, iterable: Value) -> dict[str, Value]:
    """Find what a loop binds names to, where its loader does not tell."""
    steps = frame.context.per_turn and (frame.loops.depth > 0 or _turns(frame, node))
    found = (find(frame, node, iterable, steps) for find in frame.libraries.batches)
    return {name: value for batches in found for name, value in batches.items()}


def _unroll(frame: Frame, node: ir.For, items: tuple[Value, ...]) -> bool:
    """A loop over a few known tuples (the items of keyword arguments, say), turn by turn."""
    outer = frame.loops.break_envs, frame.loops.continue_envs
    frame.loops.break_envs = []
    for item in items:
        frame.turn()
        frame.loops.continue_envs = []
        before = dict(frame.env)
        bind_target(frame, node.target, item)
        if not frame.exec(node.body):
            frame.env = before if not frame.loops.continue_envs else frame.loops.continue_envs.pop()
        frame.merge(frame.loops.continue_envs)
    frame.merge(frame.loops.break_envs)
    frame.loops.break_envs, frame.loops.continue_envs = outer
    return True


def jump(frame: Frame, node: ir.Jump) -> bool:
    (frame.loops.break_envs if node.leaves else frame.loops.continue_envs).append(dict(frame.env))
    return False


def with_(frame: Frame, node: ir.With) -> bool:
    frame.statement = node.at
    tapes = apart = 0
    eager = ""
    interpreter = frame.interpreter
    tracing, mapping = interpreter.tracing, interpreter.mapping
    scope = interpreter.scope
    surroundings = frame.libraries.surroundings if scope else None
    for expression, target in node.items:
        value = frame.eval(expression)
        if surroundings is not None:
            interpreter.scope = surroundings.within(frame, expression, value)
        tapes += _enters_one_of(frame, value, frame.libraries.tapes)
        apart += _enters_one_of(frame, value, frame.libraries.graphs)
        for name in [one for one, blocks in frame.libraries.eager_blocks if _enters_one_of(frame, value, blocks)]:
            interpreter.tracing, interpreter.mapping, eager = "", name, name
            apart += 1  # what is written there is meant for values that are known, also where the analysis does not know them
        if target is not None:
            bind_target(frame, target, frame.interpreter.open_with(frame, value))
    frame.paths.tapes += tapes
    frame.paths.separate_graph += apart
    falls = frame.exec(node.body)
    frame.paths.separate_graph -= apart
    frame.paths.tapes -= tapes
    interpreter.tracing, interpreter.mapping = tracing, mapping
    if scope:
        interpreter.scope = scope
    if eager:
        _keep_known(frame, node.body, eager)
    return falls


def _keep_known(frame: Frame, body: tuple[ir.Statement, ...], framework: str) -> None:
    """Mark what a block that runs at once gives names: its values are known behind the block, too."""
    targets = [target for one in ir.walk_statements(body) if isinstance(one, ir.Assign) for target in one.targets]
    for target in targets:
        if isinstance(target, ir.Name) and target.id in frame.env:
            frame.env[target.id] = as_known(frame.env[target.id], framework)


def _enters_one_of(frame: Frame, value: Value, names: frozenset[str]) -> bool:
    """Return whether a context manager is one of a library's by these names."""
    found = [member for member in members(value) if isinstance(member, LibraryInstance)]
    return any(frame.apis.canonical(member.name) in names for member in found)


def try_(frame: Frame, node: ir.Try) -> bool:
    before = dict(frame.env)
    guards = any(_catches_tracing(frame, handler) for handler in node.handlers)
    frame.paths.try_depth += guards
    falls = frame.exec(node.body)
    frame.paths.try_depth -= guards
    if falls and node.orelse:
        falls = frame.exec(node.orelse)
    after = frame.env
    start = dict(before)
    join_into(start, after)
    ends: list[Env] = [after] if falls else []
    for handler in node.handlers:
        if not frame.libraries.installed.isdisjoint(handler.missing):
            continue  # it runs where there is no such framework, and nothing of it to trace
        frame.env = dict(start)
        if handler.name:
            frame.bind(handler.name, UNKNOWN)
        failed = not _is_other_way(handler)
        frame.paths.suppressed += failed
        if frame.exec(handler.body):
            ends.append(frame.env)
        frame.paths.suppressed -= failed
    frame.env = ends[0] if ends else start
    frame.merge(ends[1:])
    final = frame.exec(node.final)
    return bool(ends) and final


_EXITS: Final = frozenset(("sys.exit", "exit", "quit", "os._exit", "os.abort"))
_TRACING_ERRORS: Final = frozenset(
    (
        "Exception",
        "BaseException",
        "TypeError",
        "JAXTypeError",
        "ConcretizationTypeError",
        "TracerBoolConversionError",
        "TracerArrayConversionError",
        "TracerIntegerConversionError",
        "NonConcreteBooleanIndexError",
        "OperatorNotAllowedInGraphError",
    )
)


def _is_other_way(handler: ir.Handler) -> bool:
    """Return whether a handler is the other way to do what is tried, and no error path: what is not implemented is so at each call."""
    kind = handler.type
    return type(kind) is ir.Name and kind.id == "NotImplementedError"


def _catches_tracing(frame: Frame, handler: ir.Handler) -> bool:
    """Return whether a handler catches what a tracer raises where a value is asked for: the code provides for it."""
    if handler.type is None:
        return True
    kinds = handler.type.items if type(handler.type) is ir.Display else (handler.type,)
    return any(_is_tracing_error(frame, kind) for kind in kinds)


def _is_tracing_error(frame: Frame, kind: ir.Node) -> bool:
    """Return whether an `except` clause's expression is, or may be, what a tracer raises: a name may stand for several exceptions."""
    name = kind.name if type(kind) is ir.Attr else kind.id if type(kind) is ir.Name else ""
    if name in _TRACING_ERRORS:
        return True
    return type(kind) is ir.Name and not isinstance(frame.eval(kind), (LibrarySymbol, Class))


def raise_(frame: Frame, node: ir.Raise) -> bool:
    frame.statement = node.at
    return False


def assert_(frame: Frame, node: ir.Assert) -> bool:
    frame.statement = node.at
    told = node.message is None or (type(node.message) is ir.Const and isinstance(node.message.value, str))
    if test(frame, node.test, TENSOR_ASSERT, ASSERT if told else HOST_ASSERT) is False:
        return False
    assume(frame, node.test, True)
    return True


def delete(frame: Frame, node: ir.Delete) -> bool:
    for target in node.targets:
        if type(target) is ir.Name:
            frame.env.pop(target.id, None)
    return True


def outer(frame: Frame, node: ir.Outer) -> bool:
    frame.scope.outer_names |= frozenset(node.names)
    return True


def closure_of(frame: Frame, free: tuple[str, ...]) -> tuple[tuple[str, Value], ...]:
    """The values of a nested function's free names, as known where it is defined."""
    found = []
    for name in free:
        value = frame.env.get(name) or frame.closure.get(name)
        if value is not None:
            found.append((name, value))
    return tuple(found)


def define(frame: Frame, node: ir.Define) -> bool:
    info = frame.inner(node.function)
    value = function(info, None, closure_of(frame, info.ir.free))
    for decorator in info.ir.decorators:
        given = hand_over(frame, decorator)
        if given is not None:
            for look in frame.libraries.on_define:
                look(frame, node, decorator, given.name)
    frame.bind(node.name, frame.interpreter.decorate_nested(frame, info, value))
    return True


def define_class(frame: Frame, node: ir.DefineClass) -> bool:
    frame.bind(node.name, class_value(frame.module.classes[node.klass]))
    return True


def import_(frame: Frame, node: ir.Import) -> bool:
    for binding in node.bindings:
        if binding.local != "*":
            frame.bind(binding.local, frame.program.resolve_import(frame.module, binding))
    return True


def match(frame: Frame, node: ir.Match) -> bool:
    frame.statement = node.at
    subject = frame.eval(node.subject)
    before = frame.env
    ends: list[Env] = [before]
    for case in node.cases:
        frame.env = dict(before)
        if case.compares:
            frame.needs_bool(subject, node.subject, TENSOR_IF)
        for name in case.names:
            frame.bind(name, subject if len(case.names) == 1 and isinstance(subject, Tensor) else UNKNOWN)
        if case.guard is not None:
            test(frame, case.guard, TENSOR_IF)
        if frame.exec(case.body):
            ends.append(frame.env)
    frame.env = dict(ends[0])
    frame.merge(ends[1:])
    return True


def too_deep(frame: Frame, node: ir.TooDeep) -> bool:
    tell_depth(frame.context)
    if frame.context.function is None:  # one statement of several
        return True
    frame.context.returns = UNKNOWN
    return False


_HANDLERS: Final[dict[type[ir.Stmt], Callable[[Frame, Any], bool]]] = {
    ir.Eval: eval_statement,
    ir.Assign: assign,
    ir.AugAssign: aug_assign,
    ir.AnnAssign: ann_assign,
    ir.Return: return_,
    ir.If: if_,
    ir.While: while_,
    ir.For: for_,
    ir.With: with_,
    ir.Try: try_,
    ir.Raise: raise_,
    ir.Assert: assert_,
    ir.Delete: delete,
    ir.Outer: outer,
    ir.Jump: jump,
    ir.Define: define,
    ir.DefineClass: define_class,
    ir.Import: import_,
    ir.Match: match,
    ir.TooDeep: too_deep,
}
_EXEC.update(_HANDLERS)

__all__ = ["bind_target", "closure_of", "unpack"]
