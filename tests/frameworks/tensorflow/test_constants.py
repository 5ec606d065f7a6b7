"""What is a constant while XLA compiles a graph of TensorFlow's: shapes, and what is computed from them and from host values."""

from __future__ import annotations

import pytest

from tests.conftest import Loud

HEAD = "import keras\nimport tensorflow as tf\nfrom settings import Own\n\n@tf.function(jit_compile=True)\ndef f(x, lengths):\n    "

# TensorFlow 2.21 compiles each of these.
SILENT = {
    "half of a shape": "n = tf.cast(tf.math.ceil(tf.divide(tf.shape(x)[1], tf.cast(2, tf.int32))), tf.int32)\n"
    "    return tf.sequence_mask(lengths, maxlen=n)",
    "axes": "return tf.transpose(x, tf.concat(([1, 0], tf.range(2, tf.rank(x))), axis=0))",
    "a part of a shape": "return tf.reshape(x, tf.concat([[-1], tf.shape(x)[1:]], axis=0))",
    "a product": "return tf.reshape(x, [tf.reduce_prod(tf.shape(x))])",
    "sizes put together": "n = tf.maximum(tf.shape(x)[0], 1)\n    return tf.zeros(tf.stack([n, tf.size(x)]))",
    "a constant before a shape": "return tf.zeros(tf.concat([tf.constant([2]), tf.shape(x)], 0))",
    "a size that a branch sets": (
        "pad = tf.convert_to_tensor(0)\n    size = tf.shape(x)[1]\n    if size % 3 != 0:\n        pad = 3 - size % 3\n"
        "        x = tf.pad(x, [[0, 0], [0, pad]])\n    return tf.reshape(x, [-1, (size + pad) // 3, 3])"
    ),
    "a choice": "return tf.zeros([tf.where(tf.shape(x)[0] > 3, tf.shape(x)[0], 2)])",
    "a setting less a size": "return tf.pad(x, [[0, 0]] + [[0, Own.width - tf.shape(x)[1]]])",
    "static sizes, or dynamic ones": (
        "known = x.shape.as_list()\n    size = tf.shape(x)\n"
        "    n, m = [size[i] if k is None else k for i, k in enumerate(known)]\n    return tf.pad(x, [[0, 0], [m - n, 0]])"
    ),
    "a number of the host's before a static shape": "return tf.reshape(x, tf.concat([[Own.size, -1], x.shape[1:]], 0))",
    "as often as a shape says": "return tf.repeat(x, tf.ones(4, tf.int32) * tf.shape(x)[1])",
    "a number, as often as a static shape says": "return tf.reshape(x, tf.repeat(3, len(x.shape)))",
    "parts of one size": "return tf.split(x, num_or_size_splits=tf.repeat(3, x.shape[1] // 3), axis=1)",
    "as often as a setting says": "n = tf.shape(x)[0]\n    return tf.repeat(x, tf.ones([n], tf.int32) * Own.width, axis=0)",
    "a rounded part of a shape, by Keras": (
        "n = keras.ops.shape(x)[1]\n    m = keras.ops.cast(keras.ops.ceil(n / 4), 'int32')\n"
        "    return keras.ops.reshape(keras.ops.pad(x, [[0, 0], [0, m * 4 - n]]), (-1, m, 4))"
    ),
    "a padding of a size that is a setting's": (
        "m = keras.ops.cast(keras.ops.ceil(keras.ops.shape(x)[1] / Own.width), 'int32')\n"
        "    return keras.ops.pad(x, [[0, 0], [0, m]])"
    ),
    "rows of a shape": "n, m = tf.unstack(tf.shape(x))\n    return tf.reshape(x, [m, n])",
}
FOUND = {
    "numbers, each as often as a list says": "return tf.reshape(x, tf.repeat([6, 6], [1, 1]))",
    "a value": "return tf.zeros([tf.reduce_max(lengths)])",
    "a shape and a value": "return tf.zeros([tf.maximum(tf.shape(x)[0], tf.reduce_max(lengths))])",
    "a value of a constant's type": "return tf.zeros([tf.cast(tf.reduce_max(x), tf.int32)])",
    "a random number": "return tf.zeros([tf.random.uniform([], maxval=3, dtype=tf.int32) + tf.shape(x)[0]])",
    "the count of a mask": "shape = tf.shape(x)\n    return tf.zeros([tf.reduce_sum(tf.cast(x > 0, tf.int32)), shape[0]])",
    "a setting less a value": "return tf.pad(x, [[0, 0], [0, Own.width - tf.reduce_max(lengths)]])",
    "what a loop counts": (
        "i = tf.constant(0)\n    while i < tf.reduce_max(lengths):\n        i += 1\n        tf.zeros([i])\n    return i"
    ),
    "what a loop over a range counts": (
        "n = tf.constant(0)\n    for i in tf.range(tf.shape(x)[0]):\n        n = n + lengths[i]\n    return tf.zeros([n])"
    ),
}


@pytest.mark.parametrize("body", SILENT.values(), ids=list(SILENT))
def test_a_constant_may_be_a_shape(loud: Loud, body: str) -> None:
    assert loud(HEAD + body + "\n", "tf") == []


@pytest.mark.parametrize("body", FOUND.values(), ids=list(FOUND))
def test_a_value_may_not(loud: Loud, body: str) -> None:
    assert loud(HEAD + body + "\n", "tf") == ["XLA206"]
