"""Sizes that a method which a framework calls is given: they are numbers, or nothing would run."""

from __future__ import annotations

import pytest

from tests.frameworks.selecting import list_codes

HEAD = "import flax.linen as nn\nimport haiku as hk\nimport jax\nimport jax.numpy as jnp\n\n"
SILENT = {
    "a size": "class Own(nn.Module):\n    def __call__(self, x, rows):\n        return x + jnp.zeros(rows)\n",
    "a size that is given to what Haiku transforms": (
        "class Core(hk.Module):\n    def start(self, rows):\n        return jnp.zeros(rows)\n\n"
        "start = hk.without_apply_rng(hk.transform(lambda rows: Core().start(rows)))\nstart.apply({}, 3)\n"
    ),
    "a size that a method hands on": (
        "def place(x, rows):\n    return jnp.reshape(x, [rows, -1])\n\n"
        "class Own(hk.Module):\n    def __call__(self, x, rows, at=None):\n        return place(x, rows)\n"
    ),
}
FOUND = {
    "a size that is computed": (
        "class Own(nn.Module):\n    def __call__(self, x, lengths: jax.Array):\n        return x + jnp.zeros(lengths.max())\n"
    ),
    "a size that a compiled function is given": "@jax.jit\ndef f(x, rows):\n    return x + jnp.zeros(rows)\n",
}


@pytest.mark.parametrize("case", SILENT)
def test_silent(case: str) -> None:
    assert list_codes(HEAD + SILENT[case], "sizes.py") == []


@pytest.mark.parametrize("case", FOUND)
def test_found(case: str) -> None:
    assert list_codes(HEAD + FOUND[case], "sizes.py") == ["XLA206"]
