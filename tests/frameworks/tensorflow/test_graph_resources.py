"""Variables that a graph makes, data sets that it goes through, and what it prints."""

from __future__ import annotations

import pytest

from tests.conftest import Loud

HEAD = "import keras\nimport tensorflow as tf\n\n"

# Each was run on TensorFlow 2.21: it traces, and runs.
SILENT = {
    "seeds of operations that draw by themselves": (
        "import random\nimport sys\nimport numpy as np\n\n@tf.function\ndef f(x: tf.Tensor):\n    rand = np.random.default_rng(3)\n"
        "    a = tf.random.uniform([3], seed=rand.integers(np.iinfo(int).max))\n"
        "    b = tf.random.uniform([3], seed=random.randint(0, 2**31 - 1)) + tf.random.normal([3], seed=random.randrange(sys.maxsize))\n"
        "    return x + a + b\n"
    ),
    "made once, behind a test": (
        "V = None\n\n@tf.function\ndef f(x: tf.Tensor):\n    global V\n    if V is None:\n        V = tf.Variable(1.0)\n    return V * x\n"
    ),
    "an attribute that is made once": (
        "class Own(tf.Module):\n    v = None\n\n    @tf.function\n    def run(self, x: tf.Tensor):\n"
        "        if self.v is None:\n            self.v = tf.Variable(x)\n        return self.v\n"
    ),
    "one that a function gives back to be kept": (
        "def make(x):\n    v = tf.Variable(x)\n    return v\n\nclass Own(tf.Module):\n    v = None\n\n    @tf.function\n"
        "    def run(self, x: tf.Tensor):\n        if self.v is None:\n            self.v = make(x)\n        return self.v\n"
    ),
    "in a layer's build": (
        "class Own(keras.layers.Layer):\n    def build(self, shape):\n        w = tf.Variable(tf.ones(3))\n        self.w = w\n\n"
        "    def call(self, x):\n        return x * self.w\n"
    ),
    "outside": "@tf.function\ndef f(x: tf.Tensor):\n    return x * 2\n\ndef main():\n    v = tf.Variable(1.0)\n    return f(v)\n",
    "a print of the host's": (
        "@tf.function(jit_compile=True)\ndef f(x: tf.Tensor):\n    return x * 2\n\ndef main(x):\n    tf.print('begun')\n    return f(x)\n"
    ),
    "a data set of the host's": (
        "@tf.function(jit_compile=True)\ndef f(x: tf.Tensor):\n    return x * 2\n\ndef main():\n"
        "    for e in tf.data.Dataset.range(3):\n        f(e)\n"
    ),
}
FOUND = {
    "a number of few that is drawn": (
        "import numpy as np\n\n@tf.function\ndef f(x: tf.Tensor):\n    return x + np.random.randint(0, 10)\n",
        ["XLA306"],
    ),
    "a variable": ("@tf.function\ndef f(x: tf.Tensor):\n    v = tf.Variable(x)\n    return v * 2\n", ["XLA306"]),
    "a variable, compiled": (
        "@tf.function(jit_compile=True)\ndef f(x: tf.Tensor):\n    v = tf.Variable(tf.zeros(3))\n    v.assign_add(x)\n    return v * 2\n",
        ["XLA306"],
    ),
    "a variable of a layer's call": (
        "class Own(keras.layers.Layer):\n    def call(self, x):\n        v = tf.Variable(tf.zeros(3))\n        return x * v\n",
        ["XLA306"],
    ),
    "a variable of what a function calls": (
        "def g(x):\n    v = tf.Variable(x)\n    return v * 2\n\n@tf.function\ndef f(x: tf.Tensor):\n    return g(x)\n",
        ["XLA306"],
    ),
    "a print of texts alone": (
        "@tf.function(jit_compile=True)\ndef f(x: tf.Tensor):\n    tf.print('step', tf.size(x))\n    return x\n",
        ["XLA303"],
    ),
    "a data set, compiled": (
        "@tf.function(jit_compile=True)\ndef f(x: tf.Tensor):\n    for e in tf.data.Dataset.range(3):\n"
        "        x += tf.cast(e, tf.float32)\n    return x\n",
        ["XLA601"],
    ),
}


@pytest.mark.parametrize("code", SILENT.values(), ids=SILENT)
def test_what_is_made_once_is_silent(code: str, loud: Loud) -> None:
    assert loud(HEAD + code, "tf") == []


@pytest.mark.parametrize(("code", "rules"), FOUND.values(), ids=FOUND)
def test_what_a_graph_cannot_hold_is_found(code: str, rules: list[str], loud: Loud) -> None:
    assert loud(HEAD + code, "tf") == rules
