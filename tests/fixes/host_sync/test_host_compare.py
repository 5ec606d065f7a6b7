"""XLA304: comparisons on the host."""

from __future__ import annotations

import pytest

from tests.fixes.fixing import expect_fixed, expect_left_alone, outcome
from tests.fixes.host_sync.programs import make_module

LEFT_ALONE = {
    "a condition": ("XLA304", make_module("if torch.equal(x, y):\n            return y"), "a condition"),
    "a condition by a name": (
        "XLA304",
        make_module("a = x.equal(y)\n        if a:\n            return y"),
        "by its name",
    ),
    "a return": ("XLA304", make_module("pass", "return torch.allclose(x, y)"), "may need a Python bool"),
}

FIXED = {
    "all close": (
        "XLA304",
        make_module("y = y * torch.allclose(x, y, atol=1e-3)"),
        make_module("y = y * torch.isclose(x, y, atol=1e-3).all()"),
        "safe",
    ),
    "equal": ("XLA304", make_module("y = y * x.equal(y + 1)"), make_module("y = y * (x == (y + 1)).all()"), "unsafe"),
    "not zero": (
        "XLA304",
        make_module("y = y * torch.is_nonzero(x.sum())"),
        make_module("y = y * (x.sum() != 0)"),
        "safe",
    ),
}


@pytest.mark.parametrize(("code", "text", "why"), LEFT_ALONE.values(), ids=LEFT_ALONE)
def test_left_alone_with_a_reason(code: str, text: str, why: str) -> None:
    expect_left_alone(outcome(text, code), why)


@pytest.mark.parametrize(("code", "text", "after", "applicability"), FIXED.values(), ids=FIXED)
def test_fixed(code: str, text: str, after: str, applicability: str) -> None:
    expect_fixed(outcome(text, code), after, applicability)
