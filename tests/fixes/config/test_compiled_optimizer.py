"""XLA523: optimizers that count on the device."""

from __future__ import annotations

import pytest

from tests.fixes.fixing import expect_fixed, expect_left_alone, outcome

START = 'import torch\n\nmodel = torch.nn.Linear(2, 2).to("tpu")\n'

LEFT_ALONE = {
    "made elsewhere": (
        (
            "opt = torch.optim.AdamW(model.parameters())\n\n\n@torch.compile\ndef f(x):\n"
            '    model(x).mean().backward()\n    opt.step()\n\n\nf(torch.ones(2, 2, device="tpu"))\n'
        ),
        "made elsewhere",
    ),
}
FIXED = {
    "Adam": (
        "opt = torch.optim.Adam(model.parameters(), lr=0.1)\nstep = torch.compile(opt.step)\n",
        ("opt = torch.optim.Adam(model.parameters(), lr=0.1, fused=True)\nstep = torch.compile(opt.step)\n"),
        "safe",
    ),
    "RMSprop": (
        "opt = torch.optim.RMSprop(model.parameters())\nstep = torch.compile(opt.step)\n",
        ("opt = torch.optim.RMSprop(model.parameters(), capturable=True)\nstep = torch.compile(opt.step)\n"),
        "safe",
    ),
}


@pytest.mark.parametrize(("text", "why"), LEFT_ALONE.values(), ids=LEFT_ALONE)
def test_left_alone_with_a_reason(text: str, why: str) -> None:
    expect_left_alone(outcome(START + text, "XLA523", target="torch_tpu"), why)


@pytest.mark.parametrize(("before", "after", "applicability"), FIXED.values(), ids=FIXED)
def test_fixed(before: str, after: str, applicability: str) -> None:
    expect_fixed(outcome(START + before, "XLA523", target="torch_tpu"), START + after, applicability)
