"""XLA605: tensors that are made on the device in place of being moved there."""

from __future__ import annotations

import pytest

from tests.fixes.fixing import expect_fixed, outcome

START = """import torch

TABLE = torch.ones(8)


@torch.compile
def step(x: torch.Tensor, device: torch.device) -> torch.Tensor:
    return {}
"""

FIXED = {
    "of another tensor": ("x + torch.arange(8).to(x.device)", "x + torch.arange(8, device=x.device)"),
    "a parameter": ("x * torch.ones(4, 8).to(device)", "x * torch.ones(4, 8, device=device)"),
    "by keyword": ("x + torch.eye(8).to(device=device)", "x + torch.eye(8, device=device)"),
    "written out": ('x + torch.zeros(8).to("tpu")', 'x + torch.zeros(8, device="tpu")'),
    "by name": ("x + torch.full((8,), 2.0).tpu()", 'x + torch.full((8,), 2.0, device="tpu")'),
    "with a dtype": (
        "x + torch.arange(8, dtype=torch.float32).to(x.device)",
        "x + torch.arange(8, dtype=torch.float32, device=x.device)",
    ),
}
KEPT = {
    "drawn at random": "x + torch.randn(8).to(x.device)",
    "computed": "x + (torch.arange(8) + 1).to(x.device)",
    "kept elsewhere": "x + TABLE.to(x.device)",
    "of a tensor's dtype too": "x + torch.zeros(8).to(x)",
    "two arguments": "x + torch.zeros(8).to(x.device, torch.float16)",
    "its dtype": "x + torch.zeros(8).type_as(x)",
}


@pytest.mark.parametrize(("before", "after"), FIXED.values(), ids=FIXED)
def test_fixed(before: str, after: str) -> None:
    expect_fixed(outcome(START.format(before), "XLA605", target="torch_tpu"), START.format(after), "safe")


@pytest.mark.parametrize("code", KEPT.values(), ids=KEPT)
def test_kept(code: str) -> None:
    found = outcome(START.format(code), "XLA605", target="torch_tpu")
    assert found.text == START.format(code)
