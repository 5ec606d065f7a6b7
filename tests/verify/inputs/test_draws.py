"""Values are the same in every run, change from step to step, and reach their edges."""

from __future__ import annotations

import pytest

from xlalint.verify.inputs import STEPS, parse_inputs
from xlalint.verify.inputs.spec import DTYPES

np = pytest.importorskip("numpy")
draws = pytest.importorskip("xlalint.verify.inputs.draws", exc_type=ImportError)
draw, resize = draws.draw, draws.resize
kinds = pytest.importorskip("xlalint.verify.inputs.edges", exc_type=ImportError)
edges, basic_edges, example = kinds.edges, kinds.basic_edges, kinds.example

INPUTS = 'x="f32[6,4]", mask="bool[6]", lens="i64[6] 1..5", n=3'


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("shape", ["", "0", "3", "2,3"])
def test_every_dtype_and_shape_can_be_drawn(dtype: str, shape: str) -> None:
    specs = parse_inputs(f'x="{dtype}[{shape}]"')
    for step in range(2 * STEPS):
        value = draw(specs, step)["x"]
        assert value.dtype.name == DTYPES[dtype]
        assert value.shape == tuple(int(size) for size in shape.split(",") if size)
    assert {edge for edge, _ in basic_edges(specs)} == {"step", "nan", "zeros", "ties", "single", "empty"}
    for _, values in basic_edges(specs):
        assert values["x"].dtype.name == DTYPES[dtype]


def test_steps_differ_and_runs_do_not() -> None:
    specs = parse_inputs(INPUTS)
    first, again, next_one = draw(specs, 0), draw(specs, 0), draw(specs, 1)
    for name in ("x", "mask", "lens"):
        assert np.array_equal(first[name], again[name])
        assert not np.array_equal(first[name], next_one[name])
    assert first["n"] == 3


def test_masks_reach_none_and_all_and_integers_their_bounds() -> None:
    drawn = [draw(parse_inputs(INPUTS), step) for step in range(STEPS)]
    assert any(not one["mask"].any() for one in drawn)
    assert any(one["mask"].all() for one in drawn)
    assert {one["lens"].max() for one in drawn} >= {1, 5}
    assert min(one["lens"].min() for one in drawn) == 1


def test_odd_values_stand_where_the_mask_is_false() -> None:
    first, second, anywhere = [values for edge, values in edges(parse_inputs(INPUTS)) if edge == "nan"]
    for values in (first, second):
        assert not np.isfinite(values["x"][~values["mask"]]).any()
        assert np.isfinite(values["x"][values["mask"]]).all()
    assert not np.isfinite(anywhere["x"]).all()


def test_single_and_empty_resize_the_first_dimension_of_all() -> None:
    shapes = {edge: values["x"].shape + values["mask"].shape for edge, values in edges(parse_inputs(INPUTS))}
    assert (shapes["single"], shapes["empty"]) == ((1, 4, 1), (0, 4, 0))
    named = resize(parse_inputs('x="f32[B=4,4]", y="f32[4]"'), 1)
    assert (draw(named, 0)["x"].shape, draw(named, 0)["y"].shape) == ((1, 4), (4,))
    assert resize(parse_inputs('x="f32[]"'), 1) == parse_inputs('x="f32[]"')


def test_sizes_can_be_given() -> None:
    assert draw(parse_inputs('x="f32[B=4,2]"'), 0, {"B": 5})["x"].shape == (5, 2)


def test_an_example_is_one_of_the_edges() -> None:
    wanted = [values for edge, values in edges(parse_inputs(INPUTS)) if edge == "nan"][1]
    assert np.array_equal(example(INPUTS, "nan", 1)["x"], wanted["x"], equal_nan=True)
