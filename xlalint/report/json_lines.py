"""The findings as of `json`, each an object on a line of its own, for programs that read streams."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from xlalint.report.json import encode
from xlalint.report.view import View

if TYPE_CHECKING:
    from xlalint.diagnostics.finding import Finding


def render(findings: Sequence[Finding], view: View) -> str:
    """All findings, one a line."""
    return "".join(f"{encode(finding, ascii_only=view.ascii_only)}\n" for finding in findings)
