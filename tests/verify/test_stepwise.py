"""What a rewrite leaves behind step by step, where something is compiled."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

pytest.importorskip("numpy")

import numpy as np

from xlalint.verify.backends import GIVEN_AWAY, Content, Result
from xlalint.verify.emitted import Emitted
from xlalint.verify.model import Counts, Step
from xlalint.verify.stepwise import find_left


def steps(
    printed: Sequence[str], compilations: Sequence[int] = (1, 0), given: str = "", kept: Sequence[str] = ()
) -> list[tuple[Step, Result]]:
    """Steps that print this, compile so much, delete an argument, and change what is kept."""
    found = []
    for number, text in enumerate(printed):
        heard = Emitted()
        heard.printed.write(text)
        away = Content(parts=[(given, "deleted")] if given else [])
        state = Content([("python", np.asarray(number))] * len(kept), kept)
        result = Result(Content(), effects={**heard.effects(), GIVEN_AWAY: away, "state": state})
        found.append((Step(number, Counts(compilations=compilations[number])), result))
    return found


@pytest.mark.parametrize(
    ("before", "after"),
    [
        (steps(["a\n", "a\n"]), steps(["a\n", "a\n"])),
        (steps(["0.1\n", "0.1\n"]), steps(["0.2\n", "0.10001\n"])),
        (steps(["a\n", ""]), steps(["a\n", ""])),
        (steps(["a\n", ""]), steps(["a\n", "a\n"])),
        (steps(["a\n", "a\n"], (1, 1)), steps(["a\n", ""])),
        (steps(["a\n", "a\n"]), steps(["a\n", "a\n", "a\n"], (1, 0, 0))),
        (steps(["", ""], given="x"), steps(["", ""], given="x")),
        (steps(["", ""], kept=["a"]), steps(["", ""], kept=["a", "b"])),
        (steps(["", ""], (1, 1), kept=["a"]), steps(["", ""])),
    ],
    ids=[
        "same",
        "rounded",
        "while traced",
        "no longer only while traced",
        "traced again before",
        "fewer steps",
        "given away before",
        "more is kept",
        "kept while traced",
    ],
)
def test_nothing_else_is_left(before: list[tuple[Step, Result]], after: list[tuple[Step, Result]]) -> None:
    assert find_left(before, after, gives_away=False) == (0, "")


@pytest.mark.parametrize(
    ("before", "after", "left"),
    [
        (steps(["a\n", "a\n"]), steps(["a\n", ""]), (1, "printed: 0 lines, 1 before, in a step that compiles nothing")),
        (steps(["", ""]), steps(["", ""], given="x"), (0, f"{GIVEN_AWAY}: x is nothing against deleted")),
        (steps(["", ""], kept=["a"]), steps(["", ""]), (1, "state: a only before, in a step that compiles nothing")),
    ],
    ids=["no more", "given away", "kept no more"],
)
def test_something_else_is_left(
    before: list[tuple[Step, Result]], after: list[tuple[Step, Result]], left: tuple[int, str]
) -> None:
    assert find_left(before, after, gives_away=False) == left


def test_what_is_known_to_be_given_away_refutes_nothing() -> None:
    assert find_left(steps(["", ""]), steps(["", ""], given="x"), gives_away=True) == (0, "")
