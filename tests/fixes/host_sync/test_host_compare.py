"""XLA304: comparisons on the host."""

from __future__ import annotations

import pytest

from tests.fixes.fixing import outcome


def torch(body: str, end: str = "return x") -> str:
    return (
        "import torch\nimport torch_xla.core.xla_model as xm\nfrom torch import nn\n\n\n"
        "class Model(nn.Module):\n"
        "    def forward(self, x: torch.Tensor, y: torch.Tensor, other) -> torch.Tensor:\n"
        f"        {body}\n        {end}\n"
    )


LEFT_ALONE = {
    "a condition": ("XLA304", torch("if torch.equal(x, y):\n            return y"), "a condition"),
    "a condition by a name": ("XLA304", torch("a = x.equal(y)\n        if a:\n            return y"), "by its name"),
    "a return": ("XLA304", torch("pass", "return torch.allclose(x, y)"), "may need a Python bool"),
}

FIXED = {
    "all close": (
        "XLA304",
        torch("y = y * torch.allclose(x, y, atol=1e-3)"),
        torch("y = y * torch.isclose(x, y, atol=1e-3).all()"),
        "safe",
    ),
    "equal": ("XLA304", torch("y = y * x.equal(y + 1)"), torch("y = y * (x == (y + 1)).all()"), "unsafe"),
    "not zero": ("XLA304", torch("y = y * torch.is_nonzero(x.sum())"), torch("y = y * (x.sum() != 0)"), "safe"),
}


@pytest.mark.parametrize(("code", "text", "why"), LEFT_ALONE.values(), ids=LEFT_ALONE)
def test_left_alone_with_a_reason(code: str, text: str, why: str) -> None:
    made = outcome(text, code)
    assert made.fix is None
    assert why in made.reason


@pytest.mark.parametrize(("code", "text", "after", "applicability"), FIXED.values(), ids=FIXED)
def test_fixed(code: str, text: str, after: str, applicability: str) -> None:
    made = outcome(text, code)
    assert made.text == after
    assert made.applicability == applicability
