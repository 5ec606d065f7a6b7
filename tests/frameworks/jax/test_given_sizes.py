"""Sizes that a method which a framework calls is given: they are numbers, or nothing would run."""

from __future__ import annotations

import pytest

from tests.frameworks.selecting import list_codes

HEAD = "import equinox as eqx\nimport flax.linen as nn\nimport haiku as hk\nimport jax\nimport jax.numpy as jnp\n\n"
SCAN = "def roll(state, turns):\n    def turn(state, _):\n        return state, state\n    return jax.lax.scan(turn, state, (), {0})\n\n"
CACHE = """
from __future__ import annotations
from flax import struct

@struct.dataclass
class Cache:
    rows: jax.Array
    length: jax.Array

class Part(nn.Module):
    def __call__(self, x, cache: Cache | None = None):
        if cache is not None:
            return cache.rows[: cache.length]
        return x

class Whole(nn.Module):
    def setup(self):
        self.part = Part()

    def __call__(self, x, caches: list[Cache] | None = None):
        return self.part(x, caches[0] if caches is not None else None)

def generate(params, x, caches):
    return Whole().apply(params, x, caches=caches)
"""
SILENT = {
    "how many turns a scan takes, under a filter": SCAN.format("turns") + "eqx.filter_jit(roll)",
    "how many turns it takes by name, under a filter": SCAN.format("length=turns") + "eqx.filter_jit(roll)",
    "what a cache has that only eager code passes": CACHE,
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
    "how many turns a scan takes, under a tracer of all": SCAN.format("turns") + "jax.jit(roll)",
    "what a cache has that a compiled function passes": CACHE.replace("def generate", "@jax.jit\ndef generate").replace(
        "x, caches):", "x, caches: list[Cache]):"
    ),
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
