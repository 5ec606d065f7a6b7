"""XLA502's fix: statements that move under `with strategy.scope():`, and those that stay where they are."""

from __future__ import annotations

import pytest

from tests.fixes.fixing import expect_fixed, expect_left_alone, outcome

IMPORTS = "import keras\nimport tensorflow as tf\n\n"
STRATEGY = "strategy = tf.distribute.TPUStrategy(tf.distribute.cluster_resolver.TPUClusterResolver.connect('local'))\n"
START = IMPORTS + STRATEGY
IN_SCOPE = "with strategy.scope():\n    net = keras.Sequential()\n    net.compile('sgd')\n"

FIXED = {
    "up to its compile": (
        "\n# the model\nnet = keras.Sequential()\nnet.add(keras.layers.Dense(1))\n\nnet.compile('sgd')\nnet.summary()\nnet.fit(x)\n",
        "\nwith strategy.scope():\n    # the model\n    net = keras.Sequential()\n    net.add(keras.layers.Dense(1))\n\n"
        "    net.compile('sgd')\nnet.summary()\nnet.fit(x)\n",
    ),
    "what builds it": (
        "net = keras.Sequential()\nnet.add(keras.layers.Dense(1))\ndata = load()\nwith open('a') as f:\n    pass\nnet.fit(data)\n",
        "with strategy.scope():\n    net = keras.Sequential()\n    net.add(keras.layers.Dense(1))\ndata = load()\n"
        "with open('a') as f:\n    pass\nnet.fit(data)\n",
    ),
    "into the block behind": (
        f"\nsgd = keras.optimizers.Adam(\n    0.1,\n)\n\n{IN_SCOPE.replace(chr(39) + 'sgd' + chr(39), 'sgd')}",
        f"\n{IN_SCOPE.replace(chr(39) + 'sgd' + chr(39), 'sgd')}".replace(
            "    net =", "    sgd = keras.optimizers.Adam(\n        0.1,\n    )\n    net =", 1
        ),
    ),
    "into the block in front": (
        "with strategy.scope():\n    net = keras.Sequential()\nnet.compile(keras.optimizers.Adam(0.1))\nnet.fit(x)\n",
        "with strategy.scope():\n    net = keras.Sequential()\n    net.compile(keras.optimizers.Adam(0.1))\nnet.fit(x)\n",
    ),
    "in a function": (
        "def main(x):\n    net = keras.Sequential()\n    net.fit(x)\n\nmain(1)\n",
        "def main(x):\n    with strategy.scope():\n        net = keras.Sequential()\n    net.fit(x)\n\nmain(1)\n",
    ),
}
LEFT = {
    "a strategy that comes later": (
        "net = keras.Sequential()\nstrategy = tf.distribute.TPUStrategy()\nwith strategy.scope():\n    net.compile('sgd')\n",
        "further down",
    ),
    "no name for the strategy": (
        "def main(x):\n    make()\n    net = keras.Sequential()\n    net.fit(x)\n\n\n"
        "def make():\n    return tf.distribute.TPUStrategy()\n\n\nmain(1)\n",
        "no name here",
    ),
    "the head of a statement": (f"{STRATEGY}if (net := keras.Sequential()).fit(x):\n    pass\n", "line of its own"),
    "text of several lines": (
        f"{STRATEGY}net = keras.Sequential(name='''a\nb''')\nwith strategy.scope():\n    net.compile('sgd')\n",
        "several lines",
    ),
}


@pytest.mark.parametrize(("before", "after"), FIXED.values(), ids=FIXED)
def test_fixed(before: str, after: str) -> None:
    expect_fixed(outcome(START + before, "XLA502", target="tf"), START + after, "unsafe")


@pytest.mark.parametrize(("before", "why"), LEFT.values(), ids=LEFT)
def test_left_alone(before: str, why: str) -> None:
    expect_left_alone(outcome(IMPORTS + before, "XLA502", target="tf"), why)
