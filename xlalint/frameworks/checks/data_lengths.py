"""How many examples an expression holds, where the source says so."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Final

from xlalint.lowering import ir

if TYPE_CHECKING:
    from xlalint.interpreter.frame import Frame

# What makes an array of the size that its first argument, or `shape` or `size`, says; what keeps the number of rows; what takes arrays of
# one number of rows.
_MADE: Final = frozenset(
    ("zeros", "ones", "empty", "rand", "randn", "random", "normal", "uniform", "standard_normal", "full")
)
_KEPT: Final = frozenset(
    ("astype", "copy", "float", "to", "from_numpy", "asarray", "array", "constant", "cast", "as_tensor")
)
_HOLDS: Final = frozenset(("TensorDataset", "from_tensor_slices"))
_SIZES: Final = ("shape", "size")
# Data sets of torchvision by their classes: how many examples they have to train on, and to test.
_PUBLISHED: Final = {
    "MNIST": (60_000, 10_000),
    "FashionMNIST": (60_000, 10_000),
    "KMNIST": (60_000, 10_000),
    "CIFAR10": (50_000, 10_000),
    "CIFAR100": (50_000, 10_000),
}
_MOST_STEPS: Final = 6


def length_of(frame: Frame, node: ir.Node | None, steps: int = _MOST_STEPS) -> int | None:
    """The number of rows of an array, or of examples of a data set of such; None where the source does not say."""
    node = source_of(frame, node)
    if steps == 0 or node is None:
        return None
    if type(node) is ir.Sub:
        index = node.index.items[0] if type(node.index) is ir.Display and node.index.items else node.index
        return _slice(index, length_of(frame, node.value, steps - 1))
    if type(node) is ir.Display:
        if node.kind == "tuple" and node.items:  # `(features, targets)`
            return length_of(frame, node.items[0], steps - 1)
        return len(node.items) if not any(type(item) is ir.Star for item in node.items) else None
    if type(node) is not ir.Call:
        return None
    name = node.func.name if type(node.func) is ir.Attr else node.func.id if type(node.func) is ir.Name else ""
    first = node.args[0] if node.args else None
    if name in _PUBLISHED:
        return _published_length(node, name)
    if name in _MADE:
        return _number(next((value for key, value in node.keywords if key in _SIZES), first))
    if name in ("range", "arange") and len(node.args) == 1:
        return _number(first)
    if name in _HOLDS or (name in _KEPT and first is not None and type(first) is not ir.Const):
        found = length_of(frame, first, steps - 1)
        if found is not None or name in _HOLDS:
            return found
    if name in _KEPT and type(node.func) is ir.Attr:
        return length_of(frame, node.func.value, steps - 1)
    if name == "reshape" and first is not None:
        return _number(first)
    return None


def _published_length(node: ir.Call, name: str) -> int | None:
    """The length of a data set that everybody has: `FashionMNIST(root, train=False)`."""
    train = dict(node.keywords).get("train") or (node.args[1] if len(node.args) > 1 else ir.Const(True))
    if type(train) is not ir.Const or not isinstance(train.value, bool):
        return None
    return _PUBLISHED[name][0 if train.value else 1]


def _number(node: ir.Node | None) -> int | None:
    """A size that is written out; of several, the first."""
    if type(node) is ir.Display and node.items:
        node = node.items[0]
    if type(node) is ir.Const and type(node.value) is int and node.value > 0:
        return node.value
    return None


def _slice(index: ir.Node, whole: int | None) -> int | None:
    """How many rows `x[a:b]` holds, of `whole` ones."""
    if type(index) is not ir.Slice or index.step is not None:
        return None
    lower, upper = (None if bound is None else _number(bound) for bound in (index.lower, index.upper))
    if (index.lower is not None and lower is None) or (index.upper is not None and upper is None):
        return None
    end = whole if upper is None else min(upper, whole) if whole is not None else upper
    return end - (lower or 0) if end is not None else None


def source_of(frame: Frame, node: ir.Node | None) -> ir.Node | None:
    """The expression whose value a name has, where just one assignment of the function or module gives it one."""
    for _ in range(_MOST_STEPS):
        if type(node) is not ir.Name:
            return node
        body, given = (frame.function.body, frame.function.params) if frame.function is not None else ((), ())
        found = list(assigned_nodes(body, node.id))
        if any(param.name == node.id for param in given):  # what the caller has for it is another alternative
            return None
        found = found or list(assigned_nodes(_top(frame), node.id))
        node = found[0] if len(found) == 1 else None
    return node


def _top(frame: Frame) -> tuple[ir.Statement, ...]:
    frame.interpreter.reader.current.modules |= frame.module.bit
    return ir.decode_body(frame.module.unit.body)


def assigned_nodes(nodes: tuple[ir.Statement, ...], name: str) -> Iterator[ir.Node]:
    """The expressions whose values assignments give a name: `x = a`, `x, y = a, b`."""
    for node in ir.walk(nodes):
        if type(node) is ir.Assign:
            for target in node.targets:
                if type(target) is ir.Name and target.id == name:
                    yield node.value
                elif type(target) is ir.Display and type(node.value) is ir.Display:
                    for part, value in zip(target.items, node.value.items, strict=False):
                        if type(part) is ir.Name and part.id == name:
                            yield value
