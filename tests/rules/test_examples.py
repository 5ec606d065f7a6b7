"""Every example of every page, linted: `bad` lines are found, `good` and `fixed` code stays silent."""

from __future__ import annotations

from typing import Any

import pytest

from xlalint.config.settings import Settings
from xlalint.project import check_text
from xlalint.rules import Example, Rule, rules


def examples(*kinds: str) -> list[object]:
    return [
        pytest.param(rule, example, id=example.ident)
        for rule in rules().values()
        for example in rule.examples
        if example.kind in kinds
    ]


def findings(example: Example, target: Any = None) -> list[Any]:
    report = check_text(example.code, f"{example.ident}.py", Settings(target=target, show_info=True))
    assert not report.failures
    return list(report.findings)


def severity_wanted(rule: Rule, target: str) -> str | None:
    name, _, variant = target.partition(":")
    return rule.severity_for(name, variant)


@pytest.mark.parametrize(("rule", "example"), examples("bad"))
def test_bad_lines_are_found(rule: Rule, example: Example) -> None:
    for target in example.targets or (None,):
        found = findings(example, target and target.split(":")[0])
        rows = {finding.location.row for finding in found if finding.code == rule.code}
        assert rows == set(example.lines), [(f.code, f.location.row) for f in found]
        if target:
            wanted = severity_wanted(rule, target)
            assert {f.severity for f in found if f.code == rule.code} == {wanted}


@pytest.mark.parametrize(("rule", "example"), examples("good", "fixed"))
def test_good_and_fixed_code_stays_silent(rule: Rule, example: Example) -> None:
    for target in example.targets or (None,):
        loud = [f for f in findings(example, target) if f.severity != "info"]
        assert not loud, [(f.code, f.location.row, f.message) for f in loud]
