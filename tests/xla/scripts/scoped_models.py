"""Keras models of which some part is made outside of a strategy's scope, on two CPU devices; prints what becomes of each as JSON."""

from __future__ import annotations

import json
from collections.abc import Callable

import keras
import numpy as np
import tensorflow as tf

CPU = tf.config.list_physical_devices("CPU")[0]
tf.config.set_logical_device_configuration(CPU, [tf.config.LogicalDeviceConfiguration()] * 2)
STRATEGY = tf.distribute.MirroredStrategy(["CPU:0", "CPU:1"])
X, Y = np.ones((16, 4), "float32"), np.ones((16, 1), "float32")


def model() -> keras.Model:
    return keras.Sequential([keras.layers.Input((4,)), keras.layers.Dense(1)])


def trained(net: keras.Model) -> str:
    net.fit(X, Y, batch_size=8, verbose=0)
    return type(net.distribute_strategy).__name__


def all_inside() -> str:
    with STRATEGY.scope():
        net = model()
        net.compile("sgd", "mse")
    return trained(net)


def model_outside() -> str:
    net = model()
    with STRATEGY.scope():
        net.compile("sgd", "mse")
    return trained(net)


def all_outside() -> str:
    net = model()
    net.compile("sgd", "mse")
    return trained(net)


def fit_inside() -> str:
    net = model()
    net.compile("sgd", "mse")
    with STRATEGY.scope():
        return trained(net)


def optimizer_outside() -> str:
    optimizer = keras.optimizers.Adam()
    with STRATEGY.scope():
        net = model()
        net.compile(optimizer, "mse")
    return trained(net)


def compiled_outside_with_an_optimizer() -> str:
    with STRATEGY.scope():
        net = model()
    net.compile(keras.optimizers.Adam(), "mse")
    return trained(net)


def compiled_outside_by_name() -> str:
    with STRATEGY.scope():
        net = model()
    net.compile("adam", "mse")
    return trained(net)


def plain_sgd_outside() -> str:
    optimizer = keras.optimizers.SGD(0.1)
    with STRATEGY.scope():
        net = model()
        net.compile(optimizer, "mse")
    return trained(net)


def metric_outside() -> str:
    metric = keras.metrics.MeanAbsoluteError()
    with STRATEGY.scope():
        net = model()
        net.compile("sgd", "mse", metrics=[metric])
    return trained(net)


def told(case: Callable[[], str]) -> str:
    try:
        return case()
    except Exception as error:  # noqa: BLE001 (which one it is, is the answer)
        return type(error).__name__


CASES = (
    all_inside,
    model_outside,
    all_outside,
    fit_inside,
    optimizer_outside,
    compiled_outside_with_an_optimizer,
    compiled_outside_by_name,
    plain_sgd_outside,
    metric_outside,
)
print(json.dumps({case.__name__: told(case) for case in CASES}))
