"""XLA201, XLA204: targets of the CTC loss, packed by a mask → padded ones, of which the loss reads as many as each row has.

The loss takes targets in a row or as a matrix with their numbers, and gives the same for both, bit by bit on the CPU. A stable sort by the
mask puts those of each row first, in their order, wherever the padding is.
"""

from __future__ import annotations

import libcst as cst

from xlalint.abstract.values import LibraryInstance, members
from xlalint.fixes.dynamic_shape.losses import find_consumer
from xlalint.fixes.model import NoFix, Rewrite, Site, all_of
from xlalint.fixes.toolkit import values
from xlalint.fixes.toolkit.dataflow import definition, unchanged
from xlalint.fixes.toolkit.function_source import FunctionSource, Replacement
from xlalint.fixes.toolkit.indexing import base_assumption, mask_assumption, rank
from xlalint.fixes.toolkit.operations import arguments_of, operation
from xlalint.fixes.toolkit.picking import Selection, selection
from xlalint.fixes.toolkit.text import atom

_FUNCTIONS = frozenset(("torch.ctc_loss", "torch.nn.functional.ctc_loss"))
_CLASSES = frozenset(("torch.nn.CTCLoss", "torch.nn.modules.loss.CTCLoss"))
_LENGTHS = 3  # the place of the targets' numbers among a loss's arguments


def padded_targets(site: Site) -> Rewrite | NoFix | None:
    """`labels.masked_select(mask)` → `labels.gather(-1, mask.int().argsort(dim=-1, descending=True, stable=True))`."""
    scene = site.scene
    one = selection(scene, site.node) if isinstance(site.node, (cst.Subscript, cst.Call)) else None
    if site.framework != "torch" or one is None:
        return None
    call = find_consumer(scene, one.node)
    if call is None or not _is_loss(scene, call) or len(call.args) <= _LENGTHS:
        return None
    if not _counts_rows(scene, call.args[_LENGTHS].value, one):
        return NoFix(f"it is not known that the targets' lengths count `{scene.code(one.mask)}` along each row")
    return _rewrite(scene, one)


def _is_loss(scene: FunctionSource, call: cst.Call) -> bool:
    if any(arg.keyword is not None or arg.star for arg in call.args[: _LENGTHS + 1]):
        return False
    found = members(scene.value(call.func))
    held = bool(found) and all(type(one) is LibraryInstance and one.name in _CLASSES for one in found)
    return held or values.callee(scene.value(call.func)) in _FUNCTIONS


def _counts_rows(scene: FunctionSource, node: cst.BaseExpression, one: Selection) -> bool:
    """Return whether an expression is the number of a mask's true values in each row."""
    if isinstance(node, cst.Name):
        made = definition(scene, node)
        if made is None or not isinstance(one.mask, cst.Name) or not _is_kept(scene, one.mask, made):
            return False
        node = made.value
    if not isinstance(node, cst.Call) or operation(scene, node) != "sum":
        return False
    axes = [scene.code(arg).replace(" ", "") for arg in node.args][-1:]
    operand = arguments_of(scene, node)[:1]
    return axes[0:1] in (["-1"], ["1"], ["dim=-1"], ["dim=1"]) and [scene.code(each) for each in operand] == [
        scene.code(one.mask)
    ]


def _is_kept(scene: FunctionSource, mask: cst.Name, made: cst.Assign) -> bool:
    """Return whether a mask is the same where it is counted and where it selects."""
    first, last = sorted((scene.span(mask), scene.span(made)))
    later = mask if scene.span(mask) == last else made
    return unchanged(scene, mask.value, first[0], later)


def _rewrite(scene: FunctionSource, one: Selection) -> Rewrite | NoFix:
    assumed: list[str] = []
    for told in (base_assumption(scene, one.whole, "torch"), mask_assumption(scene, one.mask, "torch")):
        if isinstance(told, NoFix):
            return told
        assumed.append(told)
    if 2 not in (rank(scene, one.whole), rank(scene, one.mask)):
        assumed.append(f"`{scene.code(one.whole)}` has two dimensions")
    assumed.append(f"`{scene.code(one.mask)}` has its shape, and cuDNN computes no loss")
    order = f"{atom(scene, one.mask)}.int().argsort(dim=-1, descending=True, stable=True)"
    text = f"{atom(scene, one.whole)}.gather(-1, {order})"
    return Rewrite("Pad the targets", (Replacement(*scene.span(one.node), text),), all_of(filter(None, assumed)))
