"""Finds selections by a mask, `x[mask]` under any of its names, and expressions made of several selections by one mask."""

from __future__ import annotations

from typing import NamedTuple

import libcst as cst

from xlalint.abstract.values import Tensor, members
from xlalint.fixes.toolkit import values
from xlalint.fixes.toolkit.dataflow import definition
from xlalint.fixes.toolkit.function_source import FunctionSource
from xlalint.fixes.toolkit.gradients import is_infinite
from xlalint.fixes.toolkit.indexing import read_masked
from xlalint.fixes.toolkit.operations import arguments_of, operation

_DEPTH = 3  # assignments that a value is followed through
SAME_ELEMENTS = frozenset(("bfloat16", "clone", "detach", "double", "float", "half", "int", "long", "to", "type"))


class Selection(NamedTuple):
    """`whole[mask]`. `broadcasts` says that both may have any shapes that fit together, as `masked_select` takes them."""

    node: cst.BaseExpression
    whole: cst.BaseExpression
    mask: cst.BaseExpression
    broadcasts: bool = False


def selection(scene: FunctionSource, node: cst.CSTNode) -> Selection | None:
    """The selection that an expression is: `x[mask]`, `masked_select`, `boolean_mask`, `extract`."""
    if isinstance(node, cst.Subscript):
        index = read_masked(scene, node)
        if index is None or not index.plain or not _may_be_tensor(scene, node.value):
            return None
        return Selection(node, node.value, index.mask)
    if not isinstance(node, cst.Call) or any(arg.keyword is not None or arg.star for arg in node.args):
        return None
    name, given = operation(scene, node), arguments_of(scene, node)
    if len(given) != 2:
        return None
    if name == "gather_nd":
        return _read_gather(scene, node, given[0], given[1])
    if name in ("masked_select", "boolean_mask"):
        return Selection(node, given[0], given[1], name == "masked_select")
    return Selection(node, given[1], given[0], broadcasts=True) if name == "extract" else None


def _read_gather(
    scene: FunctionSource, node: cst.Call, whole: cst.BaseExpression, positions: cst.BaseExpression
) -> Selection | None:
    """`tf.gather_nd(x, tf.where(mask))`."""
    if not isinstance(positions, cst.Call) or operation(scene, positions) != "where":
        return None
    mask = arguments_of(scene, positions)
    alone = len(positions.args) == 1 and values.is_bool(scene.value(mask[0]))
    return Selection(node, whole, mask[0]) if alone else None


def _may_be_tensor(scene: FunctionSource, node: cst.BaseExpression) -> bool:
    return any(isinstance(member, Tensor) for member in members(scene.value(node)))


def find_selection(scene: FunctionSource, node: cst.BaseExpression, depth: int = _DEPTH) -> str:
    """The code of a selection by a mask that an expression is computed from, here or by a name: its size changes all the same."""
    for one in scene.descend(node, cst.Subscript, cst.Call, cst.Name):
        picked = selection(scene, one)
        if picked is not None and values.is_bool(scene.value(picked.mask)):
            return scene.code(one)
        made = definition(scene, one) if depth and isinstance(one, cst.Name) else None
        found = find_selection(scene, made.value, depth - 1) if made is not None else ""
        if found:
            return found
    return ""


def find_selections(scene: FunctionSource, node: cst.BaseExpression, mask: str) -> list[Selection]:
    """The selections, all by one mask, of which an expression is made by sums, signs, numbers, products and casts; none for another."""
    found: list[Selection] = []
    return found if _is_made_of(scene, node, mask, found) else []


def _is_made_of(scene: FunctionSource, node: cst.BaseExpression, mask: str, found: list[Selection]) -> bool:
    if values.is_number(scene.value(node)):
        return not is_infinite(scene, node)
    one = selection(scene, node)
    if one is not None:
        found.append(one)
        return scene.code(one.mask) == mask
    if isinstance(node, cst.UnaryOperation) and isinstance(node.operator, (cst.Minus, cst.BitInvert)):
        return _is_made_of(scene, node.expression, mask, found)
    if isinstance(node, cst.BinaryOperation) and isinstance(node.operator, (cst.Add, cst.Subtract, cst.Multiply)):
        return _is_made_of(scene, node.left, mask, found) and _is_made_of(scene, node.right, mask, found)
    if isinstance(node, cst.Call) and isinstance(node.func, cst.Attribute) and node.func.attr.value in SAME_ELEMENTS:
        return _is_made_of(scene, node.func.value, mask, found)
    return False


def has_product(scene: FunctionSource, node: cst.BaseExpression) -> bool:
    """Return whether an expression multiplies tensors. A gradient of zero then meets unselected elements, which may be infinite."""
    return any(
        isinstance(one.operator, cst.Multiply)
        and not any(values.is_number(scene.value(side)) for side in (one.left, one.right))
        for one in scene.descend(node, cst.BinaryOperation)
    )


def without_mask(scene: FunctionSource, node: cst.BaseExpression, found: list[Selection]) -> str:
    """An expression's code with each selection put as the whole."""
    start, end = scene.span(node)
    text = scene.document.text
    pieces: list[str] = []
    for one in found:
        first, last = scene.span(one.node)
        pieces += [text[start:first], scene.code(one.whole)]
        start = last
    return "".join([*pieces, text[start:end]]).replace("\r\n", "\n")
