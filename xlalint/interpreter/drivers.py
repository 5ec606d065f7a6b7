"""Functions of a program that drive a device: which take a step of training, which hold the loops over steps, and by which calls.

A function is known by what its own statements call, and by what the functions of the program do that it calls: `for x in batches:
trainer.update(x)` steps the device if `update` goes backward and has an optimizer step. Whose method that is follows from definitions,
imports, annotations and the constructors that variables and attributes are assigned; of what none of these tells, nothing is said.

All of it is worked out once for a program, before its functions are run. What it comes to is part of what every result depends on.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Set
from enum import IntEnum
from hashlib import blake2b
from types import MappingProxyType
from typing import TYPE_CHECKING, Final, NamedTuple, TypeGuard, Union

from xlalint.analysis.hazard import Frequency
from xlalint.interpreter.device_loops import (
    CALLED_AS_OBJECTS,
    DeviceSteps,
    Loop,
    blocks,
    find_owners,
    find_source,
    goes_over_data,
    last_name,
    loops,
)
from xlalint.interpreter.loop_names import names_bound
from xlalint.interpreter.spelling import path_of
from xlalint.lowering import ir
from xlalint.program.dependencies import DependencySet
from xlalint.program.linker import ClassInfo, FunctionInfo, ModuleInfo

if TYPE_CHECKING:
    from xlalint.program.linker import Program

# Words of what calls of functions do, beside those of what is called for its effect: no name reads so.
_TAKEN, _BACKWARD, _STEPPED, _ACCUMULATED = "<takes a step>", "<goes backward>", "<steps an optimizer>", "<accumulates>"
_WRAPPERS = frozenset(("compile", "partial"))  # what they give is called as what they are given first
_ROUNDS = 8  # functions between the one that takes a step and the outermost loop


class Role(IntEnum):
    """The part that a function plays, by what its calls do to the device."""

    NONE = 0
    LEADS = 1
    """It leads to a loop over steps, in no loop of its own."""
    OPTIMIZES = 2
    """It steps an optimizer, and leaves the gradients to others."""
    BACKWARD = 3
    """It makes gradients, perhaps part by part in a loop, and leaves it to others to step an optimizer."""
    PASSES = 4
    """It calls what takes a step of training, in no loop."""
    STEPS = 5
    """It takes a step of training itself."""
    LOOPS = 6
    """It holds a loop over steps, or one over epochs around calls that lead to such loops."""


AROUND: Final = frozenset((Role.LOOPS, Role.LEADS))
"""Of what these call, only what a loop over steps repeats runs at steps."""

_WORDS = {Role.OPTIMIZES: _STEPPED, Role.BACKWARD: _BACKWARD, Role.PASSES: _TAKEN, Role.STEPS: _TAKEN}


class Calls(NamedTuple):
    """Calls of a body, by how their callees are spelled: the words for what each does, and those that lead to loops over steps; with
    `passes`, those of which each loop goes over batches. `evaluating` are those that are given a model and run it over data.
    """

    words: Mapping[str, frozenset[str]] = MappingProxyType({})
    loops: frozenset[str] = frozenset()
    passes: frozenset[str] = frozenset()
    evaluating: frozenset[str] = frozenset()


_NO_CALLS = Calls()
_Definition = Union[FunctionInfo, ClassInfo, ModuleInfo, None]


class DrivenBody:
    """The loops of one body, that of a function or of a module, by what they do to the device.

    `clears`: some of it may begin new gradients. `at_once`: the body is that of a script whose device runs each operation at once.
    `run` are the parameters that a function runs as models, and the methods that run one, `receiver` is what it calls its own object.
    """

    def __init__(
        self,
        words: DeviceSteps,
        calls: Calls,
        body: tuple[ir.Statement, ...],
        clears: bool = False,
        at_once: bool = False,
        run: frozenset[str] = frozenset(),
        receiver: str = "",
    ) -> None:
        self._words = words
        self._calls = calls
        self._body = body
        self._clears = clears
        self._at_once = at_once
        self._run = run
        self._receiver = receiver

    def role(self) -> Role:
        """The part that a function with this body plays."""
        own, all_loops = set(self._effects(self._body, nested=False)), list(_loops(self._body))
        inner = [set(self._effects(loop.body)) for loop in all_loops]
        if any(map(self._is_step, inner)) or self.goes_around_loops():
            return Role.LOOPS
        if self._is_step(own.union(*inner)):
            return Role.STEPS if self._is_step(own - {_TAKEN}) or _TAKEN not in own else Role.PASSES
        if self.drives():
            return Role.LOOPS
        if own.isdisjoint(self._words.steps) or (self._clears and self._discards_gradients()):
            return Role.LEADS if self._calls.loops else Role.NONE
        return Role.OPTIMIZES if own.isdisjoint(self._words.gradients) else Role.BACKWARD

    def _discards_gradients(self) -> bool:
        """Return whether the body, which steps no optimizer, clears the gradients after it has gone backward: it only looks at them."""
        after = False
        for name in self._effects(self._body):
            after |= name in self._words.gradients
            if after and name in self._words.clears:
                return True
        return False

    def trains_in_loop(self) -> bool:
        """Return whether each turn of a loop takes a whole step of training."""
        return any(self._is_step(set(self._effects(loop.body))) for loop in _loops(self._body))

    def accumulates(self) -> bool:
        """Return whether nothing in the body steps an optimizer: loops that go backward may make the parts of one step."""
        effects = set(self._effects(self._body))
        return not effects.isdisjoint(self._words.gradients) and not self._is_step(effects)

    def steps_what_is_accumulated(self) -> bool:
        """Return whether the body, or one turn of a loop in it, calls what accumulates gradients, and has an optimizer step."""
        words = self._words
        places = [self._body, *(loop.body for loop in _loops(self._body))]
        turns = [set(self._effects(place, nested=False)) for place in places]
        return any(_ACCUMULATED in one and not one.isdisjoint(words.steps - words.gradients) for one in turns)

    def passes_over_data(self) -> bool:
        """Return whether the loops that take the body's steps of training go over batches, and count nothing: each call is an epoch, or an
        evaluation."""
        steps = [loop for loop in _loops(self._body) if self._is_step(set(self._effects(loop.body)))]
        return bool(steps) and all(map(goes_over_data, steps))

    def drives(self) -> bool:
        """Return whether a loop calls what makes the device take a step."""
        return self._drive(self._body)

    def drives_script(self) -> bool:
        """Return whether the body, as a script's, makes a device take steps in a loop."""
        return self._at_once or self.drives() or self.goes_around_loops() or self.evaluates()

    def evaluates(self) -> bool:
        """Return whether the body sets a model to evaluate, or is given one to run, and then runs it in a loop."""
        models = self._run | find_owners(self._body, self._words.evaluates)
        return bool(models) and any(self._runs(loop, models) or self._uses(loop) for loop in _all_loops(self._body))

    def evaluates_data(self) -> bool:
        """Return whether all loops of the body in which a model runs that it is given go over data: each call is an evaluation, and no
        step of one."""
        running = [
            loop
            for loop in _loops(self._body)
            if any(self._runs(one, self._run) or self._uses(one) for one in (loop, *_all_loops(loop.body)))
        ]
        return bool(running) and all(map(goes_over_data, running))

    def _runs(self, loop: Loop, models: Set[str]) -> bool:
        """Return whether a loop calls a model, or a function that is given it and no evaluation, and not only a loop in it does."""
        called = (one for one in _calls_of(loop) if _path_of_callee(one.func) not in self._calls.evaluating)
        return any(path_of(part) in models for one in called for part in (one.func, *_given_to(one)))

    def _uses(self, loop: Loop) -> bool:
        """Return whether a loop itself calls a method of its own of a model that the body sets to evaluate, or is given to run:
        `net.generate(x)`."""
        models = (self._run | find_owners(self._body, self._words.evaluates)) - {self._receiver}
        called = (one.func for one in _calls_of(loop)) if models else ()
        return any(
            isinstance(func, ir.Attr) and func.name not in self._words.keeping and path_of(func.value) in models
            for func in called
        )

    def goes_around_loops(self) -> bool:
        """Return whether a loop calls what leads to loops over steps."""
        called = self._calls.loops
        return bool(called) and any(self._calls_any(called, loop.body) for loop in _loops(self._body))

    def _is_step(self, effects: set[str]) -> bool:
        """Return whether these are the effects of a step of training: gradients, and an optimizer that takes them."""
        words = self._words
        optimizes = not effects.isdisjoint(words.steps - words.gradients - {_TAKEN})
        return _TAKEN in effects or (optimizes and not effects.isdisjoint(words.gradients | {_ACCUMULATED}))

    def paces(self, loop: tuple[ir.Statement, ...]) -> bool:
        """Return whether each turn of a loop with this body is one step of the device, and no loop within takes steps of its own."""
        return not self._words.steps.isdisjoint(self._effects(loop, nested=False)) and not self._drive(loop)

    def takes_steps(self, loop: Loop) -> bool:
        """Return whether the turns of a loop are steps: of training, or of running one of the body's models."""
        if self._over_epochs(loop) or _calls_each(loop):
            return False
        if self._at_once:
            return True
        steps = not self._words.steps.isdisjoint(self._effects(loop.body)) or self._iterates(loop) or self._acts(loop)
        return steps or self._runs(loop, self._run | find_owners(self._body, self._words.models)) or self._uses(loop)

    def frequency(self, loop: Loop, *, evaluates: bool) -> Frequency:
        """Return how often the turns come of a loop that takes steps: those of running a model, in what trains or `evaluates` one, are an
        evaluation's."""
        if not self._words.steps.isdisjoint(self._effects(loop.body)) or (self._acts(loop) and not evaluates):
            return Frequency.STEP
        return Frequency.EVALUATION if evaluates or self.drives() else Frequency.STEP

    def _acts(self, loop: Loop) -> bool:
        """Return whether each turn of a loop itself acts in an environment, in a body that leads to what learns from it."""
        if not (self._calls.words or self._calls.loops):
            return False
        return _gathers(_plain_statements(loop.body, nested=False))

    def goes_around(self, loop: Loop) -> bool:
        """Return whether a loop that takes no steps goes around one that surely does: over epochs. One around nothing but backward passes
        may be a loop over steps itself, which uses the gradients in its own way: guidance, say."""
        words = self._words
        inner = self._effects(nested for one in _loops(loop.body) for nested in one.body)
        if not self._drive(loop.body) or not (words.steps - words.gradients).isdisjoint(inner):
            return self._over_epochs(loop)
        return False

    def _drive(self, statements: tuple[ir.Statement, ...]) -> bool:
        return any(not self._words.steps.isdisjoint(self._effects(loop.body)) for loop in _loops(statements))

    def _over_epochs(self, loop: Loop) -> bool:
        """Return whether a loop goes round a loop that takes steps, in its body or in a function that it calls.

        Several backward passes that make one step are no steps of their own, and what acts in an environment takes a step by that,
        however often it learns from it. One that takes a whole step itself, after those of a loop in it, takes it at each turn: a
        generator's, after its critic's.
        """
        if self._acts(loop):
            return False
        words = self._words
        own = set(self._effects(loop.body, nested=False))
        if self._is_step(own - {_TAKEN}):
            return False
        inner = set(self._effects(nested for one in _loops(loop.body) for nested in one.body))
        if not inner.isdisjoint(words.steps - words.gradients):
            return True
        if not own.isdisjoint(words.steps):
            return False
        if not words.gradients.isdisjoint(inner):
            return True
        return not self._iterates(loop) and self._calls_any(self._calls.loops, loop.body)

    def _iterates(self, loop: Loop) -> bool:
        """Return whether each turn of a loop takes steps for something of its own, and counts no epochs: it gathers and learns, as in
        reinforcement learning, moves its batch to the device or has it from a loader, works on the items at its count, or goes on for as
        long as something holds, around no loop over epochs."""
        called = self._calls.loops
        if not self._calls_any(called, loop.body):
            return False
        if _gathers(loop.body):
            return True
        if isinstance(loop, ir.While):
            plain = tuple(_plain_statements(loop.body, nested=False))
            return self._calls_any(called - self._calls.passes, plain) or any(map(self._iterates, _loops(loop.body)))
        return _moves_turns(loop, self._words.places) or _picks_items(loop) or self._goes_over_batches(loop)

    def _goes_over_batches(self, loop: ir.For) -> bool:
        """Return whether a loop goes over what a loader gives that the body made: `for batch in DataLoader(data): generate(batch)`."""
        source, loaders = find_source(loop), self._words.loaders
        if isinstance(source, ir.Call):
            return last_name(source.func) in loaders
        path = path_of(source)
        pairs = (pair for one in ir.walk(self._body) for pair in _list_pairs(one)) if path else ()
        return any(path_of(target) == path and last_name(made.func) in loaders for target, made in pairs)

    def find_stepping_branches(self) -> frozenset[int]:
        """Find where branches begin that take the steps of the body, or of a loop in it, which takes none elsewhere.

        What such a branch costs, it costs at every step: `if turn % 4 == 0: agent.learn()`.
        """
        found: set[int] = set()
        for turn in (self._body, *(loop.body for loop in _all_loops(self._body))):
            for branch in _branches(turn):
                if self._is_step(set(self._effects(branch.body, nested=False))):
                    rest = _plain_statements(turn, nested=True, but=branch)
                    if not self._is_step(set(self._effects(rest))):
                        found.add(branch.at)
        return frozenset(found)

    def is_there_for_steps(self, branch: tuple[ir.Statement, ...]) -> bool:
        """Return whether a branch leads to loops over steps, or takes one, and the body takes none besides: `if args.do_train: train()`."""
        effects = set(self._effects(branch))
        leads = not self._words.steps.isdisjoint(effects) or self._calls_any(self._calls.loops, branch)
        if not leads and not any(self.takes_steps(loop) for loop in _loops(branch)):
            return False
        inside = list(_plain_statements(branch, nested=True))
        rest = [one for one in _plain_statements(self._body, nested=True) if one not in inside]
        return not self._is_step(set(self._effects(rest)))

    def find_repeated(self) -> frozenset[str]:
        """The calls of what leads to loops over steps, in loops each turn of which acts in an environment and may learn from it."""
        found = (one for loop in _all_loops(self._body) if _gathers(loop.body) for one in ir.walk(loop.body))
        paths = (_path_of_callee(one.func) for one in found if isinstance(one, ir.Call))
        return self._calls.loops.intersection(paths)

    def _effects(self, statements: Iterable[ir.Statement], nested: bool = True) -> Iterator[str]:
        """The names of what statements call for its effect; with `nested`, within loops among them too."""
        plain = list(_plain_statements(statements, nested))
        for statement in plain:
            if isinstance(statement, ir.Eval) and isinstance(statement.value, ir.Call):
                yield _stepping(statement.value.func)
            if self._calls.words:
                called = (_path_of_callee(one.func) for one in ir.walk((statement,)) if isinstance(one, ir.Call))
                for path in called:
                    yield from self._calls.words.get(path, ())
        if self._clears and self._hands_on(tuple(plain)):
            yield _TAKEN

    def _hands_on(self, statements: tuple[ir.Statement, ...]) -> bool:
        """Return whether statements begin new gradients, and hand the optimizer that takes them to what they call: that goes backward, and
        steps it, as `loss_scaler(loss, optimizer)` does."""
        cleared = find_owners(statements, self._words.clears)
        given = (part for one in ir.walk(statements) if isinstance(one, ir.Call) for part in _given_to(one))
        return bool(cleared) and any(path_of(part) in cleared for part in given)

    def _calls_any(self, paths: frozenset[str], statements: tuple[ir.Statement, ...]) -> bool:
        return bool(paths) and any(
            isinstance(one, ir.Call) and _path_of_callee(one.func) in paths for one in ir.walk(statements)
        )


class Drivers:
    """Tells which functions of a program drive a device, by the words of the frameworks."""

    def __init__(self, words: DeviceSteps, program: Program) -> None:
        self.words = words._replace(
            steps=words.steps | {_TAKEN, _STEPPED, _BACKWARD}, gradients=words.gradients | {_BACKWARD}
        )
        self._program = program
        self._roles: dict[FunctionInfo, Role] = {}
        self._calls: dict[FunctionInfo | ModuleInfo, Calls] = {}
        self._objects: dict[str, set[FunctionInfo | None]] = {}
        self._owners: set[ClassInfo] = set()
        self._kept: dict[str, set[ClassInfo]] = {}
        self._reached: set[FunctionInfo] = set()
        self._parts: set[FunctionInfo] = set()
        self._around: set[FunctionInfo] = set()
        self._repeated: set[FunctionInfo] = set()
        self._without_device: frozenset[ModuleInfo] = frozenset()
        self._with_device: set[ModuleInfo] = set()
        self._packages_with_device: frozenset[str] = frozenset()
        self._scripted = False
        self._driven: dict[ModuleInfo, bool] = {}
        self._for_steps: dict[FunctionInfo, dict[tuple[int, bool], bool]] = {}
        self._evaluating: dict[FunctionInfo, bool] = {}
        self._given: dict[FunctionInfo, set[str]] = {}
        self._worked_out = False

    # ------------------------------------------------------------------------------------------ questions

    def may_drive(self, module: ModuleInfo) -> bool:
        """Return whether a module imports what makes an XLA device take steps, today or once it is ported."""
        if not self.words.packages.isdisjoint(module.at_hand):
            return True
        return not self.words.ported.isdisjoint(module.at_hand) and self._may_be_ported(module)

    def role(self, info: FunctionInfo) -> Role:
        """Return what a call of a function does to the device."""
        self._work_out()
        return self._roles.get(info, Role.NONE)

    def trains_in_loop(self, info: FunctionInfo) -> bool:
        """Return whether a function holds a loop that takes whole steps of training."""
        return self.role(info) is Role.LOOPS and self._body_of(info).trains_in_loop()

    def drives_module(self, module: ModuleInfo) -> bool:
        """Return whether a module's own statements, those of a script or a notebook, hold a loop over steps or epochs."""
        self._work_out()
        known = self._driven.get(module)
        if known is None:
            may = module in self._calls or (self._calls_steps(module.unit.calls) and self.may_drive(module))
            may |= self.runs_at_once(module) or self._evaluates_itself(module)
            body = self.within(None, module) if may else None
            known = self._driven[module] = body is not None and body.drives_script()
        return known

    def within(self, function: FunctionInfo | None, module: ModuleInfo) -> DrivenBody:
        """Return what is known of a function's loops, or of those of a module's own statements."""
        self._work_out()
        if function is not None:
            return self._body_of(function)
        calls, clears = self._calls.get(module, _NO_CALLS), self._clears(module.unit.calls)
        return DrivenBody(self.words, calls, ir.decode_body(module.unit.body), clears, self.runs_at_once(module))

    def is_there_for_steps(self, function: FunctionInfo | None, module: ModuleInfo, node: ir.If, holds: bool) -> bool:
        """Return whether a function, or a module's own statements, is there for the steps to which the branch leads that is taken where a
        condition holds, or the other."""
        branch = node.body if holds else node.orelse
        if function is None:
            return self.within(None, module).is_there_for_steps(branch)
        told = self._for_steps.setdefault(function, {})
        known = told.get((node.at, holds))
        if known is None:
            known = told[node.at, holds] = self.within(function, module).is_there_for_steps(branch)
        return known

    def runs_at_once(self, module: ModuleInfo) -> bool:
        """Return whether a module is written for a device that runs each operation at once."""
        return not self.words.at_once.isdisjoint(module.shown_targets)

    def names_no_device(self, module: ModuleInfo) -> bool:
        """Return whether a module drives a device and says nowhere which: it leaves all on the CPU until it is ported."""
        self._work_out()
        return module in self._without_device

    def names_device(self, module: ModuleInfo) -> bool:
        """Return whether a module drives a device, and says which, or where it is asked for; or another of its package does, or a script
        that stands in none."""
        self._work_out()
        return module in self._with_device or self._scripted or _top_package(module) in self._packages_with_device

    def trains(self, info: FunctionInfo) -> bool:
        """Return whether a function computes gradients, in a module that drives a device: it is a step of training, or holds the loop."""
        return not self.words.gradients.isdisjoint(info.ir.calls) and self.may_drive(info.module)

    def counts_turns(self, info: FunctionInfo) -> bool:
        """Return whether of a function what its loops repeat counts, or those that it leads to, and nothing else."""
        return not self.is_repeated(info) and (self.role(info) in AROUND or self.evaluates(info))

    def is_repeated(self, info: FunctionInfo) -> bool:
        """Return whether a function that holds loops over steps, or leads to them, is called at each turn of a loop that acts in an
        environment: all of it counts."""
        self._work_out()
        return info in self._repeated

    def evaluates(self, info: FunctionInfo) -> bool:
        """Return whether a function sets a model to evaluate, or is given one and keeps no gradients, and then runs it in a loop."""
        known = self._evaluating.get(info)
        if known is None:
            known = self._evaluating[info] = self._evaluates(info)
        return known

    def only_evaluates(self, function: FunctionInfo | None, module: ModuleInfo) -> bool:
        """Return whether a function evaluates, or a module's own statements do and train nothing."""
        if function is not None:
            return self.evaluates(function)
        body = self.within(None, module) if self._evaluates_itself(module) else None
        return body is not None and body.evaluates() and not body.drives() and not body.goes_around_loops()

    def _evaluates(self, info: FunctionInfo) -> bool:
        may = not self.words.evaluates.isdisjoint(info.ir.calls) or bool(self._list_run(info))
        if not may or not self.may_drive(info.module) or self.role(info) is Role.STEPS:
            return False  # what takes a step of training is one, though it may be told to leave that out
        return self._body_of(info).evaluates()

    def _list_running(self, info: FunctionInfo) -> frozenset[str]:
        """The methods that run a model of their object which a method sets to evaluate, as that calls them in its loops: `self.predict`. Of
        what leads to steps of training nothing is said."""
        words = self.words.evaluates
        if info.owner is None or not info.params or words.isdisjoint(info.ir.calls) or self._roles.get(info, Role.NONE):
            return frozenset()
        receiver = f"{info.params[0].name}."
        models = {path.removeprefix(receiver) for path in find_owners(info.body, words) if path.startswith(receiver)}
        called = [
            path_of(one.func) for loop in loops(info.body) for one in ir.walk(loop.body) if isinstance(one, ir.Call)
        ]
        found = {path for path in called if path.startswith(receiver)} if models else ()
        methods = ((path, info.owner.method(path.removeprefix(receiver))) for path in found)
        return frozenset([path for path, method in methods if method is not None and _runs_own(method, models)])

    def _evaluates_itself(self, module: ModuleInfo) -> bool:
        """Return whether a module's own statements may set a model to evaluate."""
        return not self.words.evaluates.isdisjoint(module.unit.calls) and self.may_drive(module)

    def _list_run(self, info: FunctionInfo) -> frozenset[str]:
        """The parameters of a function which takes no steps of training that are models: those that callers set to evaluate, or that it
        calls where it keeps no gradients."""
        words, given = self.words.without_gradients, self._given.get(info, ())
        if self._roles.get(info, Role.NONE) is not Role.NONE:
            return frozenset()
        if given:
            return frozenset(given)
        decorated = info.decorated(*words)
        if not decorated and words.isdisjoint(info.ir.calls):
            return frozenset()
        places = (
            [info.body] if decorated else [one.body for one in ir.walk_statements(info.body) if is_under(one, words)]
        )
        called = {path_of(one.func) for place in places for one in ir.walk(place) if type(one) is ir.Call}
        return frozenset([param.name for param in info.params if param.name in called])

    def models_given(self, info: FunctionInfo) -> Set[str]:
        """Return the parameters of a function that callers set to evaluate before: models."""
        self._work_out()
        return self._given.get(info, frozenset())

    def infers(self, info: FunctionInfo) -> bool:
        """Return whether a function sets a model to evaluate and calls it."""
        words = self.words.evaluates
        if words.isdisjoint(info.ir.calls):
            return False
        models = find_owners(info.body, words)
        return any(isinstance(one, ir.Call) and path_of(one.func) in models for one in ir.walk(info.body))

    def takes_step(self, info: FunctionInfo) -> bool:
        """Return whether a call of a function is a step of training: it takes one itself, or is a method that has others take it, of which
        the program does not say who calls it."""
        role = self.role(info)
        return role is Role.STEPS or (role is Role.PASSES and info.owner is not None and info not in self._reached)

    def may_call(self, caller: FunctionInfo | ModuleInfo, call: ir.Call, info: FunctionInfo) -> bool:
        """Return whether a call in a body may enter a function, by what its callee is known to be."""
        self._work_out()
        function = caller if isinstance(caller, FunctionInfo) else None
        module = caller.module if isinstance(caller, FunctionInfo) else caller
        return any(one is info for one in self._callees(module, function, call.func))

    def digest(self) -> bytes:
        """Digest all that was found: what was made of it holds as long as this is the same."""
        self._work_out()
        told = [(info.module.path, info.ir.qualname, f"{role:d}") for info, role in self._roles.items()]
        for holder, found in self._calls.items():
            path, name = (
                (holder.module.path, holder.ir.qualname) if isinstance(holder, FunctionInfo) else (holder.path, "")
            )
            told += [(path, name, f"{callee} {sorted(words)}") for callee, words in found.words.items()]
            told += [(path, name, f"{callee} {callee in found.passes}") for callee in found.loops]
            told += [(path, name, f"{callee} evaluates") for callee in found.evaluating]
        told += [(module.path, "", "") for module in self._without_device]
        told += [(module.path, "", "with a device") for module in self._with_device]
        told += [(info.module.path, info.ir.qualname, "repeated") for info in self._repeated]
        told += [(info.module.path, info.ir.qualname, f"given {sorted(names)}") for info, names in self._given.items()]
        told += [(info.module.path, info.ir.qualname, "reached") for info in self._reached if info in self._roles]
        text = "\n".join(map("\0".join, sorted(told)))
        return blake2b(text.encode("utf-8", "surrogateescape"), digest_size=16).digest()

    def after(self, changed: Iterable[FunctionInfo]) -> Drivers:
        """Drivers of the program with changed bodies of some functions: these, where the functions have no part in what was found."""
        changed = tuple(changed)
        if self._worked_out and not any(map(self._may_matter, changed)):
            for info in changed:
                self._for_steps.pop(info, None)
                self._evaluating.pop(info, None)
            return self
        return Drivers(self.words, self._program)

    def _may_matter(self, info: FunctionInfo) -> bool:
        """Return whether a function's role, or what it assigns to attributes, may be part of what is found."""
        if info in self._roles or info in self._calls or info.ir.stores or self._calls_steps(info.ir.calls):
            return True
        if not self.words.evaluates.isdisjoint(info.ir.calls):
            return True
        driving = {known.module for known in self._roles}
        names = _names_leading_to(self._roles) | self.words.objects
        names |= {one.owner.name for one in self._roles if one.name in CALLED_AS_OBJECTS and one.owner is not None}
        called = _with_aliases(names, info.module)
        calls = not called.isdisjoint(info.ir.calls) or _wraps_one(info, [name.encode() for name in names])
        return info.module in driving or calls

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
            named = self._name_objects(ported, self.words.objects, None)
            for _ in range(_ROUNDS):
                for info in fresh:
                    if info.name in CALLED_AS_OBJECTS and info.owner is not None:
                        named += self._name_objects(ported, frozenset((info.owner.name,)), info)
                self._keep_objects(ported, {info.owner for info in fresh if info.owner is not None})
                names, named = _names_leading_to(fresh).union(named), []
                if names:
                    fresh = self._follow(ported, names)
            self._find_repeated()
            driving = {info.module for info, role in self._roles.items() if role in (Role.STEPS, Role.LOOPS)}
            driving.update(module for module in ported if self._calls_steps(module.unit.calls))
            self._without_device = frozenset(filter(self._leaves_device_open, driving))
            self._with_device = driving - self._without_device
            self._scripted = any(not module.package for module in self._with_device)
            self._packages_with_device = frozenset(map(_top_package, self._with_device)) - {""}
            handed = [one for module in modules for one in self._find_given(module)]
            for holder, path, callee in handed:
                if self._body_of(callee).evaluates_data():
                    known = self._calls.get(holder, _NO_CALLS)
                    self._calls[holder] = known._replace(evaluating=known.evaluating | {path})

    def _find_given(self, module: ModuleInfo) -> list[tuple[FunctionInfo | ModuleInfo, str, FunctionInfo]]:
        """Note the parameters of functions that a module's code gives models which it sets to evaluate; return who calls them, and how."""
        words = self.words.evaluates
        handed: list[tuple[FunctionInfo | ModuleInfo, str, FunctionInfo]] = []
        holders: list[FunctionInfo | None] = [one for one in module.functions if not words.isdisjoint(one.ir.calls)]
        if not words.isdisjoint(module.unit.calls):
            holders.append(None)
        for holder in holders if self.may_drive(module) else ():
            body = holder.body if holder is not None else ir.decode_body(module.unit.body)
            models = find_owners(body, words)
            for one in ir.walk(body):
                if isinstance(one, ir.Call) and any(path_of(part) in models for part in _given_to(one)):
                    for callee in self._callees(module, holder, one.func):
                        self._given.setdefault(callee, set()).update(_names_given(callee, one, models))
                        handed.append((holder or module, _path_of_callee(one.func), callee))
        return handed

    def _find_repeated(self) -> None:
        """Find what loops that act in an environment call, and all the loops over steps that this leads to."""
        todo = []
        for holder, known in self._calls.items():
            if known.loops:
                function = holder if isinstance(holder, FunctionInfo) else None
                module = holder.module if isinstance(holder, FunctionInfo) else holder
                todo.append((module, function, self.within(function, module).find_repeated()))
        while todo:
            module, function, paths = todo.pop()
            for callee in self._find_called(module, function, paths):
                if callee not in self._repeated and self._roles.get(callee) in AROUND:
                    self._repeated.add(callee)
                    todo.append((callee.module, callee, self._calls.get(callee, _NO_CALLS).loops))

    def _find_called(
        self, module: ModuleInfo, function: FunctionInfo | None, paths: frozenset[str]
    ) -> Iterator[FunctionInfo]:
        """The functions that calls of these paths, in a function or in a module's own statements, may enter."""
        body = (function.body if function is not None else ir.decode_body(module.unit.body)) if paths else ()
        for one in ir.walk(body):
            if isinstance(one, ir.Call) and _path_of_callee(one.func) in paths:
                yield from self._callees(module, function, one.func)

    def _leaves_device_open(self, module: ModuleInfo) -> bool:
        words = self.words
        called = [module.unit.calls, *(info.ir.calls for info in module.functions)]
        return words.packages.isdisjoint(module.at_hand) and all(map(words.places.isdisjoint, called))

    def _may_be_ported(self, module: ModuleInfo) -> bool:
        return not self.words.targets.isdisjoint(module.taught.targets)

    def _calls_steps(self, calls: Iterable[str]) -> bool:
        return not self.words.steps.isdisjoint(calls) or self._clears(calls)

    def _clears(self, calls: Iterable[str]) -> bool:
        return not self.words.clears.isdisjoint(calls)

    def _name_objects(
        self, modules: list[ModuleInfo], classes: frozenset[str], called: FunctionInfo | None
    ) -> list[str]:
        """Find the names to which modules assign objects of classes that are called, and note which call that is; None of a library.

        What such a name is given to is mostly a parameter of that name.
        """
        found: list[str] = []
        for module in modules:
            names = {
                one.local for one in module.unit.imports if one.name in classes or f"{one.module}.{one.name}" in classes
            }
            names |= {name.rpartition(".")[2] for name in classes} if called is not None else set()
            bodies = [ir.decode_body(module.unit.body)] if not names.isdisjoint(module.unit.calls) else []
            bodies += [info.body for info in module.functions if not names.isdisjoint(info.ir.calls)]
            for one in ir.walk(tuple(bodies)) if bodies else ():
                maker = self._maker_of(one.value) if type(one) is ir.Assign else None
                if type(one) is not ir.Assign or maker is None or last_name(maker) not in names:
                    continue
                made = self._definition(module, maker)
                if called is None or (isinstance(made, ClassInfo) and made.method(called.name) is called):
                    found += filter(None, [path_of(target).rpartition(".")[2] for target in one.targets])
        for name in found:
            self._objects.setdefault(name, set()).add(called)
        return found

    def _maker_of(self, value: ir.Node) -> ir.Node | None:
        """Return what is called to make a value, which may be moved, or set to evaluate, at once: `Net` of `Net(4).to(device)`."""
        passing = self.words.places | self.words.evaluates
        while type(value) is ir.Call:
            inner = value.func.value if type(value.func) is ir.Attr and value.func.name in passing else None
            if type(inner) is not ir.Call:
                return value.func
            value = inner
        return None

    def _keep_objects(self, modules: list[ModuleInfo], owners: set[ClassInfo]) -> None:
        """Note the names to which modules assign objects of classes, or of classes derived from them, whose methods drive a device.

        As in `_name_objects`, what such a name is given to is mostly a parameter of that name.
        """
        classes = _with_derived(owners) - self._owners
        self._owners |= classes
        names = frozenset([klass.name for klass in classes])
        functions = [info for module in modules for info in module.functions] if names else []
        names |= {info.name for info in functions if not names.isdisjoint(info.ir.calls) and self._gives(info, classes)}
        for module in modules if names else ():
            bodies = [ir.decode_body(module.unit.body)] if not names.isdisjoint(module.unit.calls) else []
            bodies += [info.body for info in module.functions if not names.isdisjoint(info.ir.calls)]
            for target, value in (pair for body in bodies for one in ir.walk(body) for pair in _list_pairs(one)):
                if last_name(value.func) in names and last_name(target):
                    made = classes.intersection(self._list_made_by(module, value.func))
                    self._kept.setdefault(last_name(target), set()).update(made)

    def _gives(self, info: FunctionInfo, classes: set[ClassInfo]) -> bool:
        """Return whether a function returns an object of one of several classes."""
        made = (one for call in _list_returned(info.body) for one in self._list_made_by(info.module, call.func))
        return not classes.isdisjoint(made)

    def _follow(self, modules: list[ModuleInfo], names: frozenset[str]) -> list[FunctionInfo]:
        """Look at what calls functions of these names; those whose role has changed by it."""
        spelled = [name.encode() for name in names]
        changed: list[FunctionInfo] = []
        for module in modules:
            known = _with_aliases(names, module)
            if not known.isdisjoint(module.unit.calls):
                parts = self._note_calls(module, None, ir.decode_body(module.unit.body), known)
                changed += self._demote(parts, self.within(None, module))
            for info in module.functions:
                if known.isdisjoint(info.ir.calls) and not _wraps_one(info, spelled):
                    continue
                parts = self._note_calls(module, info, info.body, known)
                changed += self._demote(parts, self._body_of(info))
                if parts is not None and self._classify(info):
                    changed.append(info)
        return changed

    def _demote(self, parts: list[FunctionInfo] | None, caller: DrivenBody) -> list[FunctionInfo]:
        """Take the loops of functions that go backward for parts of one step, where a caller steps the optimizer afterwards."""
        if not parts or not caller.steps_what_is_accumulated():
            return []
        self._parts.update(parts)
        return [info for info in parts if self._classify(info)]

    def _classify(self, info: FunctionInfo) -> bool:
        """Work out a function's role, by the calls that are known; whether it has changed."""
        before = self._roles.get(info, Role.NONE)
        found = self._body_of(info).role()
        if info in self._parts and found is Role.LOOPS:
            found = Role.BACKWARD
        if info in self._around:
            found = Role.LOOPS
        if found is before:
            return False
        self._roles[info] = found
        if found is Role.LOOPS:
            for outer in info.enclosing():
                self._around.add(outer)
                self._roles[outer] = Role.LOOPS
        return True

    def _body_of(self, info: FunctionInfo) -> DrivenBody:
        calls, clears = self._calls.get(info, _NO_CALLS), self._clears(info.ir.calls)
        receiver = info.params[0].name if info.owner is not None and info.params else ""
        run = self._list_run(info) | self._list_running(info)
        return DrivenBody(self.words, calls, info.body, clears, run=run, receiver=receiver)

    def _note_calls(
        self,
        module: ModuleInfo,
        info: FunctionInfo | None,
        body: tuple[ir.Statement, ...],
        names: frozenset[str],
    ) -> list[FunctionInfo] | None:
        """Find what calls in a body of functions of these names do. The callees whose loops are found to make the parts of a step here;
        None where nothing is new."""
        known = self._calls.get(info or module, _NO_CALLS)
        told = {path: words for path, words in known.words.items() if path.rpartition(".")[2] not in names}
        around = {path for path in known.loops if path.rpartition(".")[2] not in names}
        passes = {path for path in known.passes if path.rpartition(".")[2] not in names}
        accumulating: list[FunctionInfo] = []
        made = dict(_list_made(body, names))
        for one in ir.walk(body):
            path = _path_of_callee(one.func) if isinstance(one, ir.Call) else ""
            if not path or not isinstance(one, ir.Call):
                continue
            if path in made:
                called = self._find_made(module, info, made[path])
            elif last_name(one.func) in names:
                called = self._callees(module, info, one.func)
            else:
                continue
            callees = {callee: self._roles.get(callee, Role.NONE) for callee in called}
            self._reached.update(callees)
            words = {_WORDS[role] for role in callees.values() if role in _WORDS}
            if not callees and None in self._objects.get(last_name(one.func), ()):
                words.add(_TAKEN)
            looping = [callee for callee, role in callees.items() if role is Role.LOOPS]
            if looping and all(self._body_of(callee).accumulates() for callee in looping):
                accumulating += looping
                words.add(_ACCUMULATED)
            if words:
                told[path] = frozenset(words)
            if looping or Role.LEADS in callees.values():
                around.add(path)
            loops_alone = bool(looping) and len(looping) == len(callees)
            if loops_alone and all(self._body_of(callee).passes_over_data() for callee in looping):
                passes.add(path)
        found = Calls(told, frozenset(around), frozenset(passes))
        if found == known:
            return None
        self._calls[info or module] = found
        return accumulating

    # -------------------------------------------------------------------------------------------- callees

    def _callees(self, module: ModuleInfo, info: FunctionInfo | None, func: ir.Node) -> Iterator[FunctionInfo]:
        """The functions of the program that a callee may be."""
        found = _find_nested(info, func) or _find_inherited(info, func) or self._definition(module, func)
        if isinstance(found, FunctionInfo):
            yield found
        if found is None:
            yield from filter(None, self._objects.get(last_name(func), ()))
        if isinstance(func, ir.Attr) and not isinstance(found, FunctionInfo):
            classes = set(self._classes(module, info, func.value))
            for klass in classes or self._kept.get(last_name(func.value), set()):
                yield from _methods(klass, func.name)

    def _find_made(self, module: ModuleInfo, info: FunctionInfo | None, maker: ir.Call) -> Iterator[FunctionInfo]:
        """The functions that a call gives: those nested in what it calls, where that returns them, or the one that it is passed."""
        if last_name(maker.func) in _WRAPPERS:
            if maker.args:
                yield from self._callees(module, info, maker.args[0])
            return
        for factory in self._callees(module, info, maker.func):
            returned = {path_of(one.value) for one in ir.walk(factory.body) if isinstance(one, ir.Return) and one.value}
            yield from (one for one in factory.nested if one.name in returned)

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
            for holder in (info, *info.enclosing()):
                yield from self._list_annotated(holder, path)
                yield from self._list_assigned(module, holder.body, path)
        if "." not in path:
            yield from self._list_assigned(module, ir.decode_body(module.unit.body), path)

    def _list_kept(self, klass: ClassInfo, path: str) -> Iterator[ClassInfo]:
        """The classes of what the methods of a class assign to an attribute of their receiver."""
        name = path.partition(".")[2]
        for base in klass.mro:
            if isinstance(base, ClassInfo):
                for method in base.own_methods:
                    if name in method.ir.stores:
                        yield from self._list_assigned(base.module, method.body, path)
                        for given in _list_given(method.body, path):
                            yield from self._list_annotated(method, given)

    def _list_assigned(self, module: ModuleInfo, body: tuple[ir.Statement, ...], path: str) -> Iterator[ClassInfo]:
        """The classes whose constructors' results a body assigns to a name or an attribute."""
        for one in ir.walk(body):
            if isinstance(one, ir.AnnAssign) and path_of(one.target) == path:
                yield from self._class_of(module, one.annotation)
            for target, value in _list_pairs(one):
                if path_of(target) == path:
                    yield from self._list_made_by(module, value.func)

    def _list_made_by(self, module: ModuleInfo, maker: ir.Node, steps: int = 3) -> Iterator[ClassInfo]:
        """The classes of what a call gives: of a constructor, or of a function that returns what one made."""
        found = self._definition(module, maker)
        if isinstance(found, ClassInfo):
            yield found
        elif isinstance(found, FunctionInfo) and steps:
            for value in _list_returned(found.body):
                yield from self._list_made_by(found.module, value.func, steps - 1)

    def _list_annotated(self, info: FunctionInfo, name: str) -> Iterator[ClassInfo]:
        """The classes that a parameter's annotation names, each of several."""
        for param in info.params:
            if param.name == name and param.annotation is not None:
                for part in _alternatives(param.annotation):
                    yield from self._class_of(info.module, part)

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


def _top_package(module: ModuleInfo) -> str:
    """Return the outermost package that holds a module; "" of one that is in none."""
    return module.name.partition(".")[0] if module.package else ""


def _find_nested(info: FunctionInfo | None, func: ir.Node) -> FunctionInfo | None:
    """The function of that name which is nested in one, or beside it."""
    if info is None or not isinstance(func, ir.Name):
        return None
    for holder in (info, *info.enclosing()):
        found = next((one for one in holder.nested if one.name == func.id), None)
        if found is not None:
            return found
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


def _with_derived(classes: Iterable[ClassInfo]) -> set[ClassInfo]:
    """Classes, and all that derive from them."""
    found: set[ClassInfo] = set()
    todo = list(classes)
    while todo:
        klass = todo.pop()
        if klass not in found:
            found.add(klass)
            todo += klass.subclasses
    return found


def _methods(klass: ClassInfo, name: str) -> Iterator[FunctionInfo]:
    """The methods of that name that objects of a class, or of one derived from it, may have."""
    found = klass.method(name)
    if found is not None:
        yield found
    for derived in _with_derived((klass,)) - {klass}:
        index = derived.ir.methods.get(name)
        if index is not None:
            yield derived.module.functions[index]


def _names_leading_to(functions: Iterable[FunctionInfo]) -> frozenset[str]:
    """The names of functions, and of those around them: what calls these may be given them."""
    return frozenset(one.name for info in functions for one in (info, *info.enclosing()))


def _with_aliases(names: frozenset[str], module: ModuleInfo) -> frozenset[str]:
    """Names, and those under which a module imports what has one of them: `train` of `from loops import train_epoch as train`."""
    return names.union([one.local for one in module.unit.imports if one.name in names])


def _wraps_one(info: FunctionInfo, spelled: list[bytes]) -> bool:
    """Return whether a function may wrap one of these names: it calls what wraps, and its body spells one."""
    return not _WRAPPERS.isdisjoint(info.ir.calls) and any(name in info.ir.body for name in spelled)


def _list_made(body: tuple[ir.Statement, ...], names: frozenset[str]) -> Iterator[tuple[str, ir.Call]]:
    """The names that a body gives to what it made by functions of these names, or by wrapping one: `step = make_step(model)`."""
    for one in ir.walk(body):
        if not isinstance(one, ir.Assign) or not isinstance(one.value, ir.Call):
            continue
        func = one.value.func
        wraps = last_name(func) in _WRAPPERS and one.value.args and last_name(one.value.args[0]) in names
        if wraps or last_name(func) in names:
            yield from ((path, one.value) for path in map(path_of, one.targets) if path)


def _list_given(body: tuple[ir.Statement, ...], path: str) -> Iterator[str]:
    """The names that a body assigns to an attribute as they are."""
    for one in ir.walk(body):
        if isinstance(one, ir.Assign) and isinstance(one.value, ir.Name) and path in map(path_of, one.targets):
            yield one.value.id


def _list_pairs(statement: object) -> Iterator[tuple[ir.Node, ir.Call]]:
    """The targets to which a statement assigns what calls give, each with its call: `a, b = f(), g()` are two."""
    if not isinstance(statement, ir.Assign):
        return
    value = statement.value
    for target in statement.targets:
        if isinstance(value, ir.Call):
            yield target, value
        elif isinstance(value, ir.Display) and isinstance(target, ir.Display) and len(value.items) == len(target.items):
            pairs = zip(target.items, value.items, strict=True)
            yield from [(part, given) for part, given in pairs if isinstance(given, ir.Call)]


def _list_returned(body: tuple[ir.Statement, ...]) -> Iterator[ir.Call]:
    """The calls whose results a function returns, at once or under a name of its own."""
    nodes = tuple(ir.walk(body))
    returned = [one.value for one in nodes if isinstance(one, ir.Return) and one.value is not None]
    yield from [value for value in returned if isinstance(value, ir.Call)]
    names = {value.id for value in returned if isinstance(value, ir.Name)}
    for one in nodes if names else ():
        yield from [value for target, value in _list_pairs(one) if path_of(target) in names]


def _alternatives(annotation: ir.Node) -> Iterator[ir.Node]:
    """The types of which an annotation names one: `A` and `B` of `A | B` and `Union[A, B]`, `A` of `Optional[A]`."""
    if isinstance(annotation, ir.Bin) and annotation.op == "|":
        yield from _alternatives(annotation.left)
        yield from _alternatives(annotation.right)
    elif isinstance(annotation, ir.Sub) and last_name(annotation.value) in ("Optional", "Union"):
        parts = annotation.index.items if isinstance(annotation.index, ir.Display) else (annotation.index,)
        for part in parts:
            yield from _alternatives(part)
    else:
        yield annotation


def _all_loops(statements: Iterable[ir.Statement]) -> Iterator[Loop]:
    """The loops among statements, and those within them."""
    for loop in _loops(statements):
        yield loop
        yield from _all_loops(loop.body)


def _gathers(turn: Iterable[ir.Statement]) -> bool:
    """Return whether the turn of a loop acts in an environment: `observation, reward, done, … = env.step(action)`."""
    return any(
        isinstance(one, ir.Assign)
        and isinstance(one.value, ir.Call)
        and last_name(one.value.func) == "step"
        and bool(one.value.args)
        and any(isinstance(target, ir.Display) and len(target.items) > 2 for target in one.targets)
        for one in ir.walk(tuple(turn))
    )


def _moves_turns(loop: ir.For, places: frozenset[str]) -> bool:
    """Return whether a loop moves what it goes over to a device."""
    bound = names_bound(loop.target)
    return any(
        isinstance(one, ir.Call)
        and isinstance(one.func, ir.Attr)
        and one.func.name in places
        and path_of(one.func.value) in bound
        for one in ir.walk(loop.body)
    )


def _picks_items(loop: ir.For) -> bool:
    """Return whether a loop takes what stands at its count out of several values: `search(images[i], labels[i])`.

    Epochs are counted to keep what each gave, or to ask one schedule.
    """
    if type(loop.target) is not ir.Name:
        return False
    count, nodes = loop.target.id, tuple(ir.walk(loop.body))
    kept = {id(target) for one in nodes if isinstance(one, ir.Assign) for target in one.targets}
    taken = (one for one in nodes if isinstance(one, ir.Sub) and id(one) not in kept and _starts_at(one.index, count))
    return len({path_of(one.value) for one in taken} - {""}) > 1


def _starts_at(index: ir.Node, count: str) -> bool:
    """Return whether an index is a count, or a slice that begins there."""
    first = index.lower if type(index) is ir.Slice else index
    return type(first) is ir.Name and first.id == count


def _runs_own(method: FunctionInfo, models: Set[str]) -> bool:
    """Return whether a method calls one of these attributes of its object."""
    receiver = method.params[0].name if method.params else ""
    paths = {f"{receiver}.{name}" for name in models}
    return any(isinstance(one, ir.Call) and path_of(one.func) in paths for one in ir.walk(method.body))


def is_under(node: object, words: frozenset[str]) -> TypeGuard[ir.With]:
    """Return whether a node is a `with` block of a call of one of these names."""
    return isinstance(node, ir.With) and any(
        isinstance(one, ir.Call) and last_name(one.func) in words for one, _ in node.items
    )


def _plain_statements(
    statements: Iterable[ir.Statement], nested: bool, but: ir.If | None = None
) -> Iterator[ir.Statement]:
    """The statements without blocks among some, and in their blocks, except where one condition holds: with `nested`, in those of loops
    too."""
    for statement in statements:
        inner = blocks(statement) if statement is not but or but is None else but.orelse
        if not inner:
            if statement is not but:
                yield statement
        elif nested or not isinstance(statement, (ir.For, ir.While)) or _calls_each(statement):
            yield from _plain_statements(inner, nested, but)


def _calls_of(loop: Loop) -> Iterator[ir.Call]:
    """The calls of a loop's own statements, those in loops within left out."""
    own = tuple(_plain_statements(loop.body, nested=False))
    return (one for one in ir.walk(own) if isinstance(one, ir.Call))


def _loops(statements: Iterable[ir.Statement]) -> Iterator[Loop]:
    """The outermost loops among statements, but those that are a part of what each turn around them does."""
    return (loop for loop in loops(statements) if not _calls_each(loop))


def _calls_each(loop: Loop) -> bool:
    """Return whether a loop does nothing but call methods of what it goes through: `for optimizer in optimizers: optimizer.step()`."""
    if not isinstance(loop, ir.For):
        return False
    bound = names_bound(loop.target)
    called = [one.value.func for one in loop.body if isinstance(one, ir.Eval) and isinstance(one.value, ir.Call)]
    return len(called) == len(loop.body) and all(
        isinstance(func, ir.Attr)
        and any(isinstance(one, ir.Name) and one.id in bound for one in ir.walk((func.value,)))
        for func in called
    )


def _branches(statements: Iterable[ir.Statement]) -> Iterator[ir.If]:
    """The conditions among statements, and within their blocks, but not in loops."""
    for statement in statements:
        if isinstance(statement, ir.If):
            yield statement
        if not isinstance(statement, (ir.For, ir.While)):
            yield from _branches(blocks(statement))


def _given_to(call: ir.Call) -> Iterator[ir.Node]:
    """The arguments of a call, by place and by name."""
    yield from call.args
    yield from (value for _, value in call.keywords)


def _names_given(callee: FunctionInfo, call: ir.Call, models: set[str]) -> Iterator[str]:
    """The names of parameters to which a call gives one of several models."""
    bound = callee.owner is not None and not callee.decorated("staticmethod")
    for param, given in zip(callee.params[bound:], call.args, strict=False):
        if path_of(given) in models:
            yield param.name
    yield from [name for name, given in call.keywords if name and path_of(given) in models]


def _stepping(func: ir.Node) -> str:
    """The last name of what is called, "" of a schedule: that steps no device."""
    if isinstance(func, ir.Name):
        return func.id
    if not isinstance(func, ir.Attr):
        return ""
    owner = func.value
    of = owner.name if isinstance(owner, ir.Attr) else owner.id if isinstance(owner, ir.Name) else ""
    return "" if "sched" in of.lower() else func.name


__all__ = ["Calls", "DrivenBody", "Drivers", "Role", "is_under"]
