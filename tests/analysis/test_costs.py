"""How often code runs: the algebra of rates and costs."""

from __future__ import annotations

from itertools import product

import pytest

from xlalint.analysis.hazard import Frequency
from xlalint.interpreter.rates import ALWAYS, Cost

ONCE, EPOCH, NTH, FEW, EVALUATION, CALL, STEP = Frequency
RATES = {
    "of no loop": ALWAYS,
    "of any loop": ALWAYS.in_loop(),
    "of epochs": ALWAYS.in_epochs(),
    "of steps": ALWAYS.in_steps(STEP),
    "of an evaluation": ALWAYS.in_epochs().in_steps(EVALUATION),
    "of a guard": ALWAYS.under(NTH),
    "of a guard in a loop of steps": ALWAYS.in_steps(STEP).under(NTH),
    "of a loop under a guard": ALWAYS.in_steps(STEP).under(NTH).in_loop(),
    "of a guard in a loop": ALWAYS.in_loop().under(NTH),
    "of a loop in a loop of steps": ALWAYS.in_steps(STEP).in_loop(),
    "of a guard in a guard": ALWAYS.in_steps(STEP).under(FEW).under(NTH),
    "of a guard for epochs": ALWAYS.in_epochs().under(NTH),
}
IN_A_FUNCTION_CALLED = {
    "of no loop": (Cost(ONCE), Cost(NTH), Cost(STEP)),
    "of any loop": (Cost(ONCE, True), Cost(NTH, True), Cost(STEP)),
    "of epochs": (Cost(EPOCH), Cost(NTH), Cost(STEP)),
    "of steps": (Cost(STEP), Cost(STEP), Cost(STEP)),
    "of an evaluation": (Cost(EVALUATION), Cost(EVALUATION), Cost(EVALUATION)),
    "of a guard": (Cost(ONCE), Cost(NTH), Cost(NTH)),
    "of a guard in a loop of steps": (Cost(NTH), Cost(NTH), Cost(NTH)),
    "of a loop under a guard": (Cost(NTH, True), Cost(NTH, True), Cost(NTH, True)),
    "of a guard in a loop": (Cost(ONCE), Cost(NTH), Cost(NTH)),
    "of a loop in a loop of steps": (Cost(STEP), Cost(STEP), Cost(STEP)),
    "of a guard in a guard": (Cost(NTH), Cost(NTH), Cost(NTH)),
    "of a guard for epochs": (Cost(EPOCH), Cost(NTH), Cost(NTH)),
}


@pytest.mark.parametrize("name", RATES)
def test_a_rate_in_a_function_that_is_called_once_now_and_then_and_always(name: str) -> None:
    assert (
        tuple(RATES[name].of(entered) for entered in (Cost(ONCE), Cost(NTH), Cost(STEP))) == IN_A_FUNCTION_CALLED[name]
    )


def test_a_loop_around_the_call_of_what_is_guarded_is_none_of_its_own() -> None:
    assert RATES["of a guard"].of(RATES["of a loop in a loop of steps"].of(Cost(ONCE))) == Cost(NTH)


def test_a_loop_under_the_guard_around_the_call_is_one() -> None:
    assert ALWAYS.of(RATES["of a loop under a guard"].of(Cost(ONCE))) == Cost(NTH, True)


@pytest.mark.parametrize(("one", "other"), list(product(RATES, RATES)))
def test_what_two_rates_join_to_is_no_less_frequent_than_either(one: str, other: str) -> None:
    joined = RATES[one].join(RATES[other])
    assert joined == RATES[other].join(RATES[one])
    for entered in map(Cost, Frequency):
        assert joined.of(entered).frequency >= max(RATES[one].of(entered), RATES[other].of(entered)).frequency
