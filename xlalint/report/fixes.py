"""Says which fixes were made, and which could be."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import TYPE_CHECKING

from xlalint.report.summary import by_severity
from xlalint.report.view import View

if TYPE_CHECKING:
    from xlalint.diagnostics.finding import Finding


def fixes(findings: Sequence[Finding], verb: str, view: View, *, listed: bool) -> str:
    """`Fixed 3 errors.`, or with `listed` how often each rule was, in each file."""
    if not findings:
        return "Nothing to fix.\n"
    head = view.paint(f"{verb} {by_severity(findings)}", "bold")
    if not listed:
        return f"{head}.\n"
    counts = Counter((finding.filename, finding.code, finding.name) for finding in findings)
    said = [f"{head}:\n"]
    for filename in sorted({filename for filename, _, _ in counts}):
        said.append(f"- {view.path(filename)}:\n")
        said += [
            f"    {number:,} × {code} ({name})\n"
            for (where, code, name), number in sorted(counts.items())
            if where == filename
        ]
    return "".join(said)


def fix_hint(findings: Sequence[Finding], *, fixing: bool, unsafe: bool) -> str:
    """`[*] 2 fixable with --fix (1 more with --unsafe-fixes).`, as far as there are any; what `fixing` left is not offered again."""
    ready = 0 if fixing else sum(finding.fixable(unsafe=unsafe) for finding in findings)
    hidden = 0 if unsafe else sum(finding.fixable(unsafe=True) - finding.fixable(unsafe=False) for finding in findings)
    if ready:
        more = f" ({hidden:,} more with --unsafe-fixes)" if hidden else ""
        return f"[*] {ready:,} fixable with --fix{more}.\n"
    return f"{hidden:,} fixable with --fix --unsafe-fixes.\n" if hidden else ""
