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
