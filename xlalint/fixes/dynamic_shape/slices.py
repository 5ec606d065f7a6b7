"""XLA206: slices whose bounds are tensors → windows of a constant width, and masks over the whole length.

A slice that is told by its place and width becomes an indexed read or write. What is filled up to a bound, or reduced behind one, is
compared with `arange`. Every other slice has another length for each value, which only its author can mask.
"""

from __future__ import annotations

from typing import NamedTuple

import libcst as cst

from xlalint.abstract.values import Const, Host, Tensor, Value, members
from xlalint.fixes.model import NoFix, Rewrite, Site, all_of
from xlalint.fixes.toolkit import values
from xlalint.fixes.toolkit.aliasing import copy_shows
from xlalint.fixes.toolkit.dataflow import reads
from xlalint.fixes.toolkit.function_source import FunctionSource, Replacement
from xlalint.fixes.toolkit.imports import Imports
from xlalint.fixes.toolkit.selection import assigned_name
from xlalint.fixes.toolkit.speculation import speculate
from xlalint.fixes.toolkit.text import argument, atom, bare_extent, brief, call_at

_OTHER_LENGTH = NoFix(
    "the length of the slice depends on the value: keep the whole length, and mask what lies beyond the bound"
)
_UNKNOWN_RANK = NoFix(
    "it is not known how many dimensions follow the sliced one: compare `arange` with the bound, and use `where`"
)
_OTHER_SIZE = NoFix(
    "a size must be a number of the program: take it from a shape or the configuration, and mask what is not needed"
)


class Cut(NamedTuple):
    """One slice with tensors as bounds among the indices of a subscript: `whole[before, lower:upper, after]`."""

    whole: cst.BaseExpression
    before: list[cst.BaseSlice]
    lower: cst.BaseExpression | None
    upper: cst.BaseExpression | None
    after: list[cst.BaseSlice]

    @property
    def axis(self) -> int:
        """The dimension that is cut, from the end where `...` stands in front."""
        if any(is_ellipsis(one) for one in self.before):
            return -1 - len(self.after)
        return len(self.before)

    @property
    def plain(self) -> bool:
        """Return whether all other indices leave their dimensions whole."""
        return all(is_full(one) or is_ellipsis(one) for one in (*self.before, *self.after))


def is_full(one: cst.BaseSlice) -> bool:
    """Return whether an index is `:`."""
    return isinstance(one, cst.Slice) and one.lower is None and one.upper is None and one.step is None


def is_ellipsis(one: cst.BaseSlice) -> bool:
    """Return whether an index is `...`."""
    return isinstance(one, cst.Index) and isinstance(one.value, cst.Ellipsis)


def cut_of(scene: FunctionSource, node: cst.CSTNode) -> Cut | None:
    """The only slice with tensors as bounds in a subscript, if there is one and it has no step."""
    if not isinstance(node, cst.Subscript):
        return None
    slices = [element.slice for element in node.slice]
    cut = [index for index, one in enumerate(slices) if isinstance(one, cst.Slice) and _is_cut(scene, one)]
    if len(cut) != 1:
        return None
    one = slices[cut[0]]
    assert isinstance(one, cst.Slice)
    if one.step is not None:
        return None
    return Cut(node.value, slices[: cut[0]], one.lower, one.upper, slices[cut[0] + 1 :])


def _is_cut(scene: FunctionSource, one: cst.Slice) -> bool:
    bounds = [bound for bound in (one.lower, one.upper) if bound is not None]
    return any(type(member) is Tensor for bound in bounds for member in members(scene.value(bound)))


# ----------------------------------------------------------------------------------------------------- windows


def window(site: Site) -> Rewrite | NoFix | None:
    """`x[:, n : n + 4]` → `x.index_select(1, n + torch.arange(4))`, `jax.lax.dynamic_slice_in_dim(x, n, 4, axis=1)`."""
    scene, node = site.scene, site.node
    cut = cut_of(scene, node)
    if cut is None or not cut.plain or cut.lower is None or cut.upper is None:
        return None
    width = _width(scene, cut.lower, cut.upper)
    if width is None or not _is_position(site, cut.lower) or any(scene.descend(scene.statement(node), cst.Comment)):
        return None
    if speculate(scene, [cut.lower], site.framework).barrier:
        return None
    beside = _find_read_beside(scene, node, cut.lower) if site.framework == "torch" else ""
    if beside:
        return NoFix(f"`{brief(beside)}` beside it reads the same number on the host all the same")
    made = _Window(site, cut, cut.lower, width)
    if isinstance(cut.whole, cst.Attribute) and cut.whole.attr.value == "at":
        return made.update()
    if not values.is_tensor(scene.value(cut.whole), site.framework):
        return NoFix(f"`{scene.code(cut.whole)}` is not a tensor in every call")
    assert isinstance(node, cst.Subscript)
    holder = scene.parent(node)
    if isinstance(holder, cst.AssignTarget):
        return made.write(holder)
    if isinstance(holder, (cst.AugAssign, cst.Del)) or _is_changed(scene, node):
        return NoFix("the window is changed in place: compute its new values, and write them with `index_copy_`")
    return made.read(node)


def _width(scene: FunctionSource, lower: cst.BaseExpression, upper: cst.BaseExpression) -> cst.BaseExpression | None:
    """`w` of the bounds `n` and `n + w` or `w + n`, if it is a number that does not come from a tensor's elements."""
    if not isinstance(upper, cst.BinaryOperation) or not isinstance(upper.operator, cst.Add):
        return None
    start = scene.code(lower)
    for first, second in ((upper.left, upper.right), (upper.right, upper.left)):
        if scene.code(first) == start and _is_static(scene, second):
            return second
    return None


def _find_read_beside(scene: FunctionSource, node: cst.CSTNode, lower: cst.BaseExpression) -> str:
    """The code of another slice in the same statement that is no window and is cut by what a window begins at; "" without."""
    names = reads(scene, lower)
    for other in scene.descend(scene.statement(node), cst.Subscript):
        cut = cut_of(scene, other) if other is not node else None
        bounds = [bound for bound in (cut.lower, cut.upper) if bound is not None] if cut is not None else []
        if len(bounds) == 2 and _width(scene, bounds[0], bounds[1]) is not None:
            continue
        if any(names & reads(scene, bound) for bound in bounds):
            return scene.code(other)
    return ""


def _is_static(scene: FunctionSource, node: cst.BaseExpression) -> bool:
    return all(
        (type(one) is Const and type(one.value) is int)
        or (type(one) is Host and one.type == "int" and one.origin != "data")
        for one in members(scene.value(node))
    ) and bool(members(scene.value(node)))


def _is_position(site: Site, node: cst.BaseExpression) -> bool:
    value = site.scene.value(node)
    return values.is_tensor(value, site.framework) and values.rank_of(value) <= 0


def _is_changed(scene: FunctionSource, node: cst.Subscript) -> bool:
    """Return whether a method of the slice itself changes it."""
    holder = scene.parent(node)
    return isinstance(holder, cst.Attribute) and holder.attr.value.endswith("_")


class _Window:
    """Writes a window in the terms of a framework."""

    def __init__(self, site: Site, cut: Cut, start: cst.BaseExpression, width: cst.BaseExpression) -> None:
        self.site, self.scene, self.cut = site, site.scene, cut
        self.imports = Imports(site.scene, site.node)
        self.start, self.width = argument(self.scene, start), argument(self.scene, width)
        self.added = atom(self.scene, start)
        self.assumed = [f"the window lies within `{self.scene.code(cut.whole)}`"]
        if values.rank_of(self.scene.value(start)) != 0:
            self.assumed.append(f"`{self.scene.code(start)}` has no dimensions")

    def read(self, node: cst.Subscript) -> Rewrite:
        """The window as a value."""
        axis = str(self.cut.axis)
        if self.site.framework == "torch":
            result = assigned_name(self.scene, node) or node
            self.assumed += copy_shows(self.scene, self.scene.statement(node), result, [node])
            function, arguments = f"{atom(self.scene, self.cut.whole)}.index_select", [axis, self._places()]
        elif self.site.framework == "jax":
            function = f"{self.imports.name('jax.lax')}.dynamic_slice_in_dim"
            arguments = [argument(self.scene, self.cut.whole), self.start, self.width, f"axis={axis}"]
        else:
            function = f"{self.imports.name('tensorflow')}.gather"
            arguments = [argument(self.scene, self.cut.whole), self._places(), f"axis={axis}"]
        text = call_at(self.scene, node, function, arguments)
        return self._rewrite(function.rpartition(".")[2], Replacement(*bare_extent(self.scene, node), text))

    def write(self, target: cst.AssignTarget) -> Rewrite | NoFix:
        """`x[:, n : n + 4] = y`."""
        assign = self.scene.parent(target)
        if self.site.framework != "torch" or not isinstance(assign, cst.Assign) or len(assign.targets) > 1:
            return _OTHER_LENGTH
        if not values.is_tensor(self.scene.value(assign.value), "torch"):
            return NoFix("what is written is not known to be a tensor: expand it to the window, and use `index_copy_`")
        arguments = [str(self.cut.axis), self._places(), argument(self.scene, assign.value)]
        text = call_at(self.scene, assign, f"{atom(self.scene, self.cut.whole)}.index_copy_", arguments)
        self._assume_fit(assign.value)
        return self._rewrite("index_copy_", Replacement(*self.scene.span(assign), text))

    def update(self) -> Rewrite | NoFix | None:
        """`x.at[:, n : n + 4].set(y)`."""
        method = self.scene.parent(self.site.node)
        call = self.scene.parent(method)
        if not isinstance(method, cst.Attribute) or method.attr.value != "set" or not isinstance(call, cst.Call):
            return None
        value = call.args[0].value if len(call.args) == 1 and call.args[0].keyword is None else None
        assert isinstance(self.cut.whole, cst.Attribute)
        whole = self.cut.whole.value
        if value is None or not values.is_tensor(self.scene.value(value), "jax"):
            return NoFix(
                "what is written is not known to be an array: expand it, and use `dynamic_update_slice_in_dim`"
            )
        function = f"{self.imports.name('jax.lax')}.dynamic_update_slice_in_dim"
        operands = [argument(self.scene, whole), argument(self.scene, value), self.start, f"axis={self.cut.axis}"]
        self.assumed[0] = f"the window lies within `{self.scene.code(whole)}`"
        self._assume_fit(value)
        text = call_at(self.scene, call, function, operands)
        return self._rewrite("dynamic_update_slice_in_dim", Replacement(*bare_extent(self.scene, call), text))

    def _assume_fit(self, value: cst.BaseExpression) -> None:
        self.assumed.append(f"`{self.scene.code(value)}` has the shape and dtype of the window")

    def _places(self) -> str:
        if self.site.framework == "torch" and self.width == "1":
            return f"{self.added}.reshape(1)"
        if self.site.framework == "torch":
            device = f"{atom(self.scene, self.cut.whole)}.device"
            return f"{self.added} + {self.imports.name('torch')}.arange({self.width}, device={device})"
        return f"{self.added} + {self.imports.name('tensorflow')}.range({self.width}, dtype={self.added}.dtype)"

    def _rewrite(self, used: str, replacement: Replacement) -> Rewrite:
        return Rewrite(f"Use `{used}`", (replacement, *self.imports.needed), all_of(self.assumed))


# ------------------------------------------------------------------------------------------------------- fills


def places(site: Site, cut: Cut, imports: Imports, lower: str, upper: str, tail: str) -> str:
    """`torch.arange(x.shape[1], device=x.device) < n`, of the dimension that is cut; `tail` is indexed at the end ("[:, None]")."""
    scene = site.scene
    whole = atom(scene, cut.whole)
    size = f"{whole}.shape[{cut.axis}]"
    if site.framework == "torch":
        every = f"{imports.name('torch')}.arange({size}, device={whole}.device)"
    elif site.framework == "jax":
        every = f"{imports.name('jax.numpy')}.arange({size})"
    else:
        every = f"{imports.name('tensorflow')}.range({size})"
    parts = [f"{every}{tail} {sign} {bound}" for sign, bound in ((">=", lower), ("<", upper)) if bound]
    return parts[0] if len(parts) == 1 else " & ".join(f"({part})" for part in parts)


def write_bound(scene: FunctionSource, node: cst.BaseExpression | None) -> str:
    """A bound as an operand of a comparison."""
    if node is None:
        return ""
    closer = (cst.BinaryOperation, cst.UnaryOperation)
    return scene.code(node) if isinstance(node, closer) else atom(scene, node)


def assigned_cut(site: Site) -> tuple[Cut, cst.Assign] | None:
    """The slice of a PyTorch tensor that a finding is in, where that alone is assigned to."""
    cut = cut_of(site.scene, site.node)
    target = site.scene.parent(site.node)
    assign = site.scene.parent(target) if isinstance(target, cst.AssignTarget) else None
    if cut is None or site.framework != "torch" or not isinstance(assign, cst.Assign) or len(assign.targets) > 1:
        return None
    return cut, assign


def fill_by_mask(site: Site) -> Rewrite | NoFix | None:
    """`x[i, :n] = c` → `x[i].masked_fill_(torch.arange(x.shape[1], device=x.device) < n, c)`."""
    scene = site.scene
    found = assigned_cut(site)
    if found is None:
        return None
    cut, assign = found
    if not values.is_tensor(scene.value(cut.whole), "torch"):
        return NoFix(f"`{scene.code(cut.whole)}` is not a tensor in every call")
    if not values.is_number(scene.value(assign.value)):
        return NoFix(
            "what is written has the length of the slice: compute it for the whole length, and choose with `where`"
        )
    if cut.lower is not None and cut.upper is not None:
        return NoFix("both ends vary: compare `torch.arange` with both, and fill where both hold")
    others = [*cut.before, *cut.after]
    numbers = [one for one in others if isinstance(one, cst.Index) and _is_row(scene, one.value)]
    if any(not is_full(one) and one not in numbers for one in others):
        return NoFix(
            "the other indices are no whole dimensions or Python numbers: compare `torch.arange` with the bounds"
        )
    if values.rank_of(scene.value(cut.whole)) != len(others) + 1:
        return _UNKNOWN_RANK
    imports = Imports(scene, assign)
    after = sum(is_full(one) for one in cut.after)
    mask = places(site, cut, imports, write_bound(scene, cut.lower), write_bound(scene, cut.upper), tail="")
    if after:
        mask = f"({mask})[{', '.join([':', *['None'] * after])}]"
    text = call_at(scene, assign, f"{_rest(scene, cut, numbers)}.masked_fill_", [mask, argument(scene, assign.value)])
    made = (Replacement(*scene.span(assign), text), *imports.needed)
    return Rewrite("Use `masked_fill_`", made, all_of(_assumed_of_fill(scene, cut, assign.value)))


def _is_row(scene: FunctionSource, node: cst.BaseExpression) -> bool:
    """Return whether an index is a Python integer, so that what it gives is a view."""
    return _is_static(scene, node) or all(type(one) is Host and one.type == "int" for one in members(scene.value(node)))


def _rest(scene: FunctionSource, cut: Cut, numbers: list[cst.Index]) -> str:
    """The tensor with the dimension that is cut left whole."""
    if not numbers:
        return atom(scene, cut.whole)
    indices = [*(scene.code(one) for one in cut.before), ":", *(scene.code(one) for one in cut.after)]
    while indices and indices[-1] == ":":
        indices.pop()
    return f"{atom(scene, cut.whole)}[{', '.join(indices)}]"


def _assumed_of_fill(scene: FunctionSource, cut: Cut, value: cst.BaseExpression) -> list[str]:
    given = cut.lower if cut.lower is not None else cut.upper
    assert given is not None
    code, whole = scene.code(given), scene.code(cut.whole)
    assumed = [f"`{code}` is not negative, and on the device of `{whole}`"]
    return assumed + fitting(scene, cut.whole, value)


def fitting(scene: FunctionSource, whole: cst.BaseExpression, value: cst.BaseExpression) -> list[str]:
    """List what must hold for `masked_fill_` to take a number as assignment does, which cuts floats to whole numbers."""
    known = members(scene.value(value))
    whole_numbers = all(one.type != "float" if type(one) is Host else _is_whole(one) for one in known)
    if not whole_numbers and values.dtype_of(scene.value(whole)) != "f":
        return [f"`{scene.code(whole)}` holds floats"]
    return []


def _is_whole(one: Value) -> bool:
    return type(one) is Const and type(one.value) is not float


# -------------------------------------------------------------------------------------------------- reductions


_NEUTRAL = {"sum": "0", "any": "False", "all": "True"}


def reduce_by_mask(site: Site) -> Rewrite | NoFix | None:
    """`x[:, :n].sum()` → `torch.where(torch.arange(x.shape[1]) < n, x, 0).sum()`; `any` and `all` alike."""
    scene, node = site.scene, site.node
    cut = cut_of(scene, node)
    method = scene.parent(node)
    if cut is None or not cut.plain or site.framework not in ("torch", "jax") or not isinstance(method, cst.Attribute):
        return None
    assert isinstance(node, cst.Subscript)
    call = scene.parent(method)
    if method.attr.value not in _NEUTRAL or not isinstance(call, cst.Call) or call.func is not method:
        return None
    if not values.is_tensor(scene.value(cut.whole), site.framework) or not _takes_axis(scene, call, cut):
        return None
    known = values.rank_of(scene.value(cut.whole)) == len(cut.before) + 1 + len(cut.after)
    if not known and cut.axis != -1:
        return _UNKNOWN_RANK
    kind = values.dtype_of(scene.value(cut.whole))
    if method.attr.value != "sum" and kind != "b":
        return NoFix("`any` and `all` of values that are not bools: compare first, and mask what lies beyond the bound")
    imports = Imports(scene, node)
    after = len(cut.after)
    mask = places(site, cut, imports, write_bound(scene, cut.lower), write_bound(scene, cut.upper), tail="")
    if after:
        mask = f"({mask})[{', '.join([':', *['None'] * after])}]"
    module = imports.name("torch" if site.framework == "torch" else "jax.numpy")
    arguments = [mask, argument(scene, cut.whole), _NEUTRAL[method.attr.value]]
    text = call_at(scene, node, f"{module}.where", arguments)
    given = [one for one in (cut.lower, cut.upper) if one is not None]
    assumed = [f"`{scene.code(one)}` is not negative" for one in given if type(scene.value(one)) is Tensor]
    made = (Replacement(*bare_extent(scene, node), text), *imports.needed)
    return Rewrite(f"Use `{module}.where`", made, all_of(assumed) or "the order of a sum does not matter")


def _takes_axis(scene: FunctionSource, call: cst.Call, cut: Cut) -> bool:
    """Return whether a reduction covers the dimension that is cut: it names its number, or covers all."""
    if not call.args:
        return True
    if len(call.args) > 1 or (call.args[0].keyword is not None and call.args[0].keyword.value not in ("dim", "axis")):
        return False
    axis = scene.value(call.args[0].value)
    return type(axis) is Const and axis.value == cut.axis


def other(site: Site) -> NoFix | None:
    """Say what a person would do about forms that have no rewrite."""
    return _OTHER_LENGTH if isinstance(site.node, cst.Subscript) else _OTHER_SIZE
