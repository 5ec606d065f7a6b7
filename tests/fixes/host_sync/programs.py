"""Modules whose `forward` asks the host."""

from __future__ import annotations


def make_module(body: str, end: str = "return x") -> str:
    """Make a module whose `forward` has these lines; `x` and `y` are tensors, of `other` nothing is known."""
    return (
        "import torch\nimport torch_xla.core.xla_model as xm\nfrom torch import nn\n\n\n"
        "class Model(nn.Module):\n"
        "    def forward(self, x: torch.Tensor, y: torch.Tensor, other) -> torch.Tensor:\n"
        f"        {body}\n        {end}\n"
    )
