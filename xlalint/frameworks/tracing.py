"""Tracers: which framework runs a function to record its graph, and what that makes of the hazards in it.

The same function is analysed once and may be reached under several tracers: AutoGraph turns a tensor `if` of a
`tf.function` into a graph operation, and leaves it alone in a Keras 3 layer's `call`. So hazards are recorded without
regard to the tracer, and judged (`variant_under`) when it is known how the code is reached.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec

from xlalint.abstract.values import FALSE, TRUE, Const, LibrarySymbol, Sequence, Value
from xlalint.analysis.hazard import Confidence
from xlalint.lowering import ir

if TYPE_CHECKING:
    from xlalint.interpreter.context import PendingHazard
    from xlalint.interpreter.frame import Frame
    from xlalint.interpreter.interpreter import Interpreter
    from xlalint.program.linker import FunctionInfo
    from xlalint.rules import Policy

NO_AUTOGRAPH = "no-autograph"
AT_HOME_IN_PIPELINES = "pipeline"
# Under these frameworks' tracers a hazard is an error: a function that holds one and is given to no tracer runs eagerly.
_RAISING = ("jax", "tensorflow")
_KERAS_2 = "tf_keras"
_DO_NOT_CONVERT = ("do_not_convert",)


class Tracer(msgspec.Struct, frozen=True, array_like=True):
    """What traces a root: the framework ("" where only the function's use of tensors says that it is traced), and
    whether AutoGraph rewrites its control flow, which speaks of TensorFlow only. `compiles` is true where the program says itself that XLA
    compiles the graph (`jit_compile=True`): a `tf.function` without it may be one of an input pipeline.
    """

    framework: str = ""
    autograph: bool = True
    compiles: bool = False


UNTRACED = Tracer()


class HandOver(msgspec.Struct, frozen=True):
    """A decorator that hands its function to a tracer: its dotted name, the tracer, the arguments that stay host values."""

    name: str
    tracer: Tracer
    static: tuple[object, ...] = ()


def variant_under(tracer: Tracer, sighting: PendingHazard, policy: Policy) -> str | None:
    """The variant of a hazard in code that the tracer runs; None where it is no hazard there."""
    if not sighting.framework:
        return sighting.variant if tracer.framework in ("tensorflow", "jax") else None
    if sighting.framework != "tensorflow":
        return sighting.variant
    if sighting.variant == AT_HOME_IN_PIPELINES:
        return "operation" if tracer.compiles else None
    if tracer.autograph:
        return None if sighting.variant == NO_AUTOGRAPH else sighting.variant
    if policy.autograph_rewrites:
        return NO_AUTOGRAPH
    if policy.autograph_only:
        return None
    return "" if sighting.variant in ("autograph", "cast") else sighting.variant


def under_autograph(tracer: Tracer, pending: PendingHazard) -> bool:
    """Tell whether AutoGraph rewrites the code that holds a hazard of TensorFlow's."""
    return tracer.autograph and pending.framework == "tensorflow"


def given_to_no_tracer(pending: PendingHazard, policy: Policy, variant: str, per_turn: bool) -> tuple[str, Confidence]:
    """The variant and confidence of a hazard in a library's function, which may be traced or not."""
    if pending.framework in _RAISING:
        if pending.framework == "jax" and policy.eager_recompiles and pending.confidence:
            return "eager", Confidence.LIKELY
        return variant, Confidence.POSSIBLE
    if policy.draws_at_random and not per_turn:
        return variant, Confidence.POSSIBLE
    return variant, min(pending.confidence, Confidence.LIKELY)


def framework_of(pending: PendingHazard, tracer: Tracer) -> str:
    """The framework that a hazard is of: where any tracer's will do, the tracer's."""
    return pending.framework or tracer.framework or "torch"


class Conversion:
    """Which functions AutoGraph never rewrites, however they are reached."""

    def __init__(self, interpreter: Interpreter) -> None:
        self._interpreter = interpreter
        self._known: dict[FunctionInfo, bool] = {}

    def applies(self, info: FunctionInfo) -> bool:
        """False for what Keras 3 calls itself (`call`, `train_step`, losses) and for `do_not_convert`."""
        found = self._known.get(info)
        if found is None:
            found = self._known[info] = not (info.decorated(*_DO_NOT_CONVERT) or self._called_by_keras(info))
        return found

    def _called_by_keras(self, info: FunctionInfo) -> bool:
        owner = info.owner
        if owner is None:
            return False
        apis = self._interpreter.apis
        for base in owner.library_bases():
            if apis.framework(base) != "tensorflow" or base.partition(".")[0] == _KERAS_2:
                continue
            for ancestor in apis.ancestors(base):
                spec = apis.klass(ancestor)
                if ancestor.startswith("tensorflow.keras.") and spec is not None and info.name in spec.traced:
                    return True
        return False


def hand_over(frame: Frame, decorator: ir.Node) -> HandOver | None:
    """What a decorator says of tracing: `@jit`, `@jit(...)`, `@partial(jit, ...)`."""
    keywords: tuple[tuple[str, ir.Node], ...] = ()
    if isinstance(decorator, ir.Call):
        value, keywords = _decorating(frame, decorator.func), decorator.keywords
        if isinstance(value, LibrarySymbol) and value.name == "functools.partial" and decorator.args:
            value = _decorating(frame, decorator.args[0])
    else:
        value = _decorating(frame, decorator)
    if not isinstance(value, LibrarySymbol):
        return None
    entry = frame.apis.function(value.name)
    if entry is None or not any(callback.traced for callback in entry.calls):
        return None
    given = {name: frame.eval(node) for name, node in keywords}
    return HandOver(
        value.name,
        tracer_of(entry.framework, given.get("autograph"), given.get("jit_compile")),
        (*constants(given.get("static_argnums")), *constants(given.get("static_argnames"))),
    )


def tracer_of(framework: str, autograph: Value | None, jit_compile: Value | None) -> Tracer:
    """The tracer that these arguments of `tf.function` ask for."""
    return Tracer(framework, autograph is not FALSE, jit_compile is TRUE)


def _decorating(frame: Frame, node: ir.Node) -> Value | None:
    if not isinstance(node, (ir.Name, ir.Attr)):
        return None
    return frame.program.resolve(frame.module, node) if frame.function is None else frame.eval(node)


def constants(value: Value | None) -> tuple[object, ...]:
    """The known constants that a value is or lists."""
    if isinstance(value, Const):
        return (value.value,) if value.value is not None else ()
    if isinstance(value, Sequence) and value.items is not None:
        return tuple(item.value for item in value.items if isinstance(item, Const))
    return ()
