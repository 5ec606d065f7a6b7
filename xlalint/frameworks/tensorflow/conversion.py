"""Functions that AutoGraph converts, and what becomes of hazards there.

The same function is analysed once and may be reached under several tracers: AutoGraph turns a tensor `if` of a `tf.function` into a graph
operation, and leaves it alone in a Keras 3 layer's `call`. So hazards are recorded without regard to the tracer, and judged
(`variant_under`) when it is known how the code is reached.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from xlalint.config.requirements import admits, least_of
from xlalint.lowering import ir
from xlalint.program.linker import ClassInfo
from xlalint.rules.codes import PRINT_TENSOR
from xlalint.rules.variants import FORMAT, NO_AUTOGRAPH

if TYPE_CHECKING:
    from collections.abc import Iterator

    from xlalint.interpreter.context import PendingHazard
    from xlalint.interpreter.interpreter import Interpreter
    from xlalint.interpreter.tracer import Runner, Tracer
    from xlalint.program.linker import FunctionInfo, ModuleInfo, Program
    from xlalint.rules.policy import Policy

AT_HOME_IN_PIPELINES: Final = "pipeline"
# What computes with ragged tensors prepares data for what is compiled, if it is a layer: those of a model are given dense ones.
RAGGED: Final = "ragged"
# A TPU's strategy places what has no kernel for the TPU on its host, unless that is switched off (`tensorflow/python/tpu/tpu.py`, 2.21).
BESIDE_REPLICAS: Final = "beside"
_KERAS_2: Final = "tf_keras"
# Who installs one of these runs `tf.keras` as Keras 2.
_PACKAGES_OF_KERAS_2: Final = ("tf-keras", "tf-keras-nightly")
# The releases with which Keras 3 came, by package; `tensorflow-gpu` ended before.
_FIRST_OF_KERAS_3: Final = {
    "keras": (3,),
    "tensorflow": (2, 16),
    "tensorflow-cpu": (2, 16),
    "tensorflow-gpu": (2, 16),
    "tensorflow-macos": (2, 16),
}
# Modules that Keras 3 does not have; TensorFlow Addons ended before it.
_MODULES_OF_KERAS_2: Final = (
    "keras.engine",
    "keras.legacy",
    "tensorflow.contrib",
    "tensorflow.keras.experimental",
    "tensorflow.keras.layers.experimental",
    "tensorflow.keras.mixed_precision.experimental",
    "tensorflow.python.keras",
)
# Asked of Keras 3.15: its models, layers, metrics, optimizers and backend have none of these.
_CALLS_OF_KERAS_2: Final = frozenset(
    (
        "add_update",
        "evaluate_generator",
        "fit_generator",
        "get_input_at",
        "get_output_at",
        "in_train_phase",
        "learning_phase",
        "predict_classes",
        "predict_generator",
        "reset_states",
        "set_learning_phase",
    )
)
# What traces a model of Keras, or functions around it.
_TRACING: Final = frozenset(
    (
        "compile",
        "evaluate",
        "experimental_run_v2",
        "fit",
        "fit_generator",
        "function",
        "predict",
        "predict_on_batch",
        "run",
        "test_on_batch",
        "train_on_batch",
    )
)
_PREPARING: Final = ("PreprocessingLayer", "Preprocessor", "Tokenizer", "Converter")
_LEGACY: Final = b"TF_USE_LEGACY_KERAS"
_EXPERIMENTAL: Final = b"experimental"
_NAME: Final = re.compile(r"[\w-]+")


def variant_under(tracer: Tracer, pending: PendingHazard, policy: Policy) -> str | None:
    """Return the variant of a hazard of TensorFlow's in code that the tracer runs; None where it is no hazard there."""
    if tracer.framework not in ("", "tensorflow"):  # another tracer leaves the operations to run at once
        return None
    if tracer.runner == "replicas" and runs_beside(pending):
        return BESIDE_REPLICAS
    if pending.variant == AT_HOME_IN_PIPELINES:
        return "operation" if tracer.compiles else None
    if pending.variant == RAGGED:
        return "" if tracer.compiles or tracer.runner == "replicas" else None
    if tracer.autograph:
        return None if pending.variant == NO_AUTOGRAPH else pending.variant
    if policy.autograph_rewrites:
        return NO_AUTOGRAPH
    if policy.autograph_only:
        return None
    return "" if pending.variant in ("autograph", "cast") else pending.variant


def runs_beside(pending: PendingHazard) -> bool:
    """Return whether a hazard is about what a TPU's host runs, where a strategy runs the graph: in `strategy.run`, and in Keras' `fit`."""
    return pending.rule == PRINT_TENSOR and pending.variant != FORMAT


def rewrites(tracer: Tracer) -> bool:
    """Return whether AutoGraph rewrites what the tracer runs."""
    return tracer.autograph


def converts(interpreter: Interpreter, info: FunctionInfo) -> bool:
    """Return False for what Keras 3 calls itself (`call`, `train_step`, losses) and for `do_not_convert`.

    A `tf.function` around a method has AutoGraph convert it, whoever calls it (run on Keras 3.15: `predict` of such a `call`).
    """
    if info.decorated("do_not_convert"):
        return False
    return info.decorated("function") or not _called_by_keras(interpreter, info)


def is_keras_2(module: ModuleInfo, program: Program) -> bool:
    """Return whether a module's Keras is of release 2, which `tf.keras` was before TensorFlow 2.16.

    The project's requirements say so, what the module asks for, or one that it imports, or a package that it is in and what that imports;
    or a call of what Keras 3 does not have.
    """
    return program.answer(_is_keras_2, module)


def _is_keras_2(module: ModuleInfo, program: Program) -> bool:
    told = module.taught.requirements
    if any(map(_asks_for_keras_2, told)) and not any(map(_asks_for_keras_3, told)):
        return True
    if module.answers(_shows_keras_2) or any(one.answers(_shows_keras_2) for one in _walk_loaded(module, program)):
        return True
    module.reader.read_whole(module)
    return module.answers(_uses_keras_2)


def _walk_loaded(module: ModuleInfo, program: Program) -> Iterator[ModuleInfo]:
    """The modules of the program that Python runs before a module: what it imports, its packages, what these import."""
    yield from program.imported_by(module)
    package = module.name.rpartition(".")[0]
    while package:
        around = program.by_name.get(package)
        if around is not None and around is not module and not around.followed:
            yield around
            yield from program.imported_by(around)
        package = package.rpartition(".")[0]


def _shows_keras_2(module: ModuleInfo) -> bool:
    """Return whether what a module's top level says, or a call, runs with Keras 2 only."""
    unit = module.unit
    packages = module.packages
    asked_for = "tensorflow_addons" in packages or ("tf_keras" in packages and "keras" not in packages)
    if asked_for or any(map(_is_of_keras_2, unit.imports)):
        return True
    asks = _LEGACY in unit.body or _EXPERIMENTAL in unit.body
    if asks and any(_sets_legacy(one) or _is_experimental(one) for one in ir.walk(ir.decode_body(unit.body))):
        return True
    called = {name for names in (unit.calls, *(one.calls for one in unit.functions)) for name in names}
    own = {info.name for info in module.functions}
    return not (_CALLS_OF_KERAS_2 & called) <= own


def _uses_keras_2(module: ModuleInfo) -> bool:
    """Return whether a function of a module names what ended with Keras 2."""
    named = (info for info in module.functions if _EXPERIMENTAL in info.ir.body)
    return any(_is_experimental(one) for info in named for one in ir.walk(info.body))


def _sets_legacy(node: object) -> bool:
    """Return whether a statement is `os.environ["TF_USE_LEGACY_KERAS"] = "1"`."""
    if type(node) is not ir.Assign or node.value != ir.Const("1"):
        return False
    return any(type(one) is ir.Sub and one.index == ir.Const(_LEGACY.decode()) for one in node.targets)


def _is_experimental(node: object) -> bool:
    """Return whether an expression is `tf.keras.layers.experimental`, which ended with Keras 2, or the like."""
    if type(node) is not ir.Attr or node.name != _EXPERIMENTAL.decode():
        return False
    return getattr(node.value, "name", getattr(node.value, "id", "")) in ("keras", "layers", "mixed_precision")


def _is_of_keras_2(binding: ir.Binding) -> bool:
    imported = binding.dotted
    return not binding.level and any(imported == one or imported.startswith(f"{one}.") for one in _MODULES_OF_KERAS_2)


def _asks_for_keras_2(requirement: str) -> bool:
    """Return whether a requirement admits no release with Keras 3, or one before it: the code was written for that."""
    name = _NAME.match(requirement)
    if name is None:
        return False
    if name[0] in _PACKAGES_OF_KERAS_2:
        return True
    first = _FIRST_OF_KERAS_3.get(name[0])
    if first is None:
        return False
    least = least_of(requirement[name.end() :])
    return (least is not None and least < first) or not admits(requirement[name.end() :], first)


def _asks_for_keras_3(requirement: str) -> bool:
    """Return whether a requirement of Keras itself leaves no release before."""
    name = _NAME.match(requirement)
    least = least_of(requirement) if name is not None and name[0] == "keras" else None
    return least is not None and least >= _FIRST_OF_KERAS_3["keras"]


def _comes_with_keras_3(requirement: str) -> bool:
    """Return whether a requirement of Keras or TensorFlow leaves no release with Keras 2."""
    name = _NAME.match(requirement)
    first = _FIRST_OF_KERAS_3.get(name[0]) if name is not None else None
    least = least_of(requirement) if first is not None else None
    return first is not None and least is not None and least >= first


def _called_by_keras(interpreter: Interpreter, info: FunctionInfo) -> bool:
    owner = info.owner
    if owner is None or not _is_traced_by_keras(interpreter, info, owner):
        return False
    return not is_keras_2(info.module, interpreter.program)


def _is_traced_by_keras(interpreter: Interpreter, info: FunctionInfo, owner: ClassInfo) -> bool:
    apis = interpreter.apis
    for base in owner.library_bases():
        if apis.framework(base) != "tensorflow" or base.partition(".")[0] == _KERAS_2:
            continue
        for ancestor in apis.ancestors(base):
            spec = apis.klass(ancestor)
            if ancestor.startswith("tensorflow.keras.") and spec is not None and info.name in spec.traced:
                return True
    return False


def runner_of(klass: ClassInfo, base: str, program: Program) -> Runner:
    """Return what runs the methods that Keras calls on a class: Keras 3 has XLA compile what it trains, Keras 2 if it is asked to.

    Of which release `tf.keras` is shows nothing but the requirements, and on a CPU neither compiles by itself.
    """
    package = base.partition(".")[0]
    if package == _KERAS_2 or is_keras_2(klass.module, program):
        return "training"
    told = any(map(_comes_with_keras_3, klass.module.taught.requirements))
    return "compiler" if package == "keras" or "keras" in klass.module.packages or told else "training"


def prepares_data(klass: ClassInfo) -> bool:
    """Return whether a Keras layer prepares data: it belongs into the input pipeline by its name, or an ancestor's, or is in no graph."""
    names = (base.name for base in klass.mro if isinstance(base, ClassInfo))
    if any(name.endswith(_PREPARING) or "AugmentationLayer" in name for name in names):
        return True
    return _passes_keras_by(klass)


def trains_eagerly(klass: ClassInfo) -> bool:
    """Return whether a script makes and trains a model of Keras itself, and hands it to nothing that traces: each operation runs at once.
    So does a model with a `fit` of its own, but for what that traces.

    Where such a model reads values, the program has been run so.
    """
    module = klass.module
    fit = klass.method("fit")
    if fit is not None and "fit" not in fit.ir.calls:
        return True
    calls = {*module.unit.calls, *(name for info in module.functions for name in info.ir.calls)}
    tracing = _TRACING.difference(*(one.ir.methods for one in module.classes if not one.library_bases()))
    if klass.name not in calls or "GradientTape" not in calls or not tracing.isdisjoint(calls):
        return False
    return klass.method("train_step") is None and not any(info.decorated("function") for info in module.functions)


def _passes_keras_by(klass: ClassInfo) -> bool:
    """Return whether a layer's own `__call__` goes straight to `call`: Keras, which would trace it, is not asked.

    A loss that does so is called by Keras as ever.
    """
    entry = klass.method("__call__")
    if entry is None or "call" not in entry.ir.calls or "__call__" in entry.ir.calls:
        return False
    return not any("loss" in base.lower() for base in klass.library_bases())
