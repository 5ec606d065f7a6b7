"""XLA512: calls of torch_xla that are gone or going (2.9)."""

from __future__ import annotations

from xlalint.frameworks.checks.call_site import CallSite, asks_about

XM = "torch_xla.core.xla_model"
_PJRT = "torch_xla.experimental.pjrt"
_RUNTIME = "torch_xla.runtime"

# Still there in 2.9 with a DeprecationWarning, and doing nothing but calling this.
DEPRECATED = {f"{XM}.xla_device": "torch_xla.device", f"{XM}.mark_step": "torch_xla.sync"}
# Gone in 2.9: the call fails. What took the place, "" where nothing did.
REMOVED = {
    f"{XM}.xrt_world_size": f"{_RUNTIME}.world_size",
    f"{XM}.get_ordinal": f"{_RUNTIME}.global_ordinal",
    f"{XM}.parse_xla_device": "",
    f"{_PJRT}.device_type": f"{_RUNTIME}.device_type",
    f"{_PJRT}.world_size": f"{_RUNTIME}.world_size",
    f"{_PJRT}.global_ordinal": f"{_RUNTIME}.global_ordinal",
    f"{_PJRT}.local_ordinal": f"{_RUNTIME}.local_ordinal",
    f"{_PJRT}.global_device_count": f"{_RUNTIME}.global_device_count",
    f"{_PJRT}.using_pjrt": "",
    "torch_xla.experimental.xla_sharding.mark_sharding": "torch_xla.distributed.spmd.mark_sharding",
    "torch_xla.experimental.xla_sharding.Mesh": "torch_xla.distributed.spmd.Mesh",
    "torch_xla.experimental.compile": "torch_xla.compile",
    "torch_xla.amp.GradScaler": "",
}
SPAWN = "torch_xla.distributed.xla_multiprocessing.spawn"


@asks_about("torch", *DEPRECATED)
def report_deprecated(call: CallSite) -> None:
    """`xm.xla_device()`, `xm.mark_step()`."""
    detail = f"is deprecated: it calls `{DEPRECATED[call.name]}`"
    call.report("XLA512", "torch", call.spelled, detail, call.node.at, "deprecated")


@asks_about("torch", *REMOVED)
def report_removed(call: CallSite) -> None:
    """`xm.xrt_world_size()` and other things of XRT's time."""
    instead = REMOVED[call.name]
    call.report(
        "XLA512",
        "torch",
        call.spelled,
        "is gone from torch_xla" + (f": use `{instead}`" if instead else ", without a replacement"),
    )


@asks_about("torch", SPAWN)
def check_spawn(call: CallSite) -> None:
    """`xmp.spawn(fn, nprocs=8)`: PJRT takes all devices or one."""
    count = call.constant("nprocs", 2)
    if isinstance(count, int) and not isinstance(count, bool) and count != 1:
        call.report(
            "XLA512",
            "torch",
            f"nprocs={count}",
            "is rejected: PJRT starts one process per device, or a single one",
            call.place("nprocs", 2),
        )


@asks_about("torch", "accelerate.notebook_launcher", "accelerate.launchers.notebook_launcher")
def check_process_count(call: CallSite) -> None:
    """`notebook_launcher(train, num_processes=8)`: PJRT takes all devices."""
    if not call.lacks("num_processes", 2) and isinstance(call.constant("num_processes", 2), int):
        detail = "is ignored when Accelerate (1.15) starts the processes of a TPU: PJRT starts one per device"
        place = call.place("num_processes", 2)
        call.report("XLA512", "torch", "num_processes", detail, place, "unread")
