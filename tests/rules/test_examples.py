"""Every example of every page, linted for each target it speaks of: `bad` lines are found, `good` and `fixed` code stays silent.

`tests/xla` shows that the examples tell the truth; this shows that the linter does.
"""

from __future__ import annotations

from typing import Any

import pytest

from xlalint.config.settings import Settings
from xlalint.project import check_text
from xlalint.rules import FRAMEWORK_TARGETS, Example, Rule, rules


def cases(*kinds: str) -> list[object]:
    return [
        pytest.param(rule, example, target, id=f"{example.ident}-{target}")
        for rule in rules().values()
        for example in rule.examples
        for target in spoken_of(rule, example)
        if example.kind in kinds
    ]


def spoken_of(rule: Rule, example: Example) -> tuple[str, ...]:
    """The targets, with variant, that an example names, else all for which its rule holds: what uses torch_xla is none of TorchTPU's."""
    held = [target for target in FRAMEWORK_TARGETS[example.framework] if rule.severity_for(target)]
    if len(held) > 1 and "torch_xla" in example.code:
        held = [target for target in held if target != "torch_tpu"]
    return example.targets or tuple(held)


def findings(example: Example, target: Any) -> list[Any]:
    settings = Settings(target=target.split(":")[0], show_info=True)
    report = check_text(example.code, f"{example.ident}.py", settings)
    assert not report.failures
    return list(report.findings)


@pytest.mark.parametrize(("rule", "example", "target"), cases("bad"))
def test_bad_lines_are_found(rule: Rule, example: Example, target: str) -> None:
    found = [f for f in findings(example, target) if f.code == rule.code]
    assert {f.location.row for f in found} == set(example.lines)
    if example.targets:
        name, _, variant = target.partition(":")
        assert {f.severity for f in found} == {rule.severity_for(name, variant)}


@pytest.mark.parametrize(("rule", "example", "target"), cases("good", "fixed"))
def test_good_and_fixed_code_stays_silent(rule: Rule, example: Example, target: str) -> None:
    loud = [f for f in findings(example, target) if f.severity != "info"]
    assert not loud, [(f.code, f.location.row, f.message) for f in loud]


@pytest.mark.parametrize("framework", FRAMEWORK_TARGETS)
def test_the_target_follows_the_framework(framework: str) -> None:
    example = next(e for e in rules()["XLA101"].examples if e.framework == framework and e.kind == "bad")
    report = check_text(example.code, "example.py", Settings(show_info=True))
    assert {(f.code, f.framework) for f in report.findings} == {("XLA101", framework)}
