"""XLA205, XLA201: masks that were widened for what they index need no more dimensions, and what is no mask stays."""

from __future__ import annotations

import pytest

from tests.fixes.fixing import expect_fixed, outcome

HEAD = """import torch


def f(x: torch.Tensor, m: torch.Tensor) -> torch.Tensor:
    x = torch.relu(x)
    keep = m > 0
    {body}
    return x
"""

WIDENED = {
    "repeated to the last size": ("k = keep.unsqueeze(-1).repeat(1, 1, x.shape[2])", "k", "`x` has 3 dimensions"),
    "expanded to the last size": ("k = keep[..., None].expand(-1, -1, x.size(-1))", "k", "`x` has 3 dimensions"),
    "a size with a name": ("d = x.shape[-1]\n    k = keep[..., None].expand(-1, -1, d)", "k", "`x` has 3 dimensions"),
    "negated": ("k = keep.unsqueeze(-1).repeat(1, 1, x.shape[2])", "~k", "`x` has 3 dimensions"),
    "expanded as": ("k = keep.unsqueeze(-1).expand_as(x)", "k", ""),
    "expanded to a shape": ("k = keep.unsqueeze(-1).expand(x.shape)", "k", ""),
    "expanded to sizes": ("k = keep.unsqueeze(-1).expand(x.size())", "k", ""),
    "expanded as it was before": (
        "k = keep.unsqueeze(-1).expand_as(x)\n    x = torch.tanh(x)",
        "k",
        "`k` has as many dimensions as `x`",
    ),
}
# A mask of fewer dimensions for all that is known.
PADDED = {
    "another's size": "k = keep.unsqueeze(-1).repeat(1, 1, m.shape[1])",
    "another dimension's size": "k = keep.unsqueeze(-1).repeat(1, 1, x.shape[1])",
    "sizes given together": "k = keep.unsqueeze(-1).expand(*x.shape[:2], 1)",
}
NO_MASK = {
    "a sum": "k = torch.arange(4) + m",
    "a difference": "k = m - x",
    "an order": "k = x.argsort(-1)",
    "the largest": "k = x.topk(2).indices",
    "the largest, flattened": "k = x.topk(2).indices.flatten()",
    "a remainder": "k = m % 4",
}


@pytest.mark.parametrize(("made", "mask", "assumed"), WIDENED.values(), ids=WIDENED)
def test_widened(made: str, mask: str, assumed: str) -> None:
    expect_fixed(
        outcome(HEAD.format(body=f"{made}\n    x[{mask}] = 0"), "XLA205"),
        HEAD.format(body=f"{made}\n    x.masked_fill_({mask}, 0)"),
        "unsafe" if assumed else "safe",
        assumed,
    )


@pytest.mark.parametrize("made", PADDED.values(), ids=PADDED)
def test_padded(made: str) -> None:
    found = outcome(HEAD.format(body=f"{made}\n    x[k] = 0"), "XLA205")
    assert "x.masked_fill_(k[(...,) + (None,) * (x.ndim - " in found.text


@pytest.mark.parametrize("made", NO_MASK.values(), ids=NO_MASK)
def test_no_mask(made: str) -> None:
    text = HEAD.format(body=f"if m.sum() > 0:\n        x[keep] = 0\n    {made}\n    x[k] = 0")
    assert outcome(text, "XLA205").text.endswith(f"    {made}\n    x[k] = 0\n    return x\n")


TWINS = {
    "a sum of what both are made of": "y = torch.relu(m)\n    b = x * y\n    a = x + y",
    "the largest and where it is": "a, b = x.max(dim=0)",
    "sorted": "a, b = torch.sort(x)",
}
STRANGERS = {
    "of different calls": "a, _ = x.max(dim=0)\n    b = m[0]",
    "one is bound anew": "a, b = x.max(dim=0)\n    b = b.repeat_interleave(2, 0)",
    "a sum of more": "y = torch.relu(m)\n    b = x * y\n    a = x + 1",
    "another call": "a, b = torch.unbind(x)",
}


@pytest.mark.parametrize("made", TWINS.values(), ids=TWINS)
def test_twins(made: str) -> None:
    expect_fixed(
        outcome(HEAD.format(body=f"{made}\n    b[a < 0] = 0"), "XLA205"),
        HEAD.format(body=f"{made}\n    b.masked_fill_(a < 0, 0)"),
        "safe",
    )


@pytest.mark.parametrize("made", STRANGERS.values(), ids=STRANGERS)
def test_strangers(made: str) -> None:
    found = outcome(HEAD.format(body=f"{made}\n    b[a < 0] = 0"), "XLA205")
    assert "b.masked_fill_(a < 0, 0)" not in found.text
