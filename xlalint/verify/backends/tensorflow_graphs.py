"""TensorFlow's programs numbered: the graph of a call and its gradients, for tensors of given shapes and dtypes, if it has no state.

AutoGraph is not asked: what it makes of `if`, `float` and `print` is not what Python does.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import tensorflow as tf

from xlalint.verify.content import Anatomy
from xlalint.verify.numbering import CannotTraceError, Key, Numbering, Traced, parameter, plain

_CALL = "PartitionedCall"  # of a `tf.function`, with which AutoGraph comes
_SAME = ("Identity", "IdentityN", "StopGradient", "PreventGradient", "Snapshot")
_COMMUTATIVE = frozenset(("Add", "AddV2", "Mul", "LogicalAnd", "LogicalOr", "Equal", "NotEqual"))
_TURNED = {"Greater": "Less", "GreaterEqual": "LessEqual"}

Take = Callable[[Any], tuple[Anatomy, Anatomy]]
"""Calls a program with its arguments: what it gives, and what it left behind."""


def trace(take: Take, given: Any, numbering: Numbering) -> Traced:
    """Trace a program, called with its arguments.

    Raises: CannotTraceError; whatever the program raises when it is traced.
    """
    flat = tf.nest.flatten(given)
    places = [n for n, one in enumerate(flat) if isinstance(one, tf.Tensor)]
    told: list[Key] = []

    def run(*tensors: Any) -> list[Any]:
        filled = {**dict(enumerate(flat)), **dict(zip(places, tensors, strict=True))}
        floating = [one for one in tensors if one.dtype.is_floating or one.dtype.is_complex]
        with tf.GradientTape() as tape:
            tape.watch(floating)
            found, behind = take(tf.nest.pack_sequence_as(given, list(filled.values())))
        if found.opaque:
            raise CannotTraceError(f"nothing is known of {found.opaque[0]}")
        outputs = [one for one in found.items if isinstance(one, tf.Tensor)]
        others = [None if isinstance(one, tf.Tensor) else plain(one) for one in found.items]
        left = {p: one for p, one in zip(behind.paths, behind.items, strict=True) if _is_symbolic(one)}
        results = [*outputs, *left.values()]
        shapes = tuple((str(one.shape), one.dtype.name) for one in results)
        told[:] = [found.parts, found.paths, tuple(others), tuple(left), shapes]
        ends = [one for one in outputs if one.dtype.is_floating or one.dtype.is_complex]
        back = [tf.ones_like(one) * (n + 2) for n, one in enumerate(ends)]
        gradients = tape.gradient(ends, floating, back, unconnected_gradients="zero") if ends and floating else []
        return [*results, *map(tf.convert_to_tensor, gradients)]

    function = tf.function(run, autograph=False)
    concrete = function.get_concrete_function(*(tf.TensorSpec(flat[n].shape, flat[n].dtype) for n in places))
    captured = [_constant(one, numbering) for one in concrete.captured_inputs]
    inputs = [*(numbering.of("given", n) for n in range(len(places))), *captured]
    graphs = _graphs_of(concrete.graph)
    found = _number(concrete.graph, inputs, graphs, numbering)
    shown = tuple("tensor" if n in places else parameter(one) for n, one in enumerate(flat))
    count = len(told[-1])  # type: ignore[arg-type]
    return Traced((*told, shown, found[:count]), found[count:])


def _is_symbolic(value: Any) -> bool:
    return isinstance(value, tf.Tensor) and not hasattr(value, "numpy")


def _constant(value: Any, numbering: Numbering) -> int:
    if value.dtype in (tf.resource, tf.variant):
        raise CannotTraceError("it has a state")
    return numbering.constant(value.numpy())


def _graphs_of(graph: Any) -> Mapping[str, Any]:
    """The graphs of all functions that a graph calls, by name."""
    found: dict[str, Any] = {}
    waiting = [graph]
    while waiting:
        for name, function in waiting.pop()._functions.items():
            inner = getattr(function, "graph", None)
            if inner is not None and name not in found:
                found[name] = inner
                waiting.append(inner)
    return found


def _number(graph: Any, inputs: Sequence[int], graphs: Mapping[str, Any], numbering: Numbering) -> tuple[int, ...]:
    """The numbers of a graph's results."""
    numbers = {(one.op.name, one.value_index): given for one, given in zip(graph.inputs, inputs, strict=True)}

    def of(tensor: Any) -> int:
        return numbers[tensor.op.name, tensor.value_index]

    for operation in graph.get_operations():
        if operation.type != "Placeholder" and operation.outputs:
            found = _number_operation(operation, [of(one) for one in operation.inputs], graphs, numbering)
            numbers.update(((operation.name, n), one) for n, one in enumerate(found))
        elif operation.type != "Placeholder" and operation.op_def.is_stateful:
            raise CannotTraceError(f"{operation.type} has a state")
    return tuple(map(of, graph.outputs))


def _number_operation(
    operation: Any, operands: list[int], graphs: Mapping[str, Any], numbering: Numbering
) -> Sequence[int]:
    name, attributes = operation.type, operation.node_def.attr
    if name == _CALL or operation.op_def.is_stateful:
        raise CannotTraceError(f"{name} has a state")
    if name in _SAME:
        return operands
    if name in _TURNED:
        name, operands = _TURNED[name], operands[::-1]
    if name in _COMMUTATIVE:
        operands = sorted(operands)
    held = tuple((n, _attribute(one, graphs, numbering)) for n, one in sorted(attributes.items()) if n[0] != "_")
    whole = numbering.of(name, held, *operands)
    count = len(operation.outputs)
    return [whole] if count == 1 else [numbering.of("part", n, whole) for n in range(count)]


def _attribute(value: Any, graphs: Mapping[str, Any], numbering: Numbering) -> Key:
    names = [value.func.name] if value.HasField("func") else [one.name for one in value.list.func]
    if not names:
        return bytes(value.SerializeToString(deterministic=True))
    return tuple(_function(_find(name, graphs), graphs, numbering) for name in names)


def _function(graph: Any, graphs: Mapping[str, Any], numbering: Numbering) -> Key:
    inputs = [numbering.of("given", n) for n in range(len(graph.inputs))]
    kinds = tuple((str(one.shape), one.dtype.name) for one in graph.inputs)
    return kinds, _number(graph, inputs, graphs, numbering)


def _find(name: str, graphs: Mapping[str, Any]) -> Any:
    if name not in graphs:
        raise CannotTraceError(f"the graph of {name} is not known")
    return graphs[name]
