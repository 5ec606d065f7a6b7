"""XLA509: the XLA device touched before the processes start that are to have it (torch_xla 2.9, Accelerate 1.15)."""

from __future__ import annotations

from xlalint.frameworks.checks.call_site import CallSite, asks_about, asks_for_device, runtime_starts
from xlalint.frameworks.torch.checks.obsolete_xla_api import SPAWN, XM

LAUNCH = "torch_xla.launch"
NOTEBOOK = ("accelerate.notebook_launcher", "accelerate.launchers.notebook_launcher")
_ACCELERATOR = ("accelerate.Accelerator", "accelerate.accelerator.Accelerator")
# What starts the runtime: each was seen to. `torch.device("xla")`, `runtime.device_type()` and `initialize_cache()` do not.
_STARTING = (
    *(f"torch_xla.{name}" for name in ("device", "devices", "device_count", "manual_seed", "sync")),
    *(f"torch_xla.runtime.{name}" for name in ("world_size", "global_ordinal", "global_device_count")),
    *(f"{XM}.{name}" for name in ("xla_device", "xla_device_hw", "get_xla_supported_devices")),
    *(f"{XM}.{name}" for name in ("is_master_ordinal", "set_rng_state", "mark_step", "xrt_world_size", "get_ordinal")),
)


@asks_about("torch", *_STARTING, *_ACCELERATOR)
def note_device(call: CallSite) -> None:
    """`torch_xla.device()`: remembered, since a launcher may follow in the same run of statements."""
    if not asks_for_device(call.frame):
        call.start_runtime("torch")


@asks_about("torch", LAUNCH, SPAWN, *NOTEBOOK)
def check_launch(call: CallSite) -> None:
    """`torch_xla.launch(fn)` after the device was touched; one process alone may have it."""
    frame = call.frame
    if one_process(call) or asks_for_device(frame):
        return
    here = frame.base, frame.statement
    for touch in runtime_starts(frame):
        if touch.framework == "torch":
            frame.base, frame.statement = touch.base, touch.statement
            detail = f"starts the runtime before `{call.spelled}`, which then fails"
            call.report("XLA509", "torch", touch.spelled, detail, touch.at)
    frame.base, frame.statement = here


def one_process(call: CallSite) -> bool:
    """Return whether what is launched may run in a single process."""
    if call.name == SPAWN:
        return call.constant("nprocs", 2) == 1
    return call.name == LAUNCH and not call.lacks("debug_single_process", 3)
