"""How often each rule was found, instead of the findings."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from xlalint.report.json import array
from xlalint.report.view import SEVERITY_STYLE, View

if TYPE_CHECKING:
    from xlalint.diagnostics.finding import Finding


def statistics(findings: Sequence[Finding], form: str, view: View) -> str:
    """A table, or with form "json" an array; the most frequent first. Both say of how many a safe fix is known, and of how many one that is
    not safe."""
    counts = Counter((f.code, f.name, f.kind, f.severity) for f in findings)
    fixes: defaultdict[str, Counter[tuple[str, str]]] = defaultdict(Counter)
    for f in findings:
        if f.fix is not None:
            fixes[f.fix.applicability][f.code, f.severity] += 1
    rows = sorted(counts.items(), key=lambda item: (-item[1], item[0]))
    if form == "json":
        entries = [
            _entry(code, name, kind, severity, count)
            | {f"fixable_{how}": fixes[how][code, severity] for how in ("safe", "unsafe")}
            for (code, name, kind, severity), count in rows
        ]
        return array(entries, ascii_only=view.ascii_only)
    digits = max((len(f"{count:,}") for _, count in rows), default=0)
    names = max((len(name) for (_, name, _, _), _ in rows), default=0)
    return "".join(
        f"{count:>{digits},}  {view.paint(code, *SEVERITY_STYLE[severity])}  {name:<{names}}  {severity}"
        f"{_describe_fixes(fixes['safe'][code, severity], fixes['unsafe'][code, severity], severity)}\n"
        for (code, name, _, severity), count in rows
    )


def _describe_fixes(safe: int, unsafe: int, severity: str) -> str:
    """`  [*] 3 fixable, 2 unsafe`, or nothing."""
    told = [f"{number:,} {word}" for number, word in ((safe, "fixable"), (unsafe, "with --unsafe-fixes")) if number]
    return f"{' ' * (len('warning') - len(severity))}  [*] {', '.join(told)}" if told else ""


def _entry(code: str, name: str, kind: str, severity: str, count: int) -> dict[str, Any]:
    return {"code": code, "name": name, "kind": kind, "severity": severity, "count": count}
