"""XLA527: calls of torch_xla in a program for TorchTPU, each with what takes its place there (torch_tpu 0.2.0)."""

from __future__ import annotations

from typing import Final

from xlalint.frameworks.checks.call_site import CallSite, asks_about

_XM: Final = "torch_xla.core.xla_model"
_XR: Final = "torch_xla.runtime"
_PL: Final = "torch_xla.distributed.parallel_loader"
DEVICES: Final = (f"{_XM}.xla_device", "torch_xla.device")
"""What gives the device."""
BARRIERS: Final = (f"{_XM}.mark_step", "torch_xla.sync")
"""What tells the lazy device to run: TorchTPU runs at once."""
STEPS: Final = (f"{_XM}.optimizer_step",)
OTHERS: Final = {
    f"{_XM}.wait_device_ops": "torch.accelerator.synchronize()",
    f"{_XM}.save": "torch.save",
    f"{_XM}.master_print": "`print` where `torch.distributed.get_rank()` is 0",
    f"{_XM}.is_master_ordinal": "torch.distributed.get_rank() == 0",
    f"{_XM}.get_ordinal": "torch.distributed.get_rank()",
    f"{_XM}.xrt_world_size": "torch.distributed.get_world_size()",
    f"{_XM}.rendezvous": "torch.distributed.barrier()",
    f"{_XM}.all_reduce": "torch.distributed.all_reduce",
    f"{_XM}.mesh_reduce": "torch.distributed.all_reduce",
    f"{_XM}.add_step_closure": "a read every n steps",
    f"{_XR}.global_ordinal": "torch.distributed.get_rank()",
    f"{_XR}.world_size": "torch.distributed.get_world_size()",
    f"{_XR}.global_device_count": "torch.distributed.get_world_size()",
    f"{_PL}.MpDeviceLoader": 'the loader itself, and `.to("tpu")` of each batch',
    f"{_PL}.ParallelLoader": 'the loader itself, and `.to("tpu")` of each batch',
    "torch_xla.launch": "torchrun, which starts a process for each TPU",
    "torch_xla.distributed.xla_multiprocessing.spawn": "torchrun, which starts a process for each TPU",
    "torch_xla.compile": "torch.compile",
    "torch_xla.manual_seed": "torch.manual_seed",
    "torch_xla.experimental.eager_mode": "nothing in its place: TorchTPU runs each operation at once",
    "torch_xla.distributed.fsdp.XlaFullyShardedDataParallel": "torch.distributed.fsdp.fully_shard",
    "torch_xla.amp.autocast": 'torch.autocast("tpu", dtype=torch.bfloat16)',
}
_WRONG = "is torch_xla's"


@asks_about("torch", *DEVICES)
def check_device(call: CallSite) -> None:
    """`xm.xla_device()`."""
    _report(call, 'torch.device("tpu")')


@asks_about("torch", *BARRIERS)
def check_barrier(call: CallSite) -> None:
    """`torch_xla.sync()`."""
    call.report(
        "XLA527", "torch", call.spelled, f"{_WRONG}: TorchTPU runs each operation at once, and needs no order to"
    )


@asks_about("torch", *STEPS)
def check_step(call: CallSite) -> None:
    """`xm.optimizer_step(optimizer)`."""
    _report(call, "optimizer.step()")


@asks_about("torch", *OTHERS)
def check_other(call: CallSite) -> None:
    """`xm.save(…)`, `MpDeviceLoader(…)`, `torch_xla.launch(…)`."""
    _report(call, OTHERS[call.name])


_KNOWN = frozenset((*DEVICES, *BARRIERS, *STEPS, *OTHERS))


@asks_about("torch", package="torch_xla")
def check_rest(call: CallSite) -> None:
    """`xr.initialize_cache(…)`, `xm.RateTracker()`, and whatever else is called of torch_xla."""
    if call.name not in _KNOWN:
        call.report("XLA527", "torch", call.spelled, f"{_WRONG}, which cannot be imported beside TorchTPU")


@asks_about("torch", "torch.distributed.init_process_group", "torch.distributed.distributed_c10d.init_process_group")
def check_process_group(call: CallSite) -> None:
    """`init_process_group("xla", init_method="xla://")`."""
    if call.constant("backend", 0) == "xla":
        call.report("XLA527", "torch", 'init_process_group("xla")', f"{_WRONG}; use `init_process_group()`")


@asks_about("torch", methods=("to",))
def check_to(call: CallSite) -> None:
    """`x.to("xla")`."""
    device = call.constant("device", 0)
    if isinstance(device, str) and device.partition(":")[0] == "xla":
        call.report("XLA527", "torch", f'.to("{device}")', f'{_WRONG}; use `.to("tpu")`')


def _report(call: CallSite, instead: str) -> None:
    said = instead if " " in instead or instead.startswith("`") else f"`{instead}`"
    call.report("XLA527", "torch", call.spelled, f"{_WRONG}; use {said}")
