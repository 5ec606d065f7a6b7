"""XLA501: `jit_compile` left on where a TPU is set up."""

from __future__ import annotations

from textwrap import dedent

import pytest

from tests.conftest import Loud
from tests.frameworks.tensorflow.tpus import AT_ONCE

TF = "import keras\nimport tensorflow as tf\n"
LEFT_ON = {
    "on a model": "model = keras.Sequential([])\nmodel.compile(loss='mse', jit_compile=True)\n",
    "through a variable": "fast = True\nmodel = keras.Sequential([])\nmodel.compile(loss='mse', jit_compile=fast)\n",
    "by a default": "def build(model, fast=True):\n    model.compile(loss='mse', jit_compile=fast)\n",
    "by a helper": "def build(model, **more):\n    model.compile(loss='mse', **more)\nbuild(keras.Sequential([]), jit_compile=True)\n",
    "on a function": "@tf.function(jit_compile=True)\ndef step(x: tf.Tensor):\n    return x * 2\n",
}


@pytest.mark.parametrize("code", LEFT_ON.values(), ids=LEFT_ON)
def test_jit_compile_is_left_on_where_a_tpu_is_set_up(code: str, loud: Loud) -> None:
    assert loud(TF + dedent(AT_ONCE + code), "tf") == ["XLA501"]
    assert loud(TF + dedent(code), "tf") == []
    assert loud(TF + dedent(AT_ONCE + code.replace("True", "False")), "tf") == []
