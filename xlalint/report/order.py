"""The order in which findings are shown: by file and place, or what costs most first."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Literal

if TYPE_CHECKING:
    from xlalint.diagnostics.finding import ConfidenceName, Finding

Order = Literal["file", "cost"]

_SEVERITIES = ("error", "warning", "info")
# A setting holds for every step.
_FREQUENCIES = ("step", None, "call", "evaluation", "nth-step", "epoch", "run")
# A compilation takes seconds, a device round trip a part of a step.
_KINDS = ("recompile", "dynamic-shape", "control-flow", "graph-break", "unsupported", "host-sync")
_SUREST: tuple[ConfidenceName, ...] = ("certain", "likely", "possible")


def sort_findings(findings: Sequence[Finding], order: Order) -> list[Finding]:
    """Return findings in an order that depends on nothing but the findings: by cost, those that cost the same by file and place."""
    placed = sorted(findings, key=_place)
    return placed if order == "file" else sorted(placed, key=_cost)


def rank_files(findings: Iterable[Finding]) -> list[str]:
    """Return the names of the files with findings in the order to mend them: those of most errors first, then of most that costs in each
    step, then of most findings, then by name."""
    counts = Counter((finding.filename, rank) for finding in findings for rank in _ranks(finding))
    files = {filename for filename, _ in counts}
    return sorted(files, key=lambda one: (*(-counts[one, rank] for rank in ("error", "step", "all")), one))


def _ranks(finding: Finding) -> Iterator[str]:
    if finding.severity == "error":
        yield "error"
    if is_costly(finding):
        yield "step"
    yield "all"


def is_costly(finding: Finding) -> bool:
    """Return whether a finding costs in each step, and is more than information."""
    return finding.frequency == "step" and finding.severity != "info"


def rank_rules(findings: Iterable[Finding]) -> list[tuple[str, str, str, int]]:
    """Return code, name and severity of each rule that was broken, and how often: errors first, the most frequent of a severity first."""
    counts = Counter((finding.code, finding.name, finding.severity) for finding in findings)
    ranked = sorted(counts.items(), key=lambda item: (_SEVERITIES.index(item[0][2]), -item[1], item[0]))
    return [(*broken, number) for broken, number in ranked]


def find_usual_confidence(findings: Sequence[Finding]) -> ConfidenceName:
    """Return the confidence that most of the findings have, the surest of several."""
    counts = Counter(finding.confidence for finding in findings)
    return max(_SUREST, key=lambda one: counts[one])


def _place(finding: Finding) -> tuple[str, int, int, int, str]:
    return finding.filename, finding.cell or 0, finding.location.row, finding.location.column, finding.code


def _cost(finding: Finding) -> tuple[int, int, int]:
    kind = _KINDS.index(finding.kind) if finding.kind in _KINDS else len(_KINDS)
    return _SEVERITIES.index(finding.severity), _FREQUENCIES.index(finding.frequency), kind
