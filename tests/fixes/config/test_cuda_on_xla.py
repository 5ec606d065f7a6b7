"""XLA513: calls for CUDA become calls for an XLA device."""

from __future__ import annotations

import pytest

from tests.fixes.fixing import expect_fixed, expect_left_alone, outcome

START = "import torch\nimport torch_xla\nfrom torch.utils.data import DataLoader\n\nmodel = torch.nn.Linear(2, 2)\n"

LEFT_ALONE = {
    "a GPU by its number": ("model.cuda(1)\n", "by its number"),
    "a device by a name": ("device = 'cuda'\nmodel.to(device)\n", "named elsewhere"),
    "an autocast with a dtype": ("with torch.autocast('cuda', dtype=torch.float16):\n    pass\n", "bfloat16"),
    "a call of which the purpose is not known": ("torch.cuda.synchronize()\n", "what it is used for"),
}
FIXED = {
    "a module": ("model.cuda()\n", 'model.to("xla")\n', "unsafe"),
    "by name": ("model.to('cuda:0')\n", "model.to('xla')\n", "unsafe"),
    "an autocast": ("with torch.autocast('cuda'):\n    pass\n", "with torch.autocast('xla'):\n    pass\n", "unsafe"),
    "pinned memory": ("DataLoader(data, 8, pin_memory=True)\n", "DataLoader(data, 8)\n", "safe"),
}


@pytest.mark.parametrize(("text", "why"), LEFT_ALONE.values(), ids=LEFT_ALONE)
def test_left_alone_with_a_reason(text: str, why: str) -> None:
    expect_left_alone(outcome(START + text, "XLA513"), why)


@pytest.mark.parametrize(("before", "after", "applicability"), FIXED.values(), ids=FIXED)
def test_fixed(before: str, after: str, applicability: str) -> None:
    expect_fixed(outcome(START + before, "XLA513"), START + after, applicability)
