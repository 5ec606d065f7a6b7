"""XLA605: a tensor of host memory in a graph that TorchTPU compiles (torch_tpu 0.2.0).

What `torch.compile` is given on the device, and what its graph makes there, is all that it takes. A tensor that the graph gets from host
memory (an argument, an attribute, a global) makes the call raise RuntimeError; one that it makes there itself ends the process, but for
those of `torch.tensor`, whose values are constants of the graph.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from xlalint.abstract.values import Tensor, Value
from xlalint.analysis.hazard import Confidence
from xlalint.frameworks.checks.call_site import report
from xlalint.interpreter.device_loops import last_name
from xlalint.interpreter.guards import assigned_once
from xlalint.interpreter.spelling import spelling
from xlalint.lowering import ir

if TYPE_CHECKING:
    from xlalint.api_tables.entries import Spec
    from xlalint.interpreter.frame import Frame
    from xlalint.interpreter.library_calls import LibraryCall

_TPU: Final = "torch_tpu"
_MOVING: Final = frozenset(("to", "tpu", "cuda", "type_as"))
_CONSTANTS: Final = frozenset(("tensor", "as_tensor"))
_ENDS: Final = "made there, it ends the process"
_RAISES: Final = "the call raises RuntimeError"


def check_moved(call: LibraryCall, _spec: Spec, result: Value) -> None:
    """Report a tensor of host memory that is moved to the device: `x.to(device)`, `x.type_as(y)`."""
    func = call.node.func
    if type(func) is ir.Attr and func.name in _MOVING and type(result) is Tensor and not result.place:
        _check(call.frame, call.receiver, func.value, call.node.at)


def check_index(frame: Frame, base: Tensor, part: Value, node: ir.Node, at: int, _detail: str) -> None:
    """Report a tensor of host memory that indexes one on the device: `x[torch.arange(n)]`."""
    if base.framework == "torch" and not base.place:
        _check(frame, part, node, at)


def _check(frame: Frame, value: Value | None, node: ir.Node, at: int) -> None:
    if frame.function is None or _TPU not in frame.module.taught.targets:
        return
    if type(value) is not Tensor or value.framework != "torch" or value.place != "cpu":
        return
    calls = [
        one for one in ir.walk((assigned_once(node, frame.function.body, frame.statement),)) if type(one) is ir.Call
    ]
    names = {last_name(one.func) for one in calls}
    if names and (value.rank == 0 or not names.isdisjoint(_CONSTANTS)):
        return
    sure = Confidence.CERTAIN if value.sure else Confidence.LIKELY
    report(frame, "XLA605", "torch", spelling(node), _ENDS if names else _RAISES, at, at_most=sure)
