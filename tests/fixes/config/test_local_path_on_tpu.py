"""XLA504: files that are written on the machine of the program."""

from __future__ import annotations

import pytest

from tests.fixes.fixing import expect_fixed, expect_left_alone, outcome

START = """\
import keras
import tensorflow as tf
from tensorflow.distribute.cluster_resolver import TPUClusterResolver

r = TPUClusterResolver("grpc://10.0.0.2:8470")
tf.config.experimental_connect_to_cluster(r)
tf.tpu.experimental.initialize_tpu_system(r)
strategy = tf.distribute.TPUStrategy(r)
with strategy.scope():
    model = keras.Sequential()
    c = tf.train.Checkpoint()
"""
HERE = 'experimental_io_device="/job:localhost"'

LEFT_ALONE = {
    "records": ("tf.data.TFRecordDataset('data/train')\n", "gs://"),
    "a model of Keras": ("model.save('out')\n", "gs://"),
}
FIXED = {
    "a checkpoint": (
        "c.save('out/c')\n",
        f"c.save('out/c', options=tf.train.CheckpointOptions({HERE}))\n",
        "unsafe",
    ),
    "a saved model": (
        "tf.saved_model.save(m, 'out')\n",
        f"tf.saved_model.save(m, 'out', options=tf.saved_model.SaveOptions({HERE}))\n",
        "unsafe",
    ),
}


@pytest.mark.parametrize(("text", "why"), LEFT_ALONE.values(), ids=LEFT_ALONE)
def test_left_alone_with_a_reason(text: str, why: str) -> None:
    expect_left_alone(outcome(START + text, "XLA504", target="tf"), why)


@pytest.mark.parametrize(("before", "after", "applicability"), FIXED.values(), ids=FIXED)
def test_fixed(before: str, after: str, applicability: str) -> None:
    expect_fixed(outcome(START + before, "XLA504", target="tf"), START + after, applicability)
