"""Choose the target of each module: how its code reaches XLA, where the settings leave that open.

A module is judged for the target that it shows. One that shows none is judged for the only one that the program's modules show, as a model
beside the script that trains it is; where they show several, or none, for what the project's requirements tell, else for the usual one.
"""

from __future__ import annotations

from hashlib import blake2b
from typing import TYPE_CHECKING, NamedTuple

from xlalint.program.dependencies import DependencySet

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from xlalint.lowering.ir import Unit
    from xlalint.program.linker import ModuleInfo, Program


class TargetFinder(NamedTuple):
    """The targets of a framework, and how to find the one that a module shows, or that a project's requirements and the release for which
    it is judged tell ("" where they tell none). Its packages that stand `apart` are at home beside other frameworks, too."""

    framework: str
    targets: tuple[str, ...]
    find: Callable[[ModuleInfo], str]
    find_pinned: Callable[[tuple[str, ...], tuple[int, ...]], str]
    apart: tuple[str, ...] = ()

    def is_used(self, module: ModuleInfo) -> bool:
        """Return whether a module has something of the framework at hand, and not only what stands apart."""
        if self.framework not in module.at_hand:
            return False
        bindings = (one for one in module.imports.values() if not one.level)
        paths = [f"{one.dotted}." for one in bindings if one.module.partition(".")[0] == self.framework]
        return not paths or not all(path.startswith(self.apart) for path in paths)


class Chosen(NamedTuple):
    """The target for which a file is judged where the user does not say: its path, the target, and by what: "code", "pins", or "" where
    nothing tells."""

    path: str
    target: str
    by: str


class Targets:
    """The targets that the modules of a program show, for the frameworks that have several."""

    def __init__(self, frameworks: tuple[TargetFinder, ...], program: Program) -> None:
        self._frameworks = frameworks
        self._program = program
        self._known: dict[tuple[str, ModuleInfo], tuple[Unit, str]] = {}
        self.chosen: list[Chosen] = []

    def choose(self) -> None:
        """Tell each module whose target the user did not choose for which it is judged.

        `chosen` then lists the files of the program that use a framework with several targets, and for which.
        """
        for module in self._program.modules:
            module.shown_targets = frozenset()
        for framework in self._frameworks:
            shown = self._find_shown(framework)
            for module in self._program.modules:
                module.shown_targets |= {shown[module]} if module in shown else frozenset()
                if module.taught.target not in framework.targets:
                    found = self._choose_for(module, framework, shown)
                    module.taught = module.taught.with_target(found.target, framework.targets)
                    if not module.followed and (module in shown or framework.is_used(module)):
                        self.chosen.append(found)

    def _choose_for(
        self, module: ModuleInfo, framework: TargetFinder, shown: Mapping[ModuleInfo | None, str]
    ) -> Chosen:
        if target := shown.get(module) or shown.get(None, ""):
            return Chosen(module.path, target, "code")
        if target := framework.find_pinned(module.taught.requirements, module.taught.release):
            return Chosen(module.path, target, "pins")
        return Chosen(module.path, framework.targets[0], "")

    def digest(self) -> bytes:
        """Digest what the modules show now: what was made of them holds as long as this is the same."""
        state = blake2b(digest_size=16)
        for framework in self._frameworks:
            for module, target in self._find_shown(framework).items():
                path = module.path if module is not None else ""
                state.update(f"{path}\0{target}\0".encode("utf-8", "surrogateescape"))
        return state.digest()

    def _find_shown(self, framework: TargetFinder) -> dict[ModuleInfo | None, str]:
        """The targets that modules show, by module; by None, the one of all others."""
        found: dict[ModuleInfo | None, str] = {}
        with self._program.reader.reading(DependencySet()):  # `digest` speaks for it
            for module in self._program.modules[: self._program.linted]:
                target = self._ask(framework, module)
                if target:
                    found[module] = target
        if len(set(found.values())) == 1:
            found[None] = next(iter(found.values()))
        return found

    def _ask(self, framework: TargetFinder, module: ModuleInfo) -> str:
        known = self._known.get((framework.framework, module))
        if known is None or known[0] is not module.unit:
            known = self._known[framework.framework, module] = (module.unit, framework.find(module))
        return known[1]


__all__ = ["Chosen", "TargetFinder", "Targets"]
