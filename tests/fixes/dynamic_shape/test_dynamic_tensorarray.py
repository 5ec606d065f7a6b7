"""XLA210: arrays whose size is known."""

from __future__ import annotations

import pytest

from tests.fixes.fixing import outcome

TENSORFLOW = """import tensorflow as tf


@tf.function(jit_compile=True)
def f(x: tf.Tensor) -> tf.Tensor:
    {body}
"""
GROWING = "a = tf.TensorArray(tf.float32, size=0, dynamic_size=True)\n    "
CODES = {"tensorflow": (TENSORFLOW, "tf")}

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


@pytest.mark.parametrize(
    ("framework", "code", "before", "after"),
    [(*key, before, after) for key, pairs in CHANGED.items() for before, after in pairs.items()],
)
def test_changed(framework: str, code: str, before: str, after: str) -> None:
    program, target = CODES[framework]
    assert outcome(program.format(body=before), code, target=target).text == program.format(body=after)


@pytest.mark.parametrize(
    ("framework", "code", "body"), [(*key, body) for key, bodies in LEFT.items() for body in bodies]
)
def test_left_with_a_reason(framework: str, code: str, body: str) -> None:
    program, target = CODES[framework]
    found = outcome(program.format(body=body), code, target=target)
    assert found.text == program.format(body=body)
    assert found.reason
