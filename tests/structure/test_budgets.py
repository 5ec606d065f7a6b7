"""Debts that may only shrink: what the engine knows of rules and frameworks, and docstrings that do not begin with a verb.

See CONTRIBUTING.md, "Structure tests".
"""

from __future__ import annotations

import pytest

from .ratchets import measured
from .tree import load

BUDGETS = load("budgets.json")
REASONS = load("engine.json")


@pytest.fixture(scope="module")
def counted() -> dict[str, dict[str, int]]:
    """What the package holds of each debt now."""
    return measured()


@pytest.mark.parametrize("title", sorted(BUDGETS))
def test_no_budget_is_exceeded(title: str, counted: dict[str, dict[str, int]]) -> None:
    found, allowed = counted[title], BUDGETS[title]
    more = [
        f"{name} has {n} {title}, and may have {allowed.get(name, 0)}"
        for name, n in found.items()
        if n > allowed.get(name, 0)
    ]
    assert not more, "\n".join(more)
    assert found == allowed, "lower the numbers in budgets.json: run `python -m tests.structure.ratchets`"


def test_what_is_counted(counted: dict[str, dict[str, int]]) -> None:
    """The titles here and there are the same: a count without its budgets, or a budget of nothing, would go unseen."""
    assert BUDGETS.keys() == counted.keys()


@pytest.mark.parametrize("title", sorted(REASONS))
def test_the_engine_says_why(title: str, counted: dict[str, dict[str, int]]) -> None:
    """The engine knows Python: each module that names a framework or a rule has a reason."""
    assert sorted(REASONS[title]) == sorted(counted[title])
    assert [module for module, why in REASONS[title].items() if len(why) < 20] == []
