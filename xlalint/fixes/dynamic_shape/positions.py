"""XLA202: positions of true values that pick elements to assign or reduce → the mask itself; the first of them → `argmax`."""

from __future__ import annotations

import libcst as cst

from xlalint.fixes.dynamic_shape import at_update, mask_assignment, masked_reductions
from xlalint.fixes.model import NoFix, Rewrite, Site, all_of
from xlalint.fixes.toolkit import values
from xlalint.fixes.toolkit.function_source import FunctionSource, Replacement
from xlalint.fixes.toolkit.indexing import positions_of, rank
from xlalint.fixes.toolkit.operations import arguments_of, operation
from xlalint.fixes.toolkit.picking import selection
from xlalint.fixes.toolkit.text import atom, brief, call_at

_UPDATES = frozenset(("add", "divide", "max", "min", "mul", "multiply", "set"))
_BY_MASK = (
    mask_assignment.assignment,
    mask_assignment.rewrite_augmented,
    at_update.update,
    masked_reductions.reduction,
)


def use_mask(site: Site) -> Rewrite | NoFix | None:
    """`x[torch.where(mask)] = 0` is `x[mask] = 0`: what is made of that."""
    scene = site.scene
    gathered = _find_gather(scene, site.node)
    if gathered is not None:
        return masked_reductions.reduction(site._replace(node=gathered))
    index = scene.parent(site.node)
    element = scene.parent(index) if isinstance(index, cst.Index) else None
    subscript = scene.parent(element) if isinstance(element, cst.SubscriptElement) else None
    if not isinstance(subscript, cst.Subscript) or len(subscript.slice) != 1:
        return None
    if not isinstance(site.node, cst.Call) or positions_of(scene, site.node) is None:
        return None
    reason: NoFix | None = None
    for rewriter in _BY_MASK:
        made = rewriter(site._replace(node=subscript))
        if isinstance(made, Rewrite):
            return made
        reason = reason or made
    return reason


def _find_gather(scene: FunctionSource, node: cst.CSTNode) -> cst.Call | None:
    """The `tf.gather_nd(x, tf.where(mask))` that takes what is at positions."""
    holder = scene.parent(node)
    call = scene.parent(holder) if isinstance(holder, cst.Arg) else None
    if not isinstance(call, cst.Call):
        return None
    one = selection(scene, call)
    return call if one is not None and call.args[1] is holder else None


def first(site: Site) -> Rewrite | NoFix | None:
    """`torch.where(mask)[0][0]` → `mask.int().argmax()`: the first of the largest. Without any, there was an `IndexError`."""
    scene = site.scene
    mask = positions_of(scene, site.node) if isinstance(site.node, cst.Call) else None
    whole = _item(scene, _item(scene, site.node)) if mask is not None else None
    if mask is None or whole is None or site.framework == "tensorflow":
        return None
    if any(isinstance(one, cst.Try) and scene.holds(one.body, site.node) for one in scene.above(site.node)):
        return NoFix(f"it is in a `try`, which may handle that `{brief(scene.code(mask))}` holds no true value")
    own = rank(scene, mask)
    if own > 1:
        return NoFix(f"`{scene.code(mask)}` has several dimensions")
    numbers = ".int()" if site.framework == "torch" else ""
    new = f"{atom(scene, mask)}{numbers}.argmax()"
    assumed = [] if own == 1 else [f"`{scene.code(mask)}` has one dimension"]
    if site.framework == "jax":
        assumed.append(f"`{scene.code(mask)}` holds a true value")
    return Rewrite("Use `argmax`", (Replacement(*scene.span(whole), new),), all_of(assumed))


def give_size(site: Site) -> Rewrite | NoFix | None:
    """`jnp.nonzero(mask)` of which sums are taken, or at which is assigned → `size=mask.size`, with a `fill_value=` that does nothing."""
    scene, node = site.scene, site.node
    if site.framework != "jax" or not isinstance(node, cst.Call) or len(node.args) != 1:
        return None
    mask = arguments_of(scene, node)[0]
    holder = _shape_holder(scene, mask)
    size = f"{scene.code(holder)}.size" if holder is not None else ""
    fill = _fill(scene, node, size)
    if not fill:
        return NoFix(
            "it is not known what padded positions would do here; stay with the mask,"
            " or give `size=` and a `fill_value=` that later code ignores"
        )
    if not size:
        return NoFix(f"`{brief(scene.code(mask))}` has no name to take the size of")
    if fill == size and rank(scene, mask) != 1:
        return NoFix(f"it is not known that `{brief(scene.code(mask))}` has one dimension")
    function = scene.code(node.func)
    given = [scene.code(node.args[0]), f"size={size}", f"fill_value={fill}"]
    return Rewrite("Give the size", (Replacement(*scene.span(node), call_at(scene, node, function, given)),))


def _fill(scene: FunctionSource, node: cst.Call, size: str) -> str:
    """Choose a filler that changes nothing for all readers of the positions: 0 for a sum, the end for an update; "" if unknown."""
    vector = node if operation(scene, node) == "flatnonzero" else _item(scene, node)
    found = {_neutral(scene, use, size) for use in _vectors(scene, node, vector)}
    return found.pop() if len(found) == 1 else ""


def find_fill_value(scene: FunctionSource, node: cst.Call) -> str:
    """The same of a call that gives one vector, of values that are no positions."""
    found = {_neutral(scene, use, "") for use in _vectors(scene, node, node)}
    return found.pop() if len(found) == 1 else ""


def _vectors(scene: FunctionSource, node: cst.Call, vector: cst.BaseExpression | None) -> list[cst.BaseExpression]:
    """Where the vector of positions is read, by its name too; none where that is not all that becomes of it."""
    assign = scene.parent(vector if vector is not None else node)
    function = scene.function(node)
    if not isinstance(assign, cst.Assign) or len(assign.targets) != 1 or function is None:
        return [] if vector is None else [vector]
    target: cst.BaseExpression = assign.targets[0].target
    if vector is None:
        alone = isinstance(target, cst.Tuple) and len(target.elements) == 1
        target = target.elements[0].value if isinstance(target, cst.Tuple) and alone else node
    if not isinstance(target, cst.Name):
        return []
    every = [one for one in scene.descend(function, cst.Name) if one.value == target.value and one is not target]
    return [*every] if all(scene.span(one)[0] > scene.span(assign)[1] for one in every) else []


def _neutral(scene: FunctionSource, use: cst.BaseExpression, size: str) -> str:
    holder = scene.parent(use)
    if isinstance(holder, cst.Attribute):
        called = scene.parent(holder)
        summed = holder.attr.value == "sum" and isinstance(called, cst.Call) and called.func is holder
        return "0" if summed and isinstance(called, cst.Call) and not called.args else ""
    if isinstance(holder, cst.Arg):
        called = scene.parent(holder)
        summed = isinstance(called, cst.Call) and values.callee(scene.value(called.func)) == "jax.numpy.sum"
        return "0" if summed and isinstance(called, cst.Call) and len(called.args) == 1 else ""
    return size if isinstance(holder, cst.Index) and _updates_one(scene, holder) else ""


def _updates_one(scene: FunctionSource, index: cst.Index) -> bool:
    """Return whether an index is that of `x.at[index].set(number)`, which ignores positions beyond the end."""
    element = scene.parent(index)
    subscript = scene.parent(element)
    if not isinstance(subscript, cst.Subscript) or len(subscript.slice) != 1:
        return False
    at, method = subscript.value, scene.parent(subscript)
    called = scene.parent(method)
    if not isinstance(at, cst.Attribute) or at.attr.value != "at" or not isinstance(called, cst.Call):
        return False
    if not isinstance(method, cst.Attribute) or method.attr.value not in _UPDATES or len(called.args) != 1:
        return False
    value = scene.value(called.args[0].value)
    return called.args[0].keyword is None and (values.is_number(value) or values.rank_of(value) == 0)


def _shape_holder(scene: FunctionSource, mask: cst.BaseExpression) -> cst.BaseExpression | None:
    """A variable of the mask's shape: the mask, or what is compared to a number."""
    if isinstance(mask, (cst.Name, cst.Attribute)):
        return mask
    if isinstance(mask, cst.UnaryOperation) and isinstance(mask.operator, cst.BitInvert):
        return _shape_holder(scene, mask.expression)
    if isinstance(mask, cst.Comparison) and len(mask.comparisons) == 1:
        other = scene.value(mask.comparisons[0].comparator)
        return _shape_holder(scene, mask.left) if values.is_number(other) else None
    return None


def explain_positions(site: Site) -> NoFix:
    """Why positions stay that are kept as data."""
    scene = site.scene
    code = brief(scene.code(site.node))
    if site.framework == "tensorflow":
        return NoFix(
            f"code that reads `{code}` may expect as many rows as there are true values; pass the mask on instead"
        )
    return NoFix(
        f"code that reads `{code}` may expect as many positions as there are true values; pass the mask on instead"
    )


def _item(scene: FunctionSource, node: cst.CSTNode | None) -> cst.Subscript | None:
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
