"""XLA513: what only CUDA has, in programs for XLA devices (torch 2.9.1 with torch_xla 2.9.0, on a machine without a GPU)."""

from __future__ import annotations

from xlalint.abstract.values import TRUE
from xlalint.frameworks.checks.call_site import NOT_ON_GPU, CallSite, asks_about, surely

# What raises without a GPU. `empty_cache`, `manual_seed_all`, `device_count`, `memory_allocated` and their like do nothing.
_RAISING = tuple(
    f"torch.cuda.{name}"
    for name in (
        "Event",
        "Stream",
        "current_device",
        "get_device_name",
        "get_device_properties",
        "mem_get_info",
        "reset_peak_memory_stats",
        "set_device",
        "synchronize",
    )
)
_AUTOCASTS = ("torch.autocast", "torch.amp.autocast", "torch.amp.autocast_mode.autocast")
_NO_GPU = "raises where there is no GPU"


@asks_about("torch", *_RAISING)
def check_raising(call: CallSite) -> None:
    """`torch.cuda.synchronize()`."""
    call.report("XLA513", "torch", call.spelled, _NO_GPU, 0, "", NOT_ON_GPU)


@asks_about("torch", methods=("cuda",))
def check_cuda(call: CallSite) -> None:
    """`model.cuda()`."""
    call.report("XLA513", "torch", ".cuda()", _NO_GPU, 0, "", NOT_ON_GPU)


@asks_about("torch", methods=("to",))
def check_to(call: CallSite) -> None:
    """`model.to("cuda")`."""
    device = call.constant("device", 0)
    if isinstance(device, str) and device.partition(":")[0] == "cuda":
        call.report("XLA513", "torch", f'.to("{device}")', _NO_GPU, 0, "", NOT_ON_GPU)


@asks_about("torch", "torch.distributed.init_process_group", "torch.distributed.distributed_c10d.init_process_group")
def check_process_group(call: CallSite) -> None:
    """`init_process_group("nccl")`."""
    if call.constant("backend", 0) == "nccl":
        call.report("XLA513", "torch", 'init_process_group("nccl")', _NO_GPU, 0, "", NOT_ON_GPU)


@asks_about("torch", "torch.cuda.amp.autocast", "torch.cuda.amp.autocast_mode.autocast", *_AUTOCASTS)
def check_autocast(call: CallSite) -> None:
    """`torch.autocast("cuda")`, which leaves XLA tensors alone."""
    if call.name not in _AUTOCASTS or call.constant("device_type", 0) == "cuda":
        detail = "does not affect tensors on XLA devices: everything is computed in float32"
        call.report("XLA513", "torch", call.spelled, detail, 0, "silent", NOT_ON_GPU)


@asks_about("torch", "torch.utils.data.DataLoader", "torch.utils.data.dataloader.DataLoader")
def check_pin_memory(call: CallSite) -> None:
    """`DataLoader(pin_memory=True)`."""
    if surely(call.value("pin_memory", 7), TRUE):
        detail = "does nothing: memory is pinned for GPUs"
        call.report("XLA513", "torch", "pin_memory=True", detail, call.place("pin_memory", 7), "idle", NOT_ON_GPU)


@asks_about("torch", "torch.utils.checkpoint.checkpoint", "torch.utils.checkpoint.checkpoint_sequential")
def check_checkpoint(call: CallSite) -> None:
    """`torch.utils.checkpoint.checkpoint`, which looks for a `torch.xla` to keep the random state of."""
    detail = "fails for tensors on an XLA device: it looks for `torch.xla`, which does not exist"
    call.report("XLA513", "torch", call.spelled, detail, 0, "", NOT_ON_GPU)
