"""From hazards and comments to the findings of each file."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping
from hashlib import blake2b
from itertools import chain
from typing import TYPE_CHECKING

import msgspec

from xlalint.addresses import rule_address
from xlalint.diagnostics import judge, visible
from xlalint.diagnostics.finding import Finding, Fix, Location
from xlalint.fixes.model import NOT_FIXABLE, FixResult, NoFix
from xlalint.fixes.registry import COMMENT_REWRITES
from xlalint.program.failures import describe_failure
from xlalint.project.packing import Decoder, encode
from xlalint.project.workers import forks, map_in_processes
from xlalint.rules.catalogue import rules_folder
from xlalint.source.model import SourceError, SourceFile
from xlalint.source.reading import read_source
from xlalint.source.suppressions import Unused, apply

if TYPE_CHECKING:
    from xlalint.analysis.hazard import Hazard
    from xlalint.config import Settings
    from xlalint.diagnostics.anchor import Anchors
    from xlalint.project.kept import ResultCache
    from xlalint.project.lowered import Lowered
    from xlalint.rules import Rule


_SMALLEST_SHARED = 400  # hazards, of which each takes some 0.4 ms; processes take 50 ms to start
_BATCH = 8


class _FileOutcome(msgspec.Struct, frozen=True, array_like=True):
    """The visible findings of a file and internal errors; `settled` says that the next run over the same file would find the same."""

    findings: list[Finding]
    failures: list[str]
    settled: bool


_decoder: Decoder[list[Finding]] = Decoder(list[Finding])
_outcomes_decoder: Decoder[list[_FileOutcome]] = Decoder(list[_FileOutcome])


def findings_of(
    files: Iterable[Lowered],
    hazards: Iterable[Hazard],
    rules: Mapping[str, Rule],
    settings: Settings,
    texts: Mapping[str, SourceFile],
    kept: ResultCache | None = None,
    anchors: Anchors | None = None,
    jobs: int = 1,
) -> tuple[list[Finding], list[str]]:
    """The visible findings of all files, suppressions applied, and internal errors.

    `texts` holds sources that are not to be read from disk; `kept` the findings of earlier runs; `anchors` remember what they parse, in
    this process. Where there is much to judge, it is shared among `jobs` processes.
    """
    by_path: defaultdict[str, list[Hazard]] = defaultdict(list)
    for hazard in hazards:
        by_path[hazard.path].append(hazard)
    files = list(files)
    digests = {
        lowered.path: _digest(lowered, by_path[lowered.path])
        for lowered in files
        if kept is not None and lowered.digest and lowered.path in by_path and lowered.path not in texts
    }
    known = _load_known(kept, digests) if kept is not None else {}
    judged = _judge_all(
        [one for one in files if one.error is None and one.path not in known and _has_findings(one, by_path)],
        lambda lowered: _judge_one(lowered, by_path.get(lowered.path, []), rules, settings, texts, anchors),
        jobs if sum(map(len, by_path.values())) >= _SMALLEST_SHARED else 1,
    )
    fresh: list[tuple[str, str, bytes]] = []
    found: list[Finding] = []
    failures: list[str] = []
    for lowered in files:
        if lowered.error is not None:
            found += _unread(lowered.path, lowered.error, rules, settings.of(lowered.path))
            continue
        found += _problems(lowered, rules, settings.of(lowered.path))
        found += known.get(lowered.path, [])
        outcome = judged.get(lowered.path)
        if outcome is not None:
            found += outcome.findings
            failures += outcome.failures
            if lowered.path in digests and outcome.settled:
                fresh.append((lowered.path, digests[lowered.path], encode(outcome.findings)))
        if lowered.failure:
            failures.append(lowered.failure)
    if kept is not None:
        kept.put_findings(fresh)
    return found, failures


def _has_findings(lowered: Lowered, by_path: Mapping[str, list[Hazard]]) -> bool:
    return bool(by_path.get(lowered.path) or lowered.suppressions)


def _judge_all(
    files: list[Lowered], judge_one: Callable[[Lowered], _FileOutcome], jobs: int
) -> dict[str, _FileOutcome]:
    """Judge files, each by itself: what became of them, by path."""
    batches = [files[start : start + _BATCH] for start in range(0, len(files), _BATCH)]
    if jobs < 2 or len(batches) < 2 or forks() is None:
        return {lowered.path: judge_one(lowered) for lowered in files}
    blobs = map_in_processes(lambda batch: encode([judge_one(lowered) for lowered in batch]), batches, jobs)
    outcomes = chain.from_iterable(map(_outcomes_decoder.decode, blobs))
    return {lowered.path: outcome for lowered, outcome in zip(files, outcomes, strict=True)}


def _judge_one(
    lowered: Lowered,
    hazards: list[Hazard],
    rules: Mapping[str, Rule],
    settings: Settings,
    texts: Mapping[str, SourceFile],
    anchors: Anchors | None,
) -> _FileOutcome:
    """Judge a file; an internal error names it, and lets the others go on."""
    asked = settings.of(lowered.path)
    try:
        findings, failures = _of_file(lowered, hazards, rules, asked, texts, anchors)
    except SourceError as error:
        return _FileOutcome(_unread(lowered.path, _find_change(error), rules, asked), [], False)
    except Exception as error:  # noqa: BLE001 - as above
        return _FileOutcome([], [describe_failure(lowered.path, error)], False)
    return _FileOutcome(findings, failures, not failures)


def _load_known(kept: ResultCache, digests: Mapping[str, str]) -> dict[str, list[Finding]]:
    """The findings of earlier runs, by path; what cannot be read is as if it were not kept."""
    decoded = ((path, _decoder.decode_or_none(blob)) for path, blob in kept.findings(digests).items())
    return {path: findings for path, findings in decoded if findings is not None}


def _problems(lowered: Lowered, rules: Mapping[str, Rule], settings: Settings) -> list[Finding]:
    """The cells of a notebook that could not be read."""
    return [
        _tool_finding(rules[code], lowered.path, message, place, place, None)
        for code, message, row, column in lowered.problems
        if settings.enabled(code, lowered.path)
        for place in (Location(row, column),)
    ]


def _digest(lowered: Lowered, hazards: list[Hazard]) -> str:
    state = blake2b(encode(hazards), digest_size=16)
    state.update(lowered.digest.encode())
    return state.hexdigest()


def _unread(
    path: str, error: tuple[str, str, int, int], rules: Mapping[str, Rule], settings: Settings
) -> list[Finding]:
    code, message, row, column = error
    if not settings.enabled(code, path):
        return []
    place = Location(row, column)
    return [_tool_finding(rules[code], path, message, place, place, None)]


def _find_change(error: SourceError) -> tuple[str, str, int, int]:
    """A file that could be read at first, and not any more when its findings were to be placed in its text."""
    return "XLA002", f"it was changed while it was being checked: {error.message}", 1, 1


def _tool_finding(
    rule: Rule, path: str, subject: str, start: Location, end: Location, outcome: FixResult | None
) -> Finding:
    return Finding(
        code=rule.code,
        name=rule.name,
        kind=rule.kind,
        severity=rule.severity_for("*") or "error",  # type: ignore[arg-type]
        confidence="certain",
        message=rule.message_for(None).format(subject=subject, detail="", often=""),
        filename=path,
        cell=None,
        location=start,
        end_location=end,
        trace=(),
        framework=None,
        fix=outcome if isinstance(outcome, Fix) else None,
        url=rule_address(rule.path, rules_folder()),
        help=rule.help_for(None),
        no_fix=outcome.text if isinstance(outcome, NoFix) else "",
    )


def _of_file(
    lowered: Lowered,
    hazards: list[Hazard],
    rules: Mapping[str, Rule],
    settings: Settings,
    texts: Mapping[str, SourceFile],
    anchors: Anchors | None,
) -> tuple[list[Finding], list[str]]:
    path = lowered.path
    findings: list[Finding] = []
    failures: list[str] = []
    if hazards:
        source = texts[path] if path in texts else read_source(path)
        judged = judge(hazards, {path: source}, rules, settings, anchors)
        findings, failures = judged.findings, judged.failures
    if not lowered.suppressions:
        return visible(findings, settings), failures
    names = {code: rule.name for code, rule in rules.items()}
    kept, unused = apply(findings, lowered.suppressions, names, lambda code: settings.enabled(code, path))
    if settings.ignore_noqa:
        kept = findings
    # In a notebook with cells that were not read, a comment may belong to what was not looked for.
    idle = [] if lowered.problems else [_idle(rules["XLA003"], path, entry, settings) for entry in unused]
    found = visible(kept, settings) + idle
    return sorted(found, key=lambda finding: (finding.location, finding.end_location, finding.code)), failures


def _idle(rule: Rule, path: str, unused: Unused, settings: Settings) -> Finding:
    start, end = Location(unused.row, unused.column), Location(unused.row, unused.end_column)
    outcome = COMMENT_REWRITES[rule.code](unused) if settings.may_fix(rule.code) else NOT_FIXABLE
    return _tool_finding(rule, path, unused.message, start, end, outcome)
