"""Whether a name is the only way to a tensor, so that it may be given a new tensor where the old one was changed in place."""

from __future__ import annotations

import libcst as cst

from xlalint.fixes import values
from xlalint.fixes.dataflow import definition
from xlalint.fixes.operations import AS_FIRST_IF_FLOAT, BOOLEAN, JOINED, operation
from xlalint.fixes.scene import Scene

# What gives a tensor of its own. Casts, `contiguous` and views may give what they got.
_FRESH = (
    AS_FIRST_IF_FLOAT
    | BOOLEAN
    | JOINED
    | frozenset(
        (
            "arange",
            "bmm",
            "clone",
            "cumsum",
            "empty",
            "empty_like",
            "eye",
            "full",
            "full_like",
            "linspace",
            "masked_fill",
            "masked_scatter",
            "matmul",
            "mean",
            "ones",
            "ones_like",
            "rand",
            "rand_like",
            "randn",
            "randn_like",
            "roll",
            "stack",
            "sum",
            "tril",
            "triu",
            "where",
            "zeros",
            "zeros_like",
        )
    )
)


def owned(scene: Scene, statement: cst.CSTNode, name: cst.Name) -> bool:
    """Whether the tensor that a name holds at a statement was made under that name, and went nowhere else until then."""
    made = definition(scene, name)
    if made is None or not _is_fresh(scene, made.value):
        return False
    start, end = scene.span(made)[1], scene.span(statement)[0]
    function = scene.function(name)
    if function is None:
        return False
    if _in_other_loop(scene, made, statement):
        return False
    return all(
        _stays(scene, use)
        for use in scene.descend(function, cst.Name)
        if use.value == name.value and (start <= scene.span(use)[0] < end or scene.function(use) is not function)
    )


def _in_other_loop(scene: Scene, made: cst.CSTNode, statement: cst.CSTNode) -> bool:
    """Whether a loop is around the statement that is not around the definition: what comes later runs before it too."""
    around = list(scene.above(made))
    return any(isinstance(one, (cst.For, cst.While)) and one not in around for one in scene.above(statement))


def _is_fresh(scene: Scene, node: cst.BaseExpression) -> bool:
    """Whether an expression gives a tensor that nothing else refers to."""
    if not values.is_tensor(scene.value(node), "torch"):
        return False
    if isinstance(node, (cst.BinaryOperation, cst.Comparison)):
        return True
    return isinstance(node, cst.Call) and operation(scene, node) in _FRESH


def _stays(scene: Scene, use: cst.Name) -> bool:
    """Whether a use of a tensor keeps no way to it: an operand, an element that is assigned, an attribute such as `shape`."""
    holder = scene.parent(use)
    if isinstance(holder, (cst.BinaryOperation, cst.Comparison, cst.ComparisonTarget, cst.UnaryOperation)):
        return True
    if isinstance(holder, cst.Attribute):
        called = scene.parent(holder)
        if isinstance(called, cst.Call) and called.func is holder:
            return operation(scene, called) in _FRESH or isinstance(scene.parent(called), cst.Expr)
        return holder.attr.value in ("shape", "dtype", "device", "ndim", "size", "layout", "requires_grad", "is_cuda")
    if isinstance(holder, cst.Subscript) and holder.value is use:
        return isinstance(scene.parent(holder), (cst.AssignTarget, cst.AugAssign)) or _picked(scene, holder)
    if isinstance(holder, cst.Arg):
        called = scene.parent(holder)
        return isinstance(called, cst.Call) and operation(scene, called) in _FRESH
    return False


def _picked(scene: Scene, node: cst.Subscript) -> bool:
    """Whether an element that is read is at once an operand, or is copied because a tensor picks it."""
    return isinstance(scene.parent(node), (cst.BinaryOperation, cst.Comparison, cst.ComparisonTarget))
