"""XLA207: sizes that are known."""

from __future__ import annotations

import pytest

from tests.fixes.dynamic_shape.tables import expect_changed, expect_left, list_changes, list_left

CHANGED = {
    ("torch", "XLA207"): {
        "return F.one_hot(x.argmax(-1))": "return F.one_hot(x.argmax(-1), num_classes=x.shape[-1])",
        "k = torch.argmax(x, dim=1)\n    return F.one_hot(k.flatten())": (
            "k = torch.argmax(x, dim=1)\n    return F.one_hot(k.flatten(), num_classes=x.shape[1])"
        ),
        "return F.one_hot(y % 4)": "return F.one_hot(y % 4, num_classes=4)",
        "return F.one_hot(y % n)": "return F.one_hot(y % n, num_classes=n)",
        "return torch.bincount(y, minlength=8)": "return F.one_hot(y.long(), 8).sum(0)",
        "return torch.bincount(y, minlength=n)": ("return y.new_zeros(n).scatter_add_(0, y, torch.ones_like(y))"),
        "k = y.long()\n    return torch.bincount(k, minlength=n)": (
            "k = y.long()\n    return k.new_zeros(n).scatter_add_(0, k, torch.ones_like(k))"
        ),
        "k = y.int()\n    return torch.bincount(k, minlength=n)": (
            "k = y.int()\n    return torch.zeros(n, dtype=torch.int64, device=k.device)"
            ".scatter_add_(\n        0,\n        k.long(),\n        torch.ones_like(k.long()),\n    )"
        ),
        "k = x.max(dim=-1).indices\n    return torch.bincount(k, minlength=n)": (
            "k = x.max(dim=-1).indices\n    return F.one_hot(k, n).sum(0)"
        ),
        "return torch.bincount(y.to(torch.int64) + 1, minlength=9)": (
            "return F.one_hot(y.to(torch.int64) + 1, 9).sum(0)"
        ),
        "return torch.bincount(y.to(torch.int32), minlength=9)": (
            "return F.one_hot(y.to(torch.int32).long(), 9).sum(0)"
        ),
        "return torch.bincount(y, minlength=n**2)": ("return y.new_zeros(n**2).scatter_add_(0, y, torch.ones_like(y))"),
        "return torch.bincount(y, minlength=int(x.shape.numel()))": (
            "return y.new_zeros(int(x.shape.numel())).scatter_add_(0, y, torch.ones_like(y))"
        ),
        "return x.argmax(-1).bincount()": "return F.one_hot(x.argmax(-1), x.shape[-1]).sum(0)",
    },
    ("jax", "XLA207"): {
        "return jnp.bincount(x.argmax(-1))": "return jnp.bincount(x.argmax(-1), length=x.shape[-1])",
        "return jax.ops.segment_sum(y, x.argmax(-1))": (
            "return jax.ops.segment_sum(y, x.argmax(-1), num_segments=x.shape[-1])"
        ),
    },
}
LEFT = {
    ("torch", "XLA207"): (
        "return F.one_hot(y)",
        "return F.one_hot(x.argmax())",
        "x = x.relu()\n    k = x.argmax(-1)\n    x = x[:, :2]\n    return F.one_hot(k)",
        "return F.one_hot(y % x)",
        "return F.one_hot(x.argmax(-1) + 1)",
        "return torch.bincount(y)",
        "return torch.bincount(y, minlength=0)",
        "return torch.bincount(y, x, 4)",
        "return torch.bincount(y[x > 0], minlength=n)",
        "return torch.bincount(y.flatten(), minlength=n)",
        "k = y.reshape(-1)\n    return torch.bincount(k.long(), minlength=9)",
        "for k in y.split(1000):\n        x = torch.bincount(k.long(), minlength=9)\n    return x",
        "return torch.bincount(y + 1, minlength=n * 8)",
        "k = y[x > 0]\n    k = k * 2\n    return torch.bincount(k, minlength=n)",
        "return torch.bincount(y, weights=x, minlength=4)",
        "return torch.bincount(x.argmax(-1), minlength=n)",
        "return torch.repeat_interleave(x, y, dim=0)",
    ),
    ("jax", "XLA207"): ("return jnp.bincount(y)", "return jnp.repeat(x, y)", "return jnp.bincount(x.argmax())"),
}


@pytest.mark.parametrize(("framework", "code", "before", "after"), list_changes(CHANGED))
def test_changed(framework: str, code: str, before: str, after: str) -> None:
    expect_changed(framework, code, before, after)


@pytest.mark.parametrize(("framework", "code", "body"), list_left(LEFT))
def test_left_with_a_reason(framework: str, code: str, body: str) -> None:
    expect_left(framework, code, body)
