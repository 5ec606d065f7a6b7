"""Masks in code that nothing traces: each new size is compiled, which costs where something computes with it again and again."""

from __future__ import annotations

import pytest

from tests.conftest import Loud

START = "import jax\nimport jax.numpy as jnp\n\n"
HELPER = "def present(x: jax.Array):\n    return x[x > 0]\n\n"

SILENT = {
    "numbers that are drawn, called a mask": (
        "@jax.jit\ndef f(x, key):\n    mask = jax.random.choice(key, jnp.arange(3), shape=(3,), replace=False)\n"
        "    other_mask = jax.random.choice(key, 3, shape=(3,))\n    return x[mask] + x[other_mask]\n"
    ),
    "a helper that a library's function calls once": HELPER
    + "def scale(x: jax.Array):\n    return jnp.sum(present(x))\n",
    "two calls deep": (
        HELPER
        + "def scale(x: jax.Array):\n    return jnp.sum(present(x))\n\ndef correct(x: jax.Array):\n    return x * scale(x)\n"
    ),
    "a method": "class Result:\n    def __init__(self, actions: jax.Array):\n        self.actions = jnp.asarray(actions)\n\n"
    "    def solution(self):\n        return self.actions[self.actions != 0]\n",
    "a helper that is given no array, and called once": (
        "def rows(data):\n    return data['x'][jnp.asarray(data['mask']) > 0]\n\ndef load(path):\n    return rows(path)\n"
    ),
}
FOUND = {
    "a library's function of arrays": (HELPER, ["XLA201"]),
    "a helper that a loop calls": (
        HELPER + "def total(xs: jax.Array, n: int):\n    return [jnp.sum(present(xs[i])) for i in range(n)]\n\n"
        "def run(xs: jax.Array, n: int):\n    s = 0\n    for i in range(n):\n        s += jnp.sum(present(xs[i]))\n    return s\n",
        ["XLA201"],
    ),
    "a helper two calls below a loop": (
        HELPER + "def scale(x: jax.Array):\n    return jnp.sum(present(x))\n\n"
        "def run(xs: jax.Array, n: int):\n    s = 0\n    for i in range(n):\n        s += scale(xs[i])\n    return s\n",
        ["XLA201"],
    ),
    "a helper that is traced": (HELPER + "@jax.jit\ndef f(x):\n    return jnp.sum(present(x))\n", ["XLA201"]),
}


@pytest.mark.parametrize("code", SILENT.values(), ids=list(SILENT))
def test_what_runs_once_is_silent(code: str, loud: Loud) -> None:
    assert loud(START + code, "jax") == []


@pytest.mark.parametrize(("code", "rules"), FOUND.values(), ids=list(FOUND))
def test_what_is_computed_again_is_found(code: str, rules: list[str], loud: Loud) -> None:
    assert loud(START + code, "jax") == rules
