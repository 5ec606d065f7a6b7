"""Loops of host code that drive a device: which of them take its steps, and which go over epochs around those.

What such a loop repeats costs at each step. What a loop over epochs does beside the loop in it (it logs an accuracy, saves a checkpoint)
costs once an epoch, which is nothing. Statements are all that is looked at: which call steps the device is told by its name.

What they count changes from step to step. Handed to a module it enters the graph (`frameworks.torch.recompiles` says where that costs a
compilation): until then it is a number that the host uses to slice its own data, to log, to save.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Union

from xlalint.abstract.lattice import join_all
from xlalint.abstract.values import Const, Host, Sequence, Value, host, sequence
from xlalint.interpreter.arguments import Arguments
from xlalint.interpreter.frame import path_of
from xlalint.lowering import ir

if TYPE_CHECKING:
    from xlalint.interpreter.frame import Frame
    from xlalint.program.linker import FunctionInfo, ModuleInfo

Loop = Union[ir.For, ir.While]

_GRADIENTS = "backward"
STEPS = frozenset(("optimizer_step", "mark_step", "sync", "step", _GRADIENTS))
"""Names of what makes the device take a step, or a part of one."""
_DRIVERS = frozenset(("torch_xla", "accelerate"))
_EVALUATES = "eval"
_OF_MODELS = frozenset((_EVALUATES, "train", "parameters", "named_parameters", "zero_grad"))
_COUNTING = frozenset(("range", "trange", "count"))
# What gives the turns of what it is given: `tqdm(range(n))`.
_SHOWING = frozenset(("tqdm", "track", "list", "iter"))


def may_drive(module: ModuleInfo) -> bool:
    """Whether a module imports what makes an XLA device take steps."""
    return not _DRIVERS.isdisjoint(module.packages)


def drives(statements: tuple[ir.Statement, ...]) -> bool:
    """Whether a loop among the statements calls what makes the device take a step."""
    return any(not STEPS.isdisjoint(_effects(loop.body)) for loop in loops(statements))


def paces(body: tuple[ir.Statement, ...]) -> bool:
    """Whether each turn of a loop with this body is one step of the device: no loop within takes steps of its own (an epoch's)."""
    return not STEPS.isdisjoint(_effects(body, nested=False)) and not drives(body)


def takes_steps(loop: Loop, body: tuple[ir.Statement, ...], drivers: frozenset[str] = frozenset()) -> bool:
    """Whether the turns of a loop, somewhere in a function's body, are steps: of training, or of running one of the body's models."""
    if _over_epochs(loop, drivers):
        return False
    return not STEPS.isdisjoint(_effects(loop.body)) or _runs(loop, _owners(body, _OF_MODELS))


def _over_epochs(loop: Loop, drivers: frozenset[str]) -> bool:
    """Whether a loop goes round a loop that takes steps, in its body or in one of the functions `drivers` that it calls.

    Several backward passes that make one step are no steps of their own.
    """
    inner = set(_effects(nested for one in loops(loop.body) for nested in one.body))
    if not inner.isdisjoint(STEPS - {_GRADIENTS}):
        return True
    own = set(_effects(loop.body, nested=False))
    return own.isdisjoint(STEPS) and (_GRADIENTS in inner or not drivers.isdisjoint(_functions(loop.body)))


def _runs(loop: Loop, models: set[str]) -> bool:
    """Whether a loop calls a model, and not only a loop in it does."""
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


def turned(node: ir.For, element: Value) -> Value:
    """What a loop that drives a device binds in each turn: the numbers that it counts are told from others."""
    counter = node.iterable
    while isinstance(counter, ir.Call) and last_name(counter.func) in _SHOWING and counter.args:
        counter = counter.args[0]
    if not isinstance(counter, ir.Call):
        return element
    if last_name(counter.func) in _COUNTING:
        return _turn(element)
    if last_name(counter.func) == "enumerate" and isinstance(element, Sequence) and element.items:
        return sequence(element.kind, (_turn(element.items[0]), *element.items[1:]), element.element)
    return element


def stepped(frame: Frame, target: ir.Node, old: Value, right: Value) -> Value | None:
    """What `step += 1` gives in a loop that drives a device; None where it counts something else."""
    if (
        not frame.stepping
        or frame.turning != frame.stepping
        or not isinstance(target, ir.Name)
        or not isinstance(right, Const)
    ):
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


def last_name(func: ir.Node) -> str:
    """The last part of the name that is called, "" where it has none."""
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


# ----------------------------------------------------------------------------------------------- functions


class Drivers:
    """The functions of a program's modules that drive a device."""

    def __init__(self) -> None:
        self._names: dict[int, frozenset[str]] = {}

    def names(self, module: ModuleInfo) -> frozenset[str]:
        """The functions of a module that hold a loop that takes steps."""
        found = self._names.get(module.index)
        if found is None:
            found = self._names[module.index] = frozenset(
                info.name for info in module.functions if may_drive(module) and self.steps(info)
            )
        return found

    def steps(self, info: FunctionInfo) -> bool:
        """Whether a function, or one that is nested in it, holds a loop that makes an XLA device take steps."""
        if not may_drive(info.module):
            return False
        if not STEPS.isdisjoint(info.ir.calls) and drives(info.body):
            return True
        return any(inner.ir.outer == info.index and self.steps(inner) for inner in info.module.functions[info.index :])

    def paces(self, info: FunctionInfo) -> bool:
        """Whether of a function what its loops repeat counts, and nothing else."""
        return self.steps(info) or self.evaluates(info)

    def evaluates(self, info: FunctionInfo) -> bool:
        """Whether a function sets a model to evaluate, and then runs it in a loop."""
        if _EVALUATES not in info.ir.calls or not may_drive(info.module):
            return False
        models = _owners(info.body, frozenset((_EVALUATES,)))
        return any(isinstance(loop, ir.For) and _runs(loop, models) for loop in loops(info.body))


__all__ = [
    "STEPS",
    "Drivers",
    "Loop",
    "blocks",
    "drives",
    "entering",
    "loops",
    "may_drive",
    "paces",
    "stepped",
    "takes_steps",
    "turned",
]
