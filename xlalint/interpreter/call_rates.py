"""How often functions run that a program calls itself, by where the calls stand: in a loop over steps, beside one, at an evaluation.

A call is known by the name alone that it calls, so all calls of a name together say how often each function of that name runs at most.
That it does run so often is said only where a call surely is one of it.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping
from typing import TYPE_CHECKING, Final, NamedTuple, Union

from xlalint.analysis.hazard import Frequency
from xlalint.interpreter.device_loops import last_name
from xlalint.interpreter.drivers import AROUND, Drivers, Role
from xlalint.interpreter.guards import lets_some_in
from xlalint.lowering import ir
from xlalint.lowering.walking import parts
from xlalint.program.linker import ClassInfo, FunctionInfo, ModuleInfo

if TYPE_CHECKING:
    from xlalint.interpreter.drivers import DrivenBody

Caller = Union[FunctionInfo, ModuleInfo]
_Around = Union[ir.For, ir.While, ir.If, ir.Comprehension]
_STEPPING: Final = frozenset((Role.STEPS, Role.BACKWARD, Role.OPTIMIZES))


class PlacedCall(NamedTuple):
    """A call, with the loops around it in its body, and the conditions that let in single turns of these, outermost first."""

    call: ir.Call
    around: tuple[_Around, ...]


class Mentions(NamedTuple):
    """The names that a body calls, with where, and those that it hands on or keeps."""

    sites: Mapping[str, list[PlacedCall]]
    passed: frozenset[str]


class CallRates:
    """Tells how often functions run. `callers` are by the last names of what they call, `holders` by all names in them; `closed` are the
    functions that nothing else calls, if none of the holders hands these on."""

    def __init__(
        self,
        drivers: Drivers,
        callers: Mapping[str, list[Caller]],
        holders: Mapping[str, Collection[Caller | ClassInfo]],
        closed: Collection[FunctionInfo],
    ) -> None:
        self._drivers = drivers
        self._callers = callers
        self._holders = holders
        self._closed = closed
        self._mentions: dict[Caller, Mentions] = {}
        self._known: dict[FunctionInfo, Frequency | None] = {}

    def of(self, info: FunctionInfo) -> Frequency | None:
        """Return how often a function runs, None where the program does not say."""
        most = self._most(info)
        if most is None or most < Frequency.CALL:
            return most
        sure = (
            self._drivers.may_call(caller, site.call, info)
            for caller, site in self._sites_of(info)
            if self._at(caller, site) is Frequency.STEP
        )
        return Frequency.STEP if any(sure) else None

    def depends_on(self, callers: Iterable[Caller]) -> bool:
        """Return whether something was made of the bodies of some functions."""
        return not self._mentions.keys().isdisjoint(callers)

    def _most(self, info: FunctionInfo) -> Frequency | None:
        """Return how often a function runs at most."""
        if info not in self._closed:
            return None
        if info not in self._known:
            self._known[info] = None  # of what calls itself, by others, nothing is said
            self._known[info] = self._find_most(info)
        return self._known[info]

    def _find_most(self, info: FunctionInfo) -> Frequency | None:
        rates = [self._at(caller, site) for caller, site in self._sites_of(info)]
        known = [rate for rate in rates if rate is not None]
        if Frequency.STEP in known:
            return Frequency.STEP
        return max(known) if known and len(known) == len(rates) and not self._is_passed(info) else None

    def _sites_of(self, info: FunctionInfo) -> Iterator[tuple[Caller, PlacedCall]]:
        for caller in self._callers.get(info.name, ()):
            if caller is not info and not (isinstance(caller, FunctionInfo) and caller.module.testing):
                for site in self._mentions_in(caller).sites.get(info.name, ()):
                    yield caller, site

    def _is_passed(self, info: FunctionInfo) -> bool:
        """Return whether what names a function may hand it on to be called."""
        holders = self._holders.get(info.name, ())
        return any(isinstance(holder, ClassInfo) or info.name in self._mentions_in(holder).passed for holder in holders)

    def _mentions_in(self, caller: Caller) -> Mentions:
        known = self._mentions.get(caller)
        if known is None:
            known = self._mentions[caller] = _find_mentions(caller.body)
        return known

    def _at(self, caller: Caller, site: PlacedCall) -> Frequency | None:
        """Return how often a call is made."""
        drivers = self._drivers
        function = caller if isinstance(caller, FunctionInfo) else None
        module = caller.module if isinstance(caller, FunctionInfo) else caller
        found = Frequency.ONCE if function is None else self._rate_of_entry(function)
        if not site.around:
            return found
        evaluates = drivers.only_evaluates(function, module)
        return _within(site.around, found, drivers.within(function, module), evaluates=evaluates)

    def _rate_of_entry(self, function: FunctionInfo) -> Frequency | None:
        """Return how often a function is entered: one that holds loops over steps, or leads to them, at most once an epoch."""
        drivers = self._drivers
        role = drivers.role(function)
        if role in _STEPPING or (role is Role.PASSES and function.owner is not None) or drivers.is_repeated(function):
            return Frequency.STEP
        if role in AROUND:
            return Frequency.EPOCH if role is Role.LOOPS else Frequency.ONCE
        known = self._most(function)
        return Frequency.EPOCH if known is None and drivers.evaluates(function) else known


def _within(
    around: tuple[_Around, ...], found: Frequency | None, body: DrivenBody, *, evaluates: bool
) -> Frequency | None:
    """Return how often something runs within loops and conditions of a body that is entered so often."""
    unknown = found is None
    often = found or Frequency.ONCE
    for one in around:
        if type(one) is ir.If:
            often = min(often, Frequency.NTH_STEP)
        elif type(one) is ir.Comprehension:
            unknown |= often < Frequency.EVALUATION
        elif body.takes_steps(one):
            often, unknown = body.frequency(one, evaluates=evaluates), False
        elif body.goes_around(one):
            often = max(often, Frequency.EPOCH)
        else:
            unknown |= often < Frequency.EVALUATION
    return None if unknown else often


def _find_mentions(body: tuple[ir.Statement, ...]) -> Mentions:
    sites: defaultdict[str, list[PlacedCall]] = defaultdict(list)
    passed: set[str] = set()
    todo: list[tuple[object, tuple[_Around, ...]]] = [(body, ())]
    while todo:
        node, around = todo.pop()
        if type(node) is ir.Name or type(node) is ir.Attr:
            passed.add(last_name(node))
        elif type(node) is ir.Call and last_name(node.func):
            sites[last_name(node.func)].append(PlacedCall(node, around))
        todo += _list_parts(node, around)
    return Mentions(sites, frozenset(passed))


def _list_parts(node: object, around: tuple[_Around, ...]) -> Iterator[tuple[object, tuple[_Around, ...]]]:
    """The parts of a node, each with what is around it; neither what is called, by its name, nor what is given a value."""
    if type(node) is tuple:
        yield from [(part, around) for part in node]
    elif type(node) is ir.If:
        inside = (*around, node) if lets_some_in(node.test) else around
        yield from ((node.test, around), (node.body, inside), (node.orelse, around))
    elif type(node) is ir.For:
        yield from ((node.iterable, around), ((node.body, node.orelse), (*around, node)))
    elif type(node) is ir.While:
        yield (node.test, node.body, node.orelse), (*around, node)
    elif type(node) is ir.Comprehension:
        yield from [(part, (*around, node)) for part in parts(node)]
    elif type(node) is ir.Call and last_name(node.func):
        yield node.func.value if type(node.func) is ir.Attr else (), around
        yield (node.args, tuple([value for _, value in node.keywords])), around
    elif type(node) is ir.Assign and all(type(target) is ir.Name for target in node.targets):
        yield node.value, around
    else:
        yield from [(part, around) for part in parts(node)]


__all__ = ["CallRates"]
