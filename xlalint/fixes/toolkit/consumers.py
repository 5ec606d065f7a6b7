"""Follows an expression's value: a condition reads it, tensor arithmetic takes it, or its use is not known.

A rewrite that makes a tensor of what was a Python bool asks here whether anyone sees the difference.
"""

from __future__ import annotations

from enum import Enum

import libcst as cst

from xlalint.fixes.toolkit import values
from xlalint.fixes.toolkit.dataflow import uses
from xlalint.fixes.toolkit.function_source import FunctionSource


class Consumer(Enum):
    """Who takes a value."""

    TENSOR = "an operation on tensors that takes a bool as it takes a tensor of one bool"
    TEST = "a condition"
    STORED_TEST = "a condition, by a name"
    OTHER = "something else"


_ARITHMETIC = (cst.Add, cst.Multiply, cst.Divide, cst.BitAnd, cst.BitOr, cst.BitXor)
_AUGMENTED = (
    cst.AddAssign,
    cst.MultiplyAssign,
    cst.DivideAssign,
    cst.BitAndAssign,
    cst.BitOrAssign,
    cst.BitXorAssign,
)
# Functions that take bools and tensors of bools alike as their first argument.
_TAKE_BOTH = frozenset(("tensorflow.cast", "tensorflow.where", "jax.numpy.where", "jax.lax.cond", "tensorflow.cond"))
_TESTED = (cst.If, cst.While, cst.IfExp, cst.Assert)


def in_test(scene: FunctionSource, node: cst.CSTNode) -> bool:
    """Return whether an expression is, or is an operand of, the test of an `if`, a `while`, an `assert` or a ternary."""
    inner = node
    for holder in scene.above(node):
        if isinstance(holder, _TESTED):
            return holder.test is inner
        negated = isinstance(holder, cst.UnaryOperation) and isinstance(holder.operator, cst.Not)
        if not negated and not isinstance(holder, cst.BooleanOperation):
            return False
        inner = holder
    return False


def consumers(scene: FunctionSource, node: cst.BaseExpression) -> frozenset[Consumer]:
    """All who may take an expression's value in its function; empty where nobody does."""
    return frozenset(_consumers(scene, node, set()))


def _consumers(scene: FunctionSource, node: cst.CSTNode, followed: set[str]) -> set[Consumer]:
    if in_test(scene, node):
        return {Consumer.TEST}
    holder = scene.parent(node)
    if isinstance(holder, cst.BinaryOperation):
        other = holder.right if holder.left is node else holder.left
        return {_operand(scene, other, isinstance(holder.operator, _ARITHMETIC))}
    if isinstance(holder, cst.AugAssign) and holder.value is node:
        return {_operand(scene, holder.target, isinstance(holder.operator, _AUGMENTED))}
    if isinstance(holder, cst.BooleanOperation) or _is_not(holder):
        return _consumers(scene, holder, followed)
    if isinstance(holder, cst.Arg):
        return {_argument(scene, holder)}
    if isinstance(holder, cst.Assign) and len(holder.targets) == 1:
        return _find_stores(scene, holder.targets[0].target, followed)
    return {Consumer.OTHER}


def _is_not(node: cst.CSTNode) -> bool:
    return isinstance(node, cst.UnaryOperation) and isinstance(node.operator, cst.Not)


def _operand(scene: FunctionSource, other: cst.BaseExpression, arithmetic: bool) -> Consumer:
    """TensorFlow takes no bool tensors in its arithmetic, PyTorch none in differences."""
    tensors = values.tensors_only(scene.value(other))
    fits = arithmetic and tensors and all(one.framework in ("torch", "jax") and one.sure for one in tensors)
    return Consumer.TENSOR if fits else Consumer.OTHER


def _argument(scene: FunctionSource, arg: cst.Arg) -> Consumer:
    call = scene.parent(arg)
    if isinstance(call, cst.Call) and call.args[0] is arg and values.callee(scene.value(call.func)) in _TAKE_BOTH:
        return Consumer.TENSOR
    return Consumer.OTHER


def _find_stores(scene: FunctionSource, target: cst.BaseExpression, followed: set[str]) -> set[Consumer]:
    function = scene.function(target)
    if not isinstance(target, cst.Name) or function is None:
        return {Consumer.OTHER}
    if target.value in followed:
        return set()
    followed.add(target.value)
    found: set[Consumer] = set()
    for use in uses(scene, function, target.value):
        found |= _consumers(scene, use, followed)
    return {Consumer.STORED_TEST if one is Consumer.TEST else one for one in found}
