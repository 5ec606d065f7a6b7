"""XLA529: shards of a tensor, of which TorchTPU wants to know the whole's shape (torch_tpu 0.2.0)."""

from __future__ import annotations

from xlalint.frameworks.checks.call_site import CallSite, asks_about


@asks_about(
    "torch",
    "torch.distributed.tensor.DTensor.from_local",
    "torch.distributed._tensor.DTensor.from_local",
)
def check_shards(call: CallSite) -> None:
    """Report `DTensor.from_local(x, mesh, placements)`."""
    if call.lacks("shape") or call.lacks("stride"):
        call.report("XLA529", "torch", call.spelled)
