"""Conditions that valid inputs fulfil beside their ranges: `requires="labels < classes and boxes[:, :2] <= boxes[:, 2:]"`.

What a container holds is written as Python comes to it: `batch["labels"] < classes`, `pair[0]`, `batch.lengths`.

`edges[..., :-1] <= edges[..., 1:]` is the condition that an array is sorted.

A condition is checked where it is written; drawn values that break it are moved to where it holds, in the child process, which alone has
NumPy.
"""

from __future__ import annotations

import ast
import operator
from collections.abc import Callable, Iterator, Mapping
from types import MappingProxyType
from typing import Any, NamedTuple

from xlalint.verify.inputs.containers import access_of

_COMPARED: Mapping[type, Callable[[Any, Any], Any]] = MappingProxyType(
    {
        ast.Lt: operator.lt,
        ast.LtE: operator.le,
        ast.Gt: operator.gt,
        ast.GtE: operator.ge,
        ast.Eq: operator.eq,
    }
)
_COMPUTED: Mapping[type, Callable[[Any, Any], Any]] = MappingProxyType(
    {ast.Add: operator.add, ast.Sub: operator.sub, ast.Mult: operator.mul, ast.FloorDiv: operator.floordiv}
)
_TURNS = 3  # one condition's mend may break another
_FORM = 'write comparisons of inputs, as in requires="labels < classes and lengths <= x.shape[1]"'


class ConditionError(ValueError):
    """A condition that cannot be read; the message says why."""


class _Pair(NamedTuple):
    """One comparison."""

    left: ast.expr
    compare: ast.cmpop
    right: ast.expr


def is_condition(value: object) -> bool:
    """Return whether what is written for `requires` is a condition, and no value of a parameter of that name."""
    return isinstance(value, str) and any(sign in value for sign in ("<", ">", "=="))


def check_condition(text: str, names: Mapping[str, Any]) -> None:
    """Raise `ConditionError` for what is no condition on inputs that Python comes to by these names (`batch['labels']`)."""
    for pair in _pairs(text):
        for node in (*_walk(pair.left, names), *_walk(pair.right, names)):
            if isinstance(node, ast.Name) and node.id not in names:
                raise ConditionError(f"`{text}` speaks of `{node.id}`, which is no input")
            if isinstance(node, ast.Attribute) and node.attr != "shape":
                raise ConditionError(f"`{text}` has `.{node.attr}`: only `.shape` is known; {_FORM}")
            if not isinstance(node, _ALLOWED):
                raise ConditionError(f"`{text}` has `{ast.unparse(node)}`; {_FORM}")


def _walk(node: ast.AST, names: Mapping[str, Any]) -> Iterator[ast.AST]:
    """Yield the nodes of an expression, but for those that lead to an input."""
    if isinstance(node, ast.expr) and ast.unparse(node) in names:
        return
    yield node
    for one in ast.iter_child_nodes(node):
        yield from _walk(one, names)


_ALLOWED = (
    ast.Name,
    ast.Attribute,
    ast.Subscript,
    ast.Slice,
    ast.Tuple,
    ast.Constant,
    ast.BinOp,
    ast.UnaryOp,
    ast.USub,
    ast.expr_context,
    *_COMPUTED,
)


def ascends(name: str) -> str:
    """The condition that the last dimension of an array is sorted."""
    return f"{name}[..., :-1] <= {name}[..., 1:]"


def meet(values: Mapping[str, Any], conditions: tuple[str, ...]) -> dict[str, Any] | None:
    """Return values that fulfil all conditions: those that break one are moved, where an input stands on one of its sides by itself.

    None where they do not fulfil them all the same.
    """
    import numpy as np

    found = {access_of(n): np.array(value) if hasattr(value, "dtype") else value for n, value in values.items()}
    pairs = [pair for text in conditions for pair in _pairs(text)]
    for _ in range(_TURNS):
        broken = [pair for pair in pairs if not _holds(pair, found)]
        if not broken:
            break
        for pair in broken:
            _mend(pair, found)
    held = all(_holds(pair, found) for pair in pairs)
    return {name: found[access_of(name)] for name in values} if held else None


def _pairs(text: str) -> Iterator[_Pair]:
    try:
        whole = ast.parse(text.strip(), mode="eval").body
    except (SyntaxError, ValueError):
        raise ConditionError(f"`{text}` is not Python; {_FORM}") from None
    for one in whole.values if isinstance(whole, ast.BoolOp) and isinstance(whole.op, ast.And) else [whole]:
        if not isinstance(one, ast.Compare) or any(type(sign) not in _COMPARED for sign in one.ops):
            raise ConditionError(f"`{ast.unparse(one)}` is no comparison by <, <=, >, >= or ==; {_FORM}")
        sides = [one.left, *one.comparators]
        yield from map(_Pair, sides, one.ops, sides[1:])


def _holds(pair: _Pair, values: Mapping[str, Any]) -> bool:
    told = _COMPARED[type(pair.compare)](_value(pair.left, values), _value(pair.right, values))
    return bool(told.all()) if hasattr(told, "all") else bool(told)


def _value(node: ast.expr, values: Mapping[str, Any]) -> Any:
    """Evaluate an expression, whose forms were checked."""
    if (name := ast.unparse(node)) in values:
        return values[name]
    if isinstance(node, ast.Attribute):
        return _value(node.value, values).shape
    if isinstance(node, ast.Subscript):
        return _value(node.value, values)[_index(node.slice)]
    if isinstance(node, ast.BinOp):
        return _COMPUTED[type(node.op)](_value(node.left, values), _value(node.right, values))
    return ast.literal_eval(node)


def _index(node: ast.expr) -> Any:
    if isinstance(node, ast.Tuple):
        return tuple(map(_index, node.elts))
    if isinstance(node, ast.Slice):
        return slice(*(None if one is None else ast.literal_eval(one) for one in (node.lower, node.upper, node.step)))
    return ast.literal_eval(node)


def _mend(pair: _Pair, values: dict[str, Any]) -> None:
    """Move what stands on one side to where the comparison holds; two sides that are both inputs of one shape change places first."""
    if (array := _array_to_sort(pair, values)) is not None:
        array.sort(axis=-1)
        return
    first, second = _place(pair.left, values), _place(pair.right, values)
    if first is None and second is None:
        return
    less = isinstance(pair.compare, (ast.Lt, ast.LtE))
    gap = (1 if less else -1) if isinstance(pair.compare, (ast.Lt, ast.Gt)) else 0
    left, right = _value(pair.left, values), _value(pair.right, values)
    wrong = ~_COMPARED[type(pair.compare)](left, right)
    if first is not None and second is not None and left.shape == right.shape and not isinstance(pair.compare, ast.Eq):
        new = _where(wrong, right, left), _where(wrong, left, right)
        first[0][first[1]], second[0][second[1]] = new
        left, right = _value(pair.left, values), _value(pair.right, values)
        wrong = ~_COMPARED[type(pair.compare)](left, right)
    if first is not None:
        first[0][first[1]] = _where(wrong, right - gap, left)
    elif second is not None:
        second[0][second[1]] = _where(wrong, left + gap, right)


def _array_to_sort(pair: _Pair, values: Mapping[str, Any]) -> Any:
    """The array of which a comparison asks that it is sorted; None where it asks something else."""
    left, right = ast.unparse(pair.left), ast.unparse(pair.right)
    name = ast.unparse(pair.left.value) if isinstance(pair.left, ast.Subscript) else ""
    orders = isinstance(pair.compare, ast.LtE) and f"{left} <= {right}" == ascends(name)
    return values.get(name) if orders else None


def _place(node: ast.expr, values: Mapping[str, Any]) -> tuple[Any, Any] | None:
    """The array, and what of it, that an expression stands for; None where it is computed, or no array."""
    whole = ast.unparse(node) in values or not isinstance(node, ast.Subscript)
    of, index = (node, ...) if whole else (node.value, _index(node.slice))  # type: ignore[attr-defined]
    array = values.get(ast.unparse(of))
    return (array, index) if hasattr(array, "dtype") else None


def _where(wrong: Any, new: Any, old: Any) -> Any:
    import numpy as np

    return np.where(wrong, new, old)
