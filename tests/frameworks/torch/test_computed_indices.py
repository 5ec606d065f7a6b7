"""Indices without dimensions under torch.compile: those that the code computes end the graph, its arguments do not."""

from __future__ import annotations

import pytest

from tests.conftest import Loud

CODE = """
import torch
from torch import nn

class Table(nn.Module):
    def __init__(self):
        super().__init__()
        self.register_buffer("place", torch.zeros((), dtype=torch.int64))
        self.register_buffer("rows", torch.zeros(10, 4))

    def forward(self, x: torch.Tensor, lengths: torch.Tensor):
        {body}
        return x
"""

QUIET = {
    "a number": "x = x[0]",
    "a size": "x = x[x.shape[0] - 1]",
    "a buffer": "x = self.rows[self.place]",
    "a buffer by a name": "place = self.place\n        x = self.rows[place]",
    "positions": "x = x[lengths]",
    "one position": "x = x[lengths.max()[None]]",
    "computed positions": "x = x[lengths - 1]",
    "a choice": "x = x.index_select(0, lengths.max()[None])",
    "a part up to a number": "x = x[: x.shape[0] // 2]",
    "elements that are gathered": "x = torch.gather(x, 1, lengths[:, None])",
}
FOUND = {
    "the largest": "x = x[lengths.max()]",
    "a sum": "x = x[lengths.max() - 1]",
    "in another dimension": "x = x[:, lengths.max()]",
    "by a name": "last = lengths.max()\n        x = x[last]",
    "by a name that is reckoned with": "last = lengths.max()\n        x = x[last - 1]",
    "an element": "x = x[torch.argsort(self.rows[:, 0])[0]]",
    "from a buffer": "x = self.rows[self.place + 1]",
    "an assignment": "x = x.clone()\n        x[lengths.max()] = 0.0",
    "each of some": "for one in torch.argsort(self.rows[:, 0]):\n            x = x + self.rows[one]",
}


@pytest.mark.parametrize("body", QUIET.values(), ids=QUIET)
def test_quiet(body: str, loud: Loud) -> None:
    assert "XLA208" not in loud(CODE.replace("{body}", body), "torch_compile")


@pytest.mark.parametrize("body", FOUND.values(), ids=FOUND)
def test_found(body: str, loud: Loud) -> None:
    assert "XLA208" in loud(CODE.replace("{body}", body), "torch_compile")


@pytest.mark.parametrize("body", [FOUND["the largest"], QUIET["a buffer"]])
def test_torch_xla_reads_both(body: str, loud: Loud) -> None:
    assert "XLA208" in loud(CODE.replace("{body}", body), "torch_xla")
