"""XLA404: compiled functions that are made anew where they are used, so that each use compiles.

Measured with JAX 0.10.2, equinox 0.13 and TensorFlow 2.21 (torch 2.9.1 keeps what it compiled by the code of the function): JAX keeps by
the function object, `tf.function` by nothing. Equinox keeps by what a function consists of: a bound method, and what its own
transformations make of a function that lasts, equal those of the call before.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from xlalint.abstract.values import Function, LibrarySymbol, Partial, Value
from xlalint.analysis.hazard import Confidence
from xlalint.frameworks.base import Reach
from xlalint.frameworks.checks.call_site import CallSite, asks_about
from xlalint.frameworks.checks.data_lengths import source_of
from xlalint.frameworks.checks.surrounding_loops import body_of, loops_around
from xlalint.interpreter.device_loops import Loop, is_long
from xlalint.interpreter.dispatch_loops import calls_loops, goes_over_table
from xlalint.interpreter.spelling import spelling
from xlalint.lowering import ir
from xlalint.rules.variants import AGAIN

if TYPE_CHECKING:
    from xlalint.interpreter.frame import Frame

JIT = (
    "jax.jit",
    "jax.api.jit",
    "jax.pmap",
    "jax.experimental.pjit.pjit",
    "equinox.filter_jit",
    "equinox.filter_pmap",
    "flax.nnx.jit",
)
_LAST_NAMES = frozenset(name.rpartition(".")[2] for name in JIT)
FUNCTION = ("tensorflow.function",)
_ONCE_AN_EPOCH = (("jax", "info"),)
# Whose transformations are structures, compared part by part.
_BY_PARTS = "equinox."
# What makes a function of a function: a new one each time.
_MAKERS = frozenset(
    [
        "functools.partial",
        *(f"jax.{name}" for name in ("grad", "value_and_grad", "vmap", "jacfwd", "jacrev", "hessian", "checkpoint")),
        *(f"equinox.{name}" for name in ("filter_grad", "filter_value_and_grad", "filter_vmap")),
    ]
)


@asks_about("jax", *JIT, reach=Reach.TRACED)
def check_jit(call: CallSite) -> None:
    """`jax.jit(lambda x: …)(x)` in a loop, or in a function that is called in one."""
    given = call.node.args[0] if call.node.args else dict(call.node.keywords).get("fun")
    around = call.frame.function
    if given is None or not call.arguments.args or (around is not None and around.decorated(*_LAST_NAMES)):
        return  # within a compiled function nothing is compiled by itself
    made = _say_what_is_new(call.frame, given, call.arguments.args[0], call.name.startswith(_BY_PARTS))
    if made:
        _check(call.frame, call.node, call.spelled, made, "jax")


@asks_about("tensorflow", *FUNCTION, reach=Reach.TRACED)
def check_tf_function(call: CallSite) -> None:
    """`tf.function(step)(x)` in a loop, or in a function that is called in one: whatever the function is."""
    if call.arguments.args and isinstance(call.arguments.args[0], (Function, Partial)):
        _check(call.frame, call.node, call.spelled, "a new function each time", "tensorflow")


def check_definition(frame: Frame, node: ir.Define, decorator: ir.Node, name: str) -> None:
    """A nested function under a compiling decorator, called where it is defined: `name` is the decorator's dotted one."""
    framework = "tensorflow" if name in FUNCTION else "jax" if name in JIT else ""
    at = getattr(decorator, "at", 0)
    if framework and at:
        _judge(frame, node, node.name, at + _offset(frame, node), f"@{spelling(decorator)}", framework)


def _offset(frame: Frame, node: ir.Define) -> int:
    """Decorators count from where their own function begins; what is reported counts from the one around it."""
    inner = frame.inner(node.function).ir.start
    outer = frame.function.ir.start if frame.function is not None else frame.base >> 32
    return (inner - outer) << 32 | (inner - outer)


def _say_what_is_new(frame: Frame, node: ir.Node, value: Value, by_parts: bool = False) -> str:
    """Say what is new of a function that is given to be compiled, each time that it is given; `by_parts`: to what compares its parts.

    Return "" where nothing is.
    """
    if isinstance(node, ir.Lambda):
        return "a new lambda each time"
    if isinstance(node, ir.Call):
        func = frame.eval(node.func)
        maker = func.name if isinstance(func, LibrarySymbol) else ""
        if by_parts and maker.startswith(_BY_PARTS) and node.args:
            return _say_what_is_new(frame, node.args[0], frame.eval(node.args[0]), by_parts)
        return f"a new result of `{spelling(node.func)}` each time" if maker in _MAKERS else ""
    if isinstance(value, Function) and value.receiver is not None and isinstance(node, ir.Attr):
        return "" if by_parts else "a newly bound method each time"
    nested = isinstance(value, Function) and frame.function is not None and value.info.ir.outer == frame.function.index
    if nested and isinstance(node, ir.Name):
        return f"`{node.id}`, which is defined again each time"
    source = source_of(frame, node) if isinstance(node, ir.Name) else None
    return _say_what_is_new(frame, source, value, by_parts) if isinstance(source, (ir.Lambda, ir.Call)) else ""


def _check(frame: Frame, node: ir.Call, spelled: str, made: str, framework: str) -> None:
    """Report a compiled function that is called right where it is made."""
    direct = any(isinstance(one, ir.Call) and one.func == node for one in ir.walk(body_of(frame)))
    name = "" if direct else _name_of_result(frame, node)
    if direct or name:
        given = node.args[0] if node.args else None
        _judge(frame, node, name, node.at, spelled, framework, made, given)


def _judge(
    frame: Frame,
    node: ir.Call | ir.Define,
    name: str,
    at: int,
    spelled: str,
    framework: str,
    made: str = "a function that is defined again each time",
    given: ir.Node | None = None,
) -> None:
    """Report what is made in a loop and used in that very loop; or in a function, and used there once."""
    from xlalint.frameworks.checks.call_site import report

    if frame.interpreter.tracing:
        return  # a tracer makes it a part of what it traces: nothing there is compiled by itself
    loops = loops_around(frame, node)
    if name and not _used_beside(frame, name, loops):
        return
    if loops and frame.loops.depth:
        inner = loops[-1]
        same = framework == "jax" and isinstance(given, ir.Name) and not _makes(inner, given.id)
        if is_long(inner) and not same and not _is_made_once(inner, node):
            seldom = _goes_around_steps(inner, node) or calls_loops(inner, frame.context)
            severity = _ONCE_AN_EPOCH if framework == "jax" and seldom else ()
            report(frame, "XLA404", framework, spelled, f"in each iteration of the loop, with {made}", at, "", severity)
            return
    if frame.function is not None and not loops and not frame.function.decorated("cache", "lru_cache"):
        detail = f"in each call of `{frame.function.name}`, with {made}"
        report(frame, "XLA404", framework, spelled, detail, at, AGAIN, (), Confidence.LIKELY)


def _goes_around_steps(loop: Loop, node: ir.Node | ir.Statement) -> bool:
    """Return whether another long loop stands in each turn of one, beside what is made there, and computes things: this one's turns are
    epochs, or whole evaluations."""
    inner = [one for one in ir.walk(loop.body) if isinstance(one, (ir.For, ir.While))]
    return any(
        is_long(one)
        and not goes_over_table(one)
        and any(isinstance(made, ir.Assign) and isinstance(made.value, ir.Call) for made in ir.walk(one.body))
        and not any(part == node for part in ir.walk(one.body))
        for one in inner
    )


def _is_made_once(loop: Loop, node: ir.Node | ir.Statement) -> bool:
    """Return whether a branch in a loop makes something in one turn, or where it is missing.

    The branch asks for a turn by its number, or for a name that it then assigns: `if fresh: f = jit(g); fresh = False`.
    """
    branches = [one for one in ir.walk(loop.body) if isinstance(one, ir.If)]
    held = [one for one in branches if any(inner == node for inner in ir.walk(one.body))]
    turns = {one.id for one in ir.walk(loop.target) if isinstance(one, ir.Name)} if isinstance(loop, ir.For) else set()
    return any(_asks_for_turn(one.test, turns) or _answers_itself(one) for one in held)


def _asks_for_turn(test: ir.Node, turns: set[str]) -> bool:
    if not isinstance(test, ir.Compare) or test.ops != ("==",) or not isinstance(test.rights[0], ir.Const):
        return False
    return isinstance(test.left, ir.Name) and test.left.id in turns


def _answers_itself(branch: ir.If) -> bool:
    asked = {one.id for one in ir.walk(branch.test) if isinstance(one, ir.Name)}
    return any(
        isinstance(target, ir.Name) and target.id in asked
        for one in ir.walk(branch.body)
        if isinstance(one, ir.Assign)
        for target in one.targets
    )


def _makes(loop: Loop, name: str) -> bool:
    """Return whether a loop's turn gives a name its value."""
    for node in ir.walk(loop.body):
        if isinstance(node, ir.Define) and node.name == name:
            return True
        if isinstance(node, ir.Assign) and any(isinstance(t, ir.Name) and t.id == name for t in node.targets):
            return True
    return False


def _name_of_result(frame: Frame, node: ir.Call) -> str:
    """The one name that a call's result gets, where nothing else becomes of it."""
    for one in ir.walk(body_of(frame)):
        if isinstance(one, ir.Assign) and one.value == node and len(one.targets) == 1:
            target = one.targets[0]
            return target.id if isinstance(target, ir.Name) and target.id not in frame.scope.outer_names else ""
    return ""


def _used_beside(frame: Frame, name: str, loops: list[Loop]) -> bool:
    """Return whether a name is only called, and only in the same turns in which it is made."""
    scope = loops[-1].body if loops else body_of(frame)
    uses = [one for one in ir.walk(scope) if isinstance(one, ir.Name) and one.id == name]
    calls = [
        one
        for one in ir.walk(scope)
        if isinstance(one, ir.Call) and isinstance(one.func, ir.Name) and one.func.id == name
    ]
    within = (one for one in ir.walk(scope) if isinstance(one, (ir.For, ir.While, ir.Comprehension)))
    repeated = any(
        isinstance(one, ir.Call) and isinstance(one.func, ir.Name) and one.func.id == name
        for loop in within
        for one in ir.walk(loop)
    )
    stored = sum(
        isinstance(one, ir.Assign) and any(isinstance(t, ir.Name) and t.id == name for t in one.targets)
        for one in ir.walk(scope)
    )
    captured = frame.function is not None and any(
        name in inner.ir.free for inner in frame.module.functions if inner.ir.outer == frame.function.index
    )
    return bool(calls) and not repeated and len(uses) == len(calls) + stored and not captured
