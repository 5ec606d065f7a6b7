"""XLA524: the TPU of the process."""

from __future__ import annotations

import pytest

from tests.fixes.fixing import expect_fixed, expect_left_alone, outcome

START = 'import torch\n\nmodel = torch.nn.Linear(2, 2).to("tpu")\n'

LEFT_ALONE = {
    "by a variable": ('place = "tpu:1"\nmodel.to(place)\n', "elsewhere"),
}
FIXED = {
    "loaded": ('torch.load("a.pt", map_location="tpu:1")\n', 'torch.load("a.pt", map_location="tpu")\n', "safe"),
    "moved": ("model.to('tpu:2')\n", "model.to('tpu')\n", "safe"),
}


@pytest.mark.parametrize(("text", "why"), LEFT_ALONE.values(), ids=LEFT_ALONE)
def test_left_alone_with_a_reason(text: str, why: str) -> None:
    expect_left_alone(outcome(START + text, "XLA524", target="torch_tpu"), why)


@pytest.mark.parametrize(("before", "after", "applicability"), FIXED.values(), ids=FIXED)
def test_fixed(before: str, after: str, applicability: str) -> None:
    expect_fixed(outcome(START + before, "XLA524", target="torch_tpu"), START + after, applicability)
