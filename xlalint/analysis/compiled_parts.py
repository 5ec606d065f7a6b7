"""Find the modules of a program that XLA may compile, where one asks for that: what is imported from there, and from who starts it.

A script that leads to such a module, say to a trainer, gives it models that it imports from elsewhere. What nothing imports may be started,
or imported by whoever uses the program: of that it is not known, and it counts as compiled.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping
from typing import TYPE_CHECKING

from xlalint.frameworks.base import Reach

if TYPE_CHECKING:
    from xlalint.lowering import ir
    from xlalint.program.linker import ModuleInfo, Program

Started = tuple[str, Reach, int]
"""A framework, how far the program that is started at a module reaches XLA by it, where XLA compiles any of it, and the module's index."""
_MAIN = b"__main__"


class CompiledParts:
    """The modules that XLA may compile, by framework and how far XLA is reached, as the starts of a program say."""

    def __init__(self, starts: Collection[Started], program: Program) -> None:
        self._parts: dict[tuple[str, Reach], frozenset[int]] = {}
        self._asking = {(framework, index) for framework, _, index in starts}
        by_reach: dict[tuple[str, Reach], set[int]] = {}
        for framework, reach, index in starts:
            by_reach.setdefault((framework, reach), set()).add(index)
        if by_reach:
            sources = _Sources(program)
            imported = {one: tuple(sources.list_imported(one)) for one in program.modules[: program.linted]}
            for key, indexes in by_reach.items():
                self._parts[key] = _find_led_to({program.modules[index] for index in indexes}, imported)

    def hold(self, framework: str, reach: Reach, index: int) -> bool:
        """Return whether XLA may compile a module's code, since some module asks for that so far."""
        return index in self._parts.get((framework, reach), ())

    def asks(self, framework: str, index: int) -> bool:
        """Return whether a module asks for that itself."""
        return (framework, index) in self._asking


def _find_led_to(asking: set[ModuleInfo], imported: Mapping[ModuleInfo, tuple[ModuleInfo, ...]]) -> frozenset[int]:
    """Find the modules to which those lead that ask, or that start these."""
    importers: dict[ModuleInfo, list[ModuleInfo]] = {}
    for module, sources in imported.items():
        for source in sources:
            importers.setdefault(source, []).append(module)
    starters = {one for one in _walk(asking, importers) if _MAIN in one.unit.body or _stands_alone(one, importers)}
    led_to = _walk(asking | starters, imported)
    unseen = (one for one in imported if _MAIN not in one.unit.body and _stands_alone(one, importers))
    return frozenset([one.index for one in (*led_to, *unseen)])


def _stands_alone(module: ModuleInfo, importers: Mapping[ModuleInfo, list[ModuleInfo]]) -> bool:
    """Return whether nothing imports a module. Packages are imported by who takes from them what they hand on."""
    return module not in importers and not module.unit.is_package


def _walk(starts: Iterable[ModuleInfo], edges: Mapping[ModuleInfo, Iterable[ModuleInfo]]) -> set[ModuleInfo]:
    found = set(starts)
    todo = list(found)
    while todo:
        for one in edges.get(todo.pop(), ()):
            if one not in found:
                found.add(one)
                todo.append(one)
    return found


class _Sources:
    """The modules whose code the modules of a program import; what is imported from where is asked once."""

    def __init__(self, program: Program) -> None:
        self._program = program
        self._known: dict[tuple[str, str, int], tuple[ModuleInfo, ...]] = {}
        self._handed_on: dict[ModuleInfo, dict[str, list[ir.Binding]]] = {}

    def list_imported(self, module: ModuleInfo) -> Iterator[ModuleInfo]:
        """The modules whose code a module imports: of a name that a package hands on, that which defines it."""
        for binding in module.unit.imports:
            for source in self._list(module, binding, 0):
                if source is not module and not source.followed:
                    yield source

    def _list(self, module: ModuleInfo, binding: ir.Binding, depth: int) -> tuple[ModuleInfo, ...]:
        key = self._program.absolute(module, binding), binding.name, depth
        known = self._known.get(key)
        if known is None:
            known = self._known[key] = tuple(self._find(*key))
        return known

    def _find(self, name: str, wanted: str, depth: int) -> Iterator[ModuleInfo]:
        inner = self._program.by_name.get(f"{name}.{wanted}") if wanted else None
        source = self._program.by_name.get(name)
        if inner is not None:
            yield inner
        elif source is not None:
            handed_on = self._list_handed_on(source).get(wanted, ())
            defined = wanted in source.unit.defs or wanted in source.unit.assigned
            if not handed_on or defined or depth == _DEEPEST:
                yield source
            else:
                for one in handed_on:
                    yield from self._list(source, one, depth + 1)

    def _list_handed_on(self, module: ModuleInfo) -> dict[str, list[ir.Binding]]:
        """The imports of a module, by the names that they bind."""
        found = self._handed_on.get(module)
        if found is None:
            found = self._handed_on[module] = {}
            for one in module.unit.imports:
                found.setdefault(one.local, []).append(one)
        return found


_DEEPEST = 4


__all__ = ["CompiledParts", "Started"]
