"""XLA003: take the codes that silence nothing out of a comment, or the comment, or the line that holds nothing else.

Safe: only a comment changes, and Python reads none. (A coding declaration is read; a result that decodes otherwise is never written.)
"""

from __future__ import annotations

from xlalint.diagnostics.finding import Edit, Fix, Location
from xlalint.fixes.model import FixResult, NoFix
from xlalint.source.unused import Unused


def rewrite(unused: Unused) -> FixResult:
    """Remove what `find_unused` says is idle."""
    if not unused.fix:
        return NoFix(unused.no_fix)
    edit = Edit(unused.content, Location(unused.row, unused.cut), Location(unused.cut_row, unused.cut_end))
    return Fix("safe", unused.fix, (edit,))
