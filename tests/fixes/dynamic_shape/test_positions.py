"""XLA202: positions of true values that pick, and the first of them."""

from __future__ import annotations

import pytest

from tests.fixes.fixing import expect_settled, fixed

HEAD = "import torch\n\n\ndef f(x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:\n    batch, width = x.shape\n"

LEFT = {
    "the first, in a try": (
        "try:\n        i = torch.where(x[0] > 0)[0][0]\n    except IndexError:\n        i = x.argmax()\n    return i"
    ),
    "kept": "return torch.where(x > 0)",
    "rows of positions": "return x[(x > 0).nonzero()]",
    "with another index": "return x[torch.where(x[:, 0] > 0)[0], 0]",
    "of what is no mask": "x[torch.where(y)] = 0",
    "the first of several dimensions": "return torch.where(x > 0)[0][0]",
    "the last": "return torch.where(x[0] > 0)[0][-1]",
    "read": "return x[torch.where(x > 0)]",
}


@pytest.mark.parametrize("body", LEFT.values(), ids=LEFT)
def test_left_alone(body: str) -> None:
    text = f"{HEAD}    {body}\n"
    assert fixed(text)[0] == text


CHANGED = {
    "assigned": ("x[torch.where(x > 0)] = 0", "x.masked_fill_(x > 0, 0)"),
    "assigned, by nonzero": ("x[(x > 0).nonzero(as_tuple=True)] = 0", "x.masked_fill_(x > 0, 0)"),
    "added to": ("x[torch.where(x > 0)] += 1", "x.copy_(torch.where(x > 0, x + 1, x))"),
    "a maximum": (
        "with torch.no_grad():\n        x = x.float()\n        return x[torch.where(x > 0)].max()",
        'with torch.no_grad():\n        x = x.float()\n        return torch.where(x > 0, x, float("-inf")).max()',
    ),
    "the first": ("return torch.where(x[0] > 0)[0][0]", "return (x[0] > 0).int().argmax()"),
}


@pytest.mark.parametrize(("before", "after"), CHANGED.values(), ids=CHANGED)
def test_safe(before: str, after: str) -> None:
    expect_settled(f"{HEAD}    {before}\n", f"{HEAD}    {after}\n", unsafe=False)
