"""Note what calls are passed: the parameter itself, a part of it, an element that a loop takes of it, or what arithmetic made of it."""

from __future__ import annotations

import ast
import builtins
from collections.abc import Iterable, Iterator
from typing import Final

from xlalint.lowering import ir
from xlalint.lowering.masks import NOTHING, compared_in
from xlalint.lowering.scope import Scope

_PARTS: Final = frozenset((ast.Subscript, ast.BinOp, ast.UnaryOp, ast.List, ast.Tuple, ast.Call))
_HOLDING: Final = frozenset((ast.Name, ast.Subscript, ast.BinOp, ast.UnaryOp))
_BUILTINS: Final = frozenset(dir(builtins))
# What they give is no array of the kind that they are asked of, and arrays of the host have no such methods.
_READING: Final = frozenset(("item", "tolist", "cpu", "detach"))


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
        if type(func) is ast.Name and func.id not in _BUILTINS:
            _note_parts(args, func, scope)
        return
    if type(first) is ast.Compare:
        for name in compared_in(first, scope):
            if name in scope.uses:
                scope.uses[name].add(f"{spell_dotted(func)}{ir.COMPARED_PASSED}")
    holder = func.value
    if func.attr == "append" and type(holder) is ast.Name and holder.id not in scope.uses:
        held = _held_in(first, scope)
        if held:
            scope.elements[holder.id] = scope.elements.get(holder.id, NOTHING) | held
    elif type(holder) is ast.Name and holder.id in scope.uses:
        if type(first) is not ast.Starred:
            scope.uses[holder.id].add(f".{func.attr}{ir.CALLED_WITH}")
        return
    _note_parts(args, func, scope)


def _note_parts(args: list[ast.expr], func: ast.expr, scope: Scope) -> None:
    """Record of which parameters a call is passed parts, and which it is passed after another argument."""
    for index, arg in enumerate(args):
        kind = type(arg)
        if kind in _PARTS or kind is ast.Name:
            for name in _names_within(arg):
                if name in scope.uses and not (kind is ast.Name and not index):
                    scope.uses[name].add(f"{spell_dotted(func)}{ir.PART_PASSED}")
            for param in _held_by(_names_within(arg, through_calls=False), scope) if scope.elements else ():
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
    note_held(target, iterable, scope)


def note_held(target: ast.expr, value: ast.expr, scope: Scope) -> None:
    """Record of which parameters a name that is bound holds parts, or what arithmetic makes of them."""
    if type(target) is not ast.Name or target.id in scope.uses:
        return
    held = _held_in(value, scope)
    if held:
        scope.elements[target.id] = held
    elif scope.elements:
        scope.elements.pop(target.id, None)


def _held_in(value: ast.expr, scope: Scope) -> frozenset[str]:
    """Return the parameters of which an expression takes parts, or with which it does arithmetic."""
    if type(value) not in _HOLDING:
        return NOTHING
    names = frozenset(_names_within(value, through_calls=False))
    return names.intersection(scope.uses) | _held_by(names, scope)


def _held_by(names: Iterable[str], scope: Scope) -> frozenset[str]:
    """Return the parameters of which names hold parts."""
    return NOTHING.union(*[scope.elements[name] for name in names if name in scope.elements])


def note_dtype(node: ast.Compare, scope: Scope) -> None:
    """Record whose dtype a comparison asks for, as if the parameter were passed to it: `x.dtype == np.int16` shows whose array `x` is."""
    left = node.left
    if type(left) is not ast.Attribute or left.attr != "dtype" or type(left.value) is not ast.Name:
        return
    uses = scope.uses.get(left.value.id)
    if uses is not None:
        named = (one for other in node.comparators for one in (other.elts if type(other) is ast.Tuple else (other,)))
        uses.update(f"{spell_dotted(one)}{ir.PASSED}" for one in named if type(one) is ast.Attribute)


def _names_within(node: ast.expr, through_calls: bool = True) -> Iterator[str]:
    """Names of which an expression takes parts, which it lists, with which it does arithmetic, or whose methods it calls."""
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
        elif (
            through_calls
            and type(part) is ast.Call
            and type(part.func) is ast.Attribute
            and part.func.attr not in _READING
        ):
            todo.append(part.func.value)


__all__ = ["note_dtype", "note_elements", "note_held", "note_passed", "spell_dotted"]
