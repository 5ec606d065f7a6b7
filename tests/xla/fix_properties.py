"""Programs from the grammars of the rewrites, fixed, do what they did, show no finding that was fixed, and are left alone by a second run.

`XLALINT_PROGRAMS=200` tries that many programs of each grammar, at random; else a few, the same ones every time. The tests stand in a file
for each framework: the test processes share the work by files.
"""

from __future__ import annotations

import os
from typing import Any

import pytest
from hypothesis import HealthCheck, event, given, settings

from tests.fixes.fixing import fixed
from tests.xla.grammars import Grammar, grammars, programs
from xlalint.fixes.registry import REWRITES

MARKS = {"torch": "torch_xla", "tensorflow": "tensorflow", "jax": "jax"}
TARGETS = {"torch": "torch_xla", "tensorflow": "tf", "jax": "jax"}
PROGRAMS = int(os.environ.get("XLALINT_PROGRAMS", "0"))
FEW = {"torch": 5, "tensorflow": 4, "jax": 2}  # JAX takes ten times as long for each, TensorFlow twice


def cases(framework: str) -> list[Any]:
    """The grammars of a framework, as the parameters of a test."""
    return [
        pytest.param(grammar, id=grammar.name, marks=getattr(pytest.mark, MARKS[framework]))
        for grammar in grammars()
        if grammar.framework == framework and set(grammar.codes) & set(REWRITES)
    ]


def check_programs(grammar: Grammar, pairs: Any) -> None:
    """Fix programs of a grammar, and compare what they do with what they did."""
    changed = 0

    @settings(
        max_examples=PROGRAMS or FEW[grammar.framework],
        derandomize=not PROGRAMS,
        deadline=None,
        database=None,
        suppress_health_check=list(HealthCheck),
    )
    @given(programs(grammar))
    def check(text: str) -> None:
        nonlocal changed
        for unsafe in (False, True):
            changed += fixes_well(grammar, text, pairs, unsafe=unsafe)

    check()
    assert changed, "no program of the grammar has a fix"


def fixes_well(grammar: Grammar, text: str, pairs: Any, *, unsafe: bool) -> bool:
    """Whether there is a fix; it must be a good one."""
    target = grammar.target or TARGETS[grammar.framework]
    after, done = fixed(text, unsafe=unsafe, target=target)
    assert not done.report.failures, done.report.failures
    assert not done.troubles, f"{done.troubles}\n{text}"
    codes = {finding.code for finding in done.findings}
    event(f"{'unsafe' if unsafe else 'safe'}: {', '.join(sorted(codes)) or 'no fix'}")
    if after == text:
        return False
    assert fixed(after, unsafe=unsafe, target=target)[0] == after, f"a second run changes\n{after}"
    exact = all(finding.fix is not None and finding.fix.applicability == "safe" for finding in done.findings)
    unlike = tuple(one for one in grammar.unlike if one == "signs") if exact else grammar.unlike
    found = pairs.differences(grammar.framework, text, after, exact=exact, unlike=unlike)
    assert not found, "\n".join([*found, text, "# fixed:", after])
    return True
