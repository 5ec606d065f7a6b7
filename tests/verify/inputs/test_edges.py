"""The inputs at which wrong rewrites show."""

from __future__ import annotations

import pytest

from xlalint.verify.inputs import parse_inputs

np = pytest.importorskip("numpy")
edges = pytest.importorskip("xlalint.verify.inputs.edges", exc_type=ImportError)


def drawn(inputs: str, edge: str, constants: tuple[float, ...] = ()) -> list[dict[str, object]]:
    hints = edges.Hints(constants)
    return [values for kind, values in edges.edges(parse_inputs(inputs), hints) if kind == edge]


def test_scalars_take_all_values_together_where_these_are_few() -> None:
    pairs = {(int(one["a"]), int(one["b"])) for one in drawn('a="i64[] 0..2", b="i64[] 0..1"', "integers")}
    assert pairs == {(a, b) for a in range(3) for b in range(2)}


def test_scalars_with_many_values_take_their_ends() -> None:
    assert {int(one["a"]) for one in drawn('a="i64[] -5..1000"', "integers")} == {-5, 1000}


def test_an_odd_element_lies_where_the_mask_selects() -> None:
    found = drawn('x="f32[9]", mask="bool[9]"', "not finite")
    assert any(np.isnan(one["x"][one["mask"]]).any() for one in found)


def test_all_are_infinite() -> None:
    assert sum(np.isinf(one["x"]).all() for one in drawn('x="f32[4]"', "infinite")) == 2


def test_arguments_are_the_same_and_nearly_so() -> None:
    found = drawn('x="f32[4]", y="f32[4]"', "alike")
    assert [np.array_equal(one["x"], one["y"]) for one in found] == [True, False, False]
    assert all(np.allclose(one["x"], one["y"], rtol=1e-3) for one in found)


def test_a_single_argument_is_like_no_other() -> None:
    assert not drawn('x="f32[4]", n="i64[4]"', "alike")
