"""Hazards → findings: judged by the rules for the target, in order, each bound to a node of the source.

hazards ──judge──▶ findings, hidden ones too ──(suppressions)──▶ ──visible──▶ what is printed
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from xlalint.analysis.hazard import Hazard
from xlalint.config import Settings
from xlalint.diagnostics.finding import Finding
from xlalint.diagnostics.judge import Judged, judge, visible
from xlalint.rules import Rule
from xlalint.source.model import SourceFile

__all__ = ["Finding", "Judged", "check", "judge", "visible"]


def check(
    hazards: Iterable[Hazard], sources: Mapping[str, SourceFile], rules: Mapping[str, Rule], settings: Settings
) -> list[Finding]:
    """The findings to show for some hazards, where no comments suppress any."""
    return visible(judge(hazards, sources, rules, settings).findings, settings)
