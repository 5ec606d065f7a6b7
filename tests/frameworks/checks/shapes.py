"""Loops around a `tf.function`, and how often TensorFlow 2.21 traces it: `tests/xla/test_retraces.py` runs them and counts."""

from __future__ import annotations

HEAD = """
import numpy as np
import tensorflow as tf

@tf.function
def step(x):
    return tf.reduce_sum(x * 2)

@tf.function
def scaled(x, rate):
    return tf.reduce_sum(x * rate)

@tf.function(input_signature=[tf.TensorSpec([None])])
def signed(x):
    return tf.reduce_sum(x * 2)

@tf.function(reduce_retracing=True)
def relaxed(x):
    return tf.reduce_sum(x * 2)

rows = [[1.0], [1.0, 2.0], [1.0, 2.0, 3.0], [1.0] * 4, [1.0] * 5]
same = [[1.0, 2.0], [3.0, 4.0], [5.0, 6.0], [1.0] * 2, [2.0] * 2]
data = np.zeros((37, 4), "float32")
even = np.zeros((40, 4), "float32")
size = 8
x = tf.ones(3)
"""

SILENT = {
    "rows of one length": "for s in same:\n    step(tf.constant(s))",
    "a part of one length": "for s in rows:\n    step(tf.constant(s[:1]))",
    "rows that are padded": "for s in rows:\n    step(tf.constant(s + [0.0] * (5 - len(s))))",
    "an array's rows": "for s in np.zeros((10, 4), 'float32'):\n    step(tf.constant(s))",
    "a signature that knows no length": "for s in rows:\n    signed(tf.constant(s))",
    "numbers": "for s in rows:\n    step(tf.constant(s[0]))",
    "a number that is added": "for n in range(3, 20):\n    step(tf.zeros((4,)) + tf.constant(float(n)))",
    "a row at a time": "for i in range(30):\n    step(data[i])",
    "a window": "for i in range(30):\n    step(data[i:i + 4])",
    "slices without a rest": "for i in range(0, len(even), size):\n    step(even[i:i + size])",
    "slices that end before the rest": "for i in range(0, len(data) - size + 1, size):\n    step(data[i:i + size])",
    "a whole number of slices": "n = len(data) // size * size\nfor i in range(0, n, size):\n    step(data[i:i + size])",
    "a rest that is left out": (
        "for i in range(0, len(data), size):\n    batch = data[i:i + size]\n    if len(batch) < size:\n        break\n"
        "    step(batch)"
    ),
    "a rate that stays": "rate = 0.1\nfor i in range(30):\n    scaled(x, rate)",
    "a rate in a tensor": "rate = 0.1\nfor i in range(30):\n    scaled(x, tf.constant(rate))\n    rate *= 0.9",
    "a rate of NumPy's": "for rate in np.linspace(0, 1, 30, dtype='float32'):\n    scaled(x, rate)",
}
# With the traces that are counted, and the line of the finding.
FOUND = {
    "rows of several lengths": ("for s in rows:\n    step(tf.constant(s))", 5, 2),
    "rows by number": ("for i, s in enumerate(rows):\n    y = tf.convert_to_tensor([s])\n    step(y)", 5, 3),
    "rows beside others": ("for s, t in zip(rows, same):\n    step(tf.constant(s))", 5, 2),
    "arrays of several sizes": ("made = [np.ones(n) for n in range(3, 20)]\nfor s in made:\n    step(s)", 17, 3),
    "texts that are split": (
        "texts = ['a b', 'a', 'a b c', 'a b c d']\nmade = [[float(len(w)) for w in t.split()] for t in texts]\n"
        "for s in made:\n    step(tf.constant(s))",
        4,
        4,
    ),
    "a size that counts": ("for n in range(3, 20):\n    step(tf.zeros((n, 4)))", 17, 2),
    "a part that grows": ("for i in range(1, 30):\n    step(data[:i])", 29, 2),
    "the last slice": ("for i in range(0, len(data), size):\n    step(data[i:i + size])", 2, 2),
    "the last slice in a tensor": (
        "for i in range(0, 37, 8):\n    batch = tf.constant(data[i:i + 8])\n    step(batch)",
        2,
        3,
    ),
    "a rate that decays": ("rate = 0.1\nfor i in range(30):\n    scaled(x, rate)\n    rate *= 0.9", 30, 3),
    "a rate of the turn": ("for i in range(30):\n    rate = 0.1 / (1 + i)\n    scaled(x, rate)", 30, 3),
}
