"""On which occasions a program calls its functions: at its steps, while it is set up, or where its data is prepared.

A function is known by its name alone: whatever calls that name may call it. So one of which all callers are constructors of models runs
once for each model, and one of which all are data sets on the host, as far as the program calls them itself. Of methods only constructors
of the class tell, since frameworks and users of a library call methods too.

All of it is worked out once for a program, before its functions are run. What it comes to for a module's functions is part of what a
result depends on for which it was asked.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Collection, Iterator, Mapping
from enum import IntEnum
from hashlib import blake2b
from typing import TYPE_CHECKING

from xlalint.analysis.hazard import Frequency
from xlalint.interpreter.call_rates import CallRates
from xlalint.interpreter.device_loops import last_name, loops
from xlalint.interpreter.drivers import AROUND, Drivers, Role
from xlalint.interpreter.transforms import find_transforms
from xlalint.interpreter.uncalled import Holder, Uncalled
from xlalint.lowering import ir
from xlalint.program.dependencies import DependencySet
from xlalint.program.linker import ClassInfo, FunctionInfo, ModuleInfo

if TYPE_CHECKING:
    from xlalint.program.linker import Program


class Occasion(IntEnum):
    """When a function of the program is called, as far as the program calls it itself; of two the smaller is their join."""

    ANY = 0
    """At steps, or by whoever uses the program."""
    SCRIPT = 1
    """Once, before or around the steps, by what a script begins with: what it repeats in a loop may be a step."""
    SET_UP = 2
    """Once for each model, by its constructor."""
    DATA = 3
    """Where examples are loaded and prepared, on the host."""
    NEVER = 4
    """By nothing: no code of the program names it, but what is never called itself."""


_LASTING = frozenset(("module", "optimizer", "config"))  # what is made once: what their constructors call sets it up
_CONSTRUCTORS = frozenset(("__init__", "__post_init__"))
NO_GRADIENT = ("no_grad", "inference_mode", "enable_grad", "set_grad_enabled")
_CALLED = frozenset(("forward", "__call__"))  # what calling an object calls
_ROUNDS = 4  # functions between what is called once and what that leads to


class Occasions:
    """Tells on which occasion each function of a program is called. `kind_of` says what kind of thing a class makes,
    `is_step` whether a framework calls a method at each step."""

    def __init__(
        self,
        program: Program,
        drivers: Drivers,
        kind_of: Callable[[ClassInfo | None], str],
        is_step: Callable[[FunctionInfo], bool],
    ) -> None:
        self._program = program
        self._drivers = drivers
        self._kind_of = kind_of
        self._is_step = is_step
        self._seldom: dict[FunctionInfo, Occasion] = {}
        self._states: dict[int, str] = {}
        self._often: dict[FunctionInfo, Frequency] = {}
        self._named: frozenset[FunctionInfo] = frozenset()
        self._leads = False
        self._holds_loops = False
        self._serving: frozenset[ModuleInfo] = frozenset()
        self._rates: CallRates | None = None
        self._calls: dict[FunctionInfo, tuple[str, ...]] = {}
        self._in_loops: dict[FunctionInfo | ModuleInfo, frozenset[str]] = {}
        self.uncalled = Uncalled(program, drivers, kind_of, is_step)
        self._looked: set[FunctionInfo] = set()
        self._worked_out = False

    def of(self, info: FunctionInfo) -> Occasion:
        """Return when a function is called."""
        self._work_out()
        self._program.reader.current.occasions |= info.module.bit
        return self._seldom.get(info, Occasion.ANY)

    def often(self, info: FunctionInfo) -> Frequency | None:
        """Return how often a program calls a function, None where it does not say."""
        self._work_out()
        self._program.reader.current.occasions |= info.module.bit
        return self._often.get(info)

    def shows_calls(self, info: FunctionInfo) -> bool:
        """Return whether a program that users start, and that holds a loop over steps, shows all calls of a function: each names it."""
        self._work_out()
        self._program.reader.current.occasions |= info.module.bit
        return info in self._named

    def leads_to_steps(self, module: ModuleInfo) -> bool:
        """Return whether what users start of the program leads to a loop over steps, or to models that one runs which is not seen."""
        self._work_out()
        self._program.reader.current.occasions |= module.bit
        return self._leads

    def serves_others(self, module: ModuleInfo) -> bool:
        """Return whether a module that may be started by itself is one that other modules of the program import."""
        self._work_out()
        self._program.reader.current.occasions |= module.bit
        return module in self._serving

    def list_called_names(self, info: FunctionInfo) -> Collection[str]:
        """Return the names of what a function calls as often as it runs, in a program whose loops over steps are not seen: a method is
        known by its name. Nothing where they are."""
        self._work_out()
        if self._holds_loops:
            return ()
        return self._find_repeated(info) if self._drivers.role(info) in AROUND else info.ir.calls

    def find_unseen(self) -> list[FunctionInfo]:
        """Return the functions that steps may run though no call names them: what a framework calls on a class, what a decorator takes,
        what is handed on or kept in a table, and inference, which whoever has the model runs."""
        self._work_out()
        with self._program.reader.reading(DependencySet()):
            return list(filter(self._is_called_unseen, self._calls))

    def _is_called_unseen(self, info: FunctionInfo) -> bool:
        if info.module.testing or info in self._seldom or self._drivers.role(info) in AROUND:
            return False
        if self._drivers.evaluates(info) or self._drivers.infers(info) or info.decorated(*NO_GRADIENT):
            return True
        if info.name in _CALLED or (info.owner is None and (info.ir.decorators or self._is_handed_on(info))):
            return True
        return self.uncalled.may_be_called_unseen(info)

    def _is_handed_on(self, info: FunctionInfo) -> bool:
        """Return whether something names a function that stands in no class without calling it: it may keep it, or hand it on."""
        holders = self.uncalled.holders.get(info.name, ())
        return any(type(one) is ClassInfo for one in holders) or not self._only_calls(info)

    def find_asked(self, names_off: Callable[[Holder], Mapping[str, str]]) -> dict[FunctionInfo, str]:
        """Return the functions that are called only where something is asked for, with that."""
        self._work_out()
        return self.uncalled.find_asked(names_off)

    def state(self, module: ModuleInfo) -> bytes:
        """Digest all that was found of a module's functions: what was made of it holds as long as this is the same."""
        self._work_out()
        return blake2b(self._states.get(module.index, "").encode("utf-8", "surrogateescape"), digest_size=16).digest()

    def differ(self, before: Occasions) -> set[int]:
        """Return the indexes of the modules of which functions were called on other occasions before, with the same modules."""
        if before is self:
            return set()
        self._work_out()
        before._work_out()
        return {index for index, _ in self._states.items() ^ before._states.items()}

    def after(self, changed: Collection[FunctionInfo], drivers: Drivers) -> Occasions:
        """Occasions of the program with changed bodies of some functions: these, where those call what they called before."""
        same = drivers is self._drivers and all(
            self._calls.get(info) == info.ir.calls and drivers.role(info) is Role.NONE and info not in self._seldom
            for info in changed
        )
        same = same and self._looked.isdisjoint(changed)
        same = same and (self._rates is None or not self._rates.depends_on(changed))
        same = self._worked_out and same and self.uncalled.holds_after(changed)
        return self if same else Occasions(self._program, drivers, self._kind_of, self._is_step)

    # -------------------------------------------------------------------------------------------- answers

    def _work_out(self) -> None:
        if self._worked_out:
            return
        self._worked_out = True
        program = self._program
        with program.reader.reading(DependencySet()):  # `state` speaks for it
            functions = [info for module in program.modules[: program.linted] for info in module.functions]
            self._calls = {info: info.ir.calls for info in functions}
            self._seldom = self._find_seldom(functions)
        told: defaultdict[int, list[str]] = defaultdict(list)
        for info, when in self._seldom.items():
            told[info.module.index].append(f"{info.ir.qualname}\0{when:d}")
        for info, often in self._often.items():
            told[info.module.index].append(f"{info.ir.qualname}\0often\0{often:d}")
        for info in self._named:
            told[info.module.index].append(f"{info.ir.qualname}\0named")
        self._serving = self.uncalled.find_serving()
        for module in self._serving:
            told[module.index].append("serves")
        if self._leads:
            for module in self._program.modules[: self._program.linted]:
                told[module.index].append("leads")
        self._states = {index: "\n".join(sorted(those)) for index, those in told.items()}

    def _find_seldom(self, functions: list[FunctionInfo]) -> dict[FunctionInfo, Occasion]:
        """Return the functions that no step calls: those of which all callers are constructors, data sets, or run once themselves."""
        callers: defaultdict[str, list[FunctionInfo | ModuleInfo]] = defaultdict(list)
        for module in self._program.modules[: self._program.linted]:
            for name in module.unit.calls:
                callers[name].append(module)
        for info in functions:
            for name in info.ir.calls:
                callers[name].append(info)
        found = dict.fromkeys(self.uncalled.find(), Occasion.NEVER)
        for info in self._list_methods_of_transforms():
            found.setdefault(info, Occasion.DATA)
        for _ in range(_ROUNDS):
            fresh = {
                info: occasion
                for info in functions
                if info not in found and not info.name.startswith("__") and info.name in callers
                if (occasion := self._occasion_of(info, callers[info.name], found)) is not Occasion.ANY
            }
            if not fresh:
                break
            found.update(fresh)
        if self.uncalled.holders:
            self._find_often(callers, found)
        return found

    def _list_methods_of_transforms(self) -> Iterator[FunctionInfo]:
        """The methods of objects that a program makes only to change the examples of its data sets."""
        holders = self.uncalled.holders
        if holders:
            classes = [klass for module in self._program.modules[: self._program.linted] for klass in module.classes]
            found, self._looked = find_transforms(
                classes, holders, lambda one: self._is_of_data(one, self._kind_of(one))
            )
            for klass in found:
                yield from klass.own_methods

    @staticmethod
    def _is_of_data(klass: ClassInfo | None, kind: str) -> bool:
        return kind == "dataset" or (not kind and _holds_examples(klass))

    def _find_often(
        self, callers: dict[str, list[FunctionInfo | ModuleInfo]], seldom: dict[FunctionInfo, Occasion]
    ) -> None:
        """Find how often the functions of a program run that its code calls by their names."""
        never = {info for info, when in seldom.items() if when is Occasion.NEVER}
        callers = {name: [one for one in those if one not in never] for name, those in callers.items()}
        named = self.uncalled.find_called_by_name()
        if self._drives_anything():
            self._named = frozenset([info for info in named if info.owner is None and self._only_calls(info)])
        self._holds_loops = self.uncalled.leads_to_steps()
        self._leads = self._holds_loops or self.uncalled.leads_to_models()
        self._rates = CallRates(self._drivers, callers, self.uncalled.holders, named)
        for info in self._calls:
            often = self._rates.of(info) if info not in seldom and self._drivers.may_drive(info.module) else None
            if often is not None:
                self._often[info] = often

    def _only_calls(self, info: FunctionInfo) -> bool:
        """Return whether whoever names a function calls it."""
        holders = (one for one in self.uncalled.holders.get(info.name, ()) if one is not info)
        called = (
            one.ir.calls if isinstance(one, FunctionInfo) else one.unit.calls
            for one in holders
            if not isinstance(one, ClassInfo)
        )
        return all(info.name in calls for calls in called)

    def _drives_anything(self) -> bool:
        """Return whether the program holds a loop over steps."""
        modules = self._program.modules[: self._program.linted]
        return any(map(self._drivers.drives_module, modules)) or any(
            self._drivers.role(info) is Role.LOOPS for info in self._calls
        )

    def _occasion_of(
        self, info: FunctionInfo, callers: list[FunctionInfo | ModuleInfo], found: dict[FunctionInfo, Occasion]
    ) -> Occasion:
        """Return when a function is called, by what is found of its callers."""
        told = []
        for caller in callers:
            if isinstance(caller, FunctionInfo) and (
                caller is info or _overrides(info, caller) or found.get(caller) is Occasion.NEVER
            ):
                continue  # that it, a method of its name, or what is never called calls it says nothing of its callers
            occasion = self._occasion_of_call(info, caller, found)
            if occasion is Occasion.ANY:
                return occasion
            told.append(occasion)
        return min(told, default=Occasion.ANY)

    def _occasion_of_call(
        self, info: FunctionInfo, caller: FunctionInfo | ModuleInfo, found: dict[FunctionInfo, Occasion]
    ) -> Occasion:
        if not isinstance(caller, FunctionInfo):
            return (
                Occasion.SCRIPT if info.owner is None and info.name not in self._find_repeated(caller) else Occasion.ANY
            )
        kind = self._kind_of(caller.owner) if caller.owner is not None else ""
        if self._is_of_data(caller.owner, kind):
            return Occasion.DATA if info.owner is None else Occasion.ANY
        known = found.get(caller, Occasion.ANY)
        if caller.name in _CONSTRUCTORS and kind in _LASTING:
            known = Occasion.SET_UP
        elif self._drivers.role(caller) in AROUND:
            known = Occasion.SCRIPT
        if info.owner is not None:
            return known if known is Occasion.SET_UP and _are_related(info.owner, caller.owner) else Occasion.ANY
        if known is Occasion.SCRIPT and info.name in self._find_repeated(caller):
            return Occasion.ANY
        return known

    def _find_repeated(self, caller: FunctionInfo | ModuleInfo) -> frozenset[str]:
        """Return the names of what loops of a body call."""
        known = self._in_loops.get(caller)
        if known is None:
            known = self._in_loops[caller] = _names_in_loops(caller.body)
        return known


def _holds_examples(klass: ClassInfo | None) -> bool:
    """Return whether a class of a library that nothing is known of is one of data sets: its objects count their items, and give each."""
    if klass is None or not klass.library_bases() or klass.method("forward") is not None:
        return False
    return all(klass.method(name) is not None for name in ("__getitem__", "__len__"))


def _overrides(info: FunctionInfo, caller: FunctionInfo) -> bool:
    """Return whether a caller is a method that overrides another, or is overridden by it."""
    return info.name == caller.name and _are_related(info.owner, caller.owner)


def _are_related(one: ClassInfo | None, other: ClassInfo | None) -> bool:
    """Return whether one of two classes derives from the other."""
    return one is not None and other is not None and (one in other.mro or other in one.mro)


def _names_in_loops(body: tuple[ir.Statement, ...]) -> frozenset[str]:
    """Return the last names of what loops and comprehensions of a body call."""
    found: set[str] = set()
    for loop in loops(body):
        found.update([last_name(one.func) for one in ir.walk(loop.body) if type(one) is ir.Call])
    for comprehension in ir.walk(body):
        if type(comprehension) is ir.Comprehension:
            found.update([last_name(one.func) for one in ir.walk(comprehension) if type(one) is ir.Call])
    return frozenset(found)


__all__ = ["NO_GRADIENT", "Occasion", "Occasions"]
