"""XLA203, XLA207, XLA210: sizes that are known, and distinct values that are counted."""

from __future__ import annotations

import pytest

from tests.fixes.fixing import outcome

TORCH = """import torch
import torch.nn.functional as F


def f(x: torch.Tensor, y: torch.Tensor, n: int) -> torch.Tensor:
    {body}
"""
JAX = """import jax
import jax.numpy as jnp


@jax.jit
def f(x: jax.Array, y: jax.Array) -> jax.Array:
    {body}
"""
TENSORFLOW = """import tensorflow as tf


@tf.function(jit_compile=True)
def f(x: tf.Tensor) -> tf.Tensor:
    {body}
"""
GROWING = "a = tf.TensorArray(tf.float32, size=0, dynamic_size=True)\n    "
CODES = {"torch": (TORCH, "torch_xla"), "jax": (JAX, "jax"), "tensorflow": (TENSORFLOW, "tf")}

CHANGED = {
    ("torch", "XLA207"): {
        "return F.one_hot(x.argmax(-1))": "return F.one_hot(x.argmax(-1), num_classes=x.shape[-1])",
        "k = torch.argmax(x, dim=1)\n    return F.one_hot(k.flatten())": (
            "k = torch.argmax(x, dim=1)\n    return F.one_hot(k.flatten(), num_classes=x.shape[1])"
        ),
        "return F.one_hot(y % 4)": "return F.one_hot(y % 4, num_classes=4)",
        "return F.one_hot(y % n)": "return F.one_hot(y % n, num_classes=n)",
        "return torch.bincount(y, minlength=8)": "return F.one_hot(y.long(), 8).sum(0)",
        "return torch.bincount(y, minlength=n)": "return F.one_hot(y.long(), n).sum(0)",
        "return x.argmax(-1).bincount()": "return F.one_hot(x.argmax(-1), x.shape[-1]).sum(0)",
    },
    ("jax", "XLA207"): {
        "return jnp.bincount(x.argmax(-1))": "return jnp.bincount(x.argmax(-1), length=x.shape[-1])",
        "return jax.ops.segment_sum(y, x.argmax(-1))": (
            "return jax.ops.segment_sum(y, x.argmax(-1), num_segments=x.shape[-1])"
        ),
    },
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
    ("tensorflow", "XLA210"): {
        f"{GROWING}for i in tf.range(4):\n        a = a.write(i, x[i])\n    return a.stack()": (
            "a = tf.TensorArray(tf.float32, size=4)\n    for i in tf.range(4):\n        a = a.write(i, x[i])\n    return a.stack()"
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
        "return torch.bincount(y, weights=x, minlength=4)",
        "return torch.bincount(x.argmax(-1), minlength=n)",
        "return torch.repeat_interleave(x, y, dim=0)",
    ),
    ("jax", "XLA207"): ("return jnp.bincount(y)", "return jnp.repeat(x, y)", "return jnp.bincount(x.argmax())"),
    ("torch", "XLA203"): (
        "return torch.unique(y)",
        "for one in y.unique():\n        x = x + one\n    return x",
        "if y.unique().numel() == 1:\n        return x\n    return y",
        "return torch.unique(y, dim=0).shape[0] * x",
        "return torch.unique(y, return_counts=True)[1]",
        "return torch.zeros(y.unique().numel())",
        "return x * (y.unique().numel() == 2) * torch.zeros(len(y.unique()))",
    ),
    ("jax", "XLA203"): (
        "return jnp.unique(x)",
        "return jnp.unique(x).mean()",
        "return jnp.unique(x + y).sum()",
        "return jnp.unique(x, return_counts=True)[1].sum()",
        "return jnp.setxor1d(x, y).sum()",
    ),
    ("torch", "XLA209"): ("return torch.combinations(y)",),
    ("tensorflow", "XLA210"): (
        f"{GROWING}for i in tf.range(4):\n        if x[i, 0] > 0:\n            a = a.write(i, x[i])\n    return a.stack()",
        f"{GROWING}for i in tf.range(1, 4):\n        a = a.write(i, x[i])\n    return a.stack()",
        f"{GROWING}for i in tf.range(4):\n        a = a.write(i + 1, x[i])\n    return a.stack()",
        f"{GROWING}for i in tf.range(4):\n        a = a.write(a.size(), x[i])\n    return a.stack()",
        f"{GROWING}for i in tf.range(4):\n        a = a.write(i, x[i])\n        if i > 2:\n            break\n    return a.stack()",
        f"{GROWING}for i in tf.range(4):\n        a = a.write(i, x[i])\n    a = a.write(4, x[0])\n    return a.stack()",
        f"{GROWING}k = 3\n    for i in tf.range(k):\n        a = a.write(i, x[i])\n    return a.stack()",
        f"{GROWING}for i in tf.range(4):\n        i = i // 2\n        a = a.write(i, x[i])\n    return a.stack()",
    ),
}


@pytest.mark.parametrize(
    ("framework", "code", "before", "after"),
    [(*key, before, after) for key, pairs in CHANGED.items() for before, after in pairs.items()],
)
def test_changed(framework: str, code: str, before: str, after: str) -> None:
    program, target = CODES[framework]
    assert outcome(program.format(body=before), code, target=target).text == program.format(body=after)


@pytest.mark.parametrize(
    ("framework", "code", "body"), [(*key, body) for key, bodies in LEFT.items() for body in bodies]
)
def test_left_with_a_reason(framework: str, code: str, body: str) -> None:
    program, target = CODES[framework]
    found = outcome(program.format(body=body), code, target=target)
    assert found.text == program.format(body=body)
    assert found.reason
