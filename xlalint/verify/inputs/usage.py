"""How a function's text uses its names: how many dimensions they must have, what they are compared with, whether they index something."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator
from typing import Union

from msgspec import Struct

_SHAPES = ("shape", "size")
_AXES = ("dim", "axis", "dims")
_LOOKED_UP = {
    "searchsorted": (0, ("sorted_sequence", "a")),
    "bucketize": (1, ("boundaries",)),
    "digitize": (1, ("bins",)),
    "interp": (1, ("xp",)),
}  # the argument that must be sorted, by the last name of what is called: its position, its names
_SOUGHT = ("input", "self", "values", "v", "query")
_IN_ORDER = (
    "contiguous",
    "unsqueeze",
    "squeeze",
    "to",
    "detach",
    "float",
    "clone",
    "expand",
    "type_as",
)  # methods that keep the order
_CROSSED = 3  # elements of the vectors that `cross` takes
_NUMBERS = (-8, 16)  # constants outside of these are no values to draw around


class Use(Struct):
    """`rank` exactly (-1: not told), `least` dimensions at least; whole `numbers` and `texts` that it is compared with.

    `indexes`: stands alone in `x[it]`; `counts`: is given to `range`; `keys` of its items; `called` with how many arguments; `grows`:
    something is appended to it; `ascends`: something is looked up in it, which only sorted values allow; `spans`: the
    size that a dimension of it must have, 0 where that is not told; `loads`: how often it is read,
    `spoken` of these within f-strings and errors; `refused`: why no array stands for it, "" where one may.
    """

    rank: int = -1
    least: int = 0
    numbers: tuple[int, ...] = ()
    indexes: bool = False
    counts: bool = False
    texts: tuple[str, ...] = ()
    keys: tuple[str, ...] = ()
    called: int = -1
    grows: bool = False
    ascends: bool = False
    spans: int = 0
    loads: int = 0
    spoken: int = 0
    refused: str = ""


def uses(nodes: Iterable[ast.AST], names: Iterable[str]) -> dict[str, Use]:
    """How some code uses names."""
    found = {name: Use() for name in names}
    for root in nodes:
        for node in ast.walk(root):
            for name, told in _find_uses(node):
                if name in found:
                    _learn(found[name], told)
    return found


def _learn(use: Use, told: Use) -> None:
    use.rank = max(use.rank, told.rank)
    use.least = max(use.least, told.least)
    use.numbers += tuple(one for one in told.numbers if _NUMBERS[0] <= one <= _NUMBERS[1])
    use.indexes |= told.indexes
    use.counts |= told.counts
    use.texts += tuple(one for one in told.texts if one not in use.texts)
    use.keys += tuple(one for one in told.keys if one not in use.keys)
    use.called = max(use.called, told.called)
    use.grows |= told.grows
    use.ascends |= told.ascends
    use.spans = max(use.spans, told.spans)
    use.loads += told.loads
    use.spoken += told.spoken
    use.refused = use.refused or told.refused


def _find_uses(node: ast.AST) -> Iterator[tuple[str, Use]]:
    if isinstance(node, ast.Assign):
        yield from _find_unpacking(node)
    elif isinstance(node, ast.Subscript):
        yield from _subscript(node)
    elif isinstance(node, ast.Call):
        yield from _call(node)
        yield from _find_sorted(node)
        if _last_name(node) == "cross":
            yield from ((one.id, Use(spans=_CROSSED)) for one in _names(node.args))
    elif isinstance(node, ast.Compare):
        yield from _find_comparisons(node)
    elif isinstance(node, ast.Name):
        yield node.id, Use(loads=1)
    elif isinstance(node, ast.Raise) and isinstance(node.exc, ast.Call):
        yield from ((one.id, Use(spoken=1)) for one in node.exc.args if isinstance(one, ast.Name))
    elif isinstance(node, ast.Assert) and isinstance(node.msg, ast.Name):
        yield node.msg.id, Use(spoken=1)
    elif isinstance(node, ast.JoinedStr):
        yield from ((one.id, Use(spoken=1)) for one in ast.walk(node) if isinstance(one, ast.Name))


def _find_unpacking(node: ast.Assign) -> Iterator[tuple[str, Use]]:
    """`b, s, d = x.shape`."""
    target, value = node.targets[0], node.value
    if not isinstance(target, (ast.Tuple, ast.List)):
        return
    if isinstance(value, ast.Call) and not value.args:
        value = value.func
    if isinstance(value, ast.Attribute) and value.attr in _SHAPES and isinstance(value.value, ast.Name):
        stars = sum(isinstance(one, ast.Starred) for one in target.elts)
        told = Use(least=len(target.elts) - stars) if stars else Use(rank=len(target.elts))
        yield value.value.id, told


def _subscript(node: ast.Subscript) -> Iterator[tuple[str, Use]]:
    """`x[:, 0]`, `x.shape[2]`, `x[mask]`, `batch["x"]`."""
    held, index = node.value, node.slice
    whole = _integer(index)
    if isinstance(held, ast.Attribute) and held.attr == "shape" and isinstance(held.value, ast.Name):
        if whole is not None:
            yield held.value.id, Use(least=_reach(whole))
        return
    if isinstance(held, ast.Name):
        if isinstance(index, ast.Constant) and isinstance(index.value, str):
            yield held.id, Use(keys=(index.value,), refused="a mapping")
        elif isinstance(index, ast.Tuple):
            taken = [one for one in index.elts if not isinstance(one, ast.Constant) or type(one.value) is int]
            yield held.id, Use(least=len(taken))
        else:
            yield held.id, Use(least=1)
    if isinstance(index, ast.Name):
        yield index.id, Use(indexes=True)


def _call(node: ast.Call) -> Iterator[tuple[str, Use]]:
    """`x.size(1)`, `x.sum(dim=2)`, `f(x, axis=1)`, `range(n)`, `x(...)`, `x.items()`."""
    function = node.func
    axes = [_integer(one.value) for one in node.keywords if one.arg in _AXES]
    if isinstance(function, ast.Name):
        yield function.id, Use(called=len(node.args) + len(node.keywords), refused="a function")
        for one in node.args if function.id == "range" else ():
            if isinstance(one, ast.Name):
                yield one.id, Use(counts=True)
        if function.id == "isinstance":
            return
    if isinstance(function, ast.Attribute) and isinstance(function.value, ast.Name):
        if function.attr in ("items", "keys", "get", "update"):
            yield function.value.id, Use(keys=_asked_for(node), refused="a mapping")
        if function.attr in ("append", "extend"):
            yield function.value.id, Use(grows=True, refused="a list")
        if function.attr in (
            "size",
            "unsqueeze",
            "squeeze",
            "sum",
            "mean",
            "max",
            "min",
            "argmax",
            "softmax",
            "any",
            "all",
        ):
            axes += [_integer(one) for one in node.args[:1]]
        given = [function.value] if any(axis is not None for axis in axes) else []
    else:
        given = []
    if axes and node.args and isinstance(node.args[0], ast.Name):
        given.append(node.args[0])
    least = max((_reach(axis) for axis in axes if axis is not None), default=0)
    if isinstance(function, ast.Attribute) and function.attr == "unsqueeze":
        least -= 1
    for one in given:
        if isinstance(one, ast.Name):
            yield one.id, Use(least=least)


def _find_sorted(node: ast.Call) -> Iterator[tuple[str, Use]]:
    """`torch.searchsorted(x, v)`, `torch.bucketize(v, boundaries=x.contiguous())`."""
    name = _last_name(node)
    if name not in _LOOKED_UP or _gives(node, ("sorter",)):
        return
    position, names = _LOOKED_UP[name]
    given = [one.value for one in node.keywords if one.arg in names]
    if (
        isinstance(node.func, ast.Attribute)
        and name == "searchsorted"
        and len(node.args) == 1
        and not _gives(node, _SOUGHT)
    ):
        given.append(node.func.value)  # a method
    else:
        given += node.args[position : position + 1]
    for one in given:
        while isinstance(one, ast.Call) and isinstance(one.func, ast.Attribute) and one.func.attr in _IN_ORDER:
            one = one.func.value
        if isinstance(one, ast.Name):
            yield one.id, Use(least=1, ascends=True)


def _last_name(node: ast.Call) -> str:
    return node.func.attr if isinstance(node.func, ast.Attribute) else getattr(node.func, "id", "")


def _names(nodes: Iterable[ast.AST]) -> Iterator[ast.Name]:
    return (one for node in nodes for one in ast.walk(node) if isinstance(one, ast.Name))


def _gives(node: ast.Call, names: tuple[str, ...]) -> bool:
    return any(one.arg in names for one in node.keywords)


def _find_comparisons(node: ast.Compare) -> Iterator[tuple[str, Use]]:
    """`x != 3`, `x.ndim == 2`, `len(x.shape) == 2`."""
    left = node.left
    if isinstance(left, ast.Name) and (texts := tuple(_texts(node.comparators[0]))):
        yield left.id, Use(texts=texts)
    number = _integer(node.comparators[0])
    if number is None:
        return
    if isinstance(left, ast.Name):
        yield left.id, Use(numbers=(number,))
    elif isinstance(left, ast.Attribute) and left.attr == "ndim" and isinstance(left.value, ast.Name):
        yield left.value.id, Use(least=min(number, 4))


def _texts(node: ast.expr) -> Iterator[str]:
    """The texts of `"a"`, and of `("a", "b")`."""
    for one in node.elts if isinstance(node, (ast.Tuple, ast.List, ast.Set)) else [node]:
        if isinstance(one, ast.Constant) and isinstance(one.value, str):
            yield one.value


def _asked_for(node: ast.Call) -> tuple[str, ...]:
    """The key of `batch.get("x")`."""
    function, key = node.func, node.args[0] if node.args else None
    asked = isinstance(function, ast.Attribute) and function.attr == "get" and isinstance(key, ast.Constant)
    return (key.value,) if asked and isinstance(key, ast.Constant) and isinstance(key.value, str) else ()


def _reach(axis: int) -> int:
    """How many dimensions there are at least where this one is."""
    return axis + 1 if axis >= 0 else -axis


def _integer(node: Union[ast.expr, None]) -> int | None:
    try:
        value = ast.literal_eval(node) if node is not None else None
    except (ValueError, TypeError, SyntaxError):
        return None
    return value if type(value) is int and abs(value) < 1 << 31 else None
