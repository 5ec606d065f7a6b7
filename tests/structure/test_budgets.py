"""Debts that may only shrink: what the engine knows of rules and frameworks, and docstrings that do not begin with a verb.

See CONTRIBUTING.md, "Structure tests".
"""

from __future__ import annotations

import pytest

from .ratchets import measured
from .tree import load

BUDGETS = load("budgets.json")
REASONS = load("engine.json")
MEASURED = measured()
NAMES = sorted({(title, name) for table in (BUDGETS, MEASURED) for title, counts in table.items() for name in counts})


@pytest.mark.parametrize(("title", "name"), NAMES, ids=[f"{title}: {name}" for title, name in NAMES])
def test_budget(title: str, name: str) -> None:
    allowed, found = BUDGETS[title].get(name, 0), MEASURED[title].get(name, 0)
    assert found <= allowed, f"{name} has {found} {title}, and may have {allowed}"
    assert found >= allowed, f"lower the number in budgets.json to {found}: run `python -m tests.structure.ratchets`"


def test_what_is_counted() -> None:
    """The titles here and there are the same: a count without its budgets, or a budget of nothing, would go unseen."""
    assert BUDGETS.keys() == MEASURED.keys()


@pytest.mark.parametrize("title", sorted(REASONS))
def test_the_engine_says_why(title: str) -> None:
    """The engine knows Python: each module that names a framework or a rule has a reason."""
    assert sorted(REASONS[title]) == sorted(MEASURED[title])
    assert [module for module, why in REASONS[title].items() if len(why) < 20] == []
