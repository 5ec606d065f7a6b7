"""On which occasions a program calls its functions: at its steps, while it is set up, or where its data is prepared.

A function is known by its name alone: whatever calls that name may call it. So what is told of the others is sure, as far as the program
calls them itself: one that only constructors of models call runs once for each model, one that only data sets call runs on the host.

All of it is worked out once for a program, before its functions are run. What it comes to is part of what every result depends on.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator
from enum import IntEnum
from hashlib import blake2b
from typing import TYPE_CHECKING

from xlalint.interpreter.device_loops import last_name, loops
from xlalint.interpreter.drivers import Drivers, Role
from xlalint.lowering import ir
from xlalint.program.dependencies import DependencySet
from xlalint.program.linker import ClassInfo, FunctionInfo

if TYPE_CHECKING:
    from xlalint.program.linker import Program


class Occasion(IntEnum):
    """When a function of the program is called, as far as the program calls it itself."""

    ANY = 0
    """At steps, or by whoever uses the program."""
    SET_UP = 1
    """Once, before or around the steps: by constructors, by what a script begins with."""
    DATA = 2
    """Where examples are loaded and prepared, on the host."""


_LASTING = frozenset(("module", "optimizer", "config"))  # what is made once: what their constructors call sets it up
_CONSTRUCTORS = frozenset(("__init__", "__post_init__"))


class Occasions:
    """Tells on which occasion each function of a program is called. `kind_of` says what kind of thing a class makes."""

    def __init__(self, program: Program, drivers: Drivers, kind_of: Callable[[ClassInfo | None], str]) -> None:
        self._program = program
        self._drivers = drivers
        self._kind_of = kind_of
        self._seldom: dict[FunctionInfo, Occasion] = {}
        self._calls: dict[FunctionInfo, tuple[str, ...]] = {}
        self._worked_out = False

    def of(self, info: FunctionInfo) -> Occasion:
        """Return when a function is called."""
        self._work_out()
        return self._seldom.get(info, Occasion.ANY)

    def digest(self) -> bytes:
        """Digest all that was found: what was made of it holds as long as this is the same."""
        self._work_out()
        told = sorted(f"{info.module.path}\0{info.ir.qualname}\0{when:d}" for info, when in self._seldom.items())
        return blake2b("\n".join(told).encode("utf-8", "surrogateescape"), digest_size=16).digest()

    def after(self, changed: Iterable[FunctionInfo], drivers: Drivers) -> Occasions:
        """Occasions of the program with changed bodies of some functions: these, where those call what they called before."""
        same = drivers is self._drivers and all(
            self._calls.get(info) == info.ir.calls and drivers.role(info) is Role.NONE and info not in self._seldom
            for info in changed
        )
        return self if self._worked_out and same else Occasions(self._program, drivers, self._kind_of)

    # -------------------------------------------------------------------------------------------- answers

    def _work_out(self) -> None:
        if self._worked_out:
            return
        self._worked_out = True
        program = self._program
        with program.reader.reading(DependencySet()):  # `digest` speaks for it
            functions = [info for module in program.modules[: program.linted] for info in module.functions]
            self._calls = {info: info.ir.calls for info in functions}
            self._seldom = self._find_seldom(functions)

    def _find_seldom(self, functions: list[FunctionInfo]) -> dict[FunctionInfo, Occasion]:
        """Return the functions that no step calls, in the order of the program."""
        called = {name for names in self._calls.values() for name in names}
        scripts: set[str] = set()  # what scripts call outside of their loops
        steps: set[str] = set()
        for module in self._program.modules[: self._program.linted]:
            if module.unit.calls:
                called.update(module.unit.calls)
                inside = _names_in_loops(ir.decode_body(module.unit.body))
                steps |= inside
                scripts.update(name for name in module.unit.calls if name not in inside)
        by_name: defaultdict[str, list[FunctionInfo]] = defaultdict(list)
        makers: set[FunctionInfo] = set()
        data: set[FunctionInfo] = set()
        live: set[FunctionInfo] = set()
        for info in functions:
            by_name[info.name].append(info)
            kind = self._kind_of(info.owner) if info.owner is not None else ""
            if kind == "dataset":
                data.add(info)
            elif info.name in _CONSTRUCTORS and info.owner is not None:
                by_name[info.owner.name].append(info)
                if kind in _LASTING:
                    makers.add(info)
                elif info.owner.name not in called:
                    live.add(info)
            elif self._drivers.role(info) in (Role.LOOPS, Role.LEADS):
                inside = _names_in_loops(info.body)
                steps |= inside
                scripts.update(name for name in info.ir.calls if name not in inside)
            elif info.name not in called:
                live.add(info)
        apart = makers | data
        start, live = [*live, *_find_named(steps, by_name)], set()
        self._spread(start, live, by_name, apart)
        script = self._follow_scripts(scripts, live, by_name, apart)
        set_up = script | self._reach(makers, live | apart | script, by_name)
        prepared = self._reach(data, live | apart | set_up, by_name)
        return {
            info: Occasion.SET_UP if info in set_up else Occasion.DATA
            for info in functions
            if info in set_up or info in prepared
        }

    def _spread(
        self,
        todo: list[FunctionInfo],
        live: set[FunctionInfo],
        by_name: dict[str, list[FunctionInfo]],
        apart: set[FunctionInfo],
    ) -> None:
        """Add functions, and all that they call in turn, to what steps call."""
        while todo:
            info = todo.pop()
            if info not in live and info not in apart:
                live.add(info)
                todo += _find_named(self._calls[info], by_name)

    def _follow_scripts(
        self,
        names: set[str],
        live: set[FunctionInfo],
        by_name: dict[str, list[FunctionInfo]],
        apart: set[FunctionInfo],
    ) -> set[FunctionInfo]:
        """Return what scripts call outside of loops, and that in turn; what they call within loops may be their steps, and is added to
        those."""
        script: set[FunctionInfo] = set()
        todo = list(_find_named(names, by_name))
        while todo:
            info = todo.pop()
            if info in script or info in live or info in apart:
                continue
            script.add(info)
            inside = _names_in_loops(info.body)
            self._spread(list(_find_named(inside, by_name)), live, by_name, apart)
            todo += _find_named((name for name in info.ir.calls if name not in inside), by_name)
        return script - live

    def _reach(
        self, start: set[FunctionInfo], but: set[FunctionInfo], by_name: dict[str, list[FunctionInfo]]
    ) -> set[FunctionInfo]:
        """Return what some functions call, and that in turn, but for some."""
        found: set[FunctionInfo] = set()
        todo = [one for info in start for one in _find_named(self._calls[info], by_name)]
        while todo:
            info = todo.pop()
            if info not in found and info not in but:
                found.add(info)
                todo += _find_named(self._calls[info], by_name)
        return found


def _find_named(names: Iterable[str], by_name: dict[str, list[FunctionInfo]]) -> Iterator[FunctionInfo]:
    for name in names:
        yield from by_name.get(name, ())


def _names_in_loops(body: tuple[ir.Statement, ...]) -> set[str]:
    """Return the last names of what loops and comprehensions of a body call."""
    found: set[str] = set()
    for loop in loops(body):
        found.update(last_name(one.func) for one in ir.walk(loop.body) if isinstance(one, ir.Call))
    for comprehension in ir.walk(body):
        if isinstance(comprehension, ir.Comprehension):
            found.update(last_name(one.func) for one in ir.walk((comprehension,)) if isinstance(one, ir.Call))
    return found


__all__ = ["Occasion", "Occasions"]
