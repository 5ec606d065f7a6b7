"""XLA603: dtypes as JAX gives them."""

from __future__ import annotations

import pytest

from tests.fixes.fixing import expect_fixed, expect_left_alone, outcome

START = "import jax\nimport jax.numpy as jnp\n\n\n@jax.jit\ndef f(x: jax.Array) -> jax.Array:\n    "

LEFT_ALONE = {
    "a dtype by a name": ("return x.astype('float64')\n", "named elsewhere"),
}
FIXED = {
    "a float": ("return x.astype(jnp.float64)\n", "return x.astype(jnp.float32)\n", "unsafe"),
    "a complex number": ("return x.astype(jnp.complex128)\n", "return x.astype(jnp.complex64)\n", "unsafe"),
}


@pytest.mark.parametrize(("text", "why"), LEFT_ALONE.values(), ids=LEFT_ALONE)
def test_left_alone_with_a_reason(text: str, why: str) -> None:
    expect_left_alone(outcome(START + text, "XLA603", target="jax"), why)


@pytest.mark.parametrize(("before", "after", "applicability"), FIXED.values(), ids=FIXED)
def test_fixed(before: str, after: str, applicability: str) -> None:
    expect_fixed(outcome(START + before, "XLA603", target="jax"), START + after, applicability)
