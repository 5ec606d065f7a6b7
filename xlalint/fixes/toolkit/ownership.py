"""Decides whether a name is the only reference to a tensor, so that rebinding it can replace a change in place."""

from __future__ import annotations

import libcst as cst

from xlalint.abstract.values import Instance, LibraryInstance
from xlalint.fixes.toolkit import values
from xlalint.fixes.toolkit.dataflow import bindings, definition_at, ends_function
from xlalint.fixes.toolkit.function_source import FunctionSource
from xlalint.fixes.toolkit.indexing import mask_assumption
from xlalint.fixes.toolkit.operations import is_inplace, makes_new, operation
from xlalint.fixes.toolkit.picking import selection


def owned(scene: FunctionSource, statement: cst.CSTNode, name: str, *, by_layer: bool = False) -> bool:
    """Return whether the tensor that a name holds at a statement was made under that name and did not leave it until then; `by_layer`, by
    a layer of the program's, which hardly keeps what it gives.
    """
    made = _find_made(scene, statement, name)
    if made is None or not (_is_fresh(scene, made.value) or (by_layer and _is_of_layer(scene, made.value))):
        return False
    start, end = scene.span(made)[1], scene.span(statement)[0]
    function = scene.function(statement)
    if function is None:
        return False
    if _in_other_loop(scene, made, statement):
        return False
    return all(
        _stays(scene, use) or _leaves_before(scene, use, statement) or _is_in_other_branch(scene, use, statement)
        for use in scene.descend(function, cst.Name)
        if use.value == name and (start <= scene.span(use)[0] < end or scene.function(use) is not function)
    )


def _find_made(scene: FunctionSource, statement: cst.CSTNode, name: str) -> cst.Assign | None:
    """The assignment that surely gave a name what it holds at a statement; what the other branch of an `if` binds is not seen under its
    `else`.
    """
    made = definition_at(scene, name, statement)
    for one in scene.above(statement):
        if made is not None or isinstance(one, cst.FunctionDef):
            return made
        if isinstance(one, cst.If) and one.orelse is not None and scene.holds(one.orelse, statement):
            end = scene.span(statement)[0]
            if any(scene.span(bound)[0] < end for bound in bindings(scene, one.orelse, name)):
                return None
            made = definition_at(scene, name, one)
    return made


def _leaves_before(scene: FunctionSource, use: cst.Name, statement: cst.CSTNode) -> bool:
    """Return whether the function always ends behind a use and in front of a statement: `if …: return use`."""
    if scene.function(use) is not scene.function(statement):
        return False
    for holder in scene.above(use):
        if isinstance(holder, cst.FunctionDef) or scene.holds(holder, statement):
            return False
        if isinstance(holder, cst.If) and scene.holds(holder.body, use) and ends_function(holder.body):
            return True
    return False


def _is_in_other_branch(scene: FunctionSource, use: cst.Name, statement: cst.CSTNode) -> bool:
    """Return whether a use stands under a condition and a statement under its `else`, so that no call of the function runs both.

    A loop around both runs one after the other; what is bound in front of a loop is not owned in it.
    """
    return any(
        isinstance(one, cst.If)
        and one.orelse is not None
        and scene.holds(one.body, use)
        and scene.holds(one.orelse, statement)
        for one in scene.above(use)
    )


def _in_other_loop(scene: FunctionSource, made: cst.CSTNode, statement: cst.CSTNode) -> bool:
    """Return whether a loop is around the statement but not around the definition, so that later code runs before it too."""
    around = list(scene.above(made))
    return any(isinstance(one, (cst.For, cst.While)) and one not in around for one in scene.above(statement))


def _is_fresh(scene: FunctionSource, node: cst.BaseExpression) -> bool:
    """Return whether an expression gives a tensor that nothing else refers to."""
    operands = [node.left, node.right] if isinstance(node, cst.BinaryOperation) else []
    if not any(values.is_tensor(scene.value(one), "torch") for one in (node, *operands)):
        return False
    return makes_new(scene, node)


def _is_of_layer(scene: FunctionSource, node: cst.BaseExpression) -> bool:
    """Return whether an expression is the call of an object, as layers are called."""
    return isinstance(node, cst.Call) and type(scene.value(node.func)) in (Instance, LibraryInstance)


def _stays(scene: FunctionSource, use: cst.Name) -> bool:
    """Return whether a use of a tensor keeps no reference to it: an operand, an assigned element, an attribute such as `shape`."""
    holder = scene.parent(use)
    if isinstance(holder, (cst.BinaryOperation, cst.Comparison, cst.ComparisonTarget, cst.UnaryOperation)):
        return True
    if isinstance(holder, cst.Attribute):
        called = scene.parent(holder)
        if isinstance(called, cst.Call) and called.func is holder:
            stands_alone = isinstance(scene.parent(called), cst.Expr) and bool(operation(scene, called))
            return makes_new(scene, called) or stands_alone
        return holder.attr.value in ("shape", "dtype", "device", "ndim", "size", "layout", "requires_grad", "is_cuda")
    if isinstance(holder, cst.Subscript) and holder.value is use:
        stored = isinstance(scene.parent(holder), (cst.AssignTarget, cst.AugAssign))
        return stored or _picked(scene, holder) or makes_new(scene, holder) or _is_selected(scene, holder)
    if isinstance(holder, cst.Arg):
        called = scene.parent(holder)
        return isinstance(called, cst.Call) and (makes_new(scene, called) or is_inplace(scene, called))
    return False


def _is_selected(scene: FunctionSource, node: cst.Subscript) -> bool:
    """Return whether a mask picks elements of a tensor, as far as is known of both: they are copied."""
    found = selection(scene, node)
    return found is not None and isinstance(mask_assumption(scene, found.mask, "torch"), str)


def _picked(scene: FunctionSource, node: cst.Subscript) -> bool:
    """Return whether an element that is read is directly an operand, or is copied because a tensor picks it."""
    return isinstance(scene.parent(node), (cst.BinaryOperation, cst.Comparison, cst.ComparisonTarget))
