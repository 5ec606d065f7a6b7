"""Loops over traced values, in JAX."""

from __future__ import annotations

import pytest

from tests.fixes.fixing import append_indented, expect_fixed, expect_left_alone, outcome


def program(code: str) -> str:
    return append_indented(
        "import jax\nimport jax.numpy as jnp\n\nSEEN = []\n\n\n@jax.jit\n"
        "def run(x: jax.Array, y: jax.Array, n: jax.Array) -> jax.Array:\n",
        code,
    )


LEFT_ALONE = {
    "a branch": ("for i in range(n):\n    if x.ndim:\n        x = x + 1\nreturn x", "XLA107", "more than assign names"),
    "a call": ("for i in range(n):\n    print(x)\n    x = x + 1\nreturn x", "XLA107", "more than assign names"),
    "a break": ("for i in range(n):\n    x = x + 1\n    break\nreturn x", "XLA107", "more than assign names"),
    "an element": ("z = [x]\nfor i in range(n):\n    z[0] = x + 1\nreturn x", "XLA107", "more than assign names"),
    "two names at once": ("for i in range(n):\n    x, y = y, x\nreturn x", "XLA107", "more than assign names"),
    "an else": ("for i in range(n):\n    x = x + 1\nelse:\n    x = y\nreturn x", "XLA107", "more than assign names"),
    "a step": ("for i in range(0, n, 2):\n    x = x + 1\nreturn x", "XLA107", "has a step"),
    "a counter that is read later": (
        "for i in range(n):\n    x = x + 1\nreturn x + i",
        "XLA107",
        "read after the loop",
    ),
    "a counter as a size": ("for i in range(n):\n    x = x + jnp.ones(i)\nreturn x", "XLA107", "may not take"),
    "a counter as a key": (
        "z = {0: y}\nfor i in range(n):\n    x = x + z[i]\nreturn x",
        "XLA107",
        "may not take",
    ),
    "a number that becomes an array": (
        "z = 0\nfor i in range(n):\n    z = z + x.sum()\nreturn z",
        "XLA107",
        "not an array in every iteration",
    ),
    "a name that may be unset": ("for i in range(n):\n    z = x + 1\nreturn z", "XLA107", "may be unset"),
    "a name that a branch sets": (
        "if x.ndim:\n    z = x\nfor i in range(n):\n    z = z + 1\nreturn z",
        "XLA107",
        "may be unset",
    ),
    "nothing": ("for i in range(n):\n    z = x + 1\nreturn x", "XLA107", "nothing that the loop computes"),
    "a condition that is not known": (
        "while x.sum() > 1 and len(SEEN):\n    x = x / 2\nreturn x",
        "XLA102",
        "not one array of bools",
    ),
    "an `or` with a bound": (
        "k = 0\nwhile x.sum() > 1 or k < 3:\n    x = x / 2\n    k += 1\nreturn x",
        "XLA102",
        "not one array of bools",
    ),
    "a counter that doubles": (
        "k = 1\nwhile x.sum() > 1 and k < 30:\n    x = x / 2\n    k = k * 2\nreturn x",
        "XLA102",
        "not an array in every iteration",
    ),
    "a counter as a size of the turn": (
        "k = 1\nwhile x.sum() > 1 and k < 30:\n    x = x - jnp.ones(k).sum()\n    k = k + 1\nreturn x",
        "XLA102",
        "not an array in every iteration",
    ),
    "a counter that the host reads later": (
        "k = 1\nwhile x.sum() > 1 and k < 30:\n    x = x / 2\n    k = k + 1\nreturn x if k > 3 else y",
        "XLA102",
        "not an array in every iteration",
    ),
    "a counter of floats": (
        "k = 1.0\nwhile x.sum() > 1 and k < 30:\n    x = x / 2\n    k = k + 1\nreturn x",
        "XLA102",
        "not an array in every iteration",
    ),
    "a number as a condition": ("while x.sum():\n    x = x - 1\nreturn x", "XLA102", "not one array of bools"),
}

UNSAFE = {
    "a count": (
        "for _ in range(n):\n    x = jnp.tanh(x)\nreturn x + y",
        "XLA107",
        "x = jax.lax.fori_loop(0, n, lambda _, x: jnp.tanh(x), x)\nreturn x + y",
    ),
    "what is returned": (
        "for _ in range(n):\n    x = jnp.tanh(x)\nreturn x",
        "XLA107",
        "return jax.lax.fori_loop(0, n, lambda _, x: jnp.tanh(x), x)",
    ),
    "int": (
        "for i in range(1, int(n)):\n    x += y[i]\nreturn x",
        "XLA107",
        "return jax.lax.fori_loop(1, n, lambda i, x: x + y[i], x)",
    ),
    "two names": (
        "for i in range(n):\n    x = x + 1\n    y = y * x  # more\nreturn x + y",
        "XLA107",
        "def body(i, carry):\n    x, y = carry\n    x = x + 1\n    y = y * x  # more\n    return x, y\n\n"
        "x, y = jax.lax.fori_loop(0, n, body, (x, y))\nreturn x + y",
    ),
    "a name of one turn": (
        "z = y\nfor i in range(n):\n    w = x[i]\n    z = z + w\nreturn z",
        "XLA107",
        "z = y\n\ndef body(i, z):\n    w = x[i]\n    z = z + w\n    return z\n\nreturn jax.lax.fori_loop(0, n, body, z)",
    ),
    "a condition": (
        "while jnp.abs(x).sum() > 2:\n    x = x * 0.5\nreturn x",
        "XLA102",
        "return jax.lax.while_loop(lambda x: jnp.abs(x).sum() > 2, lambda x: x * 0.5, x)",
    ),
    "two conditions": (
        "while x.sum() > 1 and y.sum() > 1:\n    x = x / 2\nreturn x",
        "XLA102",
        "return jax.lax.while_loop(\n    lambda x: (x.sum() > 1) & (y.sum() > 1),\n    lambda x: x / 2,\n    x,\n)",
    ),
    "a bound": (
        "k = 0\nwhile k < 6 and jnp.abs(x).sum() > 2:\n    x = x * 0.5 + y[k]\n    k += 1\nreturn x",
        "XLA102",
        "k = 0\n\ndef going(carry):\n    x, k = carry\n    return (k < 6) & (jnp.abs(x).sum() > 2)\n\n"
        "def body(carry):\n    x, k = carry\n    x = x * 0.5 + y[k]\n    k += 1\n    return x, k\n\n"
        "x, k = jax.lax.while_loop(going, body, (x, k))\nreturn x",
    ),
    "a condition on two names": (
        "while x.sum() > y.sum():\n    x = x * 0.5\n    y = y * 0.9\nreturn x",
        "XLA102",
        "def going(carry):\n    x, y = carry\n    return x.sum() > y.sum()\n\n"
        "def body(carry):\n    x, y = carry\n    x = x * 0.5\n    y = y * 0.9\n    return x, y\n\n"
        "x, y = jax.lax.while_loop(going, body, (x, y))\nreturn x",
    ),
}


@pytest.mark.parametrize(("before", "code", "why"), LEFT_ALONE.values(), ids=LEFT_ALONE)
def test_left_alone_with_a_reason(before: str, code: str, why: str) -> None:
    expect_left_alone(outcome(program(before), code, target="jax"), why)


@pytest.mark.parametrize(("before", "code", "after"), UNSAFE.values(), ids=UNSAFE)
def test_unsafe(before: str, code: str, after: str) -> None:
    expect_fixed(
        outcome(program(before), code, target="jax"),
        program(after),
        "unsafe",
        "keep",
        "no gradient is taken in reverse",
    )


@pytest.mark.parametrize(
    ("code", "rule"),
    [
        ("for _ in range(int(n)):\n    x = x + 1\nreturn x", "XLA107"),
        ("while n > 0:\n    n = n - 1\nreturn n", "XLA102"),
    ],
)
def test_torch_needs_a_bound(code: str, rule: str) -> None:
    lines = code.replace("\n", "\n    ")
    text = f"import torch\n\n\n@torch.compile\ndef run(x: torch.Tensor, n: torch.Tensor):\n    {lines}\n"
    expect_left_alone(outcome(text, rule), "no bound")
