"""XLA503: the steps that make a TPU ready for TensorFlow, their order, and how the TPU is named (TensorFlow 2.21).

Each step is noted in its context, and taken over by the caller. What was done before a frame was entered is not known: a step is missed
only where the frame, or what it called, made the resolver that it is about.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from xlalint.abstract.values import Const, LibraryInstance, Value, members
from xlalint.frameworks.checks.call_site import CallSite, asks_about
from xlalint.frameworks.tensorflow.checks.outside_strategy_scope import STRATEGIES, called_in, receiver_of
from xlalint.interpreter.spelling import path_of, spelling
from xlalint.lowering import ir

if TYPE_CHECKING:
    from xlalint.interpreter.context import Context
    from xlalint.interpreter.frame import Frame

_RESOLVER = "distribute.cluster_resolver.TPUClusterResolver"
RESOLVERS = (f"tensorflow.{_RESOLVER}", f"tensorflow.compat.v2.{_RESOLVER}")
CONNECT = tuple(f"tensorflow.config.experimental_connect_to_{what}" for what in ("cluster", "host"))
INITIALISE = (
    "tensorflow.tpu.experimental.initialize_tpu_system",
    "tensorflow.compat.v2.tpu.experimental.initialize_tpu_system",
)

RESOLVED = "resolver:"
"""How the step begins that makes a resolver; behind it stands how the TPU is named, see `naming`."""
_CONNECTED = "connect"
_INITIALISED = "initialise"
COLAB = "COLAB_TPU_ADDR"
# Where notebooks run, nobody sets it.
_LOUD = (("tf", "warning"),)
REMOTE_NAMES = frozenset(("address", "colab"))
"""How a TPU is named that is on another machine."""
# What code does with a resolver that says nothing of the TPU's state.
_KNOWN = frozenset(
    ("initialize_tpu_system", "TPUStrategy", "print", "str", "len", "bool", "isinstance", "info", "format")
)
_KNOWN_CONNECT = frozenset(("experimental_connect_to_cluster", "experimental_connect_to_host"))


def naming(frame: Frame, value: Value | None, node: ir.Node | None) -> str:
    """How a TPU is named: "local" (attached to this machine), "address" (of another), "colab" (the address of Colab's node), "name",
    "none" (to be found in the environment), or "" where it is not known."""
    if isinstance(value, Const):
        if not value.value:
            return "none"
        text = str(value.value)
        return "local" if text == "local" else "address" if text.startswith("grpc://") else "name"
    words = [one.value for one in ir.walk(node) if isinstance(one, ir.Const)] if node is not None else []
    if COLAB in words:
        return "colab"
    return "address" if any(isinstance(word, str) and word.startswith("grpc://") for word in words) else ""


@asks_about("tensorflow", *RESOLVERS)
def check_resolver(call: CallSite) -> None:
    """`TPUClusterResolver(tpu=…)`."""
    named = _naming_of(call)
    call.frame.context.steps.append(f"{RESOLVED}{named}")
    _report_naming(call, named)


@asks_about("tensorflow", *(f"{name}.connect" for name in RESOLVERS))
def note_connection(call: CallSite) -> None:
    """`TPUClusterResolver.connect(tpu)`, which does all of it."""
    named = _naming_of(call)
    call.frame.context.steps += [f"{RESOLVED}{named}", _CONNECTED, _INITIALISED]
    _report_naming(call, named)


@asks_about("tensorflow", methods=("connect",))
def note_connection_of(call: CallSite) -> None:
    """`resolver.connect(tpu)`: a static method, whatever object it is called on."""
    if any(isinstance(one, LibraryInstance) and one.name in RESOLVERS for one in members(receiver_of(call))):
        call.frame.context.steps += [_CONNECTED, _INITIALISED]


def _naming_of(call: CallSite) -> str:
    return "none" if call.lacks("tpu", 0) else naming(call.frame, call.value("tpu", 0), call.node_of("tpu", 0))


def _report_naming(call: CallSite, named: str) -> None:
    if named == "colab":
        detail = 'asks for Colab\'s TPU node: since 2024 Colab has only TPU machines, whose name is `tpu="local"`'
        _report(call, detail)
    elif named == "none" and not call.frame.paths.try_depth:  # who catches it goes on without a TPU
        detail = "names no TPU: on a TPU machine that fails unless `TPU_NAME` is set"
        _report(call, detail, "unnamed", _LOUD if call.frame.module.path.endswith(".ipynb") else ())


@asks_about("tensorflow", *CONNECT)
def check_connect(call: CallSite) -> None:
    """`experimental_connect_to_cluster(resolver)`."""
    steps = call.frame.context.steps
    harmless = f"{RESOLVED}local" in steps or any(
        f"{RESOLVED}{kind}" in steps for kind in REMOTE_NAMES
    )  # the latter is told
    if _INITIALISED in steps and _CONNECTED not in steps and _has_resolver(steps) and not harmless:
        _report(call, "comes after the TPU system was initialised: connecting invalidates its devices")
    steps.append(_CONNECTED)


@asks_about("tensorflow", *INITIALISE)
def check_initialise(call: CallSite) -> None:
    """`initialize_tpu_system(resolver)`."""
    frame = call.frame
    steps = frame.context.steps
    remote = any(step.removeprefix(RESOLVED) in REMOTE_NAMES for step in steps if step.startswith(RESOLVED))
    if (
        remote
        and _CONNECTED not in steps
        and not _elsewhere(frame, call.node_of("cluster_resolver", 0), _KNOWN_CONNECT)
    ):
        _report(
            call,
            "comes before `tf.config.experimental_connect_to_cluster`: the TPU is on a machine that is not connected yet",
        )
    steps.append(_INITIALISED)


@asks_about("tensorflow", *STRATEGIES)
def check_strategy(call: CallSite) -> None:
    """`TPUStrategy(resolver)`."""
    frame = call.frame
    steps = frame.context.steps
    if ".experimental." in call.name:
        detail = "is deprecated since TensorFlow 2.3: `tf.distribute.TPUStrategy` is the same"
        _report(call, detail, "deprecated")
    if _INITIALISED in steps or not _has_resolver(steps):
        return
    if not _elsewhere(frame, call.node_of("tpu_cluster_resolver", 0), frozenset(("initialize_tpu_system",))):
        _report(call, "is created before `tf.tpu.experimental.initialize_tpu_system` has made the TPU ready")


def node_variant(contexts: Iterable[Context]) -> str | None:
    """The variant of what only a TPU node cannot do: "" where the TPU is surely on another machine than the program, None where it is on
    the same."""
    named = {step.removeprefix(RESOLVED) for context in contexts for step in context.steps if step.startswith(RESOLVED)}
    if named == {"local"}:
        return None
    return "" if named and named <= REMOTE_NAMES else "unknown"


def _has_resolver(steps: list[str]) -> bool:
    return any(step.startswith(RESOLVED) for step in steps)


def _elsewhere(frame: Frame, resolver: ir.Node | None, wanted: frozenset[str]) -> bool:
    """Return whether the step may be taken in code that is not seen.

    A function may take it that is handed the resolver, or one of the program that was not followed from here.
    """
    if resolver is None or not path_of(resolver):
        return False
    own = set(frame.function.ir.calls) if frame.function is not None else set(frame.module.unit.calls)
    if called_in(frame.module) & wanted and not own & wanted:
        return True
    body = frame.function.body if frame.function is not None else ir.decode_body(frame.module.unit.body)
    name = spelling(resolver)
    return any(
        any(spelling(argument) == name for argument in (*call.args, *(value for _, value in call.keywords)))
        and spelling(call.func).rpartition(".")[2] not in _KNOWN | _KNOWN_CONNECT
        for call in ir.walk(body)
        if isinstance(call, ir.Call)
    )


def _report(call: CallSite, detail: str, variant: str = "", severity: tuple[tuple[str, str], ...] = ()) -> None:
    """Note a hazard whatever the code around it asks: these calls are for TPUs alone."""
    call.frame.note("XLA503", call.node.at, "tensorflow", spelling(call.node), detail, variant, severity)
