"""Divisors that are zero where a choice takes the other side."""

from __future__ import annotations

import pytest

from xlalint.fixes.toolkit.divisors import with_safe_divisor, write_product, write_quotient

AS_WRITTEN = {
    "what is chosen where it is zero": ("a / n", "n == 0"),
    "what is chosen where it is not positive": ("a / n", "n <= 0"),
    "another divisor": ("a / b", "n == 0"),
    "a product": ("a * n", "n == 0"),
    "compared to one": ("a / n", "n == 1"),
    "less than zero": ("a / n", "n < 0"),
    "less than a negative number": ("a / n", "n < -1"),
    "more than one": ("a / n", "n > 1.0"),
    "near zero where it divides": ("a / n", "n < eps"),
    "the size of another": ("a / n", "abs(m) > eps"),
    "a chain": ("a / n", "0 < n < 3"),
    "compared to a bool": ("a / n", "n == False"),
    "a test that is no comparison": ("a / n", "n.any()"),
    "a part of the divisor": ("a / (n + 1)", "n == 0"),
    "either may be zero where it is chosen": ("a / n", "(n != 0) | (m != 0)"),
    "both need not be zero": ("a / n", "(n == 0) & (m == 0)"),
    "divided by a call": ("a / n.sum()", "n == 0"),
    "what is finite at zero": ("n.exp()", "n > 0"),
    "the logarithm of another": ("torch.log(n + 1)", "n > 0"),
    "a method with a like name": ("n.logsumexp(0)", "n > 0"),
    "divided by another call": ("a / n.sum()", "n.max() == 0"),
}
SAFE = {
    "equal": (False, "a / n", "n == 0", "a / torch.where(n == 0, 1, n)"),
    "not positive": (False, "a / n", "n <= 0", "a / torch.where(n <= 0, 1, n)"),
    "not equal": (True, "a / n", "n != 0", "a / torch.where(n != 0, n, 1)"),
    "positive": (True, "a / n", "n > 0", "a / torch.where(n > 0, n, 1)"),
    "an attribute": (True, "a / self.n", "self.n > 0", "a / torch.where(self.n > 0, self.n, 1)"),
    "both": (
        True,
        "a / n + a / m",
        "(n != 0) & (m > 0)",
        "a / torch.where(n != 0, n, 1) + a / torch.where(m > 0, m, 1)",
    ),
    "either": (False, "a / n", "(n == 0) | (m > 0)", "a / torch.where(n == 0, 1, n)"),
    "twice": (True, "a / n + b / n", "n > 0", "a / torch.where(n > 0, n, 1) + b / torch.where(n > 0, n, 1)"),
    "a call": (True, "a / n.sum()", "n.sum() > 0", "a / torch.where(n.sum() > 0, n.sum(), 1)"),
    "a logarithm": (True, "a * torch.log(n)", "n > 0", "a * torch.log(torch.where(n > 0, n, 1))"),
    "the logarithm of what is detached": (
        True,
        "-n * n.detach().log()",
        "n > 0",
        "-n * torch.where(n > 0, n, 1).detach().log()",
    ),
    "near zero": (False, "a / n", "n <= kEpsilon", "a / torch.where(n <= kEpsilon, 1, n)"),
    "not near zero": (True, "a / n", "n > 1e-06", "a / torch.where(n > 1e-06, n, 1)"),
    "of a size": (True, "a / (m - n)", "abs(m - n) >= eps", "a / (torch.where(abs(m - n) >= eps, m - n, 1))"),
    "of a size, by a method": (False, "a / n", "n.abs() < self.eps", "a / torch.where(n.abs() < self.eps, 1, n)"),
    "a root": (False, "n.sqrt()", "n == 0", "torch.where(n == 0, 1, n).sqrt()"),
    "on a second line": (True, "a\n/ n", "n > 0", "a\n/ torch.where(n > 0, n, 1)"),
    "behind other letters": (True, "ä / n", "n > 0", "ä / torch.where(n > 0, n, 1)"),
}


@pytest.mark.parametrize(("side", "asked"), AS_WRITTEN.values(), ids=AS_WRITTEN)
def test_as_written(side: str, asked: str) -> None:
    assert with_safe_divisor(side, asked, "torch.where") == side


@pytest.mark.parametrize(("taken", "side", "asked", "after"), SAFE.values(), ids=SAFE)
def test_safe(taken: bool, side: str, asked: str, after: str) -> None:
    assert with_safe_divisor(side, asked, "torch.where", taken=taken) == after


def test_what_a_name_was_made_by() -> None:
    after = "a / torch.where(s != 0, a.std(), 1)"
    assert with_safe_divisor("a / a.std()", "s != 0", "torch.where", made={"s": "a.std()"}) == after


def test_what_made_a_name() -> None:
    after = "a / torch.where(m.sum() == 0, 1, n)"
    made = {"n": "m.sum( )", "k": "m.max()"}
    assert with_safe_divisor("a / n", "m.sum() == 0", "torch.where", taken=False, made=made) == after
    assert with_safe_divisor("a / k", "m.sum() == 0", "torch.where", taken=False, made=made) == "a / k"


NO_QUOTIENTS = {
    "another value": ("x / n", "y"),
    "a product": ("x * n", "x"),
    "what is no name": ("x.sum() / n", "x.sum()"),
    "not the last": ("x / n + 1", "x"),
}
QUOTIENTS = {
    "where it holds": ("x / n", "x", "x / torch.where(c, n, 1)"),
    "where it does not hold": ("x", "x / (n + 1)", "x / torch.where(c, 1, n + 1)"),
}


@pytest.mark.parametrize(("first", "second"), NO_QUOTIENTS.values(), ids=NO_QUOTIENTS)
def test_no_quotient(first: str, second: str) -> None:
    assert write_quotient("c", first, second, "torch.where") == ""


@pytest.mark.parametrize(("first", "second", "after"), QUOTIENTS.values(), ids=QUOTIENTS)
def test_quotient(first: str, second: str, after: str) -> None:
    assert write_quotient("c", first, second, "torch.where") == after


NO_PRODUCTS = {
    "another value": ("x * n", "y"),
    "a quotient": ("x / n", "x"),
    "a sum": ("x + n", "x"),
    "what is no name": ("x.sum() * n", "x.sum()"),
    "not the last": ("x * n + 1", "x"),
}
PRODUCTS = {
    "where it holds": ("x * n", "x", "x * torch.where(c, n, 1)"),
    "where it does not hold": ("x", "x * (n + 1)", "x * torch.where(c, 1, n + 1)"),
    "the variable behind": ("x.exp() * x", "x", "x * torch.where(c, x.exp(), 1)"),
    "a square": ("x", "x * x", "x * torch.where(c, 1, x)"),
}


@pytest.mark.parametrize(("first", "second"), NO_PRODUCTS.values(), ids=NO_PRODUCTS)
def test_no_product(first: str, second: str) -> None:
    assert write_product("c", first, second, "torch.where") == ""


@pytest.mark.parametrize(("first", "second", "after"), PRODUCTS.values(), ids=PRODUCTS)
def test_product(first: str, second: str, after: str) -> None:
    assert write_product("c", first, second, "torch.where") == after
