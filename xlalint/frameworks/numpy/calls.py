"""Calls of NumPy that API tables cannot express."""

from __future__ import annotations

from typing import TYPE_CHECKING

from xlalint.abstract.values import UNKNOWN, Tensor, Value, tensor
from xlalint.interpreter.arguments import Arguments
from xlalint.interpreter.library_calls import LibraryCall, kind_of_data
from xlalint.lowering import ir

if TYPE_CHECKING:
    from xlalint.interpreter.frame import Frame
    from xlalint.interpreter.interpreter import Interpreter
    from xlalint.interpreter.semantics import Special


def _array(interpreter: Interpreter, frame: Frame, arguments: Arguments, node: ir.Call) -> Value:
    """`np.array` and `np.asarray`: what tables say of them, with the dtype and rank of the data."""
    entry = interpreter.apis.function("numpy.array")
    if entry is None:
        return UNKNOWN
    made = LibraryCall(frame, entry, None, arguments.args, arguments.pairs(), node).run()
    data = arguments.args[0] if arguments.args else UNKNOWN
    if isinstance(made, Tensor) and made.framework == "numpy" and made.rank < 0:
        dtype, rank, _ = kind_of_data(data)
        if isinstance(data, Tensor):
            rank = data.rank
        return tensor("numpy", made.dtype or dtype, rank)
    return made


# NumPy's functions of one array that give an array of the same shape.
ELEMENTWISE: frozenset[str] = frozenset(
    f"numpy.{name}"
    for name in (
        "abs",
        "ceil",
        "clip",
        "copy",
        "cos",
        "cumprod",
        "cumsum",
        "exp",
        "flip",
        "floor",
        "log",
        "rint",
        "round",
        "sin",
        "sort",
        "sqrt",
        "square",
    )
)

FUNCTIONS: dict[str, Special] = {
    "numpy.array": _array,
    "numpy.asarray": _array,
}
