"""Texts that tensors are put into: `%`, `format`, f-strings and `print`, by themselves and in containers."""

from __future__ import annotations

import pytest

from tests.conftest import Findings
from xlalint.interpreter.text_formats import brace_numbers, percent_numbers

TORCH = """
import torch

def f(x: torch.Tensor, i: int, t: float, name: str, count: int):
    a, b = x.sum(), x.mean()
    {statement}
"""

SILENT = [
    '"%f %d" % (t, i)',
    '"%d" % i',
    '"%s" % (x.shape,)',
    '"%d %d" % (x.shape[0], x.size(1))',
    '"%s %s" % (x.dtype, x.device)',
    '"%s" % [t, i]',
    '"%(n)d" % {"n": i}',
    "name % (t, i)",
    "name % count",
    "name % count % (t, i)",
    "i % 7",
    "(i, count) == (i % 7, count % 2)",
    "a % 2",
    "5 % x",
    "x % (2 * a)",
    "count % x",
    '"{} {}".format(t, i)',
    '"{n}".format(n=i)',
    '"{}".format(x.shape)',
    '"{}".format([t, i])',
    "name.format(t, *[i, count])",
    'f"{t} {i:.3f} {x.shape} {x.dtype}"',
    'f"{[t, i]}"',
    'f"{(x.shape, x.ndim)}"',
    'f"{len([a, b])}"',
    'f"{type(a)}"',
    "print(t, i, x.shape)",
    "print([t, i])",
    '"%d" % len([a, b])',
    '"%s" % x.is_floating_point()',
    '"a".join([name])',
]
FOUND = [
    '"%f %d" % (a, i)',
    '"%d %f" % (i, a)',
    '"%f" % a',
    '"%s %s" % (i, [a, b])',
    '"%(n)f" % {"n": a}',
    '"%s" % {"n": a}',
    "name % (a, i)",
    "name % a",
    '("a text that is so long that nothing is kept of what it says, which is no short one at all" + "%f %d") % (a, i)',
    '"{} {}".format(i, a)',
    '"{n}".format(n=a)',
    '"{}".format((a, b))',
    '"{} {}".format(i, *[a, b])',
    "name.format(a)",
    'f"{i} {a}"',
    'f"{[a, b]}"',
    "f\"{dict(n=a)} {{'n': 0}}\"",
    "print(i, a)",
    "print([a, b])",
    "str([a, b])",
]


@pytest.mark.parametrize("statement", SILENT)
def test_numbers_and_shapes_are_left_alone(findings: Findings, statement: str) -> None:
    assert findings(TORCH.format(statement=statement), "torch_xla") == []


@pytest.mark.parametrize("statement", FOUND)
def test_a_tensor_that_becomes_text_is_found(findings: Findings, statement: str) -> None:
    assert findings(TORCH.format(statement=statement), "torch_xla") == [("XLA303", "warning")]


JAX = "import jax\n\n@jax.jit\ndef f(x):\n    a = x.sum()\n    {statement}\n    return x\n"
TENSORFLOW = (
    "import tensorflow as tf\n\n@tf.function(jit_compile=True)\ndef f(x: tf.Tensor):\n"
    "    a = tf.reduce_sum(x)\n    {statement}\n    return x\n"
)
# As jax 0.10 and TensorFlow 2.21 take them under a tracer: a conversion to a number raises, the others name the tracer.
RAISING = [
    '"%f" % a',
    '"%f %d" % (a, 1)',
    '"%d %s" % (a, 1)',
    '"{:.2f}".format(a)',
    '"{n:d}".format(n=a)',
    'f"{a:.2f}"',
]
NAMING = ['"%s" % a', '"%s %d" % (a, 1)', '"{}".format(a)', '"{!s:>8}".format(a)', 'f"{a}"', '"%s" % [a]']


@pytest.mark.parametrize("statement", RAISING)
@pytest.mark.parametrize(("code", "target"), [(JAX, "jax"), (TENSORFLOW, "tf")])
def test_under_a_tracer_a_number_is_an_error(findings: Findings, code: str, target: str, statement: str) -> None:
    assert ("XLA303", "error") in findings(code.format(statement=statement), target)


@pytest.mark.parametrize("statement", NAMING)
@pytest.mark.parametrize(("code", "target"), [(JAX, "jax"), (TENSORFLOW, "tf")])
def test_under_a_tracer_a_text_is_no_error(findings: Findings, code: str, target: str, statement: str) -> None:
    assert "error" not in [severity for _, severity in findings(code.format(statement=statement), target)]


@pytest.mark.parametrize(
    ("text", "numbers"),
    [
        ("", ()),
        ("100%%", ()),
        ("%s", (False,)),
        ("%d of %s", (True, False)),
        ("%-8.3f|%r|%+05d", (True, False, True)),
        ("%(loss).2f %(name)s", (True, False)),
        ("%*d", (True,)),
        ("50% off", (True,)),
    ],
)
def test_conversions(text: str, numbers: tuple[bool, ...]) -> None:
    assert percent_numbers(text) == numbers


@pytest.mark.parametrize(
    ("text", "asked"),
    [
        ("", {}),
        ("{{}}", {}),
        ("{} {}", {"0": False, "1": False}),
        ("{:.2f} {}", {"0": True, "1": False}),
        ("{1} {0:d}", {"1": False, "0": True}),
        ("{loss:.3f} {name}", {"loss": True, "name": False}),
        ("{x.y[0]:f}", {"x": True}),
        ("{x!r:>9}", {"x": False}),
        ("{x} {x:f}", {"x": True}),
        ("{", {}),
    ],
)
def test_fields(text: str, asked: dict[str, bool]) -> None:
    assert brace_numbers(text) == asked
