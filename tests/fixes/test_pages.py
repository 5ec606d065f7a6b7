"""Every `fixed` example of the rule pages is what the engine makes of its `bad` twin, text for text."""

from __future__ import annotations

import pytest

from tests.fixes.fixing import expect_settled
from xlalint.fixes.registry import REWRITES
from xlalint.rules import FRAMEWORK_TARGETS, Example, rules

PAIRS = [
    pytest.param(next(bad for bad in rule.examples if bad.ident == example.of), example, id=example.ident)
    for rule in rules().values()
    for example in rule.examples
    if example.of and rule.code in REWRITES
]


def judged_targets(example: Example) -> tuple[str, ...]:
    """The targets for which the rule of an example holds, its fixed form's own first: what calls torch_xla is none of TorchTPU's."""
    rule = rules()[example.ident.partition("-")[0]]
    held = [target for target in FRAMEWORK_TARGETS[example.framework] if rule.severity_for(target)]
    return tuple(sorted(held, key=lambda target: target not in example.code))


@pytest.mark.parametrize(("bad", "example"), PAIRS)
def test_fixed_is_what_the_engine_makes_of_bad(bad: Example, example: Example) -> None:
    target = (bad.targets or judged_targets(example))[0].partition(":")[0]
    expect_settled(bad.code, example.code, target=target)
