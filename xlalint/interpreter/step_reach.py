"""Functions of a program that its steps may lead to: by the names that stand in loops over steps, and in what these lead to.

A function is known by its name alone, and a name that stands anywhere in what a step runs may call it. What a framework calls on a class,
what a decorator takes, what is handed on or kept in a table may be called at steps as well. Of what is left nothing in the program shows
that a step calls it.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping
from typing import TYPE_CHECKING, Final

from xlalint.interpreter.device_loops import loops
from xlalint.interpreter.drivers import Drivers, Role
from xlalint.interpreter.uncalled import Holder, names_in
from xlalint.program.linker import FunctionInfo, ModuleInfo

if TYPE_CHECKING:
    from xlalint.lowering.ir import Statement

_OF_STEPS: Final = frozenset((Role.OPTIMIZES, Role.BACKWARD, Role.PASSES, Role.STEPS))
_AROUND: Final = frozenset((Role.LOOPS, Role.LEADS))


def find_stepped(
    functions: Iterable[FunctionInfo],
    modules: Iterable[ModuleInfo],
    drivers: Drivers,
    holders: Mapping[str, Collection[Holder]],
    unseen: Callable[[FunctionInfo], bool],
) -> frozenset[FunctionInfo]:
    """Return the functions that steps may lead to. `holders` say where the names of definitions stand; `unseen` says what may be called
    by code that does not name it."""
    functions = list(functions)
    by_name: dict[str, list[FunctionInfo]] = {}
    named: dict[FunctionInfo, list[str]] = {}
    for info in functions:
        by_name.setdefault(info.name, []).append(info)
    for name in by_name:
        for holder in holders.get(name, ()):
            if isinstance(holder, FunctionInfo):
                named.setdefault(holder, []).append(name)
    found: set[FunctionInfo] = set()
    todo = [info for info in functions if _is_part(info, drivers, unseen) or _is_handed_on(info, holders)]
    names = {name for info in functions for name in _named_in_loops(info, drivers)}
    for module in modules:
        if drivers.drives_module(module):
            names |= _names_of_loops(module.body)
    todo += [info for name in names for info in by_name.get(name, ())]
    while todo:
        info = todo.pop()
        if info not in found:
            found.add(info)
            if drivers.role(info) not in _AROUND:
                todo += [one for name in named.get(info, ()) for one in by_name[name] if one not in found]
    return frozenset(found)


def _is_part(info: FunctionInfo, drivers: Drivers, unseen: Callable[[FunctionInfo], bool]) -> bool:
    """Return whether a function is a part of a step, whoever calls it: by what it does, or as what a library calls or is given."""
    role = drivers.role(info)
    if role in _OF_STEPS or drivers.evaluates(info) or drivers.infers(info):
        return True
    if role in _AROUND:
        return False
    return info.name in ("forward", "__call__") or bool(info.ir.decorators) or unseen(info)


def _is_handed_on(info: FunctionInfo, holders: Mapping[str, Collection[Holder]]) -> bool:
    """Return whether something names a function that stands in no class without calling it: it may keep it, or hand it on."""
    if info.owner is not None:
        return False
    return any(info.name not in _calls_of(holder) for holder in holders.get(info.name, ()) if holder is not info)


def _calls_of(holder: Holder) -> Collection[str]:
    if isinstance(holder, FunctionInfo):
        return holder.ir.calls
    return holder.unit.calls if isinstance(holder, ModuleInfo) else ()


def _named_in_loops(info: FunctionInfo, drivers: Drivers) -> Collection[str]:
    return _names_of_loops(info.body) if drivers.role(info) is Role.LOOPS else ()


def _names_of_loops(body: tuple[Statement, ...]) -> set[str]:
    return {name for loop in loops(body) for name in names_in(loop.body)}


__all__ = ["find_stepped"]
