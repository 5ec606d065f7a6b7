"""Arguments that have another shape in some turns of a loop, and the larger half of those that have not."""

from __future__ import annotations

import pytest

from tests.frameworks.checks.rows import find
from tests.frameworks.checks.shapes import FOUND, HEAD, SILENT

# Of these it is not known how long they are, so that nothing is said, or little.
UNKNOWN = {
    "rows from elsewhere": "for s in load():\n    step(tf.constant(s))",
    "lists from elsewhere": "def run(rows):\n    for s in rows:\n        step(tf.constant(s))",
    "a comprehension of rows from elsewhere": "for s in [list(r) for r in load()]:\n    step(tf.constant(s))",
    "a rate that changes now and then": "rate = 0.1\nfor i in range(30):\n    scaled(x, rate)\n    if i in drops:\n        rate *= 0.5",
    "slices that are divided elsewhere": "n = count()\nfor i in range(0, n - n % size, size):\n    step(data[i:i + size])",
    "a graph that knows no length": "for s in rows:\n    relaxed(tf.constant(s))",
}


def found(text: str) -> list[str]:
    return [f"{one.location.row - HEAD.count(chr(10))}:{one.severity}" for one in find(text, HEAD, "XLA405")]


@pytest.mark.parametrize("case", [*SILENT, *UNKNOWN])
def test_silent(case: str) -> None:
    assert found({**SILENT, **UNKNOWN}[case]) == []


@pytest.mark.parametrize("case", FOUND)
def test_found(case: str) -> None:
    text, _, row = FOUND[case]
    assert found(text) == [f"{row}:warning"]


def test_slices_of_any_number_are_information() -> None:
    assert found("def run(x, n):\n    for i in range(0, len(x), n):\n        step(x[i:i + n])") == ["3:info"]


def test_xla_compiles_for_each_length_whatever_the_signature_says() -> None:
    text = "by_xla = tf.function(lambda x: x * 2, jit_compile=True)\n"
    text += "@tf.function(jit_compile=True, input_signature=[tf.TensorSpec([None])])\ndef own(x):\n    return x * 2\n"
    assert found(text + "for s in rows:\n    own(tf.constant(s))") == ["6:warning"]


JAX = """
import jax
import jax.numpy as jnp
import numpy as np

@jax.jit
def step(w, x):
    return w + x.sum()

data = np.ones((100, 2), np.float32)
w = jnp.zeros(())
"""
# JAX 0.10.2 compiles `step` once in each of these.
JAX_SILENT = {
    "slices without a rest": "for i in range(0, 96, 32):\n    w = step(w, data[i:i + 32])",
    "rows one by one": "for i in range(100):\n    w = step(w, data[i:i + 1])",
    "the last slice is left out": "for i in range(0, 100, 32):\n    if i + 32 > 100:\n        continue\n    w = step(w, data[i:i + 32])",
    "a part that stays": "for i in range(100):\n    w = step(w, data[:32])",
    "slices of a multiple": "size = count()\nfor i in range(0, 100 // size * size, size):\n    w = step(w, data[i:i + size])",
    "parts of a dict without a rest": "for i in range(0, 96, 32):\n    w = step(w, {'x': data[i:i + 32], 'y': data})",
    "a dict that is filled": "for i in range(0, 100, 32):\n    b = {'x': data}\n    w = step(w, b)\n    b = {'x': data[i:i + 32]}",
    "rows that are shown": "for i in range(0, 100, 32):\n    x, y = data[i:i + 32], data\n    w = step(w, y)\n    print(len(x))",
    "slices in a comparison": "for i in range(0, 100, 32):\n    w = step(w, data)\n    print(len(data[i:i + 32]))",
}
JAX_FOUND = {
    "the last slice": ("for i in range(0, 100, 32):\n    w = step(w, data[i:i + 32])", ["2:warning"]),
    "the last slice, by a name": (
        "for i in range(0, 100, 32):\n    x = jnp.asarray(data[i:i + 32])\n    w = step(w, x)",
        ["3:warning"],
    ),
    "slices of any number": (
        "def run(w, x, n):\n    for i in range(0, len(x), n):\n        w = step(w, x[i:i + n])",
        ["3:info"],
    ),
    "the last slices, of a dict": (
        "for i in range(0, 100, 32):\n    w = step(w, {'x': data[i:i + 32], 'y': data[i:i + 32]})",
        ["2:warning"],
    ),
    "the last slices, by names": (
        "for i in range(0, 100, 32):\n    x, n = data[i:i + 32], 32\n    batch = {'x': (x, data)}\n    w = step(w, batch)",
        ["4:warning"],
    ),
    "what grows": ("for n in range(1, 100):\n    w = step(w, data[:n])", ["2:warning"]),
}


@pytest.mark.parametrize("case", JAX_SILENT)
def test_silent_under_jax(case: str) -> None:
    assert find(JAX_SILENT[case], JAX, "XLA405") == []


@pytest.mark.parametrize("case", JAX_FOUND)
def test_found_under_jax(case: str) -> None:
    text, expected = JAX_FOUND[case]
    said = find(text, JAX, "XLA405")
    assert [f"{one.location.row - JAX.count(chr(10))}:{one.severity}" for one in said] == expected
