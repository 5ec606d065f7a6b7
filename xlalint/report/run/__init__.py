"""Reports what a script did, joined with the predictions: as text for people, JSON for programs, a page for a browser."""

from __future__ import annotations

from collections.abc import Iterable

from xlalint.diagnostics.finding import Finding
from xlalint.verify.joined import Cause, Joined, Line
from xlalint.verify.model import Counts, EventKind
from xlalint.verify.seen import of_kind, plural

KINDS: tuple[EventKind, ...] = ("compilation", "host-sync", "fallback", "graph-break")


def how_it_went(joined: Joined, script: str) -> str:
    """One sentence: what ran, for how long, and how it ended."""
    recording = joined.recording
    frameworks = f" under {', '.join(recording.frameworks)}" if recording.frameworks else ""
    return f"{script} ran {number(len(recording.steps), 'step')}{frameworks} in {duration(recording.seconds)}, {_end(recording.exit_code)}."


def what_it_cost(joined: Joined) -> str:
    """One sentence: what was counted after the warm-up, or why nothing was."""
    if not joined.recording.frameworks and joined.recording.ended:
        return "It imported no framework that compiles for XLA, so nothing was counted."
    if not joined.recording.steps:
        return f"No step was noticed, so all of this counts as warm-up: {format_counts(joined.warm) or 'nothing was compiled'}."
    if not joined.measured:
        warm = format_counts(joined.warm) or "nothing"
        return f"It did not get beyond the warm-up ({joined.warmup} steps of each kind), in which: {warm}."
    after = f"After the warm-up ({joined.warmup} steps of each kind), in {number(joined.measured, 'step')}: "
    cost = sum(line.seconds for line in joined.lines)
    lost = f", which cost {duration(cost)}" if cost >= 0.001 else ""
    return f"{after}{format_counts(joined.counts) or 'nothing was compiled, and nothing read by the host'}{lost}."


def format_counts(counts: Counts) -> str:
    """Write counts: `3 compilations, 1 host sync`; "" for nothing."""
    return ", ".join(plural(of_kind(counts, kind), kind) for kind in KINDS if of_kind(counts, kind))


def codes(findings: Iterable[Finding]) -> str:
    """`XLA301 item, XLA101 tensor-if`."""
    return ", ".join(dict.fromkeys(f"{finding.code} {finding.name}" for finding in findings))


def reason(cause: Cause, *, alone: bool) -> str:
    """A cause in words, with how often it was where it is not the only one."""
    alike = f" (and {number(cause.alike, 'reason')} alike)" if cause.alike else ""
    return f"{cause.what}{alike}{f', {cause.count} times' if cause.count > 1 and not alone else ''}"


def reasons(line: Line, most: int) -> list[str]:
    """The causes of a line, up to a number of them."""
    told = [reason(cause, alone=len(line.causes) == 1) for cause in line.causes[:most] if cause.what]
    more = len(line.causes) - most
    return [*told, f"and {number(more, 'more reason')}"] if more > 0 else told


def duration(seconds: float) -> str:
    """Seconds in a unit that keeps the number short."""
    if seconds >= 60:
        return f"{int(seconds // 60)} min {int(seconds % 60)} s"
    if seconds >= 1:
        return f"{seconds:.1f} s"
    return f"{seconds * 1e3:.1f} ms" if seconds < 0.01 else f"{seconds * 1e3:.0f} ms"


def number(count: int, noun: str) -> str:
    """`1 step`, `1,200 steps`."""
    return f"{count:,} {noun}{'' if count == 1 else 's'}"


def _end(code: int) -> str:
    if code < 0:
        return f"was killed by signal {-code}"
    return f"exit code {code}"
