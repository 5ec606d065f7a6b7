"""XLA602: operations that run on the CPU → ones that XLA has kernels for, where these give the same."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import libcst as cst

from xlalint.abstract.values import Const, Value
from xlalint.fixes.model import NoFix, Rewrite, Site, all_of
from xlalint.fixes.toolkit import values
from xlalint.fixes.toolkit.dataflow import definition
from xlalint.fixes.toolkit.function_source import FunctionSource, Replacement
from xlalint.fixes.toolkit.operations import MAKERS, RANDOM, arguments_of, is_method, operation
from xlalint.fixes.toolkit.shapes import Types
from xlalint.fixes.toolkit.text import atom, bare_extent, brief, stands_alone

_LONGEST_REPEATED = 24  # characters of code
_READING = frozenset(("cpu", "item", "numpy", "tolist"))


class _Use(NamedTuple):
    """A call that falls back: its arguments by name."""

    scene: FunctionSource
    node: cst.Call
    given: dict[str, cst.BaseExpression]

    def value(self, name: str) -> Value | None:
        """Return what is known of an argument; None if it is not given."""
        return self.scene.value(self.given[name]) if name in self.given else None

    def constant(self, name: str, default: object) -> object:
        """The constant that an argument is; `...` where it is none that is known."""
        value = self.value(name)
        return default if value is None else value.value if isinstance(value, Const) else ...

    def operand(self, name: str) -> str:
        """An argument's code, fit to call a method of."""
        return atom(self.scene, self.given[name])

    def number(self, name: str) -> bool:
        """Return whether an argument is a Python number."""
        value = self.value(name)
        return value is not None and values.is_number(value)

    def tensor(self, name: str) -> bool:
        """Return whether an argument is surely a tensor."""
        value = self.value(name)
        return value is not None and values.is_tensor(value, "torch")

    def repeatable(self, *names: str) -> NoFix | None:
        """Why arguments cannot be written twice."""
        for name in names:
            code = self.scene.code(self.given[name])
            if not isinstance(self.given[name], (cst.Name, cst.Attribute)) or len(code) > _LONGEST_REPEATED:
                return NoFix(f"`{brief(code)}` would be computed more than once: give it a name")
        return None

    def rewrite_in_place(self, text: str, message: str, assumes: str = "") -> Rewrite:
        """Code that binds as closely as a name, in the call's place."""
        return Rewrite(message, (Replacement(*self.scene.span(self.node), text),), assumes)

    def open(self, text: str, message: str, assumes: str = "") -> Rewrite:
        """Code that is an operation, in the call's place: in parentheses where need be."""
        if stands_alone(self.scene, self.node):
            return self.rewrite_in_place(text, message, assumes)
        return Rewrite(message, (Replacement(*bare_extent(self.scene, self.node), f"({text})"),), assumes)

    def rename_callee(self, name: str) -> Replacement | None:
        """The callee's last name replaced; None where it was imported by itself."""
        func = self.node.func
        return Replacement(*self.scene.span(func.attr), name) if isinstance(func, cst.Attribute) else None


_ROOM = "memory is enough for all comparisons at once"
_NO_NAN = "there is no NaN"
_LONGEST = 80  # columns of code in place of one call
_OTHER = NoFix(
    "XLA has no kernel that gives the same: do this in the input pipeline, less often than each step, or use another operation"
)


def on_device(site: Site) -> Rewrite | NoFix | None:
    """`torch.bucketize(x, edges)` → `(edges < x[..., None]).sum(-1)`, and the like."""
    scene, node = site.scene, site.node
    if not isinstance(node, cst.Call) or site.hazard.variant:
        return None
    name = operation(scene, node)
    if name not in RANDOM and not name.endswith("_") and not any(scene.descend(node, cst.Comment)):
        read = _on_host(scene, node)
        if read is not None:
            return read
    if name not in _WRITERS:
        return _OTHER
    params, write = _WRITERS[name]
    positional = arguments_of(scene, node)
    options = {arg.keyword.value: arg.value for arg in node.args if arg.keyword is not None}
    known = {param.lstrip("*") for param in params}
    if len(positional) > sum(not param.startswith("*") for param in params) or not known >= set(options):
        return _OTHER
    if any(arg.star for arg in node.args) or any(scene.descend(node, cst.Comment)):
        return _OTHER
    return write(_Use(scene, node, {**dict(zip(params, positional, strict=False)), **options}))


def _on_host(scene: FunctionSource, node: cst.Call) -> Rewrite | None:
    """`x.median().item()` → `x.cpu().median().item()`: what is read at once need not go back to the device, and is the same."""
    if not _is_read(scene, node):
        return None
    receiver = [node.func.value] if isinstance(node.func, cst.Attribute) and is_method(scene, node) else []
    given = [*receiver, *(arg.value for arg in node.args)]
    source = given[0] if given else None
    others = [scene.value(one) for one in given[1:]]
    if source is None or any(arg.star for arg in node.args) or not values.is_tensor(scene.value(source), "torch"):
        return None
    if not all(values.is_number(one) or isinstance(one, Const) for one in others):
        return None
    copied = Replacement(*bare_extent(scene, source), f"{atom(scene, source)}.cpu()")
    return Rewrite("Compute it on the host, which reads it", (copied,))


def _is_read(scene: FunctionSource, node: cst.Call) -> bool:
    """Return whether the result of a call goes to the host at once: `x.median().item()`, `float(x.median())`."""
    holder = scene.parent(node)
    around = scene.parent(holder)
    if not isinstance(around, cst.Call):
        return False
    if isinstance(holder, cst.Attribute):
        return around.func is holder and holder.attr.value in _READING and not around.args
    return isinstance(holder, cst.Arg) and values.callee(scene.value(around.func)) in ("builtins.float", "builtins.int")


# -------------------------------------------------------------------------------------------------- searching


def _rewrite_search(use: _Use, edges: str, wanted: str) -> Rewrite | NoFix | None:
    """The place of each value among sorted edges: how many of these are below it."""
    right = use.constant("right", False)
    side = use.constant("side", None)
    if right is ... or side is ... or use.constant("out_int32", False) is not False or "sorter" in use.given:
        return _OTHER
    sign = "<=" if right or side == "right" else "<"
    if not use.number(wanted) and _may_be_many(use.scene, use.given[edges]):
        return NoFix(
            f"`{brief(use.scene.code(use.given[edges]))}` may be long, and each value would be compared with all of it"
        )
    if not use.tensor(edges):
        return NoFix(f"`{brief(use.scene.code(use.given[edges]))}` is not known to be a tensor")
    message = f"Count the edges with `{sign}`"
    if use.number(wanted):
        return use.rewrite_in_place(f"({use.operand(edges)} {sign} {use.operand(wanted)}).sum(-1)", message, _NO_NAN)
    if not use.tensor(wanted):
        return NoFix(f"`{brief(use.scene.code(use.given[wanted]))}` is not known to be a tensor")
    flat = edges == "boundaries" or values.rank_of(use.scene.value(use.given[edges])) == 1
    left = use.operand(edges) if flat else f"{use.operand(edges)}[..., None, :]"
    text = f"({left} {sign} {use.operand(wanted)}[..., None]).sum(-1)"
    more = "" if flat else f", `{use.scene.code(use.given[wanted])}` has a dimension"
    return use.rewrite_in_place(text, message, f"{_ROOM}{more} and {_NO_NAN}")


def _may_be_many(scene: FunctionSource, edges: cst.BaseExpression) -> bool:
    """Return whether edges are computed of data, by a name: those that are written out, spaced or kept by a layer are few."""
    made = definition(scene, edges) if isinstance(edges, cst.Name) else None
    if made is None:
        return False
    call = made.value
    return not isinstance(call, cst.Call) or operation(scene, call) not in _SPACED


_SPACED = MAKERS | {"as_tensor", "logspace", "tensor", "quantile", "to"}


def _search_sorted(use: _Use) -> Rewrite | NoFix | None:
    return _rewrite_search(use, "sorted_sequence", "input")


def _bucketize(use: _Use) -> Rewrite | NoFix | None:
    return _rewrite_search(use, "boundaries", "input")


def _is_in(use: _Use) -> Rewrite | NoFix | None:
    invert = use.constant("invert", False)
    if invert is ... or not use.tensor("elements"):
        return _OTHER
    sign, word = ("!=", "all") if invert else ("==", "any")
    if use.number("test_elements"):
        return use.open(f"{use.operand('elements')} {sign} {use.operand('test_elements')}", f"Compare with `{sign}`")
    if not use.tensor("test_elements"):
        return _OTHER
    flat = values.rank_of(use.scene.value(use.given["test_elements"])) == 1
    tested = use.operand("test_elements") + ("" if flat else ".flatten()")
    text = f"({use.operand('elements')}[..., None] {sign} {tested}).{word}(-1)"
    return use.rewrite_in_place(text, f"Compare each with all by `{sign}` and `{word}`", _ROOM)


# ------------------------------------------------------------------------------------------ order and extrema


def _median(use: _Use) -> Rewrite | NoFix | None:
    """The median is the element in the middle, the lower one of two."""
    tie = f"{_NO_NAN}, and which of equal elements is taken does not matter"
    if not use.tensor("input"):
        return _OTHER
    if "dim" not in use.given:
        if "keepdim" in use.given:
            return _OTHER
        refused = use.repeatable("input")
        source = use.operand("input")
        return refused or use.rewrite_in_place(
            f"{source}.flatten().kthvalue(({source}.numel() + 1) // 2).values", "Use `kthvalue`", tie
        )
    refused = use.repeatable("input")
    if refused is not None:
        return refused
    source, dim = use.operand("input"), use.scene.code(use.given["dim"])
    keep = f", {use.scene.code(use.given['keepdim'])}" if "keepdim" in use.given else ""
    return use.rewrite_in_place(
        f"{source}.kthvalue(({source}.shape[{dim}] + 1) // 2, {dim}{keep})", "Use `kthvalue`", tie
    )


def _larger(use: _Use) -> Rewrite | NoFix | None:
    used = operation(use.scene, use.node)
    name = {"fmax": "maximum", "fmin": "minimum"}[used]
    if any(used in one.value for one in use.scene.descend(use.scene.statement(use.node), cst.Comment)):
        return NoFix(f"a comment says why it is `{used}`: replace NaN in front of `{name}`")
    renamed = use.rename_callee(name)
    return Rewrite(f"Use `{name}`", (renamed,), _NO_NAN) if renamed is not None else _OTHER


# ------------------------------------------------------------------------------------------------- arithmetic


def _huber(use: _Use) -> Rewrite | NoFix | None:
    """Huber's loss is the smooth one times its threshold."""
    delta = use.constant("delta", 1.0)
    renamed = use.rename_callee("smooth_l1_loss")
    if renamed is None or not isinstance(delta, (int, float)) or "weight" in use.given:
        return _OTHER
    scene, node = use.scene, use.node
    one, two = (use.given[name] for name in ("input", "target"))
    types = Types(scene, "torch")
    told = types.of(one).dtype == types.of(two).dtype != ""
    mixed = "" if told else f"`{brief(scene.code(one))}` and `{brief(scene.code(two))}` have one dtype"
    if "delta" not in use.given:
        return Rewrite("Use `smooth_l1_loss`", (renamed,), mixed)
    named = [arg for arg in node.args if arg.keyword is not None and arg.keyword.value == "delta"]
    if not named or named[0].keyword is None:
        return NoFix("pass `delta` by keyword")
    renames = (renamed, Replacement(*scene.span(named[0].keyword), "beta"))
    if delta == 1:
        return Rewrite("Use `smooth_l1_loss`", renames, mixed)
    if not stands_alone(scene, node):
        return NoFix("write `delta * F.smooth_l1_loss(…, beta=delta)`")
    start, _ = scene.span(node)
    times = Replacement(start, start, f"{scene.code(use.given['delta'])} * ")
    assumes = all_of(filter(None, (mixed, "the last digit does not matter")))
    return Rewrite("Use `smooth_l1_loss` times the threshold", (times, *renames), assumes)


def _cross(use: _Use) -> Rewrite | NoFix | None:
    linear = values.callee(use.scene.value(use.node.func)) == "torch.linalg.cross"
    if "dim" not in use.given and not linear:
        return NoFix("pass `dim`: the default is the first dimension of size 3")
    if not use.tensor("input") or not use.tensor("other"):
        return _OTHER
    refused = use.repeatable("input", "other")
    if refused is not None:
        return refused
    one, two = use.operand("input"), use.operand("other")
    dim = use.scene.code(use.given["dim"]) if "dim" in use.given else "-1"
    text = f"{one}.roll(-1, {dim}) * {two}.roll(-2, {dim}) - {one}.roll(-2, {dim}) * {two}.roll(-1, {dim})"
    if len(text) > _LONGEST:
        return NoFix("written out it is long: write a function that multiplies tensors shifted by `roll`")
    return use.open(text, "Multiply tensors shifted by `roll`", "the last digit does not matter")


def _nan_sum(use: _Use) -> Rewrite | NoFix | None:
    refused = use.repeatable("input")
    if refused is not None or not use.tensor("input"):
        return refused or _OTHER
    scene, node = use.scene, use.node
    source = use.given["input"]
    filled = f"{use.operand('input')}.masked_fill({use.operand('input')}.isnan(), 0)"
    name = use.rename_callee("sum")
    if name is None:
        return _OTHER
    assert is_method(scene, node) or node.args
    return Rewrite("Sum with 0 in the place of NaN", (Replacement(*scene.span(source), filled), name))


_WRITERS: dict[str, tuple[tuple[str, ...], Callable[[_Use], Rewrite | NoFix | None]]] = {
    "searchsorted": (
        ("sorted_sequence", "input", "*out_int32", "*right", "*side", "*sorter"),
        _search_sorted,
    ),
    "bucketize": (("input", "boundaries", "*out_int32", "*right"), _bucketize),
    "isin": (("elements", "test_elements", "*assume_unique", "*invert"), _is_in),
    "median": (("input", "dim", "keepdim"), _median),
    "fmax": (("input", "other"), _larger),
    "fmin": (("input", "other"), _larger),
    "huber_loss": (("input", "target", "reduction", "delta", "weight"), _huber),
    "cross": (("input", "other", "dim"), _cross),
    "nansum": (("input", "dim", "keepdim", "*dtype"), _nan_sum),
}
