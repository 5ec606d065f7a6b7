"""How many examples an expression holds, where the source says so."""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Final

from xlalint.interpreter.device_loops import last_name
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
# The same of Keras' modules and of TensorFlow Datasets, and of how many of them an epoch of each has.
_LOADED: Final = {
    "mnist": (60_000, 10_000),
    "fashion_mnist": (60_000, 10_000),
    "kmnist": (60_000, 10_000),
    "cifar10": (50_000, 10_000),
    "cifar100": (50_000, 10_000),
    "imdb": (25_000, 25_000),
    "imdb_reviews": (25_000, 25_000),
}
_SPLITS: Final = {"train": 0, "test": 1}
_MOST_STEPS: Final = 6


def length_of(frame: Frame, node: ir.Node | None, steps: int = _MOST_STEPS) -> int | None:
    """The number of rows of an array, or of examples of a data set of such; None where the source does not say."""
    node = source_of(frame, node)
    if steps == 0 or node is None:
        return None
    if type(node) is ir.Sub:
        if type(node.index) is ir.Const:
            return _loaded_length(frame, node, steps - 1)
        index = node.index.items[0] if type(node.index) is ir.Display and node.index.items else node.index
        return _slice(frame, index, length_of(frame, node.value, steps - 1))
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
    if name == "load":
        return _split_length(node)
    if name in _MADE:
        return number_of(frame, next((value for key, value in node.keywords if key in _SIZES), first))
    if name in ("range", "arange") and len(node.args) == 1:
        return number_of(frame, first)
    if name in _HOLDS or (name in _KEPT and first is not None and type(first) is not ir.Const):
        found = length_of(frame, first, steps - 1)
        if found is not None or name in _HOLDS:
            return found
    if name in _KEPT and type(node.func) is ir.Attr:
        return length_of(frame, node.func.value, steps - 1)
    if name == "reshape" and first is not None:
        return number_of(frame, first)
    return None


def _published_length(node: ir.Call, name: str) -> int | None:
    """The length of a data set that everybody has: `FashionMNIST(root, train=False)`."""
    train = dict(node.keywords).get("train") or (node.args[1] if len(node.args) > 1 else ir.Const(True))
    if type(train) is not ir.Const or not isinstance(train.value, bool):
        return None
    return _PUBLISHED[name][0 if train.value else 1]


def _split_length(node: ir.Call) -> int | None:
    """The length of a whole split of what TensorFlow Datasets has: `tfds.load("mnist", split="train")`."""
    keywords = dict(node.keywords)
    named = node.args[0] if node.args else keywords.get("name")
    split = keywords.get("split") or (node.args[1] if len(node.args) > 1 else None)
    if not isinstance(named, ir.Const) or not isinstance(split, ir.Const):
        return None
    found, index = _LOADED.get(str(named.value)), _SPLITS.get(str(split.value))
    return found[index] if found is not None and index is not None else None


def _loaded_length(frame: Frame, node: ir.Node | None, steps: int) -> int | None:
    """The length of a part of what Keras loads: of `mnist.load_data()[0]`, to train on, and of the features `mnist.load_data()[0][0]`."""
    which: object = None
    current = source_of(frame, node)
    for _ in range(steps):
        if isinstance(current, ir.Call) and isinstance(current.func, ir.Attr) and current.func.name == "load_data":
            found = _LOADED.get(last_name(current.func.value))
            return found[which] if found is not None and type(which) is int and which in (0, 1) else None
        if not isinstance(current, ir.Sub) or not isinstance(current.index, ir.Const):
            return None
        which = current.index.value
        current = source_of(frame, current.value)
    return None


def _is_loaded(node: ir.Node) -> bool:
    return isinstance(node, ir.Call) and last_name(node.func) == "load_data"


def number_of(frame: Frame, node: ir.Node | None, steps: int = _MOST_STEPS) -> int | None:
    """A size that is written out, at its name or in several factors; of several sizes, the first."""
    node = source_of(frame, node)
    if type(node) is ir.Display and node.items:
        node = source_of(frame, node.items[0])
    if isinstance(node, ir.Bin) and node.op in _ARITHMETIC and steps:
        left, right = number_of(frame, node.left, steps - 1), number_of(frame, node.right, steps - 1)
        found = _ARITHMETIC[node.op](left, right) if left is not None and right is not None else 0
        return found if found > 0 else None
    if type(node) is ir.Const and type(node.value) is int and node.value > 0:
        return node.value
    return None


_ARITHMETIC: Final[dict[str, Callable[[int, int], int]]] = {
    "+": operator.add,
    "-": operator.sub,
    "*": operator.mul,
    "//": operator.floordiv,
}


def _slice(frame: Frame, index: ir.Node, whole: int | None) -> int | None:
    """How many rows `x[a:b]` holds, of `whole` ones."""
    if type(index) is not ir.Slice or index.step is not None:
        return None
    lower, upper = (None if bound is None else number_of(frame, bound) for bound in (index.lower, index.upper))
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
                elif type(target) is ir.Display and _is_loaded(node.value):
                    yield from _parts_of(target, node.value, name)


def _parts_of(target: ir.Display, value: ir.Node, name: str) -> Iterator[ir.Node]:
    """The part of a value that a name is given, where a target takes it apart: `(x, y), test = mnist.load_data()`."""
    for index, part in enumerate(target.items):
        taken = ir.Sub(value, ir.Const(index), 0)
        if type(part) is ir.Name and part.id == name:
            yield taken
        elif type(part) is ir.Display:
            yield from _parts_of(part, taken, name)
