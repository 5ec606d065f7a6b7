"""XLA506: float16, which is a GPU's half precision; a TPU's is bfloat16."""

from __future__ import annotations

from xlalint.abstract.values import FALSE, TRUE, Instance, LibraryInstance, Method, Sequence
from xlalint.analysis.hazard import Confidence
from xlalint.frameworks.checks.call_site import NOT_ON_GPU, CallSite, asks_about, asks_for, is_device_type, surely
from xlalint.frameworks.checks.library_names import TRAINING_ARGUMENTS
from xlalint.interpreter.frame import Frame, body_of
from xlalint.interpreter.spelling import spelling
from xlalint.lowering import ir

_POLICIES = (
    "keras.config.set_dtype_policy",
    "keras.mixed_precision.set_dtype_policy",
    "keras.mixed_precision.set_global_policy",
    "tensorflow.keras.config.set_dtype_policy",
    "tensorflow.keras.mixed_precision.set_global_policy",
    "tensorflow.keras.mixed_precision.experimental.set_policy",
)
_POLICY = (
    "keras.DTypePolicy",
    "keras.dtype_policies.DTypePolicy",
    "keras.mixed_precision.DTypePolicy",
    "keras.mixed_precision.Policy",
    "tensorflow.keras.mixed_precision.Policy",
    "tensorflow.keras.mixed_precision.experimental.Policy",
)
_FLOAT16 = frozenset(("float16", "half"))


@asks_about("torch", *TRAINING_ARGUMENTS)
def check_trainer(call: CallSite) -> None:
    """`TrainingArguments(fp16=True)`, which the Trainer or Accelerate refuse on a TPU."""
    for keyword in ("fp16", "fp16_full_eval"):
        if surely(call.asked_for(keyword), TRUE):
            call.report(
                "XLA506",
                "torch",
                f"{keyword}=True",
                "the Trainer rejects it on a TPU",
                call.place(keyword),
                "",
                NOT_ON_GPU,
            )


@asks_about("torch", "accelerate.Accelerator", "accelerate.accelerator.Accelerator")
def check_accelerator(call: CallSite) -> None:
    """`Accelerator(mixed_precision="fp16")`."""
    if call.word("mixed_precision", 2) == "fp16":
        place = call.place("mixed_precision", 2)
        call.report(
            "XLA506", "torch", 'mixed_precision="fp16"', "Accelerate rejects it on a TPU", place, "", NOT_ON_GPU
        )


@asks_about(
    "torch", "torch.autocast", "torch.amp.autocast", "torch.amp.autocast_mode.autocast", "torch_xla.amp.autocast"
)
def check_autocast(call: CallSite) -> None:
    """`autocast("xla", dtype=torch.float16)`, which is switched off on a TPU."""
    by_type = is_device_type(call.value("device_type", 0))
    if by_type or call.constant("device_type", 0) == "tpu":
        _check_autocast_of_tpu(call, Confidence.LIKELY if by_type else Confidence.CERTAIN)
        return
    own = call.name.startswith("torch_xla.")
    index = 2 if own else 1
    dtype = call.node_of("dtype", index)
    if (own or call.constant("device_type", 0) == "xla") and isinstance(dtype, ir.Attr) and dtype.name in _FLOAT16:
        detail = "autocast switches itself off on a TPU, and everything is computed in float32"
        place = call.place("dtype", index)
        call.report(
            "XLA506", "torch", f"dtype={spelling(dtype)}", detail, place, "silent", (*NOT_ON_GPU, ("torch_tpu", "off"))
        )


def _check_autocast_of_tpu(call: CallSite, at_most: Confidence) -> None:
    """Report `autocast("tpu")`, whose dtype is float16 unless another one is given: it has no loss scaling."""
    dtype = call.node_of("dtype", 1)
    half = isinstance(dtype, ir.Attr) and dtype.name in _FLOAT16
    if surely(call.value("enabled", 2), FALSE) or not (half or call.lacks("dtype", 1)):
        return
    detail = "float16's small range needs loss scaling, which TorchTPU lacks; bfloat16's does not"
    subject = f"dtype={spelling(dtype)}" if dtype is not None and half else f"{call.spelled}` without `dtype"
    place = call.place("dtype", 1) if half else call.node.at
    call.report("XLA506", "torch", subject, detail, place, "silent", (("torch_xla", "off"),), at_most)


@asks_about("torch", methods=("half",))
def check_half(call: CallSite) -> None:
    """`model.half()`, which computes in float16 on TorchTPU's device, without a word."""
    owner = call.callee.receiver if isinstance(call.callee, Method) else None
    of_torch = isinstance(owner, LibraryInstance) and owner.name.startswith("torch.nn.")
    holds_modules = isinstance(owner, Sequence) and owner.kind in ("modules", "chain")
    if of_torch or holds_modules or isinstance(owner, Instance):
        detail = "what exceeds float16's small range becomes infinite; a TPU's half precision is bfloat16"
        call.report("XLA506", "torch", call.spelled, detail, 0, "silent", (("torch_xla", "off"),))


@asks_about("tensorflow", *_POLICIES, *_POLICY)
def check_policy(call: CallSite) -> None:
    """Keras' `mixed_float16`, unless a flag asks for it: then it is for who gives the flag to know the device."""
    if asks_for(call.frame, ("16", "half", "precision")) or _chooses(call.frame):
        return
    for keyword in ("policy", "name"):
        if call.word(keyword, 0) == "mixed_float16":
            detail = "its small range needs loss scaling, bfloat16's does not"
            call.report("XLA506", "tensorflow", '"mixed_float16"', detail, call.place(keyword, 0), "", NOT_ON_GPU)
            return


def _chooses(frame: Frame) -> bool:
    """Return whether the function names bfloat16's policy as well: which of the two it takes is for the device to say."""
    return any(isinstance(one, ir.Const) and one.value == "mixed_bfloat16" for one in ir.walk(body_of(frame)))
