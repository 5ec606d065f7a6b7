"""XLA521: options of `torch.compile` that TorchTPU refuses when the compiled function is first called (torch_tpu 0.2.0)."""

from __future__ import annotations

from xlalint.abstract.values import TRUE
from xlalint.analysis.hazard import Confidence
from xlalint.frameworks.checks.call_site import CallSite, asks_about, surely

# Backends that run nothing on a TPU. "eager", "aot_eager" and their like run, to debug with.
REFUSED = {
    "inductor": "Inductor has no support of TPUs that is ready, and refuses their tensors",
    "openxla": "that is torch_xla's backend, and cannot be imported without it",
    "openxla_eval": "that is torch_xla's backend, and cannot be imported without it",
}


@asks_about("torch", "torch.compile", "torch.compiler.compile")
def check_options(call: CallSite) -> None:
    """`torch.compile(step, dynamic=True)`, `mode="max-autotune"`, `backend="inductor"`."""
    if surely(call.value("dynamic"), TRUE):
        _report(
            call, "dynamic", "dynamic=True", "TorchTPU compiles for one shape at a time, and raises NotImplementedError"
        )
    mode = call.constant("mode")
    if isinstance(mode, str) and mode != "default":
        _report(call, "mode", f'mode="{mode}"', "TorchTPU's compiler takes no mode, and raises TypeError")
    backend = call.constant("backend")
    if isinstance(backend, str) and backend in REFUSED and call.lacks("options"):
        _report(call, "backend", f'backend="{backend}"', REFUSED[backend])


def _report(call: CallSite, keyword: str, subject: str, detail: str) -> None:
    call.report("XLA521", "torch", subject, detail, call.place(keyword), at_most=Confidence.LIKELY)
