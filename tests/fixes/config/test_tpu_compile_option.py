"""XLA521: refused options are left out."""

from __future__ import annotations

import pytest

from tests.fixes.fixing import expect_fixed, expect_left_alone, outcome

START = 'import torch\n\nmodel = torch.nn.Linear(2, 2).to("tpu")\n'

LEFT_ALONE = {
    "by options": ('options = {"dynamic": True}\ntorch.compile(model, **options)\n', "elsewhere"),
    "with a comment": ("torch.compile(\n    model,\n    dynamic=True,  # batches differ\n)\n", "comment"),
}
FIXED = {
    "dynamic": ("torch.compile(model, dynamic=True)\n", "torch.compile(model)\n", "safe"),
    "a mode among others": (
        'torch.compile(model, mode="max-autotune", fullgraph=True)\n',
        "torch.compile(model, fullgraph=True)\n",
        "safe",
    ),
    "a decorator": (
        "@torch.compile(dynamic=True)\ndef f(x):\n    return x\n",
        "@torch.compile()\ndef f(x):\n    return x\n",
        "safe",
    ),
}


@pytest.mark.parametrize(("text", "why"), LEFT_ALONE.values(), ids=LEFT_ALONE)
def test_left_alone_with_a_reason(text: str, why: str) -> None:
    expect_left_alone(outcome(START + text, "XLA521", target="torch_tpu"), why)


@pytest.mark.parametrize(("before", "after", "applicability"), FIXED.values(), ids=FIXED)
def test_fixed(before: str, after: str, applicability: str) -> None:
    expect_fixed(outcome(START + before, "XLA521", target="torch_tpu"), START + after, applicability)
