"""The last line of a report: how many findings, how bad, in how many files."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import TYPE_CHECKING

from xlalint.analysis.hazard import DRIVES_STEPS, TAKES_STEP
from xlalint.report.view import View
from xlalint.source.model import TOO_LARGE

if TYPE_CHECKING:
    from xlalint.diagnostics.finding import Finding

_IN_A_STEP = (
    ("recompile", "recompilation", "recompilations"),
    ("dynamic-shape", "shape that changes", "shapes that change"),
    ("control-flow", "branch on a value", "branches on values"),
    ("host-sync", "read", "reads"),
    ("unsupported", "unsupported operation", "unsupported operations"),
)


def summary(findings: Sequence[Finding], view: View) -> str:
    """`Found 3 errors, 1 warning in 2 files (1,533 checked, 1 too large).`"""
    files, known = view.checked.files, view.checked.known
    more = f" {format_count(known, 'more finding')} {'is' if known == 1 else 'are'} in the baseline." if known else ""
    if not findings:
        clear = "Nothing found" if view.checked.unjudged else "All clear"
        checked = f"{format_count(files, 'file')} checked{describe_program(view)}"
        return f"{view.paint(clear, 'bold')}: {checked}.{more}\n{describe_unjudged(view)}"
    places = format_count(len({finding.filename for finding in findings}), "file")
    found = view.paint(f"Found {by_severity(findings)}", "bold")
    large = sum(finding.code == TOO_LARGE for finding in findings)
    checked = f"{files - large:,} checked, {large:,} too large" if large else f"{files:,} checked"
    checked += describe_program(view)
    return f"{found} in {places} ({checked}).{more}\n{_describe_step(findings)}{describe_unjudged(view)}"


def describe_program(view: View) -> str:
    """` within the 212 files of ../repo`, where files were judged within a program that is more than they are; else nothing."""
    within = view.checked.within
    if within is None or not view.checked.files:
        return ""
    places = ", ".join(view.path(folder) for folder in within.folders) or "their program"
    return f" within the {format_count(within.files, 'file')} of {places}"


def describe_unjudged(view: View) -> str:
    """`3 training loops not judged (train.py:107, …): …`: a line, or nothing."""
    places = view.checked.unjudged
    if not places:
        return ""
    first = f"{view.path(places[0][0])}:{places[0][1]}"
    shown = f"{first}, …" if len(places) > 1 else first
    return f"{format_count(len(places), 'training loop')} not judged ({shown}): `xlalint explain {first}` says why.\n"


def _describe_step(findings: Sequence[Finding]) -> str:
    """`Per training step: 4 reads, 2 shapes that change.`, where a training loop was found: a line, or nothing."""
    costly = [finding for finding in findings if finding.frequency == "step" and finding.severity != "info"]
    driving = {
        (step.filename, step.row)
        for finding in costly
        for step in finding.trace[:1]
        if step.why in (DRIVES_STEPS, TAKES_STEP)
    }
    counts = Counter(finding.kind for finding in costly)
    told = [format_count(counts[kind], one, more) for kind, one, more in _IN_A_STEP if counts[kind]]
    if not driving or not told:
        return ""
    where = "Per training step" if len(driving) == 1 else f"In the steps of {len(driving):,} training loops"
    return f"{where}: {', '.join(told)}.\n"


def by_severity(findings: Sequence[Finding]) -> str:
    """`3 errors, 1 warning`"""
    counts = Counter(finding.severity for finding in findings)
    told = [format_count(counts[severity], severity) for severity in ("error", "warning") if counts[severity]]
    if counts["info"]:
        told.append(f"{counts['info']:,} for information")
    return ", ".join(told)


def format_count(number: int, noun: str, plural: str = "") -> str:
    """Write a number with its noun: `1 file`, `1,533 files`."""
    return f"{number:,} {noun}" if number == 1 else f"{number:,} {plural or noun + 's'}"
