"""Functions of a program to which its steps lead: over the calls that were resolved, whichever module's roots showed them.

A call is known by the functions at its two ends, since what one module's roots call a function with says nothing of another's. What comes
once does not lead on: what a function that holds the loop over steps calls beside that loop.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from typing import TYPE_CHECKING, Final

from xlalint.analysis.chains import Key, Link, Reach, key_of
from xlalint.analysis.hazard import Frequency
from xlalint.interpreter.context import HOST_TIER
from xlalint.interpreter.drivers import AROUND
from xlalint.interpreter.rates import ALWAYS, Cost
from xlalint.program.dependencies import DependencySet

if TYPE_CHECKING:
    from xlalint.interpreter.context import Context, RootContext
    from xlalint.interpreter.drivers import Drivers
    from xlalint.program.linker import FunctionInfo, Program

_OF_PYTHON: Final = frozenset(name for kind in (dict, list, set, str, tuple, object) for name in dir(kind))
_ONCE: Final = Cost(Frequency.ONCE)
_AT_STEPS: Final = Cost(Frequency.STEP)


def runs_at_steps(root: RootContext) -> bool:
    """Return whether a root is known to run at steps, or holds a loop over them."""
    if root.tier == HOST_TIER or root.only or root.if_led or root.context.module.testing:
        return False
    return root.context.per_turn or root.frequency is not Frequency.ONCE


def list_leads(chains: Mapping[Reach, Link], drivers: Drivers) -> list[tuple[Key, list[Key]]]:
    """Return what each function calls as often as it runs, in all of its contexts; of one around a loop over steps, what that calls."""
    found: defaultdict[Key, set[Key]] = defaultdict(set)
    for context in {reach[0] for reach, link in chains.items() if link.root.tier != HOST_TIER}:
        entered, rates = _ONCE if _is_around(context, drivers) else _AT_STEPS, context.rates
        found[key_of(context)].update(
            [key_of(one) for one in context.calls if rates.get(one, ALWAYS).of(entered).frequency > Frequency.ONCE]
        )
    return [(key, sorted(keys)) for key, keys in sorted(found.items())]


def _is_around(context: Context, drivers: Drivers) -> bool:
    return context.per_turn or context.function is None or drivers.role(context.function) in AROUND


def find_led(
    stepping: Iterable[Key],
    leads: Iterable[tuple[Key, list[Key]]],
    unseen: Iterable[FunctionInfo],
    names_called: Callable[[FunctionInfo], Collection[str]],
    program: Program,
) -> frozenset[Key]:
    """Return the functions to which steps of a program lead, from those that run at steps and those that may be called there `unseen`.

    `names_called` are the names that a function calls by which methods are known as well, where no loop over steps is seen.
    """
    calls: dict[Key, list[Key]] = {}
    for key, called in leads:
        calls.setdefault(key, []).extend(called)
    led = {*stepping, *[info.key for info in unseen]}
    todo = list(led)
    spelled = _Spelled(program)
    with program.reader.reading(DependencySet()):
        while todo:
            key = todo.pop()
            new = set(calls.get(key, ()))
            if key[1] >= 0:
                info = program.modules[key[0]].functions[key[1]]
                new.update(_list_related(info))
                if key not in calls:
                    new.update(spelled.list_called(info))
                if not info.module.followed:
                    new.update(spelled.list_named(names_called(info)))
            new -= led
            led |= new
            todo += new
    return frozenset(led)


class _Spelled:
    """Tells what a function that nothing entered may call, by the names of its calls: of its module, of its class, and imported ones."""

    def __init__(self, program: Program) -> None:
        self._program = program
        self._by_name: defaultdict[str, list[FunctionInfo]] | None = None
        self._methods: defaultdict[str, list[Key]] | None = None

    def list_called(self, info: FunctionInfo) -> Iterator[Key]:
        """List the functions that one may call."""
        module = info.module
        if module.followed:
            return
        for name in info.ir.calls:
            method = info.owner.method(name) if info.owner is not None else None
            if method is not None:
                yield method.key
            found = self._find(name)
            own = [one for one in found if one.module is module]
            if own or name in module.imports or module.stars:
                yield from [one.key for one in own or found]

    def list_named(self, names: Collection[str]) -> Iterator[Key]:
        """List the methods of some names, but for those that objects of Python's own have as well."""
        if names and self._methods is None:
            self._methods = defaultdict(list)
            for module in self._program.modules[: self._program.linted]:
                for klass in module.classes:
                    for name, index in klass.ir.methods.items():
                        self._methods[name].append(module.functions[index].key)
        for name in names:
            if self._methods is not None and name not in _OF_PYTHON:
                yield from self._methods.get(name, ())

    def _find(self, name: str) -> list[FunctionInfo]:
        """The functions of a name that stand in no class and in no other function."""
        if self._by_name is None:
            self._by_name = defaultdict(list)
            for module in self._program.modules[: self._program.linted]:
                for info in module.functions:
                    if info.owner is None and info.ir.outer < 0:
                        self._by_name[info.name].append(info)
        return self._by_name.get(name, [])


def _list_related(info: FunctionInfo) -> Iterator[Key]:
    """List what runs where a function does, or in its place: functions that it holds, and what classes below its own make of it."""
    for nested in info.nested:
        yield nested.key
    for below in info.owner.subclasses if info.owner is not None else ():
        method = below.method(info.name)
        if method is not None:
            yield method.key


__all__ = ["find_led", "list_leads", "runs_at_steps"]
