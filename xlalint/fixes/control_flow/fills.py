"""XLA101: `if t:` around fills in place → the same fills, whose mask asks `t` as well.

`if t: x.masked_fill_(m, 0)` is `x.masked_fill_(m & t, 0)`, and `if t: x[:, 0] = 0` is `x[:, 0].masked_fill_(t, 0)`: a mask that is false
everywhere fills nothing.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import libcst as cst

from xlalint.abstract.values import Const, members
from xlalint.fixes.model import NoFix, Rewrite, Site, all_of
from xlalint.fixes.toolkit import values
from xlalint.fixes.toolkit.conditions import Condition, condition, holder_of
from xlalint.fixes.toolkit.dataflow import binds, live_after
from xlalint.fixes.toolkit.function_source import FunctionSource, Replacement
from xlalint.fixes.toolkit.imports import Imports
from xlalint.fixes.toolkit.operations import arguments_of, is_method, operation
from xlalint.fixes.toolkit.speculation import assignments, assume_computable, speculate
from xlalint.fixes.toolkit.text import ATOMS, atom, brief, call, lift_block, movable, width_of


class _Fill(NamedTuple):
    """A statement that fills a tensor, or what a mask picks of it, with a number. `given` is all that it computes."""

    statement: cst.BaseSmallStatement
    whole: cst.BaseExpression
    mask: cst.BaseExpression | None
    number: str
    given: tuple[cst.BaseExpression, ...]


def fill_where_both(site: Site) -> Rewrite | NoFix | None:
    """The fills of a block, and what it computes for them alone, without the `if`."""
    scene = site.scene
    node = holder_of(scene, site.node)
    if site.framework != "torch" or not isinstance(node, cst.If) or node.orelse is not None:
        return None
    lines = [line for line in node.body.body if isinstance(line, cst.SimpleStatementLine)]
    fills = [fill for line in lines if (fill := _read_fill(scene, line)) is not None]
    if not fills or len(lines) < len(node.body.body) or isinstance(scene.parent(node), cst.If):
        return None
    rest = [line for line in lines if _read_fill(scene, line) is None]
    if not all(_is_temporary(scene, node, line) for line in rest) or not movable(scene, lines):
        return None
    asked = condition(scene, node.test, site.framework, Imports(scene, node))
    if isinstance(asked, NoFix):
        return asked
    if asked.rank > 0:
        return NoFix(f"`{brief(asked.text)}` has dimensions: it is no condition for all elements")
    assumes = _assume(scene, site.framework, asked, rest, fills)
    return assumes if isinstance(assumes, NoFix) else _rewrite(scene, node, asked, fills, assumes)


def _read_fill(scene: FunctionSource, line: cst.SimpleStatementLine) -> _Fill | None:
    one = line.body[0]
    if len(line.body) > 1:
        return None
    if isinstance(one, cst.Assign) and len(one.targets) == 1:
        target, value = one.targets[0].target, one.value
        if isinstance(target, cst.Subscript) and _is_view(scene, target) and _fits(scene, target.value, value):
            return _Fill(one, target, None, scene.code(value), (target,))
        return None
    filled = one.value if isinstance(one, cst.Expr) else None
    if not isinstance(filled, cst.Call) or not is_method(scene, filled) or any(arg.keyword for arg in filled.args):
        return None
    name, given = operation(scene, filled), tuple(arguments_of(scene, filled))
    if not _is_on_device(scene, given[0]):
        return None
    if name == "zero_" and len(given) == 1:
        return _Fill(one, given[0], None, "0", given)
    if name == "fill_" and len(given) == 2 and _fits(scene, given[0], given[1]):
        return _Fill(one, given[0], None, scene.code(given[1]), given)
    if name == "masked_fill_" and len(given) == 3 and values.is_number(scene.value(given[2])):
        return _Fill(one, given[0], given[1], scene.code(given[2]), given)
    return None


def _is_view(scene: FunctionSource, target: cst.Subscript) -> bool:
    """Return whether an index of a tensor of torch's gives a view: it has slices, numbers, `None` and `...` alone."""
    parts = [one.slice for one in target.slice]
    indices = [one.value for one in parts if isinstance(one, cst.Index)]
    plain = all(isinstance(one, cst.Ellipsis) or _is_none(one) or _is_whole(scene, one) for one in indices)
    slices = [one for one in parts if isinstance(one, cst.Slice)]
    limits = [limit for one in slices for limit in (one.lower, one.upper, one.step) if limit is not None]
    return plain and all(_is_whole(scene, one) for one in limits) and _is_on_device(scene, target.value)


def _is_on_device(scene: FunctionSource, node: cst.BaseExpression) -> bool:
    """Return whether a tensor is where the condition is: one in host memory takes no mask of the device."""
    return values.are_on_device(members(scene.value(node)))


def _is_none(node: cst.BaseExpression) -> bool:
    return isinstance(node, cst.Name) and node.value == "None"


def _is_whole(scene: FunctionSource, node: cst.BaseExpression) -> bool:
    return values.is_whole(scene.value(node))


def _fits(scene: FunctionSource, whole: cst.BaseExpression, number: cst.BaseExpression) -> bool:
    """Return whether `masked_fill_` takes a number for a tensor that an assignment would convert: no float for integers, and what float16
    can hold.
    """
    value = scene.value(number)
    if type(value) is not Const or not isinstance(value.value, (float, int)) or _HALF < abs(value.value) < math.inf:
        return False
    return not isinstance(value.value, float) or values.dtype_of(scene.value(whole)) == "f"


_HALF = 65504  # the largest float16


def _is_temporary(scene: FunctionSource, node: cst.If, line: cst.SimpleStatementLine) -> bool:
    """Return whether a statement only computes something that is not seen after the block."""
    found = assignments(line)
    return len(found) == len(line.body) == 1 and not live_after(scene, node, found[0][0])


def _assume(
    scene: FunctionSource, framework: str, asked: Condition, rest: list[cst.SimpleStatementLine], fills: list[_Fill]
) -> list[str] | NoFix:
    """List what must hold for a block to do nothing but fill, whatever the condition is."""
    computed = [*rest, *(one for fill in fills for one in fill.given)]
    found = speculate(scene, computed, framework, asked.tensors)
    if found.barrier:
        return NoFix(found.barrier)
    assumes = [] if asked.rank == 0 else [f"`{brief(asked.text)}` has no dimensions"]
    assumes += asked.assumes
    assumes += assume_computable(found.risks)
    return assumes + [f"`{brief(scene.code(one.whole))}` may be written into where nothing is filled" for one in fills]


def _rewrite(scene: FunctionSource, node: cst.If, asked: Condition, fills: list[_Fill], assumes: list[str]) -> Rewrite:
    text, edits = asked.text, []
    bound = {name for line in node.body.body for name in binds(scene, line)}
    if len(fills) > 1 or asked.names & bound:
        name = scene.fresh("condition")
        start = scene.span(node.body.body[0])[0]
        edits.append(Replacement(start, start, f"{name} = {text}\n{scene.indent(node.body.body[0])}"))
        text = name
    alone = isinstance(cst.parse_expression(text), ATOMS)
    for fill in fills:
        operand = text if alone or (fill.mask is None and not asked.turned) else f"({text})"
        operand = f"~{operand}" if asked.turned else operand
        mask = operand if fill.mask is None else f"{atom(scene, fill.mask)} & {operand}"
        indent = scene.indent(fill.statement)
        function = f"{atom(scene, fill.whole)}.masked_fill_"
        made = call(function, [mask, fill.number], len(indent), indent, width=width_of(scene))
        edits.append(Replacement(*scene.span(fill.statement), made))
    return Rewrite("Fill where the condition holds, too", lift_block(scene, node, asked.static, edits), all_of(assumes))
