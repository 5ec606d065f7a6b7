"""Note what calls are passed: the parameter itself, a part of it, or an element that a loop takes of it."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import Final

from xlalint.lowering import ir
from xlalint.lowering.masks import NOTHING
from xlalint.lowering.scope import Scope

_PARTS: Final = frozenset((ast.Subscript, ast.BinOp, ast.UnaryOp, ast.List, ast.Tuple, ast.Call))
_READING: Final = frozenset(("item", "tolist"))  # what they give is no array of the kind that they are asked of


def spell_dotted(node: ast.expr) -> str:
    """The source spelling of a dotted name, with "?" for what is none."""
    parts: list[str] = []
    while type(node) is ast.Attribute:
        parts.append(node.attr)
        node = node.value
    parts.append(node.id if type(node) is ast.Name else "?")
    return ".".join(reversed(parts))


def note_passed(args: list[ast.expr], func: ast.expr, scope: Scope) -> None:
    """Record which parameters a call is passed: the first by itself, others, parts of them, and what arithmetic makes of them."""
    first = args[0]
    if type(first) is ast.Name and first.id in scope.uses:
        scope.uses[first.id].add(f"{spell_dotted(func)}{ir.PASSED}")
    if type(func) is not ast.Attribute:
        return
    holder = func.value
    if type(holder) is ast.Name and holder.id in scope.uses:
        if type(first) is not ast.Starred:
            scope.uses[holder.id].add(f".{func.attr}{ir.CALLED_WITH}")
        return
    for index, arg in enumerate(args):
        kind = type(arg)
        if kind in _PARTS or kind is ast.Name:
            for name in _names_within(arg):
                _note_part(name, kind is ast.Name and not index, func, scope)


def _note_part(name: str, whole: bool, func: ast.Attribute, scope: Scope) -> None:
    """Record that a call is passed a part of what a name holds; `whole` says that it is passed the name itself, first."""
    if name in scope.uses and not whole:
        scope.uses[name].add(f"{spell_dotted(func)}{ir.PART_PASSED}")
    for param in scope.elements.get(name, NOTHING):
        scope.uses[param].add(f"{spell_dotted(func)}{ir.PART_PASSED}")


def note_elements(target: ast.expr, iterable: ast.expr, scope: Scope) -> None:
    """Record of which parameters the names that a loop binds hold elements."""
    if type(iterable) is ast.Call and type(iterable.func) is ast.Name and type(target) is ast.Tuple:
        given = iterable.args
        if iterable.func.id == "enumerate" and len(target.elts) == 2 and given:
            note_elements(target.elts[1], given[0], scope)
        elif iterable.func.id == "zip" and len(target.elts) == len(given):
            for inner, arg in zip(target.elts, given, strict=True):
                note_elements(inner, arg, scope)
        return
    if type(target) is not ast.Name:
        return
    if type(iterable) is ast.Name and iterable.id in scope.uses and target.id not in scope.uses:
        scope.elements[target.id] = frozenset((iterable.id,))
    elif scope.elements:
        scope.elements.pop(target.id, None)


def note_dtype(node: ast.Compare, scope: Scope) -> None:
    """Record whose dtype a comparison asks for, as if the parameter were passed to it: `x.dtype == np.int16` shows whose array `x` is."""
    left = node.left
    if type(left) is not ast.Attribute or left.attr != "dtype" or type(left.value) is not ast.Name:
        return
    uses = scope.uses.get(left.value.id)
    if uses is not None:
        named = (one for other in node.comparators for one in (other.elts if type(other) is ast.Tuple else (other,)))
        uses.update(f"{spell_dotted(one)}{ir.PASSED}" for one in named if type(one) is ast.Attribute)


def _names_within(node: ast.expr) -> Iterator[str]:
    """Names of which an expression takes parts, which it lists, whose methods it calls, or with which it does arithmetic."""
    todo = [node]
    while todo:
        part = todo.pop()
        if type(part) is ast.Name:
            yield part.id
        elif type(part) is ast.Subscript:
            todo.append(part.value)
        elif type(part) is ast.BinOp:
            todo += (part.left, part.right)
        elif type(part) is ast.UnaryOp:
            todo.append(part.operand)
        elif type(part) is ast.List or type(part) is ast.Tuple:
            todo += part.elts
        elif type(part) is ast.Call and type(part.func) is ast.Attribute and part.func.attr not in _READING:
            todo.append(part.func.value)


__all__ = ["note_dtype", "note_elements", "note_passed", "spell_dotted"]
