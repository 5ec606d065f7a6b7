"""What a jitted function keeps of what it traces."""

from __future__ import annotations

from textwrap import dedent

import pytest

from tests.conftest import Loud

IMPORTS = "import functools\nimport jax\nimport jax.numpy as jnp\nimport flax.linen as nn\nfrom flax import nnx\n"

# JAX 0.10.2 runs each of these, and what follows.
SILENT = {
    "calls that are counted in a table, of which nothing is computed": (
        "TOLD = {'calls': 0}\n\n@jax.jit\ndef f(x):\n    TOLD['calls'] += 1\n    return x * 2"
    ),
    "a local name": "@jax.jit\ndef f(x):\n    last = x * 2\n    return last",
    "a number of the host": """
        class A:
            @functools.partial(jax.jit, static_argnums=0)
            def step(self, x):
                self.rank = x.ndim
                return x
        """,
    "what is added to a local name, and to what is traced": """
        @jax.jit
        def f(state, x):
            total = 0
            total += x.sum()
            state.total += x.sum()
            return total
        """,
    "a number of the host that is added": """
        class A:
            @functools.partial(jax.jit, static_argnums=0)
            def step(self, x):
                self.rows += x.shape[0]
                return x
        """,
    "a method that nothing traces": """
        class A:
            def step(self, x):
                self.last = jnp.sin(x)
                return x
        """,
    "a module's own": """
        class Net(nn.Module):
            def setup(self):
                self.scale = jnp.ones(3)

            @nn.compact
            def __call__(self, x):
                self.last = x * 2
                return self.last
        """,
    "what a transformation gives back": """
        class Count(nnx.Module):
            @nnx.jit
            def __call__(self, x):
                self.last = x * 2
                return x
        """,
    "an attribute of what is traced": """
        @jax.jit
        def f(state, x):
            state.last = x
            return state
        """,
    "a name of the function around it": """
        @jax.jit
        def f(x):
            last = None

            def inner(y):
                nonlocal last
                last = y * 2
                return y

            return inner(x) + last
        """,
    "before the call": "last = jnp.ones(3)\n\n@jax.jit\ndef f(x):\n    return x + last",
}
FOUND = {
    "a number in a table that enters the graph": (
        "TOLD = {'calls': 0}\n\n@jax.jit\ndef f(x):\n    TOLD['calls'] += 1\n    return x * TOLD['calls']"
    ),
    "what is added to an attribute of a static self": """
        class A:
            @functools.partial(jax.jit, static_argnums=0)
            def step(self, x):
                self.total += x.sum()
                return x
        """,
    "an attribute of a static self": """
        class A:
            @functools.partial(jax.jit, static_argnums=0)
            def step(self, x):
                self.last = x * 2
                return x
        """,
    "an attribute of a self that is static by name": """
        class A:
            @functools.partial(jax.jit, static_argnames=("self",))
            def step(self, x):
                y = self.last = jnp.sin(x)
                return y
        """,
    "a global": "last = None\n\n@jax.jit\ndef f(x):\n    global last\n    last = x * 2\n    return x",
}


@pytest.mark.parametrize("code", SILENT.values(), ids=list(SILENT))
def test_what_nothing_outlives_is_silent(code: str, loud: Loud) -> None:
    assert loud(IMPORTS + dedent(code), "jax") == []


@pytest.mark.parametrize("code", FOUND.values(), ids=list(FOUND))
def test_what_is_kept_is_found(code: str, loud: Loud) -> None:
    assert loud(IMPORTS + dedent(code), "jax") == ["XLA306"]
