"""Functions that give others to a strategy: the strategy compiles those, and TensorFlow itself runs what is around them."""

from __future__ import annotations

import pytest

from tests.conftest import Findings

SETUP = """
import tensorflow as tf
resolver = tf.distribute.cluster_resolver.TPUClusterResolver(tpu="local")
tf.config.experimental_connect_to_cluster(resolver)
tf.tpu.experimental.initialize_tpu_system(resolver)
strategy = tf.distribute.TPUStrategy(resolver)
def step_fn(x):
    return tf.reduce_sum(x)
"""

SILENT = {
    "steps in a loop of a tensor's length": """
@tf.function
def train(iterator, steps):
    for _ in tf.range(steps):
        strategy.run(step_fn, args=(next(iterator),))
train(it, tf.constant(3))
""",
    "a nested step": """
@tf.function
def train(iterator, steps):
    def inner(x):
        return tf.reduce_sum(x)
    for _ in tf.range(steps):
        strategy.run(inner, args=(next(iterator),))
""",
    "by a helper": """
def one(x):
    return strategy.reduce("SUM", strategy.run(step_fn, args=(x,)), axis=None)
@tf.function
def train(iterator, steps):
    for _ in tf.range(steps):
        one(next(iterator))
""",
    "by a method, of a strategy that is not known": """
class Trainer:
    def __init__(self, strategy):
        self.strategy = strategy
    @tf.function
    def train(self, iterator, steps):
        for _ in tf.range(steps):
            self.strategy.run(self.step, args=(next(iterator),))
    def step(self, x):
        return tf.reduce_sum(x)
""",
    "what is done with what comes back": """
@tf.function
def evaluate(x):
    losses = tf.concat(strategy.experimental_local_results(strategy.run(step_fn, args=(x,))), 0)
    return tf.boolean_mask(losses, losses > 0)
""",
    "what a helper does with it": """
def positive(losses):
    return tf.boolean_mask(losses, losses > 0)
@tf.function
def evaluate(x):
    return positive(tf.stack(strategy.run(step_fn, args=(x,))))
""",
    "until it is good enough": """
@tf.function
def train(x):
    loss = tf.constant(9.0)
    while loss > 1.0:
        loss = strategy.reduce("SUM", strategy.run(step_fn, args=(x,)), axis=None)
    return loss
""",
}

LOUD = {
    "what is compiled": (
        """
@tf.function
def train(x):
    def inner(x):
        return tf.boolean_mask(x, x > 0)
    return strategy.run(inner, args=(x,))
train(tf.ones([4]))
""",
        ["XLA204"],
    ),
    "what a strategy that is not known compiles": (
        """
class Trainer:
    def __init__(self, strategy):
        self.strategy = strategy
    @tf.function
    def train(self, x):
        def inner(x: tf.Tensor):
            return tf.boolean_mask(x, x > 0)
        return self.strategy.run(inner, args=(x,))
""",
        ["XLA204"],
    ),
    "what is compiled and called by the host": (
        """
def positive(x):
    return tf.boolean_mask(x, x > 0)
@tf.function
def train(x):
    def inner(x):
        return positive(x)
    return positive(tf.stack(strategy.run(inner, args=(x,))))
train(tf.ones([4]))
""",
        ["XLA204"],
    ),
    "a function that gives nothing away": (
        """
@tf.function
def train(x: tf.Tensor, n: tf.Tensor):
    for _ in tf.range(n):
        x = x + 1
    return x
""",
        ["XLA107"],
    ),
    "a value that is read where there is none": (
        """
@tf.function
def train(x):
    loss = strategy.reduce("SUM", strategy.run(step_fn, args=(x,)), axis=None)
    return tf.reduce_sum(loss).numpy()
""",
        ["XLA302"],
    ),
}


@pytest.mark.parametrize("name", SILENT)
def test_what_tensorflow_runs_itself_is_left_alone(findings: Findings, name: str) -> None:
    assert findings(SETUP + SILENT[name], "tf") == []


@pytest.mark.parametrize("name", LOUD)
def test_what_is_compiled_counts(findings: Findings, name: str) -> None:
    code, rules = LOUD[name]
    assert [rule for rule, _ in findings(SETUP + code, "tf")] == rules


@pytest.mark.parametrize("name", ["steps in a loop of a tensor's length", "what is done with what comes back"])
def test_without_a_strategy_the_same_code_is_compiled(findings: Findings, name: str) -> None:
    code = (
        SILENT[name]
        .replace("strategy.run(step_fn, args=(x,))", "step_fn(x)")
        .replace("strategy.run(step_fn, args=(next(iterator),))", "step_fn(next(iterator))")
    )
    code = code.replace("strategy.experimental_local_results(", "(").replace("step_fn(x)), 0)", "step_fn(x),), 0)")
    assert (
        findings(SETUP + code.replace("def train(iterator, steps)", "def train(iterator, steps: tf.Tensor)"), "tf")
        != []
    )
