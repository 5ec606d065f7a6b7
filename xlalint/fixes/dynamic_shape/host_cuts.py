"""XLA201, XLA206: `x[:, :n].cpu()` → `x.cpu()[:, :n]`: what is copied to the host has one shape, and is cut there.

The value of the bound is still read, but nothing compiles anew for it. On the CPU both give a view of `x`. From another device both give
memory of their own: the cut copy is contiguous there, the copy that is cut only along its first dimension.
"""

from __future__ import annotations

import libcst as cst

from xlalint.abstract.values import NONE, Const, Host, Tensor, members
from xlalint.fixes.dynamic_shape.slices import is_ellipsis, is_full
from xlalint.fixes.model import NoFix, Rewrite, Site, all_of
from xlalint.fixes.toolkit import values
from xlalint.fixes.toolkit.dataflow import binds
from xlalint.fixes.toolkit.function_source import FunctionSource, Replacement
from xlalint.fixes.toolkit.indexing import read_masked
from xlalint.fixes.toolkit.operations import RANDOM, operation
from xlalint.fixes.toolkit.text import atom, brief

# Methods that do the same to each element, and so to a part as to the whole.
_ELEMENTWISE = frozenset(("bfloat16", "bool", "detach", "double", "float", "half", "int", "long"))


def copy_whole(site: Site) -> Rewrite | NoFix | None:
    """Copy all of a tensor to the host, and cut it there."""
    scene, node = site.scene, site.node
    if site.framework != "torch" or site.target == "torch_compile" or not isinstance(node, cst.Subscript):
        return None
    copy = _copy_of(scene, node)
    if copy is None:
        return None
    if not values.is_tensor(scene.value(node.value), "torch"):
        return NoFix(f"`{scene.code(node.value)}` is not a tensor in every call")
    if not all(_is_basic(scene, element.slice) for element in node.slice):
        return NoFix("the index has more than slices: copy what they leave, and cut it on the host")
    if _does_more(scene, node):
        return NoFix("computing a bound does more than that: give it a name, and cut on the host")
    whole = atom(scene, node.value)
    start, end = scene.whole(node)
    text = scene.document.text
    index = text[scene.whole(node.value)[1] : scene.span(node)[1]]
    made = Replacement(start, scene.span(copy)[1], f"{whole}{text[end : scene.span(copy)[1]]}{index}")
    return Rewrite("Cut on the host", (made,), all_of(_list_assumptions(scene, node, copy)))


def select_on_host(site: Site) -> Rewrite | None:
    """`x[mask].detach().cpu()` → `x.detach().cpu()[mask.cpu()]`: what is copied has one shape, and the mask selects from the copy."""
    scene, node = site.scene, site.node
    if site.framework != "torch" or site.target == "torch_compile" or not isinstance(node, cst.Subscript):
        return None
    copy, index = _copy_of(scene, node), read_masked(scene, node)
    if copy is None or index is None or len(node.slice) > 1 or not values.is_bool(scene.value(index.mask)):
        return None
    if not all(values.is_tensor(scene.value(one), "torch") for one in (index.base, index.mask)):
        return None
    if isinstance(index.base, cst.Subscript) and scene.nearest(node, cst.CompFor, cst.For, cst.ListComp) is not None:
        return None  # two copies for each row in place of one
    start, end = scene.whole(node)
    chain = scene.document.text[end : scene.span(copy)[1]]
    made = f"{atom(scene, index.base)}{chain}[{atom(scene, index.mask)}.cpu()]"
    assumes = f"`{brief(scene.code(index.base))}` is not much more to copy than what the mask selects"
    return Rewrite("Select on the host", (Replacement(start, scene.span(copy)[1], made),), assumes)


def _copy_of(scene: FunctionSource, node: cst.BaseExpression) -> cst.Call | None:
    """The call that copies an expression to the host, at once or behind what is done to each element alike."""
    method = scene.parent(node)
    call = scene.parent(method)
    if not isinstance(method, cst.Attribute) or not isinstance(call, cst.Call) or call.func is not method:
        return None
    name = method.attr.value
    given = [scene.value(arg.value) for arg in call.args]
    if name == "cpu" and not given:
        return call
    named = [arg.keyword.value for arg in call.args if arg.keyword is not None]
    if name == "to" and len(given) == 1 and named in ([], ["device"]):
        return call if type(given[0]) is Const and given[0].value == "cpu" else None
    return _copy_of(scene, call) if name in _ELEMENTWISE and not given else None


def _is_basic(scene: FunctionSource, one: cst.BaseSlice) -> bool:
    """Return whether an index is `...` or a slice whose bounds are integers."""
    if not isinstance(one, cst.Slice):
        return is_ellipsis(one)
    bounds = [bound for bound in (one.lower, one.upper, one.step) if bound is not None]
    return all(_is_bound(scene, bound) for bound in bounds)


def _is_bound(scene: FunctionSource, node: cst.BaseExpression) -> bool:
    found = members(scene.value(node))
    return bool(found) and all(
        one is NONE
        or (type(one) is Tensor and one.framework == "torch")
        or (type(one) is Const and type(one.value) is int)
        or (type(one) is Host and one.type == "int")
        for one in found
    )


def _does_more(scene: FunctionSource, node: cst.Subscript) -> bool:
    """Return whether the parts of an index must be computed before the copy: one binds a name, draws, writes, or is not known."""
    for element in node.slice:
        if binds(scene, element) or any(scene.descend(element, cst.Await, cst.Yield)):
            return True
        for call in scene.descend(element, cst.Call):
            name = operation(scene, call) or values.callee(scene.value(call.func)).removeprefix("builtins.")
            known = operation(scene, call) or name in ("int", "len", "max", "min")
            if not known or name in RANDOM or (name.endswith("_") and not name.endswith("__")):
                return True
    return False


def _list_assumptions(scene: FunctionSource, node: cst.Subscript, copy: cst.Call) -> list[str]:
    """List what notices that a cut copy is not contiguous. A list does not, and nothing does if only the first dimension is cut."""
    first, *others = (element.slice for element in node.slice)
    if not is_ellipsis(first) and all(is_full(one) or is_ellipsis(one) for one in others):
        step = first.step if isinstance(first, cst.Slice) else None
        if step is None:
            return []
    if _becomes_list(scene, copy):
        return []
    return ["nothing needs the copy to be contiguous"]


def _becomes_list(scene: FunctionSource, node: cst.BaseExpression) -> bool:
    method = scene.parent(node)
    call = scene.parent(method)
    if not isinstance(method, cst.Attribute) or not isinstance(call, cst.Call):
        return False
    if method.attr.value in ("detach", "numpy"):
        return _becomes_list(scene, call)
    return method.attr.value == "tolist"


def explain_length(site: Site) -> NoFix | None:
    """XLA302: a copy of what a number cuts that was read from a tensor, of which no graph stays the same."""
    scene, node = site.scene, site.node
    if site.framework != "torch" or not isinstance(node, cst.Call) or not isinstance(node.func, cst.Attribute):
        return None
    part = node.func.value
    while isinstance(part, cst.Call) and isinstance(part.func, cst.Attribute) and part.func.attr.value in _ELEMENTWISE:
        part = part.func.value
    if not isinstance(part, cst.Subscript) or node.func.attr.value not in ("cpu", "to"):
        return None
    slices = [element.slice for element in part.slice if isinstance(element.slice, cst.Slice)]
    bounds = [bound for one in slices for bound in (one.lower, one.upper) if bound is not None]
    if not any(_is_read(scene, bound) for bound in bounds):
        return None
    return NoFix(f"its length depends on the value: copy all of `{brief(scene.code(part.value))}`, and cut the copy")


def _is_read(scene: FunctionSource, node: cst.BaseExpression) -> bool:
    return any(type(one) is Host and one.origin == "data" for one in members(scene.value(node)))
