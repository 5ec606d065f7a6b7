"""XLA524: TPUs by number, of which a process has one (torch_tpu 0.2.0)."""

from __future__ import annotations

from xlalint.analysis.hazard import Confidence
from xlalint.frameworks.checks.call_site import CallSite, asks_about
from xlalint.frameworks.torch.calls import MAKERS, MAKING_METHODS

_LANDS = "the process has one TPU, and the tensor is on that: it is `tpu:0`"
_RAISES = "the process has one TPU: to load there raises ValueError"


@asks_about("torch", "torch.load", "torch.jit.load")
def check_load(call: CallSite) -> None:
    """`torch.load(path, map_location="tpu:1")`."""
    if _is_another(call.constant("map_location", 1)):
        _report(call, "map_location", 1, _RAISES, "")


@asks_about("torch", "torch.device", "torch.set_default_device")
def check_device(call: CallSite) -> None:
    """`torch.device("tpu:1")`."""
    keyword = "device" if call.last_name == "set_default_device" else "type"
    if _is_another(call.constant(keyword, 0)):
        _report(call, keyword, 0, _LANDS, "silent")


@asks_about("torch", methods=("to",))
def check_to(call: CallSite) -> None:
    """`x.to("tpu:1")`."""
    if _is_another(call.constant("device", 0)):
        _report(call, "device", 0, _LANDS, "silent")


@asks_about("torch", *sorted(MAKERS), methods=MAKING_METHODS, beside="device")
def check_factory(call: CallSite) -> None:
    """`torch.zeros(2, device="tpu:1")`."""
    if _is_another(call.constant("device")):
        _report(call, "device", -1, _LANDS, "silent")


def _is_another(device: object) -> bool:
    kind, _, number = device.partition(":") if isinstance(device, str) else ("", "", "")
    return kind == "tpu" and number.isdigit() and int(number) > 0


def _report(call: CallSite, keyword: str, index: int, detail: str, variant: str) -> None:
    subject = f'"{call.constant(keyword, index)}"'
    call.report("XLA524", "torch", subject, detail, call.place(keyword, index), variant, at_most=Confidence.LIKELY)
