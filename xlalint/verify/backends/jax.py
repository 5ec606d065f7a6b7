"""JAX: a program under `jax.jit`, on a TPU or GPU where there is one, else on the CPU.

Flax modules (linen and nnx), equinox modules and other callable pytrees are run as JAX code runs them: a function of their arrays.
Importing this module sets what JAX reads from its environment; it is for child processes.
"""

from __future__ import annotations

import os
import re
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from xlalint.verify import environment, places

os.environ.update(environment.for_jax())

import jax
import jax.numpy as jnp
import numpy as np
from jax._src.core import reset_trace_state
from msgspec.structs import replace

from xlalint.verify.backends import GIVEN_AWAY, Content, Leaf, Mode, Options, Program, Result, jaxprs, values
from xlalint.verify.backends.values import Gradients
from xlalint.verify.content import Kinds, take_apart
from xlalint.verify.emitted import listening
from xlalint.verify.held import HeldSnapshot, can_change, changes, held_by, is_of_users, snapshot
from xlalint.verify.inputs import fill_sizes
from xlalint.verify.inputs.containers import Build, access_of
from xlalint.verify.inputs.functions import function_of
from xlalint.verify.meters.jax import JaxMeter
from xlalint.verify.model import Event, NamedFunction, Specs, Step
from xlalint.verify.numbering import Numbering, Traced
from xlalint.verify.places import definition, headline

_ARRAYS = (jax.Array, jax.ShapeDtypeStruct)


class PureSubject(NamedTuple):
    """A subject as a function of its arrays: `state` is its parameters, and what it keeps from call to call (statistics, counts of random
    numbers); `call(state, args, kwargs)` gives what it returns and what it keeps then. `lower` gives the same call lowered.
    """

    call: Callable[[Any, tuple[Any, ...], dict[str, Any]], tuple[Any, Any]]
    state: tuple[Any, Any] = ((), ())
    lower: Callable[..., Any] | None = None


class Jax:
    """A `Backend`. A step is: the call, and the wait for what it returned. Gradients come from a second call, which is not counted."""

    name = "jax"
    traces = "jaxpr"
    settings = ()

    def compile_only(self, program: Program, specs: Specs, ceiling: int, folder: str) -> str:
        """Write the program of a call that needs more bytes than `ceiling`, and say so; "" where it does not, or has to run to be told.

        Inputs have shapes and no values here.
        """
        whole = fill_sizes(specs)
        given = values.without_values(whole, "jax", _make_shape)
        if whole.requires or not any(isinstance(one, jax.ShapeDtypeStruct) for one in given.values()):
            return ""
        try:
            arguments = values.split(given, program.builder())
            applied = applied_of(program.make(), arguments, "compiled")
            if applied.lower is None:
                return ""
            here = applied.lower(applied.state, *arguments, platform="")
            needed = _needed_bytes(here)
        except Exception:  # noqa: BLE001 (what it is shows when it runs)
            return ""
        if needed <= ceiling:
            return ""
        programs = values.Programs(folder, self.name)
        _write(programs, applied, arguments)
        return values.too_large(needed, ceiling)

    def trace(self, program: Program, given: Mapping[str, Any], numbering: Numbering) -> Traced:
        """Number what a call computes."""
        _leave_traces()
        subject = program.make()
        arguments = put_on_device(given, program.builder())
        applied = applied_of(subject, arguments, "eager")

        def take(whole: Any) -> jaxprs.Taken:
            state, (args, kwargs) = whole
            outputs, after = applied.call(state, args, kwargs)
            behind = {"variables": after, "held": held_by(subject), "arguments": (args, kwargs)}
            return jaxprs.Taken(take_apart(outputs, KINDS), take_apart(behind, STATE_KINDS))

        return jaxprs.trace(take, (applied.state, arguments), numbering)

    def run(
        self, program: Program, steps: Sequence[Mapping[str, Any]], options: Options
    ) -> Iterator[tuple[Step, Result]]:
        _leave_traces()
        meter = JaxMeter(thorough=options.mode != "eager")
        programs = values.Programs(options.programs, self.name)
        meter.start()
        doubles = jax.config.jax_enable_x64
        try:
            jax.config.update("jax_enable_x64", doubles or options.setting.wide)
            with jax.disable_jit(options.mode == "eager"):
                subject = program.make()
                build = program.builder()
                applied = applied_of(subject, put_on_device(steps[0], build) if steps else ((), {}), options.mode)
            for number, given in enumerate(steps):
                with jax.disable_jit(options.mode == "eager"):
                    before = _take_snapshot(subject) if options.effects else None
                    arguments = put_on_device(given, build)
                    held = _snapshot_arguments(arguments)
                    step, outputs, after = _step(meter, applied, number, arguments)
                    if not number:
                        step = replace(step, events=(*step.events, *_find_narrowed(given)))
                    anatomy = take_apart(outputs, KINDS)
                    content = values.content_of(anatomy, _leaves)
                    found = Gradients()
                    effects: dict[str, Content] = {}
                    if before is not None:
                        arrays = values.content_of(take_apart(after, KINDS), _leaves)
                        effects = {"state": changes(before, _take_snapshot(subject)), "random": values.generators()}
                        effects["variables"] = arrays
                        effects["settings"] = values.settings()
                        effects["arguments"] = changes(held, _snapshot_arguments(arguments))
                        effects[GIVEN_AWAY] = _find_given_away(arguments)
                        effects["layout"] = values.host_arrays(anatomy)
                    if options.gradients:
                        with listening():
                            found = gradients(applied, put_on_device(given, build), options.ends_of(number))
                    result = Result(content, found.leaves, effects, found.ends, found.refused)
                    if programs.wanted and step.counts.compilations and applied.lower is not None:
                        _write(programs, applied, put_on_device(given, build))
                yield values.fill_places(step, definition(subject)), result
                applied = applied._replace(state=(applied.state[0], after))
        finally:
            jax.config.update("jax_enable_x64", doubles)
            meter.stop()


def _leave_traces() -> None:
    """Forget what a call was tracing that a limit of seconds ended.

    Where the limit fell between the end of a trace and JAX's return to what was before, all later calls would find no trace at all.
    """
    reset_trace_state()


def _make_shape(shape: tuple[int, ...], dtype: Any) -> Any:
    return jax.ShapeDtypeStruct(shape, jax.dtypes.canonicalize_dtype(dtype))


def _needed_bytes(lowered: Any) -> int:
    """The bytes that a program needs besides itself, as XLA's compiler plans them; nothing of it is allocated."""
    planned = lowered.compile().memory_analysis()
    return int(planned.argument_size_in_bytes + planned.output_size_in_bytes + planned.temp_size_in_bytes)


def _take_snapshot(subject: Any) -> HeldSnapshot:
    """Take a snapshot of what Python holds of a subject; the arrays of modules are given to them and come back as variables."""
    return snapshot(held_by(subject), STATE_KINDS, _leaves)


def _snapshot_arguments(arguments: values.Arguments) -> HeldSnapshot:
    """Take a snapshot of the containers among arguments, which a program may change; arrays it can only give away."""
    positional, named = arguments
    held = {**{str(n): one for n, one in enumerate(positional)}, **named}
    return snapshot({k: v for k, v in held.items() if can_change(v)}, STATE_KINDS, _leaves)


def _find_given_away(arguments: values.Arguments) -> Content:
    """Tell which arrays among arguments a call has deleted, by path."""
    positional, named = arguments
    held = {**{str(n): one for n, one in enumerate(positional)}, **named}
    leaves = jax.tree_util.tree_flatten_with_path(held)[0]
    paths = [path for path, one in leaves if isinstance(one, jax.Array) and one.is_deleted()]
    return Content(parts=[(jax.tree_util.keystr(path), "deleted") for path in paths])


def put_on_device(given: Mapping[str, Any], build: Build) -> values.Arguments:
    """Put arrays on the device; other values stay as they are."""
    return values.split({name: _put_on_device(value) for name, value in given.items()}, build)


def _find_narrowed(given: Mapping[str, Any]) -> Iterator[Event]:
    """Tell which arrays are of another dtype for JAX than they were declared."""
    for name, value in given.items():
        own = value.dtype.name if isinstance(value, np.ndarray) else ""
        made = jax.dtypes.canonicalize_dtype(value.dtype).name if own else ""
        if made != own:
            yield Event("narrowed", f"`{access_of(name)}` is {own}, and computed as {made}: jax_enable_x64 is off")


def _put_on_device(value: Any) -> Any:
    if isinstance(value, NamedFunction):
        return function_of(value.name, "jax")
    return jnp.asarray(value) if isinstance(value, (np.ndarray, np.generic)) else value


def _step(meter: JaxMeter, applied: PureSubject, number: int, arguments: values.Arguments) -> tuple[Step, Any, Any]:
    jax.block_until_ready(arguments)
    meter.events()
    before = meter.read()
    began = time.perf_counter()
    outputs, after = applied.call(applied.state, *arguments)
    jax.block_until_ready((outputs, after))
    seconds = time.perf_counter() - began
    return Step(number, meter.read() - before, seconds, meter.events()), outputs, after


def gradients(applied: PureSubject, arguments: values.Arguments, ends: Sequence[int] | None) -> Gradients:
    """Of floating outputs, those at `ends` or all, each element times a number of its own: by the subject's floating arrays, then by its
    arguments.
    """
    leaves, tree = jax.tree.flatten((applied.state, arguments))
    floating = [n for n, leaf in enumerate(leaves) if _is_floating(leaf)]

    def outputs(sources: list[Any]) -> list[Any]:
        filled = list(leaves)
        for position, source in zip(floating, sources, strict=True):
            filled[position] = source
        state, (args, kwargs) = jax.tree.unflatten(tree, filled)
        found = take_apart(applied.call(state, args, kwargs)[0], KINDS).items
        return [one if _is_floating(one) and (ends is None or n in ends) else None for n, one in enumerate(found)]

    try:
        made, back = jax.vjp(outputs, [leaves[n] for n in floating])
        given = [
            None if end is None else jnp.asarray(values.cotangent(n, end.shape), end.dtype)
            for n, end in enumerate(made)
        ]
        (found,) = back(given)
    except Exception as error:  # noqa: BLE001 (what JAX cannot differentiate)
        return Gradients(refused=headline(error))
    told = tuple(n for n, end in enumerate(made) if end is not None) if ends is None else tuple(ends)
    return Gradients(told, _leaves(found) if told else [])


def _parts_of(value: Any) -> tuple[str, Mapping[str, Any]] | None:
    """Return what a container of JAX's holds: a variable of flax its value, a class registered as a pytree its children."""
    if hasattr(value, "__dict__") and not isinstance(value, (type, Mapping)) and _is_registered(value):
        leaves = jax.tree_util.tree_flatten_with_path(value)[0]
        return type(value).__qualname__, {jax.tree_util.keystr(path): leaf for path, leaf in leaves}
    return None


def _is_registered(value: Any) -> bool:
    return not callable(value) and not jax.tree_util.all_leaves([value])


def _is_array(value: Any) -> bool:
    return isinstance(value, (jax.Array, np.ndarray))


def _special_name(value: Any) -> str:
    """Return what decides, besides its dtype, what is computed of an array: a weak dtype gives way, keys with a type are no numbers."""
    if not isinstance(value, jax.Array):
        return ""
    if jnp.issubdtype(value.dtype, jax.dtypes.prng_key):
        return str(value.dtype)
    return "of a weak dtype" if value.weak_type else ""


KINDS = Kinds(_is_array, _parts_of, named=_special_name)
STATE_KINDS = Kinds(_is_array, _parts_of, is_of_users, drains=False)


def _is_floating(value: Any) -> bool:
    return isinstance(value, jax.Array) and jnp.issubdtype(value.dtype, jnp.inexact)


def _leaves(items: Iterable[Any]) -> list[Leaf]:
    return values.leaves(items, _array)


def _array(value: Any) -> Any:
    if isinstance(value, jax.Array) and value.is_deleted():
        return np.asarray(None, object)
    if isinstance(value, jax.Array) and jnp.issubdtype(value.dtype, jax.dtypes.prng_key):
        value = jax.random.key_data(value)
    return value if isinstance(value, (jax.Array, np.ndarray, np.generic)) else np.asarray(value, object)


def _write(programs: values.Programs, applied: PureSubject, arguments: values.Arguments) -> None:
    """Write the StableHLO of the call as it is for a TPU, with the lines of its operations."""
    assert applied.lower is not None
    try:
        lowered = applied.lower(applied.state, *arguments)
    except Exception as error:  # noqa: BLE001 (an operation without a lowering for TPUs; what it says must not hide what the step did)
        programs.refuse(_describe_refusal(error, applied, arguments))
        return
    programs.write(lowered.as_text(debug_info=True).encode())


def _describe_refusal(error: Exception, applied: PureSubject, arguments: values.Arguments) -> Event:
    """Say why a call is not lowered. One that calls Python on the host is lowered only where the device is."""
    state, (args, kwargs) = applied.state, arguments
    try:
        program = str(jax.make_jaxpr(lambda: applied.call(state, args, kwargs))())
    except Exception:  # noqa: BLE001 (then the error has to do)
        program = ""
    found = _CALLBACK.search(program)
    if found is None:
        return Event("error", headline(error), places.of_error(error))
    return Event("host-sync", f"it calls Python on the host ({found[0]}), which JAX lowers only where there is a TPU")


_CALLBACK = re.compile(r"\b(?:pure|io|debug)_(?:callback|print)\b")


def _lower(function: Any, platform: str, *args: Any, **kwargs: Any) -> Any:
    """A call lowered for a platform, TPUs say, which needs none; wrappers that have no `trace` lower for the device that there is."""
    if hasattr(function, "trace") and platform:
        return function.trace(*args, **kwargs).lower(lowering_platforms=(platform,))
    return function.lower(*args, **kwargs)


def applied_of(subject: Any, first: values.Arguments, mode: Mode) -> PureSubject:
    """A subject made ready to be called; `first` are the arguments of the first step, from which linen modules make their arrays."""
    owner = getattr(subject, "__self__", subject)
    kinds = {kind.__module__.partition(".")[0]: kind for kind in type(owner).__mro__}
    if "flax" in kinds:
        from xlalint.verify.backends import flax

        if (made := flax.applied_of(subject, first)) is not None:
            return _jit(made, subject, mode)
    if not hasattr(subject, "lower") and callable(owner) and _arrays(owner):
        return _jit(_pytree(subject, owner), subject, mode)
    return _function(subject, first, mode)


def _arrays(owner: Any) -> bool:
    leaves = jax.tree.leaves(owner)
    return not (len(leaves) == 1 and leaves[0] is owner) and any(
        isinstance(one, (jax.Array, np.ndarray)) for one in leaves
    )


def _pytree(subject: Any, owner: Any) -> PureSubject:
    """A callable pytree, such as an equinox module: its arrays are given, the rest of it is kept."""
    leaves, tree = jax.tree.flatten(owner)
    arrays = {str(n): leaf for n, leaf in enumerate(leaves) if isinstance(leaf, (jax.Array, np.ndarray))}
    method = getattr(subject, "__func__", type(owner).__call__)

    def call(state: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> tuple[Any, Any]:
        filled = [state[0].get(str(n), leaf) for n, leaf in enumerate(leaves)]
        return method(jax.tree.unflatten(tree, filled), *args, **kwargs), ()

    return PureSubject(call, (arrays, ()))


def _jit(model: PureSubject, subject: Any, mode: Mode) -> PureSubject:
    """A model's call under `jit`; Python values among its arguments stay Python values, since a module tells by them what to do."""
    if mode != "compiled":
        return model
    compiled: dict[Any, Any] = {}

    def under_jit(args: tuple[Any, ...], kwargs: dict[str, Any]) -> tuple[Any, list[Any]]:
        leaves, tree = jax.tree.flatten((args, kwargs))
        static = tuple(None if isinstance(leaf, _ARRAYS) else leaf for leaf in leaves)
        arrays = [leaf for leaf in leaves if isinstance(leaf, _ARRAYS)]
        if (static, tree) not in compiled:

            def call(state: Any, arrays: list[Any]) -> tuple[Any, Any]:
                rest = iter(arrays)
                filled = [next(rest) if isinstance(a, _ARRAYS) else s for a, s in zip(leaves, static, strict=True)]
                args, kwargs = jax.tree.unflatten(tree, filled)
                return model.call(state, args, kwargs)

            call.__name__ = call.__qualname__ = getattr(subject, "__name__", type(subject).__name__)
            compiled[static, tree] = jax.jit(call)
        return compiled[static, tree], arrays

    def call(state: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> tuple[Any, Any]:
        function, arrays = under_jit(args, kwargs)
        result: tuple[Any, Any] = function(state, arrays)
        return result

    def lower(state: Any, args: tuple[Any, ...], kwargs: dict[str, Any], platform: str = "tpu") -> Any:
        function, arrays = under_jit(args, kwargs)
        return _lower(function, platform, state, arrays)

    return model._replace(call=call, lower=lower)


def _function(subject: Any, first: values.Arguments, mode: Mode) -> PureSubject:
    function = subject
    if mode == "compiled" and not hasattr(subject, "lower"):
        function = jax.jit(subject, **_texts(first))

    def lower(state: Any, args: tuple[Any, ...], kwargs: dict[str, Any], platform: str = "tpu") -> Any:
        return _lower(function, platform, *args, **kwargs)

    return PureSubject(
        lambda state, args, kwargs: (function(*args, **kwargs), ()),
        lower=lower if hasattr(function, "lower") else None,
    )


def _texts(arguments: values.Arguments) -> dict[str, Any]:
    """Arguments that `jit` takes only as static: strings and functions."""
    args, kwargs = arguments
    return {
        "static_argnums": tuple(n for n, one in enumerate(args) if isinstance(one, str) or callable(one)),
        "static_argnames": tuple(name for name, one in kwargs.items() if isinstance(one, str) or callable(one)),
    }


backend = Jax
