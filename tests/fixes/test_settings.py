"""XLA506, XLA510 and XLA512: what becomes of settings, each where it is written out and nowhere else."""

from __future__ import annotations

import pytest

from tests.fixes.fixing import outcome

START = "import torch_xla\nimport torch_xla.core.xla_model as xm\nfrom transformers import TrainingArguments\n"
MP = "import torch_xla.distributed.xla_multiprocessing as xmp\n"

LEFT_ALONE = {
    "both flags": ("XLA506", "TrainingArguments(fp16=True, bf16=flag, optim='sgd')", "one of the two"),
    "from a dict": ("XLA506", "TrainingArguments(**{'fp16': True, 'optim': 'sgd'})", "made elsewhere"),
    "an 8-bit optimizer": ("XLA510", "TrainingArguments(optim='adamw_bnb_8bit')", "the author's choice"),
    "no optimizer": ("XLA510", "TrainingArguments('out')", "has to be given"),
    "by a variable": ("XLA510", "name = 'adamw_torch_fused'\nTrainingArguments(optim=name)", "made elsewhere"),
    "a comment": ("XLA510", "TrainingArguments(\n    optim='sgd',\n    tpu_num_cores=8,  # of a v3\n)", "a comment"),
    "nothing in its place": ("XLA512", "xm.parse_xla_device('xla:0')", "nothing took its place"),
    "by another name": ("XLA512", "from torch_xla.core.xla_model import mark_step as step\nstep()", "another name"),
    "a kind of device": ("XLA512", "xm.xla_device(devkind='TPU')", "the index alone"),
    "a default": ("XLA512", "xm.xrt_world_size(1)", "its argument"),
    "processes in a row": ("XLA512", f"{MP}xmp.spawn(train, (), 8)", "in a row"),
}
FIXED = {
    "a flag": ("XLA506", "TrainingArguments(fp16=True)", "TrainingArguments(bf16=True)", "safe"),
    "a flag by a variable": ("XLA506", "half = True\nTrainingArguments(fp16=half)", "half = True\nTrainingArguments(bf16=half)", "safe"),
    "a flag of evaluation": ("XLA506", "TrainingArguments(fp16_full_eval=True)", "TrainingArguments(bf16_full_eval=True)", "safe"),
    "one flag for the other": ("XLA506", "TrainingArguments(fp16=True, bf16=False)", "TrainingArguments(fp16=False, bf16=True)", "safe"),
    "a word": (
        "XLA506", "from accelerate import Accelerator\nAccelerator(mixed_precision='fp16')",
        "from accelerate import Accelerator\nAccelerator(mixed_precision='bf16')", "safe"),
    "fused": ("XLA510", "TrainingArguments(optim='adamw_torch_fused')", "TrainingArguments(optim='adamw_torch')", "safe"),
    "a misspelt optimizer": ("XLA510", "TrainingArguments(optim='adamw_xla')", "TrainingArguments(optim='adamw_torch_xla')", "unsafe"),
    "cores": ("XLA510", "TrainingArguments('out', tpu_num_cores=8, optim='sgd')", "TrainingArguments('out', optim='sgd')", "safe"),
    "compiled": ("XLA510", "TrainingArguments(optim='sgd', torch_compile=True)", "TrainingArguments(optim='sgd')", "safe"),
    "debugging": ("XLA510", "TrainingArguments(optim='sgd', debug='tpu_metrics_debug')", "TrainingArguments(optim='sgd')", "safe"),
    "one word of two": (
        "XLA510", "TrainingArguments(optim='sgd', debug='underflow_overflow tpu_metrics_debug')",
        "TrainingArguments(optim='sgd', debug='underflow_overflow')", "safe"),
    "a device": ("XLA512", "device = xm.xla_device()", "device = torch_xla.device()", "safe"),
    "a numbered device": ("XLA512", "device = xm.xla_device(1)", "device = torch_xla.device(1)", "safe"),
    "a step": ("XLA512", "xm.mark_step(wait=True)", "torch_xla.sync(wait=True)", "safe"),
    "eight processes": ("XLA512", f"{MP}xmp.spawn(train, nprocs=8, args=())", f"{MP}xmp.spawn(train, args=())", "safe"),
}  # fmt: skip


@pytest.mark.parametrize(("code", "text", "why"), LEFT_ALONE.values(), ids=LEFT_ALONE)
def test_left_alone_with_a_reason(code: str, text: str, why: str) -> None:
    made = outcome(f"{START}{text}\n", code)
    assert made.fix is None
    assert why in made.reason


@pytest.mark.parametrize(("code", "text", "after", "applicability"), FIXED.values(), ids=FIXED)
def test_fixed(code: str, text: str, after: str, applicability: str) -> None:
    made = outcome(f"{START}{text}\n", code)
    assert made.text == f"{START}{after}\n"
    assert made.applicability == applicability


JAX = "import os\n\nimport jax\n\n"
MOVED = {
    "a truth": ("os.environ['JAX_ENABLE_X64'] = '1'", 'jax.config.update("jax_enable_x64", True)'),
    "an untruth": ("os.environ['JAX_DISABLE_JIT'] = 'False'", 'jax.config.update("jax_disable_jit", False)'),
    "a text": ("os.environ['JAX_PLATFORMS'] = 'cpu'", "jax.config.update(\"jax_platforms\", 'cpu')"),
    "a folder": ("os.environ['JAX_COMPILATION_CACHE_DIR'] = cache", 'jax.config.update("jax_compilation_cache_dir", cache)'),
}  # fmt: skip
STAYING = {
    "a default": ("os.environ.setdefault('JAX_ENABLE_X64', '1')", "move it up"),
    "a number": ("os.environ['JAX_NUM_CPU_DEVICES'] = '8'", 'call `jax.config.update("jax_num_cpu_devices", …)`'),
    "a truth from elsewhere": ("os.environ['JAX_ENABLE_X64'] = flag", "set it before the import"),
    "flags of XLA": ("jax.devices()\nos.environ['XLA_FLAGS'] = '--xla_a'", "move it up"),
    "the platform": ("jax.devices()\njax.config.update('jax_platforms', 'cpu')", "move it up"),
}


@pytest.mark.parametrize(("before", "after"), MOVED.values(), ids=MOVED)
def test_late_settings_are_made_otherwise(before: str, after: str) -> None:
    made = outcome(f"{JAX}{before}\n", "XLA516")
    assert made.text == f"{JAX}{after}\n"
    assert made.applicability == "unsafe"


@pytest.mark.parametrize(("text", "why"), STAYING.values(), ids=STAYING)
def test_late_settings_stay_with_a_reason(text: str, why: str) -> None:
    made = outcome(f"{JAX}{text}\n", "XLA516")
    assert made.fix is None
    assert why in made.reason
