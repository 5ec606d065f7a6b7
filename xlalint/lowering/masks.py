"""Masks: what the result of a comparison is used for shows what was compared.

Of numbers a comparison gives a bool, which nobody indexes with, inverts or asks for `any()`. Where a body does, it compared tensors or
arrays.
"""

from __future__ import annotations

import ast

from xlalint.lowering import ir
from xlalint.lowering.scope import Scope

_WRITTEN_OUT = frozenset((ast.Tuple, ast.List, ast.Dict, ast.Constant))
NOTHING: frozenset[str] = frozenset()
_COMPARING = (ast.Lt, ast.LtE, ast.Gt, ast.GtE, ast.Eq, ast.NotEq)
_JOINING = (ast.BitAnd, ast.BitOr, ast.BitXor)
_MAY_BE = frozenset((ast.Compare, ast.BinOp, ast.UnaryOp, ast.Name))


def compared_in(node: ast.expr, scope: Scope) -> frozenset[str]:
    """Return the names that an expression compares, if it gives the outcome of comparisons; nothing of other expressions."""
    kind = type(node)
    if kind not in _MAY_BE:
        return NOTHING
    if isinstance(node, ast.Name):
        return scope.masks.get(node.id, NOTHING)
    if isinstance(node, ast.Compare):
        return _operands(node)
    if isinstance(node, ast.BinOp) and isinstance(node.op, _JOINING):
        return compared_in(node.left, scope) | compared_in(node.right, scope)
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Invert):
        return compared_in(node.operand, scope)
    return NOTHING


def note_assigned(target: ast.expr, value: ast.expr, scope: Scope) -> None:
    """Record which names an assigned mask compares; a name that is assigned something else is no mask."""
    if type(target) is not ast.Name:
        return
    found = compared_in(value, scope)
    if found:
        scope.masks[target.id] = found
    elif scope.masks:
        scope.masks.pop(target.id, None)


def note_used(node: ast.expr, scope: Scope) -> None:
    """Record of what an expression compares that the outcome is used as only a mask is."""
    for name in compared_in(node, scope):
        if name in scope.uses:
            scope.uses[name].add(ir.COMPARED)


def note_index(base: ast.expr, index: ast.expr, scope: Scope) -> None:
    """Record what an index by a mask shows of what is indexed and of what was compared.

    One of two things that are written out is chosen by a number: `("low", "high")[x > 3]`.
    """
    if type(base) in _WRITTEN_OUT:
        return
    parts = index.elts if type(index) is ast.Tuple else [index]
    for part in parts:
        if compared_in(part, scope):
            note_used(part, scope)
            if type(base) is ast.Name and base.id in scope.uses:
                scope.uses[base.id].add(ir.MASKED)


def _operands(node: ast.Compare) -> frozenset[str]:
    """The name that is compared by value with a number, or with what `self` keeps; none of two names, of which one may be a number."""
    if len(node.ops) > 1 or not isinstance(node.ops[0], _COMPARING):
        return NOTHING
    for side, other in ((node.left, node.comparators[0]), (node.comparators[0], node.left)):
        if isinstance(side, ast.Name) and _is_number(other):
            return frozenset((side.id,))
    return NOTHING


def _is_number(node: ast.expr) -> bool:
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub):
        return _is_number(node.operand)
    if isinstance(node, ast.Attribute):
        return isinstance(node.value, ast.Name) and node.value.id == "self"
    return isinstance(node, ast.Constant) and type(node.value) in (int, float)


__all__ = ["NOTHING", "compared_in", "note_assigned", "note_index", "note_used"]
