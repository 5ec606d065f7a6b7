"""XLA201: a loss of each pair of selected elements → that of all, of which the mask takes those that count.

`F.mse_loss(x[mask], y[mask])` is the sum of the losses where the mask is true, divided by their number. Where nothing is selected both
give NaN.
"""

from __future__ import annotations

import libcst as cst

from xlalint.abstract.values import Const
from xlalint.fixes.dynamic_shape.losses import Loss, find_consumer, find_loss, find_maker, find_options
from xlalint.fixes.model import NoFix, Rewrite, Site, all_of
from xlalint.fixes.toolkit import values
from xlalint.fixes.toolkit.dataflow import definition, unchanged
from xlalint.fixes.toolkit.function_source import FunctionSource, Replacement
from xlalint.fixes.toolkit.imports import Imports
from xlalint.fixes.toolkit.indexing import base_assumption, made_like, mask_assumption, rank
from xlalint.fixes.toolkit.operations import operation
from xlalint.fixes.toolkit.text import argument, call_at

# Losses that are defined for all numbers: what is left out may be any.
_LOSSES = {
    "BCEWithLogitsLoss": "binary_cross_entropy_with_logits",
    "HuberLoss": "huber_loss",
    "L1Loss": "l1_loss",
    "MSELoss": "mse_loss",
    "SmoothL1Loss": "smooth_l1_loss",
}
_FUNCTIONS = frozenset(f"torch.nn.functional.{name}" for name in _LOSSES.values())
_CLASSES = frozenset(f"torch.nn.{module}{name}" for name in _LOSSES for module in ("", "modules.loss."))
_SCALARS = frozenset(("beta", "delta"))
_ORDER = "the order in which numbers are added does not matter, and no sum overflows"


def elementwise(site: Site) -> Rewrite | NoFix | None:
    """`F.mse_loss(x[mask], y[mask])` → `torch.where(mask, F.mse_loss(x, y, reduction="none"), 0.0).sum() / mask.sum()`."""
    scene = site.scene
    if site.framework != "torch" or not isinstance(site.node, (cst.Subscript, cst.Call)):
        return None
    call = find_consumer(scene, site.node)
    options = find_options(scene, call, _FUNCTIONS, _CLASSES) if call is not None else None
    if call is None or options is None:
        return None
    found = find_loss(scene, call)
    if found is None:
        return None
    mask = scene.code(found.logits.mask)
    if mask != scene.code(found.labels.mask):
        return NoFix("what is compared is selected by different masks")
    if not isinstance(found.logits.mask, cst.Name):
        return NoFix(f"give `{mask}` a name: it is needed twice")
    average = _averages(scene, options)
    return average if isinstance(average, NoFix) else _rewrite(site, found, options, average)


def _averages(scene: FunctionSource, options: dict[str, cst.BaseExpression]) -> bool | NoFix:
    """Return whether a loss is a mean, not a sum."""
    if set(options) - _SCALARS - {"reduction"}:
        return NoFix("its weights may be those of the selected elements")
    if "reduction" not in options:
        return True
    reduction = scene.value(options["reduction"])
    if not isinstance(reduction, Const) or reduction.value not in ("mean", "sum"):
        return NoFix("it may be the loss of each element that is wanted, whose number is that of the true values")
    return reduction.value == "mean"


def _rewrite(site: Site, found: Loss, options: dict[str, cst.BaseExpression], average: bool) -> Rewrite | NoFix:
    scene, sides = site.scene, (found.logits, found.labels)
    mask = scene.code(found.logits.mask)
    assumed = _list_assumptions(scene, found)
    if isinstance(assumed, NoFix):
        return assumed
    imports = Imports(scene, found.call)
    torch, functional = imports.name("torch"), imports.name("torch.nn.functional")
    given = [_without_selection(scene, arg.value, found) for arg in found.call.args[:2]]
    given += [f"{name}={scene.code(value)}" for name, value in options.items() if name != "reduction"]
    each = f'{functional}.{_name(scene, found.call)}({", ".join(given)}, reduction="none")'
    chosen = call_at(scene, found.call, f"{torch}.where", [mask, each, "0.0"])
    total = f"{chosen}.sum()"
    text = f"{total} / {mask}.sum()" if average else total
    start, end = scene.span(found.call)
    if average and not isinstance(scene.parent(found.call), (cst.Assign, cst.Return, cst.Arg)):
        text = f"({text})"
    made = [Replacement(start, end, text)]
    for side in sides:
        first, last = scene.span(side.node)
        if not start <= first < end:
            made.append(Replacement(first, last, scene.code(side.whole)))
    return Rewrite("Compute the loss of all, and take what the mask selects", (*made, *imports.needed), all_of(assumed))


def _without_selection(scene: FunctionSource, node: cst.BaseExpression, found: Loss) -> str:
    """An argument's code with the tensor in the place of its selection."""
    for side in (found.logits, found.labels):
        if node is side.node:
            return argument(scene, side.whole)
        if scene.holds(node, side.node):
            start, _ = scene.span(node)
            first, last = (place - start for place in scene.span(side.node))
            code = scene.code(node)
            return f"{code[:first]}{scene.code(side.whole)}{code[last:]}"
    return scene.code(node)


def _name(scene: FunctionSource, call: cst.Call) -> str:
    """The function of a loss, whether it is called or its class was."""
    name = values.callee(scene.value(call.func)).rpartition(".")[2]
    made = find_maker(scene, call)
    return name if made is None else _LOSSES[values.callee(scene.value(made.func)).rpartition(".")[2]]


def _list_assumptions(scene: FunctionSource, found: Loss) -> list[str] | NoFix:
    """List what must hold for the loss of all elements to have those of the selected ones."""
    sides = (found.logits, found.labels)
    since = min(scene.span(side.node)[1] for side in sides)
    assumed: list[str] = []
    for told in (
        *(base_assumption(scene, side.whole, "torch") for side in sides),
        mask_assumption(scene, found.labels.mask, "torch"),
    ):
        if isinstance(told, NoFix):
            return told
        assumed += [told] if told else []
    for name in (name for side in sides for name in scene.descend(side.node, cst.Name)):
        if not unchanged(scene, name.value, since, found.call):
            return NoFix(f"`{name.value}` changes between the selection and the loss")
    mask = found.labels.mask
    ranks = {rank(scene, mask), *(rank(scene, side.whole) for side in sides)}
    if len(ranks - {-1}) > 1:
        return NoFix("the mask selects rows: a loss of each element needs a mask for each")
    alike = any(made_like(scene, mask, side.whole) or _is_viewed_alike(scene, mask, side.whole) for side in sides)
    if -1 in ranks and not alike:
        return NoFix(f"it is not known that `{scene.code(mask)}` selects elements, not rows")
    names = " and ".join(f"`{scene.code(side.whole)}`" for side in sides)
    assumed.append(f"{names} have the shape of `{scene.code(mask)}`")
    if any(_rearranges(scene, side.node) for side in sides):
        return NoFix("what is selected is put into another shape before the loss")
    return [*assumed, f"{names} are finite, or have no gradient, where they are left out", _ORDER]


def _is_viewed_alike(scene: FunctionSource, mask: cst.BaseExpression, whole: cst.BaseExpression) -> bool:
    """Return whether a mask compares what was viewed in the shape of a tensor: `y.view(-1, n) == 1` beside `x.view(-1, n)`."""
    made = definition(scene, mask) if isinstance(mask, cst.Name) else None
    compared = made.value.left if made is not None and isinstance(made.value, cst.Comparison) else None
    if not isinstance(compared, cst.Call) or not isinstance(whole, cst.Call):
        return False
    if operation(scene, compared) != "view" or operation(scene, whole) != "view" or len(compared.args) < 2:
        return False
    return [scene.code(one.value) for one in compared.args] == [scene.code(one.value) for one in whole.args]


def _rearranges(scene: FunctionSource, node: cst.BaseExpression) -> bool:
    """Return whether a method that puts elements into another shape is called on an expression."""
    holder = scene.parent(node)
    return isinstance(holder, cst.Attribute) and holder.attr.value in ("flatten", "reshape", "view")
