"""Report what AutoGraph cannot turn into graph control flow, though each statement by itself looks convertible.

AutoGraph makes an `if` on a tensor a `tf.cond` and a `while` or `for` on a tensor a `tf.while_loop`: both need the same
names with the same dtypes on every path. These checks run where the interpreter has executed such a statement.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Final, Literal

from xlalint.abstract.values import NONE, Tensor, Value, kind_of_number, tensors
from xlalint.interpreter.spelling import position
from xlalint.lowering import ir
from xlalint.rules.codes import BRANCH_MISMATCH, ITEM, PRINT_TENSOR, TRACE_TIME_EFFECT
from xlalint.rules.variants import FORMAT

if TYPE_CHECKING:
    from xlalint.interpreter.frame import Env, Frame
    from xlalint.interpreter.semantics import Branch, Operand

Access = Literal["load", "store"]


def is_symbolic(value: Value | None) -> bool:
    """Return whether the value is a tensor of which a TensorFlow graph knows no value."""
    return isinstance(value, Tensor) and value.framework == "tensorflow" and not value.static


def sure_symbolic(value: Value) -> bool:
    """Return whether the value is a symbolic tensor and nothing else."""
    return isinstance(value, Tensor) and is_symbolic(value) and value.sure


# --------------------------------------------------------------------------------------------------- branches


def check_branches(frame: Frame, branch: Branch) -> None:
    """Look at an `if` on a tensor: at what its branches set, or return."""
    node = branch.node
    if branch.falls and branch.other_falls:
        _check_branches(frame, node, branch.asked, branch.taken, branch.other)
    elif not frame.loops.kind and _returns_value(node.orelse if branch.falls else node.body):
        frame.half_returns.append((position(node.test), node.at, branch.asked, node.test))


def _check_branches(frame: Frame, node: ir.If, asked: Tensor, taken: Env, other: Env) -> None:
    """Report names that only one of two branches sets, or that they set with different dtypes, if they are read later."""
    for name in {**taken, **other}:
        mine, theirs = taken.get(name), other.get(name)
        if mine is theirs or "." in name:
            continue
        detail = _mismatch(name, mine, theirs)
        if detail and read_after(frame, name, node):
            frame.report(BRANCH_MISMATCH, getattr(node.test, "at", 0), asked, node.test, detail)
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
    return kind_of_number(value)


def _returns_value(body: tuple[ir.Statement, ...]) -> bool:
    """Return whether a block ends by returning something."""
    last = body[-1] if body else None
    return type(last) is ir.Return and last.value is not None


# ------------------------------------------------------------------------------------------------------- text


def report_format(frame: Frame, value: Value, node: ir.Node, at: int, specified: bool) -> None:
    """Report a tensor that becomes text: that names the symbolic tensor, and a format asks for its elements."""
    if specified:
        frame.report(PRINT_TENSOR, at, value, node, variant=FORMAT)
        return
    for one in tensors(value):
        frame.read_in_turn(at, one, node)
    frame.report(TRACE_TIME_EFFECT, at, value, node, "the text names the symbolic tensor", "effect")


# ------------------------------------------------------------------------------------------------------ loops


def bounded(body: tuple[ir.Statement, ...]) -> bool:
    """Return whether a loop's body tells AutoGraph how many iterations there are at most."""
    for statement in body:
        call = statement.value if type(statement) is ir.Eval else None
        if type(call) is ir.Call and type(call.func) is ir.Attr and call.func.name == "set_loop_options":
            return any(name == "maximum_iterations" for name, _ in call.keywords)
    return False


def check_growth(frame: Frame, node: ir.Assign, value: Value) -> None:
    """Report a name that each turn of a graph loop concatenates to itself: its shape must stay what it was."""
    if not frame.loops.names_before:
        return
    target, call = node.targets[0], node.value
    if not (type(target) is ir.Name and target.id in frame.loops.names_before and type(call) is ir.Call and call.args):
        return
    parts = call.args[0]
    func = frame.eval(call.func)
    joins = frame.apis.canonical(getattr(func, "name", "")) in ("tensorflow.concat", "keras.ops.concatenate")
    own = type(parts) is ir.Display and any(type(p) is ir.Name and p.id == target.id for p in parts.items)
    if joins and own and is_symbolic(value) and not _may_grow(frame, target.id):
        frame.report(BRANCH_MISMATCH, call.at, value, target, "its shape grows in a graph loop")


def _may_grow(frame: Frame, name: str) -> bool:
    """Return whether `set_loop_options(shape_invariants=[(x, …)])` says of a name that its shape changes."""
    body = frame.function.body if frame.function is not None else ()
    told = (
        value
        for call in ir.walk(body)
        if type(call) is ir.Call and type(call.func) is ir.Attr and call.func.name == "set_loop_options"
        for keyword, value in call.keywords
        if keyword == "shape_invariants"
    )
    return any(type(one) is ir.Name and one.id == name for value in told for one in ir.walk(value))


# ------------------------------------------------------------------------------------------------------ casts


ARITHMETIC: Final = ("+", "-", "*", "/")


def check_cast(frame: Frame, _op: str, _at: int, left: Operand, right: Operand) -> None:
    """Report `x * int(n)`: AutoGraph makes a tensor of whole numbers of it, which no tensor of another dtype takes for an operand."""
    for (_, node), (other, _) in ((left, right), (right, left)):
        cast = type(node) is ir.Call and type(node.func) is ir.Name and node.func.id == "int"
        if cast and is_symbolic(other) and getattr(other, "dtype", "") != "i":
            frame.qualify(ITEM, getattr(node, "at", 0), "")


# --------------------------------------------------------------------------------------------------- liveness


def read_after(frame: Frame, name: str, node: ir.If) -> bool:
    """Return whether the function reads the name after the statement, before it sets it anew."""
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
    if type(node) is ir.Name:
        yield "load", node.id, node.at >> 32
    elif isinstance(node, (ir.Assign, ir.AnnAssign, ir.For)):
        yield from _accesses(frame, node.iterable if type(node) is ir.For else node.value)
        for target in node.targets if type(node) is ir.Assign else (node.target,):
            yield from _stores(frame, target)
        if type(node) is ir.For:
            yield from _accesses(frame, node.body + node.orelse)
    elif isinstance(node, (ir.Lambda, ir.Define)):
        inner = frame.inner(node.function).ir
        yield from (("load", name, getattr(node, "at", 1 << 62) >> 32) for name in inner.free)
    else:
        parts = node if isinstance(node, tuple) else ir.parts(node)
        for part in parts:
            yield from _accesses(frame, part)


def _stores(frame: Frame, target: object) -> Iterator[tuple[Access, str, int]]:
    if type(target) is ir.Name:
        yield "store", target.id, target.at >> 32
    elif isinstance(target, (ir.Display, ir.Star)):
        for part in ir.parts(target):
            yield from _stores(frame, part)
    else:
        yield from _accesses(frame, target)
