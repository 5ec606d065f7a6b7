"""The analysis, watched: what the expressions of some files are, and what their functions are called with, over all contexts."""

from __future__ import annotations

from collections.abc import Iterable

from xlalint.abstract.lattice import join
from xlalint.abstract.values import NEVER, Value
from xlalint.interpreter.context import Context
from xlalint.interpreter.recording import Recorder, observe, start_of
from xlalint.program.dependencies import DependencySet
from xlalint.program.linker import ModuleInfo
from xlalint.project.analysis import Analysis, deep

Facts = dict[tuple[int, int], Value]
"""What expressions are, by their extents in bytes."""


class Recorded:
    """Holds what was seen in some files.

    `recorder` has it by context, `reached` the contexts of these files by the module that was entered.
    What is entered together shares contexts, so what a file's expressions are is taken from those alone that its own modules lead to:
    then it does not depend on what else was entered.
    """

    def __init__(self, recorder: Recorder) -> None:
        self.recorder = recorder
        self.reached: dict[ModuleInfo, list[Context]] = {}

    def facts(self, file: ModuleInfo, entered: Iterable[ModuleInfo]) -> Facts:
        """Return what the expressions of a file are, over all contexts that the roots of some modules lead to."""
        facts: Facts = {}
        for context in dict.fromkeys(context for module in entered for context in self.reached[module]):
            sight = self.recorder.sights.get(context)
            if sight is None or context.module is not file:
                continue
            base = start_of(context.function)
            for at, value in sight.values.items():
                extent = (at + base) >> 32, (at + base) & 0xFFFFFFFF
                facts[extent] = join(facts.get(extent, NEVER), value)
        return facts

    def _keep(self, entered: ModuleInfo, computation: DependencySet) -> None:
        own = self.recorder.modules
        self.reached[entered] = [
            part for part in computation.all_parts() if isinstance(part, Context) and part.module.index in own
        ]


def record(analysis: Analysis, files: Iterable[ModuleInfo], entered: Iterable[ModuleInfo]) -> Recorded:
    """Analyse the roots of the entered modules, and keep what is seen in some files."""
    found = Recorded(Recorder(frozenset(module.index for module in files)))
    analysis.interpreter.observer = found.recorder
    with observe(found.recorder), deep():
        for module in entered:
            analysis.roots.enter(module)
            found._keep(module, analysis.program.reader.current)
            if analysis.interpreter.fails:  # of which the check has told
                found.recorder.cut_short.update(analysis.program.reader.current.all_failures())
    return found
