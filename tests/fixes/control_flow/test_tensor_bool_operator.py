"""`and`, `or`, `not` and chained comparisons: what is left alone, what is rewritten, and on which conditions."""

from __future__ import annotations

import pytest

from tests.fixes.fixing import expect_fixed, expect_left_alone, expression, outcome

LEFT_ALONE = {
    "an operand that is no bool is what `or` gives": ("x.sum() or x.mean()", "the result is one of the operands"),
    "a default": ("t or {}", "is not a tensor"),
    "a number at the end": ("(x > 0).all() and len(x)", "is not a tensor"),
    "a call that is not known": ("(x > 0).all() and self.net(x)", "is not a tensor"),
    "a call with effects": ("(x > 0).all() and (torch.rand_like(x) > 0).all()", "draws random numbers"),
    "a named expression": ("(x > 0).all() and (y := x > 1).all()", "does more than compute a value"),
    "`not` that is handed on": ("torch.sum(x, keepdim=not t.any())", "the code that uses it may need"),
    "`not` in a difference": ("x - (not t.any())", "the code that uses it may need"),
    "`not` beside a number": ("(not t.any()) + 1", "the code that uses it may need"),
    "not of what may be a Python bool": ("x * (not (x.ndim > 1 and not t.any()))", "may be a Python bool"),
    "a chain with a long middle": ("0 < x.abs().sum(-1).abs().max() < 1", "computed twice"),
    "a chain that a condition reads": ("t if 0 < x.sum() < 1 else None", "rewrite the condition as a whole"),
    "a chain with a call in the middle": ("0 < torch.rand_like(t) < 1", "computed twice"),
}

SAFE = {
    "bools": ("(x > 0).all() and (x < 9).all()", "(x > 0).all() & (x < 9).all()"),
    "comparisons": ("x.sum() > 0 and x.mean() < 9", "(x.sum() > 0) & (x.mean() < 9)"),
    "or": ("x.isnan().any() or x.isinf().any()", "x.isnan().any() | x.isinf().any()"),
    "three": (
        "x.isnan().any() or x.isinf().any() or x.sum() > 1",
        "x.isnan().any() | x.isinf().any() | (x.sum() > 1)",
    ),
    "and in or": (
        "x.isnan().any() and x.isinf().all() or x.sum() > 1",
        "(x.isnan().any() & x.isinf().all()) | (x.sum() > 1)",
    ),
    "bools of both kinds": ("(x > 0).all() and self.training", "(x > 0).all() & self.training"),
    "a static lead": (
        "t is not None and (t > 0).any() and (t < 9).all()",
        "t is not None and ((t > 0).any() & (t < 9).all())",
    ),
    "not of bools": ("x * (not (x > 0).all())", "x * ~(x > 0).all()"),
    "not of a number": ("x * (not x.sum())", "x * torch.logical_not(x.sum())"),
    "not of a junction": (
        "x * (not (x.isnan().any() or x.isinf().any()))",
        "x * ~(x.isnan().any() | x.isinf().any())",
    ),
    "a chain of one tensor": ("0 < t < 1", "(0 < t) & (t < 1)"),
    "operands that begin and end with a parenthesis": (
        "(x.sum()) < (x.mean()) and (x.sum()) < (x.mean())",
        "((x.sum()) < (x.mean())) & ((x.sum()) < (x.mean()))",
    ),
    "a chain as a factor": ("x * (0 < t <= 1)", "x * ((0 < t) & (t <= 1))"),
    "a chain of three": ("0 < t < 1 < 2", "(0 < t) & (t < 1) & (1 < 2)"),
    "a chain within": ("x.isnan().any() or 0 < x.sum() < 1", "x.isnan().any() | ((0 < x.sum()) & (x.sum() < 1))"),
}

UNSAFE = {
    "what fails on nothing": (
        "x.isnan().any() or x.max() > 9",
        "x.isnan().any() | (x.max() > 9)",
        "`x.max()` can always be computed",
    ),
    "what may not fit": (
        "(x > 0).all() and (x > t).all()",
        "(x > 0).all() & (x > t).all()",
        "`x > t` can always be computed",
    ),
    "an index": ("(x > 0).all() and (x[0] > 0).all()", "(x > 0).all() & (x[0] > 0).all()", "can always be computed"),
    "a dtype that is not known": ("t and x.sum() > 0", "torch.logical_and(t, x.sum() > 0)", "`t` holds bools"),
    "shapes that are not known": ("t.any() and x > 0", "t.any() & (x > 0)", "the operands have one shape"),
    "not of a row": ("x * (not t > 0)", "x * ~(t > 0)", "`t > 0` has no dimensions"),
    "a chain of two tensors": ("0 < t < x", "(0 < t) & (t < x)", "the operands have one shape"),
}


@pytest.mark.parametrize(("before", "why"), LEFT_ALONE.values(), ids=LEFT_ALONE)
def test_left_alone_with_a_reason(before: str, why: str) -> None:
    expect_left_alone(outcome(expression(before), "XLA104"), why)


@pytest.mark.parametrize(("before", "after"), SAFE.values(), ids=SAFE)
def test_safe(before: str, after: str) -> None:
    expect_fixed(outcome(expression(before), "XLA104"), expression(after), "safe")


@pytest.mark.parametrize(("before", "after", "assumed"), UNSAFE.values(), ids=UNSAFE)
def test_unsafe(before: str, after: str, assumed: str) -> None:
    expect_fixed(outcome(expression(before), "XLA104"), expression(after), "unsafe", assumed)
