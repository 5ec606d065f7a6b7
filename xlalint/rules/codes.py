"""The codes of rules that the interpreter itself reports or changes, by the names of their pages."""

from __future__ import annotations

from typing import Final

ANALYSIS_CUT_OFF: Final = "XLA005"
BRANCH_MISMATCH: Final = "XLA108"
