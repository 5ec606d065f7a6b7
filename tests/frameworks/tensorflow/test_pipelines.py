"""Functions that `tf.function` traces and data sets run for each element: no device computes them."""

from __future__ import annotations

import pytest

from tests.conftest import Findings
from tests.frameworks.selecting import severities_of

START = """\
import tensorflow as tf


@tf.function{options}
def zoom(x):
    n = tf.cast(tf.random.uniform([]) * 8, tf.int32)
    return tf.zeros([n]) + x

"""
METHOD = """\
import tensorflow as tf


class Data:
    @tf.function
    def zoom(self, x):
        n = tf.cast(tf.random.uniform([]) * 8, tf.int32)
        return tf.zeros([n]) + x

    def make(self, paths):
        return tf.data.Dataset.from_tensor_slices(paths).map({})
"""
PLAIN = START.format(options="")
DATA = "data = tf.data.Dataset.range(8)\n"

QUIET = {
    "mapped": f"{PLAIN}{DATA}data = data.map(zoom)\n",
    "mapped beside others": f"{PLAIN}{DATA}data = data.map(zoom, num_parallel_calls=4).batch(2)\n",
    "by a lambda": f"{PLAIN}{DATA}data = data.map(lambda x: (zoom(x), x))\n",
    "in a function": f"{PLAIN}def make(data):\n    return data.map(zoom)\n",
    "by a lambda in a function": f"{PLAIN}def make(data):\n    return data.map(lambda x: zoom(x))\n",
    "twice": f"{PLAIN}{DATA}data = data.map(zoom).map(zoom)\n",
    "by what is mapped": f"{PLAIN}def both(x):\n    return zoom(x), x\n\n{DATA}data = data.map(both)\n",
    "to several": f"{PLAIN}{DATA}data = data.flat_map(zoom).interleave(zoom)\n",
    "a method": METHOD.format("self.zoom"),
    "a method by a lambda": METHOD.format("lambda x: self.zoom(x)"),
}
FOUND = {
    "called": f"{PLAIN}zoom(tf.ones([8]))\n",
    "named nowhere": PLAIN,
    "mapped and called": f"{PLAIN}{DATA}data = data.map(zoom)\nzoom(tf.ones([8]))\n",
    "called by what is mapped and called": (
        f"{PLAIN}def both(x):\n    return zoom(x), x\n\n{DATA}data = data.map(both)\nboth(tf.ones([8]))\n"
    ),
    "what the program has XLA compile": f"{START.format(options='(jit_compile=True)')}{DATA}data = data.map(zoom)\n",
    "another lambda": f"{PLAIN}{DATA}data = data.map(lambda x: x)\nlater = lambda x: zoom(x)\nlater(tf.ones([8]))\n",
    "given to something else": f"{PLAIN}{DATA}data = data.apply(zoom)\n",
    "a method that is called": METHOD.format("self.zoom") + "\n    def show(self, x):\n        return self.zoom(x)\n",
}


@pytest.mark.parametrize("text", QUIET.values(), ids=QUIET)
def test_quiet(text: str, findings: Findings) -> None:
    assert severities_of("XLA206", findings(text, "tf")) == []


@pytest.mark.parametrize("text", FOUND.values(), ids=FOUND)
def test_found(text: str, findings: Findings) -> None:
    assert severities_of("XLA206", findings(text, "tf")) != []
