"""XLA203: distinct values that are counted or given a size."""

from __future__ import annotations

import pytest

from tests.fixes.dynamic_shape.tables import expect_changed, expect_left, list_changes, list_left

CHANGED = {
    ("torch", "XLA203"): {
        "return x * (y.unique().numel() == 1)": "return x * (y.flatten().diff() == 0).all()",
        "return x * (len(torch.unique_consecutive(y.sum(1))) > 1)": "return x * (y.sum(1).flatten().diff() != 0).any()",
        "return x / y.unique().numel()": "return x / ((y.flatten().sort().values.diff() != 0).sum() + 1)",
        "return x / torch.unique_consecutive(y).shape[0]": "return x / ((y.flatten().diff() != 0).sum() + 1)",
    },
    ("jax", "XLA203"): {
        "return jnp.unique(x).sum()": "return jnp.unique(x, size=x.size, fill_value=0).sum()",
        "return jnp.union1d(x, y).sum()": "return jnp.union1d(x, y, size=x.size + y.size, fill_value=0).sum()",
    },
}
LEFT = {
    ("torch", "XLA203"): (
        "return torch.unique(y)",
        "for one in y.unique():\n        x = x + one\n    return x",
        "if y.unique().numel() == 1:\n        return x\n    return y",
        "return torch.unique(y, dim=0).shape[0] * x",
        "return torch.unique(y, return_counts=True)[1]",
        "return torch.zeros(y.unique().numel())",
        "x.kinds = y.unique().shape[0]\n    return x",
        "return x * (y.unique().numel() == 2) * torch.zeros(len(y.unique()))",
    ),
    ("jax", "XLA203"): (
        "return jnp.unique(x)",
        "return jnp.unique(x).mean()",
        "return jnp.unique(x + y).sum()",
        "return jnp.unique(x, return_counts=True)[1].sum()",
        "return jnp.setxor1d(x, y).sum()",
    ),
}


@pytest.mark.parametrize(("framework", "code", "before", "after"), list_changes(CHANGED))
def test_changed(framework: str, code: str, before: str, after: str) -> None:
    expect_changed(framework, code, before, after)


@pytest.mark.parametrize(("framework", "code", "body"), list_left(LEFT))
def test_left_with_a_reason(framework: str, code: str, body: str) -> None:
    expect_left(framework, code, body)
