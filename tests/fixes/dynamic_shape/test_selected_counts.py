"""Selections by a mask of which only the size is asked."""

from __future__ import annotations

import pytest

from tests.fixes.fixing import body, expect_fixed, expect_left_alone, outcome

_HEAD = "x = x.view(3, 4, 5).float()\nm = x > 0.5\nk = m.any(2).any(1)\n"

SAFE = {
    "elements of a float tensor's divisor": ("return x / x[m].numel()", "return x / m.sum()"),
    "rows": ("return x.sum() / x[k].shape[0]", "return x.sum() / k.sum()"),
    "rows by `size`": ("return x.sum() / x[k].size(0)", "return x.sum() / k.sum()"),
    "a selection that is only taken elsewhere": (
        "s = x.sum() / x[k].shape[0]\nif self.flag:\n    s = s + self.net(x[k])\nreturn s",
        "s = x.sum() / k.sum()\nif self.flag:\n    s = s + self.net(x[k])\nreturn s",
    ),
    "rows by `len`": ("return x.mean() * len(x[k])", "return x.mean() * k.sum()"),
    "rows by `len`, of all": ("return x.mean() * len(x[m])", "return x.mean() * m.sum()"),
    "elements of rows": ("return x / x[k].numel()", "return x / (k.sum() * x.shape[1:].numel())"),
    "by a name": ("s = x[m]\nreturn x / s.numel()", "return x / m.sum()"),
}

UNSAFE = {
    "a number that is returned": ("return x[m].numel()", "return m.sum()", "a tensor works"),
    "elements of rows, returned": ("return x[k].numel()", "return k.sum() * x.shape[1:].numel()", "a tensor works"),
    "a name that is a number": (
        "c = x[m].numel()\nreturn x.sum() / (c + 1)",
        "c = m.sum()\nreturn x.sum() / (c + 1)",
        "a tensor works",
    ),
    "at least 1": (
        "return x.sum() / max(len(x[k]), 1)",
        "return x.sum() / k.sum().clamp(min=1)",
        "",
    ),
    "whether there are any": ("return x * (x[m].numel() > 0)", "return x * m.any()", ""),
    "whether there are none": ("return x * (len(x[k]) == 0)", "return x * ~k.any()", ""),
}

LEFT_ALONE = {
    "a branch": ("if x[m].numel() > 0:\n    x = x + 1\nreturn x", "still waits for the device"),
    "a branch by a number": ("if x[m].numel() > 3:\n    x = x + 1\nreturn x", "a size, or a bound"),
    "a range": ("for i in range(len(x[k])):\n    x = x + i\nreturn x", "a size, or a bound"),
    "a shape": ("return x.new_zeros(x[m].numel())", "a size, or a bound"),
    "an index": ("return x[x[k].shape[0]]", "a size, or a bound"),
    "another size": ("return x / x[k].shape[1]", "expect its shape"),
    "the last size": ("return x / x[k].shape[-1]", "expect its shape"),
    "all sizes": ("return x[k].shape", "expect its shape"),
    "a selection that is read besides": ("s = x[m]\nreturn s, x / s.numel()", "for more than its sum"),
    "a selection that is taken besides": ("return self.net(x[k]) / x[k].shape[0]", "may expect its shape"),
    "a selection of a column": ("return x / x[0, k].numel()", "expect its shape"),
    "a mask that changes": ("s = x[m]\nm = x < 0\nreturn x / s.numel() + m", "for more than its sum"),
}


@pytest.mark.parametrize(("before", "after"), SAFE.values(), ids=SAFE)
def test_safe(before: str, after: str) -> None:
    expect_fixed(outcome(body(_HEAD + before), "XLA201"), body(_HEAD + after), "safe")


@pytest.mark.parametrize(("before", "after", "assumed"), UNSAFE.values(), ids=UNSAFE)
def test_unsafe(before: str, after: str, assumed: str) -> None:
    made = outcome(body(_HEAD + before), "XLA201")
    assert made.text == body(_HEAD + after)
    if assumed:
        assert made.applicability == "unsafe"
    assert assumed in made.message


@pytest.mark.parametrize("name", LEFT_ALONE)
def test_left_alone_with_a_reason(name: str) -> None:
    before, why = LEFT_ALONE[name]
    expect_left_alone(outcome(body(_HEAD + before), "XLA201"), why)


def test_masked_select() -> None:
    made = outcome(body("return x.float() / torch.masked_select(x, x > 0).numel()"), "XLA204")
    assert made.text == body("return x.float() / (x > 0).sum()")


def test_masked_select_of_another_shape() -> None:
    made = outcome(body("return x.float() / torch.masked_select(x, t > 0).numel()"), "XLA204")
    assert "`t > 0` has the shape of `x`" in made.message


def test_dimensions_that_are_not_known() -> None:
    expect_left_alone(outcome(body("mask = t > 0\nreturn x / x[mask].numel()"), "XLA201"), "how many elements")


def test_tensorflow() -> None:
    program = (
        "import tensorflow as tf\n\n\n@tf.function(jit_compile=True)\ndef f(x: tf.Tensor) -> tf.Tensor:\n"
        "    mask = x > 0.0\n    return {}\n"
    )
    made = outcome(program.format("tf.shape(tf.boolean_mask(x, mask))[0]"), "XLA204", target="tf")
    assert made.text == program.format("tf.math.count_nonzero(mask, dtype=tf.int32)")
