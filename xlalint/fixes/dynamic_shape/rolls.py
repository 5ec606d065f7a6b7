"""XLA206: a roll by a tensor's value → an index that is computed on the device.

`x.roll(int(t), 1)` takes along a dimension the places `(arange - t) % size`: the same elements, in memory of their own, and each gives its
gradient back to where it came from. The graph is the same for each value.
"""

from __future__ import annotations

from typing import NamedTuple

import libcst as cst

from xlalint.abstract.values import UNKNOWN, Const, Tensor, members
from xlalint.fixes.model import NoFix, Rewrite, Site, all_of
from xlalint.fixes.toolkit import values
from xlalint.fixes.toolkit.function_source import FunctionSource, Replacement
from xlalint.fixes.toolkit.imports import Imports
from xlalint.fixes.toolkit.operations import arguments_of, operation
from xlalint.fixes.toolkit.text import atom, call_at


class _Shift(NamedTuple):
    """By how much is rolled: a tensor, and the sign by which it moves the places that are taken."""

    tensor: cst.BaseExpression
    sign: str


def roll_by_index(site: Site) -> Rewrite | NoFix | None:
    """`x.roll(int(t), 1)` → `x.index_select(1, (torch.arange(x.shape[1], device=x.device) - t) % x.shape[1])`."""
    scene, node = site.scene, site.node
    if site.framework != "torch" or not isinstance(node, cst.Call):
        return None
    given = _arguments(scene, node)
    shift = _read_shift(scene, given["shifts"]) if {"input", "shifts"} <= given.keys() else None
    if shift is None:
        return None
    if "dims" not in given:
        return NoFix("all elements are rolled as one row: roll `x.flatten()` along its only dimension")
    dim = _read_dim(scene, given["dims"])
    if dim is None:
        return NoFix("it is rolled along several dimensions, or the dimension is not known: roll along each by itself")
    whole, code = given["input"], scene.code(shift.tensor)
    if not isinstance(whole, (cst.Name, cst.Attribute)):
        return NoFix(f"give `{scene.code(whole)}` a name of its own, from which its size can be told")
    assumed = _check_shift(scene, shift.tensor)
    if isinstance(assumed, NoFix):
        return assumed
    if not values.is_tensor(scene.value(whole), "torch"):
        assumed.append(f"`{scene.code(whole)}` is a tensor")
    if isinstance(whole, cst.Attribute) != isinstance(shift.tensor, cst.Attribute):
        assumed.append(f"`{code}` is on the device of `{scene.code(whole)}`")
    imports, name = Imports(scene, node), scene.code(whole)
    size = f"{name}.shape[{dim}]"
    moved = f"{imports.name('torch')}.arange({size}, device={name}.device) {shift.sign} {atom(scene, shift.tensor)}"
    edits = (*_write(scene, node, f"{name}.index_select", str(dim), moved, size), *imports.needed)
    return Rewrite("Roll by an index", edits, all_of(assumed))


def _write(
    scene: FunctionSource, node: cst.Call, function: str, dim: str, moved: str, size: str
) -> tuple[Replacement, ...]:
    """The index in the place of a roll; where that is too long for a line, the places by a name, on a line above."""
    text = call_at(scene, node, function, [dim, f"({moved}) % {size}"])
    statement = scene.statement(node)
    if "\n" not in text or not isinstance(statement, cst.SimpleStatementLine) or _may_not_run(scene, node, statement):
        return (Replacement(*scene.span(node), text),)
    places, at = scene.fresh("places"), scene.span(statement)[0]
    text = call_at(scene, node, function, [dim, f"{places} % {size}"])
    line = f"{places} = {moved}\n{scene.indent(statement)}"
    return Replacement(at, at, line), Replacement(*scene.span(node), text)


def _may_not_run(scene: FunctionSource, node: cst.Call, statement: cst.SimpleStatementLine) -> bool:
    """Return whether a call runs never or several times in its statement, or behind something that the statement does first."""
    within = [one for one in scene.above(node) if scene.holds(statement, one)]
    apart = (cst.BooleanOperation, cst.CompFor, cst.IfExp, cst.Lambda, cst.NamedExpr, cst.BaseComp)
    return len(statement.body) > 1 or any(isinstance(one, apart) for one in within)


def _arguments(scene: FunctionSource, node: cst.Call) -> dict[str, cst.BaseExpression]:
    """The arguments of a roll, by name; none of another call."""
    if any(arg.star for arg in node.args):
        return {}
    method = (
        isinstance(node.func, cst.Attribute)
        and node.func.attr.value == "roll"
        and _may_be_tensor(scene, node.func.value)
    )
    if not method and values.callee(scene.value(node.func)) != "torch.roll":
        return {}
    whole = [node.func.value] if method and isinstance(node.func, cst.Attribute) else []
    placed = [*whole, *(arg.value for arg in node.args if arg.keyword is None)]
    given = dict(zip(("input", "shifts", "dims"), placed, strict=False))
    return given | {arg.keyword.value: arg.value for arg in node.args if arg.keyword is not None}


def _may_be_tensor(scene: FunctionSource, node: cst.BaseExpression) -> bool:
    """Return whether an expression is a tensor of torch's as far as it is known."""
    found = [one for one in members(scene.value(node)) if one is not UNKNOWN]
    return bool(found) and all(type(one) is Tensor and one.framework == "torch" for one in found)


def _read_shift(scene: FunctionSource, node: cst.BaseExpression) -> _Shift | None:
    """The tensor whose value is what a roll moves by, read on the host: `int(t)`, `-t.item()`. The tensor itself is refused."""
    if isinstance(node, (cst.Tuple, cst.List)):
        return _read_shift(scene, node.elements[0].value) if len(node.elements) == 1 else None
    if isinstance(node, cst.UnaryOperation) and isinstance(node.operator, cst.Minus):
        inner = _read_shift(scene, node.expression)
        return inner and _Shift(inner.tensor, "-" if inner.sign == "+" else "+")
    if isinstance(node, cst.Call):
        read, given = operation(scene, node) or values.callee(scene.value(node.func)), arguments_of(scene, node)
        if read in ("builtins.int", "int", "item") and len(given) == 1 and not any(arg.keyword for arg in node.args):
            return _Shift(given[0], "-") if values.is_tensor(scene.value(given[0]), "torch") else None
    return None


def _read_dim(scene: FunctionSource, node: cst.BaseExpression) -> int | None:
    """The one dimension that is rolled along."""
    if isinstance(node, (cst.Tuple, cst.List)):
        return _read_dim(scene, node.elements[0].value) if len(node.elements) == 1 else None
    value = scene.value(node)
    return value.value if type(value) is Const and type(value.value) is int else None


def _check_shift(scene: FunctionSource, node: cst.BaseExpression) -> list[str] | NoFix:
    """List what must hold for a tensor to be one whole number."""
    value, code = scene.value(node), scene.code(node)
    if values.dtype_of(value) not in ("i", "") or values.rank_of(value) > 0:
        return NoFix(f"`{code}` is not known to be one whole number")
    told = "" if values.rank_of(value) == 0 else "one " if values.dtype_of(value) == "i" else "one whole "
    if told:
        return [f"`{code}` is {told}number"]
    return [] if values.dtype_of(value) == "i" else [f"`{code}` is a whole number"]
