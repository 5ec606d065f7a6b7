"""XLA506: float16 becomes bfloat16."""

from __future__ import annotations

import pytest

from tests.fixes.fixing import expect_fixed, expect_left_alone, outcome

START = "import torch_xla\nfrom transformers import TrainingArguments\n"

LEFT_ALONE = {
    "both flags": ("XLA506", "TrainingArguments(fp16=True, bf16=flag, optim='sgd')", "one of the two"),
    "from a dict": ("XLA506", "TrainingArguments(**{'fp16': True, 'optim': 'sgd'})", "comes from elsewhere"),
}
FIXED = {
    "a flag": ("XLA506", "TrainingArguments(fp16=True)", "TrainingArguments(bf16=True)", "safe"),
    "a flag by a variable": ("XLA506", "half = True\nTrainingArguments(fp16=half)", "half = True\nTrainingArguments(bf16=half)", "safe"),
    "a flag of evaluation": ("XLA506", "TrainingArguments(fp16_full_eval=True)", "TrainingArguments(bf16_full_eval=True)", "safe"),
    "one flag for the other": ("XLA506", "TrainingArguments(fp16=True, bf16=False)", "TrainingArguments(fp16=False, bf16=True)", "safe"),
    "a word": (
        "XLA506", "from accelerate import Accelerator\nAccelerator(mixed_precision='fp16')",
        "from accelerate import Accelerator\nAccelerator(mixed_precision='bf16')", "safe"),
}  # fmt: skip


@pytest.mark.parametrize(("code", "text", "why"), LEFT_ALONE.values(), ids=LEFT_ALONE)
def test_left_alone_with_a_reason(code: str, text: str, why: str) -> None:
    expect_left_alone(outcome(f"{START}{text}\n", code), why)


def test_model_in_half_precision() -> None:
    before = "import torch\nmodel = torch.nn.Linear(2, 2).to('tpu').half()\n"
    expect_fixed(outcome(before, "XLA506", target="torch_tpu"), before.replace("half", "bfloat16"), "unsafe")


@pytest.mark.parametrize(("code", "text", "after", "applicability"), FIXED.values(), ids=FIXED)
def test_fixed(code: str, text: str, after: str, applicability: str) -> None:
    expect_fixed(outcome(f"{START}{text}\n", code), f"{START}{after}\n", applicability)
