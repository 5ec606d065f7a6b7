"""Findings → fixes: the functions that hold findings are analysed once more, watched, so that rewrites know what each expression is.

Watching costs as much as the analysis, so only what matters is entered: for each file with findings, its own roots, those that lead to the
findings, and those that lead to other calls of the functions which hold them: what is a tensor in one may be a number in another.
"""

from __future__ import annotations

import itertools
import multiprocessing
from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from hashlib import blake2b
from types import MappingProxyType
from typing import TYPE_CHECKING

import msgspec

from xlalint.analysis.chains import Key
from xlalint.analysis.hazard import Hazard
from xlalint.diagnostics.finding import Finding, Fix, Location
from xlalint.diagnostics.judge import target_of_hazard
from xlalint.fixes.model import NOT_FIXABLE, FixResult, NoFix
from xlalint.fixes.registry import outcome_of
from xlalint.fixes.toolkit import data_files
from xlalint.fixes.toolkit.function_source import Document
from xlalint.frameworks.registry import row_of
from xlalint.interpreter.context import MODULE_LEVEL
from xlalint.program.failures import describe_failure, in_function
from xlalint.program.linker import ModuleInfo
from xlalint.project.analysis import Analysis
from xlalint.project.options import AnalysisOptions
from xlalint.project.packing import Decoder, encode
from xlalint.project.watching import record
from xlalint.project.workers import map_in_processes
from xlalint.source.data_files import is_data
from xlalint.source.lines import Lines
from xlalint.source.reading import read_source

if TYPE_CHECKING:
    from xlalint.config import Settings
    from xlalint.lowering.ir import Unit
    from xlalint.source.model import SourceFile

_TOO_DEEP = "the code is nested too deeply to be rewritten"
_FAILED = "an internal error kept it from being made"
_CUT = "an internal error cut the analysis of its function short"
_CHUNK = 40  # files that share the analysis of what leads to them

Place = tuple[str, str, Location, Location]
"""A finding's file, code and extent."""


class _Made(msgspec.Struct, frozen=True, array_like=True):
    """Describes what became of a finding."""

    place: Place
    fix: Fix | None
    reason: str


class Memory:
    """Keeps what earlier rounds made of files: used again for those whose text and hazards are as they were.

    A change elsewhere can change what an expression of such a file is; where that matters the hazards change too, but for freak cases.
    """

    def __init__(self) -> None:
        self._made: dict[str, tuple[str, list[_Made]]] = {}

    def recall(self, path: str, key: str) -> list[_Made] | None:
        """Return what was made of a file that had the same key, or None."""
        known, made = self._made.get(path, ("", []))
        return made if known == key else None

    def keep(self, path: str, key: str, made: list[_Made]) -> None:
        """Remember what was made of a file."""
        self._made[path] = key, made


_decoder: Decoder[tuple[list[_Made], list[str]]] = Decoder(tuple[list[_Made], list[str]])


class Rewriting:
    """Attaches fixes to the findings of one program.

    `units` are the lowered files, `followed` those of installed modules; `texts` holds sources that are not to be read from disk;
    `callers` are the modules whose roots lead to calls of other modules' functions; `analysis` is that of the program, where it is linked
    already.
    """

    def __init__(
        self,
        units: Sequence[Unit],
        followed: Sequence[Unit],
        options: AnalysisOptions,
        settings: Settings,
        texts: Mapping[str, SourceFile],
        memory: Memory,
        callers: Mapping[Key, Iterable[int]] = MappingProxyType({}),
        analysis: Analysis | None = None,
    ) -> None:
        self._program = units, options, followed
        self._units = {unit.path: unit for unit in units}
        self._settings = settings
        self._texts = texts
        self._memory = memory
        self._callers = callers
        self._hazards: dict[str, list[Hazard]] = {}
        self._shown: set[Place] = set()
        self._given = analysis
        self._analysis: Analysis

    def apply(
        self, findings: Sequence[Finding], hazards: Iterable[Hazard], jobs: int
    ) -> tuple[list[Finding], list[str]]:
        """The findings, each with its fix or the reason why it has none; and internal errors."""
        self._shown = {_place_of(finding) for finding in findings if finding.framework is not None}
        wanted = {path for path, *_ in self._shown}
        by_path: defaultdict[str, list[Hazard]] = defaultdict(list)
        for hazard in hazards:
            if hazard.path in wanted:
                by_path[hazard.path].append(hazard)
        self._hazards = dict(by_path)
        keys = {path: self._key(path) for path in sorted(by_path)}
        fresh = [path for path, key in keys.items() if self._memory.recall(path, key) is None]
        found: defaultdict[str, list[_Made]] = defaultdict(list)
        failures: list[str] = []
        for fixes, errors in self._chunks(fresh, jobs):
            for one in fixes:
                found[one.place[0]].append(one)
            failures += errors
        for path in fresh:
            self._memory.keep(path, keys[path], found[path])
        made = {one.place: one for path, key in keys.items() for one in self._memory.recall(path, key) or ()}
        return [_with(finding, made.get(_place_of(finding))) for finding in findings], failures

    def _key(self, path: str) -> str:
        state = blake2b(encode(self._hazards[path]), digest_size=16)
        state.update(self._source(path).text.encode())
        return state.hexdigest()

    def _source(self, path: str) -> SourceFile:
        return self._texts.get(path) or read_source(path)

    def _chunks(self, paths: list[str], jobs: int) -> Iterator[tuple[list[_Made], list[str]]]:
        global _shared
        if not paths:
            return
        self._analysis = self._given or Analysis(*self._program)  # linked once, before processes fork
        chunks = [paths[start : start + _CHUNK] for start in range(0, len(paths), _CHUNK)]
        if jobs < 2 or len(chunks) < 2 or "fork" not in multiprocessing.get_all_start_methods():
            yield from map(self.run, chunks)
            return
        _shared = self
        try:
            for blob in map_in_processes(_run_shared, chunks, jobs, multiprocessing.get_context("fork")):
                yield _decoder.decode(blob)
        finally:
            _shared = None

    def run(self, paths: list[str]) -> tuple[list[_Made], list[str]]:
        """Rewrite the findings of some files, and list internal errors."""
        analysis = self._analysis
        modules = {module.path: module for module in analysis.program.modules[: analysis.program.linted]}
        made = [one for path in paths if is_data(path) for one in self._of_data(path)]
        paths = [path for path in paths if not is_data(path)]
        files = [modules[path] for path in paths]
        leading = {path: self._leading(modules[path], modules) for path in paths}
        with analysis.aside():
            seen = record(analysis, files, _in_order(itertools.chain.from_iterable(leading.values())))
        failures: list[str] = []
        for path in paths:
            try:
                facts = seen.facts(modules[path], leading[path])
                document = Document(self._source(path).text, self._units[path], facts)
            except Exception as error:  # noqa: BLE001 - an internal error costs the file's fixes
                failures.append(describe_failure(f"{path}: the fixes", error))
                continue
            for hazard in self._hazards[path]:
                lines = document.lines
                place = path, hazard.rule, Location(*lines.place(hazard.start)), Location(*lines.place(hazard.end))
                if place not in self._shown:
                    continue
                try:
                    cut = _is_cut(hazard, seen.recorder.cut_short)
                    made.append(_Made(place, None, _CUT) if cut else self._make(place, hazard, document))
                except RecursionError:
                    made.append(_Made(place, None, _TOO_DEEP))
                except Exception as error:  # noqa: BLE001 - an internal error costs one fix
                    made.append(_Made(place, None, _FAILED))
                    failures.append(
                        describe_failure(f"{in_function(path, hazard.function)}: the fix of {hazard.rule}", error)
                    )
        return made, failures

    def _leading(self, home: ModuleInfo, modules: Mapping[str, ModuleInfo]) -> list[ModuleInfo]:
        """The modules whose roots lead to a module's hazards, or to other calls of the functions that hold them; its own in any case."""
        roots = {step.path for hazard in self._hazards[home.path] for step in hazard.trace[:1]}
        return _in_order([home, *(modules[path] for path in roots), *self._calling(home)])

    def _calling(self, home: ModuleInfo) -> Iterator[ModuleInfo]:
        """The modules whose roots call functions of a module that hold hazards."""
        holding = {hazard.function for hazard in self._hazards[home.path]}
        holding |= {name[:dot] for name in holding for dot in range(len(name)) if name[dot] == "."}
        for function in home.functions:
            if function.ir.qualname in holding:
                for index in self._callers.get(function.key, ()):
                    yield self._analysis.program.modules[index]

    def _of_data(self, path: str) -> Iterator[_Made]:
        """Rewrite the findings of a file of data."""
        lines = Lines(self._source(path).text.encode())
        for hazard in self._hazards[path]:
            place = path, hazard.rule, Location(*lines.place(hazard.start)), Location(*lines.place(hazard.end))
            wanted = self._settings.of(path).may_fix(hazard.rule)
            outcome = data_files.rewrite(hazard, lines) if wanted else NOT_FIXABLE
            made = (None, outcome.text) if isinstance(outcome, NoFix) else (outcome, "")
            yield _Made(place, *made)

    def _make(self, place: Place, hazard: Hazard, document: Document) -> _Made:
        settings = self._settings.of(place[0])
        outcome: FixResult = NoFix(f"the operations of {hazard.framework} are not known")
        if not settings.may_fix(hazard.rule):
            outcome = NOT_FIXABLE
        elif row_of(hazard.framework).rewritten:
            outcome = outcome_of(hazard, document, target_of_hazard(hazard, settings))
        if isinstance(outcome, NoFix):
            return _Made(place, None, outcome.text)
        return _Made(place, outcome, "")


def _in_order(modules: Iterable[ModuleInfo]) -> list[ModuleInfo]:
    return sorted(set(modules), key=lambda module: module.path)


def _is_cut(hazard: Hazard, cut_short: Collection[tuple[str, str]]) -> bool:
    """Return whether an internal error ended the analysis of what holds a hazard: of what comes after it nothing is known."""
    if not cut_short:
        return False
    parts = hazard.function.split(".")
    names = [MODULE_LEVEL, *(".".join(parts[:end]) for end in range(1, len(parts) + 1))]
    return any((hazard.path, name) in cut_short for name in names)


_shared: Rewriting | None = None


def _run_shared(paths: list[str]) -> bytes:
    """Rewrite files in a forked process."""
    if _shared is None:
        raise RuntimeError("nothing to rewrite in this process")
    return encode(_shared.run(paths))


def _place_of(finding: Finding) -> Place:
    return finding.filename, finding.code, finding.location, finding.end_location


def _with(finding: Finding, made: _Made | None) -> Finding:
    if made is None:
        return finding
    return msgspec.structs.replace(finding, fix=made.fix, no_fix=made.reason)
