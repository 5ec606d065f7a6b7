"""Functions of a program that drive a device: which take a step of training, which hold the loops over steps, and by which calls.

A function is known by what its own statements call, and by what the functions of the program do that it calls: `for x in batches:
trainer.update(x)` steps the device if `update` goes backward and has an optimizer step. Whose method that is follows from definitions,
imports, annotations and the constructors that variables and attributes are assigned; of what none of these tells, nothing is said.

All of it is worked out once for a program, before its functions are run. What it comes to is part of what every result depends on.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from enum import IntEnum
from hashlib import blake2b
from typing import TYPE_CHECKING, NamedTuple, Union

from xlalint.analysis.hazard import Frequency
from xlalint.interpreter.device_loops import DeviceSteps, Loop, blocks, last_name, loops
from xlalint.interpreter.spelling import path_of
from xlalint.lowering import ir
from xlalint.program.dependencies import DependencySet
from xlalint.program.linker import ClassInfo, FunctionInfo, ModuleInfo

if TYPE_CHECKING:
    from xlalint.program.linker import Program

_TAKEN = "<takes a step>"  # among the words of what is called for its effect: no name reads so
_ROUNDS = 8  # functions between the one that takes a step and the outermost loop


class Role(IntEnum):
    """The part that a function plays, by what its calls do to the device; of two the larger counts."""

    NONE = 0
    LEADS = 1
    """It leads to a loop over steps, in no loop of its own."""
    PASSES = 2
    """It calls what takes a step of training, in no loop."""
    STEPS = 3
    """It takes a step of training itself."""
    LOOPS = 4
    """It holds a loop over steps, or one over epochs around calls that lead to such loops."""


class Calls(NamedTuple):
    """Calls of a body by how their callees are spelled: of those that take a step each, and of those that lead to loops over steps."""

    steps: frozenset[str] = frozenset()
    loops: frozenset[str] = frozenset()


_NO_CALLS = Calls()
_Definition = Union[FunctionInfo, ClassInfo, ModuleInfo, None]


class DrivenBody:
    """The loops of one body, that of a function or of a module, by what they do to the device."""

    def __init__(self, words: DeviceSteps, calls: Calls, body: tuple[ir.Statement, ...]) -> None:
        self._words = words
        self._calls = calls
        self._body = body

    def drives(self) -> bool:
        """Return whether a loop calls what makes the device take a step."""
        return self._drive(self._body)

    def goes_around_loops(self) -> bool:
        """Return whether a loop calls what leads to loops over steps."""
        called = self._calls.loops
        return bool(called) and any(self._calls_any(called, loop.body) for loop in loops(self._body))

    def leads_to_loops(self) -> bool:
        """Return whether anything calls what leads to loops over steps."""
        return bool(self._calls.loops)

    def takes_step(self) -> bool:
        """Return whether the body, outside of its loops, goes backward and has an optimizer step."""
        words = self._words
        own = set(self._effects(self._body, nested=False))
        return not (own.isdisjoint(words.gradients) or own.isdisjoint(words.steps - words.gradients - {_TAKEN}))

    def passes_step(self) -> bool:
        """Return whether it calls, outside of its loops, what takes a step."""
        return _TAKEN in self._effects(self._body, nested=False)

    def paces(self, loop: tuple[ir.Statement, ...]) -> bool:
        """Return whether each turn of a loop with this body is one step of the device, and no loop within takes steps of its own."""
        return not self._words.steps.isdisjoint(self._effects(loop, nested=False)) and not self._drive(loop)

    def takes_steps(self, loop: Loop) -> bool:
        """Return whether the turns of a loop are steps: of training, or of running one of the body's models."""
        if self._over_epochs(loop):
            return False
        steps = not self._words.steps.isdisjoint(self._effects(loop.body))
        return steps or _runs(loop, _owners(self._body, self._words.models))

    def frequency(self, loop: Loop, *, evaluates: bool) -> Frequency:
        """Return how often the turns come of a loop that takes steps: those of running a model, in what trains or `evaluates` one, are an
        evaluation's."""
        if not self._words.steps.isdisjoint(self._effects(loop.body)):
            return Frequency.STEP
        return Frequency.EVALUATION if evaluates or self.drives() else Frequency.STEP

    def goes_around(self, loop: Loop) -> bool:
        """Return whether a loop that takes no steps goes around one that surely does: over epochs. One around nothing but backward passes
        may be a loop over steps itself, which uses the gradients in its own way: guidance, say."""
        words = self._words
        inner = self._effects(nested for one in loops(loop.body) for nested in one.body)
        if not self._drive(loop.body) or not (words.steps - words.gradients).isdisjoint(inner):
            return self._over_epochs(loop)
        return False

    def _drive(self, statements: tuple[ir.Statement, ...]) -> bool:
        return any(not self._words.steps.isdisjoint(self._effects(loop.body)) for loop in loops(statements))

    def _over_epochs(self, loop: Loop) -> bool:
        """Return whether a loop goes round a loop that takes steps, in its body or in a function that it calls.

        Several backward passes that make one step are no steps of their own.
        """
        words = self._words
        inner = set(self._effects(nested for one in loops(loop.body) for nested in one.body))
        if not inner.isdisjoint(words.steps - words.gradients):
            return True
        own = set(self._effects(loop.body, nested=False))
        if not own.isdisjoint(words.steps):
            return False
        return not words.gradients.isdisjoint(inner) or self._calls_any(self._calls.loops, loop.body)

    def _effects(self, statements: Iterable[ir.Statement], nested: bool = True) -> Iterator[str]:
        """The names of what statements call for its effect; with `nested`, within loops among them too."""
        for statement in statements:
            inner = blocks(statement)
            if inner:
                if nested or not isinstance(statement, (ir.For, ir.While)):
                    yield from self._effects(inner, nested)
                continue
            if isinstance(statement, ir.Eval) and isinstance(statement.value, ir.Call):
                yield _stepping(statement.value.func)
            if self._calls.steps and self._calls_any(self._calls.steps, (statement,)):
                yield _TAKEN

    def _calls_any(self, paths: frozenset[str], statements: tuple[ir.Statement, ...]) -> bool:
        return bool(paths) and any(
            isinstance(one, ir.Call) and _path_of_callee(one.func) in paths for one in ir.walk(statements)
        )


class Drivers:
    """Tells which functions of a program drive a device, by the words of the frameworks."""

    def __init__(self, words: DeviceSteps, program: Program) -> None:
        self.words = words._replace(steps=words.steps | {_TAKEN})
        self._program = program
        self._roles: dict[FunctionInfo, Role] = {}
        self._calls: dict[FunctionInfo | ModuleInfo, Calls] = {}
        self._without_device: frozenset[ModuleInfo] = frozenset()
        self._worked_out = False

    # ------------------------------------------------------------------------------------------ questions

    def may_drive(self, module: ModuleInfo) -> bool:
        """Return whether a module imports what makes an XLA device take steps, today or once it is ported."""
        if not self.words.packages.isdisjoint(module.packages):
            return True
        return not self.words.ported.isdisjoint(module.packages) and self._may_be_ported(module)

    def role(self, info: FunctionInfo) -> Role:
        """Return what a call of a function does to the device."""
        self._work_out()
        return self._roles.get(info, Role.NONE)

    def drives_module(self, module: ModuleInfo) -> bool:
        """Return whether a module's own statements, those of a script or a notebook, hold a loop over steps or epochs."""
        self._work_out()
        if module not in self._calls and not (self._calls_steps(module.unit.calls) and self.may_drive(module)):
            return False
        body = self.within(None, module)
        return body.drives() or body.goes_around_loops()

    def within(self, function: FunctionInfo | None, module: ModuleInfo) -> DrivenBody:
        """Return what is known of a function's loops, or of those of a module's own statements."""
        self._work_out()
        calls = self._calls.get(function or module, _NO_CALLS)
        body = function.body if function is not None else ir.decode_body(module.unit.body)
        return DrivenBody(self.words, calls, body)

    def names_no_device(self, module: ModuleInfo) -> bool:
        """Return whether a module drives a device and says nowhere which: it leaves all on the CPU until it is ported."""
        self._work_out()
        return module in self._without_device

    def trains(self, info: FunctionInfo) -> bool:
        """Return whether a function computes gradients, in a module that drives a device: it is a step of training, or holds the loop."""
        return not self.words.gradients.isdisjoint(info.ir.calls) and self.may_drive(info.module)

    def counts_turns(self, info: FunctionInfo) -> bool:
        """Return whether of a function what its loops repeat counts, or those that it leads to, and nothing else."""
        return self.role(info) in (Role.LOOPS, Role.LEADS) or self.evaluates(info)

    def evaluates(self, info: FunctionInfo) -> bool:
        """Return whether a function sets a model to evaluate, and then runs it in a loop."""
        words = self.words.evaluates
        if words.isdisjoint(info.ir.calls) or not self.may_drive(info.module):
            return False
        models = _owners(info.body, words)
        return any(isinstance(loop, ir.For) and _runs(loop, models) for loop in loops(info.body))

    def digest(self) -> bytes:
        """Digest all that was found: what was made of it holds as long as this is the same."""
        self._work_out()
        roles = sorted(f"{info.module.path}\0{info.ir.qualname}\0{role:d}" for info, role in self._roles.items())
        calls = sorted(
            f"{holder.module.path if isinstance(holder, FunctionInfo) else holder.path}\0"
            f"{holder.ir.qualname if isinstance(holder, FunctionInfo) else ''}\0{sorted(found.steps)}\0{sorted(found.loops)}"
            for holder, found in self._calls.items()
        )
        places = sorted(module.path for module in self._without_device)
        told = "\n".join([*roles, *calls, *places]).encode("utf-8", "surrogateescape")
        return blake2b(told, digest_size=16).digest()

    def begin_anew(self) -> Drivers:
        """Drivers of the same words and program that have found nothing yet."""
        return Drivers(self.words, self._program)

    # -------------------------------------------------------------------------------------------- answers

    def _work_out(self) -> None:
        if self._worked_out:
            return
        self._worked_out = True
        program = self._program
        with program.reader.reading(DependencySet()):  # `digest` speaks for it
            modules = program.modules[: program.linted]
            fresh = [
                info
                for module in modules
                if self.may_drive(module)
                for info in module.functions
                if self._calls_steps(info.ir.calls) and self._classify(info)
            ]
            ported = [module for module in modules if self.may_drive(module) or self._may_be_ported(module)]
            for _ in range(_ROUNDS):
                if fresh:
                    fresh = self._follow(ported, {info.name: None for info in _with_outer(fresh)})
            driving = {info.module for info in self._roles}
            driving.update(module for module in ported if self._calls_steps(module.unit.calls))
            self._without_device = frozenset(filter(self._leaves_device_open, driving))

    def _leaves_device_open(self, module: ModuleInfo) -> bool:
        words = self.words
        called = [module.unit.calls, *(info.ir.calls for info in module.functions)]
        return words.packages.isdisjoint(module.packages) and all(map(words.places.isdisjoint, called))

    def _may_be_ported(self, module: ModuleInfo) -> bool:
        return not self.words.targets.isdisjoint(module.taught.targets)

    def _calls_steps(self, calls: Iterable[str]) -> bool:
        return not self.words.steps.isdisjoint(calls)

    def _follow(self, modules: list[ModuleInfo], named: dict[str, None]) -> list[FunctionInfo]:
        """Look at what calls functions of these names; those whose role has changed by it."""
        names = frozenset(named)
        changed: list[FunctionInfo] = []
        for module in modules:
            if not names.isdisjoint(module.unit.calls):
                self._note_calls(module, None, ir.decode_body(module.unit.body), names)
            for info in module.functions:
                calls = not names.isdisjoint(info.ir.calls) and self._note_calls(module, info, info.body, names)
                if calls and self._classify(info):
                    changed.append(info)
        return changed

    def _classify(self, info: FunctionInfo) -> bool:
        """Work out a function's role, by the calls that are known; whether it has changed."""
        before = self._roles.get(info, Role.NONE)
        found = max(before, self._own_role(info))
        if found is before:
            return False
        self._roles[info] = found
        outer = info
        while found is Role.LOOPS and outer.ir.outer >= 0:
            outer = outer.module.functions[outer.ir.outer]
            self._roles[outer] = Role.LOOPS
        return True

    def _own_role(self, info: FunctionInfo) -> Role:
        body = DrivenBody(self.words, self._calls.get(info, _NO_CALLS), info.body)
        if body.drives() or body.goes_around_loops():
            return Role.LOOPS
        if body.takes_step():
            return Role.STEPS
        if body.passes_step():
            return Role.PASSES
        return Role.LEADS if body.leads_to_loops() else Role.NONE

    def _note_calls(
        self,
        module: ModuleInfo,
        info: FunctionInfo | None,
        body: tuple[ir.Statement, ...],
        names: frozenset[str],
    ) -> bool:
        """Find which calls in a body are of functions that have a role; whether there are more than were known."""
        known = self._calls.get(info or module, _NO_CALLS)
        steps, around = set(known.steps), set(known.loops)
        for one in ir.walk(body):
            if isinstance(one, ir.Call) and last_name(one.func) in names:
                path = _path_of_callee(one.func)
                roles = {self._roles.get(callee, Role.NONE) for callee in self._callees(module, info, one.func)}
                if path and not roles.isdisjoint((Role.STEPS, Role.PASSES)):
                    steps.add(path)
                elif path and not roles.isdisjoint((Role.LOOPS, Role.LEADS)):
                    around.add(path)
        found = Calls(frozenset(steps), frozenset(around))
        if found == known:
            return False
        self._calls[info or module] = found
        return True

    # -------------------------------------------------------------------------------------------- callees

    def _callees(self, module: ModuleInfo, info: FunctionInfo | None, func: ir.Node) -> Iterator[FunctionInfo]:
        """The functions of the program that a callee may be."""
        found = _find_nested(info, func) or _find_inherited(info, func) or self._definition(module, func)
        if isinstance(found, FunctionInfo):
            yield found
        if isinstance(func, ir.Attr) and not isinstance(found, FunctionInfo):
            for klass in self._classes(module, info, func.value):
                yield from _methods(klass, func.name)

    def _classes(self, module: ModuleInfo, info: FunctionInfo | None, owner: ir.Node) -> Iterator[ClassInfo]:
        """The classes of the program whose object an expression may be."""
        path = path_of(owner)
        receiver = info.params[0].name if info is not None and info.owner is not None and info.params else ""
        if not path:
            return
        if info is not None and receiver and path.partition(".")[0] == receiver:
            assert info.owner is not None
            attribute = path.partition(".")[2]
            if not attribute:
                yield info.owner
            elif "." not in attribute:
                yield from self._list_kept(info.owner, path)
            return
        if info is not None:
            for param in info.params:
                if param.name == path and param.annotation is not None:
                    yield from self._class_of(module, param.annotation)
        while info is not None:
            yield from self._list_assigned(module, info.body, path)
            info = info.module.functions[info.ir.outer] if info.ir.outer >= 0 else None
        if "." not in path:
            yield from self._list_assigned(module, ir.decode_body(module.unit.body), path)

    def _list_kept(self, klass: ClassInfo, path: str) -> Iterator[ClassInfo]:
        """The classes of what the methods of a class assign to an attribute of their receiver."""
        name = path.partition(".")[2]
        for base in klass.mro:
            if isinstance(base, ClassInfo):
                for index in base.ir.methods.values():
                    method = base.module.functions[index]
                    if name in method.ir.stores:
                        yield from self._list_assigned(base.module, method.body, path)

    def _list_assigned(self, module: ModuleInfo, body: tuple[ir.Statement, ...], path: str) -> Iterator[ClassInfo]:
        """The classes whose constructors' results a body assigns to a name or an attribute."""
        for one in ir.walk(body):
            value = one.value if isinstance(one, (ir.Assign, ir.AnnAssign)) else None
            targets = one.targets if isinstance(one, ir.Assign) else ()
            if isinstance(one, ir.AnnAssign) and path_of(one.target) == path:
                yield from self._class_of(module, one.annotation)
            if isinstance(value, ir.Call) and path in map(path_of, targets):
                yield from self._class_of(module, value.func)

    def _class_of(self, module: ModuleInfo, node: ir.Node) -> Iterator[ClassInfo]:
        found = self._definition(module, node)
        if isinstance(found, ClassInfo):
            yield found

    def _definition(self, module: ModuleInfo, node: ir.Node) -> _Definition:
        """Return what a dotted name is that definitions and imports bind, without running anything."""
        if isinstance(node, ir.Name):
            return self._find_bound(module, node.id)
        if not isinstance(node, ir.Attr):
            return None
        base = self._definition(module, node.value)
        if isinstance(base, ModuleInfo):
            return self._find_bound(base, node.name)
        return base.method(node.name) if isinstance(base, ClassInfo) else None

    def _find_bound(self, module: ModuleInfo, name: str, steps: int = 8) -> _Definition:
        """Return what a module's definitions and imports bind to a name, through so many of them."""
        program = self._program
        index = module.unit.defs.get(name)
        if index is not None:
            return module.functions[index] if index >= 0 else module.classes[-1 - index]
        binding = module.imports.get(name)
        if binding is not None and steps:
            source = program.absolute(module, binding)
            inside = program.by_name.get(source)
            if not binding.name:
                return inside
            found = self._find_bound(inside, binding.name, steps - 1) if inside is not None else None
            return found or program.by_name.get(f"{source}.{binding.name}")
        for star in module.stars if steps else ():
            inside = program.by_name.get(program.absolute(module, star))
            found = self._find_bound(inside, name, steps - 1) if inside is not None else None
            if found is not None:
                return found
        return program.by_name.get(f"{module.name}.{name}")


def _with_outer(functions: Iterable[FunctionInfo]) -> Iterator[FunctionInfo]:
    for info in functions:
        yield info
        while info.ir.outer >= 0:
            info = info.module.functions[info.ir.outer]
            yield info


def _find_nested(info: FunctionInfo | None, func: ir.Node) -> FunctionInfo | None:
    """The function of that name which is nested in one, or beside it."""
    while info is not None and isinstance(func, ir.Name):
        inner = (one for one in info.module.functions[info.index :] if one.ir.outer == info.index)
        found = next((one for one in inner if one.name == func.id), None)
        if found is not None:
            return found
        info = info.module.functions[info.ir.outer] if info.ir.outer >= 0 else None
    return None


def _find_inherited(info: FunctionInfo | None, func: ir.Node) -> FunctionInfo | None:
    """The method that `super().name` is in a method."""
    if info is None or info.owner is None or not _is_of_base(func):
        return None
    for base in info.owner.mro[1:]:
        index = base.ir.methods.get(last_name(func)) if isinstance(base, ClassInfo) else None
        if index is not None and isinstance(base, ClassInfo):
            return base.module.functions[index]
    return None


def _is_of_base(func: ir.Node) -> bool:
    owner = func.value if isinstance(func, ir.Attr) else None
    return isinstance(owner, ir.Call) and isinstance(owner.func, ir.Name) and owner.func.id == "super"


def _path_of_callee(func: ir.Node) -> str:
    """The path that a callee is spelled by, that of a base's method too; "" of others."""
    return f"super().{last_name(func)}" if _is_of_base(func) else path_of(func)


def _methods(klass: ClassInfo, name: str) -> Iterator[FunctionInfo]:
    """The methods of that name that objects of a class, or of one derived from it, may have."""
    found = klass.method(name)
    if found is not None:
        yield found
    todo, seen = [klass], {klass}
    while todo:
        for derived in todo.pop().subclasses:
            if derived not in seen:
                seen.add(derived)
                todo.append(derived)
                index = derived.ir.methods.get(name)
                if index is not None:
                    yield derived.module.functions[index]


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


def _stepping(func: ir.Node) -> str:
    """The last name of what is called, "" of a schedule: that steps no device."""
    if isinstance(func, ir.Name):
        return func.id
    if not isinstance(func, ir.Attr):
        return ""
    owner = func.value
    of = owner.name if isinstance(owner, ir.Attr) else owner.id if isinstance(owner, ir.Name) else ""
    return "" if "sched" in of.lower() else func.name


__all__ = ["Calls", "DrivenBody", "Drivers", "Role"]
