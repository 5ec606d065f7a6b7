"""Divisors that are zero where a choice takes the other side."""

from __future__ import annotations

import pytest

from xlalint.fixes.toolkit.divisors import with_safe_divisor

AS_WRITTEN = {
    "another divisor": ("a / b", "n == 0"),
    "a product": ("a * n", "n == 0"),
    "compared to one": ("a / n", "n == 1"),
    "less than zero": ("a / n", "n < 0"),
    "a chain": ("a / n", "0 < n < 3"),
    "compared to a bool": ("a / n", "n == False"),
    "a test that is no comparison": ("a / n", "n.any()"),
    "a part of the divisor": ("a / (n + 1)", "n == 0"),
    "divided by a call": ("a / n.sum()", "n == 0"),
}
SAFE = {
    "equal": ("a / n", "n == 0", "a / torch.where(n == 0, 1, n)"),
    "not positive": ("a / n", "n <= 0", "a / torch.where(n <= 0, 1, n)"),
    "not equal": ("a / n", "n != 0", "a / torch.where(n != 0, n, 1)"),
    "positive": ("a / n", "n > 0", "a / torch.where(n > 0, n, 1)"),
    "an attribute": ("a / self.n", "self.n > 0", "a / torch.where(self.n > 0, self.n, 1)"),
    "twice": ("a / n + b / n", "n > 0", "a / torch.where(n > 0, n, 1) + b / torch.where(n > 0, n, 1)"),
    "on a second line": ("a\n/ n", "n > 0", "a\n/ torch.where(n > 0, n, 1)"),
    "behind other letters": ("ä / n", "n > 0", "ä / torch.where(n > 0, n, 1)"),
}


@pytest.mark.parametrize(("side", "asked"), AS_WRITTEN.values(), ids=AS_WRITTEN)
def test_as_written(side: str, asked: str) -> None:
    assert with_safe_divisor(side, asked, "torch.where") == side


@pytest.mark.parametrize(("side", "asked", "after"), SAFE.values(), ids=SAFE)
def test_safe(side: str, asked: str, after: str) -> None:
    assert with_safe_divisor(side, asked, "torch.where") == after
