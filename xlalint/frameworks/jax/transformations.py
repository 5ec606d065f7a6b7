"""Functions that JAX makes of functions: gradients, of which only some arguments are traced, and what they give back.

`jax.jit` traces every argument. `jax.grad` traces those of `argnums`; the others keep the values of the call, and so does what the function
closes over (JAX 0.10.2: `jax.grad(f)(x, 4)` runs `range(n)` on the 4). So a gradient is run where it is called, on what it is called with.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from xlalint.abstract.lattice import join_all
from xlalint.abstract.structures import map_leaves
from xlalint.abstract.values import (
    FALSE,
    NO_GRADIENT,
    TRUE,
    UNKNOWN,
    Const,
    LibrarySymbol,
    Partial,
    Sequence,
    Tensor,
    Value,
    constant,
    external,
    partial,
    sequence,
    tensor,
)
from xlalint.interpreter.arguments import Arguments
from xlalint.interpreter.library_calls import LibraryCall
from xlalint.interpreter.traced_arguments import as_traced
from xlalint.interpreter.tracing import constants
from xlalint.lowering import ir

if TYPE_CHECKING:
    from xlalint.interpreter.context import PendingHazard
    from xlalint.interpreter.frame import Frame
    from xlalint.interpreter.interpreter import Interpreter
    from xlalint.interpreter.semantics import Special
    from xlalint.interpreter.tracer import Tracer
    from xlalint.rules.policy import Policy

_FRAMEWORK = "jax"
_CALLED = "jax.grad()"
_STOPS = "jax.lax.stop_gradient"
# Of each function that differentiates: whether what it makes gives the value beside the gradient.
GRADIENTS = {
    "jax.grad": False,
    "jax.value_and_grad": True,
    "jax.jacfwd": False,
    "jax.jacrev": False,
    "jax.jacobian": False,
    "jax.hessian": False,
    "equinox.filter_grad": False,
    "equinox.filter_value_and_grad": True,
    "flax.nnx.grad": False,
    "flax.nnx.value_and_grad": True,
}
CONCRETE = frozenset((*GRADIENTS, "jax.vjp", "jax.jvp", "jax.linearize"))
"""Transformations that follow derivatives beside values: by themselves they leave these to Python.

With JAX 0.10.2 conditions, `int(x)`, `x.item()`, `range(n)`, masks and sizes of results run in `jax.grad(f)(x)`; `float(x)`, a format of
a text and NumPy raise, but for truths and whole numbers: these have no derivative.
"""
EAGER = CONCRETE | {"jax.vmap", "equinox.filter_vmap", "flax.nnx.vmap"}
"""Transformations that run operations on what they do not trace at once, and do not record those."""
FILTERS = frozenset(f"equinox.filter_{name}" for name in ("jit", "vmap", "pmap"))
"""Transformations of arrays alone: flags and numbers stay what they are."""
MAPPING = frozenset(
    ("jax.vmap", "jax.pmap", "equinox.filter_vmap", "equinox.filter_pmap", "flax.nnx.vmap", "flax.nnx.pmap")
)
"""Transformations that run a function on each row of what is passed."""
FLAGGED = frozenset(("haiku.transform", "haiku.transform_with_state"))
"""What says nothing of which arguments are static: who applies what it makes does. A parameter by which a body chooses is a flag."""
REVERSE = frozenset(GRADIENTS) - {"jax.jacfwd"} | {"jax.vjp"}
"""Those that differentiate in reverse mode: loops inside need a fixed number of turns."""
ENDING = frozenset(("stop_gradient", "custom_vjp", "custom_jvp", "custom_root", "custom_linear_solve"))
"""Last names of what says where gradients stop, or what they are."""
OPERATIONS = tuple(f"jax.{package}." for package in ("image", "lax", "nn", "numpy", "ops", "random", "scipy"))
"""Where the functions stand that `jax.jit` records, also of numbers and NumPy arrays: `jnp.mean(np.ones(3))` is a tracer (JAX 0.10.2)."""
_REVERSED = "reverse"


def number_traced(call: LibraryCall, bound: int) -> frozenset[int] | None:
    """Number the parameters that a gradient traces, the first that is not bound for want of another; None: all of them."""
    if call.name not in GRADIENTS:
        return None
    return frozenset([number + bound for number in _numbers(call.argument("argnums"))])


def variant_under(tracer: Tracer, pending: PendingHazard, policy: Policy) -> str | None:
    """Return the variant of a hazard of JAX's in code that the tracer runs; None where it is no hazard there."""
    asks = policy.tracer_refuses or policy.eager_recompiles or pending.discrete
    return None if asks and tracer.concrete and pending.variant != _REVERSED else pending.variant


def _numbers(argnums: Value | None) -> tuple[int, ...]:
    if argnums is None:
        return (0,)
    return tuple([number for number in constants(argnums) if isinstance(number, int)])


def _call_of(name: str, frame: Frame, arguments: Arguments, node: ir.Call) -> LibraryCall | None:
    """Return the call of the function of that name, None where no table describes it."""
    entry = frame.interpreter.apis.function(name)
    if entry is None:
        return None
    call = LibraryCall(frame, entry, None, arguments.args, arguments.pairs(), node)
    call.name = name
    return call


def _maker(name: str, both: bool) -> Special:
    """Return what runs a call of the function of that name."""

    def differentiate(interpreter: Interpreter, frame: Frame, arguments: Arguments, node: ir.Call) -> Value:
        call = _call_of(name, frame, arguments, node)
        if call is None:
            return UNKNOWN
        call.run()
        func = call.argument(call.entry.params[0])
        argnums = call.argument("argnums") or constant(0)
        said = (func or UNKNOWN, argnums, call.argument("has_aux") or FALSE, constant(both))
        return partial(external(_CALLED), said, ())

    return differentiate


def _call_gradient(interpreter: Interpreter, frame: Frame, arguments: Arguments, node: ir.Call) -> Value:
    """Run a function that is differentiated on what its gradient is called with."""
    func, argnums, aux, both, *given = arguments.args
    numbers = _numbers(argnums)
    args = [
        interpreter.as_argument(as_traced(value, _FRAMEWORK), _FRAMEWORK) if number in numbers else value
        for number, value in enumerate(given)
    ]
    passed = Arguments(args, arguments.keywords, arguments.rest, arguments.extra)
    interpreter.differentiating += 1
    result = interpreter.run_each(frame, func, passed, node)
    interpreter.differentiating -= 1
    gradients = [args[number] for number in numbers if number < len(args)]
    gradient = _tuple(*gradients) if isinstance(argnums, Sequence) else join_all(gradients)
    if not gradients:
        gradient = UNKNOWN
    if both is TRUE:
        return _tuple(result, gradient)
    return _tuple(gradient, _second(result)) if isinstance(aux, Const) and aux.value else gradient


def _with_aux(name: str) -> Special:
    """Return what runs a call that evaluates a function, which with `has_aux` gives a pair: only its first part is differentiated."""

    def evaluate(interpreter: Interpreter, frame: Frame, arguments: Arguments, node: ir.Call) -> Value:
        call = _call_of(name, frame, arguments, node)
        if call is None:
            return UNKNOWN
        result = call.run()
        has_aux = arguments.keywords.get("has_aux", FALSE)
        if has_aux is FALSE or not isinstance(result, Sequence) or not result.items:
            return result
        given = result.items[0]
        first = given.items[0] if isinstance(given, Sequence) and given.items else UNKNOWN
        return _tuple(first, first if name == "jax.jvp" else result.items[1], _second(given))

    return evaluate


def _stop_gradient(interpreter: Interpreter, frame: Frame, arguments: Arguments, node: ir.Call) -> Value:
    """Mark what no gradient flows through: who differentiates leaves its value to Python (JAX 0.10.2), who maps or compiles does not."""
    call = _call_of(_STOPS, frame, arguments, node)
    if call is None:
        return UNKNOWN
    result = call.run()
    return map_leaves(result, _without_gradient) if interpreter.mapping else result


def _without_gradient(leaf: Value) -> Value:
    if type(leaf) is not Tensor:
        return leaf
    return tensor(leaf.framework, leaf.dtype, leaf.rank, NO_GRADIENT, leaf.sure, leaf.static)


def derived_from(made: Partial) -> Value:
    """Return the function that a gradient runs: who traces the gradient traces that; else what is given."""
    is_gradient = isinstance(made.func, LibrarySymbol) and made.func.name == _CALLED
    return made.args[0] if is_gradient else made


def _tuple(*items: Value) -> Value:
    return sequence("tuple", items, join_all(items))


def _second(result: Value) -> Value:
    pair = isinstance(result, Sequence) and result.items is not None and len(result.items) == 2
    return result.items[1] if pair else UNKNOWN  # type: ignore[attr-defined]


FUNCTIONS: dict[str, Special] = {
    **{name: _maker(name, both) for name, both in GRADIENTS.items()},
    **{name: _with_aux(name) for name in ("jax.jvp", "jax.vjp", "jax.linearize")},
    _CALLED: _call_gradient,
    _STOPS: _stop_gradient,
}
