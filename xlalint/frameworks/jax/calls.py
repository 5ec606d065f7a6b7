"""Calls of JAX that API tables cannot express."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from xlalint.abstract.structures import as_arrays, map_leaves
from xlalint.abstract.values import (
    NONE,
    UNKNOWN,
    Function,
    Sequence,
    Tensor,
    Value,
    members,
    tensor,
    tensors,
)
from xlalint.frameworks.numpy.calls import is_below
from xlalint.interpreter.arguments import Arguments
from xlalint.interpreter.builtin_calls import element_of
from xlalint.interpreter.dispatch_loops import compiled_call, is_of_call, of_earlier_turn
from xlalint.interpreter.frame import body_of
from xlalint.interpreter.guards import reads_clock
from xlalint.interpreter.library_calls import LibraryCall, run_function
from xlalint.interpreter.spelling import path_of
from xlalint.interpreter.subscripts import rebind
from xlalint.interpreter.traced_arguments import as_traced, is_number
from xlalint.interpreter.tracing import constants, numbers_of_none
from xlalint.lowering import ir
from xlalint.rules.codes import PRINT_TENSOR

if TYPE_CHECKING:
    from xlalint.api_tables.entries import Spec
    from xlalint.interpreter.frame import Frame
    from xlalint.interpreter.interpreter import Interpreter
    from xlalint.interpreter.semantics import Special


def _checkify(interpreter: Interpreter, frame: Frame, arguments: Arguments, node: ir.Call) -> Value:
    """A check that must be made functional: nothing to report where the module does so."""
    interpreter.reader.read_whole(frame.module)
    functional = frame.module.unit.functions
    if "checkify" in frame.module.unit.calls or any("checkify" in f.calls or _checkified(f) for f in functional):
        return NONE
    return run_function(frame, "jax.experimental.checkify.check", arguments, node)


def _checkified(function: ir.Function) -> bool:
    return any(
        isinstance(node, (ir.Attr, ir.Name)) and path_of(node).endswith("checkify") for node in function.decorators
    )


def _device_get(interpreter: Interpreter, frame: Frame, arguments: Arguments, node: ir.Call) -> Value:
    """The host's arrays where the code runs by itself; while it is traced, what is given."""
    given = run_function(frame, "jax.device_get", arguments, node)
    if interpreter.tracing:
        return given
    _read(frame, given, node)
    return as_arrays(given)


def _gather(interpreter: Interpreter, frame: Frame, arguments: Arguments, node: ir.Call) -> Value:
    """The host's arrays of what it is given, for which it waits."""
    given = arguments.args[0] if arguments.args else UNKNOWN
    if interpreter.tracing:
        return given
    _read(frame, given, node)
    return as_arrays(given)


def _get_metrics(interpreter: Interpreter, frame: Frame, arguments: Arguments, node: ir.Call) -> Value:
    """The metrics of many steps, copied to the host one upon the other."""
    given = element_of(frame, arguments.args[0]) if arguments.args else UNKNOWN
    _read(frame, given, node)
    return as_arrays(given)


def _compare_hosts(interpreter: Interpreter, frame: Frame, arguments: Arguments, node: ir.Call) -> Value:
    """Raise where hosts have different values: each waits for its own."""
    for value in arguments.args[:1]:
        _read(frame, value, node)
    return NONE


def _read(frame: Frame, value: Value, node: ir.Call) -> None:
    for one in tensors(value):
        frame.read_in_turn(node.at, one, node.args[0] if node.args else None, copies=True)


def _call_compiled(interpreter: Interpreter, frame: Frame, arguments: Arguments, node: ir.Call) -> Value:
    return interpreter.call_compiled(frame, "jax", arguments, node)


def _block_until_ready(interpreter: Interpreter, frame: Frame, arguments: Arguments, node: ir.Call) -> Value:
    """Wait for a result: who reads it afterwards does not wait again."""
    given = run_function(frame, "jax.block_until_ready", arguments, node)
    _wait(frame, given, node.at, node.args[0] if node.args else None)
    ready = of_earlier_turn(given)
    if node.args:
        rebind(frame, node.args[0], ready)
    return ready


def _wait(frame: Frame, value: Value, at: int, node: ir.Node | None) -> None:
    """Record a wait in a loop for what it computes. Who measures waits on purpose, and so does a function that is there to wait."""
    if not reads_clock(body_of(frame)):
        for one in tensors(value):
            if not is_of_call(one):
                frame.read_in_turn(at, one, node, copies=True)


def withholds(call: LibraryCall, _spec: Spec) -> bool:
    """Return whether a call reads nothing that a table says it reads: of rows that are dicts pandas keeps what they hold (run on 3.1).

    Rows of which nothing is known but that a compiled function gave them are more often dicts than arrays.
    """
    if call.name != "pandas.DataFrame":
        return False
    rows = call.all()[0] if call.all() else None
    return type(rows) is Sequence and not any(type(row) is Tensor and row.sure for row in members(rows.element))


def _device_put(interpreter: Interpreter, frame: Frame, arguments: Arguments, node: ir.Call) -> Value:
    """Arrays of JAX's, of whatever is given."""
    return as_traced(run_function(frame, "jax.device_put", arguments, node), "jax")


def _unreplicate(interpreter: Interpreter, frame: Frame, arguments: Arguments, node: ir.Call) -> Value:
    """Take one device's part of what `pmap` gave, leaf by leaf: it is still being computed."""

    def first(leaf: Value) -> Value:
        return (
            tensor(leaf.framework, leaf.dtype, -1, leaf.place, leaf.sure, leaf.static) if type(leaf) is Tensor else leaf
        )

    return map_leaves(arguments.args[0], first) if arguments.args else UNKNOWN


def make_ready(call: LibraryCall, spec: Spec, result: Value) -> None:
    """Take the receiver of `x.block_until_ready()` for computed: who reads it behind that waits no more."""
    method = call.node.func
    if call.receiver is not None and isinstance(method, ir.Attr) and method.name == "block_until_ready":
        _wait(call.frame, call.receiver, call.node.at, method.value)
        rebind(call.frame, method.value, of_earlier_turn(call.receiver))


def static_parameters(call: LibraryCall, bound: int) -> tuple[object, ...]:
    """List the parameters that a tracer leaves as they are, by name or by number: it counts from the first that is not bound."""
    numbered = [*constants(call.argument("static_argnums")), *constants(call.argument("static_broadcasted_argnums"))]
    numbered += numbers_of_none(call.argument("in_axes") if call.name == "jax.vmap" else None)
    numbered += numbers_of_none(call.argument("in_specs") if call.name == "jax.shard_map" else None)
    counted = [one + bound if isinstance(one, int) and one >= 0 else one for one in numbered]
    return (*counted, *constants(call.argument("static_argnames")), *_chosen_by(call))


def _chosen_by(call: LibraryCall) -> tuple[str, ...]:
    """Name the parameters by which a function chooses, where a tracer is given options that are not known: it says which are static."""
    func = call.argument(call.entry.params[0]) if call.entry.params else None
    if not isinstance(func, Function) or all(name for name, _ in call.node.keywords):
        return ()
    return tuple(param.name for param in func.info.params if is_number(func.info, param.name))


def report_format(frame: Frame, value: Value, node: ir.Node, at: int, specified: bool) -> None:
    """Report an array that becomes text: the text names the tracer, which refuses a format."""
    frame.report(PRINT_TENSOR, at, value, node, variant="format" if specified else "")


FUNCTIONS: Final[dict[str, Special]] = {
    compiled_call("jax"): _call_compiled,
    "flax.jax_utils.unreplicate": _unreplicate,
    "jax.block_until_ready": _block_until_ready,
    "jax.device_get": _device_get,
    "jax.device_put": _device_put,
    "flax.training.common_utils.get_metrics": _get_metrics,
    "jax.experimental.checkify.check": _checkify,
    "jax.numpy.issubdtype": is_below,
    "jax.experimental.multihost_utils.assert_equal": _compare_hosts,
    "jax.experimental.multihost_utils.process_allgather": _gather,
}
