"""One run: which files, what of them is known, what must be worked out, and in which processes."""

from __future__ import annotations

import gc
import os
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence, Set
from contextlib import contextmanager
from functools import partial
from hashlib import blake2b
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING

from xlalint.project.looked import NOTHING, SearchFingerprint, decode_looked, encode_looked
from xlalint.project.report import Report, decode_report, encode_report
from xlalint.project.stages import UNTIMED, Stages
from xlalint.source.discovery import discover
from xlalint.source.reading import digest, digest_of_large, forget_packages, from_bytes, module_name, too_large

if TYPE_CHECKING:
    from concurrent.futures import Executor

    from xlalint.cache import Cache
    from xlalint.config import Settings
    from xlalint.diagnostics.finding import Finding
    from xlalint.lowering.ir import Unit
    from xlalint.project.analysis import Analysed
    from xlalint.project.lowered import Lowered
    from xlalint.project.options import AnalysisOptions
    from xlalint.project.rewriting import Memory
    from xlalint.source.model import SourceFile

_BATCH = 12
_SMALLEST_POOL = 24
_FIXES_SHOWN = 1_000_000  # bytes of lowered code, of some 25,000 lines: finding fixes takes about a second
_WRITTEN_AT_ONCE = 100  # units kept encoded and decoded at the same time


class Run:
    """One check of a set of paths. `contents` holds what files shall be read as, by absolute path, whatever is on the disk.

    With an `executor` files are lowered by it, in whatever processes or machines it has; `troubles` counts why some were not.
    With `fixes` findings have their fixes, which takes a second analysis of what holds them; in small programs they always do.
    """

    def __init__(
        self,
        settings: Settings,
        cache: Cache | None,
        jobs: int,
        progress: Callable[[int, int], None] | None,
        contents: Mapping[str, bytes] = MappingProxyType({}),
        *,
        fixes: Memory | None = None,
        executor: Executor | None = None,
        troubles: Counter[str] | None = None,
        stages: Stages | None = None,
    ) -> None:
        self.settings = settings
        self.cache = cache
        self.jobs = max(jobs, 1)
        self.progress = progress
        self.contents = contents
        self.fixes = fixes
        self.executor = executor
        self.troubles: Counter[str] = Counter() if troubles is None else troubles
        self.stages = stages or UNTIMED
        forget_packages()

    def check(
        self, paths: Sequence[Path], found: Sequence[Path] | None = None, wanted: Set[str] | None = None
    ) -> Report:
        """The findings in all files under the paths, or in those that are `wanted`; `found` are the files, where they were looked for
        already."""
        files = [str(path) for path in (discover(paths, self.settings) if found is None else found)]
        timed = self.stages
        with timed(f"looking for results in the cache (files: {len(files):,})"):
            digests, stats = self._read_known(files)
            kept = self._find_report(files, digests, wanted)
        if kept is not None:
            return kept
        with _without_collector():
            with timed(f"reading and lowering (files: {len(files):,})"):
                lowered = self._lower(files, digests)
            with timed("reading installed packages"):
                followed, looked = self.follow(lowered)
            report = self._judge(lowered, followed, wanted)
        if self.cache is not None:
            with timed("keeping results"):
                self._keep(files, lowered, digests, stats, looked, report, wanted)
        return report

    def _keep(
        self,
        files: Sequence[str],
        lowered: Sequence[Lowered],
        digests: dict[str, str],
        stats: dict[str, tuple[int, int]],
        looked: SearchFingerprint,
        report: Report,
        wanted: Set[str] | None,
    ) -> None:
        """Keep what was worked out for the next run."""
        if self.cache is not None:
            self._keep_stats(files, lowered, digests, stats)
            if not report.failures and all(entry.digest for entry in lowered):
                known = {file: entry.digest for file, entry in zip(files, lowered, strict=True)}
                self._keep_result(self._key(files, known, wanted), looked, report)
            self.cache.prune()

    def program(
        self, paths: Sequence[Path], wanted: Set[str] | None = None
    ) -> tuple[list[Lowered], list[Unit], Report | None]:
        """All files under the paths, lowered; the units of installed modules that these lead to; and what an earlier `check` of them, or of
        those that are `wanted`, said, if that was kept."""
        return self.read([str(path) for path in discover(paths, self.settings)], wanted)

    def read(
        self, files: Sequence[str], wanted: Set[str] | None = None
    ) -> tuple[list[Lowered], list[Unit], Report | None]:
        """`program` of files that were discovered."""
        digests, stats = self._read_known(files)
        with _without_collector():
            lowered = self._lower(files, digests)
            followed, _ = self.follow(lowered)
        if self.cache is not None:
            self._keep_stats(files, lowered, digests, stats)
        report = self._find_report(files, digests)
        if report is None and wanted:
            report = self._find_report(files, digests, wanted)
        return lowered, followed, report

    def recall(self, files: Sequence[str]) -> Report | None:
        """Return the report of an earlier `check` of the same texts, if it was kept."""
        return self._find_report(files, self._read_known(files)[0])

    def missing(self, files: Sequence[str]) -> int:
        """How many files must be lowered."""
        digests, _ = self._read_known(files)
        keys = {_unit_key(file, content) for file, content in digests.items()}
        return len(files) - (self.cache.count_units(keys) if self.cache is not None else 0)

    def follow(self, lowered: Sequence[Lowered]) -> tuple[list[Unit], SearchFingerprint]:
        """The units of installed modules that lowered files lead to, and what finding them depended on."""
        from xlalint.project.installed import follow
        from xlalint.project.options import AnalysisOptions

        if self.settings.python is None:
            return [], NOTHING
        units = [entry.unit for entry in lowered if entry.unit is not None]
        apis = AnalysisOptions.from_settings(self.settings).apis
        return follow(units, self.settings, apis, self.cache, self.jobs)

    # ------------------------------------------------------------------------------------------ what is known

    def _read_known(self, files: Sequence[str]) -> tuple[dict[str, str], dict[str, tuple[int, int]]]:
        """Digests of the files that did not change since they were read, and (time, size) of all that exist."""
        if self.cache is None or self.cache.folder is None:
            return {}, {}
        before = self.cache.stats()
        digests: dict[str, str] = {}
        stats: dict[str, tuple[int, int]] = {}
        for file in files:
            if file in self.contents:
                digests[file] = self._digest_of(self.contents[file])
                continue
            try:
                told = os.stat(file)  # noqa: PTH116 - a third of the time of Path.stat, over thousands of files
            except OSError:
                continue
            stats[file] = told.st_mtime_ns, told.st_size
            known = before.get(file)
            if told.st_size > self.settings.max_file_size:
                digests[file] = digest_of_large(too_large(told.st_size, self.settings.max_file_size))
            elif known is not None and known[:2] == stats[file]:
                digests[file] = known[2]
        return digests, stats

    def _digest_of(self, content: bytes) -> str:
        limit = self.settings.max_file_size
        return digest(content) if len(content) <= limit else digest_of_large(too_large(len(content), limit))

    def _keep_stats(
        self,
        files: Sequence[str],
        lowered: Sequence[Lowered],
        digests: dict[str, str],
        stats: dict[str, tuple[int, int]],
    ) -> None:
        assert self.cache is not None
        told = zip(files, lowered, strict=True)
        fresh = [(file, *stats[file], entry.digest) for file, entry in told if file in stats]
        self.cache.put_stats(row for row in fresh if digests.get(row[0]) != row[3] and row[3])

    def _find_report(
        self, files: Sequence[str], digests: dict[str, str], wanted: Set[str] | None = None
    ) -> Report | None:
        """The report of an earlier run over the very same texts, on the same files."""
        if self.cache is None or len(digests) < len(files) or not files:
            return None
        key = self._key(files, digests, wanted)
        if self.settings.python is not None:
            looked = decode_looked(self.cache.result(f"{key}-looked") or b"")
            if looked is None or not looked.unchanged():
                return None
            key += looked.digest()
        blob = self.cache.result(key)
        return decode_report(blob) if blob is not None else None

    def _keep_result(self, key: str, looked: SearchFingerprint, report: Report) -> None:
        assert self.cache is not None
        if self.settings.python is not None:
            self.cache.put_result(f"{key}-looked", encode_looked(looked))
            key += looked.digest()
        self.cache.put_result(key, encode_report(report))

    def _key(self, files: Sequence[str], digests: dict[str, str], wanted: Set[str] | None) -> str:
        state = blake2b(self.settings.fingerprint().encode(), digest_size=16)
        state.update(f"\0{self.settings.python}\0{self.fixes is not None}".encode("utf-8", "surrogateescape"))
        for file in files:
            state.update(f"\0{file}\0{module_name(file)[0]}\0{digests[file]}".encode("utf-8", "surrogateescape"))
        for file in sorted(wanted or ()):
            state.update(f"\0\0{file}".encode("utf-8", "surrogateescape"))
        return state.hexdigest()

    # ---------------------------------------------------------------------------------------------- lowering

    def _lower(self, files: Sequence[str], digests: dict[str, str]) -> list[Lowered]:
        from xlalint.project.lowered import decode_lowered

        keys = {file: _unit_key(file, digests[file]) for file in files if file in digests}
        blobs = self.cache.units(keys.values()) if self.cache is not None and keys else {}
        found: dict[str, Lowered] = {}
        for file, key in keys.items():
            entry = decode_lowered(blobs[key]) if key in blobs else None
            if entry is not None:
                found[file] = entry
        missing = [file for file in files if file not in found]
        fresh: list[tuple[str, bytes]] = []
        for blob in self._lower_all(missing, len(files)):
            entry = decode_lowered(blob)
            if entry is None:
                continue
            found[entry.path] = entry
            if self.cache is not None and entry.digest and not entry.failure:
                fresh.append((_unit_key(entry.path, entry.digest), blob))
                if len(fresh) == _WRITTEN_AT_ONCE:
                    self.cache.put_units(fresh)
                    fresh = []
        if self.cache is not None:
            self.cache.put_units(fresh)
        return [found[file] for file in files]

    def _lower_all(self, files: list[str], total: int) -> Iterator[bytes]:
        from xlalint.project.lowered import lower_content, lower_paths

        limit = self.settings.max_file_size
        yield from (lower_content(file, self.contents[file], limit) for file in files if file in self.contents)
        files = [file for file in files if file not in self.contents]
        batches = [files[start : start + _BATCH] for start in range(0, len(files), _BATCH)]
        done = total - len(files)
        for blobs in self._map_batches(partial(lower_paths, limit=limit), batches, len(files)):
            done += len(blobs)
            if self.progress is not None:
                self.progress(done, total)
            yield from blobs

    def _map_batches(
        self, work: Callable[[list[str]], list[bytes]], batches: list[list[str]], size: int
    ) -> Iterator[list[bytes]]:
        if self.executor is not None:
            from xlalint.project.executors import lowered_by

            yield from lowered_by(self.executor, batches, self.troubles, self.settings.max_file_size)
            return
        if self.jobs < 2 or size < _SMALLEST_POOL:
            yield from map(work, batches)
            return
        from xlalint.project.workers import map_in_processes

        yield from map_in_processes(work, batches, self.jobs)

    # ------------------------------------------------------------------------------------------------ judging

    def _judge(self, lowered: list[Lowered], followed: list[Unit], wanted: Set[str] | None) -> Report:
        from xlalint.project.analysis import analyse
        from xlalint.project.kept import ResultCache
        from xlalint.project.options import AnalysisOptions
        from xlalint.rules import rules

        extra = tuple(Path(place) for place in self.settings.extend_rules)
        pages = rules(extra)
        units = [entry.unit for entry in lowered if entry.unit is not None]
        options = AnalysisOptions.from_settings(self.settings)
        kept = ResultCache(self.cache, self.settings.fingerprint()) if self.cache is not None else None
        with self.stages(f"linking and analysing (modules: {len(units):,}, of installed packages: {len(followed):,})"):
            analysed = analyse(units, options, followed, self.jobs, kept, _import_judging)
        from xlalint.project.judging import findings_of

        texts = self._texts(lowered)
        own = lowered
        if wanted is not None:
            own = [entry for entry in lowered if entry.path in wanted]
            analysed = analysed.narrow(wanted)
        with self.stages("judging findings"):
            findings, more = findings_of(own, analysed.hazards, pages, self.settings, texts, kept, jobs=self.jobs)
        told = findings, analysed
        shown = sum(_count_code(entry.unit) for entry in own if entry.unit is not None) <= _FIXES_SHOWN
        errors: list[str] = []
        if shown or self.fixes is not None:
            with self.stages("looking for fixes"):
                findings, errors = _with_fixes(
                    told, units, followed, options, self.settings, texts, self.fixes, self.jobs
                )
        return Report(findings, len(lowered), analysed.failures + more + errors, analysed.unjudged, _targets(analysed))

    def _texts(self, lowered: list[Lowered]) -> dict[str, SourceFile]:
        """The sources that are not on the disk."""
        given = [entry.path for entry in lowered if entry.path in self.contents and entry.error is None]
        return {path: from_bytes(path, self.contents[path]) for path in given}


def _import_judging() -> None:
    """Import what judges findings: it brings libcst, which takes a quarter of a second."""
    import xlalint.diagnostics.anchor
    import xlalint.project.judging  # noqa: F401


def check_one(text: str, filename: str, settings: Settings, *, fixes: Memory | None = None) -> Report:
    """Check one text by itself."""
    from xlalint.project.analysis import analyse
    from xlalint.project.installed import follow
    from xlalint.project.judging import findings_of
    from xlalint.project.lowered import lower_source, unread
    from xlalint.project.options import AnalysisOptions
    from xlalint.rules import rules
    from xlalint.source.model import SourceError
    from xlalint.source.reading import from_text

    texts = {}
    try:
        if (size := len(text.encode("utf-8", "surrogatepass"))) > settings.max_file_size:
            raise too_large(size, settings.max_file_size)
        source = from_text(filename, text)
        texts[source.path] = source
        lowered = lower_source(source)
    except SourceError as error:
        lowered = unread(filename, error)
    units = [lowered.unit] if lowered.unit is not None else []
    pages = rules(tuple(Path(place) for place in settings.extend_rules))
    options = AnalysisOptions.from_settings(settings)
    followed, _ = follow(units, settings, options.apis)
    analysed = analyse(units, options, followed)
    findings, more = findings_of([lowered], analysed.hazards, pages, settings, texts)
    if fixes is None and sum(map(_count_code, units)) > _FIXES_SHOWN:
        return Report(findings, 1, analysed.failures + more, analysed.unjudged, _targets(analysed))
    findings, errors = _with_fixes((findings, analysed), units, followed, options, settings, texts, fixes, 1)
    return Report(findings, 1, analysed.failures + more + errors, analysed.unjudged, _targets(analysed))


def _targets(analysed: Analysed) -> list[tuple[str, str]]:
    """For which targets files are judged, and what tells."""
    return sorted({(one.target, one.by) for one in analysed.chosen})


def _with_fixes(
    told: tuple[list[Finding], Analysed],
    units: Sequence[Unit],
    followed: Sequence[Unit],
    options: AnalysisOptions,
    settings: Settings,
    texts: Mapping[str, SourceFile],
    memory: Memory | None,
    jobs: int,
) -> tuple[list[Finding], list[str]]:
    """Findings, given with what the analysis said, with their fixes; and internal errors."""
    from xlalint.project.harvests import callers_of
    from xlalint.project.rewriting import Memory, Rewriting

    findings, analysed = told
    callers = callers_of(enumerate(analysed.harvests))
    rewriting = Rewriting(units, followed, options, settings, texts, memory or Memory(), callers)
    return rewriting.apply(findings, analysed.hazards, jobs)


def _count_code(unit: Unit) -> int:
    """How much code a file has; where little is reported on, its fixes are shown without being asked for."""
    return sum(len(function.body) for function in unit.functions)


def _unit_key(file: str, digest: str) -> str:
    from xlalint.lowering import VERSION

    text = f"{VERSION}\0{file}\0{module_name(file)[0]}\0{digest}"
    return blake2b(text.encode("utf-8", "surrogateescape"), digest_size=16).hexdigest()


@contextmanager
def _without_collector() -> Iterator[None]:
    """Run without the cyclic garbage collector: the stages build large trees that live to the end of the run.

    What they built counts as old afterwards. Else the first allocation would have all of it looked through, for seconds.
    """
    enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if enabled:
            if not gc.get_freeze_count():
                gc.freeze()
                gc.unfreeze()
            gc.enable()
