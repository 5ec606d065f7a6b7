"""Report resources that a graph of TensorFlow cannot hold, or XLA not compile: variables of its own, and the host's data sets.

Measured on TensorFlow 2.21: a `tf.function` that makes a variable at each call raises ValueError at the second ("only supports singleton
tf.Variables"), under `jit_compile=True` UnimplementedError at the first; an iterator of `tf.data` has no XLA kernel.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from xlalint.abstract.values import LibraryInstance, LibrarySymbol, Value
from xlalint.interpreter.spelling import position, spelling
from xlalint.lowering import ir
from xlalint.rules.codes import NO_KERNEL, TRACE_TIME_EFFECT
from xlalint.rules.variants import VARIABLE

if TYPE_CHECKING:
    from xlalint.interpreter.frame import Frame

_VARIABLE: Final = "tensorflow.Variable"
_DATA: Final = "tensorflow.data."
# What is called once, and may make variables then.
_SETTING_UP: Final = frozenset(("__init__", "build", "setup", "reset_state"))


def check_variable(frame: Frame, node: ir.Assign, _value: Value) -> None:
    """Report a local name that gets a variable of its own: one behind a test, or kept elsewhere, may be made at the first call alone."""
    call, target = node.value, node.targets[0]
    if type(call) is not ir.Call or "tensorflow" not in frame.module.packages:
        return
    if type(target) is not ir.Name or frame.function is None or frame.paths.tests:
        return
    if frame.function.name in _SETTING_UP:
        return
    func = frame.eval(call.func)
    if not isinstance(func, LibrarySymbol) or frame.apis.canonical(func.name) != _VARIABLE:
        return
    if not _is_kept(frame.function.body, target.id):
        frame.note(TRACE_TIME_EFFECT, call.at, "tensorflow", spelling(call.func), variant=VARIABLE)


def _is_kept(body: tuple[ir.Statement, ...], name: str) -> bool:
    """Return whether a name is declared global or nonlocal, or what it holds is stored elsewhere or given back to who may store it."""
    for node in ir.walk(body):
        if type(node) is ir.Return and type(node.value) is ir.Name and node.value.id == name:
            return True
        if type(node) is ir.Outer and name in node.names:
            return True
        if type(node) is ir.Assign and type(node.value) is ir.Name and node.value.id == name:
            return True
    return False


def check_data(frame: Frame, node: ir.For, over: Value) -> None:
    """Report a loop over a data set in a graph: XLA compiles none of it."""
    if frame.function is not None and isinstance(over, LibraryInstance) and over.name.startswith(_DATA):
        detail = "`IteratorGetNext`"
        frame.note(NO_KERNEL, position(node.iterable), "tensorflow", spelling(node.iterable), detail, "operation")


__all__ = ["check_data", "check_variable"]
