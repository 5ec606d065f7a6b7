"""Functions that AutoGraph converts, and what becomes of hazards there.

The same function is analysed once and may be reached under several tracers: AutoGraph turns a tensor `if` of a `tf.function` into a graph
operation, and leaves it alone in a Keras 3 layer's `call`. So hazards are recorded without regard to the tracer, and judged
(`variant_under`) when it is known how the code is reached.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from xlalint.program.linker import ClassInfo
from xlalint.rules.variants import NO_AUTOGRAPH

if TYPE_CHECKING:
    from xlalint.interpreter.context import PendingHazard
    from xlalint.interpreter.interpreter import Interpreter
    from xlalint.interpreter.tracer import Tracer
    from xlalint.program.linker import FunctionInfo
    from xlalint.rules.policy import Policy

AT_HOME_IN_PIPELINES = "pipeline"
_KERAS_2 = "tf_keras"


def variant_under(tracer: Tracer, pending: PendingHazard, policy: Policy) -> str | None:
    """Return the variant of a hazard of TensorFlow's in code that the tracer runs; None where it is no hazard there."""
    if tracer.framework not in (
        "",
        "tensorflow",
    ):  # another framework's tracer leaves TensorFlow's operations to run at once
        return None
    if pending.variant == AT_HOME_IN_PIPELINES:
        return "operation" if tracer.compiles else None
    if tracer.autograph:
        return None if pending.variant == NO_AUTOGRAPH else pending.variant
    if policy.autograph_rewrites:
        return NO_AUTOGRAPH
    if policy.autograph_only:
        return None
    return "" if pending.variant in ("autograph", "cast") else pending.variant


def rewrites(tracer: Tracer) -> bool:
    """Return whether AutoGraph rewrites what the tracer runs."""
    return tracer.autograph


def converts(interpreter: Interpreter, info: FunctionInfo) -> bool:
    """Return False for what Keras 3 calls itself (`call`, `train_step`, losses) and for `do_not_convert`."""
    return not (info.decorated("do_not_convert") or _called_by_keras(interpreter, info))


def _called_by_keras(interpreter: Interpreter, info: FunctionInfo) -> bool:
    owner = info.owner
    if owner is None:
        return False
    apis = interpreter.apis
    for base in owner.library_bases():
        if apis.framework(base) != "tensorflow" or base.partition(".")[0] == _KERAS_2:
            continue
        for ancestor in apis.ancestors(base):
            spec = apis.klass(ancestor)
            if ancestor.startswith("tensorflow.keras.") and spec is not None and info.name in spec.traced:
                return True
    return False


def prepares_data(klass: ClassInfo) -> bool:
    """Return whether a Keras layer prepares data: by its name, or an ancestor's, it belongs into the input pipeline."""
    names = (base.name for base in klass.mro if isinstance(base, ClassInfo))
    return any(name.endswith(("PreprocessingLayer", "Preprocessor", "Tokenizer", "Converter")) for name in names)
