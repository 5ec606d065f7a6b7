"""What the host reads in each turn of a loop that takes steps: results, what metrics add up, what is printed."""

from __future__ import annotations

from textwrap import dedent, indent

import pytest

from tests.frameworks.checks.rows import find

HEAD = """
import tensorflow as tf
optimizer = tf.keras.optimizers.Adam()
mean = tf.keras.metrics.Mean()
model = tf.keras.Sequential([tf.keras.layers.Dense(1)])

@tf.function
def train_step(x):
    with tf.GradientTape() as tape:
        loss = tf.reduce_mean(model(x))
    weights = model.trainable_variables
    optimizer.apply_gradients(zip(tape.gradient(loss, weights), weights))
    mean(loss)
    return loss

@tf.function
def train_epoch(batches):
    for x in batches:
        train_step(x)

def main(batches, bar, metrics):
"""

SILENT = {
    "behind the steps": """
        for epoch in range(10):
            for x in batches:
                train_step(x)
            print(mean.result())
        """,
    "behind many steps in the graph": """
        for epoch in range(10):
            train_epoch(batches)
            print(float(mean.result()))
        """,
    "now and then": """
        for i, x in enumerate(batches):
            train_step(x)
            if i % 100 == 0:
                print(mean.result().numpy())
        """,
    "in a loop of its own": """
        for epoch in range(10):
            for x in batches:
                train_step(x)
            for one in metrics:
                print(mean.result().numpy())
        """,
    "a constant": """
        for x in batches:
            train_step(x)
            print(tf.constant(1.0))
        """,
    "nothing": """
        for x in batches:
            train_step(x)
        """,
}
FOUND = {
    "what a metric gives": """
        for x in batches:
            train_step(x)
            bar.set_postfix({"loss": f"{mean.result():.4f}"})
        """,
    "a metric's number": """
        for x in batches:
            train_step(x)
            print(mean.result().numpy())
        """,
    "a result that is printed": """
        for x in batches:
            loss = train_step(x)
            print("loss", loss)
        """,
}


def found(text: str) -> list[str]:
    body = indent(dedent(text).strip("\n"), "    ") + "\n"
    return [f"{one.location.row - HEAD.count(chr(10))}:{one.severity}" for one in find(HEAD + body, "", "XLA301")]


@pytest.mark.parametrize("case", SILENT)
def test_silent(case: str) -> None:
    assert found(SILENT[case]) == []


@pytest.mark.parametrize("case", FOUND)
def test_found(case: str) -> None:
    assert found(FOUND[case]) == ["3:warning"]
