"""Loops of host code that drive a device: which of them take its steps, and which go over epochs around those.

What such a loop repeats costs at each step. What a loop over epochs does beside the loop in it (it logs an accuracy, saves a checkpoint)
costs once an epoch, which is nothing. Statements are all that is looked at: which call steps the device is told by its name.

What they count changes from step to step. Handed to a module it enters the graph, where it may cost a compilation: until then it is a
number that the host uses to slice its own data, to log, to save.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, NamedTuple, Union

from xlalint.abstract.lattice import join_all
from xlalint.abstract.values import Host, Sequence, Value, host, sequence
from xlalint.analysis.hazard import Frequency
from xlalint.interpreter.spelling import path_of
from xlalint.lowering import ir
from xlalint.program.dependencies import DependencySet

if TYPE_CHECKING:
    from xlalint.program.linker import FunctionInfo, ModuleInfo

Loop = Union[ir.For, ir.While]

_FEW = 4  # TensorFlow warns of retracing from the fifth trace on
_COUNTING = frozenset(("range", "trange", "count"))
# What gives the turns of what it is given: `tqdm(range(n))`.
_SHOWING = frozenset(("tqdm", "track", "list", "iter"))


class DeviceSteps(NamedTuple):
    """The words by which loops that drive a device are known.

    `steps` are methods that make the device take a step, or a part of one; `gradients` are those of them that make only a part.
    `packages` are imported by modules that drive an XLA device today. `ported` are those whose modules will, whatever device they name,
    where one of `targets` is compiled for: it records what ordinary code does. `models` are methods by whose calls a model is known, and
    `evaluates` those of them that set a model to evaluate.
    """

    steps: frozenset[str] = frozenset()
    gradients: frozenset[str] = frozenset()
    packages: frozenset[str] = frozenset()
    models: frozenset[str] = frozenset()
    evaluates: frozenset[str] = frozenset()
    ported: frozenset[str] = frozenset()
    targets: frozenset[str] = frozenset()


def _runs(loop: Loop, models: set[str]) -> bool:
    """Return whether a loop calls a model, and not only a loop in it does."""
    rest = (one for one in loop.body if not isinstance(one, (ir.For, ir.While)))
    return any(isinstance(one, ir.Call) and path_of(one.func) in models for one in ir.walk(tuple(rest)))


def _owners(body: tuple[ir.Statement, ...], methods: frozenset[str]) -> set[str]:
    """Whose methods of these names a body calls: `model` of `model.eval()`."""
    found = (
        path_of(one.func.value)
        for one in ir.walk(body)
        if isinstance(one, ir.Call) and isinstance(one.func, ir.Attr) and one.func.name in methods
    )
    return {path for path in found if path}


def loops(statements: Iterable[ir.Statement]) -> Iterator[Loop]:
    """The outermost loops among statements."""
    for statement in statements:
        if isinstance(statement, (ir.For, ir.While)):
            yield statement
        else:
            yield from loops(blocks(statement))


def blocks(statement: ir.Statement) -> tuple[ir.Statement, ...]:
    """The statements of a statement's blocks."""
    if isinstance(statement, (ir.For, ir.While, ir.If)):
        return statement.body + statement.orelse
    if isinstance(statement, ir.With):
        return statement.body
    if isinstance(statement, ir.Try):
        handled = tuple(inner for handler in statement.handlers for inner in handler.body)
        return statement.body + handled + statement.orelse + statement.final
    if isinstance(statement, ir.Match):
        return tuple(inner for case in statement.cases for inner in case.body)
    return ()


def _effects(statements: Iterable[ir.Statement], nested: bool = True) -> Iterator[str]:
    """The names of what statements call for its effect; with `nested`, within loops among them too."""
    for statement in statements:
        if isinstance(statement, ir.Eval) and isinstance(statement.value, ir.Call):
            yield _stepping(statement.value.func)
        elif nested or not isinstance(statement, (ir.For, ir.While)):
            yield from _effects(blocks(statement), nested)


def is_long(loop: Loop) -> bool:
    """Return whether a loop may take many turns: not one over a few things that are written out."""
    if isinstance(loop, ir.While):
        return True
    over = loop.iterable
    while (
        isinstance(over, ir.Call)
        and isinstance(over.func, ir.Name)
        and over.func.id in ("enumerate", "zip", "reversed")
    ):
        over = over.args[0] if over.args else ir.Const(None)
    if isinstance(over, ir.Call) and isinstance(over.func, ir.Name) and over.func.id == "range":
        last = over.args[min(len(over.args) - 1, 1)] if over.args else None
        return not (isinstance(last, ir.Const) and isinstance(last.value, (int, float)) and last.value <= _FEW)
    return not isinstance(over, (ir.Display, ir.DictDisplay, ir.Const, ir.Literal))


def _functions(statements: tuple[ir.Statement, ...]) -> Iterator[str]:
    calls = (one for one in ir.walk(statements) if isinstance(one, ir.Call))
    return (call.func.id for call in calls if isinstance(call.func, ir.Name))


def _stepping(func: ir.Node) -> str:
    """The last name of what is called, "" of a schedule: that steps no device."""
    if isinstance(func, ir.Name):
        return func.id
    if not isinstance(func, ir.Attr):
        return ""
    owner = func.value
    of = owner.name if isinstance(owner, ir.Attr) else owner.id if isinstance(owner, ir.Name) else ""
    return "" if "sched" in of.lower() else func.name


# ------------------------------------------------------------------------------------------ what a loop counts


def values_of_turn(node: ir.For, element: Value) -> Value:
    """Return what a loop that drives a device binds in each turn: the numbers that it counts are told from others."""
    counter = node.iterable
    while isinstance(counter, ir.Call) and last_name(counter.func) in _SHOWING and counter.args:
        counter = counter.args[0]
    if not isinstance(counter, ir.Call):
        return element
    if last_name(counter.func) in _COUNTING:
        return mark_counted(element)
    if last_name(counter.func) == "enumerate" and isinstance(element, Sequence) and element.items:
        return sequence(element.kind, (mark_counted(element.items[0]), *element.items[1:]), element.element)
    return element


def names_counted(node: Loop) -> frozenset[str]:
    """Return the names under which a loop gives the numbers of its turns: of what it counts or enumerates, what a `while` adds to."""
    if isinstance(node, ir.While):
        return names_added_to(node.body)
    counter = node.iterable
    while isinstance(counter, ir.Call) and last_name(counter.func) in _SHOWING and counter.args:
        counter = counter.args[0]
    called = last_name(counter.func) if isinstance(counter, ir.Call) else ""
    target = node.target
    if called == "enumerate" and isinstance(target, ir.Display) and target.items:
        target = target.items[0]
    elif called not in _COUNTING:
        return frozenset()
    return frozenset((target.id,)) if isinstance(target, ir.Name) else frozenset()


def names_added_to(body: tuple[ir.Statement, ...]) -> frozenset[str]:
    """Return the names to which statements add numbers."""
    added = (one.target for one in ir.walk(body) if isinstance(one, ir.AugAssign) and one.op == "+")
    return frozenset(target.id for target in added if isinstance(target, ir.Name))


def last_name(func: ir.Node) -> str:
    """The last part of the name that is called, "" where it has none."""
    return func.name if isinstance(func, ir.Attr) else func.id if isinstance(func, ir.Name) else ""


def mark_counted(value: Value) -> Value:
    """Mark a number as one that a loop which drives a device counts."""
    return host("int", "turn") if type(value) is Host and value.type in ("int", "") else value


def entering(value: Value) -> Value:
    """Mark what such a loop counts, in an argument of a module that it calls, as a number in the graph."""
    if type(value) is Host and value.origin == "turn":
        return host(value.type, "counted")
    if type(value) is Sequence and value.items:
        items = tuple(map(entering, value.items))
        return value if items == value.items else sequence(value.kind, items, join_all(items))
    return value


# ----------------------------------------------------------------------------------------------- functions


class Drivers:
    """Finds the loops and functions of a program that drive a device, by the words of the frameworks."""

    def __init__(self, words: DeviceSteps) -> None:
        self.words = words
        self._names: dict[int, tuple[frozenset[str], DependencySet]] = {}

    def may_drive(self, module: ModuleInfo) -> bool:
        """Return whether a module imports what makes an XLA device take steps, today or once it is ported."""
        words = self.words
        if not words.packages.isdisjoint(module.packages):
            return True
        return not words.ported.isdisjoint(module.packages) and not words.targets.isdisjoint(module.taught.targets)

    def drives(self, statements: tuple[ir.Statement, ...]) -> bool:
        """Return whether a loop among the statements calls what makes the device take a step."""
        return any(not self.words.steps.isdisjoint(_effects(loop.body)) for loop in loops(statements))

    def paces(self, body: tuple[ir.Statement, ...]) -> bool:
        """Return whether each turn of a loop with this body is one step of the device, and no loop within takes steps of its own."""
        return not self.words.steps.isdisjoint(_effects(body, nested=False)) and not self.drives(body)

    def takes_steps(self, loop: Loop, body: tuple[ir.Statement, ...], module: ModuleInfo) -> bool:
        """Return whether the turns of a loop in a function's body are steps: of training, or of running one of the body's models."""
        if self._over_epochs(loop, self.names(module)):
            return False
        return not self.words.steps.isdisjoint(_effects(loop.body)) or _runs(loop, _owners(body, self.words.models))

    def frequency(self, loop: Loop, body: tuple[ir.Statement, ...], function: FunctionInfo | None) -> Frequency:
        """Return how often the turns come of a loop that takes steps: those of running a model, in what trains or evaluates one, are an
        evaluation's."""
        if not self.words.steps.isdisjoint(_effects(loop.body)):
            return Frequency.STEP
        evaluates = self.drives(body) or (function is not None and self.evaluates(function))
        return Frequency.EVALUATION if evaluates else Frequency.STEP

    def goes_around(self, loop: Loop, module: ModuleInfo) -> bool:
        """Return whether a loop that takes no steps goes around one that surely does: over epochs. One around nothing but backward passes
        may be a loop over steps itself, which uses the gradients in its own way: guidance, say."""
        inner = _effects(nested for one in loops(loop.body) for nested in one.body)
        if not self.drives(loop.body) or not (self.words.steps - self.words.gradients).isdisjoint(inner):
            return self._over_epochs(loop, self.names(module))
        return False

    def _over_epochs(self, loop: Loop, drivers: frozenset[str]) -> bool:
        """Return whether a loop goes round a loop that takes steps, in its body or in one of the functions `drivers` that it calls.

        Several backward passes that make one step are no steps of their own.
        """
        words = self.words
        inner = set(_effects(nested for one in loops(loop.body) for nested in one.body))
        if not inner.isdisjoint(words.steps - words.gradients):
            return True
        own = set(_effects(loop.body, nested=False))
        if not own.isdisjoint(words.steps):
            return False
        return not words.gradients.isdisjoint(inner) or not drivers.isdisjoint(_functions(loop.body))

    def names(self, module: ModuleInfo) -> frozenset[str]:
        """The functions of a module that hold a loop that takes steps."""
        known = self._names.get(module.index)
        if known is None:
            read = DependencySet()
            with module.reader.reading(read):
                names = frozenset(info.name for info in module.functions if self.may_drive(module) and self.steps(info))
            known = self._names[module.index] = names, read
        module.reader.use(known[1])
        return known[0]

    def steps(self, info: FunctionInfo) -> bool:
        """Return whether a function, or one that is nested in it, holds a loop that makes an XLA device take steps."""
        if not self.may_drive(info.module):
            return False
        if not self.words.steps.isdisjoint(info.ir.calls) and self.drives(info.body):
            return True
        return any(inner.ir.outer == info.index and self.steps(inner) for inner in info.module.functions[info.index :])

    def trains(self, info: FunctionInfo) -> bool:
        """Return whether a function computes gradients, in a module that drives a device: it is a step of training, or holds the loop."""
        return not self.words.gradients.isdisjoint(info.ir.calls) and self.may_drive(info.module)

    def takes_step(self, info: FunctionInfo) -> bool:
        """Return whether each call of a function is a step of training: outside of loops it goes backward and has an optimizer step."""
        words = self.words
        if not self.trains(info):
            return False
        own = set(_effects(info.body, nested=False))
        return not own.isdisjoint(words.gradients) and not own.isdisjoint(words.steps - words.gradients)

    def counts_turns(self, info: FunctionInfo) -> bool:
        """Return whether of a function what its loops repeat counts, and nothing else."""
        return self.steps(info) or self.evaluates(info)

    def evaluates(self, info: FunctionInfo) -> bool:
        """Return whether a function sets a model to evaluate, and then runs it in a loop."""
        words = self.words.evaluates
        if words.isdisjoint(info.ir.calls) or not self.may_drive(info.module):
            return False
        models = _owners(info.body, words)
        return any(isinstance(loop, ir.For) and _runs(loop, models) for loop in loops(info.body))

    def begins_anew(self) -> Drivers:
        """Drivers of the same words that have found nothing yet."""
        return Drivers(self.words)


__all__ = [
    "DeviceSteps",
    "Drivers",
    "Loop",
    "blocks",
    "entering",
    "is_long",
    "last_name",
    "loops",
    "mark_counted",
    "names_added_to",
    "names_counted",
    "values_of_turn",
]
