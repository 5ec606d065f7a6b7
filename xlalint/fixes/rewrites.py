"""The registry: which rule's findings can be rewritten, and by what.

A rewrite is a pure function from what its rule found to an `Outcome`: guard clauses that return a `Reason` come first. It is called once
for each finding that is shown, while findings are made, so it must cost no more than the finding did.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

from xlalint.fixes import unused_suppression
from xlalint.fixes.model import Outcome
from xlalint.source.unused import Unused

# Of comments, which are in no syntax tree, a rewrite gets the directive as it was read, with its extent.
COMMENT_REWRITES: Mapping[str, Callable[[Unused], Outcome]] = {"XLA003": unused_suppression.rewrite}
