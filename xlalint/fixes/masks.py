"""XLA205: assignment through a mask → `masked_fill_` or `where`."""

from __future__ import annotations

import libcst as cst

from xlalint.fixes import values
from xlalint.fixes.model import Reason, Rewrite, Site
from xlalint.fixes.scene import Replacement
from xlalint.fixes.text import argument, atom


def assignment(site: Site) -> Rewrite | Reason | None:
    """`x[mask] = c` → `x.masked_fill_(mask, c)`: in place as before, so that views and gradients see the same."""
    scene = site.scene
    statement = scene.nearest(site.node, cst.Assign)
    if site.framework != "torch" or statement is None or len(statement.targets) != 1:
        return None
    target = statement.targets[0].target
    if not isinstance(target, cst.Subscript) or len(target.slice) != 1:
        return None
    index = target.slice[0].slice
    if not isinstance(index, cst.Index):
        return None
    mask, whole = scene.value(index.value), scene.value(target.value)
    if not values.is_number(scene.value(statement.value)):
        return None
    assumed = [] if values.is_bool(mask) else [f"`{scene.code(index.value)}` is a mask of bools"]
    aligned = argument(scene, index.value)
    if values.rank_of(mask) < 0 or values.rank_of(mask) != values.rank_of(whole):
        assumed.append(f"`{scene.code(index.value)}` has as many dimensions as `{scene.code(target.value)}`")
    new = f"{atom(scene, target.value)}.masked_fill_({aligned}, {argument(scene, statement.value)})"
    return Rewrite("Use `masked_fill_`", (Replacement(*scene.span(statement), new),), " and ".join(assumed))
