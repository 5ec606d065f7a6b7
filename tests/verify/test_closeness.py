"""When two lists of values are the same, and what counts as rounding."""

from __future__ import annotations

from typing import Any

import pytest

np = pytest.importorskip("numpy")
closeness = pytest.importorskip("xlalint.verify.closeness", exc_type=ImportError)
allow_rounding, difference = closeness.allow_rounding, closeness.difference

TINY = 2.0**-126  # the smallest normal number of float32


def leaf(*numbers: float, dtype: str = "float32") -> tuple[str, Any]:
    """An array; one of bfloat16 as float32 under that name, as backends give it."""
    return dtype, np.asarray(numbers, "float32" if dtype == "bfloat16" else dtype)


SAME = [
    pytest.param(leaf(1.0), leaf(1.0 + 2**-23), id="a last place"),
    pytest.param(leaf(TINY / 4), leaf(0.0), id="a denormal and zero"),
    pytest.param(leaf(TINY / 4), leaf(-TINY / 4), id="two denormals"),
    pytest.param(leaf(float("nan"), float("inf")), leaf(float("nan"), float("inf")), id="not finite"),
    pytest.param(leaf(1.0, dtype="bfloat16"), leaf(1.0 + 2**-7, dtype="bfloat16"), id="a last place of bfloat16"),
    pytest.param(("python", np.asarray(2.0)), ("float32", np.float32(2.0)), id="an array for a number of Python's"),
]
UNLIKE = [
    pytest.param(leaf(1.0), leaf(1.0 + 2**-20), id="eight last places"),
    pytest.param(leaf(4 * TINY), leaf(0.0), id="a small normal number and zero"),
    pytest.param(leaf(0.0), leaf(-0.0), id="zeros of other signs"),
    pytest.param(leaf(1e-6, 1.0), leaf(1.1e-6, 1.0), id="a small one beside a large one"),
    pytest.param(leaf(float("inf")), leaf(float("-inf")), id="infinities"),
    pytest.param(leaf(1.0), leaf(1.0, dtype="float64"), id="dtypes"),
    pytest.param(("float32", np.float32(2.0)), ("python", np.asarray(2.0)), id="a number of Python's for an array"),
    pytest.param(("python", np.asarray(2)), ("float32", np.float32(2.0)), id="an array of another kind for a number"),
]


@pytest.mark.parametrize(("one", "other"), SAME)
def test_the_same(one: Any, other: Any) -> None:
    assert not difference([one], [other])


@pytest.mark.parametrize(("one", "other"), UNLIKE)
def test_not_the_same(one: Any, other: Any) -> None:
    assert difference([one], [other])


WIDE = leaf(1.0, 1e-3, dtype="float64")
# What two programs gave for wider inputs, and whether what they gave for their own may be rounded otherwise.
ROUNDED = [
    pytest.param(WIDE, WIDE, True, id="the same"),
    pytest.param(WIDE, leaf(1.0, 1e-3 + 1e-12, dtype="float64"), True, id="rounded in the wider one"),
    pytest.param(WIDE, leaf(1.0, 1e-3 + 1e-8, dtype="float64"), False, id="another number"),
    pytest.param(leaf(1.0, 1e-3), leaf(1.0, 1e-3), False, id="no wider one"),
    pytest.param(WIDE, leaf(1.0, dtype="float64"), False, id="another shape"),
]


@pytest.mark.parametrize(("wide", "other", "allowed"), ROUNDED)
def test_rounding_is_what_goes_away_in_a_wider_dtype(wide: Any, other: Any, allowed: bool) -> None:
    one, after = leaf(1.0, 1e-3), leaf(1.0, 1e-3 + 1e-5)
    noise = allow_rounding([], [one], [wide], [other], ["float32"])
    assert bool(difference([one], [after], noise=noise)) is not allowed


@pytest.mark.parametrize(("dtype", "allowed"), [("float64", True), ("float32", False)])
def test_some_units_of_the_largest_element_are_rounding_in_the_widest_dtype(dtype: str, allowed: bool) -> None:
    one = leaf(1.0, 1e-3, dtype=dtype)
    noise = closeness.movement([one], [[one]], [[one]], 2, [dtype])
    unit = float(np.spacing(one[1][0]))
    assert bool(difference([one], [leaf(1.0, 1e-3 + 9 * unit, dtype=dtype)], noise=noise)) is not allowed
    assert difference([one], [leaf(1.0, 1e-3 + 40 * unit, dtype=dtype)], noise=noise)


def test_rounding_is_small() -> None:
    one, after = leaf(1.0, 1e-3), leaf(1.0, 2e-3)
    noise = allow_rounding([], [one], [WIDE], [WIDE], ["float32"])
    assert difference([one], [after], noise=noise)


def test_the_zeros_of_sums_have_no_signs_and_those_of_chosen_elements_do() -> None:
    one, other = [leaf(0.0)], [leaf(-0.0)]
    assert not difference(one, other, terms=8)
    assert difference(one, other, terms=8, chosen={0})


@pytest.mark.parametrize(
    ("result", "chosen"),
    [
        pytest.param(leaf(2.0), True, id="a maximum"),
        pytest.param(leaf(3.0), False, id="a sum"),
        pytest.param(leaf(2, dtype="int64"), False, id="a number that is no float"),
        pytest.param(leaf(), False, id="nothing"),
    ],
)
def test_what_is_chosen_from_inputs(result: tuple[str, Any], chosen: bool) -> None:
    assert closeness.is_chosen_from(result, [np.asarray([1.0, 2.0], "float32")]) is chosen


def test_terms_that_cancel_leave_rounding_of_their_own_scale() -> None:
    one, other = [leaf(1e-8)], [leaf(0.0)]
    assert difference(one, other)
    assert not difference(one, other, noise=closeness.allow_cancelling([None], one, [1.0]))
    assert difference([leaf(1e-4)], other, noise=closeness.allow_cancelling([None], one, [1.0]))
