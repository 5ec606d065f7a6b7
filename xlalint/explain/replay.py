"""The analysis over again, watched: of the whole program where it is small, else of the modules that matter for one function.

What a module's roots give depends on the program alone, so it is here what it is in a `check`. A small program is entered whole. Of a
large one the roots of few modules are entered: those from which `check`'s findings at the place start, the file's own, and what
imports the file and calls a function of that name.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from xlalint.analysis.chains import Link, Reach, chain_to, steps_of
from xlalint.analysis.collection import FunctionHazard, ModuleResult, harvest, is_superseded, merge
from xlalint.analysis.decision import Decisions, Verdict
from xlalint.analysis.hazard import Hazard, Step
from xlalint.frameworks.base import NOWHERE
from xlalint.interpreter.context import HOST_TIER, MODULE_LEVEL, Context, PendingHazard
from xlalint.interpreter.recording import Recorder, Sight, observe, start_of
from xlalint.lowering.ir import Unit
from xlalint.program.dependencies import DependencySet
from xlalint.program.linker import ClassInfo, FunctionInfo, ModuleInfo, Program
from xlalint.project.analysis import Analysis, deep
from xlalint.project.options import AnalysisOptions

if TYPE_CHECKING:
    from xlalint.config import Settings

_WHOLE_BYTES = 1_000_000
_LOCAL_BYTES = 1_200_000
_MOST_CALLERS = 16


class Replay:
    """A watched analysis, and what it found: on `analysis`, where the program is linked already.

    `entered` are the modules whose roots were entered, `complete` says that these are all.
    """

    def __init__(
        self,
        units: Sequence[Unit],
        settings: Settings,
        followed: Sequence[Unit] = (),
        analysis: Analysis | None = None,
    ) -> None:
        self._analysis = analysis or Analysis(units, AnalysisOptions.from_settings(settings), followed)
        self.program: Program = self._analysis.program
        self.interpreter = self._analysis.interpreter
        self.roots = self._analysis.roots
        self.recorder = Recorder(frozenset())
        self.entered: list[ModuleInfo] = []
        self.complete = False
        self.chains: dict[Reach, Link] = {}
        self._decisions: dict[Reach, Decisions] = {}
        self._nowhere = Decisions([], NOWHERE, self.interpreter.policies)
        self.harvests: list[ModuleResult] = []
        self.called: set[tuple[int, int]] = set()
        self.hazards: list[Hazard] = []
        self.failures: list[str] = []
        self._home = -1

    @property
    def linted(self) -> list[ModuleInfo]:
        """The modules that are the user's own."""
        return self.program.modules[: self.program.linted]

    # -------------------------------------------------------------------------------------------- what to enter

    def run(
        self, module: ModuleInfo, function: FunctionInfo | None, wanted: set[str], whole: bool, checked: bool
    ) -> None:
        """Analyse what matters for a function (None: module level).

        `wanted` are paths of modules that surely do. `checked` says that it is known what a check reports: callers in other
        modules are then looked at only where the function is not reached without.
        """
        modules, sizes = self.linted, self._analysis.sizes
        self.complete = whole or sum(sizes) <= _WHOLE_BYTES
        self._home = module.index
        first = [one for one in modules if self.complete or one is module or one.path in wanted]
        callers = [] if self.complete or function is None else self._callers(module, function, first)
        self.recorder = self._recorder(module, function, [*first, *callers])
        self.interpreter.observer = self.recorder
        with observe(self.recorder), deep():
            for one in first:
                self._enter(one)
            if not (checked and self._called(function)):
                for one in callers:
                    self._enter(one)
        self.hazards = merge(self.harvests, self.program, self.interpreter.occasions)

    def _called(self, function: FunctionInfo | None) -> bool:
        """Return whether more leads to a function than that it is a library's."""
        ways = [link for (context, _), link in self.chains.items() if context.function is function]
        return any(link.root.tier == 1 or link.depth for link in ways)

    def _callers(self, module: ModuleInfo, function: FunctionInfo, first: Sequence[ModuleInfo]) -> list[ModuleInfo]:
        """Modules that import from a function's module and may call it, as many of the smallest as are soon analysed."""
        owner = function.owner
        names = {function.name, *([owner.name] if owner is not None else ())}
        sizes = self._analysis.sizes
        nearby = [one for one in self.linted if one not in first and self._imports(one, module, names)]
        chosen: list[ModuleInfo] = []
        budget = _LOCAL_BYTES - sum(sizes[one.index] for one in first)
        for one in sorted(nearby, key=lambda one: sizes[one.index]):
            budget -= sizes[one.index]
            if budget < 0 or len(chosen) == _MOST_CALLERS:
                break
            chosen.append(one)
        return sorted(chosen, key=lambda one: one.index)

    def _imports(self, other: ModuleInfo, module: ModuleInfo, names: set[str]) -> bool:
        bindings = [*other.imports.values(), *other.stars]
        if not any(
            _leads_to(self.program.absolute(other, b), b.name, module.name) or b.name in names for b in bindings
        ):
            return False
        return any(names.intersection(f.calls) for f in other.unit.functions) or any(
            base.name in names for klass in other.classes for base in klass.mro if isinstance(base, ClassInfo)
        )

    def _recorder(self, module: ModuleInfo, function: FunctionInfo | None, chosen: Sequence[ModuleInfo]) -> Recorder:
        """Watch what is entered, and the classes that the function's object is made of; of a whole large program who imports the module."""
        large = self.complete and sum(self._analysis.sizes) > _WHOLE_BYTES
        watched = {other.index for other in chosen if not large or _mentions(self.program, other, module)} | {
            module.index
        }
        owner = function.owner if function is not None else None
        if owner is not None:
            watched |= {klass.module.index for klass in owner.mro if isinstance(klass, ClassInfo)}
        return Recorder(frozenset(watched))

    # ------------------------------------------------------------------------------------------------- running

    def _enter(self, module: ModuleInfo) -> None:
        """Analyse a module's roots."""
        self.entered.append(module)
        found = self.roots.enter(module)
        if self.interpreter.fails:
            told = self.program.reader.current.all_failures().values()
            self.failures += [line for line in told if line not in self.failures]
        decisions = Decisions(found, self.roots.platforms, self.interpreter.policies, module.taught.target)
        harvested = harvest(decisions, module, self.roots.find_leading(module))
        self.harvests.append(harvested)
        self.called.update(harvested.called)
        for reach, link in decisions.chains.items():
            known = self.chains.get(reach)
            if known is None or self.rank(link) < self.rank(known):
                self.chains[reach] = link
                self._decisions[reach] = decisions

    def rank(self, link: Link) -> tuple[int, bool, int]:
        """Sure roots first, then those of the file that is asked about, then those that are near."""
        return link.root.tier, link.root.context.module.index != self._home, link.depth

    @property
    def reusable(self) -> bool:
        """Return whether the replay knows as much about every other function of the program."""
        return self.complete and len(self.recorder.modules) == self.program.linted

    def look_alone(self, module: ModuleInfo, function: FunctionInfo | None) -> None:
        """See to it that something is known of code that nothing enters: by itself, it is analysed now."""
        interpreter = self.interpreter
        self.program.reader.current = DependencySet()
        with observe(self.recorder), deep():
            try:
                if function is None:
                    if module.index not in interpreter.module_contexts:
                        interpreter.evaluate_global(module, "")
                elif not any(context.function is function for context in self.recorder.sights):
                    interpreter.enter(function, interpreter.standalone(function))
            except Exception as error:  # noqa: BLE001 - what went wrong is told, and the rest of the answer with it
                interpreter.stack.clear()
                self.program.reader.current.fail(
                    module.path, MODULE_LEVEL if function is None else function.ir.qualname, error
                )
                interpreter.fails = True
        if interpreter.fails:
            told = self.program.reader.current.all_failures().values()
            self.failures += [line for line in told if line not in self.failures]

    # ----------------------------------------------------------------------------------------------- what was seen

    def sights(self, module: ModuleInfo, function: FunctionInfo | None) -> list[tuple[Context, Sight]]:
        """The contexts of a function, or those that ran a module's own statements, with what was seen in them."""
        return [
            (context, sight)
            for context, sight in self.recorder.sights.items()
            if context.function is function and context.module is module
        ]

    def extents(self, module: ModuleInfo) -> set[tuple[int, int]]:
        """The extents of all hazards that were seen in a module, whatever becomes of them."""
        contexts = [context for context in self.recorder.sights if context.module is module]
        ats = [at + start_of(context.function) for context in contexts for _, at in context.sightings]
        return {(at >> 32, at & 0xFFFFFFFF) for at in ats}

    def reach(self, context: Context) -> Reach | None:
        """How a context is reached from traced roots, the surest way; None where it is not."""
        ways = [(context, converted) for converted in (True, False) if (context, converted) in self.chains]
        traced = [way for way in ways if self.chains[way].root.tier != HOST_TIER]
        return min(traced, key=lambda way: self.rank(self.chains[way]), default=None)

    def decide(self, context: Context, pending: PendingHazard) -> Verdict:
        """Decide whether a hazard of a context counts where that is reached the surest way."""
        way = self.reach(context)
        if way is None:
            return self._nowhere.decide_untraced(pending)
        return self._decisions[way].decide(pending, way)

    def find_superseded(self) -> Iterator[FunctionHazard]:
        """Yield the hazards that calls in traced code supersede."""
        for batch in self.harvests:
            for found in batch.found:
                if is_superseded(found, self.called, (), self.program.exported):
                    yield found

    def superseded(self, context: Context) -> bool:
        """Return whether a context is a library function analysed with unknown arguments, and actual calls say more of it."""
        way = self.reach(context)
        if way is None or context.function is None:
            return False
        link = self.chains[way]
        key = context.function.key
        return link.root.tier == 2 and link.depth == 0 and key in self.called and key not in self.program.exported

    def in_tables(self) -> set[int]:
        """Contexts, by identity, that were analysed to learn what a class stores, with few calls followed."""
        return {id(context) for context in self.recorder.sights if context.of_table}

    def trace(self, way: Reach) -> tuple[Step, ...]:
        """The chain of functions by which a context is reached."""
        return tuple(steps_of(chain_to(way, self.chains), self.program))


def _leads_to(source: str, name: str, module: str) -> bool:
    return source == module or (bool(name) and f"{source}.{name}" == module)


def _mentions(program: Program, other: ModuleInfo, module: ModuleInfo) -> bool:
    bindings = [*other.imports.values(), *other.stars]
    return any(_leads_to(program.absolute(other, binding), binding.name, module.name) for binding in bindings)
