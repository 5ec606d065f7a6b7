"""Arguments of compiled functions that have another shape in some turns of a loop: rows of different lengths, and what slices leave over.

Measured with TensorFlow 2.21 and JAX 0.10.2: `tf.function` traces and `jax.jit` compiles once for each shape, so once for each length
that occurs, and once more for the last, shorter slice of `range(0, n, size)`. Only what the source shows is taken: rows that are written
out with different lengths or made of a size that changes, and bounds of slices. Of rows that come from elsewhere nothing is known.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Final, NamedTuple

from xlalint.frameworks.checks.data_lengths import assigned_nodes, length_of, number_of, source_of
from xlalint.frameworks.checks.surrounding_loops import counters, loops_around, names_in
from xlalint.interpreter.device_loops import Loop, is_long, last_name
from xlalint.lowering import ir

if TYPE_CHECKING:
    from xlalint.interpreter.frame import Frame

# What makes an array of a list, or another one of the same length.
_KEEPING: Final = frozenset(
    ("constant", "convert_to_tensor", "asarray", "array", "as_tensor", "cast", "identity", "expand_dims", "Variable")
)
_KEEPING_METHODS: Final = frozenset(("astype", "copy"))
# What makes an array of the size that its first argument says, or `shape` or `size`.
_SIZED: Final = frozenset(
    ("zeros", "ones", "empty", "full", "fill", "arange", "range", "linspace", "rand", "randn", "random", "eye")
)
_SIZED_BY_NAME: Final = frozenset(("normal", "uniform", "standard_normal", "randint", "integers"))
_SIZES: Final = ("shape", "size")
_SPLITTING: Final = frozenset(("split", "encode", "tokenize"))
_EACH_LENGTH: Final = "has another length in each turn: `{}` is traced again for each"
_EACH_SIZE: Final = "has another size in each turn: `{}` is traced again for each"
_LAST: Final = "is shorter in the last turn: `{}` is traced once more for it"
_SEVERAL: Final = 3
_DRAWN: Final = frozenset(("randint", "randrange", "integers"))
_AROUND_LOOPS: Final = frozenset(("tqdm", "list", "iter", "reversed", "sorted", "shuffle", "permutation"))


class ShapeChange(NamedTuple):
    """Says how the shape of an argument changes, with a place for the function's name, and if that is sure; `part` is what of it does."""

    detail: str
    sure: bool
    part: ir.Node


def find_change(frame: Frame, call: ir.Call, passed: ir.Node) -> ShapeChange | None:
    """How the shape of an argument changes in the loop around a call; None where nothing shows that it does."""
    loops = loops_around(frame, call)
    if not loops or not is_long(loops[-1]):
        return None
    loop = loops[-1]
    found = (_change_of(frame, loop, made) for made in _parts_of(loop, passed))
    return next((one for one in found if one is not None), None)


def _parts_of(loop: Loop, passed: ir.Node) -> Iterator[ir.Node]:
    """Yield what a turn makes an argument of: the parts of a dict, tuple or list that it writes out, one by one."""
    made = _find_made(loop, _unwrap(passed))
    parts = made.values if isinstance(made, ir.DictDisplay) else made.items if isinstance(made, ir.Display) else ()
    for part in parts:
        yield from _parts_of(loop, part)
    if made is not None and not parts:
        yield made


def _change_of(frame: Frame, loop: Loop, made: ir.Node) -> ShapeChange | None:
    if isinstance(made, ir.Sub):
        return _slice_varies(frame, loop, made)
    if isinstance(made, ir.Name):
        rows = _find_rows(loop, made.id)
        return ShapeChange(_EACH_LENGTH, True, made) if rows and _is_ragged(frame, rows) else None
    sizes = _sizes_of(made)
    changing = _sizes_in(frame, loop)
    if sizes is not None and (names_in(sizes) & changing or _is_drawn(sizes)):
        return ShapeChange(_EACH_SIZE, True, made)
    return None


def _unwrap(node: ir.Node) -> ir.Node:
    """Return what `tf.constant([x])`, `x[None]` and the like hold."""
    while True:
        if isinstance(node, ir.Call) and node.args and last_name(node.func) in _KEEPING:
            node = node.args[0]
        elif isinstance(node, ir.Call) and isinstance(node.func, ir.Attr) and node.func.name in _KEEPING_METHODS:
            node = node.func.value
        elif isinstance(node, ir.Display) and len(node.items) == 1:
            node = node.items[0]
        elif isinstance(node, ir.Sub) and _adds_axes(node.index):
            node = node.value
        else:
            return node


def _adds_axes(index: ir.Node) -> bool:
    """Return whether an index only adds axes: `x[None]`, `x[np.newaxis, :]`."""
    parts = index.items if isinstance(index, ir.Display) else (index,)
    new = [_is_new_axis(part) for part in parts]
    return any(new) and all(
        one or (isinstance(part, ir.Slice) and part == ir.Slice(None, None, None))
        for one, part in zip(new, parts, strict=True)
    )


def _is_new_axis(node: ir.Node) -> bool:
    return node == ir.Const(None) or (isinstance(node, ir.Attr) and node.name == "newaxis")


def _find_made(loop: Loop, node: ir.Node) -> ir.Node | None:
    """Return what a turn of a loop makes an argument of: by a name that it assigns once, or at once; None where several do."""
    for _ in range(4):
        if not isinstance(node, ir.Name):
            return node
        found = list(assigned_nodes(loop.body, node.id))
        if not found:
            return node
        if len(found) > 1:
            return None
        node = _unwrap(found[0])
    return None


def _is_named(target: ir.Node, name: str) -> bool:
    return isinstance(target, ir.Name) and target.id == name


def _find_rows(loop: Loop, name: str) -> ir.Node | None:
    """Return what a loop takes its name from: `for s in rows`, `for i, s in enumerate(rows)`, `for s, t in zip(rows, others)`."""
    if not isinstance(loop, ir.For):
        return None
    target, over = loop.target, loop.iterable
    while isinstance(over, ir.Call) and over.args:
        called = last_name(over.func)
        if called == "enumerate" and isinstance(target, ir.Display) and len(target.items) == 2:
            target, over = target.items[1], over.args[0]
        elif called == "zip" and isinstance(target, ir.Display):
            place = next((i for i, one in enumerate(target.items) if _is_named(one, name)), -1)
            if not 0 <= place < len(over.args):
                return None
            target, over = target.items[place], over.args[place]
        elif called in _AROUND_LOOPS:
            over = over.args[0]
        else:
            break
    return over if _is_named(target, name) else None


# ------------------------------------------------------------------------------------------------------ rows


def _is_ragged(frame: Frame, node: ir.Node) -> bool:
    """Return whether the items of an iterable surely have different lengths, as the source shows."""
    rows = source_of(frame, node)
    if isinstance(rows, ir.Display):
        lengths = [_find_length(frame, item) for item in rows.items]
        return None not in lengths and len(set(lengths)) >= _SEVERAL
    if not isinstance(rows, ir.Comprehension) or len(rows.generators) != 1:
        return False
    generator = rows.generators[0]
    names = names_in(generator.target)
    over = source_of(frame, generator.iterable)
    if isinstance(over, ir.Display) and len(set(over.items)) < 2:
        return False
    return _length_depends(_unwrap(rows.element), names)


def _find_length(frame: Frame, node: ir.Node) -> int | None:
    node = _unwrap(node) if not isinstance(node, ir.Display) else node
    if isinstance(node, ir.Bin) and node.op == "*" and isinstance(node.left, ir.Display):
        factor = node.right.value if isinstance(node.right, ir.Const) else None
        return len(node.left.items) * factor if isinstance(factor, int) else None
    if isinstance(node, ir.Call) and last_name(node.func) == "list" and len(node.args) == 1:
        node = node.args[0]
    return None if isinstance(node, ir.Name) else length_of(frame, node)


def _length_depends(node: ir.Node, names: set[str]) -> bool:
    """Return whether the length of what a comprehension makes depends on what it goes over."""
    if isinstance(node, ir.Call) and last_name(node.func) == "list" and len(node.args) == 1:
        return _length_depends(node.args[0], names)
    if isinstance(node, ir.Call) and last_name(node.func) in _SPLITTING:
        return bool(names_in(node) & names)
    if isinstance(node, ir.Comprehension) and len(node.generators) == 1:
        return _length_depends(node.generators[0].iterable, names)
    if isinstance(node, ir.Bin) and node.op == "*" and isinstance(node.left, ir.Display):
        return bool(names_in(node.right) & names)
    if isinstance(node, ir.Sub) and isinstance(node.index, ir.Slice):
        return _one_bound(node.index, names)
    sizes = _sizes_of(node)
    return sizes is not None and (bool(names_in(sizes) & names) or _is_drawn(sizes))


# ----------------------------------------------------------------------------------------------------- sizes


def _sizes_of(node: ir.Node) -> ir.Node | None:
    """The expression that says how large an array is that a call makes."""
    if not isinstance(node, ir.Call):
        return None
    name = last_name(node.func)
    told = next((value for key, value in node.keywords if key in _SIZES), None)
    if told is not None and (name in _SIZED or name in _SIZED_BY_NAME):
        return told
    if name not in _SIZED or not node.args:
        return None
    return ir.Display("tuple", node.args, node.at) if name in ("arange", "range", "rand", "randn") else node.args[0]


def _sizes_in(frame: Frame, loop: Loop) -> set[str]:
    """The names that are another number in each turn: those that count it, and those of sizes that are written out."""
    names = counters(loop)
    if isinstance(loop, ir.For) and isinstance(loop.target, ir.Name):
        over = source_of(frame, loop.iterable)
        if isinstance(over, ir.Display) and len({one.value for one in over.items if isinstance(one, ir.Const)}) > 1:
            names = names | {loop.target.id}
    return names


def _is_drawn(sizes: ir.Node) -> bool:
    return any(isinstance(one, ir.Call) and last_name(one.func) in _DRAWN for one in ir.walk(sizes))


# ---------------------------------------------------------------------------------------------------- slices


def _slice_varies(frame: Frame, loop: Loop, sub: ir.Sub) -> ShapeChange | None:
    """`x[:n]` with a counter `n`, and `x[i:i + size]`, of which the last may be shorter."""
    index = sub.index.items[0] if isinstance(sub.index, ir.Display) and sub.index.items else sub.index
    if not isinstance(index, ir.Slice) or index.step is not None:
        return None
    count = counters(loop)
    if _one_bound(index, count):
        return ShapeChange(_EACH_SIZE, True, sub)
    if not (isinstance(loop, ir.For) and isinstance(loop.target, ir.Name)):
        return None
    if not (loop.target.id in names_in(index.lower) and loop.target.id in names_in(index.upper)):
        return None
    sure = _leaves_rest(frame, loop.target.id, loop.iterable, index)
    if sure is None or _leaves_loop(loop):
        return None
    return ShapeChange(_LAST, sure, sub)


def _one_bound(index: ir.Slice, names: set[str]) -> bool:
    """Return whether just one end of a slice moves."""
    lower, upper = (bool(names_in(bound) & names) for bound in (index.lower, index.upper))
    return (lower and index.upper is None) or (upper and not lower)


def _leaves_rest(frame: Frame, name: str, over: ir.Node, index: ir.Slice) -> bool | None:
    """Return whether the last slice is surely shorter (True), as far as can be told (False), or not (None)."""
    while isinstance(over, ir.Call) and over.args and last_name(over.func) in _AROUND_LOOPS:
        over = over.args[0]
    if not isinstance(over, ir.Call) or last_name(over.func) not in ("range", "trange"):
        return None
    if len(over.args) == 3 and index.lower == ir.Name(name, getattr(index.lower, "at", 0)):
        return _divides_not(frame, over.args[1], over.args[2], over.args[0])
    return None


def _divides_not(frame: Frame, end: ir.Node, step: ir.Node, start: ir.Node) -> bool | None:
    size, first, last = _number(frame, step), _number(frame, start), _number(frame, end)
    if size == 1:
        return None
    if size is not None and first is not None and last is not None:
        return True if (last - first) % size else None
    whole = source_of(frame, end)
    return None if isinstance(whole, ir.Bin) else False


def _number(frame: Frame, node: ir.Node) -> int | None:
    """The number that an expression stands for: written out, or the length of an array whose length is."""
    found = source_of(frame, node)
    if isinstance(found, ir.Const):
        return found.value if type(found.value) is int else None
    if isinstance(found, ir.Bin):
        return number_of(frame, found)
    if isinstance(found, ir.Call) and last_name(found.func) == "len" and len(found.args) == 1:
        return length_of(frame, found.args[0])
    first = isinstance(found, ir.Sub) and found.index == ir.Const(0)
    if first and isinstance(found, ir.Sub) and isinstance(found.value, ir.Attr) and found.value.name == "shape":
        return length_of(frame, found.value.value)
    return None


def _leaves_loop(loop: Loop) -> bool:
    """Return whether a turn may leave out what comes after a test: the last slice may be none of the arguments."""
    return any(isinstance(one, ir.Jump) for one in ir.walk(loop.body))


__all__ = ["ShapeChange", "find_change"]
