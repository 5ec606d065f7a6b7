"""XLA210: arrays whose size is known."""

from __future__ import annotations

import pytest

from tests.fixes.dynamic_shape.tables import expect_changed, expect_left, list_changes, list_left

GROWING = "a = tf.TensorArray(tf.float32, size=0, dynamic_size=True)\n    "

CHANGED = {
    ("tensorflow", "XLA210"): {
        f"{GROWING}for i in tf.range(4):\n        a = a.write(i, x[i])\n    return a.stack()": (
            "a = tf.TensorArray(tf.float32, size=4)\n    for i in tf.range(4):\n        a = a.write(i, x[i])\n    return a.stack()"
        ),
    },
}
LEFT = {
    ("tensorflow", "XLA210"): (
        f"{GROWING}for i in tf.range(4):\n        if x[i, 0] > 0:\n            a = a.write(i, x[i])\n    return a.stack()",
        f"{GROWING}for i in tf.range(1, 4):\n        a = a.write(i, x[i])\n    return a.stack()",
        f"{GROWING}for i in tf.range(4):\n        a = a.write(i + 1, x[i])\n    return a.stack()",
        f"{GROWING}for i in tf.range(4):\n        a = a.write(a.size(), x[i])\n    return a.stack()",
        f"{GROWING}for i in tf.range(4):\n        a = a.write(i, x[i])\n        if i > 2:\n            break\n    return a.stack()",
        f"{GROWING}for i in tf.range(4):\n        a = a.write(i, x[i])\n    a = a.write(4, x[0])\n    return a.stack()",
        f"{GROWING}k = 3\n    for i in tf.range(k):\n        a = a.write(i, x[i])\n    return a.stack()",
        f"{GROWING}for i in tf.range(4):\n        i = i // 2\n        a = a.write(i, x[i])\n    return a.stack()",
    ),
}


@pytest.mark.parametrize(("framework", "code", "before", "after"), list_changes(CHANGED))
def test_changed(framework: str, code: str, before: str, after: str) -> None:
    expect_changed(framework, code, before, after)


@pytest.mark.parametrize(("framework", "code", "body"), list_left(LEFT))
def test_left_with_a_reason(framework: str, code: str, body: str) -> None:
    expect_left(framework, code, body)
