"""XLA526: modes of TorchTPU's that are for finding faults, left on (torch_tpu 0.2.0)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from xlalint.abstract.values import Const, Value
from xlalint.frameworks.checks.call_site import CallSite, asks_about, report
from xlalint.frameworks.torch.checks.removed_xla_environment import is_environment
from xlalint.interpreter.device_loops import last_name
from xlalint.lowering import ir

if TYPE_CHECKING:
    from xlalint.interpreter.frame import Frame

VARIABLE = "TORCH_TPU_ENABLE_DEBUG_CHECKS"
_BLOCKING = "DEFER_NEVER_AND_LAUNCH_BLOCKING"
_CHECKS = "each index is checked, which the host waits for"
_WAITS = "the host waits for each operation"


def check_variable(frame: Frame, target: ir.Sub, index: Value, value: Value) -> None:
    """Look at `os.environ["TORCH_TPU_ENABLE_DEBUG_CHECKS"] = "1"`."""
    on = not (isinstance(value, Const) and value.value in ("0", "", "false", "False"))
    if on and isinstance(index, Const) and index.value == VARIABLE and is_environment(target.value):
        report(frame, "XLA526", "torch", VARIABLE, _CHECKS, target.at)


@asks_about("torch", "torch.tpu.set_eager_mode", "torch.tpu.eager_mode")
def check_mode(call: CallSite) -> None:
    """`torch.tpu.set_eager_mode(torch.tpu.EagerMode.DEFER_NEVER_AND_LAUNCH_BLOCKING)`."""
    node = call.node_of("mode", 0)
    if node is not None and isinstance(node, (ir.Attr, ir.Name)) and last_name(node) == _BLOCKING:
        call.report("XLA526", "torch", _BLOCKING, _WAITS)
