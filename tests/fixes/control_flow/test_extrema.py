"""The builtins `max` and `min` over tensors."""

from __future__ import annotations

import pytest

from tests.fixes.fixing import expect_fixed, expect_left_alone, expression, outcome

LEFT_ALONE = {
    "a key": ("max(x, key=abs)", "`key`"),
    "a default": ("max(x, default=0)", "`key`, `default`"),
    "spread": ("max(*x)", "`*`"),
    "a list of tensors": ("max([x.sum(), x.mean()])", "stack them"),
    "what is not known": ("max(x.sum(), other)", "not known to be a tensor or a number"),
    "a tensor of bools": ("max(x.any(), 1)", "not known to be a tensor or a number"),
    "a size": ("x[: max((x > 0).sum(), 1)]", "needs a number"),
    "an argument": ("torch.ones(max((x > 0).sum(), 1))", "needs a number"),
    "a comment": ("max(  # first\n            x.sum(), 1\n        )", "a comment"),
}

SAFE = {
    "a count": ("x / max((x > 0).sum(), 1)", "x / (x > 0).sum().clamp(min=1)"),
    "a count, number first": ("x / max(1, (x > 0).sum())", "x / (x > 0).sum().clamp(min=1)"),
    "two numbers": ("x / min((x > 0).sum(), 3, x.ndim)", "x / (x > 0).sum().clamp(max=min(3, x.ndim))"),
    "a factor of floats": (
        "x.sigmoid().bfloat16() * max(t.argmax(), 1)",
        "x.sigmoid().bfloat16() * t.argmax().clamp(min=1)",
    ),
}

UNSAFE = {
    "a float, tensor first": (
        "x / min(x.mean(), 1)",
        "x / x.mean().clamp(max=1)",
        "the gradient of `x.mean()` is finite",
    ),
    "what must be put in parentheses": (
        "min(x.mean() + 1, 2.0)",
        "(x.mean() + 1).clamp(max=2.0)",
        "works where this was a Python number",
    ),
    "a result that is returned": (
        "min((x > 0).sum(), 3)",
        "(x > 0).sum().clamp(max=3)",
        "works where this was a Python number",
    ),
    "a factor of any dtype": (
        "x * max((x > 0).sum(), 1)",
        "x * (x > 0).sum().clamp(min=1)",
        "works where this was a Python number",
    ),
    "what widens whole numbers": (
        "t.long() * max(x.float().sum(), 1)",
        "t.long() * x.float().sum().clamp(min=1)",
        "works where this was a Python number",
    ),
    "two floats": ("max(x.max(), x.mean())", "torch.maximum(x.max(), x.mean())", "none of them is NaN"),
    "three": (
        "max(x.max(), x.mean(), x.sum())",
        "torch.maximum(torch.maximum(x.max(), x.mean()), x.sum())",
        "the tensors have one dtype",
    ),
    "a float, number first": ("max(1, x.mean())", "x.mean().clamp(min=1)", "none of them is NaN"),
    "dimensions that are not known": ("max(t, 1)", "t.clamp(min=1)", "no dimensions"),
    "a dtype that is not known": ("max(x.sum(), 1.0)", "x.sum().clamp(min=1.0)", "`x.sum()` holds floats"),
    "a whole number and a float": ("max((x > 0).sum(), 0.5)", "(x > 0).sum().clamp(min=0.5)", "holds floats"),
    "a row": ("max(x)", "x.max()", "`x` has one dimension"),
    "two and a number": ("max(x.mean(), t, 3)", "torch.maximum(x.mean(), t).clamp(min=3)", "none of them is NaN"),
}


@pytest.mark.parametrize(("before", "why"), LEFT_ALONE.values(), ids=LEFT_ALONE)
def test_left_alone_with_a_reason(before: str, why: str) -> None:
    expect_left_alone(outcome(expression(before), "XLA106"), why)


@pytest.mark.parametrize(("before", "after"), SAFE.values(), ids=SAFE)
def test_safe(before: str, after: str) -> None:
    expect_fixed(outcome(expression(before), "XLA106"), expression(after), "safe")


@pytest.mark.parametrize(("before", "after", "assumed"), UNSAFE.values(), ids=UNSAFE)
def test_unsafe(before: str, after: str, assumed: str) -> None:
    expect_fixed(outcome(expression(before), "XLA106"), expression(after), "unsafe", assumed)


def test_a_result_that_is_changed_in_place_was_one_of_the_operands() -> None:
    made = outcome(
        expression("x").replace(
            "return x", "n = t.argmax()\n        y = max(n, 1)\n        y += 1\n        return x[n] / y"
        ),
        "XLA106",
    )
    assert "nothing else holds the tensor `y`, which is changed in place afterwards" in made.message


def test_shapes_in_annotations_of_a_wrapper_are_of_the_module_s_framework() -> None:
    before = (
        "import torch\nfrom pkg import Float, Int\n\n\nclass Model(torch.nn.Module):\n"
        "    def forward(self, x: Float['m 3'], n: Int[' n']):\n        return x / min((n == 3).sum(), (n == 4).sum())\n"
    )
    after = before.replace("min(", "torch.minimum(")
    assert outcome(before, "XLA106").text == after
