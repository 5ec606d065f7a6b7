"""Keep the results of the roots of all modules, so that the hazards of one file are found without going through the rest."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Container, Iterable, Iterator
from operator import itemgetter

import msgspec

from xlalint.analysis.chains import Key
from xlalint.analysis.collection import FunctionHazard, ModuleResult, find_led_by, merge_placed
from xlalint.analysis.compiled_parts import CompiledParts, Started
from xlalint.analysis.hazard import Hazard
from xlalint.interpreter.occasions import Occasions
from xlalint.program.linker import Program

Move = Callable[[Key], "Key | None"]
"""Where a function is now; None where it is gone."""
_NOTHING = ModuleResult([], [], [])


def callers_of(harvests: Iterable[tuple[int, ModuleResult]], home: int | None = None) -> dict[Key, list[int]]:
    """The modules whose roots lead to calls of functions of others, or of those of one module alone, by function; harvests are given with
    their modules, in order."""
    callers: defaultdict[Key, list[int]] = defaultdict(list)
    for index, harvest in harvests:
        for key in {*harvest.called, *harvest.hosted}:
            if key[0] != index and home in (None, key[0]):
                callers[key].append(index)
    return callers


class ResultStore:
    """The harvest of each module, by index. A change gives the modules whose hazards may be others now."""

    def __init__(self) -> None:
        self._harvests: dict[int, ModuleResult] = {}
        self._held: dict[int, dict[int, list[FunctionHazard]]] = {}
        self._called: Counter[Key] = Counter()
        self._hosted: Counter[Key] = Counter()
        self._reached: Counter[Started] = Counter()
        self._compiled: tuple[Program, CompiledParts] | None = None
        self._through: defaultdict[int, set[int]] = defaultdict(set)
        self._led: Container[Key] = ()
        self.led_is_due = False

    def put(self, module: int, harvest: ModuleResult) -> set[int]:
        """Take what a module's roots gave, in place of what they gave before."""
        before = self._harvests.get(module, _NOTHING)
        self._harvests[module] = harvest
        affected = _count(self._called, set(before.called), set(harvest.called))
        affected |= _count(self._hosted, set(before.hosted), set(harvest.hosted))
        affected |= self._count_reached(before, harvest)
        self.led_is_due |= (before.stepping, before.leads) != (harvest.stepping, harvest.leads) or _hangs(harvest)
        held: dict[int, list[FunctionHazard]] = {}
        for found in harvest.found:
            held.setdefault(found.function[0], []).append(found)
            for passed in _list_passed(found):
                self._through[passed].add(found.function[0])
        for holder in {found.function[0] for found in before.found} | set(held):
            known = self._held.setdefault(holder, {})
            fresh = held.get(holder, [])
            if known.get(module, []) != fresh:
                affected.add(holder)
                known[module] = fresh
                if not fresh:
                    del known[module]
        return affected

    def _count_reached(self, before: ModuleResult, harvest: ModuleResult) -> set[int]:
        """Count how far modules reach XLA; what all modules hold may be judged by that, once it is another."""
        known = set(self._reached)
        self._reached.subtract(before.reaches)
        self._reached.update(harvest.reaches)
        self._reached = +self._reached
        if known == set(self._reached):
            return set()
        self._compiled = None
        return set(self._held)

    def follow_steps(self, program: Program, occasions: Occasions) -> set[int]:
        """Find anew to which functions steps lead; return the modules of which hazards hang on that that are judged otherwise now."""
        before, self.led_is_due = self._led, False
        self._led = find_led_by([harvest for _, harvest in sorted(self._harvests.items())], program, occasions)
        hanging = (found.function for harvest in self._harvests.values() for found in harvest.found if found.if_led)
        return {key[0] for key in hanging if (key in before) is not (key in self._led)}

    def hazards(self, module: int, program: Program) -> list[Hazard]:
        """The hazards in a module, as `xlalint.analysis.collection.merge` gives them."""
        held = self._held.get(module, {})
        return merge_placed(
            (found for source in sorted(held) for found in held[source]),
            self._called,
            self._hosted,
            self._find_compiled(program),
            self._led,
            program,
        )

    def _find_compiled(self, program: Program) -> CompiledParts:
        if self._compiled is None or self._compiled[0] is not program:
            self._compiled = program, CompiledParts(self._reached, program)
        return self._compiled[1]

    def sources(self, module: int) -> set[int]:
        """The modules whose roots lead to hazards in a module."""
        return set(self._held.get(module, ()))

    def callers(self, module: int) -> dict[Key, list[int]]:
        """The other modules whose roots lead to calls of a module's functions, by function."""
        return callers_of(sorted(self._harvests.items(), key=itemgetter(0)), module)

    def through(self, module: int) -> set[int]:
        """The modules whose hazards may be reached through a module, or told with a place in it."""
        return self._through.get(module, set())

    def without(self, module: int, functions: set[Key]) -> None:
        """Drop what a module's roots found in some functions."""
        harvest = self._harvests.get(module)
        if harvest is not None and any(found.function in functions for found in harvest.found):
            left = [found for found in harvest.found if found.function not in functions]
            self.put(module, msgspec.structs.replace(harvest, found=left))

    def move(self, move: Move) -> ResultStore:
        """The same where functions have moved; what speaks of those that are gone is left out."""
        after = ResultStore()
        for module, harvest in self._harvests.items():
            place = move((module, -1))
            if place is not None:
                found = [one for before in harvest.found if (one := _move(before, move)) is not None]
                called = [key for before in harvest.called if (key := move(before)) is not None]
                hosted = [key for before in harvest.hosted if (key := move(before)) is not None]
                entered = [key for before in harvest.entered if (key := move(before)) is not None]
                reaches = [(name, reach, place[0]) for name, reach, _ in harvest.reaches]
                stepping = [key for before in harvest.stepping if (key := move(before)) is not None]
                leads = [one for key, called in harvest.leads for one in _move_lead(key, called, move)]
                after.put(place[0], ModuleResult(found, called, hosted, entered, reaches, stepping, leads))
        return after


def _count(counts: Counter[Key], before: set[Key], after: set[Key]) -> set[int]:
    """Count which functions are called; the modules of those that now are, or no longer."""
    affected: set[int] = set()
    for key in after - before:
        counts[key] += 1
        if counts[key] == 1:
            affected.add(key[0])
    for key in before - after:
        counts[key] -= 1
        if not counts[key]:
            del counts[key]
            affected.add(key[0])
    return affected


def _hangs(harvest: ModuleResult) -> bool:
    return any(found.if_led for found in harvest.found)


def _move_lead(key: Key, called: list[Key], move: Move) -> Iterator[tuple[Key, list[Key]]]:
    place = move(key)
    if place is not None:
        yield place, [one for before in called if (one := move(before)) is not None]


def _list_passed(found: FunctionHazard) -> Iterator[int]:
    """The modules whose places are told with a hazard."""
    for key, _ in found.chain:
        yield key[0]
    if found.inside is not None:
        yield found.inside[0][0]


def _move(found: FunctionHazard, move: Move) -> FunctionHazard | None:
    function = move(found.function)
    chain = [(move(key), why) for key, why in found.chain]
    inside = found.inside and (move(found.inside[0]), found.inside[1])
    if function is None or any(key is None for key, _ in chain) or (inside is not None and inside[0] is None):
        return None
    return msgspec.structs.replace(found, function=function, chain=tuple(chain), inside=inside)
