"""Expressions that hold nothing but a tracer in code that a tracer runs: what is computed of leaves of its arguments.

A tracer that replaces all that it is given passes trees of tracers. What a name, or an index of it, holds may be such a tree, or None; what
arithmetic, an order or a method of arrays makes of it is one tracer, or raises an exception on any tree. An attribute may be a setting.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from typing import TYPE_CHECKING, Final

from xlalint.abstract.values import Tensor
from xlalint.interpreter.loop_names import targets_of
from xlalint.lowering import ir
from xlalint.rules.policy import OF_TRUTH

if TYPE_CHECKING:
    from xlalint.interpreter.context import Context
    from xlalint.program.linker import FunctionInfo

_PLACED: Final = ("", "/", "k")
_ORDERS: Final = frozenset(("<", "<=", ">", ">="))
_EQUALITIES: Final = frozenset(("==", "!="))
# What lists concatenate and repeat by, and sets and dicts join.
_OF_TREES: Final = frozenset(("+", "*", "|", "&"))


def is_of_leaves(context: Context, info: FunctionInfo, rule: str, node: ir.Node) -> bool:
    """Return whether what meets a rule is a tracer, if a tracer replaced the arguments of the function that a context runs.

    Of the truth of a tree the tracer knows the answer; all else that meets a rule is refused of a tree as well.
    """
    kept, assigned = info.answers(_list_names)
    found = {
        param.name
        for param, value in zip(info.params, context.args, strict=False)
        if type(value) is Tensor and param.name in kept
    }
    for names, value in assigned:
        if _is_part(value, found) or computes_with(value, found):
            found |= names
    return computes_with(node, found) or (rule not in OF_TRUTH and _is_part(node, found))


def _list_names(info: FunctionInfo) -> tuple[frozenset[str], tuple[tuple[frozenset[str], ir.Node], ...]]:
    """The parameters that hold what was passed as long as a function runs; and the other names that it binds once, in order, each with
    that of which it is given a part, or the whole: `x, y = batch` binds two."""
    bound = Counter(name for one in ir.walk(info.body) for target in targets_of(one) for name in _names_in(target))
    params = [param for param in info.params if param.default is None and param.kind in _PLACED]
    kept = frozenset([param.name for param in params if not bound[param.name]])
    assigned = tuple(
        (names, one.value)
        for one in ir.walk(info.body)
        if isinstance(one, ir.Assign) and len(one.targets) == 1
        if (names := frozenset(_names_in(one.targets[0]))) and all(bound[name] == 1 for name in names)
        if not names & {param.name for param in info.params} and isinstance(one.targets[0], (ir.Name, ir.Display))
    )
    return kept, assigned


def _names_in(target: ir.Node) -> Iterator[str]:
    return (one.id for one in ir.walk(target) if isinstance(one, ir.Name))


def _is_part(node: ir.Node, names: set[str]) -> bool:
    """Return whether an expression is one of the names, what an index of one holds, or arithmetic with that: `x * 2` may be a list."""
    while isinstance(node, ir.Sub):
        node = node.value
    if isinstance(node, ir.Bin):
        return _is_part(node.left, names) or _is_part(node.right, names)
    return isinstance(node, ir.Name) and node.id in names


def computes_with(node: ir.Node, names: set[str]) -> bool:
    """Return whether an expression computes with parts of the names what is computed with arrays alone."""

    def holds(part: ir.Node) -> bool:
        return _is_part(part, names) or computes_with(part, names)

    if isinstance(node, ir.Compare) and len(node.ops) == 1:
        sides = (node.left, node.rights[0])
        numbers = any(isinstance(one, ir.Const) and isinstance(one.value, (int, float)) for one in sides)
        compares = node.ops[0] in _ORDERS or (node.ops[0] in _EQUALITIES and numbers)
        return compares and any(map(holds, sides))
    if isinstance(node, ir.Bin):
        sides = (node.left, node.right)
        return any(computes_with(one, names) for one in sides) or (node.op not in _OF_TREES and any(map(holds, sides)))
    if isinstance(node, ir.Unary):
        return holds(node.value)
    if isinstance(node, ir.Sub):
        return computes_with(node.value, names)
    if isinstance(node, ir.Call) and isinstance(node.func, ir.Attr):
        name = node.func.name
        return not any(hasattr(kind, name) for kind in (dict, list, tuple)) and holds(node.func.value)
    return False
