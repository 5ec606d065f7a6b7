"""Numbers that NumPy draws while code is traced: those of a seed that is set for them are the same at each trace."""

from __future__ import annotations

import pytest

from tests.conftest import Loud

START = "import random\nimport numpy as np\nimport jax\n\n"
SILENT = {
    "a generator with a seed": "@jax.jit\ndef f(x):\n    rng = np.random.default_rng(0)\n    return x + rng.normal(size=3)",
    "an older generator": "@jax.jit\ndef f(x):\n    rng = np.random.RandomState(seed=1)\n    return x[rng.permutation(3)]",
    "a generator of the moment": "@jax.jit\ndef f(x):\n    return x + np.random.default_rng(1).normal(size=3)",
    "the global one, seeded before": "@jax.jit\ndef f(x):\n    np.random.seed(3)\n    return x + np.random.normal()",
    "Python's": "@jax.jit\ndef f(x):\n    random.seed(3)\n    return x + random.random()",
    "seeded by the function around": (
        "def draw(n):\n    return np.random.permutation(n)\n\ndef plan(n, seed):\n    np.random.seed(seed)\n    return draw(n)\n\n"
        "@jax.jit\ndef f(x):\n    return x[plan(3, 1)]"
    ),
}
FOUND = {
    "no seed": "@jax.jit\ndef f(x):\n    return x + np.random.normal()",
    "a generator without one": "@jax.jit\ndef f(x):\n    rng = np.random.default_rng()\n    return x + rng.normal(size=3)",
    "a seed that is nothing": "@jax.jit\ndef f(x):\n    rng = np.random.default_rng(None)\n    return x + rng.normal(size=3)",
    "a generator that goes on": "RNG = np.random.default_rng(0)\n\n@jax.jit\ndef f(x):\n    return x + RNG.normal(size=3)",
    "seeded once for the run": (
        "@jax.jit\ndef f(x):\n    return x + np.random.normal()\n\ndef fit(x):\n    for _ in range(1000):\n        x = f(x)\n\n"
        "def main():\n    np.random.seed(0)\n    fit(1.0)"
    ),
}


@pytest.mark.parametrize("code", SILENT.values(), ids=SILENT)
def test_numbers_of_a_seed_are_frozen_on_purpose(code: str, loud: Loud) -> None:
    assert "XLA306" not in loud(START + code, "jax")


@pytest.mark.parametrize("code", FOUND.values(), ids=FOUND)
def test_other_numbers_are_found(code: str, loud: Loud) -> None:
    assert loud(START + code, "jax") == ["XLA306"]
