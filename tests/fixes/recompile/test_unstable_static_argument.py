"""XLA405: static arguments that can be hashed, and numbers that become tensors."""

from __future__ import annotations

import pytest

from tests.fixes.fixing import expect_fixed, expect_left_alone, outcome

START = """\
from functools import partial

import jax
import jax.numpy as jnp
import tensorflow as tf


@partial(jax.jit, static_argnames=("shape",))
def filled(x, shape):
    return jnp.broadcast_to(x, shape)


@jax.jit
def added(total, x):
    return total + x.sum()


@tf.function
def decayed(x, step):
    return x * step


"""

LEFT_ALONE = {
    "a list that is empty": ("filled(jnp.ones(4), shape=[])\n", "a tuple"),
    "a number that changes": ("for i in range(9):\n    filled(jnp.ones(4), shape=i)\n", "leave it out"),
    "a number that becomes an array": (
        "total = 0.0\nfor _ in range(9):\n    total = added(total, jnp.ones(4))\n",
        "begin with an array",
    ),
}
FIXED = {
    "a list": ("filled(jnp.ones(4), shape=[4, 4])\n", "filled(jnp.ones(4), shape=(4, 4))\n", "unsafe"),
    "a list of one": ("filled(jnp.ones(4), shape=[4])\n", "filled(jnp.ones(4), shape=(4,))\n", "unsafe"),
    "a number for TensorFlow": (
        "for step in range(9):\n    decayed(tf.ones(4), step)\n",
        "for step in range(9):\n    decayed(tf.ones(4), tf.constant(step))\n",
        "unsafe",
    ),
}


@pytest.mark.parametrize(("text", "why"), LEFT_ALONE.values(), ids=LEFT_ALONE)
def test_left_alone_with_a_reason(text: str, why: str) -> None:
    expect_left_alone(outcome(START + text, "XLA405"), why)


@pytest.mark.parametrize(("before", "after", "applicability"), FIXED.values(), ids=FIXED)
def test_fixed(before: str, after: str, applicability: str) -> None:
    expect_fixed(outcome(START + before, "XLA405"), START + after, applicability)
