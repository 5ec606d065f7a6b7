"""What AutoGraph cannot turn into graph control flow, though each statement by itself looks convertible.

AutoGraph makes an `if` on a tensor a `tf.cond` and a `while` or `for` on a tensor a `tf.while_loop`: both need the same
names with the same dtypes on every path. These checks run where the interpreter has executed such a statement.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Literal

from xlalint.abstract.values import NONE, Const, Host, LibraryInstance, Tensor, Value, members
from xlalint.lowering import ir

if TYPE_CHECKING:
    from xlalint.interpreter.frame import Env, Frame

Access = Literal["load", "store"]
_KINDS = {"int": "i", "float": "f", "bool": "b", "complex": "c"}
_TAPES = frozenset(("tensorflow.GradientTape",))


def is_symbolic(value: Value | None) -> bool:
    """Whether the value is a tensor of which a TensorFlow graph knows no value."""
    return isinstance(value, Tensor) and value.framework == "tensorflow" and not value.static


def sure_symbolic(value: Value) -> bool:
    """Whether the value is a symbolic tensor and nothing else."""
    return isinstance(value, Tensor) and is_symbolic(value) and value.sure


# ------------------------------------------------------------------------------------------------- iteration


def iterated(frame: Frame, value: Value, node: ir.Node, at: int = 0) -> None:
    """Report Python's own iteration over a symbolic tensor."""
    if sure_symbolic(value):
        frame.report("XLA109", at or getattr(node, "at", 0), value, node)


# --------------------------------------------------------------------------------------------------- branches


def check_branches(frame: Frame, node: ir.If, asked: Tensor, taken: Env, other: Env) -> None:
    """Report names that only one of two branches sets, or that they set with different dtypes, if they are read later."""
    for name in {**taken, **other}:
        mine, theirs = taken.get(name), other.get(name)
        if mine is theirs or "." in name:
            continue
        detail = _mismatch(name, mine, theirs)
        if detail and read_after(frame, name, node):
            frame.report("XLA108", getattr(node.test, "at", 0), asked, node.test, detail)
            return


def _mismatch(name: str, mine: Value | None, theirs: Value | None) -> str:
    if mine is None or theirs is None:
        return f"only one branch sets `{name}`"
    first, second = _kind(mine), _kind(theirs)
    if first and second and first != second:
        return f"`{name}` has a different dtype in each branch"
    if (mine is NONE and sure_symbolic(theirs)) or (theirs is NONE and sure_symbolic(mine)):
        return f"`{name}` is None in one branch"
    return ""


def _kind(value: Value) -> str:
    """The dtype that a value has as a tensor, "" when that is not known."""
    if isinstance(value, Tensor):
        return value.dtype if value.framework == "tensorflow" else ""
    if isinstance(value, Const):
        return _KINDS.get(type(value.value).__name__, "")
    return _KINDS.get(value.type, "") if isinstance(value, Host) else ""


def returns_value(body: tuple[ir.Statement, ...]) -> bool:
    """Whether a block ends by returning something."""
    last = body[-1] if body else None
    return isinstance(last, ir.Return) and last.value is not None


def leaves_loop(body: tuple[ir.Statement, ...]) -> bool:
    """Whether a block ends by a `break`."""
    last = body[-1] if body else None
    return isinstance(last, ir.Jump) and last.leaves


# ------------------------------------------------------------------------------------------------------ loops


def taped(frame: Frame, value: Value) -> bool:
    """Whether a context manager records what runs under it for a gradient."""
    return any(
        isinstance(member, LibraryInstance) and frame.apis.canonical(member.name) in _TAPES for member in members(value)
    )


def builds_apart(frame: Frame, value: Value) -> bool:
    """Whether what runs under a context manager is put into a graph of its own, which tracing does not run."""
    return any(
        isinstance(m, LibraryInstance) and frame.apis.canonical(m.name) == "tensorflow.Graph" for m in members(value)
    )


def bounded(body: tuple[ir.Statement, ...]) -> bool:
    """Whether a loop's body tells AutoGraph how many iterations there are at most."""
    for statement in body:
        call = statement.value if isinstance(statement, ir.Eval) else None
        if isinstance(call, ir.Call) and isinstance(call.func, ir.Attr) and call.func.name == "set_loop_options":
            return any(name == "maximum_iterations" for name, _ in call.keywords)
    return False


def check_growth(frame: Frame, node: ir.Assign, value: Value) -> None:
    """Report a name that each turn of a graph loop concatenates to itself: its shape must stay what it was."""
    target, call = node.targets[0], node.value
    if not (isinstance(target, ir.Name) and target.id in frame.staged and isinstance(call, ir.Call) and call.args):
        return
    parts = call.args[0]
    func = frame.eval(call.func)
    joins = frame.apis.canonical(getattr(func, "name", "")) in ("tensorflow.concat", "keras.ops.concatenate")
    own = isinstance(parts, ir.Display) and any(isinstance(p, ir.Name) and p.id == target.id for p in parts.items)
    if joins and own and is_symbolic(value):
        frame.report("XLA108", call.at, value, target, "its shape grows in a graph loop")


def check_append(frame: Frame, target: ir.Node | None, value: Value, node: ir.Call) -> None:
    """Report a tensor that a graph loop puts into a Python list from outside of the loop."""
    if isinstance(target, ir.Name) and target.id in frame.staged and sure_symbolic(value):
        frame.report("XLA109", node.at, value, node.args[0] if node.args else None, "it does not leave the graph loop")


# --------------------------------------------------------------------------------------------------- liveness


def read_after(frame: Frame, name: str, node: ir.If) -> bool:
    """Whether the function reads the name after the statement, before it sets it anew."""
    if frame.function is None:
        return False
    end = max(_last_offset(node), node.at)
    for access, found, offset in _accesses(frame, frame.function.body):
        if found == name and offset > end:
            return access == "load"
    return False


def _last_offset(node: object) -> int:
    """The largest offset at which something in the statement ends."""
    at = getattr(node, "at", 0)
    last = at & 0xFFFFFFFF if at >> 32 else at
    return max([last, *(_last_offset(part) for part in ir.parts(node))])


def _accesses(frame: Frame, node: object) -> Iterator[tuple[Access, str, int]]:
    """Loads and stores of names in a body, in the order in which they happen: (access, name, byte offset)."""
    if isinstance(node, ir.Name):
        yield "load", node.id, node.at >> 32
    elif isinstance(node, (ir.Assign, ir.AnnAssign, ir.For)):
        yield from _accesses(frame, node.iterable if isinstance(node, ir.For) else node.value)
        for target in node.targets if isinstance(node, ir.Assign) else (node.target,):
            yield from _stores(frame, target)
        if isinstance(node, ir.For):
            yield from _accesses(frame, node.body + node.orelse)
    elif isinstance(node, (ir.Lambda, ir.Define)):
        inner = frame.inner(node.function).ir
        yield from (("load", name, getattr(node, "at", 1 << 62) >> 32) for name in inner.free)
    else:
        parts = node if isinstance(node, tuple) else ir.parts(node)
        for part in parts:
            yield from _accesses(frame, part)


def _stores(frame: Frame, target: object) -> Iterator[tuple[Access, str, int]]:
    if isinstance(target, ir.Name):
        yield "store", target.id, target.at >> 32
    elif isinstance(target, (ir.Display, ir.Star)):
        for part in ir.parts(target):
            yield from _stores(frame, part)
    else:
        yield from _accesses(frame, target)
