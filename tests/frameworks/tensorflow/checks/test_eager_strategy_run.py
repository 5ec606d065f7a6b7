"""XLA515: `strategy.run` in eager code."""

from __future__ import annotations

import pytest

from tests.frameworks.tensorflow.tpus import ALL, IMPORTS, find_lines

STEP = "def step(x):\n    return x + 1\n"


SILENT = {
    "all in order": ALL,
    "a run of what is decorated": f"{ALL}@tf.function\n{STEP}strategy.run(step, args=(1,))\n",
    "a run of a function of a graph's": f"{ALL}{STEP}step = tf.function(step)\nstrategy.run(step, args=(1,))\n",
    "a run within a function of a graph's": f"{ALL}{STEP}@tf.function\ndef epoch(x):\n    return strategy.run(step, args=(x,))\nepoch(1)\n",
    "a run within a function that is given": f"{ALL}{STEP}def epoch(x):\n    return strategy.run(step, args=(x,))\n"
    "fast = tf.function(epoch)\nfast(1)\n",
    "a run in a helper of a graph's": f"{ALL}{STEP}def inner(x):\n    return strategy.run(step, args=(x,))\n"
    "@tf.function(jit_compile=False)\ndef epoch(x):\n    return inner(x)\nepoch(1)\n",
    "a run that nothing here calls": f"{ALL}{STEP}def epoch(x):\n    return strategy.run(step, args=(x,))\n",
    "a run in Keras' step": f"import keras\n{ALL}{STEP}class Net(keras.Model):\n    def train_step(self, x):\n"
    "        return strategy.run(step, args=(x,))\nnet = Net()\nnet.train_step(1)\n",
    "a run of a strategy for GPUs": f"{ALL}{STEP}other = tf.distribute.MirroredStrategy()\nother.run(step)\n",
    "a run of a process": f"import subprocess\n{ALL}subprocess.run(['ls'])\n",
    "distributing data": f"{ALL}for x in strategy.experimental_distribute_dataset(data):\n    print(x)\n",
}
FOUND = {
    "an eager run": (f"{ALL}{STEP}strategy.run(step, args=(1,))\n", ["strategy.run(step, args=(1,))"]),
    "an eager run in a loop": (
        f"{ALL}{STEP}for x in data:\n    strategy.run(step, args=(x,))\n",
        ["strategy.run(step, args=(x,))"],
    ),
    "an eager run in a function": (
        f"{ALL}{STEP}def epoch(x):\n    strategy.run(step, args=(x,))\nif __name__ == '__main__':\n    epoch(1)\n",
        ["strategy.run(step, args=(x,))"],
    ),
}


@pytest.mark.parametrize("code", SILENT.values(), ids=SILENT)
def test_silent(code: str) -> None:
    assert find_lines(IMPORTS + code, "XLA515") == []


@pytest.mark.parametrize(("code", "lines"), FOUND.values(), ids=FOUND)
def test_found(code: str, lines: list[str]) -> None:
    assert find_lines(IMPORTS + code, "XLA515") == [line.strip() for line in lines]
