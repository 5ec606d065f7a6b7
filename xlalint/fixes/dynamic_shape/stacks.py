"""XLA208: parts of a tensor that are picked one by one and stacked where they were → one index by all places.

`torch.stack([x[:, t[i]] for i in range(n)], dim=1)` is `x[:, t[:n]]`: both copy, and both hand gradients to where they came from.
"""

from __future__ import annotations

import libcst as cst

from xlalint.abstract.values import Const, Host
from xlalint.fixes.model import NoFix, Rewrite, Site, all_of
from xlalint.fixes.toolkit import values
from xlalint.fixes.toolkit.dataflow import reads
from xlalint.fixes.toolkit.function_source import FunctionSource, Replacement
from xlalint.fixes.toolkit.indexing import rank
from xlalint.fixes.toolkit.text import atom, bare_extent


def pick_at_once(site: Site) -> Rewrite | NoFix | None:
    """`torch.stack([x[t[i]] for i in range(n)])` → `x[t[:n]]`, and `torch.stack([x[j] for j in t])` → `x[t]`."""
    scene, picked = site.scene, site.node
    turns = scene.parent(picked)
    if site.framework != "torch" or not isinstance(picked, cst.Subscript) or not isinstance(turns, cst.ListComp):
        return None
    loop = turns.for_in
    stack = _find_stack(scene, turns)
    if stack is None or turns.elt is not picked or loop.ifs or loop.inner_for_in is not None or loop.asynchronous:
        return None
    found = _read_places(scene, picked, loop)
    if found is None or not values.is_tensor(scene.value(picked.value), "torch"):
        return None
    at, places, assumed = found
    if not _stands_at(scene, stack, at, picked.value):
        return NoFix("the parts are stacked along another dimension than they are taken from")
    parts = [scene.code(one).rstrip(", ") for one in picked.slice]
    text = f"{atom(scene, picked.value)}[{', '.join([*parts[:at], places, *parts[at + 1 :]])}]"
    return Rewrite("Index by all places at once", (Replacement(*bare_extent(scene, stack), text),), all_of(assumed))


def _find_stack(scene: FunctionSource, turns: cst.ListComp) -> cst.Call | None:
    """The call of `torch.stack` of a list."""
    arg = scene.parent(turns)
    call = scene.parent(arg) if isinstance(arg, cst.Arg) else None
    if not isinstance(call, cst.Call) or call.args[0] is not arg or arg.keyword is not None or arg.star:
        return None
    known = len(call.args) < 3 and all(one.keyword is None or one.keyword.value == "dim" for one in call.args[1:])
    return call if known and values.callee(scene.value(call.func)) == "torch.stack" else None


def _stands_at(scene: FunctionSource, stack: cst.Call, at: int, whole: cst.BaseExpression) -> bool:
    """Return whether the dimension that is stacked along is the one that the parts were taken from."""
    value = scene.value(stack.args[1].value) if len(stack.args) > 1 else None
    dim = 0 if value is None else value.value if type(value) is Const else None
    return dim == at if dim != -1 else rank(scene, whole) == at + 1


def _read_places(scene: FunctionSource, picked: cst.Subscript, loop: cst.CompFor) -> tuple[int, str, list[str]] | None:
    """The place in an index of an element of a vector, the code of all of its elements that are gone through, and what that assumes."""
    if not isinstance(loop.target, cst.Name):
        return None
    turn = loop.target.value
    found = [place for place, one in enumerate(picked.slice) if turn in reads(scene, one)]
    slices = [one.slice for place, one in enumerate(picked.slice) if [place] != found]
    if len(found) != 1 or turn in reads(scene, picked.value) or not all(isinstance(one, cst.Slice) for one in slices):
        return None
    part = picked.slice[found[0]].slice
    if not isinstance(part, cst.Index) or not _is_place(scene, part.value):
        return None
    element, code = part.value, scene.code(loop.iter)
    if isinstance(element, cst.Name) and isinstance(loop.iter, (cst.Name, cst.Attribute)):
        return found[0], code, [f"`{code}` is not empty", *_check_whole(scene, element)]
    count = _count_of(scene, loop.iter)
    if count is None or not isinstance(element, cst.Subscript) or len(element.slice) != 1:
        return None
    index = element.slice[0].slice
    vector = element.value
    if not isinstance(index, cst.Index) or scene.code(index.value) != turn or not isinstance(vector, cst.Name):
        return None
    name, number = vector.value, scene.code(count)
    if number in (f"len({name})", f"{name}.shape[0]", f"{name}.size(0)", f"{name}.numel()"):
        return found[0], name, [f"`{name}` is not empty", *_check_whole(scene, element)]
    enough = f"`{name}` has `{number}` elements or more, at least one"
    return found[0], f"{name}[:{number}]", [enough, *_check_whole(scene, element)]


def _is_place(scene: FunctionSource, element: cst.BaseExpression) -> bool:
    """Return whether an element is a tensor without dimensions, and no mask."""
    value = scene.value(element)
    return values.is_tensor(value, "torch") and values.rank_of(value) == 0 and values.dtype_of(value) in ("i", "")


def _check_whole(scene: FunctionSource, element: cst.BaseExpression) -> list[str]:
    known = values.dtype_of(scene.value(element)) == "i"
    return [] if known else [f"`{scene.code(element)}` is a whole number"]


def _count_of(scene: FunctionSource, node: cst.BaseExpression) -> cst.BaseExpression | None:
    """The number of turns that a `range` from 0 makes, if the host knows it."""
    if not isinstance(node, cst.Call) or values.callee(scene.value(node.func)) != "builtins.range":
        return None
    if len(node.args) != 1 or node.args[0].star:
        return None
    value = scene.value(node.args[0].value)
    known = type(value) is Const or (type(value) is Host and value.type == "int" and value.origin != "data")
    return node.args[0].value if known else None
