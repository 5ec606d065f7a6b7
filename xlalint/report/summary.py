"""The last lines of a report: how many findings, how bad, in how many files; what they cost in a step, and where to start."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import TYPE_CHECKING

from xlalint.analysis.hazard import DRIVES_STEPS, TAKES_STEP
from xlalint.diagnostics.frequency import WORDS
from xlalint.report.copies import fold_copies
from xlalint.report.order import sort_findings
from xlalint.report.printable import printable
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
    ("graph-break", "graph break", "graph breaks"),
)
_TELLS = {
    "code": "the code shows",
    "pins": "the project's requirements tell",
    "": "nothing says otherwise",
}


def summary(findings: Sequence[Finding], view: View, form: str = "concise") -> str:
    """`Found 3 errors, 1 warning in 2 files (1,533 checked, 1 too large).`, and what more there is to say; `form` is that of the report."""
    files, known = view.checked.files, view.checked.known
    more = f" {format_count(known, 'more finding')} {'is' if known == 1 else 'are'} in the baseline." if known else ""
    if not findings:
        clear = "Nothing found" if view.checked.unjudged else "All clear"
        checked = f"{format_count(files, 'file')} checked{describe_program(view)}"
        return f"{view.paint(clear, 'bold')}: {checked}.{more}\n{describe_unjudged(view)}{_describe_targets(view)}"
    places = format_count(len({finding.filename for finding in findings}), "file")
    found = view.paint(f"Found {by_severity(findings)}", "bold")
    large = sum(finding.code == TOO_LARGE for finding in findings)
    checked = f"{files - large:,} checked, {large:,} too large" if large else f"{files:,} checked"
    checked += describe_program(view)
    folded = _count_folded(findings) if form == "full" and not view.show_copies else ""
    start = _describe_start(findings, view) if form == "full" else ""
    lines = (_describe_step(findings), start, describe_unjudged(view), _describe_targets(view))
    return f"{found} in {places} ({checked}).{folded}{more}\n{''.join(lines)}"


def describe_program(view: View) -> str:
    """` within the 212 files of ../repo`, where files were judged within a program that is more than they are; else nothing."""
    within = view.checked.within
    if within is None or not view.checked.files:
        return ""
    places = ", ".join(view.path(folder) for folder in within.folders) or "their program"
    return f" within the {format_count(within.files, 'file')} of {places}"


def describe_unjudged(view: View) -> str:
    """`3 functions that train are not judged (train.py:107, …): …`: a line, or nothing."""
    places = view.checked.unjudged
    if not places:
        return ""
    first = f"{view.path(places[0][0])}:{places[0][1]}"
    shown = f"{first}, …" if len(places) > 1 else first
    what = format_count(len(places), "function that trains is", "functions that train are")
    return f"{what} not judged ({shown}): `xlalint explain {first}` says why.\n"


def _describe_targets(view: View) -> str:
    """`Judged for torch_tpu, as the code shows; --target chooses another.`: a line, or nothing where the user chose."""
    told = [f"{target}, as {_TELLS[by]}" for target, by in view.checked.targets]
    return f"Judged for {', and for '.join(told)}; --target chooses another.\n" if told else ""


def _describe_step(findings: Sequence[Finding]) -> str:
    """`Per training step: 4 reads, 2 shapes that change.`, where steps of training were found: a line, or nothing."""
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
    where = "Per training step" if len(driving) == 1 else f"In the training steps of {len(driving):,} functions"
    return f"{where}: {', '.join(told)}.\n"


def _count_folded(findings: Sequence[Finding]) -> str:
    """` 12 are in copies of functions: --show-copies shows them.`, where some are, else nothing."""
    copied = len(findings) - len(fold_copies(findings))
    verb = "is in a copy of a function" if copied == 1 else "are in copies of functions"
    return f" {copied:,} {verb}: --show-copies shows {'it' if copied == 1 else 'them'}." if copied else ""


def _describe_start(findings: Sequence[Finding], view: View) -> str:
    """`Start with train.py:107 (XLA301 item, at every step); 9 of the findings are in Trainer.train.`: what costs most, where there is a
    choice: a line, or nothing."""
    serious = [finding for finding in findings if finding.severity != "info"]
    if len(serious) < 2:
        return ""
    first = sort_findings(serious, "cost")[0]
    often = f", {WORDS[first.frequency]}" if first.frequency is not None else ""
    more = "; --fix mends it" if first.fixable(unsafe=view.unsafe_fixes) else ""
    holder = _holder(first)
    beside = sum(_holder(finding) == holder for finding in serious) if holder is not None else 0
    if holder is not None and 1 < beside < len(serious):
        more += f"; {beside:,} of the findings are in {printable(holder[1])}"
    place = view.paint(f"{view.path(first.filename)}:{view.row(first)}", "bold")
    return f"Start with {place} ({first.code} {first.name}{often}){more}.\n"


def _holder(finding: Finding) -> tuple[str, str] | None:
    """The file and the name of the function that holds a finding, where its trace tells."""
    return (finding.filename, finding.trace[-1].name) if finding.trace else None


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
