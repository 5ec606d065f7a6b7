"""XLA202: positions of true values that pick elements to assign or reduce → the mask itself; the first of them → `argmax`."""

from __future__ import annotations

import libcst as cst

from xlalint.fixes import at_update, mask_assignment, masked_reductions, values
from xlalint.fixes.indexing import positions_of, rank
from xlalint.fixes.model import Reason, Rewrite, Site
from xlalint.fixes.scene import Replacement, Scene
from xlalint.fixes.text import atom

_BY_MASK = (
    mask_assignment.assignment,
    mask_assignment.augmented,
    at_update.update,
    masked_reductions.reduction,
)


def picked(site: Site) -> Rewrite | Reason | None:
    """`x[torch.where(mask)] = 0` is `x[mask] = 0`: what is made of that."""
    scene = site.scene
    index = scene.parent(site.node)
    element = scene.parent(index) if isinstance(index, cst.Index) else None
    subscript = scene.parent(element) if isinstance(element, cst.SubscriptElement) else None
    if not isinstance(subscript, cst.Subscript) or len(subscript.slice) != 1:
        return None
    if not isinstance(site.node, cst.Call) or positions_of(scene, site.node) is None:
        return None
    reason: Reason | None = None
    for rewriter in _BY_MASK:
        made = rewriter(site._replace(node=subscript))
        if isinstance(made, Rewrite):
            return made
        reason = reason or made
    return reason


def first(site: Site) -> Rewrite | Reason | None:
    """`torch.where(mask)[0][0]` → `mask.int().argmax()`: the first of the largest. Without any, there was an `IndexError`."""
    scene = site.scene
    mask = positions_of(scene, site.node) if isinstance(site.node, cst.Call) else None
    whole = _item(scene, _item(scene, site.node)) if mask is not None else None
    if mask is None or whole is None or site.framework == "tensorflow":
        return None
    own = rank(scene, mask)
    if own > 1:
        return Reason(f"`{scene.code(mask)}` has several dimensions")
    numbers = ".int()" if site.framework == "torch" else ""
    new = f"{atom(scene, mask)}{numbers}.argmax()"
    assumed = [] if own == 1 else [f"`{scene.code(mask)}` has one dimension"]
    if site.framework == "jax":
        assumed.append(f"`{scene.code(mask)}` holds a true value")
    return Rewrite("Use `argmax`", (Replacement(*scene.span(whole), new),), " and ".join(assumed))


def _item(scene: Scene, node: cst.CSTNode | None) -> cst.Subscript | None:
    """`node[0]`."""
    holder = scene.parent(node) if node is not None else None
    if not isinstance(holder, cst.Subscript) or holder.value is not node or len(holder.slice) != 1:
        return None
    part = holder.slice[0].slice
    return (
        holder
        if isinstance(part, cst.Index) and values.is_number(scene.value(part.value)) and scene.code(part) == "0"
        else None
    )
