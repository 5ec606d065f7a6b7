"""XLA519: a model moved to the XLA device after its optimizer was made (torch_xla 2.9.0, torch_tpu 0.2.0)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from xlalint.abstract.values import UNKNOWN, Const, Host, Value
from xlalint.analysis.hazard import Confidence
from xlalint.frameworks.checks.call_site import CallSite, asks_about, asks_for_device
from xlalint.interpreter.spelling import path_of, spelling
from xlalint.lowering import ir

if TYPE_CHECKING:
    from xlalint.interpreter.frame import Frame

_OPTIMIZERS = tuple(
    f"torch.optim.{name}"
    for name in (
        "ASGD",
        "Adadelta",
        "Adafactor",
        "Adagrad",
        "Adam",
        "AdamW",
        "Adamax",
        "LBFGS",
        "NAdam",
        "RAdam",
        "RMSprop",
        "Rprop",
        "SGD",
    )
)


@asks_about("torch", *_OPTIMIZERS)
def note_optimizer(call: CallSite) -> None:
    """`torch.optim.SGD(model.parameters())`: remembered, since the model may be moved in the same run of statements."""
    params = call.node_of("params", 0)
    func = params.func if isinstance(params, ir.Call) else None
    if isinstance(func, ir.Attr) and func.name == "parameters" and not asks_for_device(call.frame):
        path = path_of(func.value)
        if path:
            _optimized_models(call.frame)[path] = (
                call.spelled,
                call.frame.env.get(path),
                call.frame.paths.branch_depth > 0,
            )


def _optimized_models(frame: Frame) -> dict[str, tuple[str, Value | None, bool]]:
    """The models whose parameters an optimizer took: how it is spelled, what the model was, and whether in a branch."""
    found: dict[str, tuple[str, Value | None, bool]] = frame.of_checks.setdefault("optimized", {})
    return found


@asks_about("torch", methods=("to", "tpu"))
def check_move(call: CallSite) -> None:
    """`model.to(device)` after that: new parameters, of which the optimizer knows nothing."""
    frame, func = call.frame, call.node.func
    path = path_of(func.value) if isinstance(func, ir.Attr) else ""
    known = _optimized_models(frame).get(path)
    if known is None or known[1] is not frame.env.get(path) or not _is_device(call):
        return
    detail = f"comes after `{known[0]}` took the parameters: moving creates new ones, and the optimizer keeps the old"
    call.report(
        "XLA519",
        "torch",
        spelling(call.node),
        detail,
        at_most=Confidence.LIKELY if known[2] else Confidence.CERTAIN,
    )


def _is_device(call: CallSite) -> bool:
    """Return whether what a model is moved to is a device that may be XLA's, and no dtype."""
    if call.last_name == "tpu":
        return True
    value: Value | None = call.value("device", 0)
    if isinstance(value, Const):
        return isinstance(value.value, str) and value.value.partition(":")[0] in ("xla", "tpu")
    if isinstance(value, Host) and value.type:
        return value.type == "device"
    node = call.node_of("device", 0)
    name = path_of(node).rpartition(".")[2].lower() if isinstance(node, (ir.Name, ir.Attr)) else ""
    return (value is UNKNOWN or isinstance(value, Host)) and ("device" in name or name.startswith("xla"))
