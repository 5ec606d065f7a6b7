"""How often each rule was found, instead of the findings."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from xlalint.report.json import array
from xlalint.report.view import SEVERITY_STYLE, View

if TYPE_CHECKING:
    from xlalint.diagnostics.finding import Finding


def statistics(findings: Sequence[Finding], form: str, view: View) -> str:
    """A table, or with form "json" an array; the most frequent first."""
    counts = Counter((f.code, f.name, f.kind, f.severity) for f in findings)
    rows = sorted(counts.items(), key=lambda item: (-item[1], item[0]))
    if form == "json":
        return array([_entry(*key, count) for key, count in rows], ascii_only=view.ascii_only)
    digits = max((len(f"{count:,}") for _, count in rows), default=0)
    names = max((len(name) for (_, name, _, _), _ in rows), default=0)
    return "".join(
        f"{count:>{digits},}  {view.paint(code, *SEVERITY_STYLE[severity])}  {name:<{names}}  {severity}\n"
        for (code, name, _, severity), count in rows
    )


def _entry(code: str, name: str, kind: str, severity: str, count: int) -> dict[str, Any]:
    return {"code": code, "name": name, "kind": kind, "severity": severity, "count": count}
