"""Modules that also run without JAX: what they fall back to is no part of what JAX traces."""

from __future__ import annotations

import pytest

from tests.conftest import Loud

FALLBACK = """
try:
    import jax
    import jax.numpy as jnp
    HAS_JAX = True
except ImportError:
    import numpy as jnp
    HAS_JAX = False
import numpy as np
"""
FLAG = """
try:
    import jax
    AVAILABLE = True
except Exception:
    AVAILABLE = False
if AVAILABLE:
    import jax.numpy as jnp
if not AVAILABLE:
    import numpy as jnp
import numpy as np
"""
DEFINED = """
try:
    from jax import jit
    import jax.numpy as jnp
except (ImportError, AttributeError):
    import numpy as jnp
    def jit(function):
        return function
"""
CONVERTS = """
@jax.jit
def step(x):
    return jnp.asarray(x) + 1
"""

SILENT = {
    "NumPy under the name of jax.numpy": FALLBACK + CONVERTS,
    "NumPy under that name where a flag says so": FLAG + CONVERTS,
    "a way for NumPy's arrays, by flag": FALLBACK
    + """
@jax.jit
def step(x):
    if HAS_JAX and isinstance(x, jax.Array):
        return x + 1
    return np.asarray(x) + 1
""",
    "a way for NumPy in the function": """
import numpy as np
import jax

def convert(x):
    try:
        import jax.numpy as jnp
    except ModuleNotFoundError:
        return np.asarray(x)
    return jnp.asarray(x)

@jax.jit
def step(x):
    return convert(x) + 1
""",
    "a function of one's own where there is no JAX": DEFINED
    + """
@jit
def step(x):
    return jnp.asarray(x)
""",
}
FOUND = {
    "NumPy by its own name": (FALLBACK + "@jax.jit\ndef step(x):\n    return np.asarray(x)\n", ["XLA302"]),
    "a branch by the flag": (
        FALLBACK + "@jax.jit\ndef step(x):\n    if HAS_JAX:\n        return np.asarray(x)\n    return x\n",
        ["XLA302"],
    ),
    "a test under a decorator that has a stand-in": (
        DEFINED + "@jit\ndef step(x):\n    if x.sum() > 0:\n        return x\n    return -x\n",
        ["XLA101"],
    ),
    "NumPy, which is imported last": (
        "import jax.numpy as jnp\nimport jax\nimport numpy as jnp\n@jax.jit\ndef step(x):\n    return jnp.asarray(x)\n",
        ["XLA302"],
    ),
}


@pytest.mark.parametrize("code", SILENT.values(), ids=list(SILENT))
def test_what_runs_without_jax_is_not_traced(code: str, loud: Loud) -> None:
    assert loud(code, "jax") == []


@pytest.mark.parametrize(("code", "rules"), FOUND.values(), ids=list(FOUND))
def test_what_runs_with_jax_is_found(code: str, rules: list[str], loud: Loud) -> None:
    assert loud(code, "jax") == rules
