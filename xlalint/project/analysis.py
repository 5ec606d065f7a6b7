"""The whole-program stages over lowered units: link once, then interpret module by module what has to be interpreted.

What a module's roots give depends on the program alone, not on the modules that were analysed before or in which process. So it
is kept, with what was read for it, and is worked out again only when something of that has changed.
"""

from __future__ import annotations

import gc
import multiprocessing
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence, Set
from contextlib import contextmanager, suppress
from hashlib import blake2b
from typing import TYPE_CHECKING, NamedTuple

import msgspec

from xlalint.abstract.lattice import begin
from xlalint.analysis.collection import ModuleResult, harvest, merge
from xlalint.analysis.decision import Decisions
from xlalint.analysis.hazard import Hazard
from xlalint.analysis.roots import Contained, Roots
from xlalint.analysis.unjudged import list_unjudged
from xlalint.frameworks.loading import libraries
from xlalint.interpreter.context import MODULE_LEVEL
from xlalint.interpreter.interpreter import Interpreter
from xlalint.interpreter.invalidation import forget
from xlalint.interpreter.targets import Chosen
from xlalint.lowering.ir import Unit
from xlalint.program.linker import FunctionInfo, ModuleInfo, Program, link
from xlalint.project.dependencies import Dependencies, States
from xlalint.project.packing import Decoder, encode
from xlalint.project.workers import map_in_processes

if TYPE_CHECKING:
    from xlalint.project.kept import ResultCache
    from xlalint.project.options import AnalysisOptions

_CHUNK_BYTES = 1_500_000
_LAST_CHUNK_BYTES = 150_000
_SMALLEST_SHARED = 1_500_000
_RECURSION_LIMIT = 20_000
_STACK = 100 << 20
"""Bytes of stack for so many calls in compiled modules, of which Python counts but some. Other things may lie behind 128 MiB."""


Pulse = Callable[[], None]
"""Called again and again while something is analysed; raises `Interrupted` once that is not wanted any more."""


class Interrupted(BaseException):
    """The work in progress is not wanted any more. Not an `Exception`: the rest must not go on without it."""


class ModuleOutcome(msgspec.Struct, frozen=True, array_like=True):
    """The result of a module's roots, what it depends on, and the internal errors that cut it short, a line each, or ""."""

    harvest: ModuleResult
    dependencies: Dependencies
    failure: str = ""

    def failures(self) -> list[str]:
        """The internal errors, a line each."""
        return self.failure.splitlines()


class Analysed(NamedTuple):
    """The hazards of a program, internal errors, and what the roots of each module gave, in the modules' order; where it trains without
    being judged: path and row; for which target files are judged, of those of a framework that has several."""

    hazards: list[Hazard]
    failures: list[str]
    harvests: list[ModuleResult]
    unjudged: list[tuple[str, int]]
    chosen: Sequence[Chosen] = ()

    def narrow(self, paths: Set[str]) -> Analysed:
        """Return what of it is said of some files; what went wrong elsewhere may concern them too."""
        hazards = [hazard for hazard in self.hazards if hazard.path in paths]
        unjudged = [place for place in self.unjudged if place[0] in paths]
        return self._replace(
            hazards=hazards, unjudged=unjudged, chosen=[one for one in self.chosen if one.path in paths]
        )


def _rest() -> None:
    """Let Python look whether a signal has come: compiled code alone never does."""


_decoder: Decoder[list[ModuleOutcome]] = Decoder(list[ModuleOutcome])
_outcome_decoder: Decoder[ModuleOutcome] = Decoder(ModuleOutcome)


class Analysis:
    """A linked program under interpretation, module by module. `followed` are the units of installed modules, which have no roots."""

    def __init__(
        self,
        units: Sequence[Unit],
        options: AnalysisOptions,
        followed: Sequence[Unit] = (),
        pulse: Pulse | None = None,
    ) -> None:
        self._libraries = libraries()  # before values are forgotten: their constants are to last
        begin()
        self.program: Program = link(
            units, followed, options.apis.describes, self._libraries.installed, options.apis.described_packages()
        )
        told = [*sorted(self.program.configured), *(["sys.path"] if self.program.searched else [])]
        self._configured = blake2b("\0".join(told).encode(), digest_size=16).digest()
        self._options = options
        self._pulse = pulse
        self.restart()
        self.states = States(
            self.program, self._digest_common(), lambda module: self.interpreter.occasions.state(module)
        )
        self.sizes = [_size(unit) for unit in units]
        self._places = {module.path: module.index for module in reversed(self.program.modules)}

    def place(self, path: str) -> int:
        """The index of the module that a file is."""
        return self._places[path]

    def restart(self) -> None:
        """Forget what was interpreted, not how the program hangs together."""
        options = self._options
        self.program.names = self.program.no_names()
        self.interpreter = Interpreter(
            self.program, options.apis, options.policies, self._libraries, options.targets, options.hints
        )
        self.interpreter.pulse = self._pulse or _rest
        self.roots = Roots(self.interpreter, options.roots)

    @contextmanager
    def aside(self) -> Iterator[None]:
        """Interpret anew inside of the `with` block, and go on afterwards as if nothing had been."""
        kept = self.interpreter, self.roots, self.program.names
        self.restart()
        try:
            yield
        finally:
            self.interpreter, self.roots, self.program.names = kept
            self.interpreter.attach()

    def update(self, index: int, unit: Unit) -> tuple[set[FunctionInfo], set[int]]:
        """Take a module's unit, which has the same interface.

        Return the functions that do something else now, and the modules by index of which functions are now called on other occasions.
        """
        module = self.program.modules[index]
        before = self.interpreter.occasions
        changed = module.update(unit)
        self.sizes[index] = _size(unit)
        forget(self.interpreter, module, changed)
        return changed, self.interpreter.occasions.differ(before)

    def is_driven_otherwise(self) -> bool:
        """Return whether other functions drive a device than when the program was linked, or modules show another target: then nothing
        holds of what was made of it."""
        return self._digest_common() != self.states.common

    def _digest_common(self) -> bytes:
        """Digest what every result depends on."""
        interpreter = self.interpreter
        found = interpreter.drivers.digest() + interpreter.shown_targets.digest() + interpreter.switches.digest()
        found += interpreter.asked_for.digest()
        return found + self._configured

    def run(self, modules: Sequence[int]) -> list[ModuleOutcome]:
        """Analyse the roots of some modules, by index."""
        limit = sys.getrecursionlimit()
        sys.setrecursionlimit(max(limit, _RECURSION_LIMIT))
        try:
            with _large_stack():
                return [self._outcome(self.program.modules[index]) for index in modules]
        finally:
            sys.setrecursionlimit(limit)
            for module in [
                *(self.program.modules[index] for index in modules),
                *self.program.modules[self.program.linted :],
            ]:
                for function in module.functions:
                    function.forget()

    def _outcome(self, module: ModuleInfo) -> ModuleOutcome:
        interpreter = self.interpreter
        found = self.roots.enter(module)
        reads = self.program.reader.current
        given = ModuleResult([], [], [])
        with Contained(interpreter, module, MODULE_LEVEL):
            decisions = Decisions(found, self.roots.platforms, interpreter.policies, module.taught.target)
            given = harvest(decisions, module, self.roots.find_leading(module))
        outcome = ModuleOutcome(given, self.states.dependencies(module, reads, given))
        if interpreter.fails:
            outcome = msgspec.structs.replace(outcome, failure="\n".join(reads.all_failures().values()))
            self.restart()  # what was left half done must not show in the next module
        return outcome

    def chunks(self, modules: Sequence[int], jobs: int = 1) -> list[list[int]]:
        """Modules in chunks of about the same amount of code; towards the end they get smaller, so that all processes end together."""
        chunks: list[list[int]] = [[]]
        left = sum(self.sizes[index] for index in modules)
        size = 0
        for index in modules:
            if size >= min(_CHUNK_BYTES, max(left // (2 * jobs), _LAST_CHUNK_BYTES)):
                chunks.append([])
                left -= size
                size = 0
            chunks[-1].append(index)
            size += self.sizes[index]
        return chunks


def _size(unit: Unit) -> int:
    return sum(len(function.body) for function in unit.functions)


@contextmanager
def deep() -> Iterator[None]:
    """Room for deep expressions, and no cyclic garbage collector: what is made lives to the end."""
    limit, enabled = sys.getrecursionlimit(), gc.isenabled()
    sys.setrecursionlimit(max(limit, _RECURSION_LIMIT))
    gc.disable()
    try:
        with _large_stack():
            yield
    finally:
        sys.setrecursionlimit(limit)
        if enabled:
            gc.enable()


@contextmanager
def _large_stack() -> Iterator[None]:
    """Let the main thread's stack grow further than it may by default, and those of processes that are forked from this one."""
    try:
        import resource
    except ImportError:  # Windows gives a stack its size when a program is built
        yield
        return
    soft, hard = before = resource.getrlimit(resource.RLIMIT_STACK)
    size = _STACK if hard == resource.RLIM_INFINITY else min(hard, _STACK)
    if soft != resource.RLIM_INFINITY and soft < size:
        with suppress(OSError, ValueError):
            resource.setrlimit(resource.RLIMIT_STACK, (size, hard))
    try:
        yield
    finally:
        with suppress(OSError, ValueError):
            resource.setrlimit(resource.RLIMIT_STACK, before)


_shared: Analysis | None = None


def _run_shared(modules: list[int]) -> bytes:
    """Analyse modules in a forked process, on the program that the parent linked."""
    if _shared is None:
        raise RuntimeError("no program to analyse in this process")
    return encode(_shared.run(modules))


def analyse(
    units: Sequence[Unit],
    options: AnalysisOptions,
    followed: Sequence[Unit] = (),
    jobs: int = 1,
    kept: ResultCache | None = None,
    meanwhile: Callable[[], None] = lambda: None,
) -> Analysed:
    """The hazards of a program made of these units.

    `followed` are the units of installed modules that the program leads to; `kept` holds the outcomes of earlier runs. `meanwhile` is
    called while other processes work, if there are any: what has to be done anyway is best done there.
    One analysis at a time in a process: the abstract values are the process's own.
    """
    analysis = Analysis(units, options, followed)
    outcomes = kept_outcomes(analysis, kept)
    missing = [index for index in range(len(units)) if index not in outcomes]
    fresh = dict(zip(missing, _run(analysis, missing, jobs, meanwhile), strict=True))
    if kept is not None:
        keep_outcomes(analysis, kept, fresh)
    outcomes.update(fresh)
    ordered = [outcomes[index] for index in range(len(units))]
    failures = list(dict.fromkeys(line for outcome in ordered for line in outcome.failures()))
    harvests = [outcome.harvest for outcome in ordered]
    unjudged = list_unjudged(harvests, analysis.program, analysis.interpreter.drivers)
    chosen = analysis.interpreter.shown_targets.chosen
    hazards = merge(harvests, analysis.program, analysis.interpreter.occasions)
    return Analysed(hazards, failures, harvests, unjudged, chosen)


def kept_outcomes(analysis: Analysis, kept: ResultCache | None) -> dict[int, ModuleOutcome]:
    """Outcomes of earlier runs of which all that they depend on is as it was."""
    found: dict[int, ModuleOutcome] = {}
    if kept is None:
        return found
    linted = analysis.program.modules[: analysis.program.linted]
    blobs = kept.outcomes(analysis.states.modules, [module.path for module in linted])
    for module in linted:
        outcome = _outcome_decoder.decode_or_none(blobs.get(module.path))
        if outcome is not None and analysis.states.hold(outcome.dependencies):
            found[module.index] = outcome
    return found


def keep_outcomes(analysis: Analysis, kept: ResultCache, outcomes: Mapping[int, ModuleOutcome]) -> None:
    """Keep the outcomes of modules, by index, for later runs."""
    modules = analysis.program.modules
    rows = {modules[at].path: encode(outcome) for at, outcome in outcomes.items() if not outcome.failure}
    kept.put_outcomes(analysis.states.modules, rows)


def _run(analysis: Analysis, modules: list[int], jobs: int, meanwhile: Callable[[], None]) -> list[ModuleOutcome]:
    global _shared
    chunks = analysis.chunks(modules, jobs)
    small = sum(analysis.sizes[index] for index in modules) < _SMALLEST_SHARED
    if jobs < 2 or small or "fork" not in multiprocessing.get_all_start_methods():
        return [outcome for chunk in chunks for outcome in analysis.run(chunk)]
    _shared = analysis
    try:
        context = multiprocessing.get_context("fork")
        blobs = map_in_processes(_run_shared, chunks, jobs, context)
        first = next(blobs)
        meanwhile()
        return [outcome for blob in (first, *blobs) for outcome in _decoder.decode(blob)]
    finally:
        _shared = None
