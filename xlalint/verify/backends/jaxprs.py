"""JAX's programs numbered: a jaxpr of the call, and one of its gradients, for arrays of given shapes and dtypes."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from xlalint.verify.content import Anatomy
from xlalint.verify.numbering import CannotTraceError, Key, Numbering, Traced, parameter, plain

_CALLS = {
    **dict.fromkeys(("jit", "pjit", "closed_call", "remat2", "checkpoint"), "jaxpr"),
    **dict.fromkeys(("custom_jvp_call", "custom_vjp_call"), "call_jaxpr"),
}
"""Operations that are a call and nothing else, with the parameter that holds what is called; gradients have a jaxpr of their own."""
_COMMUTATIVE = frozenset(("add", "mul", "and", "or", "xor", "eq", "ne", "add_any"))
_TURNED = {"gt": "lt", "ge": "le"}
_RESHAPES = ("reshape", "squeeze", "expand_dims")


class Taken(NamedTuple):
    """Holds what a call gave and left behind; arrays in either that depend on its arguments are its results."""

    outputs: Anatomy
    behind: Anatomy


def trace(take: Callable[[Any], Taken], given: Any, numbering: Numbering) -> Traced:
    """Trace a program, called with its state and arguments.

    Raises: CannotTraceError; whatever the program raises when it is traced.
    """
    leaves, tree = jax.tree.flatten(given)
    arrays = {n: leaf for n, leaf in enumerate(leaves) if isinstance(leaf, jax.Array)}
    floating = [n for n, leaf in arrays.items() if jnp.issubdtype(leaf.dtype, jnp.inexact)]
    told: list[Key] = []
    ends: list[int] = []

    def run(given: Mapping[int, Any]) -> Taken:
        return take(jax.tree.unflatten(tree, [given.get(n, leaf) for n, leaf in enumerate(leaves)]))

    def call(given: Mapping[int, Any]) -> list[Any]:
        outputs, behind = run(given)
        if outputs.opaque:
            raise CannotTraceError(f"nothing is known of {outputs.opaque[0]}")
        left = {p: one for p, one in zip(behind.paths, behind.items, strict=True) if isinstance(one, jax.core.Tracer)}
        others = [None if _is_array(one) else plain(one) for one in outputs.items]
        told[:] = [outputs.parts, outputs.paths, tuple(others), tuple(left)]
        ends[:] = [
            n for n, one in enumerate(outputs.items) if _is_array(one) and jnp.issubdtype(one.dtype, jnp.inexact)
        ]
        return [*filter(_is_array, outputs.items), *left.values(), *(outputs.items[n] for n in ends)]

    def differentiate(given: Mapping[int, Any], back: Sequence[Any]) -> Any:
        def results(sources: Sequence[Any]) -> list[Any]:
            items = run({**given, **dict(zip(floating, sources, strict=True))}).outputs.items
            return [items[n] for n in ends]

        return jax.vjp(results, [given[n] for n in floating])[1](list(back))

    forward = jax.make_jaxpr(call)(arrays)
    shapes = tuple((one.shape, str(one.dtype), getattr(one, "weak_type", False)) for one in forward.out_avals)
    results = (*told, _describe(leaves, tree), shapes, _number(forward, numbering))
    back = [jax.ShapeDtypeStruct(one.shape, one.dtype) for one in forward.out_avals[len(shapes) - len(ends) :]]
    wanted = bool(ends and floating)
    gradients = _number(jax.make_jaxpr(differentiate)(arrays, back), numbering) if wanted else ()
    return Traced(results, gradients)


def _is_array(value: Any) -> bool:
    return isinstance(value, (jax.Array, np.ndarray, np.generic))


def _describe(leaves: Sequence[Any], tree: Any) -> Key:
    return str(tree), tuple((leaf.shape, str(leaf.dtype)) if _is_array(leaf) else parameter(leaf) for leaf in leaves)


def _number(closed: Any, numbering: Numbering, operands: Sequence[int] | None = None) -> tuple[int, ...]:
    """The numbers of a jaxpr's results; of operands that are not given it is a function."""
    jaxpr = closed.jaxpr if hasattr(closed, "consts") else closed
    if jaxpr.effects:
        raise CannotTraceError("it has effects that a jaxpr does not hold")
    given = [numbering.of("given", n) for n in range(len(jaxpr.invars))] if operands is None else operands
    numbers: dict[Any, int] = dict(zip(jaxpr.invars, given, strict=True))
    consts = getattr(closed, "consts", ())
    numbers.update((var, numbering.constant(np.asarray(one))) for var, one in zip(jaxpr.constvars, consts, strict=True))

    def of(atom: Any) -> int:
        return numbering.constant(np.asarray(atom.val, atom.aval.dtype)) if hasattr(atom, "val") else numbers[atom]

    for equation in jaxpr.eqns:
        found = _number_equation(equation, [of(one) for one in equation.invars], numbering)
        numbers.update(zip(equation.outvars, found, strict=True))
    return tuple(of(one) for one in jaxpr.outvars)


def _number_equation(equation: Any, operands: list[int], numbering: Numbering) -> Sequence[int]:
    name, parameters = equation.primitive.name, equation.params
    if (held := _CALLS.get(name)) and held in parameters:
        return _number(parameters[held], numbering, operands)
    result = equation.outvars[0].aval if len(equation.outvars) == 1 else None
    if result is not None and _changes_nothing(name, equation.invars[0].aval if equation.invars else None, result):
        return operands[:1]
    if name in _TURNED:
        name, operands = _TURNED[name], operands[::-1]
    if name in _COMMUTATIVE:
        operands = sorted(operands)
    if result is not None and (name in _RESHAPES or (name == "broadcast_in_dim" and _same_size(equation, result))):
        return [numbering.of("reshape", result.shape, operands[0])]
    held_in = tuple((key, _parameter(value, numbering)) for key, value in sorted(parameters.items()) if key != "name")
    whole = numbering.of(name, held_in, *operands)
    return [whole] if result is not None else [numbering.of("part", n, whole) for n in range(len(equation.outvars))]


def _changes_nothing(name: str, given: Any, result: Any) -> bool:
    same = given is not None and given.shape == result.shape and given.dtype == result.dtype
    return same and name in ("convert_element_type", "broadcast_in_dim", "copy", "copy_p", *_RESHAPES)


def _same_size(equation: Any, result: Any) -> bool:
    """Return whether a broadcast only adds dimensions of one element."""
    return len(equation.invars) == 1 and equation.invars[0].aval.size == result.size


def _parameter(value: Any, numbering: Numbering) -> Key:
    if hasattr(value, "eqns") or hasattr(value, "jaxpr"):
        avals = value.in_avals if hasattr(value, "in_avals") else [one.aval for one in value.invars]
        return "jaxpr", tuple((one.shape, str(one.dtype)) for one in avals), _number(value, numbering)
    if isinstance(value, (tuple, list)):
        return tuple(_parameter(one, numbering) for one in value)
    return parameter(value)
