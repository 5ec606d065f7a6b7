"""XLA101: early returns and chains of them as one `return`."""

from __future__ import annotations

import pytest

from tests.fixes.control_flow.programs import module
from tests.fixes.fixing import expect_fixed, expect_left_alone, outcome

LEFT_ALONE = {
    "a return of None": ("if y.all():\n    return None\nreturn x", "may be None on one side"),
    "a return without an end": (
        "if y.all():\n    return x\nfor _ in range(2):\n    x = x * 2.0\nreturn x",
        "more than a `return`",
    ),
}
SAFE = {
    "an early return": ("if y.all():\n    return x * 2.0\nreturn x", "return torch.where(y.all(), x * 2.0, x)"),
    "an early return and an else": (
        "if y.all():\n    return x * 2.0\nelse:\n    return x",
        "return torch.where(y.all(), x * 2.0, x)",
    ),
    "a chain of returns": (
        "if y.all():\n    return x * 2.0\nif y.any():\n    return -x\nreturn x",
        "return torch.where(y.all(), x * 2.0, torch.where(y.any(), -x, x))",
    ),
    "a return after work that all do": (
        "if y.all():\n    return x * 2.0\nz = x + 1.0\nreturn z",
        "z = x + 1.0\nreturn torch.where(y.all(), x * 2.0, z)",
    ),
    "comments, which go where the return goes": (
        "# twice\nif y.all():\n    # so\n    return x * 2.0\n# one more\nz = x + 1.0\nreturn z",
        "# one more\nz = x + 1.0\n# twice\n# so\nreturn torch.where(y.all(), x * 2.0, z)",
    ),
    "a return of which the host knows a part": (
        "if ok and y.all():\n    return x * 2.0\nreturn x",
        "if ok:\n    return torch.where(y.all(), x * 2.0, x)\nreturn x",
    ),
}


@pytest.mark.parametrize(("before", "why"), LEFT_ALONE.values(), ids=LEFT_ALONE)
def test_left_alone_with_a_reason(before: str, why: str) -> None:
    expect_left_alone(outcome(module(before), "XLA101"), why)


@pytest.mark.parametrize(("before", "after"), SAFE.values(), ids=SAFE)
def test_safe(before: str, after: str) -> None:
    expect_fixed(outcome(module(before), "XLA101"), module(after), "safe")


def test_a_divisor_that_is_small_where_another_value_is_returned() -> None:
    before = "n = y.sum()\nif n <= EPS:\n    return x\nz = x / n\nreturn z + 1.0"
    after = "n = y.sum()\nz = x / torch.where(n <= EPS, 1, n)\nreturn torch.where(n <= EPS, x, z + 1.0)"
    head = "EPS = 1e-8\n"
    made = outcome(head + module(before), "XLA101")
    assert made.text == head + module(after)
