"""XLA502: what belongs into a TPU strategy's scope, made outside of it (TensorFlow 2.21, Keras 3.15 and tf_keras 2.21).

Whether a scope is open is a state of the interpreter: "outside" where it surely is not, at the top level of a module that makes a strategy,
after a strategy was made, and in what is called from there; "inside" in the block of `with strategy.scope():`, and in what is called from
that; "" where nothing is known, as in a function that nothing here calls. Contexts are kept apart by it.

Models, optimizers and metrics that are made outside carry the place where. To be made outside is no hazard: a model may be meant for the
host. It becomes one by what is done with it, maybe in another function, which then *claims* it: claims travel up the calls to the function
that made the value.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from xlalint.abstract.lattice import join_all
from xlalint.abstract.values import (
    UNKNOWN,
    AllocationSite,
    Const,
    Function,
    Instance,
    LibraryInstance,
    LibrarySymbol,
    Mapping,
    Method,
    Sequence,
    Value,
    allocation_site,
    foreign,
    instance,
    members,
)
from xlalint.analysis.hazard import Confidence
from xlalint.frameworks.checks.call_site import CallSite, asks_about, asks_for_device
from xlalint.frameworks.tensorflow.conversion import is_keras_2
from xlalint.frameworks.tensorflow.platform import strategy_of
from xlalint.interpreter.context import Context, PendingHazard
from xlalint.interpreter.spelling import path_of, spelling
from xlalint.lowering import ir

if TYPE_CHECKING:
    from xlalint.interpreter.arguments import Arguments
    from xlalint.interpreter.frame import Frame
    from xlalint.program.linker import ModuleInfo, Program

STRATEGIES = (
    "tensorflow.distribute.TPUStrategy",
    "tensorflow.distribute.experimental.TPUStrategy",
    "tensorflow.compat.v2.distribute.TPUStrategy",
    "tensorflow.compat.v2.distribute.experimental.TPUStrategy",
)
"""The classes of a TPU strategy."""
MADE = "strategy"
"""The step that makes one."""

_SCOPE = "tensorflow.distribute.Scope"
# Ways into a scope that end elsewhere than where they are written: with one of them in a module nothing is known of it.
_LASTING = frozenset(("experimental_set_strategy", "__enter__", "enter_context"))
_SCOPED = ("scope", "strateg", "distrib")
# Who places what follows on a device has chosen it, be it the host.
_PLACED = "tensorflow.device"
_KINDS = {
    "tensorflow.keras.Model": "model",
    "tensorflow.keras.optimizers.Optimizer": "optimizer",
    "tensorflow.keras.metrics.Metric": "metric",
}
_KERAS_2 = ("tf_keras.", "tensorflow.python.keras.", "tensorflow.compat.v1.", "tensorflow.keras.optimizers.legacy.")
_PRETRAINED = ("from_pretrained", "from_config", "from_preset")
_HUBS = ("keras_hub.models.", "keras_nlp.models.", "keras_cv.models.")
_MODEL = "tensorflow.keras.Model"


# ------------------------------------------------------------------------------------------ where a scope is open


def scope_of_module(module: ModuleInfo, program: Program) -> str:
    """The state in which a module's top level is run."""
    return "outside" if strategy_of(module, program) and not called_in(module) & _LASTING else ""


def called_in(module: ModuleInfo) -> set[str]:
    """The last names of what a module calls."""
    return {*module.unit.calls, *(name for function in module.unit.functions for name in function.calls)}


@asks_about("tensorflow", *STRATEGIES)
def note_strategy(call: CallSite) -> None:
    """`tf.distribute.TPUStrategy(…)`: from here on it is known that no scope is open."""
    _step(call.frame, MADE)


@asks_about("tensorflow", "tensorflow.distribute.experimental_set_strategy", methods=("__enter__", "enter_context"))
def note_lasting_scope(call: CallSite) -> None:
    """`strategy.scope().__enter__()`: nothing is known from here on."""
    call.frame.interpreter.scope = ""


def _step(frame: Frame, step: str) -> None:
    frame.context.steps.append(step)
    if step == MADE and not frame.interpreter.scope and not called_in(frame.module) & _LASTING:
        frame.interpreter.scope = "outside"


def scope_within(frame: Frame, expression: ir.Node, value: Value) -> str:
    """The state in the block of a `with`, by what it enters: that of a library is no scope, what the program has made may be one."""
    found = members(value)
    if any(isinstance(member, LibraryInstance) and member.name == _SCOPE for member in found):
        return "inside"
    func = expression.func if isinstance(expression, ir.Call) else None
    if isinstance(func, ir.Attr) and func.name == "scope":
        return "inside"
    if func is None:
        return frame.interpreter.scope if all(isinstance(member, LibraryInstance) for member in found) else ""
    called = frame.eval(func)
    if (
        not isinstance(called, LibrarySymbol)
        or called.name == _PLACED
        or any(word in called.name.lower() for word in _SCOPED)
    ):
        return ""
    return frame.interpreter.scope


def scope_in_branch(frame: Frame) -> str:
    """The state in what a branch, or a handler, calls: under one on the device's kind nothing is known of a TPU's strategy."""
    return "" if frame.paths.suppressed or asks_for_device(frame) else frame.interpreter.scope


# ---------------------------------------------------------------------------------------------- what is made there


def mark_made_outside(
    frame: Frame, node: ir.Call, callees: tuple[Value, ...], arguments: Arguments, result: Value
) -> Value:
    """Return what a call outside of the scope gives: a model, an optimizer or a metric with the place of the call.

    Of what a function of the program gives, the outermost call is the place: there the scope has to be opened. What it made in a scope of
    its own stays as it is, and so does what it was given.
    """
    if (
        frame.interpreter.scope != "outside"
        or frame.paths.suppressed
        or frame.paths.separate_graph
        or frame.context.per_turn
    ):
        return result
    if asks_for_device(frame):
        return result
    if result is UNKNOWN:
        return foreign(_MODEL, _place(frame, node)) if any(map(_pretrained, callees)) else result
    entered = any(isinstance(callee, Function) for callee in callees)
    given = set(_places((*arguments.args, *arguments.keywords.values()))) if entered else set()
    found = [_mark(frame, node, member, entered, given) for member in members(result)]
    return join_all(found) if any(a is not b for a, b in zip(found, members(result), strict=True)) else result


def _mark(frame: Frame, node: ir.Call, value: Value, entered: bool, given: set[AllocationSite]) -> Value:
    if not isinstance(value, (LibraryInstance, Instance)) or (value.made is None) is entered or value.made in given:
        return value
    if not kind_of(frame, value) or _keeps_nothing(value, node):
        return value
    place = _place(frame, node)
    return (
        foreign(value.name, place) if isinstance(value, LibraryInstance) else instance(value.klass, value.fields, place)
    )


def _keeps_nothing(value: Value, node: ir.Call) -> bool:
    """`SGD(0.1)`: an optimizer without a variable for each weight trains wherever it was made."""
    plain = len(node.args) < 2 and all(name == "learning_rate" for name, _ in node.keywords)
    return isinstance(value, LibraryInstance) and value.name.endswith(".SGD") and plain


def _place(frame: Frame, node: ir.Call) -> AllocationSite:
    index = frame.function.index if frame.function is not None else -1
    statement = frame.statement + (frame.base & 0xFFFFFFFF)
    sure = not (frame.paths.branch_depth or frame.paths.ambiguous_callee)
    return allocation_site(frame.module.index, index, node.at + frame.base, statement, spelling(node), sure)


def _pretrained(callee: Value) -> bool:
    """`TFAutoModel.from_pretrained`, `keras_hub.models.…from_preset`."""
    if not isinstance(callee, LibrarySymbol):
        return False
    owner, _, last = callee.name.rpartition(".")
    if last in _PRETRAINED:
        return owner.startswith(_HUBS) or (owner.startswith("transformers.") and ".TF" in owner)
    return owner == "transformers" and last.startswith("TF") and "Model" in last


def kind_of(frame: Frame, value: Value) -> str:
    """Return "model", "optimizer" or "metric" for a value that is one of Keras'; "" for others."""
    bases = (
        [value.name]
        if isinstance(value, LibraryInstance)
        else value.klass.library_bases()
        if isinstance(value, Instance)
        else []
    )
    for base in bases:
        for ancestor in frame.apis.ancestors(base):
            if ancestor in _KINDS:
                return _KINDS[ancestor]
    return ""


def _places(values: tuple[Value, ...], depth: int = 2) -> Iterator[AllocationSite]:
    """The places that values carry, or what they hold."""
    for value in values:
        for member in members(value):
            if isinstance(member, (LibraryInstance, Instance)) and member.made is not None:
                yield member.made
            elif depth and isinstance(member, Sequence):
                yield from _places(member.items or (member.element,), depth - 1)
            elif depth and isinstance(member, Mapping):
                yield from _places(tuple(item for _, item in member.items), depth - 1)


# ----------------------------------------------------------------------------------------------- what is done with it


@asks_about("tensorflow", methods=("compile", "fit", "train_on_batch"))
def check_use(call: CallSite) -> None:
    """`model.compile(…)`, `model.fit(…)`: of a model that was made outside, or with an optimizer or metrics that were."""
    frame = call.frame
    receivers = members(receiver_of(call))
    inside = frame.interpreter.scope == "inside"
    if asks_for_device(frame):
        return
    companions = [(place, "optimizer") for place in _optimizers(call)] + list(_metrics(call))
    for model in receivers:
        if not isinstance(model, (LibraryInstance, Instance)) or kind_of(frame, model) != "model":
            continue
        if model.made is None and not inside and _names_optimizer(call) and not _keras_2(model):
            claim(frame, _place(frame, call.node), "compile")
        if model.made is None or inside:
            claimed = companions
        else:  # it may be the host's: that shows when it is trained
            claimed = _companions(frame).get(model.made, [])
            _companions(frame)[model.made] = companions if call.name == "compile" else claimed
        if model.made is not None and (inside or call.name != "compile"):
            claim(frame, model.made, "model" if inside else "host")
        if model.made is None or inside or call.name != "compile":
            for place, variant in claimed:
                claim(frame, place, variant)


def _companions(frame: Frame) -> dict[AllocationSite, list[tuple[AllocationSite, str]]]:
    """The optimizers and metrics, made outside of a strategy's scope, that models were compiled with."""
    found: dict[AllocationSite, list[tuple[AllocationSite, str]]] = frame.of_checks.setdefault("companions", {})
    return found


def receiver_of(call: CallSite) -> Value:
    """The object of which a method is called."""
    if isinstance(call.callee, Method):
        return call.callee.receiver
    func = call.node.func
    return call.frame.eval(func.value) if isinstance(func, ir.Attr) and path_of(func.value) else UNKNOWN


def _optimizers(call: CallSite) -> Iterator[AllocationSite]:
    given = call.value("optimizer", 0) if call.name == "compile" else None
    for member in members(given) if given is not None else ():
        if isinstance(member, (LibraryInstance, Instance)) and member.made is not None and not _keras_2(member):
            yield member.made


def _names_optimizer(call: CallSite) -> bool:
    """Return whether `compile` makes an optimizer that keeps something for each weight, by name or by default.

    Plain SGD keeps nothing.
    """
    if call.name != "compile" or call.frame.interpreter.scope != "outside":
        return False
    name = call.constant("optimizer", 0)
    return call.lacks("optimizer", 0) or (isinstance(name, str) and name.lower() != "sgd")


def _metrics(call: CallSite) -> Iterator[tuple[AllocationSite, str]]:
    """Metrics that were made outside, which Keras 2 refuses; which version `tf.keras` is depends on what is installed."""
    given = call.value("metrics", 2) if call.name == "compile" else None
    for value in given.items or () if isinstance(given, Sequence) else ():
        for member in members(value):
            if (
                isinstance(member, LibraryInstance)
                and member.made is not None
                and kind_of(call.frame, member) == "metric"
            ):
                if _keras_2(member):
                    yield member.made, "metric"
                elif member.name.startswith("tensorflow."):
                    yield member.made, "metric-2"


def _keras_2(value: LibraryInstance | Instance) -> bool:
    names = [value.name] if isinstance(value, LibraryInstance) else value.klass.library_bases()
    return any(name.startswith(_KERAS_2) for name in names)


@asks_about("tensorflow", methods=("run",))
def check_run(call: CallSite) -> None:
    """`strategy.run(step)`: `step` uses models that were made outside."""
    frame = call.frame
    if asks_for_device(frame) or not is_strategy(receiver_of(call)):
        return
    given = call.value("fn", 0)
    for step in members(given) if given is not None else ():
        if isinstance(step, Function):
            for value in _globals_of(frame, step):
                if value.made is not None and kind_of(frame, value) == "model":
                    claim(frame, value.made, "run")


def is_strategy(value: Value) -> bool:
    """Return whether a value is surely a distribution strategy."""
    found = [member for member in members(value) if not (isinstance(member, Const) and member.value is None)]
    return bool(found) and all(
        isinstance(member, LibraryInstance) and member.name.rpartition(".")[2].endswith("Strategy") for member in found
    )


def _globals_of(frame: Frame, step: Function) -> Iterator[LibraryInstance | Instance]:
    """The models and their like that a function reads from around it."""
    closure = dict(step.closure)
    own = {param.name for param in step.info.params}
    names = {node.id for node in ir.walk(step.info.body) if isinstance(node, ir.Name)} - own
    for name in sorted(names):
        value = closure.get(name)
        if value is None and step.info.module is frame.module and frame.function is None:
            value = frame.env.get(name)
        for member in members(value if value is not None else frame.interpreter.global_name(step.info.module, name)):
            if isinstance(member, (LibraryInstance, Instance)):
                yield member


# ------------------------------------------------------------------------------------------------------- the hazard


def claim(frame: Frame, place: AllocationSite, variant: str) -> None:
    """Note that a value is used so that its having been made outside is a hazard."""
    if frame.paths.suppressed or frame.paths.separate_graph:
        return
    function = frame.function.index if frame.function is not None else -1
    if (place.module, place.function) == (frame.module.index, function):
        _note(frame, place, variant)
    else:
        frame.context.claims[place, variant] = ""


def take_over(frame: Frame, callee: Context) -> None:
    """Note what a function that was called did: the steps that set a TPU up, and what it claims of values."""
    for step in callee.steps:
        _step(frame, step)
    for place, variant in callee.claims:
        claim(frame, place, variant)


_SAYS = {
    "model": "builds the model outside {0} and uses it inside: the first training step fails",
    "run": "builds the model outside {0}, and the strategy runs it: its variables do not belong to the replicas",
    "host": "builds the model outside {0}: it trains on the host's CPU, and the TPU is idle",
    "compile": "creates the optimizer outside {0} and the model inside: Keras 3 refuses to train",
    "optimizer": "is created outside {0}, the model inside: Keras 3 refuses to train",
    "metric": "is created outside {0}, the model inside: Keras 2 refuses it",
    "metric-2": "is created outside {0}, the model inside: Keras 2 (TensorFlow below 2.16) refuses it",
}
_INFORMATION = (("tf", "info"),)


_ONLY_KERAS_3 = ("compile", "optimizer")


def _note(frame: Frame, place: AllocationSite, variant: str) -> None:
    if variant in _ONLY_KERAS_3 and is_keras_2(frame.module, frame.interpreter.program):
        return
    known = frame.context.sightings.get(("XLA502", place.at))
    if known is not None and (known.variant != "host" or variant == "host"):
        return
    name = _strategy_name(frame)
    frame.context.sightings["XLA502", place.at] = PendingHazard(
        "XLA502",
        place.at,
        place.statement,
        "tensorflow",
        Confidence.CERTAIN if place.sure and not frame.paths.branch_depth else Confidence.LIKELY,
        place.subject,
        _SAYS[variant].format(f"`{name}.scope()`" if name else "the strategy's scope"),
        "host" if variant == "host" else "",
        _INFORMATION if variant == "metric-2" else (),
    )


def _strategy_name(frame: Frame) -> str:
    """The name by which the code at hand knows the strategy; "" if it has none there."""
    for name, value in frame.env.items():
        if is_strategy(value):
            return name
    for name in frame.module.unit.assigned if frame.function is not None else ():
        if is_strategy(frame.lookup(name)):
            return name
    return ""


__all__ = [
    "STRATEGIES",
    "claim",
    "is_strategy",
    "kind_of",
    "mark_made_outside",
    "receiver_of",
    "scope_in_branch",
    "scope_of_module",
    "scope_within",
    "take_over",
]
