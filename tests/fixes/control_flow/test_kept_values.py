"""XLA101: branches that only write attributes choose what these keep."""

from __future__ import annotations

import textwrap

import pytest

from tests.fixes.fixing import append_indented, expect_fixed, outcome

HEAD = """import torch
from torch import nn


class Model(nn.Module):
    def __init__(self, momentum: float = 0.9) -> None:
        super().__init__()
        self.momentum = momentum
        self.none = None
        self.count = 0
        self.register_buffer("low", torch.zeros(4))
        self.register_buffer("high", torch.zeros(4))

    def forward(self, x: torch.Tensor, ok: bool = True) -> torch.Tensor:
        y = x.detach().amin(0)
        z = x.data.amax(0)
"""


def module(body: str) -> str:
    return append_indented(HEAD, textwrap.dedent(f"{body}\nreturn x * 2"), 8)


LEFT_ALONE = {
    "what may be None": "if y.sum() > 0:\n    self.none = y",
    "what the condition does not read": "if y.sum() > 0:\n    self.low = y",
    "what is not known": "if y.sum() > self.other.sum():\n    self.other = y",
    "a number": "if y.sum() > self.count:\n    self.count = y.sum()",
    "what keeps a graph": "w = x.amin(0)\nif w.sum() < self.low.sum():\n    self.low = w",
    "what keeps the graph of an argument": "if y.sum() < self.low.sum():\n    self.low = x[0]",
    "a local name besides": "if y.sum() < self.low.sum():\n    self.low = y\n    x = x + 1",
    "a call besides": "if y.sum() < self.low.sum():\n    self.low = y\n    self.tell(y)",
    "a read besides": "if y.sum() < self.low.sum():\n    self.low = y * y.sum().item()",
    "random numbers": "if y.sum() < self.low.sum():\n    self.low = torch.rand_like(y)",
    "another attribute in the other branch": "if y.sum() > 0:\n    self.low = y\nelse:\n    self.high = y",
    "a branch of a tensor behind": "if y.sum() > 0:\n    self.low = y\nelif z.sum() > 0:\n    self.low = z\nelse:\n    self.low = y + z",
    "perhaps no branch": "if y.sum() > 0:\n    self.low = y\nelif ok:\n    self.low = z",
    "one of another": "if y.sum() > 0:\n    self.low = y * 2\n    self.high = self.low + 1\nelse:\n    self.low = z\n    self.high = z * 2",
    "one of another that was just written": "if (self.low > self.high).any():\n    self.low = z\n    self.high = self.low",
    "in place": "if y.sum() < self.low.sum():\n    self.low += y",
    "a part": "if y.sum() < self.low.sum():\n    self.low[0] = y[0]",
    "of something held": "if y.sum() < self.low.sum():\n    self.low.data = y",
    "twice": "if y.sum() < self.low.sum():\n    self.low = y\n    self.low = self.low * 2",
    "under elif": "if ok:\n    x = x + 1\nelif y.sum() < self.low.sum():\n    self.low = y",
    "of the host's part, with an else": "if ok and y.sum() > 0:\n    self.low = y\nelse:\n    self.low = z",
}
FIXED = {
    "a running minimum": (
        "if y.sum() < self.low.sum():\n    self.low = y",
        "self.low = torch.where(y.sum() < self.low.sum(), y, self.low)",
        "nothing else holds the tensor of `self.low`",
    ),
    "two, under what the host knows": (
        "if ok and self.low.sum() + self.high.sum() > 1:\n    self.low = y * 2  # less\n    self.high = z * 2",
        "if ok:\n    condition = self.low.sum() + self.high.sum() > 1\n"
        "    self.low = torch.where(condition, y * 2, self.low)  # less\n"
        "    self.high = torch.where(condition, z * 2, self.high)",
        "nothing else holds the tensor of `self.low` and `self.high`",
    ),
    "the first batch": (
        "if self.low.abs().sum() == 0:\n    self.low = y * 1\nelse:\n    # then\n    self.low = self.low + z",
        "# then\nself.low = torch.where(self.low.abs().sum() == 0, y * 1, self.low + z)",
        "have the same shape and dtype",
    ),
    "not the first": (
        "if not self.low.any():\n    self.low = y * 1\nelse:\n    self.low = self.low + y",
        "self.low = torch.where(self.low.any(), self.low + y, y * 1)",
        "have the same shape and dtype",
    ),
    "one of three, of which the host chooses": (
        "if self.low.sum() == 0:\n    self.low = y + 1\n    self.high = z + 1\n\n# later\n"
        "elif self.momentum == 1:\n    self.low = y - 1\n    self.high = z - 1\n"
        "else:\n    self.low = y * self.momentum\n    self.high = z * self.momentum",
        "condition = self.low.sum() == 0\n# later\n"
        "if self.momentum == 1:\n    self.low = torch.where(condition, y + 1, y - 1)\n"
        "    self.high = torch.where(condition, z + 1, z - 1)\n"
        "else:\n    self.low = torch.where(condition, y + 1, y * self.momentum)\n"
        "    self.high = torch.where(condition, z + 1, z * self.momentum)",
        "all values of `self.low` and `self.high` have the same shape and dtype",
    ),
    "what is held elsewhere": (
        "if y.sum() > 0:\n    self.low = y\nelse:\n    self.low = z",
        "self.low = torch.where(y.sum() > 0, y, z)",
        "`y` is not written into afterwards",
    ),
}


@pytest.mark.parametrize("body", LEFT_ALONE.values(), ids=LEFT_ALONE)
def test_left_alone(body: str) -> None:
    made = outcome(module(body), "XLA101")
    assert "= torch.where(" not in made.text


@pytest.mark.parametrize(("before", "after", "assumed"), FIXED.values(), ids=FIXED)
def test_fixed(before: str, after: str, assumed: str) -> None:
    expect_fixed(outcome(module(before), "XLA101"), module(after), "unsafe", assumed)


def test_without_gradients_nothing_is_kept_of_a_graph() -> None:
    before = module("w = x.amin(0)\nif w.sum() < self.low.sum():\n    self.low = w * 2").replace(
        "    def forward", "    @torch.no_grad()\n    def forward"
    )
    assert "self.low = torch.where(w.sum() < self.low.sum(), w * 2, self.low)" in outcome(before, "XLA101").text
