"""Modules whose `forward` branches."""

from __future__ import annotations

import textwrap

from tests.fixes.fixing import append_indented

_HEAD = """\
import torch
from torch import nn


class Model(nn.Module):
    def forward(self, x: torch.Tensor, y: torch.Tensor, ok: bool = True) -> torch.Tensor:
        x = x.float().clone()
        y = y.float().clone()
"""


def module(body: str) -> str:
    """Make a module whose `forward` has this body; `x` and `y` are tensors of floats, `ok` is a bool."""
    return append_indented(_HEAD, textwrap.dedent(body).strip("\n"), 8)
