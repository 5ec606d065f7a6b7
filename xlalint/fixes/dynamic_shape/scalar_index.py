"""XLA208: an index that is a 0-d tensor → a tensor of one element, which is gathered by and not read.

`x[n]` is a view of `x` for a 0-d tensor, `x[n[None]]` a copy: who writes into it, or into `x`, sees the difference.
"""

from __future__ import annotations

import libcst as cst

from xlalint.abstract.values import Const, Tensor, members
from xlalint.fixes.model import NoFix, Rewrite, Site, all_of
from xlalint.fixes.toolkit import values
from xlalint.fixes.toolkit.aliasing import copy_shows
from xlalint.fixes.toolkit.dataflow import binds, reads
from xlalint.fixes.toolkit.function_source import FunctionSource, Replacement
from xlalint.fixes.toolkit.operations import arguments_of, operation
from xlalint.fixes.toolkit.selection import assigned_name
from xlalint.fixes.toolkit.shapes import Types
from xlalint.fixes.toolkit.text import atom, brief


def scalar_index(site: Site) -> Rewrite | NoFix | None:
    """`x[n]` → `x.take(n)` of one dimension, else `x[n[None]].squeeze(0)`; `x[n].unsqueeze(0)` → `x[n[None]]`."""
    scene, subscript = site.scene, site.node
    if site.framework != "torch" or not isinstance(subscript, cst.Subscript):
        return None
    found = _tensor_in(scene, subscript)
    if found is None:
        return NoFix("several parts of the index are tensors, or it is not written out")
    node, place = found
    reason = _not_an_index(scene, node)
    if reason is not None:
        return reason
    if not values.is_tensor(scene.value(subscript.value), "torch"):
        return NoFix(f"it is not known that `{scene.code(subscript.value)}` is a tensor in every call")
    if _is_looped(scene, node):
        return NoFix(
            f"`{scene.code(node)}` is an element of a tensor that a loop iterates over; rewrite the loop first"
        )
    beside = _find_read_beside(scene, subscript, node)
    if beside:
        return NoFix(f"`{brief(beside)}` reads the same number all the same: it is not known to index a tensor")
    assumptions = _assumptions(scene, node, subscript.value)
    before = [element.slice for element in subscript.slice[:place]]
    if not all(_is_slice(part) for part in before) or not _rest_is_basic(scene, subscript, place):
        return NoFix("the index has more than slices before it and numbers after it")
    index = f"{atom(scene, node)}[None]"
    holder = scene.parent(subscript)
    if isinstance(holder, (cst.AssignTarget, cst.AugAssign)) and holder.target is subscript:
        return _rewrite_assignment(scene, node, subscript, holder, place, index, assumptions)
    start, end = scene.span(subscript)
    first, last = scene.span(node)
    text = scene.document.text
    new = f"{text[start:first]}{index}{text[last:end]}"
    widened = _find_unsqueeze(scene, subscript, place)
    if widened is not None:
        start, end = scene.span(widened)
    elif values.rank_of(scene.value(subscript.value)) == 1:
        new = f"{text[start : scene.whole(subscript.value)[1]]}.take({scene.code(node)})"
    else:
        new = f"{new}.squeeze({place})"
    result = assigned_name(scene, subscript) or subscript
    assumptions += copy_shows(scene, scene.statement(subscript), result, [subscript])
    return Rewrite("Index with a tensor of one element", (Replacement(start, end, new),), all_of(assumptions))


def _find_read_beside(scene: FunctionSource, subscript: cst.Subscript, node: cst.BaseExpression) -> str:
    """The code of what the same index picks, in the same block, of what is not known to be a tensor; "" without."""
    code, statement = scene.code(node), scene.statement(subscript)
    for sibling in scene.siblings(statement)[0]:
        for other in scene.descend(sibling, cst.Subscript):
            picks = any(isinstance(one.slice, cst.Index) and scene.code(one.slice.value) == code for one in other.slice)
            if other is not subscript and picks and not values.is_tensor(scene.value(other.value), "torch"):
                return scene.code(other)
    return ""


def _find_unsqueeze(scene: FunctionSource, subscript: cst.Subscript, place: int) -> cst.Call | None:
    """The call of `unsqueeze` that gives back the dimension which an index takes: `x[n].unsqueeze(0)`, `torch.unsqueeze(x[n], 0)`."""
    holder = scene.parent(subscript)
    call = scene.parent(holder) if isinstance(holder, (cst.Arg, cst.Attribute)) else None
    if not isinstance(call, cst.Call) or operation(scene, call) != "unsqueeze":
        return None
    given = arguments_of(scene, call)
    at = scene.value(given[1]) if len(given) == 2 and given[0] is subscript else None
    return call if type(at) is Const and type(at.value) is int and at.value == place else None


def _tensor_in(scene: FunctionSource, subscript: cst.Subscript) -> tuple[cst.BaseExpression, int] | None:
    """The one part of an index that may be a tensor, and its place."""
    found = [
        (part.value, place)
        for place, part in enumerate(element.slice for element in subscript.slice)
        if isinstance(part, cst.Index) and not values.is_number(scene.value(part.value))
    ]
    return found[0] if len(found) == 1 else None


def _not_an_index(scene: FunctionSource, node: cst.BaseExpression) -> NoFix | None:
    """Why an index is not surely a 0-d tensor of integers."""
    found = members(scene.value(node))
    code = scene.code(node)
    if not found or not all(isinstance(one, Tensor) and one.framework == "torch" for one in found):
        return NoFix(f"`{code}` is not a tensor in every call")
    if any(one.rank != 0 for one in found if isinstance(one, Tensor)):
        return NoFix(f"`{code}` is not known to have no dimensions")
    if any(one.dtype not in ("i", "") for one in found if isinstance(one, Tensor)):
        return NoFix(f"`{code}` may be a mask")
    return None


def _is_looped(scene: FunctionSource, node: cst.BaseExpression) -> bool:
    """Return whether an index is made of what a loop in the function binds. Rewriting the loop may make it a number."""
    function = scene.function(node)
    if function is None:
        return False
    targets = [loop.target for loop in scene.descend(function, cst.For)]
    targets += [loop.target for loop in scene.descend(function, cst.CompFor)]
    looped = {name for target in targets for name in binds(scene, target)}
    assigned = [
        (reads(scene, one.value), {name for target in one.targets for name in binds(scene, target)})
        for one in scene.descend(function, cst.Assign)
    ]
    while more := {name for read, bound in assigned if read & looped for name in bound} - looped:
        looped |= more
    return bool(reads(scene, node) & looped)


def _assumptions(scene: FunctionSource, node: cst.BaseExpression, base: cst.BaseExpression) -> list[str]:
    """List what must be assumed of an index and what it indexes. A tensor of numbers is not fetched from another device."""
    found = []
    if values.dtype_of(scene.value(node)) != "i":
        found.append(f"`{scene.code(node)}` holds an integer")
    if isinstance(base, cst.Attribute):
        found.append(f"`{scene.code(base)}` is on the device of `{scene.code(node)}`")
    return found


def _is_slice(part: cst.BaseSlice) -> bool:
    return isinstance(part, cst.Slice)


def _rest_is_basic(scene: FunctionSource, subscript: cst.Subscript, place: int) -> bool:
    """Return whether only slices follow in an index: a number beside a tensor would be gathered by, too."""
    return all(_is_slice(element.slice) for element in subscript.slice[place + 1 :])


def _rewrite_assignment(
    scene: FunctionSource,
    node: cst.BaseExpression,
    subscript: cst.Subscript,
    holder: cst.AssignTarget | cst.AugAssign,
    place: int,
    index: str,
    assumptions: list[str],
) -> Rewrite | NoFix:
    """`x[n] = value`: what is assigned broadcasts along the new dimension if that comes first, or if it is a number."""
    statement = holder if isinstance(holder, cst.AugAssign) else scene.parent(holder)
    if not isinstance(statement, (cst.Assign, cst.AugAssign)):
        return NoFix("several things are assigned at once; assign to each alone")
    number = values.is_number(scene.value(statement.value)) or values.rank_of(scene.value(statement.value)) == 0
    if place and not number:
        return NoFix(f"what is assigned needs a dimension for `{scene.code(node)}`; write `index_copy_`")
    if isinstance(statement, cst.AugAssign) and not number:
        return NoFix(f"what is added needs a dimension for `{scene.code(node)}`; write `index_add_`")
    types = Types(scene, "torch")
    dtype = types.of(subscript.value).dtype
    if not values.is_number(scene.value(statement.value)) and not types.of(statement.value).dtype == dtype != "":
        assumptions.append(f"`{scene.code(statement.value)}` has the dtype of `{scene.code(subscript.value)}`")
    replacement = Replacement(*scene.span(node), index)
    return Rewrite("Index with a tensor of one element", (replacement,), all_of(assumptions))
