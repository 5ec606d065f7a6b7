"""The analysis, watched: what the expressions of some files are, and what their functions are called with, over all contexts."""

from __future__ import annotations

from collections.abc import Sequence

from xlalint.abstract.lattice import join
from xlalint.abstract.values import NEVER, Value
from xlalint.interpreter.recording import Recorder, observed, start_of
from xlalint.program.linker import ModuleInfo
from xlalint.project.analysis import Analysis, deep

Facts = dict[tuple[int, int], Value]
"""What expressions are, by their extents in bytes."""


def recorded(analysis: Analysis, files: Sequence[ModuleInfo], entered: Sequence[ModuleInfo]) -> Recorder:
    """What is seen in some files while the roots of the entered modules are analysed."""
    recorder = Recorder(frozenset(module.index for module in files))
    analysis.interpreter.observer = recorder
    with observed(recorder), deep():
        for module in entered:
            analysis.roots.enter(module)
            if analysis.interpreter.fails:  # of which the check has told
                recorder.cut_short.update(analysis.program.reader.current.all_failures())
    return recorder


def facts_of(recorder: Recorder, files: Sequence[ModuleInfo]) -> dict[str, Facts]:
    """What the expressions of each file are, over all contexts that were seen."""
    facts: dict[str, Facts] = {module.path: {} for module in files}
    for context, sight in recorder.sights.items():
        own = facts.get(context.module.path)
        if own is not None:
            base = start_of(context.function)
            for at, value in sight.values.items():
                extent = (at + base) >> 32, (at + base) & 0xFFFFFFFF
                own[extent] = join(own.get(extent, NEVER), value)
    return facts


def watched(analysis: Analysis, files: Sequence[ModuleInfo], entered: Sequence[ModuleInfo]) -> dict[str, Facts]:
    """What the expressions of some files are, over all contexts that the roots of the entered modules lead to."""
    return facts_of(recorded(analysis, files, entered), files)
