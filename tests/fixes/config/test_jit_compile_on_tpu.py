"""XLA501: `jit_compile` dropped for TPUs."""

from __future__ import annotations

import pytest

from tests.fixes.fixing import expect_fixed, expect_left_alone, outcome


def strategy(body: str) -> str:
    return (
        "import tensorflow as tf\n\n"
        "strategy = tf.distribute.TPUStrategy(tf.distribute.cluster_resolver.TPUClusterResolver())\n\n\n"
        f"{body}\n\n\nstrategy.run(step)\n"
    )


LEFT_ALONE = {
    "a comment": (
        "XLA501",
        strategy("@tf.function(\n    jit_compile=True,  # fast\n)\ndef step():\n    pass"),
        "a comment",
    ),
}

FIXED = {
    "a decorator": (
        "XLA501",
        strategy("@tf.function(jit_compile=True)\ndef step():\n    pass"),
        strategy("@tf.function\ndef step():\n    pass"),
        "safe",
    ),
    "a decorator with more": (
        "XLA501",
        strategy("@tf.function(jit_compile=True, autograph=False)\ndef step():\n    pass"),
        strategy("@tf.function(autograph=False)\ndef step():\n    pass"),
        "safe",
    ),
}


@pytest.mark.parametrize(("code", "text", "why"), LEFT_ALONE.values(), ids=LEFT_ALONE)
def test_left_alone_with_a_reason(code: str, text: str, why: str) -> None:
    expect_left_alone(outcome(text, code), why)


@pytest.mark.parametrize(("code", "text", "after", "applicability"), FIXED.values(), ids=FIXED)
def test_fixed(code: str, text: str, after: str, applicability: str) -> None:
    expect_fixed(outcome(text, code), after, applicability)
