"""XLA510: options of the Trainer, each where it is written out and nowhere else."""

from __future__ import annotations

import pytest

from tests.fixes.fixing import expect_fixed, expect_left_alone, outcome

START = "import torch_xla\nfrom transformers import TrainingArguments\n"

LEFT_ALONE = {
    "an 8-bit optimizer": ("XLA510", "TrainingArguments(optim='adamw_bnb_8bit')", "the author's choice"),
    "no optimizer": ("XLA510", "TrainingArguments('out')", "has to be set"),
    "by a variable": ("XLA510", "name = 'adamw_torch_fused'\nTrainingArguments(optim=name)", "comes from elsewhere"),
    "a comment": ("XLA510", "TrainingArguments(\n    optim='sgd',\n    tpu_num_cores=8,  # of a v3\n)", "a comment"),
}
FIXED = {
    "fused": ("XLA510", "TrainingArguments(optim='adamw_torch_fused')", "TrainingArguments(optim='adamw_torch')", "safe"),
    "a misspelt optimizer": ("XLA510", "TrainingArguments(optim='adamw_xla')", "TrainingArguments(optim='adamw_torch_xla')", "unsafe"),
    "cores": ("XLA510", "TrainingArguments('out', tpu_num_cores=8, optim='sgd')", "TrainingArguments('out', optim='sgd')", "safe"),
    "compiled": ("XLA510", "TrainingArguments(optim='sgd', torch_compile=True)", "TrainingArguments(optim='sgd')", "safe"),
    "debugging": ("XLA510", "TrainingArguments(optim='sgd', debug='tpu_metrics_debug')", "TrainingArguments(optim='sgd')", "safe"),
    "one word of two": (
        "XLA510", "TrainingArguments(optim='sgd', debug='underflow_overflow tpu_metrics_debug')",
        "TrainingArguments(optim='sgd', debug='underflow_overflow')", "safe"),
}  # fmt: skip


@pytest.mark.parametrize(("code", "text", "why"), LEFT_ALONE.values(), ids=LEFT_ALONE)
def test_left_alone_with_a_reason(code: str, text: str, why: str) -> None:
    expect_left_alone(outcome(f"{START}{text}\n", code), why)


@pytest.mark.parametrize(("code", "text", "after", "applicability"), FIXED.values(), ids=FIXED)
def test_fixed(code: str, text: str, after: str, applicability: str) -> None:
    expect_fixed(outcome(f"{START}{text}\n", code), f"{START}{after}\n", applicability)
