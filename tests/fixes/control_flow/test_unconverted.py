"""Reasons where graph control flow has no room for a rewrite."""

from __future__ import annotations

import pytest

from tests.fixes.fixing import outcome
from xlalint.rules import Example, rules

EXAMPLES = [
    pytest.param(rule.code, example, id=example.ident)
    for rule in rules().values()
    for example in rule.examples
    if rule.code in ("XLA108", "XLA109") and example.kind == "bad"
]


@pytest.mark.parametrize(("code", "example"), EXAMPLES)
def test_left_alone_with_a_reason_of_its_own(code: str, example: Example) -> None:
    made = outcome(example.code, code)
    assert made.fix is None
    assert "no rewrite of" not in made.reason
    assert made.reason
