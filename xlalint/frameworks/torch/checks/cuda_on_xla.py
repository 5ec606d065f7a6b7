"""XLA513: what only CUDA has, in programs for XLA devices (torch 2.9.1 with torch_xla 2.9.0, and torch 2.14.1 with torch_tpu 0.2.0, on
machines without a GPU)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from xlalint.abstract.values import FALSE, TRUE, Value
from xlalint.frameworks.checks.call_site import NOT_ON_GPU, CallSite, asks_about, report, surely
from xlalint.interpreter.spelling import path_of
from xlalint.lowering import ir

if TYPE_CHECKING:
    from xlalint.interpreter.frame import Frame

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
_SCALERS = ("torch.amp.GradScaler", "torch.amp.grad_scaler.GradScaler")
_NO_GPU = "raises where there is no GPU"
_NOT_ON_TPU = (*NOT_ON_GPU, ("torch_tpu", "off"))
_ON_TPU_ALONE = (("torch_xla", "off"),)
# Made without a GPU, it raises when it is first used; that was not seen.
_LAZY = "Event"


@asks_about("torch", *_RAISING)
def check_raising(call: CallSite) -> None:
    """`torch.cuda.synchronize()`."""
    severity = _NOT_ON_TPU if call.last_name == _LAZY else NOT_ON_GPU
    call.report("XLA513", "torch", call.spelled, _NO_GPU, 0, "", severity)


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
    """`torch.autocast("cuda")`, which leaves XLA tensors alone; so does that of torch_xla's device on TorchTPU's."""
    if call.constant("device_type", 0) == "xla" and call.name in _AUTOCASTS:
        detail = "does not affect tensors on a TPU: everything is computed in float32"
        call.report("XLA513", "torch", call.spelled, detail, 0, "silent", _ON_TPU_ALONE)
    if call.name not in _AUTOCASTS or call.constant("device_type", 0) == "cuda":
        detail = "does not affect tensors on XLA devices: everything is computed in float32"
        call.report("XLA513", "torch", call.spelled, detail, 0, "silent", NOT_ON_GPU)


@asks_about("torch", "torch.utils.data.DataLoader", "torch.utils.data.dataloader.DataLoader")
def check_pin_memory(call: CallSite) -> None:
    """`DataLoader(pin_memory=True)`."""
    if surely(call.value("pin_memory", 7), TRUE):
        detail = "does nothing: memory is pinned for GPUs"
        call.report("XLA513", "torch", "pin_memory=True", detail, call.place("pin_memory", 7), "idle", _NOT_ON_TPU)


@asks_about("torch", "torch.utils.checkpoint.checkpoint", "torch.utils.checkpoint.checkpoint_sequential")
def check_checkpoint(call: CallSite) -> None:
    """`torch.utils.checkpoint.checkpoint`, which looks for a `torch.xla` to keep the random state of."""
    detail = "fails for tensors on an XLA device: it looks for `torch.xla`, which does not exist"
    call.report("XLA513", "torch", call.spelled, detail, 0, "", _NOT_ON_TPU)


@asks_about("torch", *_SCALERS)
def check_scaler(call: CallSite) -> None:
    """`torch.amp.GradScaler("tpu")`, whose first step fails."""
    if call.constant("device", 0) == "tpu" and not surely(call.value("enabled"), FALSE):
        detail = "raises at its first step: TorchTPU has no kernel that checks gradients, and bfloat16 needs no scaling"
        call.report("XLA513", "torch", call.spelled, detail, 0, "", _ON_TPU_ALONE)


def check_choice(frame: Frame, node: ir.Assign, _value: Value) -> None:
    """Look at `device = "cuda" if torch.cuda.is_available() else "cpu"`, which is the host where TorchTPU runs."""
    choice = node.value
    if type(choice) is ir.Call and len(choice.args) == 1 and path_of(choice.func) in ("torch.device", "device"):
        choice = choice.args[0]
    if type(choice) is not ir.IfExp or type(choice.test) is not ir.Call:
        return
    words = [one.value if isinstance(one, ir.Const) else None for one in (choice.body, choice.orelse)]
    named = isinstance(words[0], str) and words[0].partition(":")[0] == "cuda" and words[1] == "cpu"
    if named and path_of(choice.test.func) == "torch.cuda.is_available":
        detail = "gives the host where there is no GPU: nothing runs on the TPU"
        report(frame, "XLA513", "torch", '"cuda" if …', detail, choice.at, "silent", _ON_TPU_ALONE)
