"""Loops on a tensor's value in TensorFlow where AutoGraph is off."""

from __future__ import annotations

import pytest

from tests.fixes.fixing import append_indented, expect_fixed, expect_left_alone, fixed, outcome


def program(code: str) -> str:
    return append_indented(
        "import keras\nimport tensorflow as tf\n\nSEEN = []\n\n\nclass Settle(keras.layers.Layer):\n"
        "    def call(self, x: tf.Tensor, y: tf.Tensor, n: int = 6) -> tf.Tensor:\n",
        code,
        8,
    )


UNSAFE = {
    "a condition": (
        "while tf.reduce_sum(x) > 4.0:\n    x = x * 0.5\nreturn x",
        "return tf.while_loop(\n    lambda x: tf.reduce_sum(x) > 4.0,\n    lambda x: (x * 0.5,),\n    (x,),\n)[0]",
        "no gradient",
    ),
    "a bound": (
        "i = 1\nwhile tf.reduce_sum(x) > 4.0 and i < n:\n    x *= 0.5\n    i += 1\nreturn x + y",
        "x = tf.while_loop(\n    lambda x: tf.reduce_sum(x) > 4.0,\n    lambda x: (x * 0.5,),\n    (x,),\n"
        "    maximum_iterations=n - 1,\n)[0]\nreturn x + y",
        "keeps shape",
    ),
    "two names": (
        "x = x + 1.0\ni = 0\nwhile tf.reduce_sum(x) > 4.0 and i <= 5:\n    x = x * 0.5\n    y = y + x  # more\n    i += 1\nreturn x + y",
        "x = x + 1.0\n\ndef body(x, y):\n    x = x * 0.5\n    y = y + x  # more\n    return x, y\n\n"
        "x, y = tf.while_loop(\n    lambda x, y: tf.reduce_sum(x) > 4.0,\n    body,\n    (x, y),\n"
        "    maximum_iterations=6,\n)\nreturn x + y",
        "keep shape",
    ),
    "a name of one turn, and nothing above": (
        "i = 0\nwhile tf.reduce_sum(x) > 4.0 and i < 5:\n    z = x * 0.5\n    x = z - y\n    i += 1\nreturn x",
        "def body(x):\n    z = x * 0.5\n    x = z - y\n    return (x,)\n\n"
        "return tf.while_loop(\n    lambda x: tf.reduce_sum(x) > 4.0,\n    body,\n    (x,),\n    maximum_iterations=5,\n)[0]",
        "keeps shape",
    ),
}

LEFT_ALONE = {
    "a number as a condition": ("while tf.reduce_sum(x):\n    x = x - 1.0\nreturn x", "not one tensor of bools"),
    "two conditions": (
        "while tf.reduce_sum(x) > 1.0 and tf.reduce_sum(y) > 1.0:\n    x = x * 0.5\nreturn x",
        "not one tensor of bools",
    ),
    "a counter that is read": (
        "i = 0\nwhile tf.reduce_sum(x) > 1.0 and i < 6:\n    x = x - i\n    i += 1\nreturn x",
        "is read in the loop",
    ),
    "a counter that is used later": (
        "i = 0\nwhile tf.reduce_sum(x) > 1.0 and i < 6:\n    x = x * 0.5\n    i += 1\nreturn x * i",
        "in which iteration",
    ),
    "a call that is not known": (
        "while tf.reduce_sum(x) > 1.0:\n    x = self.work(x)\nreturn x",
        "once for all iterations",
    ),
    "random numbers": (
        "while tf.reduce_sum(x) > 1.0:\n    x = x * tf.random.uniform((3,))\nreturn x",
        "once for all iterations",
    ),
    "a list": ("while tf.reduce_sum(x) > 1.0:\n    x = x * 0.5\n    SEEN.append(x)\nreturn x", "more than assign"),
    "an attribute": ("while tf.reduce_sum(x) > 1.0:\n    self.x = x = x * 0.5\nreturn x", "more than assign"),
    "a branch": (
        "while tf.reduce_sum(x) > 1.0:\n    if n > 3:\n        x = x * 0.5\nreturn x",
        "more than assign",
    ),
    "an else": ("while tf.reduce_sum(x) > 1.0:\n    x = x * 0.5\nelse:\n    x = y\nreturn x", "more than assign"),
    "a number that becomes a tensor": (
        "z = 0.0\nwhile tf.reduce_sum(x) > 1.0:\n    x = x * 0.5\n    z = z + tf.reduce_sum(x)\nreturn z",
        "not a tensor in every iteration",
    ),
    "an unset name": ("while tf.reduce_sum(x) > 1.0:\n    x = x * 0.5\n    z = x\nreturn z", "may be unset"),
    "nothing": ("while tf.reduce_sum(x) > 1.0:\n    z = x * 0.5\nreturn x", "nothing that the loop"),
}


@pytest.mark.parametrize(("before", "after", "assumed"), UNSAFE.values(), ids=UNSAFE)
def test_unsafe(before: str, after: str, assumed: str) -> None:
    expect_fixed(outcome(program(before), "XLA102", target="tf"), program(after), "unsafe", assumed)


@pytest.mark.parametrize(("before", "why"), LEFT_ALONE.values(), ids=LEFT_ALONE)
def test_left_alone_with_a_reason(before: str, why: str) -> None:
    expect_left_alone(outcome(program(before), "XLA102", target="tf"), why)


def test_autograph_writes_its_own() -> None:
    text = (
        "import tensorflow as tf\n\n\n@tf.function(jit_compile=True)\ndef run(x: tf.Tensor) -> tf.Tensor:\n"
        "    while tf.reduce_sum(x) > 4.0:\n        x = x * 0.5\n    return x\n"
    )
    assert "while_loop(" not in fixed(text, target="tf")[0]
