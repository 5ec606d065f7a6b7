"""Numbers, flags and texts that calls pass to what `tf.function` traces: they stay what they are."""

from __future__ import annotations

from textwrap import dedent

import pytest

from tests.conftest import Loud

HEAD = """
import tensorflow as tf
"""
SHAPED = """
@tf.function(jit_compile=True)
def f(x, n):
    return tf.zeros(n) + tf.reduce_sum(x)
"""

# Each was run on TensorFlow 2.21: it compiles, and once for all calls that pass the same.
SILENT = {
    "a number": SHAPED + "f(tf.ones(3), 4)",
    "a number by its name": SHAPED + "f(tf.ones(3), n=4)",
    "a list of numbers": SHAPED + "f(tf.ones(3), [4, 2])",
    "a number below zero is one": """
        @tf.function(jit_compile=True)
        def f(x, axis):
            return tf.concat([x] * (axis + 3), 0)

        f(tf.ones(3), -1)
        """,
    "a name that holds one": SHAPED + "def main():\n    size = 4\n    return f(tf.ones(3), size)",
    "what a loop goes through": SHAPED + "def main():\n    for shape in [[2], [3, 4]]:\n        f(tf.ones(3), shape)",
    "what a list that is gone through holds": (
        SHAPED + "def main():\n    shapes = [[2], [3, 4]]\n    for shape in shapes:\n        f(tf.ones(3), shape)"
    ),
    "what a loop counts": SHAPED + "def main():\n    for n in range(3):\n        f(tf.ones(3), n)",
    "a default that no call replaces": """
        @tf.function(jit_compile=True)
        def f(x, verbose=False):
            if verbose:
                print(x.numpy())
            return x

        f(tf.ones(3))
        """,
    "a function that is handed over and called at once": """
        def f(x, n):
            return tf.concat([x] * n, 0)

        def main():
            return tf.function(f, jit_compile=True)(tf.ones(3), 2)
        """,
    "a nested function": """
        def main():
            @tf.function(jit_compile=True)
            def f(x, n):
                return tf.zeros(n) + x

            return f(tf.ones(4), 4)
        """,
    "a method": """
        class Model:
            @tf.function(jit_compile=True)
            def run(self, x, n):
                return tf.zeros(n) + tf.reduce_sum(x)

        def main(model):
            return model.run(tf.ones(3), 4)
        """,
}
FOUND = {
    "nothing calls it": SHAPED,
    "a tensor": SHAPED + "f(tf.ones(3), tf.constant(4))",
    "a tensor and a number": SHAPED + "f(tf.ones(3), 4)\nf(tf.ones(3), tf.constant(4))",
    "what is not known": SHAPED + "def main(size):\n    return f(tf.ones(3), size)",
    "a name that holds a number or something else": (
        SHAPED + "def main(other):\n    size = 4\n    if other:\n        size = other\n    return f(tf.ones(3), size)"
    ),
    "what a star passes": SHAPED + "def main(args):\n    return f(*args)",
    "another function of the name": SHAPED + "def main(other):\n    return other.f(tf.ones(3), 4)",
}


def program(code: str) -> str:
    return HEAD + dedent(code)


@pytest.mark.parametrize("code", SILENT.values(), ids=SILENT)
def test_what_calls_pass_stays_a_number(code: str, loud: Loud) -> None:
    assert loud(program(code), "tf") == []


@pytest.mark.parametrize("code", FOUND.values(), ids=FOUND)
def test_what_may_be_a_tensor_is_one(code: str, loud: Loud) -> None:
    assert loud(program(code), "tf") == ["XLA206"]


def test_a_tracer_that_replaces_numbers_gets_tensors(loud: Loud) -> None:
    code = "import jax\nimport jax.numpy as jnp\n\n@jax.jit\ndef f(x, n):\n    return jnp.zeros(n) + x\n\nf(jnp.ones(4), 4)\n"
    assert loud(code, "jax") == ["XLA206"]
