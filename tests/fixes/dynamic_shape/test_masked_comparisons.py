"""XLA201, XLA204: comparisons of what a mask selects, counted or asked for any and all."""

from __future__ import annotations

import pytest

from tests.fixes.dynamic_shape.test_masked_reductions import program
from tests.fixes.fixing import expect_settled, fixed, outcome

LEFT = {
    "kept": "x[m] == y[m]",
    "counted along a dimension": "(x[m] == y[m]).sum(0)",
    "two masks": "(x[x > 0] == y[y > 0]).sum()",
    "compared to a tensor of as many": "(x[x > 0] == y).sum()",
    "a chain": "(0 < x[x > 0] < y[x > 0]).sum()",
    "compared by identity": "(x[x > 0] is y) + x",
    "a median": "(x[x > 0] > 1).long().median()",
    "positions": "(x[y.argsort()] > 1).sum()",
    "what is compared is a reduction": "(x[x > 0].median() > 1).sum()",
    "a mask of random numbers, needed twice": "(x[torch.rand_like(x) > 0.5] > 1).float().mean()",
    "tensors of another number of dimensions": "x, y = x.view(4, 2), y.view(4)\n(x[y > 0] == y[y > 0]).sum()",
}
SAFE = {
    "a number": ("(x[x > 0] > 1).sum()", "((x > 1) & (x > 0)).sum()"),
    "any": ("(x[x > 0] > 1).any()", "((x > 1) & (x > 0)).any()"),
    "all": ("(x[x > 0] > 1).all()", "((x > 1) | ~(x > 0)).all()"),
    "a method": ("x[x > 0].eq(1).sum()", "(x.eq(1) & (x > 0)).sum()"),
    "a function": ("torch.sum(x[x > 0] != 1)", "torch.sum((x != 1) & (x > 0))"),
    "cast, then counted": ("(x[x > 0] <= 1).float().sum()", "((x <= 1) & (x > 0)).float().sum()"),
    "a tensor without dimensions": ("(x[x > 0] > x.max()).sum()", "((x > x.max()) & (x > 0)).sum()"),
    "a mask that is wider": (
        "x, y = x.view(4, 2), y.view(4)\n(x[y > 0] > 1).sum()",
        "x, y = x.view(4, 2), y.view(4)\n((x > 1) & (y > 0)[:, None]).sum()",
    ),
    "a mask of rows that are made along a dimension": (
        "k = (x > 1).any(dim=-1)\n(x[k] == 2).sum()",
        "k = (x > 1).any(dim=-1)\n((x == 2) & k[..., None]).sum()",
    ),
    "a mask of rows in both branches": (
        "if x.ndim > 2:\n    k = x.ne(1).any(-1)\nelse:\n    k = torch.ones(x.shape[:-1]).bool()\n(x[k] == 2).any()",
        "if x.ndim > 2:\n    k = x.ne(1).any(-1)\nelse:\n    k = torch.ones(x.shape[:-1]).bool()\n((x == 2) & k[..., None]).any()",
    ),
    "one made of the other": ("k = x * 2\n(x[x > 0] == k[x > 0]).sum()", "k = x * 2\n((x == k) & (x > 0)).sum()"),
}
UNSAFE = {
    "two tensors": (
        "(x[m] == y[m]).sum()",
        "((x == y) & m).sum()",
        "`m` has as many dimensions as `x` and `m` has as many dimensions as `y`",
    ),
    "a mean": (
        "(x[x > 0] > 1).float().mean()",
        "((x > 1) & (x > 0)).float().sum() / (x > 0).sum()",
        "the order in which numbers are added does not matter",
    ),
}


@pytest.mark.parametrize("body", LEFT.values(), ids=LEFT)
def test_left_alone(body: str) -> None:
    text = program(body, "torch_xla")
    assert fixed(text)[0] == text


@pytest.mark.parametrize(("before", "after"), SAFE.values(), ids=SAFE)
def test_safe(before: str, after: str) -> None:
    expect_settled(program(before, "torch_xla"), program(after, "torch_xla"), unsafe=False)


@pytest.mark.parametrize(("before", "after", "assumed"), UNSAFE.values(), ids=UNSAFE)
def test_unsafe(before: str, after: str, assumed: str) -> None:
    found = outcome(program(before, "torch_xla"), "XLA201")
    assert found.text == program(after, "torch_xla")
    assert assumed in found.message


def test_of_jax() -> None:
    before, after = "(x[x > 0] == y[x > 0]).sum()", "((x == y) & (x > 0)).sum()"
    assert fixed(program(before, "jax"), target="jax")[0] == program(after, "jax")
