"""XLA522: functions of `torch.tpu` that are PyTorch's own to call, or that do not exist (torch_tpu 0.2.0)."""

from __future__ import annotations

from xlalint.frameworks.checks.call_site import CallSite, asks_about

# They raise: "… is internal to TorchTPU and can only be called by the PyTorch framework".
INTERNAL = {
    "current_device": "torch.accelerator.current_device_index",
    "current_stream": "torch.accelerator.current_stream",
    "device": "torch.accelerator.device_index",
    "device_count": "torch.accelerator.device_count",
    "get_rng_state": "torch.accelerator.random.get_rng_state",
    "initial_seed": "torch.initial_seed",
    "is_available": "torch.accelerator.is_available",
    "set_device": "torch.accelerator.set_device_index",
    "set_rng_state": "",
    "set_stream": "torch.accelerator.set_stream",
    "synchronize": "torch.accelerator.synchronize",
}
# What `torch.cuda` has, and `torch.tpu` has not; "" where nothing does it.
MISSING = {
    "empty_cache": "torch.accelerator.empty_cache",
    "get_device_capability": "",
    "ipc_collect": "",
    "is_bf16_supported": "",
    "max_memory_allocated": "torch.accelerator.max_memory_allocated",
    "max_memory_reserved": "torch.accelerator.max_memory_reserved",
    "mem_get_info": "torch.accelerator.get_memory_info",
    "memory_allocated": "torch.accelerator.memory_allocated",
    "memory_reserved": "torch.accelerator.memory_reserved",
    "memory_stats": "torch.accelerator.memory_stats",
    "memory_summary": "",
    "reset_peak_memory_stats": "torch.accelerator.reset_peak_memory_stats",
    "utilization": "",
}
# It lets programs call what is internal.
_SWITCH = b"TORCH_TPU_ALLOW_LEGACY_DEVICE_APIS"


@asks_about("torch", *(f"torch.tpu.{name}" for name in INTERNAL))
def check_internal(call: CallSite) -> None:
    """`torch.tpu.synchronize()`."""
    module = call.frame.module
    if _SWITCH not in module.unit.body:
        _report(call, "raises: it is internal to TorchTPU", INTERNAL[call.last_name])


@asks_about("torch", *(f"torch.tpu.{name}" for name in MISSING))
def check_missing(call: CallSite) -> None:
    """`torch.tpu.memory_allocated()`."""
    _report(call, "does not exist", MISSING[call.last_name])


def _report(call: CallSite, what: str, instead: str) -> None:
    call.report("XLA522", "torch", call.spelled, f"{what}; use `{instead}`" if instead else what)
