"""Calls of TensorFlow that API tables cannot express."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from xlalint.abstract.lattice import join
from xlalint.abstract.values import (
    UNKNOWN,
    Const,
    Function,
    Host,
    LibrarySymbol,
    Partial,
    Sequence,
    Tensor,
    Value,
    members,
    sequence,
    tensor,
    tensors,
)
from xlalint.interpreter.arguments import Arguments
from xlalint.interpreter.library_calls import LibraryCall, run_function
from xlalint.lowering import ir
from xlalint.rules.codes import NONZERO

if TYPE_CHECKING:
    from xlalint.interpreter.frame import Frame
    from xlalint.interpreter.interpreter import Interpreter
    from xlalint.interpreter.semantics import Special


def _squeeze(interpreter: Interpreter, frame: Frame, arguments: Arguments, node: ir.Call) -> Value:
    """XLA's dynamic sizes are bounds: what they bound cannot be squeezed without saying which axis."""
    if node.args and type(node.args[0]) is ir.Call and len(arguments.args) < 2 and "axis" not in arguments.keywords:
        frame.qualify(NONZERO, node.args[0].at, "static")
    return run_function(frame, "tensorflow.squeeze", arguments, node)


# What a strategy's method that runs a function on the replicas is called, and was in TensorFlow 2.0 and 2.1.
_RUNNING: Final = frozenset(("run", "experimental_run", "experimental_run_v2"))


def strategy_run(frame: Frame, arguments: Arguments, node: ir.Call) -> Value | None:
    """Run `x.run(f, …)` as that of a strategy of which no more is known: TensorFlow's sessions run no functions."""
    given = arguments.args[0] if arguments.args else None
    named = type(node.func) is ir.Attr and node.func.name in _RUNNING and isinstance(given, (Function, Partial))
    if not named or frame.interpreter.annotations.framework(frame.module) != "tensorflow":
        return None
    entry = frame.apis.class_method("tensorflow.distribute.Strategy", "run")
    return None if entry is None else LibraryCall(frame, entry, None, arguments.args, arguments.pairs(), node).run()


def _on_host(name: str) -> Special:
    """Return what runs a call of the host's Python from a graph: of a list of dtypes it gives a list of tensors."""

    def run(interpreter: Interpreter, frame: Frame, arguments: Arguments, node: ir.Call) -> Value:
        result = run_function(frame, name, arguments, node)
        told = arguments.args[2] if len(arguments.args) > 2 else arguments.keywords.get("Tout")
        if told is None or type(result) is not Tensor:
            return result
        if any(type(one) is Sequence for one in members(told)):
            return sequence("list", None, result)
        return result if type(told) in (Host, Const, LibrarySymbol) else join(result, UNKNOWN)

    return run


def _fill(name: str) -> Special:
    """Return what makes whole numbers of one value: how often, or how many, says a constant, where their number is one."""

    def run(interpreter: Interpreter, frame: Frame, arguments: Arguments, node: ir.Call) -> Value:
        result = run_function(frame, name, arguments, node)
        given = [*arguments.args, *arguments.keywords.values()]
        known = UNKNOWN not in given and all(part.static for value in given for part in tensors(value))
        if type(result) is not Tensor or result.dtype != "i" or not known:
            return result
        return tensor(result.framework, result.dtype, result.rank, result.place, result.sure, static=True)

    return run


def _repeat(interpreter: Interpreter, frame: Frame, arguments: Arguments, node: ir.Call) -> Value:
    """Repeat each element as often as one number says: the compiler knows what it gives where it knows the elements.

    Of a list of numbers it does not (TensorFlow 2.21).
    """
    result = run_function(frame, "tensorflow.repeat", arguments, node)
    given = dict(zip(("input", "repeats"), arguments.args, strict=False)) | arguments.keywords
    elements, times = given.get("input", UNKNOWN), given.get("repeats", UNKNOWN)
    known = elements is not UNKNOWN and all(part.static for part in tensors(elements))
    if type(result) is not Tensor or type(times) not in (Const, Host) or not known:
        return result
    return tensor(result.framework, result.dtype, result.rank, result.place, result.sure, static=True)


# Run on shapes under `jit_compile=True` (TensorFlow 2.21): what they give may be a shape. Of `boolean_mask` and `while_loop` it may not.
_FOLDED_ONLY_HERE: Final = (
    "constant",
    "concat",
    "fill",
    "gather",
    "math.ceil",
    "math.floor",
    "math.floordiv",
    "math.floormod",
    "pow",
    "range",
    "reduce_max",
    "reduce_min",
    "reduce_prod",
    "reduce_sum",
    "reverse",
)
_FOLDED_ONLY_BY_KERAS: Final = (
    "arange",
    "ceil",
    "clip",
    "concatenate",
    "flip",
    "floor",
    "floor_divide",
    "full",
    "max",
    "min",
    "mod",
    "power",
    "prod",
    "sum",
    "take",
    "true_divide",
)
_FOLDED: Final = (
    "abs",
    "add",
    "argmax",
    "broadcast_to",
    "cast",
    "convert_to_tensor",
    "cumsum",
    "divide",
    "expand_dims",
    "identity",
    "logical_and",
    "maximum",
    "minimum",
    "multiply",
    "negative",
    "ones_like",
    "pad",
    "reshape",
    "round",
    "slice",
    "split",
    "sqrt",
    "square",
    "squeeze",
    "stack",
    "subtract",
    "tile",
    "transpose",
    "unstack",
    "where",
    "zeros_like",
)
FOLDED: Final = frozenset(
    (
        *(f"tensorflow.{name}" for name in (*_FOLDED, *_FOLDED_ONLY_HERE)),
        *(f"keras.ops.{name}" for name in (*_FOLDED, *_FOLDED_ONLY_BY_KERAS)),
    )
)

FUNCTIONS: Final[dict[str, Special]] = {
    "tensorflow.squeeze": _squeeze,
    **{name: _fill(name) for name in ("tensorflow.ones", "tensorflow.zeros")},
    "tensorflow.repeat": _repeat,
    **{name: _on_host(name) for name in ("tensorflow.numpy_function", "tensorflow.py_function")},
}
