"""Parameters of methods that Keras calls on what it traces, and what AutoGraph makes of the functions that these call."""

from __future__ import annotations

import pytest

from tests.conftest import Loud

ROW = (
    "class Own(keras.layers.Layer):\n    def call(self, inputs):\n        inputs, width, lengths = inputs\n"
    "        length = width**2\n        x = keras.ops.reshape(inputs, [-1, length])\n        {0}\n        return x\n"
)
IMPORTS = "import tensorflow as tf\nimport keras\nimport numpy as np\n"
LAYER = (
    "class Own(keras.layers.Layer):\n"
    "    def call(self, inputs, training=None, mask=None):\n        x = inputs\n        {0}\n        return x\n"
)
STEP = (
    "class Own(keras.Model):\n    def train_step(self, data):\n        x, y = data\n"
    "        {0}\n        return {{'loss': tf.reduce_mean(x)}}\n"
)
LOSS = "class Own(keras.losses.Loss):\n    def call(self, y_true, y_pred):\n        {0}\n        return tf.reduce_mean(y_pred)\n"
DECODER = """
@tf.function
def decode(x):
    for i in tf.range(tf.shape(x)[0]):
        if tf.reduce_sum(x) > 0:
            x = x + 1
    return x
"""

PROCESSOR = "class Own(keras.layers.Layer):\n    def __call__(self, *args, **options):\n        return self.call(*args, **options)\n"
COPIES = "    def call(self, image):\n        return keras.ops.convert_to_numpy(image)\n"
READER = (
    "class Own(keras.Model):\n    def call(self, x):\n        picked, at = np.unique(x, return_inverse=True)\n"
    "        return tf.gather(tf.constant(picked), at)\n\nmodel = Own()\nsgd = keras.optimizers.SGD()\n\n{0}"
    "def train(data):\n    for x in data:\n        with tf.GradientTape() as tape:\n            loss = tf.reduce_sum(model(x))\n"
    "        sgd.apply_gradients(zip(tape.gradient(loss, model.trainable_variables), model.trainable_variables))\n"
)
BACKEND = "if keras.{0}() == '{1}':\n            x = x - np.mean(x)"
METRIC = (
    "from typing import Union\n\nclass Own(keras.metrics.Metric):\n    def __init__(self, size: {0}):\n        super().__init__()\n"
    "        self.size = size\n\n    def reset_state(self):\n        self.seen.assign(np.zeros((self.size, self.size)))\n\n"
    "def run():\n    own = Own(load())\n\n    @tf.function\n    def reset():\n        own.reset_state()\n\n    reset()\n"
)
OWN_FIT = """
class Own(keras.Model):
    def call(self, x):
        return x * 2

    def test_step(self, x):
        return float(np.mean(self(x)))

    def fit(self, data):
        for x in data:
            {0}
"""
# None of these was run on Keras as it stands here; each is taken to trace.
SILENT = {
    "a setting that is a number or a tensor": METRIC.format("Union[tf.Tensor, float]"),
    "a branch for another backend": LAYER.format(BACKEND.format("backend.backend", "torch")),
    "a branch for another backend, by its newer name": LAYER.format(BACKEND.format("config.backend", "jax")),
    "a model that its own script trains as it stands": READER.format(""),
    "a model that has a fit of its own": OWN_FIT.format("self.test_step(x)"),
    "a model that its own script trains, beside its own function that predicts": READER.format(
        "class Held:\n    def predict(self, x):\n        return x\n\nHeld().predict(3)\n\n"
    ),
    "a layer that goes past Keras": PROCESSOR + COPIES,
    "a layer of one that goes past Keras": PROCESSOR + "class Image(Own):\n" + COPIES,
    "a method that AutoGraph converts for itself": (
        "class Own(keras.Model):\n    @tf.function\n    def call(self, x):\n        if tf.reduce_mean(x) > 0:\n"
        "            return x\n        return x // 2\n"
    ),
    "code for ragged tensors": LAYER.format("x = x.to_tensor() if isinstance(x, tf.RaggedTensor) else x"),
    "the rows of a ragged tensor": LAYER.format("x = tf.reshape(x, tf.stack([inputs.nrows(), 4]))"),
    "a list that a layer is given": (
        "class Own(keras.layers.Layer):\n    def call(self, inputs):\n        found = []\n"
        "        for x in inputs:\n            found.append(tf.reshape(x, [-1]))\n        return found\n"
    ),
    "a flag that is passed on to what takes tensors": (
        "class Own(keras.layers.BatchNormalization):\n    def call(self, x, training=False):\n        if not training:\n"
        "            training = tf.constant(False)\n        training = tf.logical_and(training, self.trainable)\n"
        "        return super().call(x, training)\n"
    ),
    "numbers in a list, by which a tensor is multiplied": (
        "class Own(keras.layers.Layer):\n    def __init__(self, sizes: list[float]):\n        super().__init__()\n"
        "        self.sizes = sizes\n\n    def call(self, inputs):\n        x = tf.reshape(inputs, [-1, 4])\n"
        "        x *= self.sizes\n        return self.sizes * x + x * (1.0, 2.0, 3.0, 4.0)\n"
    ),
    "a mode that Keras does not pass": (
        "class Own(keras.Model):\n    def call(self, batch, mode='train'):\n        names, x = batch\n"
        "        if mode == 'test' and x[0] == -1:\n            print(names[0].numpy())\n        return x\n"
    ),
    "a number in a row with tensors, of which a size is made": ROW.format("x = x + keras.ops.ones([length, width])"),
    "a flag": LAYER.format("x = x * 2 if training else x"),
    "what may be absent": LAYER.format("x = x * mask if mask is not None else x"),
    "a shape": LAYER.format("x = x * 2 if x.shape[-1] == 3 else x"),
    "an operation": LAYER.format("x = tf.where(x > 0, x, 0.0) - tf.reduce_mean(x)"),
    "a branch of the graph": STEP.format("x = tf.cond(tf.reduce_sum(x) > 0, lambda: x, lambda: -x)"),
    "a key": STEP.format("x = x['image'] if 'image' in x else x"),
    "a name that a layer is given": (
        "class Own(keras.layers.Layer):\n    def call(self, x, mode):\n        return x * 2 if mode == 'full' else x\n"
    ),
    "a number that a layer is given": (
        "class Own(keras.layers.Layer):\n    def call(self, x, depth):\n"
        "        for _ in range(depth):\n            x = x + 1\n        return x\n"
    ),
    "a metric that is called eagerly": (
        "class Own(keras.metrics.Metric):\n    def update_state(self, y, p):\n        self.n = float((y.numpy() == p.numpy()).mean())\n\n"
        "m = Own()\nfor _ in range(9):\n    m.update_state(tf.ones(3), tf.ones(3))\n"
    ),
    "a function that AutoGraph rewrites": DECODER
    + "class Own(keras.layers.Layer):\n    def call(self, x):\n        return decode(x)\n",
    "whole numbers under AutoGraph": (
        "@tf.function\ndef erase(h):\n    return tf.random.uniform([], maxval=int(h - h // 2), dtype=tf.int32)\n"
    ),
    "whether a part holds anything": (
        "class Own(keras.layers.Layer):\n    def call(self, inputs, training):\n        old, edges, context = inputs\n"
        "        if context:\n            raise ValueError('no context')\n        for part in edges.values():\n"
        "            old = old + part\n        return old if not edges else -old\n"
    ),
    "whether a tensor is sparse": LAYER.format("x = keras.backend.to_dense(x) if tf.keras.backend.is_sparse(x) else x"),
    "rows of a ragged tensor": LAYER.format("x = tf.RaggedTensor.from_row_lengths(x, [2, 1]).flat_values"),
    "parts that are summed": STEP.format("x = sum([x, y]) + sum(part for part in (x, y))"),
}
FOUND = {
    "a setting that is a tensor": (METRIC.format("tf.Tensor"), ["XLA302"]),
    "a branch for this backend": (LAYER.format(BACKEND.format("backend.backend", "tensorflow")), ["XLA302"]),
    "a model that a script trains by a graph": (READER.format("@tf.function\n"), ["XLA302"]),
    "a model of which a fit of its own calls Keras'": (OWN_FIT.format("super().fit(x)"), ["XLA302"]),
    "a model that a script also has predict": (READER.format("model.predict(load())\n\n"), ["XLA302"]),
    "a model that a script also fits": (READER.format("model.fit(load())\n\n"), ["XLA302"]),
    "a condition": (LAYER.format("if x[0, 0] > 0:\n            x = x + 1"), ["XLA101"]),
    "NumPy": (LAYER.format("x = x - np.mean(x)"), ["XLA302"]),
    "a number of a batch": (STEP.format("x = x * float(x[0, 0])"), ["XLA301"]),
    "a copy of a batch": (STEP.format("x = x - keras.ops.convert_to_numpy(x).mean()"), ["XLA302"]),
    "rows that are summed": (STEP.format("x = sum(row for row in x)"), ["XLA109"]),
    "squares that are summed": (STEP.format("x = sum(row * row for row in x)"), ["XLA109"]),
    "a part of a batch": (STEP.format("x = x * float(y['label'][0])"), ["XLA301"]),
    "a batch that is unpacked": (
        "class Own(keras.Model):\n    def test_step(self, data):\n        x, y, w = keras.utils.unpack_x_y_sample_weight(data)\n"
        "        if tf.reduce_sum(y) > 0:\n            x = x + 1\n        return {'x': x}\n",
        ["XLA101"],
    ),
    "the largest of a tensor in a row with others": (
        ROW.format("x = x + keras.ops.arange(keras.ops.max(lengths))"),
        ["XLA206"],
    ),
    "the sum of a part": (STEP.format("if tf.reduce_sum(y) > 0:\n            x = x + 1"), ["XLA101"]),
    "an element of a part": (STEP.format("if y[0] > 0:\n            x = x + 1"), ["XLA101"]),
    "a layer whose own call asks Keras": (
        "class Own(keras.layers.Layer):\n    def __call__(self, *args):\n        return super().__call__(*args)\n"
        + COPIES,
        ["XLA302"],
    ),
    "a loss that is called at once": (
        "class Own(keras.losses.Loss):\n    def __call__(self, a, b, w=None):\n        return self.call(a, b)\n"
        "    def call(self, y_true, y_pred):\n        return keras.ops.convert_to_numpy(y_pred)\n",
        ["XLA302"],
    ),
    "rows of a ragged tensor, padded": (
        LAYER.format("x = tf.RaggedTensor.from_row_lengths(x, [2, 1]).to_tensor()"),
        ["XLA209"],
    ),
    "a loss": (LOSS.format("if y_pred[0, 0] > 0:\n            y_pred = -y_pred"), ["XLA101"]),
    "a function that AutoGraph leaves alone": (
        DECODER.replace("@tf.function", "@tf.function(autograph=False)")
        + "class Own(keras.layers.Layer):\n    def call(self, x):\n        return decode(x)\n",
        ["XLA101", "XLA109"],
    ),
    "a cast among floats": ("@tf.function\ndef f(x: tf.Tensor, n: tf.Tensor):\n    return x * int(n)\n", ["XLA301"]),
}


@pytest.mark.parametrize("code", SILENT.values(), ids=SILENT)
def test_what_keras_traces_is_silent(code: str, loud: Loud) -> None:
    assert loud(IMPORTS + code, "tf") == []


@pytest.mark.parametrize(("code", "rules"), FOUND.values(), ids=FOUND)
def test_what_keras_cannot_trace_is_found(code: str, rules: list[str], loud: Loud) -> None:
    assert sorted(loud(IMPORTS + code, "tf")) == rules
