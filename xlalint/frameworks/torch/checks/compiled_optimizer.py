"""XLA523: steps of optimizers that are compiled, and count themselves on the host (torch_tpu 0.2.0).

Adam and its like keep the number of their steps in host memory, unless they are `capturable` or `fused`; a compiled step on TorchTPU then
fails. SGD and Adagrad run.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from xlalint.abstract.values import LibraryInstance, Method, Value
from xlalint.analysis.hazard import Confidence
from xlalint.frameworks.checks.call_site import CallSite, asks_about, report
from xlalint.interpreter.device_loops import last_name
from xlalint.interpreter.frame import made_by
from xlalint.interpreter.spelling import spelling
from xlalint.lowering import ir

if TYPE_CHECKING:
    from xlalint.api_tables.entries import Spec
    from xlalint.interpreter.frame import Frame
    from xlalint.interpreter.library_calls import LibraryCall

OPTIMIZERS: Final = frozenset(("Adadelta", "Adam", "AdamW", "Adamax", "NAdam", "RAdam", "RMSprop"))
FUSED: Final = frozenset(("Adam", "AdamW"))
SWITCHES: Final = ("capturable", "fused")
_STEP: Final = "step"
_COMPILE: Final = "compile"


@asks_about("torch", "torch.compile")
def check_step(call: CallSite) -> None:
    """`torch.compile(optimizer.step)`."""
    given, node = call.value("model", 0), call.node_of("model", 0)
    if isinstance(given, Method) and given.name == _STEP and _counts(given.receiver) and isinstance(node, ir.Attr):
        _report(call.frame, node.value, spelling(node), call.node.at)


def check_call(call: LibraryCall, _spec: Spec, _result: Value) -> None:
    """Look at `optimizer.step()` in a function that is decorated with `torch.compile`."""
    func, function = call.node.func, call.frame.function
    if function is None or not isinstance(func, ir.Attr) or func.name != _STEP or not function.decorated(_COMPILE):
        return
    if call.owner is not None and _counts(call.owner):
        _report(call.frame, func.value, spelling(call.node.func), call.node.at)


def _counts(value: Value) -> bool:
    return isinstance(value, LibraryInstance) and value.name.rpartition(".")[2] in OPTIMIZERS


def _report(frame: Frame, optimizer: ir.Node, subject: str, at: int) -> None:
    """Report a compiled step of an optimizer of which the program shows how it was made."""
    made = made_by(frame, optimizer)
    if not isinstance(made, ir.Call) or last_name(made.func) not in OPTIMIZERS:
        return
    given = dict(made.keywords)
    if "" not in given and not any(switch in given for switch in SWITCHES):
        name = last_name(made.func)
        told = "`capturable` or `fused`" if name in FUSED else "`capturable`"
        detail = f"{name} counts its steps in host memory unless it is {told}"
        report(frame, "XLA523", "torch", subject, detail, at, at_most=Confidence.LIKELY)
