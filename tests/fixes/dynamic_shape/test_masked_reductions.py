"""XLA201, XLA204: reductions of what a mask selects, and selections that are left alone."""

from __future__ import annotations

import pytest

from tests.fixes.fixing import expect_settled, fixed

HEADS = {
    "torch_xla": "import torch\n\n\ndef f({}) -> torch.Tensor:\n",
    "jax": "import jax\nimport jax.numpy as jnp\n\n\n@jax.jit\ndef f({}) -> jax.Array:\n",
    "tf": "import tensorflow as tf\n\n\n@tf.function(jit_compile=True)\ndef f({}) -> tf.Tensor:\n",
}
PARAMETERS = {
    "torch_xla": "x: torch.Tensor, y: torch.Tensor, m: torch.BoolTensor",
    "jax": "x: jax.Array, y: jax.Array",
    "tf": "x: tf.Tensor, y: tf.Tensor",
}


def program(body: str, target: str, parameters: str = "") -> str:
    lines = body.split("\n")
    lines[-1] = f"return {lines[-1]}"
    return HEADS[target].format(parameters or PARAMETERS[target]) + "".join(f"    {line}\n" for line in lines)


LEFT = {
    "kept": "x[m]",
    "reduced along a dimension": "x[m].sum(0)",
    "with an option": "x[m].sum(dtype=torch.float64)",
    "an exponential, which is not zero for zero": "x[x > 0].exp().sum()",
    "a root, whose slope at zero is infinite": "x[x > 0].sqrt().sum()",
    "two masks": "(x[x > 0] - y[y > 0]).sum()",
    "the maximum of squares": "(x[x > 0] ** 2).max()",
    "a name that is indexed too": "k = x[x > 0]\nk.sum() + k[0]",
    "a name whose size is asked": "k = x[x > 0]\nk.sum() / k.shape[0]",
    "a name that is bound again": "k = x[x > 0]\nif y.ndim > 1:\n    k = y\nk.sum()",
    "a mask that changes before the mean": "k = x[x > 0]\nx += 1\nk.mean()",
    "a mask of the name that is bound": "x = x[~x.isnan()]\nx.mean()",
    "a mean by a mask of unknown rank": "x[m].mean()",
    "a median": "x[x > 0].median()",
    "a mask of random numbers, needed twice": "x[torch.rand_like(x) > 0.5].mean()",
    "the maximum of bools": "(x > 1)[x > 0].max()",
    "positions": "x[y.argsort()].sum()",
}


@pytest.mark.parametrize("body", LEFT.values(), ids=LEFT)
def test_left_alone(body: str) -> None:
    text = program(body, "torch_xla")
    assert fixed(text)[0] == text


SAFE = {
    "any": ("x[x > 0].any()", "torch.where(x > 0, x, False).any()"),
    "all": ("torch.all(x[x > 0])", "torch.all(torch.where(x > 0, x, True))"),
    "any of bools": ("(x < y)[x < y].any()", "torch.where(x < y, x < y, False).any()"),
    "a count of what is false": ("k = x < y\n(~k)[k].sum()", "k = x < y\n(~k & k).sum()"),
    "all of bools": ("k = x < y\nk[k].all()", "k = x < y\n(k | ~k).all()"),
    "the minimum of integers": (
        "x = x.long()\nx[x > 0].amin()",
        "x = x.long()\ntorch.where(x > 0, x, torch.iinfo(x.dtype).max).amin()",
    ),
    "a sum of integers": ("x = x.long()\nx[x > 0].sum()", "x = x.long()\ntorch.where(x > 0, x, 0).sum()"),
    "a product of integers": ("x = x.long()\nx[x > 0].prod()", "x = x.long()\ntorch.where(x > 0, x, 1).prod()"),
}


@pytest.mark.parametrize(("before", "after"), SAFE.values(), ids=SAFE)
def test_safe(before: str, after: str) -> None:
    expect_settled(program(before, "torch_xla"), program(after, "torch_xla"), unsafe=False)


UNSAFE = {
    "the maximum of floats": (
        "x = x.float()\nx[x > 0].max()",
        'x = x.float()\ntorch.where(x > 0, x, float("-inf")).max()',
    ),
    "a sum": ("x[x > 0].sum()", "torch.where(x > 0, x, 0).sum()"),
    "a mean": ("x[x > 0].mean()", "torch.where(x > 0, x, 0).sum() / (x > 0).sum()"),
    "a mean by the function": ("torch.mean(x[x > 0])", "torch.sum(torch.where(x > 0, x, 0)) / (x > 0).sum()"),
    "a mean as an operand": (
        "2 * x[x > 0].mean() + 1",
        "2 * (torch.where(x > 0, x, 0).sum() / (x > 0).sum()) + 1",
    ),
    "a mean that is squared": ("x[x > 0].mean() ** 2", "(torch.where(x > 0, x, 0).sum() / (x > 0).sum()) ** 2"),
    "rows": (
        "batch, width = x.shape\nx[x[:, 0] > 0].mean()",
        "batch, width = x.shape\ntorch.where((x[:, 0] > 0)[:, None], x, 0).sum() / (x[:, 0] > 0)[:, None].expand_as(x).sum()",
    ),
    "a distance": (
        "batch, width = x.shape\n(batch, width) = y.shape\nk = x > 0\n(x[k] - y[k]).abs().mean()",
        "batch, width = x.shape\n(batch, width) = y.shape\nk = x > 0\ntorch.where(k, x - y, 0).abs().sum() / k.sum()",
    ),
    "squares": ("k = x > 0\n((x[k] - 1) ** 2).sum()", "k = x > 0\n(torch.where(k, x - 1, 0) ** 2).sum()"),
    "by name": (
        "k = x > 0\nchosen = x[k]\nchosen.mean() + chosen.abs().sum()",
        "k = x > 0\nchosen = torch.where(k, x, 0)\nchosen.sum() / k.sum() + chosen.abs().sum()",
    ),
    "masked_select": ("torch.masked_select(x, m).sum()", "torch.where(m, x, 0).sum()"),
}


@pytest.mark.parametrize(("before", "after"), UNSAFE.values(), ids=UNSAFE)
def test_unsafe(before: str, after: str) -> None:
    text, done = fixed(program(before, "torch_xla"))
    assert text == program(after, "torch_xla")
    assert all(finding.fix and finding.fix.applicability == "unsafe" for finding in done.findings)
    assert fixed(text)[0] == text


OTHERS = {
    "jax: a mean": ("jax", "x[x > 0].mean()", "x.mean(where=x > 0)"),
    "jax: the function": ("jax", "jnp.sum(x[x > 0])", "jnp.sum(x, where=x > 0)"),
    "jax: a standard deviation": ("jax", "x[x > 0].std()", "x.std(where=x > 0)"),
    "jax: a maximum": ("jax", "x[x > 0].max()", "x.max(where=x > 0, initial=-jnp.inf)"),
    "jax: a distance": ("jax", "jnp.abs(x[x > 0] - 1).mean()", "jnp.abs(jnp.where(x > 0, x - 1, 0)).mean(where=x > 0)"),
    "jax: along an axis": ("jax", "x[x > 0].sum(axis=0)", "x[x > 0].sum(axis=0)"),
    "tf: a sum": ("tf", "tf.reduce_sum(x[x > 0])", "tf.reduce_sum(tf.where(x > 0, x, 0))"),
    "tf: a mean": (
        "tf",
        "tf.reduce_mean(tf.boolean_mask(x, x > 0))",
        "tf.reduce_sum(tf.where(x > 0, x, 0)) / tf.math.count_nonzero(x > 0, dtype=x.dtype)",
    ),
    "tf: kept": ("tf", "tf.boolean_mask(x, x > 0)", "tf.boolean_mask(x, x > 0)"),
    "tf: along an axis": (
        "tf",
        "tf.reduce_sum(tf.boolean_mask(x, x > 0), axis=0)",
        "tf.reduce_sum(tf.boolean_mask(x, x > 0), axis=0)",
    ),
}


@pytest.mark.parametrize(("target", "before", "after"), OTHERS.values(), ids=OTHERS)
def test_other_frameworks(target: str, before: str, after: str) -> None:
    assert fixed(program(before, target), target=target)[0] == program(after, target)
