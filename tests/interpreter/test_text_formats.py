"""Texts that tensors are put into: `%`, `format`, f-strings and `print`, by themselves and in containers."""

from __future__ import annotations

import pytest

from tests.conftest import Findings
from xlalint.interpreter.text_formats import brace_fields, percent_numbers

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
    '"{a.shape} {a.dtype}".format(a=a)',
    '"{0.ndim} {1.shape}".format(a, b)',
    '"a text so long that it is not kept\\tbut for what is filled in, which are shapes alone {a.shape}".format(a=a)',
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
    '"{a.shape} {a}".format(a=a)',
    '"{x.T:}".format(x=x)',
    '"a text so long that it is not kept\\tbut for what is filled in, which is a tensor at last {x.T}".format(x=x)',
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


METERS = """
import torch
from torch import nn

class Meter:
    def __init__(self):
        self.total = self.count = self.avg = 0
    def update(self, value, n=1):
        self.total += value * n
        self.count += n
        self.avg = self.total / self.count

def train(loader, model, optimizer, device):
    losses, top = Meter(), Meter()
    for i, (x, y) in enumerate(loader):
        loss = nn.functional.cross_entropy(model(x.to(device)), y.to(device))
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        top.update(loss, len(y))
        losses.update(len(y))
        if i % 100 == 0:
            {statement}
"""
OF_NUMBERS = [
    'print("{loss.avg:.3f}".format(loss=losses))',
    'print("{loss.avg}\\t{top.count}".format(loss=losses, top=top))',
    'print(f"{losses.avg} {top.count}")',
    "float(losses.avg)",
]
OF_TENSORS = [
    'print("{loss.avg:.3f}\\t{top.avg:.3f}".format(loss=losses, top=top))',
    'print("{0.avg} {1.total}".format(losses, top))',
    'print(f"{losses.avg} {top.avg:.3f}")',
    'print("%.3f" % top.avg)',
]


@pytest.mark.parametrize("statement", OF_NUMBERS)
def test_what_keeps_numbers_is_left_alone(findings: Findings, statement: str) -> None:
    assert findings(METERS.format(statement=statement), "torch_xla") == []


@pytest.mark.parametrize("statement", OF_TENSORS)
def test_what_keeps_tensors_of_the_loop_is_read(findings: Findings, statement: str) -> None:
    assert [code for code, _ in findings(METERS.format(statement=statement), "torch_xla")] == ["XLA303"]


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
    ("text", "fields"),
    [
        ("", []),
        ("{{}}", []),
        ("{} {}", [("0", (), False), ("1", (), False)]),
        ("{:.2f} {}", [("0", (), True), ("1", (), False)]),
        ("{1} {0:d}", [("1", (), False), ("0", (), True)]),
        ("{loss:.3f} {name}", [("loss", (), True), ("name", (), False)]),
        ("{loss.val:.3f} {x.y.z}", [("loss", ("val",), True), ("x", ("y", "z"), False)]),
        ("{.val}", [("0", ("val",), False)]),
        ("{x.y[0]:f}", [("x", ("y",), True)]),
        ("{x[y].z}", [("x", (), False)]),
        ("{x!r:>9}", [("x", (), False)]),
        ("{", []),
    ],
)
def test_fields(text: str, fields: list[tuple[str, tuple[str, ...], bool]]) -> None:
    assert brace_fields(text) == fields
