"""How the assumptions of a fix are joined and said."""

from __future__ import annotations

import pytest

from xlalint.fixes.model import all_of, words_of


@pytest.mark.parametrize(
    ("assumed", "said"),
    [
        pytest.param([], "", id="none"),
        pytest.param(["a"], "a", id="one"),
        pytest.param(["a", "b"], "a and b", id="two"),
        pytest.param(["a", "", "b", "a"], "a and b", id="each-once"),
        pytest.param(["a", "b", "c and d"], "a, b, and c and d", id="more"),
        pytest.param(["a, as b", "c", "d"], "a, as b; c; and d", id="with-a-comma"),
        pytest.param(["a; b costs less; c"], "a; b costs less; c", id="one-of-several-clauses"),
        pytest.param([all_of(["a", "b"]), all_of(["b", "c"])], "a, b, and c", id="joined-before"),
    ],
)
def test_assumptions_are_joined(assumed: list[str], said: str) -> None:
    assert words_of(all_of(assumed)) == said
