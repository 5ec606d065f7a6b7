"""TensorFlow: a program under `tf.function(jit_compile=True)`, a Keras layer's `call`, a Keras model's step of training.

Importing this module sets, before it imports TensorFlow, what that reads from its environment; it is for child processes.
"""

from __future__ import annotations

import os
import random
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from xlalint.verify import environment

os.environ.update(environment.for_tensorflow())

import msgspec
import numpy as np
import tensorflow as tf

from xlalint.verify.backends import Content, Leaf, Mode, Options, Program, Result, tensorflow_graphs, values
from xlalint.verify.backends.tensorflow_prints import heard_by_python
from xlalint.verify.backends.values import Gradients
from xlalint.verify.content import Anatomy, Kinds, take_apart
from xlalint.verify.emitted import listening
from xlalint.verify.held import HeldSnapshot, can_change, changes, held_by, is_of_users, snapshot
from xlalint.verify.inputs import fill_sizes
from xlalint.verify.inputs.containers import Build
from xlalint.verify.inputs.functions import function_of
from xlalint.verify.meters.tensorflow import TensorFlowMeter
from xlalint.verify.model import Event, NamedFunction, Place, Specs, Step
from xlalint.verify.numbering import Numbering, Traced
from xlalint.verify.places import definition, headline, is_users


class ReadySubject(NamedTuple):
    """A subject made ready: what is called, the `tf.function` that can be lowered, and what holds its variables."""

    call: Callable[..., Any]
    function: Any
    owner: Any


class TensorFlow:
    """A `Backend`. A step is one call. Gradients come from a second instance that is called alike, since a call may change variables."""

    name = "tensorflow"
    traces = "graph"
    settings = ()

    def compile_only(self, program: Program, specs: Specs, ceiling: int, folder: str) -> str:
        """Write the program of a call that needs more bytes than `ceiling`, and say so; "" where it does not, or has to run to be told.

        Inputs have shapes and no values here. What is needed is at least its inputs, results, and the largest value in between.
        """
        whole = fill_sizes(specs)
        given = values.without_values(whole, "tensorflow", _make_shape)
        if whole.requires or not any(isinstance(one, tf.TensorSpec) for one in given.values()):
            return ""
        try:
            arguments = values.split(given, program.builder())
            applied = applied_of(program.make(), "compiled")
            if applied.function is None:
                return ""
            lowered, tensors = _of_tensors(applied.function, arguments)
            needed = _needed_bytes(lowered.get_concrete_function(*tensors))
        except Exception:  # noqa: BLE001 (what it is shows when it runs)
            return ""
        if needed <= ceiling:
            return ""
        _write(values.Programs(folder, self.name), applied.function, arguments)
        return values.too_large(needed, ceiling)

    def trace(self, program: Program, given: Mapping[str, Any], numbering: Numbering) -> Traced:
        """Number what a call computes."""
        seed(0)
        subject = program.make()
        call = tf.autograph.experimental.do_not_convert(getattr(subject, "python_function", subject))

        def take(arguments: Any) -> tuple[Anatomy, Anatomy]:
            args, kwargs = arguments
            outputs = take_apart(call(*args, **kwargs), KINDS)
            return outputs, take_apart({"held": held_by(subject), "arguments": arguments}, STATE_KINDS)

        return tensorflow_graphs.trace(take, list(make_tensors(given, program.builder())), numbering)

    def run(
        self, program: Program, steps: Sequence[Mapping[str, Any]], options: Options
    ) -> Iterator[tuple[Step, Result]]:
        tf.config.run_functions_eagerly(options.mode == "eager")
        meter = TensorFlowMeter()
        programs = values.Programs(options.programs, self.name)
        meter.start()
        try:
            subject = program.make()
            applied = applied_of(subject, options.mode)
            build = program.builder()
            twin = applied_of(program.make(), options.mode) if options.gradients else None
            twins_build = program.builder()
            for number, given in enumerate(steps):
                seed(number)
                before = _take_snapshot(subject, applied.owner) if options.effects else None
                arguments = make_tensors(given, build)
                held = _snapshot_arguments(arguments)
                with heard_by_python():
                    step, outputs = _step(meter, applied, number, arguments)
                anatomy = take_apart(outputs, KINDS)
                content = values.content_of(anatomy, _leaves)
                effects: dict[str, Content] = {}
                if before is not None:
                    effects = {
                        "state": changes(before, _take_snapshot(subject, applied.owner)),
                        "random": values.generators(),
                        "arguments": changes(held, _snapshot_arguments(arguments)),
                        "settings": values.settings(),
                        "layout": values.host_arrays(anatomy),
                    }
                    # Keras 3 counts those of metrics apart.
                    owned = [getattr(applied.owner, name, ()) for name in ("variables", "metrics_variables")]
                    effects["variables"] = Content(_leaves(owned))
                    if options.mode == "eager":  # compiled, they are of the graph
                        effects["losses"] = Content(_leaves(getattr(applied.owner, "losses", ())))
                found = Gradients()
                if twin is not None:
                    seed(number)
                    with listening():
                        found = gradients(twin, make_tensors(given, twins_build), options.ends_of(number))
                if programs.wanted and step.counts.compilations and applied.function is not None:
                    _write(programs, applied.function, make_tensors(given, build))
                yield (
                    values.fill_places(step, definition(subject)),
                    Result(content, found.leaves, effects, found.ends, found.refused),
                )
        finally:
            meter.stop()
            tf.config.run_functions_eagerly(False)


def _make_shape(shape: tuple[int, ...], dtype: Any) -> Any:
    return tf.TensorSpec(shape, tf.as_dtype(dtype))


def _needed_bytes(traced: Any) -> int:
    operations = (
        one for graph in _graphs_in(traced.graph) for one in graph.get_operations() if one.type != "Placeholder"
    )
    between = [_bytes_of(one) for operation in operations for one in operation.outputs]
    ends = [*traced.inputs, *traced.outputs]
    return sum(map(_bytes_of, ends)) + max(between, default=0)


def _bytes_of(tensor: Any) -> int:
    return int(tensor.shape.num_elements() or 0) * int(tensor.dtype.size or 0)


def _take_snapshot(subject: Any, owner: Any) -> HeldSnapshot:
    """Take a snapshot of what Python holds: of a Keras layer, which keeps books of its own, the attributes with plain values."""
    own = None
    if _is_keras(owner, "layers", "Layer"):
        own = {name: one for name, one in vars(owner).items() if not name.startswith("_") and type(one) in _PLAIN}
    return snapshot(held_by(subject, own), STATE_KINDS, _leaves)


_PLAIN = (bool, int, float, str, list, dict, set)


def seed(number: int) -> None:
    """Make everything random repeatable."""
    random.seed(number)
    np.random.seed(number)
    tf.random.set_seed(number)


def _snapshot_arguments(arguments: values.Arguments) -> HeldSnapshot:
    """Take a snapshot of the containers among arguments, which a program may change; it cannot change tensors."""
    positional, named = arguments
    held = {**{str(n): one for n, one in enumerate(positional)}, **named}
    return snapshot({k: v for k, v in held.items() if can_change(v)}, STATE_KINDS, _leaves)


def make_tensors(given: Mapping[str, Any], build: Build) -> values.Arguments:
    """Make tensors of arrays; other values stay as they are."""
    return values.split({name: _make_tensor(value) for name, value in given.items()}, build)


def _make_tensor(value: Any) -> Any:
    if isinstance(value, NamedFunction):
        return function_of(value.name, "tensorflow")
    return tf.convert_to_tensor(value) if isinstance(value, (np.ndarray, np.generic)) else value


def applied_of(subject: Any, mode: Mode) -> ReadySubject:
    """A subject made ready to be called."""
    owner = getattr(subject, "__self__", subject)
    if _is_keras(subject, "layers", "Layer"):
        return _keras(subject, mode)
    if mode != "compiled":
        return ReadySubject(subject, None, owner)
    function = _compile(subject)
    return ReadySubject(function, function, owner)


def _is_keras(value: Any, module: str, name: str) -> bool:
    """Return whether a value is of a class of Keras 3, or of the Keras 2 that TensorFlow can be told to use. Does not import Keras."""
    return any(
        one.__name__ == name and one.__module__.split(".")[0] in ("keras", "tf_keras") for one in type(value).__mro__
    )


def _compile(function: Any) -> Any:
    """The function under XLA; one that is compiled already keeps its own options, one that is a `tf.function` most of them."""
    if getattr(function, "_jit_compile", None):
        return function
    kept = {"autograph": function._autograph} if hasattr(function, "_autograph") else {}
    signature = getattr(function, "input_signature", None)
    return tf.function(
        getattr(function, "python_function", function), jit_compile=True, input_signature=signature, **kept
    )


def _keras(thing: Any, mode: Mode) -> ReadySubject:
    """Apply a layer or model as Keras does: a model that can be trained takes a step of `fit`; others are called under `tf.function`."""
    is_model = _is_keras(thing, "models", "Model")
    if is_model and ("train_step" in vars(type(thing)) or getattr(thing, "compiled", False)):
        if not getattr(thing, "compiled", False):
            thing.compile(optimizer="sgd", loss="mse")
        thing.jit_compile, thing.run_eagerly = mode == "compiled", mode == "eager"
        return ReadySubject(_make_train_step(thing), None, thing)
    if mode != "compiled":
        return ReadySubject(thing, None, thing)

    def call(*args: Any, **kwargs: Any) -> Any:
        return thing(*args, **kwargs)

    call.__name__ = call.__qualname__ = type(thing).__name__
    function = tf.function(call, jit_compile=True)
    return ReadySubject(function, function, thing)


def _make_train_step(model: Any) -> Callable[..., Any]:
    """One step of `fit`, without what it does around it; `train_on_batch` gives `train_step` other data than `fit` does."""

    def call(*args: Any, **kwargs: Any) -> Any:
        data = (*args, *kwargs.values())
        if hasattr(model, "_symbolic_build"):  # Keras 3; Keras 2 builds while it traces
            model._symbolic_build(data_batch=data)
        model.make_train_function()
        return model.train_function(iter(tf.data.Dataset.from_tensors(data)))

    return call


def _step(meter: TensorFlowMeter, applied: ReadySubject, number: int, arguments: values.Arguments) -> tuple[Step, Any]:
    args, kwargs = arguments
    before = meter.read()
    meter.events()
    began = time.perf_counter()
    outputs = applied.call(*args, **kwargs)
    counts = meter.read() - before
    return Step(number, counts, time.perf_counter() - began, meter.events()), outputs


def gradients(applied: ReadySubject, arguments: values.Arguments, ends: Sequence[int] | None) -> Gradients:
    """Of floating outputs, those at `ends` or all, each element times a number of its own: by the floating arguments, then by the variables
    that were used.
    """
    args, kwargs = arguments
    given = [one for one in take_apart([args, kwargs], KINDS).items if _is_floating(one)]
    try:
        with tf.GradientTape() as tape:
            tape.watch(given)
            outputs = list(enumerate(take_apart(applied.call(*args, **kwargs), KINDS).items))
        wanted = [*given, *tape.watched_variables()]
        targets = [(n, one) for n, one in outputs if _is_floating(one) and (ends is None or n in ends)]
        told = tuple(n for n, _ in targets) if ends is None else tuple(ends)
        if not told or not wanted:
            return Gradients(told)
        back = [tf.cast(values.cotangent(n, tuple(one.shape)), one.dtype) for n, one in targets]
        found = tape.gradient([one for _, one in targets], wanted, back, unconnected_gradients="zero")
        return Gradients(told, _leaves([tf.convert_to_tensor(one) for one in found]))
    except Exception as error:  # noqa: BLE001 (what TensorFlow cannot differentiate)
        return Gradients(refused=headline(error))


def _is_floating(value: Any) -> bool:
    return isinstance(value, tf.Tensor) and (value.dtype.is_floating or value.dtype.is_complex)


def _parts_of(value: Any) -> tuple[str, Mapping[str, Any]] | None:
    """Return what a container of TensorFlow's holds: ragged and sparse tensors, and what else has tensors as components; a generator of
    random numbers, a metric or an optimizer its variables.
    """
    if isinstance(value, tf.__internal__.CompositeTensor) and not isinstance(value, tf.Variable):
        components = tf.nest.flatten(value, expand_composites=True)
        return type(value).__qualname__, {str(n): one for n, one in enumerate(components)}
    if isinstance(value, tf.random.Generator):
        return "Generator", {"state": value.state}
    if _is_keras(value, "metrics", "Metric") or _is_keras(value, "optimizers", "Optimizer"):
        return type(value).__qualname__, {str(n): one for n, one in enumerate(value.variables)}
    return None


def _is_array(value: Any) -> bool:
    if isinstance(value, (tf.Tensor, tf.Variable, np.ndarray)):
        return True
    return hasattr(value, "numpy") and hasattr(value, "dtype") and hasattr(value, "shape")  # a variable of Keras


def _special_name(value: Any) -> str:
    return "Variable" if isinstance(value, tf.Variable) else ""


KINDS = Kinds(_is_array, _parts_of, named=_special_name)
STATE_KINDS = Kinds(_is_array, _parts_of, is_of_users, drains=False)


def _leaves(items: Iterable[Any]) -> list[Leaf]:
    return values.leaves(items, _array)


def _array(value: Any) -> Any:
    if isinstance(value, tf.IndexedSlices):
        value = tf.convert_to_tensor(value)
    return value.numpy() if hasattr(value, "numpy") else value


def _write(programs: values.Programs, function: Any, arguments: values.Arguments) -> None:
    """Write the StableHLO of a call, and beside it the user's line of each operation, since StableHLO has only the operations' names."""
    try:
        lowered, tensors = _of_tensors(function, arguments)
        code = lowered.experimental_get_compiler_ir(*tensors)(stage="stablehlo_serialized")
        graph = lowered.get_concrete_function(*tensors).graph
    except Exception as error:  # noqa: BLE001 (TensorFlow cannot give it for every function that it can compile)
        programs.refuse(Event("host-sync", f"TensorFlow gives no StableHLO of it: {headline(error)}"))
        return
    file = programs.write(code)
    if file is not None:
        file.with_suffix(".lines.json").write_bytes(msgspec.json.encode(_lines(graph)))


_TENSORS = (tf.Tensor, tf.TensorSpec)


def _of_tensors(function: Any, arguments: values.Arguments) -> tuple[Any, list[tf.Tensor]]:
    """A function of the tensors among its arguments: `experimental_get_compiler_ir` takes no others."""
    flat = tf.nest.flatten(list(arguments))
    tensors = [one for one in flat if isinstance(one, _TENSORS)]

    def call(*given: tf.Tensor) -> Any:
        rest = iter(given)
        filled = [next(rest) if isinstance(one, _TENSORS) else one for one in flat]
        args, kwargs = tf.nest.pack_sequence_as(list(arguments), filled)
        return function(*args, **kwargs)

    call.__name__ = call.__qualname__ = getattr(function, "__name__", "call")
    return tf.function(call, jit_compile=True), tensors


def _graphs_in(graph: Any) -> list[Any]:
    """A graph, and those of the functions that it calls."""
    inner = (getattr(one, "graph", None) for one in graph._functions.values())
    return [graph, *(one for one in inner if one is not None)]


def _lines(graph: Any) -> dict[str, Place]:
    """The user's line of each operation of a graph and of the graphs within it, by the operation's name."""
    found: dict[str, Place] = {}
    for inner in _graphs_in(graph):
        for operation in inner.get_operations():
            for frame in reversed(operation.traceback or ()):
                if is_users(frame.filename):
                    found.setdefault(operation.name, Place(frame.filename, frame.lineno, frame.name))
                    break
    return found


backend = TensorFlow
