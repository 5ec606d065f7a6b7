"""XLA101: branches that leave a loop or a function early, of which no rewrite knows what a turn that should not have run would do."""

from __future__ import annotations

import libcst as cst

from xlalint.fixes.model import NoFix, Site
from xlalint.fixes.toolkit.conditions import holder_of


def left_alone(site: Site) -> NoFix | None:
    """Why a branch that leaves stays as it is."""
    node = holder_of(site.scene, site.node)
    if not isinstance(node, cst.If):
        return None
    for body in (node.body, node.orelse.body if isinstance(node.orelse, cst.Else) else None):
        line = body.body[-1] if body is not None and body.body else None
        last = line.body[-1] if isinstance(line, cst.SimpleStatementLine) else line
        if isinstance(last, cst.Continue):
            return NoFix("`continue` skips the rest of an iteration: compute all of it, and mask what it changes")
        if isinstance(last, cst.Break):
            return NoFix(
                "`break` ends the loop on a tensor's value: run all iterations and mask what they change, or use `while_loop`"
            )
        if isinstance(last, cst.Return):
            return NoFix("the branch does more than return a value: compute it always, and choose among the results")
        if isinstance(last, cst.Raise):
            return NoFix("the branch raises: check the values on the host, before the call")
    return None
