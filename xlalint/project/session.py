"""A program that stays in memory while its texts change: what is known of it, and what a change makes it work out again.

    load ──▶ change(path, content) … ──▶ findings(path) at once, work() in the background until nothing is left

After each change the file's own roots are analysed again, on an interpreter that has forgotten only what read what has changed; other
modules' roots wait for `work`. Until then what they gave before counts, but for what they found in functions that are not the same now.
Once `work` has nothing left, the findings are those of a check from nothing over the same texts. (A file that does not parse says so, and
is to the others what it was when it last did.)
"""

from __future__ import annotations

import gc
import os
from bisect import bisect_left
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from msgspec.structs import replace

from xlalint.abstract.lattice import begin, count_begun
from xlalint.diagnostics.anchor import Anchors
from xlalint.interpreter.invalidation import size_of
from xlalint.project.analysis import Analysis, Interrupted, ModuleOutcome, Pulse, deep, keep_outcomes, kept_outcomes
from xlalint.project.dependencies import FUNCTION_BITS
from xlalint.project.harvests import ResultStore
from xlalint.project.judging import findings_of
from xlalint.project.kept import ResultCache
from xlalint.project.lowered import Lowered, lower_bytes, unread
from xlalint.project.options import AnalysisOptions
from xlalint.project.pipeline import Run
from xlalint.project.relinking import mentioning, move_dependencies, moves
from xlalint.project.report import Report
from xlalint.project.rewriting import Memory, Rewriting
from xlalint.project.watching import Facts, record
from xlalint.rules import rules
from xlalint.source.discovery import discover
from xlalint.source.model import TOO_LARGE, SourceError, SourceFile
from xlalint.source.reading import digest, forget_packages, from_bytes, module_name, read_bytes

if TYPE_CHECKING:
    from xlalint.analysis.hazard import Hazard
    from xlalint.cache import Cache
    from xlalint.config import Settings
    from xlalint.diagnostics.finding import Finding
    from xlalint.interpreter.interpreter import Interpreter
    from xlalint.lowering.ir import Unit
    from xlalint.program.linker import FunctionInfo

_PACKAGE = f"{os.sep}__init__.py"
_SETTLED_AT_ONCE = 40  # modules: some seconds at most
_MOST_LINES = 400  # with findings, that are remembered parsed: some twenty megabytes
_MOST_CALLERS = (
    8  # modules that are entered for what they pass to a function with findings, while somebody waits for its fixes
)
_MOST_CONTEXTS = 20_000  # that an interpreter remembers; some hundred megabytes


class Loaded(NamedTuple):
    """A program that is in memory: its files, the installed modules that they lead to, what a check says, how it is linked; and how files
    are read."""

    lowered: Sequence[Lowered]
    followed: Sequence[Unit]
    report: Report
    analysis: Analysis
    read: Callable[[str], SourceFile]


class Session:
    """One program under one configuration. Used by one thread; of several sessions in a process only one works at a time.

    What takes time may end by what `pulse` raises, `Interrupted`: it is then as if it had not been begun.
    """

    def __init__(
        self,
        paths: Sequence[Path],
        settings: Settings,
        cache: Cache | None = None,
        jobs: int = 1,
        pulse: Pulse | None = None,
    ) -> None:
        self._paths = paths
        self.settings = settings
        self.failures: dict[str, list[str]] = {}
        self._cache = cache
        self._jobs = jobs
        self._pulse = pulse
        self._contents: dict[str, bytes] = {}
        self._rules = rules(tuple(Path(place) for place in settings.extend_rules))
        self._options = AnalysisOptions.from_settings(settings)
        self._lowered: dict[str, Lowered] = {}
        self._units: dict[str, Unit] = {}
        self._packages: set[str] = set()
        self._followed: list[Unit] = []
        self._analysis = self._link()
        self._outcomes: dict[int, ModuleOutcome] = {}
        self._harvests = ResultStore()
        self._begun = count_begun()
        self._fresh = True  # nothing in the interpreter's memory is older than the last change
        self._pending: set[int] = set()
        self._by_memory: set[int] = set()
        self._unkept: set[int] = set()
        self._search_due = False
        self._hazards: dict[str, list[Hazard]] = {}
        self._findings: dict[str, list[Finding]] = {}
        self._judged_texts: dict[str, str] = {}
        self._unjudged: set[str] = set()
        self._fixes = Memory()
        self._anchors = Anchors(_MOST_LINES)

    # ------------------------------------------------------------------------------------------------- reading

    def load(
        self, contents: Mapping[str, bytes] | None = None, progress: Callable[[int, int], None] | None = None
    ) -> None:
        """Read the program; `contents` holds what files shall be read as. What the cache has of it need not be analysed."""
        self._contents = dict(contents or {})
        with deep():
            self._load(progress)
            gc.collect()
            gc.freeze()

    def _load(self, progress: Callable[[int, int], None] | None) -> None:
        files = self._files()
        run = Run(self.settings, self._cache, self._jobs, progress, self._contents)
        lowered, self._followed, report = run.read(files)
        self._lowered = {entry.path: entry for entry in lowered}
        self._units = {entry.path: entry.unit for entry in lowered if entry.unit is not None}
        self._packages = {path for path in files if _makes_package(path)}
        self._analysis = self._link()
        self._begun = count_begun()
        self._outcomes = kept_outcomes(self._analysis, self._result_cache())
        self._harvests = ResultStore()
        for index, outcome in self._outcomes.items():
            self._harvests.put(index, outcome.harvest)
        linted = range(self._analysis.program.linted)
        self._pending = {index for index in linted if index not in self._outcomes}
        self._hazards, self._findings, self._judged_texts = {}, {}, {}
        self._unjudged = set(files)
        if report is not None and not self._pending:
            self._take(report)

    @property
    def paths(self) -> list[Path]:
        """List what the program is made of, but for what was deleted meanwhile: it may come again."""
        return [path for path in self._paths if os.path.lexists(path)]

    def _files(self) -> list[str]:
        return sorted({*map(str, discover(self.paths, self.settings)), *self._contents})

    def _link(self) -> Analysis:
        units = [self._units[path] for path in self._lowered if path in self._units]
        self._fresh = True
        return Analysis(units, self._options, self._followed, self._pulse)

    def _result_cache(self) -> ResultCache | None:
        return ResultCache(self._cache, self.settings.fingerprint()) if self._cache is not None else None

    def _take(self, report: Report) -> None:
        """Take the findings of a check of these very texts."""
        self._findings = {path: [] for path in self._lowered}
        for finding in report.findings:
            self._findings[finding.filename].append(finding)
        self._follow_steps()
        self._hazards = {path: self._hazards_of(path) for path in self._lowered}
        self._judged_texts = {path: entry.digest for path, entry in self._lowered.items() if entry.error is None}
        self._unjudged = set()

    # ------------------------------------------------------------------------------------------------ changing

    @property
    def files(self) -> list[str]:
        """The files of the program, in order."""
        return list(self._lowered)

    def holds(self, path: str) -> bool:
        """Return whether a file is part of the program."""
        return path in self._lowered

    def content(self, path: str) -> bytes:
        """Read a file as it counts now. Raises `SourceError`."""
        return self._contents[path] if path in self._contents else read_bytes(path, self.settings.max_file_size)

    def source(self, path: str) -> SourceFile:
        """A file as it is read. Raises `SourceError`."""
        return from_bytes(path, self.content(path))

    def change(self, path: str, content: bytes | None) -> None:
        """A file shall be read as this, whatever is on the disk; None: as it is there."""
        if content is None:
            self._contents.pop(path, None)
        else:
            self._contents[path] = content
        self.reread([path])

    def reread(self, paths: Sequence[str]) -> None:
        """Files may have been changed, made or removed."""
        self._read(paths, ())

    def rediscover(self, paths: Sequence[str] = ()) -> None:
        """Note that files may have come, gone or changed."""
        files = set(self._files())
        gone = [path for path in self._lowered if path not in files]
        come = sorted(files.difference(self._lowered))
        self._read([*come, *(path for path in paths if path in self._lowered and path in files)], gone)

    def _read(self, paths: Sequence[str], gone: Sequence[str]) -> None:
        fresh: dict[str, Lowered | None] = {**self._rename_modules([*paths, *gone]), **dict.fromkeys(gone)}
        for path in dict.fromkeys(paths):
            try:
                raw = self.content(path)
            except SourceError as error:
                if error.code == TOO_LARGE:
                    fresh[path] = unread(path, error)
                elif path in self._lowered:
                    fresh[path] = None
                continue
            known = self._lowered.get(path)
            if known is None or not known.digest or known.digest != digest(raw):
                with deep():
                    fresh[path] = lower_bytes(path, raw, self.settings.max_file_size)
        if fresh:
            self._change(fresh)

    def _rename_modules(self, paths: Sequence[str]) -> dict[str, Lowered | None]:
        """Rename the modules of files that make modules of other names, where folders have become packages or are none any more."""
        changed = {path for path in paths if _makes_package(path) != (path in self._packages)}
        if not changed:
            return {}
        self._packages ^= changed
        forget_packages()
        renamed: dict[str, Lowered | None] = {}
        for path, unit in self._units.items():
            name = module_name(path)[0]
            if name != unit.module:
                self._units[path] = replace(unit, module=name)
                entry = self._lowered[path]
                renamed[path] = entry if entry.unit is None else replace(entry, unit=self._units[path])
        return renamed

    def _change(self, fresh: Mapping[str, Lowered | None]) -> None:
        relink = False
        for path, entry in fresh.items():
            known = self._units.get(path)
            if entry is None:
                self._lowered.pop(path, None)
                self._findings.pop(path, None)
                self._hazards.pop(path, None)
                self._unjudged.discard(path)
                relink |= self._units.pop(path, None) is not None
                continue
            added = path not in self._lowered
            self._lowered[path] = entry
            self._unjudged.add(path)
            if added:
                self._lowered = dict(sorted(self._lowered.items()))
            relink |= known is not None and known.module != self._analysis.program.modules[self._index(path)].name
            if entry.unit is None:
                continue
            self._search_due = self.settings.python is not None
            self._units[path] = entry.unit
            if known is not None and known.interface == entry.unit.interface and not relink:
                self._update(path, entry.unit)
                relink = self._analysis.is_driven_otherwise()
            else:
                relink = True
        if relink:
            self._relink()

    def _update(self, path: str, unit: Unit) -> None:
        """Take a file of which others see what they saw before."""
        self._make_ready()
        index = self._index(path)
        changed, called_otherwise = self._analysis.update(index, unit)
        self._harvests.led_is_due = True
        self._fresh = False
        self._unjudged |= {self._path(holder) for holder in self._harvests.through(index)}
        outcome = self._outcomes.get(index)
        if changed or outcome is None or outcome.dependencies.unmoved == index:
            self._pending.add(index)
        if changed:
            self._let_wait(index, changed)
        if called_otherwise:
            asked = ((other, outcome.dependencies.occasions) for other, outcome in self._outcomes.items())
            self._pending |= {other for other, modules in asked if not called_otherwise.isdisjoint(modules)}

    def _let_wait(self, index: int, changed: set[FunctionInfo]) -> None:
        """Have the roots of other modules that read changed functions analysed again."""
        keys = {index << FUNCTION_BITS | info.index for info in changed}
        functions = {info.key for info in changed}
        for other, outcome in self._outcomes.items():
            if other == index or not _holds(outcome.dependencies.modules, index):
                continue
            if not keys.isdisjoint(outcome.dependencies.functions):
                self._pending.add(other)
                self._harvests.without(other, functions)

    @deep()
    def _relink(self) -> None:
        """Link the program anew, and keep what holds of it."""
        before, old = self._analysis.program, self._outcomes
        self._analysis = self._link()
        self._begun = count_begun()
        after, states = self._analysis.program, self._analysis.states
        move = moves(before, after)
        self._harvests = self._harvests.move(move)
        names = {m.path: m.name for m in before.modules}.items() ^ {m.path: m.name for m in after.modules}.items()
        in_doubt = mentioning(after, {name for _, name in names}) if names else set()
        same = [m.path for m in before.modules] == [m.path for m in after.modules]
        outcomes: dict[int, ModuleOutcome] = {}
        for index, outcome in old.items():
            place = move((index, -1))
            needed = outcome.dependencies if same else move_dependencies(outcome.dependencies, before, after)
            if place is None or needed is None or not in_doubt.isdisjoint(needed.modules) or not states.hold(needed):
                continue
            outcomes[place[0]] = ModuleOutcome(outcome.harvest, needed, outcome.failure)
        waiting = {place[0] for index in self._pending if (place := move((index, -1))) is not None}
        self._by_memory = {place[0] for index in self._by_memory if (place := move((index, -1))) is not None}
        self._unkept = {place[0] for index in self._unkept if (place := move((index, -1))) is not None}
        self._outcomes = outcomes
        self._by_memory &= outcomes.keys()
        self._pending = waiting | {index for index in range(after.linted) if index not in outcomes}
        self._unjudged |= set(self._lowered)

    # ----------------------------------------------------------------------------------------------- analysing

    def findings(self, path: str) -> list[Finding]:
        """The findings of a file by its own roots as they are now, and by what is known of the others'."""
        if path not in self._lowered:
            return []
        if path in self._units and (index := self._index(path)) in self._pending:
            self._analyse(index)
        return self._judge(path)

    def warm(self, path: str) -> None:
        """Have the interpreter know what a file's roots lead to, so that the first change of it takes no longer than others."""
        if path in self._units:
            self._analyse(self._index(path))

    def proposals(self, path: str) -> list[Finding]:
        """The findings of a file with their fixes, or the reasons why they have none."""
        found = self.findings(path)
        if path not in self._units or all(one.framework is None for one in found):
            return found
        texts = {path: self.source(path)}
        self._make_ready()
        callers = {key: found[:_MOST_CALLERS] for key, found in self._harvests.callers(self._index(path)).items()}
        rewriting = Rewriting(
            [self._units[path]],
            (),
            self._options,
            self.settings,
            texts,
            self._fixes,
            callers,
            self._analysis,
        )
        self._fresh = False
        try:
            fixed, failures = rewriting.apply(found, self._hazards[path], 1)
        except Interrupted:
            self._forget()
            raise
        self.failures[path] = self.failures.get(path, []) + failures
        return fixed

    def observe(self, path: str) -> tuple[Interpreter, Facts]:
        """Return what the expressions of a file are, by their extents in bytes, and the interpreter that says it.

        They are joined over all calls that the file's own roots make, and those roots that lead to its hazards.
        """
        self._make_ready()
        analysis = self._analysis
        home = self._index(path)
        modules = [analysis.program.modules[index] for index in sorted({home, *self._harvests.sources(home)})]
        with analysis.aside():
            file = analysis.program.modules[home]
            return analysis.interpreter, record(analysis, [file], modules).facts(file, modules)

    @contextmanager
    def lend_program(self) -> Iterator[Loaded]:
        """Hand out the program as it is in memory, to be interpreted anew inside of the `with` block."""
        self._make_ready()
        findings = [finding for path in self._lowered for finding in self._findings.get(path, ())]
        report = Report(findings, len(self._lowered), [])
        with self._analysis.aside():
            yield Loaded(list(self._lowered.values()), self._followed, report, self._analysis, self.source)

    def settle(self) -> None:
        """Analyse the roots that wait, as many as are soon done: they may lead to other findings in files that were changed."""
        for index in sorted(self._pending)[:_SETTLED_AT_ONCE]:
            self._analyse(index)

    def functions(self, path: str) -> list[tuple[str, int]]:
        """The functions and methods of a file that no other one holds, by qualified name, and their rows."""
        unit = self._units.get(path)
        if unit is None:
            return []
        return [(one.qualname, one.row) for one in unit.functions if one.outer < 0 and one.name != "<lambda>"]

    def recall_findings(self, path: str) -> list[Finding] | None:
        """Return the findings of a file that were worked out last."""
        return self._findings.get(path)

    def state(self, path: str) -> tuple[object, ...]:
        """Return what answers about a file depend on: the texts of all files, and what was found in this one."""
        return self.texts(), id(self._followed), bool(self._pending), self.findings(path)

    def texts(self) -> int:
        """Return a number that is another one where the text of any file is."""
        return hash(tuple(entry.digest for entry in self._lowered.values()))

    def unsettled(self, path: str) -> bool:
        """Return whether the findings of a file may be others than those that were worked out last."""
        return path in self._unjudged or (path in self._units and self._index(path) in self._pending)

    def work(self, first: Sequence[str] = ()) -> bool:
        """Do one piece of what is left to do, that for the files named first; False if there is nothing."""
        if self._pending:
            own = {self._index(path) for path in first if path in self._units}
            index = min(self._pending, key=lambda index: (index not in own, index))
            if index not in own and not self._fresh:  # what is analysed by memory is analysed twice
                self._begin_anew()
            self._analyse(index)
        elif self._search_due:
            self._search()
        elif self._by_memory:
            self._prove()
        elif self._harvests.led_is_due:
            self._follow_steps()
        elif self._unjudged:
            self._judge(min(self._unjudged, key=lambda path: (path not in first, path)))
        else:
            return False
        return True

    @property
    def left(self) -> int:
        """How many pieces of work are left, roughly."""
        return len(self._pending) + len(self._by_memory) + self._harvests.led_is_due + len(self._unjudged)

    def report(self) -> Report:
        """Return what a check of the program says, once there is nothing left to do."""
        while self.work():
            pass
        findings = [finding for path in self._lowered for finding in self._findings[path]]
        own = [line for path in self._lowered for line in self.failures.get(path, ())]
        told = (line for _, outcome in sorted(self._outcomes.items()) for line in outcome.failures())
        return Report(findings, len(self._lowered), own + list(dict.fromkeys(told)))

    def _analyse(self, index: int) -> None:
        self._make_ready()
        if size_of(self._analysis.interpreter) > _MOST_CONTEXTS:
            self._forget()
        remembers = not self._fresh and size_of(self._analysis.interpreter) > 0
        outcome = self._run(index)
        if outcome.failure:
            self._forget()
        elif remembers:
            self._by_memory.add(index)
        else:
            self._by_memory.discard(index)
        self._settle(index, outcome)

    def _run(self, index: int) -> ModuleOutcome:
        try:
            with deep():
                return self._analysis.run([index])[0]
        except Interrupted:
            self._forget()
            raise

    def _settle(self, index: int, outcome: ModuleOutcome) -> None:
        self._outcomes[index] = outcome
        self._unkept.add(index)
        self._pending.discard(index)
        self._unjudged |= {self._path(holder) for holder in self._harvests.put(index, outcome.harvest)}
        self._unjudged &= self._lowered.keys()

    def _prove(self) -> None:
        """Analyse anew a module that was analysed by memory of what was before a change: in which order values are first met may show in
        ties."""
        if not self._fresh:
            self._begin_anew()
        self._make_ready()
        index = min(self._by_memory)
        self._settle(index, self._run(index))
        self._by_memory.discard(index)

    def _begin_anew(self) -> None:
        begin()
        self._forget()
        self._begun = count_begun()

    def _make_ready(self) -> None:
        """See to it that the interpreter's values are those of the analysis that was begun last."""
        if self._begun != count_begun():
            self._forget()
            self._begun = count_begun()

    def _forget(self) -> None:
        self._fresh = True
        self._analysis.restart()

    def _search(self) -> None:
        """Look for the installed modules that the program leads to now."""
        self._search_due = False
        followed, _ = Run(self.settings, self._cache, 1, None).follow(list(self._lowered.values()))
        if [(unit.path, unit.digest) for unit in followed] != [(unit.path, unit.digest) for unit in self._followed]:
            self._followed = followed
            self._relink()

    def _hazards_of(self, path: str) -> list[Hazard]:
        return self._harvests.hazards(self._index(path), self._analysis.program) if path in self._units else []

    def _follow_steps(self) -> None:
        """See to which functions steps of the program lead, if that may be another thing now than what is known of it."""
        if self._harvests.led_is_due:
            analysis = self._analysis
            found = self._harvests.follow_steps(analysis.program, analysis.interpreter.occasions)
            self._unjudged |= {self._path(holder) for holder in found}
            self._unjudged &= self._lowered.keys()

    def _judge(self, path: str) -> list[Finding]:
        self._follow_steps()
        if path not in self._unjudged:
            return self._findings[path]
        self._unjudged.discard(path)
        entry = self._lowered[path]
        try:
            text = self.source(path) if entry.error is None else None
        except SourceError:
            return self._findings.setdefault(path, [])  # a change that will be told of
        if text is not None and text.digest != entry.digest:
            return self._findings.setdefault(path, [])
        texts = {path: text} if text is not None else {}
        hazards = self._hazards_of(path)
        if self._judged_texts.get(path) == entry.digest and self._hazards.get(path) == hazards:
            return self._findings[path]
        self._judged_texts[path] = entry.digest if text is not None else ""
        found, self.failures[path] = findings_of(
            [entry], hazards, self._rules, self.settings, texts, anchors=self._anchors
        )
        self._hazards[path], self._findings[path] = hazards, found
        return found

    # ------------------------------------------------------------------------------------------------- keeping

    def keep(self) -> None:
        """Keep what was worked out for the next time, where the program on the disk is the one here."""
        kept = self._result_cache()
        if kept is None or not self._unkept or self._pending or not all(map(self._saved, self._contents)):
            return
        keep_outcomes(self._analysis, kept, {index: self._outcomes[index] for index in sorted(self._unkept)})
        self._unkept.clear()

    def _saved(self, path: str) -> bool:
        """Return whether a file is on the disk as it is here."""
        try:
            return digest(read_bytes(path)) == digest(self._contents[path])
        except SourceError:
            return False

    def _index(self, path: str) -> int:
        return self._analysis.place(path)

    def _path(self, index: int) -> str:
        return self._analysis.program.modules[index].path


def _makes_package(path: str) -> bool:
    """Return whether a file is there that makes its folder a package."""
    return path.endswith(_PACKAGE) and os.path.isfile(path)  # noqa: PTH113


def _holds(ordered: list[int], number: int) -> bool:
    at = bisect_left(ordered, number)
    return at < len(ordered) and ordered[at] == number
