"""XLA522: functions of `torch.tpu` that are PyTorch's own to call or do not exist, and collectives that it lacks (torch_tpu 0.2.0)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from xlalint.abstract.values import NONE, Tensor, Value, members
from xlalint.frameworks.checks.call_site import CallSite, asks_about

if TYPE_CHECKING:
    from xlalint.program.linker import ModuleInfo

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
# What its backend of `torch.distributed` refuses, with what does as much; "" where nothing does it. Sending and receiving take two
# processes, which were not to be had.
COLLECTIVES = {
    "all_gather_coalesced": "",
    "all_reduce_coalesced": "",
    "monitored_barrier": "torch.distributed.barrier",
    "reduce": "torch.distributed.all_reduce",
}
_OTHER_BACKENDS = (b"gloo", b"mpi")
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


@asks_about("torch", *(f"torch.distributed.{name}" for name in COLLECTIVES))
@asks_about("torch", *(f"torch.distributed.distributed_c10d.{name}" for name in COLLECTIVES))
def check_collective(call: CallSite) -> None:
    """`torch.distributed.reduce(loss, dst=0)`, of the group that all processes belong to."""
    group = call.value("group")
    if (group is not None and group is not NONE) or _is_on_host(call.value("tensor", 0)):
        return
    call.frame.module.reader.read_whole(call.frame.module)
    if not call.frame.module.answers(_names_other_backend):
        _report(call, "raises: TorchTPU's backend does not support it", COLLECTIVES[call.last_name])


def _names_other_backend(module: ModuleInfo) -> bool:
    """Answer whether a module names a backend that has all collectives, for tensors on the host."""
    bodies = [module.unit.body, *(info.ir.body for info in module.functions)]
    return any(name in body for body in bodies for name in _OTHER_BACKENDS)


def _is_on_host(value: Value | None) -> bool:
    return value is not None and any(type(one) is Tensor and one.place == "cpu" for one in members(value))


def _report(call: CallSite, what: str, instead: str) -> None:
    call.report("XLA522", "torch", call.spelled, f"{what}; use `{instead}`" if instead else what)
