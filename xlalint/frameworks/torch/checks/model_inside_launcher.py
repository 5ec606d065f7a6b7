"""XLA508: models built in each of the processes that are forked for a TPU (Accelerate 1.15, torch_xla 2.9)."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from xlalint.abstract.values import INT, UNKNOWN, Class, Function, LibrarySymbol, Sequence
from xlalint.analysis.hazard import Confidence
from xlalint.frameworks.checks.call_site import CallSite, asks_about, asks_for_device
from xlalint.frameworks.torch.checks.device_before_launch import LAUNCH, NOTEBOOK, one_process
from xlalint.frameworks.torch.checks.obsolete_xla_api import SPAWN
from xlalint.interpreter.arguments import Arguments, bind_parameters
from xlalint.interpreter.context import PendingHazard
from xlalint.interpreter.spelling import spelling
from xlalint.lowering import ir

if TYPE_CHECKING:
    from xlalint.interpreter.frame import Frame

# Libraries whose functions of these names load or make whole models.
_MAKING = ("transformers.", "diffusers.", "timm.create_model", "torchvision.models.", "sentence_transformers.")
_OTHERS = ("Tokenizer", "Processor", "Config", "FeatureExtractor")


@asks_about("torch", *NOTEBOOK, LAUNCH, SPAWN)
def check_launcher(call: CallSite) -> None:
    """`notebook_launcher(train)`, where `train` builds the model; `xmp.spawn(train, start_method="fork")` too."""
    frame, in_notebook = call.frame, call.name in NOTEBOOK
    started = call.value("function" if in_notebook else "fn", 0)
    forks = in_notebook or call.constant("start_method", 5 if call.name == SPAWN else 2) == "fork"
    if not isinstance(started, Function) or not forks or one_process(call) or asks_for_device(frame):
        return
    info = started.info
    found = list(_find_models(frame, info.body))
    if not found:
        return
    given = call.value("args", 1)
    more = list(given.items) if isinstance(given, Sequence) and given.items is not None else []
    rest = None if given is None or more else UNKNOWN
    first = [] if in_notebook else [INT]
    bound = bind_parameters(frame.interpreter, info, started.receiver, Arguments([*first, *more], {}, rest))
    context = frame.interpreter.enter(info, bound, started.closure)
    frame.enters(context, call.node.at)
    for node, statement in found:
        detail = f"is built by each process that `{call.spelled}` forks: the host holds one copy per process"
        at = node.at
        seen = PendingHazard("XLA508", at, statement, "torch", Confidence.LIKELY, spelling(node), detail)
        context.sightings.setdefault(("XLA508", at), seen)


def _find_models(frame: Frame, body: tuple[ir.Statement, ...]) -> Iterator[tuple[ir.Call, int]]:
    """The models that a function builds for itself, whatever it is given."""
    module = frame.interpreter.module_frame(frame.module)
    local = {name for one in body if isinstance(one, ir.Assign) for target in one.targets for name in _names(target)}
    for one in body:
        if isinstance(one, ir.Assign) and isinstance(one.value, ir.Call) and _is_model(module, one.value, local):
            yield one.value, one.at


def _is_model(module: Frame, node: ir.Call, local: set[str]) -> bool:
    if not local.isdisjoint(_names(node.func)):
        return False
    made = module.eval(node.func)
    if isinstance(made, Class):
        return module.interpreter.tables.kind(made.info) == "module"
    if (
        not isinstance(made, LibrarySymbol)
        or not made.name.startswith(_MAKING)
        or any(one in made.name for one in _OTHERS)
    ):
        return False
    last = made.name.rpartition(".")[2]
    return last in ("from_pretrained", "from_config", "create_model") or made.name.startswith("torchvision.models.")


def _names(node: object) -> set[str]:
    return {one.id for one in ir.walk(node) if isinstance(one, ir.Name)}
