"""Carries of loops in JAX's graphs, whose shape no turn may change, run on JAX 0.10.2."""

from __future__ import annotations

from textwrap import dedent

import pytest

from tests.conftest import Loud

IMPORTS = "import jax\nimport jax.numpy as jnp\n"

SILENT = {
    "a carry from which as much goes": """
        @jax.jit
        def f(x):
            return jax.lax.scan(lambda c, y: (jnp.concatenate([c[1:], y[None]]), c.sum()), x, x)
        """,
    "rows that are collected": """
        @jax.jit
        def f(x):
            return jax.lax.scan(lambda c, y: (c + y, jnp.append(x, c)), 0.0, x)
        """,
    "a carry that is cut behind it": """
        @jax.jit
        def f(x):
            def body(c, y):
                c = jnp.append(c, y)
                c = c[1:]
                return c, None

            return jax.lax.scan(body, x, x)
        """,
    "the index of a turn": """
        @jax.jit
        def f(x):
            return jax.lax.fori_loop(0, 3, lambda i, c: c + jnp.append(i, 1).sum(), x)
        """,
    "one part alone": """
        @jax.jit
        def f(x):
            return jax.lax.fori_loop(0, 3, lambda i, c: jnp.concatenate([c]), x)
        """,
    "a sum of what is put together": """
        @jax.jit
        def f(x):
            return jax.lax.while_loop(lambda c: c.sum() < 9, lambda c: c + jnp.concatenate([c, c]).sum() + 1, x)
        """,
    "a loop of Python's": """
        @jax.jit
        def f(x):
            for _ in range(3):
                x = jnp.append(x, 1.0)
            return x
        """,
}
FOUND = {
    "scan": """
        @jax.jit
        def f(x):
            def body(c, y):
                c = jnp.concatenate([c, y[None]])
                return c, None

            return jax.lax.scan(body, x, x)
        """,
    "fori_loop": """
        @jax.jit
        def f(x):
            return jax.lax.fori_loop(0, 3, lambda i, c: jnp.append(c, 1.0), x)
        """,
    "while_loop": """
        @jax.jit
        def f(x):
            return jax.lax.while_loop(lambda c: c.sum() < 9, lambda c: jnp.hstack([c, c]), x)
        """,
}


@pytest.mark.parametrize("code", SILENT.values(), ids=list(SILENT))
def test_carries_of_one_shape_are_silent(code: str, loud: Loud) -> None:
    assert loud(IMPORTS + dedent(code), "jax") == []


@pytest.mark.parametrize("code", FOUND.values(), ids=list(FOUND))
def test_carries_that_grow_are_found(code: str, loud: Loud) -> None:
    assert loud(IMPORTS + dedent(code), "jax") == ["XLA108"]
