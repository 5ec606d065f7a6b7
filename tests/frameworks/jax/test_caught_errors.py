"""Code that provides for a tracer: it catches what that raises where a value is asked for."""

from __future__ import annotations

import pytest

from tests.conftest import Loud

# JAX 0.10.2 runs each of these under `jax.jit`.
CATCHES = """
import jax
import jax.numpy as jnp
import queue

class Unready(Exception):
    pass

KINDS = (TypeError, jax.errors.ConcretizationTypeError)
MORE = [TypeError]
MORE.append(ValueError)
MANY = tuple(MORE)

@jax.jit
def step(x):
    try:
        return x * float(x[0])
    except {}:
        return x
"""
SILENT = {
    "what a tracer raises": "jax.errors.ConcretizationTypeError",
    "what that derives from": "TypeError",
    "one of several": "(ValueError, TypeError)",
    "a name for several": "KINDS",
    "a name for what a list had": "MANY",
    "everything": "Exception",
}
FOUND = {
    "something else": "ValueError",
    "a library's": "queue.Empty",
    "one of its own": "Unready",
    "several others": "(ValueError, queue.Empty, Unready)",
}


@pytest.mark.parametrize("kinds", SILENT.values(), ids=list(SILENT))
def test_what_is_caught_is_silent(kinds: str, loud: Loud) -> None:
    assert loud(CATCHES.format(kinds), "jax") == []


@pytest.mark.parametrize("kinds", FOUND.values(), ids=list(FOUND))
def test_what_goes_on_to_the_caller_is_found(kinds: str, loud: Loud) -> None:
    assert loud(CATCHES.format(kinds), "jax") == ["XLA301"]
