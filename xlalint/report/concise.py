"""One line per finding: `path:row:column: CODE message`, with `[*]` where there is a fix."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from xlalint.report.printable import printable
from xlalint.report.view import SEVERITY_STYLE, View

if TYPE_CHECKING:
    from xlalint.diagnostics.finding import Finding


def render(findings: Sequence[Finding], view: View) -> str:
    """All findings, one a line."""
    return "".join(f"{_line(finding, view)}\n" for finding in findings)


def _line(finding: Finding, view: View) -> str:
    code = view.link(view.paint(finding.code, *SEVERITY_STYLE[finding.severity]), finding.url)
    return f"{view.paint(view.place(finding), 'bold')}: {code} {view.mark(finding)}{printable(finding.message)}"
