"""XLA205: updates through a mask in JAX, `x.at[mask]`."""

from __future__ import annotations

import pytest

from tests.fixes.fixing import fixed
from tests.fixes.functions import JAX

UPDATES = {
    "set": ("x.at[x > 1].set(x.min())", "jnp.where(x > 1, x.min().astype(x.dtype), x)"),
    "add": ("x.at[x > 1].add(1)", "jnp.where(x > 1, x + 1, x)"),
    "max": ("x.at[x > 1].max(3)", "jnp.where(x > 1, jnp.maximum(x, 3), x)"),
    "another function": ("x.at[x > 1].apply(jnp.exp)", "x.at[x > 1].apply(jnp.exp)"),
    "options": ("x.at[x > 1].set(0, mode='drop')", "x.at[x > 1].set(0, mode='drop')"),
    "an array": ("x.at[x > 1].set(y)", "x.at[x > 1].set(y)"),
    "positions": ("x.at[y.argmax()].set(0)", "x.at[y.argmax()].set(0)"),
    "a row": ("x.at[0].set(0)", "x.at[0].set(0)"),
}


@pytest.mark.parametrize(("before", "after"), UPDATES.values(), ids=UPDATES)
def test_jax(before: str, after: str) -> None:
    text = JAX.format(body=f"return {before}")
    assert fixed(text, target="jax")[0] == JAX.format(body=f"return {after}")
