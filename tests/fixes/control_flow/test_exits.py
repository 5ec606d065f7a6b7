"""XLA101: branches that leave a loop or a function, and why they stay."""

from __future__ import annotations

import pytest

from tests.fixes.control_flow.programs import module
from tests.fixes.fixing import expect_left_alone, outcome

LEFT_ALONE = {
    "continue": ("for i in range(3):\n    if y.all():\n        continue\n    print(x)\nreturn x", "`continue` skips"),
    "break": ("for i in range(3):\n    if y.all():\n        break\n    x = x + i\nreturn x", "`break` ends the loop"),
    "a return after work": ("if y.all():\n    z = x + 1.0\n    return z\nreturn x", "does more than return"),
}


@pytest.mark.parametrize(("before", "why"), LEFT_ALONE.values(), ids=LEFT_ALONE)
def test_left_alone_with_a_reason(before: str, why: str) -> None:
    expect_left_alone(outcome(module(before), "XLA101"), why)
