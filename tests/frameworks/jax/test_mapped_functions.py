"""Functions that run for each row of what they are passed: ranks around them are not those in them. JAX 0.10.2 runs what is silent."""

from __future__ import annotations

from textwrap import dedent

import pytest

from tests.conftest import Loud

HEAD = """
import jax
import jax.numpy as jnp

def score(key):
    return jax.random.normal(key, (7,)), jnp.zeros((3,))

@jax.vmap
def each(key):
    return jnp.zeros((3,))

def none():
    return jnp.zeros((7,)), jnp.zeros((3,))
"""

SILENT = {
    "a row of what is stacked": """
        @jax.jit
        def f(keys, flag):
            def some():
                rows, zeros = jax.vmap(score)(keys)
                return rows[0], zeros.mean(axis=0)

            return jax.lax.cond(flag > 0, some, none)
        """,
    "of a function that is decorated": """
        @jax.jit
        def f(keys, flag):
            return jax.lax.cond(flag > 0, lambda: each(keys)[0], lambda: jnp.zeros((3,)))
        """,
    "of each replica": """
        def f(keys, flag):
            def some():
                rows, zeros = jax.pmap(score)(keys)
                return rows[0], zeros[0]

            return jax.lax.cond(flag > 0, some, none)

        g = jax.jit(f)
        """,
    "a row that is passed": """
        @jax.jit
        def f(table, flag):
            return jax.vmap(lambda row: jax.lax.cond(flag > 0, lambda: row, lambda: jnp.zeros((3,))))(table)

        f(jnp.zeros((4, 3)), 1)
        """,
    "a branch for whole numbers, of what has a point": """
        def spread(x, labels):
            if jnp.issubdtype(labels.dtype, jnp.integer):
                labels = jax.nn.one_hot(labels, labels.max() + 1)
            return labels @ x

        @jax.jit
        def f(x, y):
            return spread(x, jax.nn.one_hot(y, 3))
        """,
    "a branch for what has a point, of whole numbers": """
        @jax.jit
        def f(x):
            order = jnp.argmax(x, -1)
            if jnp.issubdtype(order.dtype, jnp.floating):
                order = jnp.zeros(order.max())
            return order
        """,
}
FOUND = {
    "a row of what is not stacked": (
        """
        @jax.jit
        def f(key, flag):
            def some():
                rows, zeros = score(key)
                return rows[0], zeros

            return jax.lax.cond(flag > 0, some, none)
        """,
        "XLA108",
    ),
    "a branch for whole numbers, of such": (
        """
        @jax.jit
        def f(x):
            order = jnp.argmax(x, -1)
            if jnp.issubdtype(order.dtype, jnp.integer):
                return jnp.zeros(order.max())
            return order
        """,
        "XLA206",
    ),
}


@pytest.mark.parametrize("code", SILENT.values(), ids=SILENT)
def test_what_jax_runs_is_silent(code: str, loud: Loud) -> None:
    assert loud(HEAD + dedent(code), "jax") == []


@pytest.mark.parametrize(("code", "wanted"), FOUND.values(), ids=FOUND)
def test_what_jax_refuses_is_found(code: str, wanted: str, loud: Loud) -> None:
    assert loud(HEAD + dedent(code), "jax") == [wanted]
