"""XLA201: the cross entropy of selected rows → that of all, with labels that it ignores where the mask is false.

The rows that are ignored get no gradient, and the mean is over the others: the loss is the same. Only a row that is left out and is not
finite makes a difference: its gradient is NaN then, instead of none.
"""

from __future__ import annotations

from collections.abc import Collection
from typing import NamedTuple

import libcst as cst

from xlalint.abstract.values import Const, LibraryInstance, members
from xlalint.fixes.model import NoFix, Rewrite, Site, all_of
from xlalint.fixes.toolkit import values
from xlalint.fixes.toolkit.dataflow import definition, unchanged, uses
from xlalint.fixes.toolkit.function_source import FunctionSource, Replacement
from xlalint.fixes.toolkit.imports import Imports
from xlalint.fixes.toolkit.indexing import base_assumption, mask_assumption, rank
from xlalint.fixes.toolkit.picking import Selection, selection
from xlalint.fixes.toolkit.text import argument, atom, call_at

_FUNCTION = "torch.nn.functional.cross_entropy"
_CLASS = ("torch.nn.CrossEntropyLoss", "torch.nn.modules.loss.CrossEntropyLoss")
_REARRANGED = frozenset(("contiguous", "flatten", "float", "long", "reshape", "to", "view"))
_IGNORED = "-100"  # the framework's own choice
_ORDER = "the order in which numbers are added does not matter"


class Loss(NamedTuple):
    """A call of the cross entropy, and what it is of: the selections of logits and labels, and whether these are made flat behind."""

    call: cst.Call
    logits: Selection
    labels: Selection
    flat: bool


def cross_entropy(site: Site) -> Rewrite | NoFix | None:
    """`F.cross_entropy(logits[mask], labels[mask])` → `F.cross_entropy(logits, torch.where(mask, labels, -100))`."""
    scene = site.scene
    if site.framework != "torch" or not isinstance(site.node, (cst.Subscript, cst.Call)):
        return None
    call = find_consumer(scene, site.node)
    options = find_options(scene, call, (_FUNCTION,), _CLASS) if call is not None else None
    held = call is not None and options is None and _is_held(scene, call)
    if call is None or (options is None and not held):
        return None
    found = find_loss(scene, call)
    if found is None:
        return None
    if scene.code(found.logits.mask) != scene.code(found.labels.mask):
        return NoFix("logits and labels are selected by different masks")
    if options is None:
        criterion = scene.code(call.func)
        return _rewrite(site, found, f"{criterion}.ignore_index", f"`{criterion}` gives a mean or a sum")
    ignored = _find_ignored_label(scene, options)
    return _rewrite(site, found, ignored) if isinstance(ignored, str) else ignored


def find_consumer(scene: FunctionSource, node: cst.BaseExpression) -> cst.Call | None:
    """The call that a selection, perhaps rearranged or given a name that is read once, is an argument of."""
    outer = _skip_rearrangements(scene, node)
    holder = scene.parent(outer)
    if isinstance(holder, cst.Assign) and len(holder.targets) == 1:
        target, function = holder.targets[0].target, scene.function(holder)
        if not isinstance(target, cst.Name) or function is None:
            return None
        read = list(uses(scene, function, target.value))
        if len(read) != 1 or definition(scene, read[0]) is not holder:
            return None
        holder = scene.parent(_skip_rearrangements(scene, read[0]))
    call = scene.parent(holder)
    return call if isinstance(holder, cst.Arg) and isinstance(call, cst.Call) else None


def _skip_rearrangements(scene: FunctionSource, node: cst.BaseExpression) -> cst.BaseExpression:
    """The expression around another that keeps its elements."""
    holder = scene.parent(node)
    called = scene.parent(holder) if isinstance(holder, cst.Attribute) else None
    if isinstance(holder, cst.Attribute) and isinstance(called, cst.Call) and called.func is holder:
        return _skip_rearrangements(scene, called) if holder.attr.value in _REARRANGED else node
    return node


def find_options(
    scene: FunctionSource, call: cst.Call, functions: Collection[str], classes: Collection[str]
) -> dict[str, cst.BaseExpression] | None:
    """The options of a loss, of a function's call or of the object that is called; None for anything else."""
    given = [arg for arg in call.args if arg.keyword is None]
    if len(given) != 2 or any(arg.star for arg in call.args):
        return None
    if values.callee(scene.value(call.func)) in functions:
        return {arg.keyword.value: arg.value for arg in call.args if arg.keyword is not None}
    made = find_maker(scene, call)
    if made is None or values.callee(scene.value(made.func)) not in classes or len(call.args) != 2:
        return None
    if any(arg.keyword is None for arg in made.args):
        return None
    return {arg.keyword.value: arg.value for arg in made.args if arg.keyword is not None}


def find_maker(scene: FunctionSource, call: cst.Call) -> cst.Call | None:
    """The call that made the object which is called: at once, or by the name that it was given in the function."""
    made: cst.BaseExpression | None = call.func
    if isinstance(call.func, cst.Name):
        assign = definition(scene, call.func)
        made = assign.value if assign is not None else None
    return made if isinstance(made, cst.Call) else None


def _is_held(scene: FunctionSource, call: cst.Call) -> bool:
    """Return whether a call is of a cross entropy that an object holds: `self.criterion(logits, labels)`."""
    found = members(scene.value(call.func))
    plain = len(call.args) == 2 and not any(arg.star or arg.keyword for arg in call.args)
    held = bool(found) and all(type(one) is LibraryInstance and one.name in _CLASS for one in found)
    return plain and held and isinstance(call.func, cst.Attribute)


def _find_ignored_label(scene: FunctionSource, options: dict[str, cst.BaseExpression]) -> str | NoFix:
    """The label that is ignored, as code."""
    if set(options) & {"reduce", "size_average"}:
        return NoFix("its options may ask for the loss of each row")
    if "reduction" in options:
        reduction = scene.value(options["reduction"])
        if not isinstance(reduction, Const) or reduction.value not in ("mean", "sum"):
            return NoFix("it may be the loss of each row that is wanted, whose number is that of the true values")
    if "ignore_index" not in options:
        return _IGNORED
    index = options["ignore_index"]
    return (
        scene.code(index) if isinstance(scene.value(index), Const) else NoFix("it is not known which label is ignored")
    )


def find_loss(scene: FunctionSource, call: cst.Call) -> Loss | None:
    logits, labels = (_find_selection(scene, arg.value) for arg in call.args[:2])
    if logits is None or labels is None:
        return None
    return Loss(call, logits[0], labels[0], logits[1] and labels[1])


def _find_selection(
    scene: FunctionSource, node: cst.BaseExpression, named: bool = False
) -> tuple[Selection, bool] | None:
    """The selection that an argument is, behind its name or what rearranges it, and whether that makes it flat."""
    one = selection(scene, node)
    if one is not None:
        return None if one.broadcasts else (one, False)
    if isinstance(node, cst.Name) and not named:
        made = definition(scene, node)
        function = scene.function(node)
        alone = function is not None and len(list(uses(scene, function, node.value))) == 1
        return _find_selection(scene, made.value, named=True) if made is not None and alone else None
    if not isinstance(node, cst.Call) or not isinstance(node.func, cst.Attribute):
        return None
    if node.func.attr.value not in _REARRANGED:
        return None
    inner = _find_selection(scene, node.func.value, named)
    flat = node.func.attr.value in ("view", "reshape") and [scene.code(arg.value) for arg in node.args[:1]] == ["-1"]
    return (inner[0], inner[1] or flat) if inner is not None else None


def _rewrite(site: Site, found: Loss, ignored: str, *assumptions: str) -> Rewrite | NoFix:
    scene, logits, labels = site.scene, found.logits, found.labels
    since = min(scene.span(logits.node)[1], scene.span(labels.node)[1])
    later = max(labels.node, logits.node, key=lambda node: scene.span(node)[0])
    assumed: list[str] = [*assumptions]
    for told in (
        base_assumption(scene, logits.whole, "torch"),
        base_assumption(scene, labels.whole, "torch"),
        mask_assumption(scene, labels.mask, "torch"),
    ):
        if isinstance(told, NoFix):
            return told
        assumed.append(told)
    if not all(unchanged(scene, name.value, since, later) for name in scene.descend(labels.mask, cst.Name)):
        return NoFix(f"`{scene.code(labels.mask)}` changes between the selections")
    kind = values.dtype_of(scene.value(labels.whole))
    if kind not in ("i", ""):
        return NoFix(f"`{scene.code(labels.whole)}` holds no class numbers")
    if not kind:
        assumed.append(f"`{scene.code(labels.whole)}` holds class numbers")
    assumed += [f"`{scene.code(logits.whole)}` is finite, or has no gradient, where it is left out", _ORDER]
    imports = Imports(scene, found.call)
    where = [scene.code(labels.mask), argument(scene, labels.whole), ignored]
    chosen = f"{imports.name('torch')}.where({', '.join(where)})"
    if not isinstance(scene.parent(labels.node), (cst.Arg, cst.Attribute)):
        chosen = call_at(scene, labels.node, f"{imports.name('torch')}.where", where)
    rows = scene.code(logits.whole)
    if not found.flat and not _single(scene, found):
        rows, chosen = f"{atom(scene, logits.whole)}.flatten(0, -2)", f"{chosen}.flatten()"
    made = (Replacement(*scene.span(logits.node), rows), Replacement(*scene.span(labels.node), chosen))
    return Rewrite("Ignore what the mask leaves out", (*made, *imports.needed), all_of(filter(None, assumed)))


def _single(scene: FunctionSource, found: Loss) -> bool:
    """Return whether there is only one dimension of rows."""
    return (
        1 in (rank(scene, found.labels.mask), rank(scene, found.labels.whole)) or rank(scene, found.logits.whole) == 2
    )
