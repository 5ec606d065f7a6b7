"""XLA105: conditional expressions as `where`, and filters in sums."""

from __future__ import annotations

import pytest

from tests.fixes.fixing import expect_fixed, expect_left_alone, outcome

START = (
    "import torch\n\n\ndef f(x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:\n    x, y = x.float(), y.float()\n    "
)

LEFT_ALONE = {
    "a filter that decides how many": ("return torch.stack([a * 2.0 for a in x if a > 0])\n", "how many elements"),
    "a number of turns": ("n = 3 if x.sum() > 0 else 2\n    return x[:n]\n", "used as a Python number"),
    "one side twice": ("return y if x.sum() > 0 else y\n", "both sides are the same"),
    "an exponential that overflows": (
        "p = x.sum()\n    return 1 / (1 + torch.exp(p)) if p < 10 else p.exp() * 0.0\n",
        "overflows where it is not chosen",
    ),
    "what is computed with NaN": (
        "return (x - y).sum() if torch.isnan(y).any() else (x * 2.0).sum()\n",
        "gradients of what is computed with it are NaN",
    ),
    "yes or no": ("return True if x.sum() > 0 else False\n", "yes or no"),
    "random numbers": ("return torch.randn_like(x) if x.sum() > 0 else x\n", "draws random numbers"),
}
FIXED = {
    "tensors": ("return x * 2.0 if y.all() else x\n", "return torch.where(y.all(), x * 2.0, x)\n", "unsafe"),
    "tensors that are read": (
        "z = x * 2.0 if y.all() else x\n    return z.sum()\n",
        "z = torch.where(y.all(), x * 2.0, x)\n    return z.sum()\n",
        "safe",
    ),
    "a quotient by a count": (
        "n = (y > 0).sum()\n    return 0.0 if n == 0 else x.sum() / n\n",
        "n = (y > 0).sum()\n    return torch.where(n == 0, 0.0, x.sum() / n.clamp(min=1))\n",
        "unsafe",
    ),
    "numbers": (
        "limit = 1.0 if x.max() <= 2.0 else 255.0\n    return x / limit\n",
        "limit = torch.where(x.max() <= 2.0, 1.0, 255.0)\n    return x / limit\n",
        "unsafe",
    ),
    "a sum": (
        "return x.mean() + sum(a * 2.0 for a in y if a > 0.0)\n",
        "return x.mean() + sum(torch.where(a > 0.0, a * 2.0, 0.0) for a in y)\n",
        "unsafe",
    ),
}


@pytest.mark.parametrize(("text", "why"), LEFT_ALONE.values(), ids=LEFT_ALONE)
def test_left_alone_with_a_reason(text: str, why: str) -> None:
    expect_left_alone(outcome(START + text, "XLA105"), why)


@pytest.mark.parametrize(("before", "after", "applicability"), FIXED.values(), ids=FIXED)
def test_fixed(before: str, after: str, applicability: str) -> None:
    expect_fixed(outcome(START + before, "XLA105"), START + after, applicability)
