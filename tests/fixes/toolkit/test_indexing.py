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
    "computed with beside it": ("k = keep\n    y = x * (2.0 * k)", "k", "`k` has as many dimensions as `x`"),
    "computed into it": ("k = keep\n    x += k.float()", "k", "`k` has as many dimensions as `x`"),
    "expanded as": ("k = keep.unsqueeze(-1).expand_as(x)", "k", ""),
    "expanded to a shape": ("k = keep.unsqueeze(-1).expand(x.shape)", "k", ""),
    "expanded to sizes": ("k = keep.unsqueeze(-1).expand(x.size())", "k", ""),
    "expanded as it was before": (
        "k = keep.unsqueeze(-1).expand_as(x)\n    x = torch.tanh(x)",
        "k",
        "",
    ),
}
# A mask that lacks dimensions of what it indexes.
SHORTER = {
    "a part": ("k = x[..., 0] > 0", "x[k]", "x", "k[..., None]"),
    "two parts": ("k = (x[:, 0] > 0) & (x[:, 1] < 1)", "x[k]", "x", "k[..., None]"),
    "a part of a part": ("k = x[..., 0, 1] > 0", "x[k]", "x", "k[..., None, None]"),
    "a sum": ("k = x.sum(-1) > 0", "x[k]", "x", "k[..., None]"),
    "a sum of the first dimension": ("k = x.sum(0) > 0", "x[:, k]", "x", "k"),
    "any": ("k = (x > 0).any(dim=1)", "x[k]", "x", "k[..., None]"),
    "of what it was made from": ("k = x[..., 0] > 0\n    x = x.clone()", "x[k]", "x", "k[..., None]"),
    "of what was made from it": ("y = x * 2\n    k = y[..., 0] > 0\n    x = y.exp()", "x[k]", "x", "k[..., None]"),
    "of its own earlier value": ("k = x > 0\n    x = (x - 1).floor()", "x[k]", "x", "k"),
}
NOT_KNOWN_TO_BE_SHORTER = {
    "a dimension kept": "k = x.sum(-1, keepdim=True) > 0",
    "all of several dimensions": "k = x.sum((0, 1)) > 0",
    "a part of another": "k = m[..., 0] > 0",
    "a part beside another": "k = (x[..., 0] > 0) & (m > 0)",
    "picked by a tensor": "k = x[m.long()] > 0",
    "a dimension that is new": "k = x[..., None, 0] > 0",
    "resized afterwards": "k = x[..., 0] > 0\n    x = x.unsqueeze(0)",
    "another afterwards": "k = x[..., 0] > 0\n    x = m * 2",
    "bound in a loop": "k = m > 0\n    for _ in range(2):\n        k = x[..., 0] > 0\n        x = x[None]",
    "bound in a branch": "k = m > 0\n    if x.ndim > 2:\n        k = x[..., 0] > 0",
}
# As many dimensions as what it indexes, whose sizes may be others.
ALIKE = {
    "of a sum along a dimension": "y = m.cumsum(0)\n    x = y",
    "padded": "x, _ = torch.sort(m)\n    keep = nn.functional.pad(x.softmax(-1).cumsum(-1) > 0.5, (1, -1))",
    "put into order": "m = m[torch.arange(4)]\n    keep = m == 0\n    x = m.cumsum(0) / torch.arange(1, 5)",
    "chosen": "x = torch.where(m > 0, m, 0)\n    keep = m == 0",
    "gathered": "x = x.gather(1, m.unsqueeze(1) + 3).squeeze(1)\n    keep = m == 0",
    "ordered, and put back": "x = m\n    s, order = x.sort()\n    k = s > 0\n    k[0] = False\n    keep = k.scatter(-1, order, k)",
    "bound in a branch before": "x = m\n    if other.some:\n        x = other.any(m)\n    keep = x.argsort() > 0",
}
NOT_ALIKE = {
    "squeezed": "x = m.unsqueeze(1)\n    keep = m.squeeze(1) > 0",
    "one more": "x = m.cumsum(0).unsqueeze(-1)",
    "gathered with one more": "x = x.gather(1, m.unsqueeze(1) + 3)\n    keep = m == 0",
    "made of another as well": "x = m.cumsum(0) + x",
    "repeated flat": "x = m.repeat_interleave(2)",
    "bound in a branch between": "x = m\n    keep = x > 0\n    if other.some:\n        x = other.any(m)",
    "bound in a branch that runs later": "for _ in range(2):\n        keep = x > 0\n        if other.some:\n            x = other.any(m)",
}
# A mask of fewer dimensions for all that is known.
PADDED = {
    "another's size": "k = keep.unsqueeze(-1).repeat(1, 1, m.shape[1])",
    "another dimension's size": "k = keep.unsqueeze(-1).repeat(1, 1, x.shape[1])",
    "a product of matrices": "k = keep\n    y = x @ k.float()",
    "computed with another tensor": "k = keep\n    y = m * k",
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


@pytest.mark.parametrize(("made", "index", "whole", "mask"), SHORTER.values(), ids=SHORTER)
def test_shorter(made: str, index: str, whole: str, mask: str) -> None:
    expect_fixed(
        outcome(HEAD.format(body=f"{made}\n    {index} = 0"), "XLA205"),
        HEAD.format(body=f"{made}\n    {whole}.masked_fill_({mask}, 0)"),
        "safe",
    )


def test_flat_whatever_it_is() -> None:
    made = "k = keep if x.ndim else other.keep\n    k = k.reshape(-1).clone()\n    x = x.reshape(-1, 3)"
    after = outcome(HEAD.format(body=f"{made}\n    x[k] = 0"), "XLA205")
    assert after.text == HEAD.format(body=f"{made}\n    x.masked_fill_(k[:, None], 0)"), after.reason


@pytest.mark.parametrize("made", NOT_KNOWN_TO_BE_SHORTER.values(), ids=NOT_KNOWN_TO_BE_SHORTER)
def test_not_known_to_be_shorter(made: str) -> None:
    made_of = outcome(HEAD.format(body=f"{made}\n    x[k] = 0"), "XLA205")
    assert made_of.fix is None or "x.masked_fill_(k[(...,) + (None,) * (x.ndim - k.ndim)], 0)" in made_of.text


WRITTEN_OUT = {
    "a whole dimension behind it": ("x[keep, :]", "keep[..., None]", "`x` has 1 dimension more than `keep`"),
    "two behind it": ("x[keep, :, :]", "keep[..., None, None]", "`x` has 2 dimensions more than `keep`"),
}


@pytest.mark.parametrize(("index", "mask", "assumed"), WRITTEN_OUT.values(), ids=WRITTEN_OUT)
def test_dimensions_that_an_index_writes_out(index: str, mask: str, assumed: str) -> None:
    expect_fixed(
        outcome(HEAD.format(body=f"{index} = 0"), "XLA205"),
        HEAD.format(body=f"x.masked_fill_({mask}, 0)"),
        "unsafe",
        assumed,
    )


COUNTED = {
    "by a pattern of einops, and by first sizes": (
        "x = rearrange(x, 'b (h w) -> b h w', h=2)\n    k = torch.rand(x.shape[:2]) < 0.5",
        "k[..., None]",
    ),
    "by a pattern of einops, packed": ("x = rearrange(x, 'b h w -> b (h w)')\n    k = x[:, 0] > 0", "k[..., None]"),
    "by a pattern that leaves some open": (
        "x = rearrange(x, '... h w -> ... (h w)')\n    k = torch.rand(x.shape[:2]) < 0.5",
        "k[(...,) + (None,) * (x.ndim - 2)]",
    ),
}


@pytest.mark.parametrize(("made", "mask"), COUNTED.values(), ids=COUNTED)
def test_counted(made: str, mask: str) -> None:
    found = outcome("from einops import rearrange\n" + HEAD.format(body=f"{made}\n    x[k] = 0"), "XLA205")
    assert f"x.masked_fill_({mask}, 0)" in found.text, found.text


@pytest.mark.parametrize("made", ALIKE.values(), ids=ALIKE)
def test_as_many_dimensions(made: str) -> None:
    found = outcome("from torch import nn\n" + HEAD.format(body=f"{made}\n    x[keep] = 0"), "XLA205")
    assert "x.masked_fill_(keep, 0)" in found.text


@pytest.mark.parametrize("made", NOT_ALIKE.values(), ids=NOT_ALIKE)
def test_not_known_to_have_as_many_dimensions(made: str) -> None:
    found = outcome(HEAD.format(body=f"{made}\n    x[keep] = 0"), "XLA205")
    assert "x.masked_fill_(keep, 0)" not in found.text


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
