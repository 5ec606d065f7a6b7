"""XLA510: options of the Trainer's that an XLA device refuses, or that do nothing (transformers 4.37 and 5.23, torch_xla 2.9)."""

from __future__ import annotations

from difflib import get_close_matches

from xlalint.abstract.values import NONE, TRUE
from xlalint.frameworks.checks.call_site import NOT_ON_GPU, CallSite, asks_about, surely
from xlalint.frameworks.checks.library_names import TRAINING_ARGUMENTS

# What `optim` takes and what runs without CUDA's, bitsandbytes' or Apex' kernels, in either version.
ANYWHERE = frozenset(
    (
        "adafactor",
        "adagrad",
        "adalomo",
        "adamw_anyprecision",
        "adamw_hf",
        "adamw_torch",
        "adamw_torch_xla",
        "apollo_adamw",
        "apollo_adamw_layerwise",
        "galore_adafactor",
        "galore_adafactor_layerwise",
        "galore_adamw",
        "galore_adamw_layerwise",
        "grokadamw",
        "lomo",
        "rmsprop",
        "schedule_free_adamw",
        "schedule_free_radam",
        "schedule_free_sgd",
        "sgd",
        "stable_adamw",
    )
)
FUSED = frozenset(("adamw_torch_fused", "adamw_apex_fused", "adamw_torch_npu_fused"))
BITSANDBYTES = frozenset(
    (
        "adamw_8bit",
        "adamw_bnb_8bit",
        "ademamix",
        "ademamix_8bit",
        "galore_adamw_8bit",
        "galore_adamw_8bit_layerwise",
        "lion_32bit",
        "lion_8bit",
        "paged_adamw_32bit",
        "paged_adamw_8bit",
        "paged_ademamix_32bit",
        "paged_ademamix_8bit",
        "paged_lion_32bit",
        "paged_lion_8bit",
        "rmsprop_bnb",
        "rmsprop_bnb_32bit",
        "rmsprop_bnb_8bit",
    )
)
# torchao's, of whose kernels nothing was tried.
_UNTRIED = frozenset(("adamw_torch_4bit", "adamw_torch_8bit"))


@asks_about("torch", *TRAINING_ARGUMENTS)
def check_optimizer(call: CallSite) -> None:
    """`optim="adamw_torch_fused"`, `optim="adamw_bnb_8bit"`, `optim="adamw_xla"`."""
    name = call.word("optim")
    if call.lacks("optim"):
        if call.value("optim") is not NONE:
            detail = "leaves `optim` at its default: with transformers 5 and torch 2.8 that is the fused AdamW, which has no kernel for XLA"
            call.report("XLA510", "torch", call.last_name, detail, 0, "default")
    elif name and name not in ANYWHERE and name not in _UNTRIED:
        if name in FUSED:
            why = "has no kernel for XLA devices: the first step fails"
        elif name in BITSANDBYTES:
            why = "comes from bitsandbytes, which has no kernels for XLA devices"
        else:
            why = "is not an optimizer of the Trainer" + nearest(name, (*ANYWHERE, *FUSED, *BITSANDBYTES))
        call.report("XLA510", "torch", f'optim="{name}"', why, call.place("optim"), "", NOT_ON_GPU)


@asks_about("torch", *TRAINING_ARGUMENTS)
def check_left_over(call: CallSite) -> None:
    """`tpu_num_cores=8` and `debug="tpu_metrics_debug"`."""
    if call.value("tpu_num_cores") not in (None, NONE):
        detail = "does nothing in transformers 4 and was removed in 5"
        call.report("XLA510", "torch", "tpu_num_cores", detail, call.place("tpu_num_cores"))
    if "tpu_metrics_debug" in call.word("debug").split():
        detail = "prints all runtime metrics at each evaluation"
        call.report("XLA510", "torch", 'debug="tpu_metrics_debug"', detail, call.place("debug"), "debug")


@asks_about("torch", *TRAINING_ARGUMENTS)
def check_compile(call: CallSite) -> None:
    """`torch_compile=True`, whose backend is Inductor unless another is named."""
    detail = "compiles with Inductor, which does not support XLA devices: the first step fails, and XLA compiles everything anyway"
    backend = call.word("torch_compile_backend")
    if backend == "inductor":
        place = call.place("torch_compile_backend")
        call.report("XLA510", "torch", 'torch_compile_backend="inductor"', detail, place, "", NOT_ON_GPU)
    elif call.lacks("torch_compile_backend") and surely(call.asked_for("torch_compile"), TRUE):
        call.report("XLA510", "torch", "torch_compile=True", detail, call.place("torch_compile"), "", NOT_ON_GPU)


def nearest(word: str, words: tuple[str, ...] | list[str]) -> str:
    """The nearest word that is known, as the end of a message."""
    found = get_close_matches(word, sorted(words), 1)
    return f": `{found[0]}` is" if found else ""
