"""Chained comparisons of tensors taken apart: `low < x < high` as `(low < x) & (x < high)`, which gives the same bools."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import libcst as cst

from xlalint.fixes.toolkit import values
from xlalint.fixes.toolkit.function_source import FunctionSource
from xlalint.fixes.toolkit.shapes import SCALAR, Types
from xlalint.fixes.toolkit.speculation import speculate

_LONGEST_TWICE = 24  # characters of code that a chained comparison may say twice
_COMPARING = (cst.LessThan, cst.LessThanEqual, cst.GreaterThan, cst.GreaterThanEqual, cst.Equal, cst.NotEqual)


def is_chain(node: cst.CSTNode) -> bool:
    """Return whether a node is a comparison of more than two operands."""
    return isinstance(node, cst.Comparison) and len(node.comparisons) > 1


def refusal_of_chain(scene: FunctionSource, node: cst.Comparison, framework: str) -> str:
    """Why a chained comparison cannot be taken apart, a line; "" if it can."""
    if not all(isinstance(one.operator, _COMPARING) for one in node.comparisons):
        return "the chain contains `in` or `is`: write its parts with `&` between them"
    if any(scene.descend(node, cst.Comment)):
        return "there is a comment inside the comparison: write its parts with `&` between them"
    for middle in node.comparisons[:-1]:
        code = scene.code(middle.comparator)
        if speculate(scene, [middle.comparator], framework).barrier or len(code) > _LONGEST_TWICE:
            return f"`{code}` would be computed twice: give it a name, and write the comparisons with `&` between them"
    for operand in list_operands(node):
        value = scene.value(operand)
        if not values.is_tensor(value, framework) and not values.is_number(value):
            return f"`{scene.code(operand)}` is not known to be a tensor or a number"
    barrier = speculate(scene, list_operands(node)[2:], framework).barrier
    return f"{barrier}, and the comparison before it decides whether that happens" if barrier else ""


def assumed_of_chain(scene: FunctionSource, node: cst.Comparison, framework: str) -> Iterator[str]:
    """Yield what has to be so for the parts to give what the chain gave."""
    types = Types(scene, framework)
    if not _one_shape(types.of(one).shape for one in list_operands(node)):
        yield "the operands have one shape"
    for code in speculate(scene, list_operands(node)[2:], framework).risks:
        yield f"`{code}` can always be computed"


def _one_shape(shapes: Iterable[str]) -> bool:
    """Return whether tensors surely have one shape. Numbers and tensors without dimensions fit any."""
    found = set(shapes) - {SCALAR}
    return len(found) < 2 and "" not in found


def list_operands(node: cst.Comparison) -> list[cst.BaseExpression]:
    """List all that a comparison compares, in order."""
    return [node.left, *(one.comparator for one in node.comparisons)]


def pairs_of(scene: FunctionSource, node: cst.Comparison) -> Iterator[str]:
    """Yield the code of each two neighbours compared, in parentheses."""
    left = node.left
    for one in node.comparisons:
        sign = scene.code(one.operator)
        yield f"({_side(scene, left)} {sign} {_side(scene, one.comparator)})"
        left = one.comparator


def _side(scene: FunctionSource, node: cst.BaseExpression) -> str:
    code = scene.code(node)
    return f"({code})" if node.lpar else code
