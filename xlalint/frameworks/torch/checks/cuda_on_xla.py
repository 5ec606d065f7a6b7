"""XLA513: what only CUDA has, in programs for XLA devices (torch 2.9.1 with torch_xla 2.9.0, and torch 2.14.1 with torch_tpu 0.2.0, on
machines without a GPU)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from xlalint.abstract.values import FALSE, TRUE, Value
from xlalint.analysis.hazard import Confidence
from xlalint.frameworks.checks.call_site import (
    INFORMATION,
    NOT_ON_GPU,
    CallSite,
    asks_about,
    asks_for,
    calls_any,
    is_chosen_by_device,
    is_device_type,
    surely,
)
from xlalint.frameworks.torch import cuda_devices
from xlalint.frameworks.torch.calls import MAKERS, MAKING_METHODS
from xlalint.frameworks.torch.self_tests import tries_itself
from xlalint.interpreter.spelling import position

if TYPE_CHECKING:
    from xlalint.interpreter.frame import Frame
    from xlalint.lowering import ir

# What raises without a GPU. `empty_cache`, `manual_seed_all`, `device_count`, `memory_allocated` and their like do nothing.
_RAISING = tuple(
    f"torch.cuda.{name}"
    for name in (
        "CUDAGraph",
        "Event",
        "FloatTensor",
        "HalfTensor",
        "LongTensor",
        "Stream",
        "current_device",
        "current_stream",
        "default_stream",
        "device",
        "get_device_capability",
        "get_device_name",
        "get_device_properties",
        "get_rng_state",
        "ipc_collect",
        "mem_get_info",
        "memory_summary",
        "reset_peak_memory_stats",
        "set_device",
        "stream",
        "synchronize",
    )
)
_AUTOCASTS = ("torch.autocast", "torch.amp.autocast", "torch.amp.autocast_mode.autocast")
_OF_CUDA = ("torch.cuda.amp.autocast", "torch.cuda.amp.autocast_mode.autocast")
# At which place they are told whether they are on.
_ENABLED = {**dict.fromkeys(_AUTOCASTS, 2), **dict.fromkeys(_OF_CUDA, 0)}
_SCALERS = ("torch.amp.GradScaler", "torch.amp.grad_scaler.GradScaler")
_NO_GPU = "raises where there is no GPU"
_NOT_ON_TPU = (*NOT_ON_GPU, ("torch_tpu", "off"))
_ON_TPU_ALONE = (("torch_xla", "off"),)
# What a condition speaks of where a program is made for other devices than GPUs.
_OTHER_DEVICES = ("tpu", "xla", "neuron")
_QUESTION = "if torch.cuda.is_available()"
_CHOICE = '"cuda" if …'
_NAME = '"cuda"'
_NAMES_GPU = "names a GPU: where there is none, what is moved there raises"
# What a program does that counts the devices to run on.
_OF_SEVERAL = frozenset(("cuda", "set_device", "spawn", "DataParallel"))
_NOTHING_RUNS = "is false where there is no GPU: nothing runs on the TPU"
# What takes a tensor or a module to the device, or names that.
_MOVES = frozenset(("cuda", "to", "torch.device"))
# Made without a GPU, it raises when it is first used; that was not seen.
_LAZY = "Event"


@asks_about("torch", *_RAISING)
def check_raising(call: CallSite) -> None:
    """`torch.cuda.synchronize()`."""
    severity = _NOT_ON_TPU if call.last_name == _LAZY else NOT_ON_GPU
    _report(call, call.spelled, _NO_GPU, 0, "", severity)


@asks_about("torch", methods=("cuda",))
def check_cuda(call: CallSite) -> None:
    """`model.cuda()`."""
    _report(call, ".cuda()", _NO_GPU, 0, "", NOT_ON_GPU)


@asks_about("torch", methods=("to",))
def check_to(call: CallSite) -> None:
    """`model.to("cuda")`."""
    device = call.constant("device", 0)
    if begins_with_cuda(device):
        _report(call, f'.to("{device}")', _NO_GPU, 0, "", _unless_named_above(call, "device", 0))


@asks_about("torch", "torch.distributed.init_process_group", "torch.distributed.distributed_c10d.init_process_group")
def check_process_group(call: CallSite) -> None:
    """`init_process_group("nccl")`, and where an option of the command line is so by default."""
    if call.word("backend", 0) == "nccl":
        _report(call, 'init_process_group("nccl")', _NO_GPU, 0, "", NOT_ON_GPU)


@asks_about("torch", *_OF_CUDA, *_AUTOCASTS)
def check_autocast(call: CallSite) -> None:
    """`torch.autocast("cuda")`, which leaves XLA tensors alone; so does that of torch_xla's device on TorchTPU's.

    One that is switched off asks for float32, and that is what there is.
    """
    if surely(call.value("enabled", _ENABLED[call.name]), FALSE):
        return
    if call.constant("device_type", 0) == "xla" and call.name in _AUTOCASTS:
        detail = "does not affect tensors on a TPU: everything is computed in float32"
        _report(call, call.spelled, detail, 0, "silent", _ON_TPU_ALONE)
    if call.name not in _AUTOCASTS or call.constant("device_type", 0) == "cuda":
        detail = "does not affect tensors on XLA devices: everything is computed in float32"
        _report(call, call.spelled, detail, 0, "silent", NOT_ON_GPU)


@asks_about("torch", "torch.utils.data.DataLoader", "torch.utils.data.dataloader.DataLoader")
def check_pin_memory(call: CallSite) -> None:
    """`DataLoader(pin_memory=True)`."""
    if surely(call.value("pin_memory", 7), TRUE):
        detail = "does nothing: memory is pinned for GPUs"
        _report(call, "pin_memory=True", detail, call.place("pin_memory", 7), "idle", _NOT_ON_TPU)


@asks_about("torch", "torch.utils.checkpoint.checkpoint", "torch.utils.checkpoint.checkpoint_sequential")
def check_checkpoint(call: CallSite) -> None:
    """`torch.utils.checkpoint.checkpoint`, which looks for a `torch.xla` to keep the random state of."""
    detail = "fails for tensors on an XLA device: it looks for `torch.xla`, which does not exist"
    _report(call, call.spelled, detail, 0, "", _NOT_ON_TPU)


@asks_about("torch", *_SCALERS)
def check_scaler(call: CallSite) -> None:
    """`torch.amp.GradScaler("tpu")`, whose first step fails; a device's type is what the program's device is."""
    by_type = is_device_type(call.value("device", 0))
    if (by_type or call.constant("device", 0) == "tpu") and not surely(call.value("enabled"), FALSE):
        detail = "raises at its first step: TorchTPU has no kernel that checks gradients, and bfloat16 needs no scaling"
        sure = Confidence.LIKELY if by_type else Confidence.CERTAIN
        _report(call, call.spelled, detail, 0, "", _ON_TPU_ALONE, sure)


@asks_about("torch", "torch.device")
def check_device(call: CallSite) -> None:
    """`torch.device("cuda")`, `torch.device(f"cuda:{rank}")`: what is moved there raises."""
    node = call.node_of("type", 0)
    device = call.constant("type", 0)
    if begins_with_cuda(device) or cuda_devices.is_formatted(node):
        _report(call, call.spelled, _NAMES_GPU, 0, "", _unless_named_above(call, "type", 0))


@asks_about("torch", *sorted(MAKERS), methods=MAKING_METHODS, beside="device")
def check_factory(call: CallSite) -> None:
    """`torch.zeros(2, device="cuda")`."""
    device = call.constant("device")
    if begins_with_cuda(device):
        _report(call, f'device="{device}"', _NO_GPU, 0, "", _unless_named_above(call, "device"))


@asks_about("torch", "torch.load", "torch.jit.load")
def check_load(call: CallSite) -> None:
    """`torch.load(path, map_location="cuda")`."""
    device = call.constant("map_location", 1)
    if begins_with_cuda(device):
        _report(call, f'map_location="{device}"', _NO_GPU, 0, "", _unless_named_above(call, "map_location", 1))


def _unless_named_above(call: CallSite, keyword: str, index: int = -1) -> tuple[tuple[str, str], ...]:
    """Give a use of a name its severity: for TorchTPU what assigns the device to it is reported, and that is enough."""
    given = call.node_of(keyword, index)
    return _NOT_ON_TPU if given is not None and cuda_devices.is_named_above(call.frame, given) else NOT_ON_GPU


def _report(
    call: CallSite,
    subject: str,
    detail: str,
    place: int,
    variant: str,
    severity: tuple[tuple[str, str], ...],
    confidence: Confidence = Confidence.CERTAIN,
) -> None:
    """Report a call, unless it stands in a test that is for GPUs; as information where a module tries out what others import from it.

    A branch for GPUs is what a port to TorchTPU goes through, where the module has no branch for other devices.
    """
    frame = call.frame
    if cuda_devices.is_skipped(frame):
        return
    if tries_itself(frame):
        severity = INFORMATION
    chosen = is_chosen_by_device(frame)
    if chosen:  # which a port to TorchTPU goes through
        severity = (*severity, *_ON_TPU_ALONE)
    if chosen and call.name in _MOVES and cuda_devices.asks_whether_there_is_one(frame):
        _note(frame, call.node.at, _QUESTION, _NOTHING_RUNS)
    elif not cuda_devices.is_for_gpus(frame):
        call.report("XLA513", "torch", subject, detail, place, variant, severity, confidence)
    elif not cuda_devices.asks_whether_there_is_one(frame):
        severities = (*severity, *_ON_TPU_ALONE)
        frame.note("XLA513", place or call.node.at, "torch", subject, detail, variant, severities, Confidence.LIKELY)
    elif call.name in _MOVES:
        _note(frame, call.node.at, _QUESTION, _NOTHING_RUNS)


def check_choice(frame: Frame, node: ir.Assign, _value: Value) -> None:
    """Look at `device = "cuda" if torch.cuda.is_available() else "cpu"`, the host where TorchTPU runs, and at what an `if` so chooses."""
    if not cuda_devices.are_named(frame):
        return
    value = node.value
    choice = cuda_devices.chosen_of(value)
    if choice is not None:
        _check_chosen(frame, choice)
    elif (
        frame.paths.tests
        and cuda_devices.names_cuda(value)
        and any(cuda_devices.asks(frame, test) for test in frame.paths.tests)
    ):
        _note(frame, position(value) or position(node.targets[0]), _QUESTION, _NOTHING_RUNS)
    elif cuda_devices.is_spelled(value):
        if any(cuda_devices.is_given(frame, one) for one in node.targets):
            _note(frame, position(value) or position(node.targets[0]), _NAME, _NAMES_GPU, "")
    elif cuda_devices.is_choice_of_types(value):
        _note(frame, position(value), "torch.cuda.FloatTensor", _NO_GPU)
    else:
        _check_asked(frame, value)


def _check_chosen(frame: Frame, choice: ir.IfExp) -> None:
    """Look at the condition of `"cuda" if … else "cpu"`."""
    if cuda_devices.asks(frame, choice.test) or cuda_devices.is_about_name(choice.test):
        _note(frame, choice.at, _CHOICE, "gives the host where there is no GPU: nothing runs on the TPU")
    elif cuda_devices.is_flag(choice.test):
        _note(frame, choice.at, _CHOICE, _NAMES_GPU, "")


def _check_asked(frame: Frame, value: ir.Node) -> None:
    """Look at a flag that is set by asking for a GPU, and at how many there are."""
    question = cuda_devices.question_of(value)
    if question is not None:
        if calls_any(frame.module, {"cuda"}):
            _note(frame, question.at, "torch.cuda.is_available()", _NOTHING_RUNS)
        return
    count = cuda_devices.count_in(value)
    if count is not None and calls_any(frame.module, _OF_SEVERAL):
        _note(frame, count.at, "torch.cuda.device_count()", "is 0 where there is no GPU")


def _note(frame: Frame, at: int, subject: str, detail: str, variant: str = "silent") -> None:
    """Note for TorchTPU what a program does without a GPU, unless the code around it knows of other devices."""
    if not asks_for(frame, _OTHER_DEVICES):
        frame.note("XLA513", at, "torch", subject, detail, variant, _ON_TPU_ALONE, Confidence.LIKELY)


def begins_with_cuda(device: object) -> bool:
    """Return whether a device that is told by its name is a GPU: "cuda", "cuda:0"."""
    return isinstance(device, str) and device.partition(":")[0] == "cuda"
