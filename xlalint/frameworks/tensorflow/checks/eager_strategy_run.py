"""XLA515: `strategy.run` outside of `tf.function`, which a TPU strategy refuses (TensorFlow 2.21)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from xlalint.abstract.values import Function, LibraryInstance, members
from xlalint.frameworks.checks.call_site import CallSite, asks_about
from xlalint.frameworks.tensorflow.checks.outside_strategy_scope import STRATEGIES, receiver_of
from xlalint.lowering import ir

if TYPE_CHECKING:
    from xlalint.interpreter.context import Context
    from xlalint.interpreter.interpreter import Interpreter
    from xlalint.program.linker import FunctionInfo

# What makes a graph of a function, by the last name of a decorator.
_STAGING = ("function", "defun", "jit_compile")
# Keras calls these from functions that it has made graphs of.
_OF_KERAS = frozenset(("call", "train_step", "test_step", "predict_step", "make_train_function"))


@asks_about("tensorflow", methods=("run",))
def check_run(call: CallSite) -> None:
    """`strategy.run(step)` in code that surely runs eagerly: from the top level of a module, or from `main`."""
    frame = call.frame
    given = call.value("fn", 0)
    if given is None or not any(
        isinstance(member, LibraryInstance) and member.name in STRATEGIES for member in members(receiver_of(call))
    ):
        return
    interpreter = frame.interpreter
    frame.context.cut = True  # what follows depends on who called, and on what was given to tracers before
    steps = members(given)
    if any(not isinstance(step, Function) or _staged(interpreter, step.info) for step in steps):
        return
    if isinstance(call.node_of("fn", 0), ir.Call) or not _eager(interpreter):
        return
    call.report("XLA515", "tensorflow", call.spelled, "runs eagerly, which a TPU strategy rejects")


def _eager(interpreter: Interpreter) -> bool:
    """Return whether no function on the stack may be one that a graph is made of."""
    stack = interpreter.stack
    started = bool(stack) and (stack[0].function is None or stack[0].function.name == "main")
    return started and not any(_in_graph(interpreter, context) for context in stack)


def _in_graph(interpreter: Interpreter, context: Context) -> bool:
    info = context.function
    return info is not None and (info.name in _OF_KERAS or _staged(interpreter, info))


def _staged(interpreter: Interpreter, info: FunctionInfo) -> bool:
    """Return whether a function is decorated with `tf.function`, or was given to it."""
    if info.decorated(*_STAGING) or info in interpreter.staged:
        return True
    roots = (*interpreter.roots, *interpreter.module_roots(info.module))
    given = (root for root in roots if root.tier == 1 and root.context.function is info)
    return any(not root.why.endswith(".run`") for root in given)
