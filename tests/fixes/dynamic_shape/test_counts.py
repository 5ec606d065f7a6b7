"""XLA202: true values that are counted by their positions."""

from __future__ import annotations

import pytest

from tests.fixes.fixing import expect_settled, expect_unchanged, outcome
from tests.fixes.functions import JAX

TORCH = """import torch


def f(x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
    x = x.float()
    batch, width = x.shape
    {body}
"""

SAFE = {
    "divided by": ("return x / len((y == 1).nonzero())", "return x / (y == 1).sum()"),
    "in a call": ("return torch.relu(x / len((y == 1).nonzero()))", "return torch.relu(x / (y == 1).sum())"),
    "of a tuple": ("return x * torch.where(y == 1)[0].shape[0]", "return x * (y == 1).sum()"),
    "of numbers": ("return x / torch.nonzero(y).size(0)", "return x / torch.count_nonzero(y)"),
    "at least one": ("return x / max(1, len((y == 1).nonzero()))", "return x / (y == 1).sum().clamp(min=1)"),
    "by name": ("rows = (y == 1).nonzero()\n    return x / len(rows)", "return x / (y == 1).sum()"),
    "any": ("return x * (len((y == 1).nonzero()) > 0)", "return x * (y == 1).any()"),
    "none": ("return x * (0.5 * x + (torch.argwhere(y == 1).shape[0] == 0))", "return x * (0.5 * x + ~(y == 1).any())"),
    "elements of one dimension": ("return x / (x[0] > 0).nonzero().numel()", "return x / (x[0] > 0).sum()"),
    "flattened": ("return x / (x[0] > 0).nonzero().flatten().numel()", "return x / (x[0] > 0).sum()"),
}
UNSAFE = {
    "returned": ("return len((y == 1).nonzero())", "return (y == 1).sum()"),
    "given a name": (
        "count = (y == 1).nonzero().shape[0]\n    return count / width",
        "count = (y == 1).sum()\n    return count / width",
    ),
    "a bool": ("has = len((y == 1).nonzero()) > 0\n    return has", "has = (y == 1).any()\n    return has"),
}
LEFT = {
    "for a condition": "if len((y == 1).nonzero()) > 0:\n        return x\n    return y",
    "the number of dimensions": "return len(torch.where(y == 1))",
    "the number of dimensions, of a tuple": "return x / len(y.nonzero(as_tuple=True))",
    "all elements of rows": "return x / (x > 0).nonzero().numel()",
    "the second size": "return x / (y == 1).nonzero().shape[1]",
    "a size": "return torch.zeros((y == 1).nonzero().shape[0])",
    "a size, by name": "count = len((y == 1).nonzero())\n    return torch.zeros(count)",
    "a size, worked out": "count = 8 // len((y == 1).nonzero())\n    return x.view(count, -1)",
    "a size, at last": "n = len((y == 1).nonzero())\n    k = n + 1\n    return torch.ones(k)",
    "a size, added up": "k = 0\n    k += len((y == 1).nonzero())\n    return torch.ones(k)",
    "for a condition, by name": "has = len((y == 1).nonzero()) > 0\n    if has:\n        return x\n    return y",
    "a bound": "for _ in range(len((y == 1).nonzero())):\n        x = x + 1\n    return x",
    "a slice": "return x[: len((y == 1).nonzero())]",
    "read twice": "rows = (y == 1).nonzero()\n    return x / len(rows) + rows.sum()",
    "counted after a change": "rows = (y == 1).nonzero()\n    y += 1\n    return x / len(rows)",
    "drawn": "rows = torch.bernoulli(x).nonzero()\n    return x / len(rows)",
    "printed": "count = len((y == 1).nonzero())\n    print(count)\n    return x",
    "squeezed": "return x / len((y == 1).nonzero().squeeze())",
    "tested for another number": "return x * (len((y == 1).nonzero()) > 1)",
}
SIZED = {
    "summed": (
        "return jnp.nonzero(y > 0)[0].sum()",
        "return jnp.nonzero(y > 0, size=y.size, fill_value=0)[0].sum()",
    ),
    "summed, by name": (
        "(rows,) = jnp.where(y == 1)\n    return jnp.sum(rows)",
        "(rows,) = jnp.where(y == 1, size=y.size, fill_value=0)\n    return jnp.sum(rows)",
    ),
    "assigned at": (
        "y = jnp.arange(4)\n    rows = jnp.flatnonzero(y == 1)\n    return x.at[rows].set(0)",
        "y = jnp.arange(4)\n    rows = jnp.flatnonzero(y == 1, size=y.size, fill_value=y.size)\n    return x.at[rows].set(0)",
    ),
}
UNSIZED = {
    "returned": "return jnp.nonzero(y > 0)[0]",
    "averaged": "return jnp.nonzero(y > 0)[0].mean()",
    "picked": "rows = jnp.nonzero(y > 0)[0]\n    return x[rows]",
    "read otherwise too": "rows = jnp.nonzero(y > 0)[0]\n    return rows.sum() + rows.max()",
    "assigned rows": "rows = jnp.flatnonzero(y == 1)\n    return x.at[rows].set(jnp.arange(3))",
    "assigned from the end": "rows = jnp.nonzero(y == 1)[0]\n    return x.at[rows, 0].set(0)",
    "both sides": "return jnp.nonzero(x > y)[0].sum()",
}


@pytest.mark.parametrize(("before", "after"), SAFE.values(), ids=SAFE)
def test_safe(before: str, after: str) -> None:
    expect_settled(TORCH.format(body=before), TORCH.format(body=after), unsafe=False)


@pytest.mark.parametrize(("before", "after"), UNSAFE.values(), ids=UNSAFE)
def test_unsafe(before: str, after: str) -> None:
    expect_settled(TORCH.format(body=before), TORCH.format(body=after))
    assert outcome(TORCH.format(body=before), "XLA202").applicability == "unsafe"


@pytest.mark.parametrize("body", LEFT.values(), ids=LEFT)
def test_left_alone(body: str) -> None:
    expect_unchanged(TORCH.format(body=body), "XLA202")


@pytest.mark.parametrize(("before", "after"), SIZED.values(), ids=SIZED)
def test_sized(before: str, after: str) -> None:
    expect_settled(JAX.format(body=before), JAX.format(body=after), unsafe=False, target="jax")


@pytest.mark.parametrize("body", UNSIZED.values(), ids=UNSIZED)
def test_without_size(body: str) -> None:
    expect_unchanged(JAX.format(body=body), "XLA202", target="jax")
