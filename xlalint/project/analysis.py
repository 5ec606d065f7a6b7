"""The whole-program stages over lowered units: link once, interpret roots lane by lane, in forked processes where there are several.

A lane is a range of modules that one interpreter, new for it, analyses in order. What an interpreter finds depends a little on what it
saw before (recursion is cut, contexts are limited), so lanes depend on the program alone: any number of processes finds the same.
"""

from __future__ import annotations

import multiprocessing
import sys
from collections.abc import Sequence
from pathlib import Path

import msgspec

from xlalint.lowering.ir import Unit
from xlalint.project.workers import mapped
from xlalint.semantics.apis import Apis, api_table
from xlalint.semantics.collect import Harvest, harvest, merge
from xlalint.semantics.hazard import Hazard
from xlalint.semantics.interpreter import Interpreter
from xlalint.semantics.lattice import begin
from xlalint.semantics.program import ModuleInfo, Program, link
from xlalint.semantics.roots import Roots
from xlalint.semantics.taught import NOTHING_TAUGHT, Taught

_BATCH_BYTES = 400_000
_LANE_BYTES = 15_000_000
_SMALLEST_SHARED = 3_000_000
_RECURSION_LIMIT = 20_000


class Lane(msgspec.Struct, frozen=True, array_like=True):
    """What a lane gave: the harvest of each batch of its modules, and internal errors."""

    harvests: list[Harvest]
    failures: list[str]


_decoder = msgspec.msgpack.Decoder(Lane)
_encoder = msgspec.msgpack.Encoder()


class Analysis:
    """A linked program under interpretation, lane by lane."""

    def __init__(
        self, units: Sequence[Unit], apis: Apis, targets: tuple[str, ...], extra_roots: tuple[str, ...], taught: Taught
    ) -> None:
        begin()
        self.program: Program = link(units)
        self.apis = apis
        self.targets = targets
        self.extra_roots = extra_roots
        self.taught = taught
        self.sizes = [sum(len(function.body) for function in unit.functions) for unit in units]

    def lanes(self) -> list[tuple[int, int]]:
        """Ranges of module indexes, of about the same amount of code each: one for a small program, else two or more."""
        total = sum(self.sizes)
        count = 1 if total < _SMALLEST_SHARED else max(2, round(total / _LANE_BYTES))
        return self._ranges(0, len(self.sizes), total // count + 1)

    def run(self, first: int, last: int) -> Lane:
        """Analyse the roots of the modules of a lane."""
        begin()
        interpreter = Interpreter(self.program, self.apis, self.targets, self.taught)
        roots = Roots(interpreter, self.extra_roots)
        harvests: list[Harvest] = []
        failures: list[str] = []
        limit = sys.getrecursionlimit()
        sys.setrecursionlimit(max(limit, _RECURSION_LIMIT))
        try:
            for start, end in self._ranges(first, last, _BATCH_BYTES):
                modules = self.program.modules[start:end]
                harvests.append(self._run_batch(interpreter, roots, modules, failures))
        finally:
            sys.setrecursionlimit(limit)
        return Lane(harvests, failures)

    def _run_batch(
        self, interpreter: Interpreter, roots: Roots, modules: list[ModuleInfo], failures: list[str]
    ) -> Harvest:
        found = []
        for module in modules:
            try:
                found += roots.enter(module)
            except Exception as error:  # noqa: BLE001 - an internal error names the file and lets the others go on
                interpreter.stack.clear()
                failures.append(f"{module.path}: {type(error).__name__}: {error}")
        for module in modules:
            for function in module.functions:
                function.forget()
        return harvest(found)

    def _ranges(self, first: int, last: int, most: int) -> list[tuple[int, int]]:
        """The modules from `first` to `last` in ranges that end once they hold `most` bytes of code."""
        ranges: list[tuple[int, int]] = []
        start, size = first, 0
        for index in range(first, last):
            size += self.sizes[index]
            if size >= most:
                ranges.append((start, index + 1))
                start, size = index + 1, 0
        if start < last:
            ranges.append((start, last))
        return ranges


_shared: Analysis | None = None


def _run_shared(lane: tuple[int, int]) -> bytes:
    """Run a lane in a forked process, on the program that the parent linked."""
    if _shared is None:
        raise RuntimeError("no program to analyse in this process")
    return _encoder.encode(_shared.run(*lane))


def analyse(
    units: Sequence[Unit],
    targets: tuple[str, ...],
    extra_roots: tuple[str, ...] = (),
    tables: Sequence[str] = (),
    jobs: int = 1,
    taught: Taught = NOTHING_TAUGHT,
) -> tuple[list[Hazard], list[str]]:
    """The hazards of a program made of these units, and internal errors.

    `targets` are the targets that API tables may ask for; `tables` are paths of the user's own API tables;
    `taught` is what the user says of names.
    One analysis at a time in a process: the abstract values are the process's own.
    """
    analysis = Analysis(units, api_table(tuple(Path(table) for table in tables)), targets, extra_roots, taught)
    lanes = _run_lanes(analysis, jobs)
    failures = [failure for lane in lanes for failure in lane.failures]
    return merge(harvest for lane in lanes for harvest in lane.harvests), failures


def _run_lanes(analysis: Analysis, jobs: int) -> list[Lane]:
    global _shared
    lanes = analysis.lanes()
    if jobs < 2 or len(lanes) < 2 or "fork" not in multiprocessing.get_all_start_methods():
        return [analysis.run(*lane) for lane in lanes]
    _shared = analysis
    try:
        context = multiprocessing.get_context("fork")
        return [_decoder.decode(blob) for blob in mapped(_run_shared, lanes, jobs, context)]
    finally:
        _shared = None
