"""`in`, and the builtins `any`, `all` and `sorted`, over tensors."""

from __future__ import annotations

import pytest

from tests.fixes.fixing import expect_fixed, expect_left_alone, expression, outcome

LEFT_ALONE = {
    "`in` that is handed on": ("torch.sum(x, keepdim=3 in x)", "the code that uses it may need"),
    "`in` that is returned": ("3 in x", "the code that uses it may need"),
    "`any` that is returned": ("any(x)", "the code that uses it may need"),
    "any of tensors": ("x * any(y.any() for y in (x, t))", "stack them"),
    "cases in a variable": ("x * (x.sum() in list(range(9)))", "a few numbers"),
    "too many cases": ("x * (x.sum() in (1, 2, 3, 4, 5, 6))", "a few numbers"),
    "a long operand": ("x * (x.abs().sum(-1).abs().max() in (1, 2))", "more than once"),
    "a tensor in tensors": ("x * (t in [x, x])", "does not hold a few numbers"),
    "equal lists": ("x * ([x] == [t])", "element by element"),
    "sorted by a key": ("sorted(x, key=abs)[0]", "gives a list"),
    "sorted, as a list": ("sum(sorted(x))", "gives a list"),
    "a slice of what is sorted": ("sorted(x)[:2]", "gives a list"),
    "a list that is searched": ("x * [x, t].index(t)", "stack them"),
}

SAFE = {
    "in": ("x * (3 in x)", "x * (x == 3).any()"),
    "not in": ("x * (3 not in x)", "x * (x != 3).all()"),
    "a tensor in a tensor": ("x * (x.sum() in x)", "x * (x == x.sum()).any()"),
    "a condition": ("t if 3 in x else x", "t if (x == 3).any() else x"),
    "a case": ("x * (x.sum() in [1])", "x * (x.sum() == 1)"),
    "cases": ("x * (x.sum() in [1, 2])", "x * ((x.sum() == 1) | (x.sum() == 2))"),
    "not in cases": ("x * (x.sum() not in (1, 2))", "x * ((x.sum() != 1) & (x.sum() != 2))"),
    "true among bools": ("x * (True in (x > 0))", "x * (x > 0).any()"),
    "any of bools": ("x * any(x == 2)", "x * (x == 2).any()"),
    "all of bools, a condition": ("x if all(x.isnan()) else t", "x if x.isnan().all() else t"),
    "all of counts": ("x * all((x > 0).sum(-1))", "x * ((x > 0).sum(-1) != 0).all()"),
}

UNSAFE = {
    "cases of what may be a row": ("x * (t in (1, 2))", "x * ((t == 1) | (t == 2))", "`t` has no dimensions"),
    "any of a dtype that is not known": ("x * any(t)", "x * t.any()", "`t` holds bools"),
    "sorted": ("sorted(x)[0]", "x.sort().values[0]", "`x` has one dimension"),
    "sorted from the end": ("sorted(x, reverse=True)[-1]", "x.sort(descending=True).values[-1]", "no element is NaN"),
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
