"""Functions that were written to break fixes do, after safe fixes, what they did, and unsafe fixes say in what they differ.

The functions are `tests/fixes/adversaries/*.txt`. `XLALINT_INPUTS=48` tries more inputs of each, and unsafe fixes too.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from typing import Any

import pytest

from tests.fixes.adversarial import TARGETS, Adversary, adversaries
from tests.fixes.fixing import fixed
from tests.xla.conftest import HERE, MARKS, require

LAYOUT = {"strides"}  # an unsafe fix may lay a result out otherwise: the page says so
FRAMEWORKS = [pytest.param(name, marks=getattr(pytest.mark, mark)) for name, mark in MARKS.items()]


def fixes(one: Adversary, *, unsafe: bool) -> tuple[str, str]:
    """The function after its fixes, and what these say."""
    text, done = fixed(one.text, unsafe=unsafe, target=TARGETS[one.framework])
    assert not done.report.failures, one.name
    return text, " ".join(finding.fix.message for finding in done.findings if finding.fix is not None)


def observe(framework: str, changed: dict[str, tuple[Adversary, str]]) -> dict[str, Any]:
    """What a child process sees of functions and what became of them."""
    asked = {name: [one.parameters, one.text, {"fixed": after}] for name, (one, after) in changed.items()}
    done = subprocess.run(
        [sys.executable, "-W", "ignore", str(HERE / "run_adversaries.py"), framework],
        input=json.dumps(asked),
        capture_output=True,
        text=True,
        timeout=1800,
    )
    assert not done.returncode, done.stderr
    found: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    return found


@pytest.mark.parametrize("framework", FRAMEWORKS)
def test_safe_fixes_change_nothing(framework: str) -> None:
    require(framework)
    changed = {}
    for one in adversaries(framework):
        after, _ = fixes(one, unsafe=False)
        if after != one.text:
            changed[one.name] = (one, after)
    seen = observe(framework, changed)
    wrong = {name: found["differences"]["fixed"] for name, found in seen.items() if found["differences"]["fixed"]}
    assert not wrong
    assert len(changed) > 10


@pytest.mark.parametrize("framework", FRAMEWORKS)
@pytest.mark.skipif("XLALINT_INPUTS" not in os.environ, reason="takes minutes: XLALINT_INPUTS says on how many inputs")
def test_unsafe_fixes_differ_where_they_say(framework: str) -> None:
    require(framework)
    changed = {}
    for one in adversaries(framework):
        after, _ = fixes(one, unsafe=True)
        if after != one.text:
            changed[one.name] = (one, after)
    seen = observe(framework, changed)
    wrong = {
        name: found["differences"]["fixed"]
        for name, found in seen.items()
        if found["differences"]["fixed"].keys() - LAYOUT and not changed[name][0].assumed
    }
    assert not wrong


@pytest.mark.parametrize("framework", MARKS)
def test_fixes_that_change_something_say_so(framework: str) -> None:
    unsaid = []
    for one in adversaries(framework):
        if not one.assumed:
            continue
        _, told = fixes(one, unsafe=True)
        unsaid += [f"{one.name}: {told} does not say {said}" for said in one.assumed if said not in told]
    assert not unsaid
