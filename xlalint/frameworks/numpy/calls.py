"""Calls of NumPy that API tables cannot express."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from xlalint.abstract.lattice import boolean
from xlalint.abstract.values import UNKNOWN, Host, Tensor, Value, constant, external, sequence, tensor
from xlalint.interpreter.arguments import Arguments
from xlalint.interpreter.device_loops import last_name
from xlalint.interpreter.library_calls import dtype_of, kind_of_data, run_function
from xlalint.lowering import ir

if TYPE_CHECKING:
    from xlalint.interpreter.frame import Frame
    from xlalint.interpreter.interpreter import Interpreter
    from xlalint.interpreter.semantics import Special


def _of_objects(arguments: Arguments, position: int) -> bool:
    """Return whether an array is made of Python objects: it keeps each as it is, a device's tensor too."""
    dtype = arguments.keywords.get("dtype")
    if dtype is None and len(arguments.args) > position:
        dtype = arguments.args[position]
    return dtype in (external("builtins.object"), constant("object"), constant("O"))


def _new(name: str, position: int) -> Special:
    """Return what makes an array of a size, whose dtype is given at that position: one of objects behaves as a list does."""

    def make(interpreter: Interpreter, frame: Frame, arguments: Arguments, node: ir.Call) -> Value:
        made = run_function(frame, name, arguments, node)
        return sequence("list", None, UNKNOWN) if _of_objects(arguments, position) else made

    return make


def _array(interpreter: Interpreter, frame: Frame, arguments: Arguments, node: ir.Call) -> Value:
    """`np.array` and `np.asarray`: what tables say of them, with the dtype and rank of the data."""
    made = run_function(frame, "numpy.array", arguments, node)
    data = arguments.args[0] if arguments.args else UNKNOWN
    if isinstance(made, Tensor) and made.framework == "numpy" and made.rank < 0:
        dtype, rank, _ = kind_of_data(data)
        if isinstance(data, Tensor):
            rank = data.rank
        return tensor("numpy", made.dtype or dtype, rank)
    return made


# Kinds of dtypes that are below NumPy's abstract ones; whether whole numbers have a sign is not told apart.
_BELOW: Final = {
    "bool_": "b",
    "complexfloating": "c",
    "floating": "f",
    "generic": "bifc",
    "inexact": "fc",
    "integer": "i",
    "number": "ifc",
}


def is_below(interpreter: Interpreter, frame: Frame, arguments: Arguments, node: ir.Call) -> Value:
    """`issubdtype(x.dtype, floating)`: what is known of the dtype decides."""
    below = _BELOW.get(last_name(node.args[1])) if len(node.args) == 2 else None
    given = arguments.args[0] if arguments.args else UNKNOWN
    kind = dtype_of(given) if isinstance(given, (Host, Tensor)) else ""
    return boolean(kind in below if kind and below else None)


# NumPy's functions of one array that give an array of the same shape.
ELEMENTWISE: Final[frozenset[str]] = frozenset(
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

FUNCTIONS: Final[dict[str, Special]] = {
    "numpy.empty": _new("numpy.empty", 1),
    "numpy.full": _new("numpy.full", 2),
    "numpy.ones": _new("numpy.ones", 1),
    "numpy.zeros": _new("numpy.zeros", 1),
    "numpy.array": _array,
    "numpy.asarray": _array,
    "numpy.issubdtype": is_below,
}
