"""Functions of the program's own around TensorFlow's, and what the host's Python gives to a graph."""

from __future__ import annotations

from textwrap import dedent

import pytest

from tests.conftest import Loud

HEAD = """
import numpy as np
import tensorflow as tf

def function(*args, **kwargs):
    autograph = kwargs.pop("autograph", False)
    return tf.function(*args, autograph=autograph, **kwargs)
"""

# TensorFlow 2.21 traces each of these.
SILENT = {
    "a decorator that asks for AutoGraph, in what is traced without": """
        @function(autograph=True)
        def step(x):
            return x if tf.reduce_sum(x) < 1 else x + 1

        @tf.function(autograph=False)
        def run(x):
            return step(x)
        """,
    "a method that its constructor wraps so, wrapped again": """
        class Driver:
            def __init__(self):
                self.run = function(self.run, autograph=True)

            def run(self, x):
                n = tf.constant(0.0)
                while n < tf.reduce_sum(x):
                    n = n + 1
                return n

        def main():
            driver = Driver()
            return tf.function(driver.run, autograph=False)(tf.ones(3))
        """,
    "as many tensors as there are dtypes": """
        @tf.function(autograph=False)
        def f(x):
            both = tf.numpy_function(lambda a: (a, a), [x], [tf.float32, tf.float32])
            return [tf.identity(one) for one in both]
        """,
    "as many as the caller says": """
        @tf.function(autograph=False)
        def f(x, dtypes):
            found = tf.numpy_function(lambda a: (a, a), [x], dtypes)
            return [tf.identity(one) for one in found]
        """,
    "what is read outside of the graph": """
        @tf.function
        def f(x):
            with tf.init_scope():
                v = tf.Variable(tf.random.uniform(()))
                print(v.numpy())
            return x * 2
        """,
    "the names of a dict of tensors": """
        @tf.function
        def f(x):
            parts = {"b": x, "a": x + 1}
            return tf.concat([parts[name] for name in sorted(parts)], 0)
        """,
    "the shape of a sparse tensor or a dense one": """
        def shape(t):
            return t.dense_shape if isinstance(t, tf.SparseTensor) else tf.shape(t)

        @tf.function(jit_compile=True)
        def f(batch):
            x = tf.nest.flatten(batch)[0]
            return tf.reshape(x, tf.concat([[-1], shape(x)[2:]], axis=0))
        """,
    "sizes that are put together of what is not known": """
        @tf.function(jit_compile=True)
        def f(x, cell):
            return zeros(x, cell.state_size)

        def zeros(x, size):
            return tf.zeros(tf.stack([*size.as_list(), 3]))
        """,
}
FOUND = {
    "a decorator that does not ask for it": (
        """
        @tf.function(autograph=False)
        def run(x):
            if tf.reduce_sum(x) < 1:
                return x
            else:
                return x + 1
        """,
        ["XLA101"],
    ),
    "what is read in the graph": (
        "@tf.function\ndef f(x):\n    y = tf.random.uniform(())\n    return x * y.numpy()",
        ["XLA302"],
    ),
    "one tensor": (
        """
        @tf.function(autograph=False)
        def f(x):
            found = tf.numpy_function(np.sort, [x], tf.float32)
            return [tf.identity(one) for one in found]
        """,
        ["XLA109"],
    ),
    "a size that is put together of values": (
        "@tf.function(jit_compile=True)\ndef f(x):\n    return tf.zeros(tf.stack([tf.reduce_max(tf.cast(x, tf.int32)), 3]))",
        ["XLA206"],
    ),
}


@pytest.mark.parametrize("code", SILENT.values(), ids=list(SILENT))
def test_what_traces_is_silent(code: str, loud: Loud) -> None:
    found = loud(HEAD + dedent(code) + "\n", "tf")
    assert [rule for rule in found if rule != "XLA604"] == []


@pytest.mark.parametrize(("code", "rules"), FOUND.values(), ids=list(FOUND))
def test_what_does_not_is_found(code: str, rules: list[str], loud: Loud) -> None:
    found = loud(HEAD + dedent(code) + "\n", "tf")
    assert [rule for rule in found if rule != "XLA604"] == rules
