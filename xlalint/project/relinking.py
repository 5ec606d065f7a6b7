"""Carry results over to a program whose modules come, go or change what others see of them: where its functions are now, and which of its
modules may resolve a name otherwise than before.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping

import msgspec

from xlalint.analysis.chains import Key
from xlalint.lowering.ir import Unit
from xlalint.program.linker import ModuleInfo, Program
from xlalint.project.dependencies import FUNCTION_BITS, Dependencies
from xlalint.project.harvests import Move
from xlalint.source.data_files import names_data

_STARTER = "xla_spawn"  # see `xlalint.frameworks.platforms`


def moves(before: Program, after: Program) -> Move:
    """Where the functions of one program are in another, by file and qualified name."""
    places = {module.path: module for module in after.modules}
    known: dict[int, Mapping[int, int] | None] = {}

    def move(key: Key) -> Key | None:
        old = before.modules[key[0]]
        new = places.get(old.path)
        if new is None:
            return None
        if key[1] < 0 or new.unit is old.unit or new.unit.interface == old.unit.interface:
            return new.index, key[1]
        if old.index not in known:
            known[old.index] = _by_name(old, new)
        found = (known[old.index] or {}).get(key[1])
        return None if found is None else (new.index, found)

    return move


def _by_name(old: ModuleInfo, new: ModuleInfo) -> Mapping[int, int]:
    """The functions of a module that the changed one still has: of one qualified name in the same order."""
    names: defaultdict[str, list[int]] = defaultdict(list)
    for info in reversed(new.functions):
        names[info.ir.qualname].append(info.index)
    return {info.index: names[info.ir.qualname].pop() for info in old.functions if names[info.ir.qualname]}


def move_dependencies(dependencies: Dependencies, before: Program, after: Program) -> Dependencies | None:
    """Translate the dependencies of a result to a program with other modules; None if some of them are gone."""
    places = {module.path: module.index for module in after.modules}
    mask = (1 << FUNCTION_BITS) - 1

    def index(old: int) -> int:
        return places.get(before.modules[old].path, -1)

    def pack(keys: Iterable[int]) -> list[int]:
        return [(index(key >> FUNCTION_BITS) << FUNCTION_BITS) | key & mask for key in keys]

    unmoved = index(dependencies.unmoved) if dependencies.unmoved >= 0 else -1
    modules = [index(module) for module in dependencies.modules]
    functions, classes = pack(dependencies.functions), pack(dependencies.classes)
    occasions = [index(module) for module in dependencies.occasions]
    if min([0, *modules, *functions, *classes, *occasions]) < 0:
        return None
    # A state is the digest of the parts in this order: sorted as they would be had they been found in this program.
    if modules != sorted(modules) or functions != sorted(functions) or classes != sorted(classes):
        return None
    if occasions != sorted(occasions):
        return None
    return msgspec.structs.replace(
        dependencies, modules=modules, functions=functions, classes=classes, unmoved=unmoved, occasions=occasions
    )


def mentioning(program: Program, names: set[str]) -> set[int]:
    """The modules that may mean a module of one of these dotted names: they speak of its last part, or lie in it."""
    lasts = {name.rpartition(".")[2] for name in names}
    if _STARTER in lasts or any(map(names_data, names)):  # these say how others are started
        return set(range(len(program.modules)))
    spelled = [last.encode("utf-8", "surrogateescape") for last in lasts]
    return {
        module.index
        for module in program.modules
        if module.name in names
        or any(module.name.startswith(f"{name}.") for name in names)
        or _speaks(module.unit, lasts, spelled)
    }


def _speaks(unit: Unit, lasts: set[str], spelled: list[bytes]) -> bool:
    if any(b.name in lasts or not lasts.isdisjoint(b.module.split(".")) for b in unit.imports):
        return True
    if not lasts.isdisjoint(unit.assigned) or not lasts.isdisjoint(unit.defs):
        return True
    return any(
        name in body
        for name in spelled
        for body in (unit.body, *(f.body for f in unit.functions), *(c.body for c in unit.classes))
    ) or any(last in repr((f.decorators, f.params, f.returns)) for last in lasts for f in unit.functions)
