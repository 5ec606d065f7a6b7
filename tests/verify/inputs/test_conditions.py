"""Conditions that valid inputs fulfil: what is a condition, and draws that are moved to where it holds."""

from __future__ import annotations

import pytest

from xlalint.verify.inputs import SpecError, parse_inputs
from xlalint.verify.inputs.spec import format_inputs

np = pytest.importorskip("numpy")
edges = pytest.importorskip("xlalint.verify.inputs.edges", exc_type=ImportError)

BOXES = 'boxes="f32[6,4]", requires="boxes[:, :2] <= boxes[:, 2:]"'
IDS = 'labels="i64[8] -5..20", classes=5, requires="0 <= labels < classes"'
LENGTHS = 'x="f32[3,7]", lengths="i64[3] 0..40", requires="lengths <= x.shape[1] and lengths > 0"'


@pytest.mark.parametrize(
    ("inputs", "holds"),
    [
        pytest.param(BOXES, lambda v: (v["boxes"][:, :2] <= v["boxes"][:, 2:]).all(), id="boxes"),
        pytest.param(IDS, lambda v: (v["labels"] >= 0).all() and (v["labels"] < 5).all(), id="ids"),
        pytest.param(
            LENGTHS,
            lambda v: (v["lengths"] <= v["x"].shape[1]).all() and (v["lengths"] > 0).all(),
            id="lengths",
        ),
        pytest.param('a="i64[]", b="i64[]", requires="a < b"', lambda v: v["a"] < v["b"], id="scalars"),
        pytest.param(
            'batch={"ids": "i64[8] -5..20", "n": "f32[3]"}, k=5, requires="0 <= batch[\'ids\'] < k"',
            lambda v: (v["batch{ids}"] >= 0).all() and (v["batch{ids}"] < 5).all(),
            id="in a dict",
        ),
        pytest.param(
            'p=("f32[4]", "f32[4,2]"), requires="p[0] <= p[1][:, 0] and p[0].shape[0] >= 0"',
            lambda v: (v["p(0)"] <= v["p(1)"][:, 0]).all(),
            id="in a tuple",
        ),
        pytest.param(
            'b=Batch(x="f32[3,7]", lengths="i64[3] 0..40"), requires="b.lengths <= b.x.shape[1]"',
            lambda v: (v["b<Batch:lengths>"] <= v["b<Batch:x>"].shape[1]).all(),
            id="in a dataclass",
        ),
        pytest.param(
            'edges="f32[3,6]", requires="edges[..., :-1] <= edges[..., 1:]"',
            lambda v: (np.diff(v["edges"].astype("f8"), axis=-1) >= 0).all() or np.isinf(v["edges"]).any(),
            id="sorted",
        ),
        pytest.param(
            'edges="i64[6] -3..9", requires="edges[..., :-1] <= edges[..., 1:]"',
            lambda v: (v["edges"][:-1] <= v["edges"][1:]).all(),
            id="sorted integers",
        ),
        pytest.param('x="f32[4]", y="f32[4]", requires="x == y"', lambda v: (v["x"] == v["y"]).all(), id="equal"),
    ],
)
def test_all_draws_fulfil_them(inputs: str, holds: object) -> None:
    drawn = list(edges.edges(parse_inputs(inputs)))
    assert len(drawn) > 10
    assert drawn[0][0] == "step"
    assert all(holds(values) for _, values in drawn)  # type: ignore[operator]


def test_valid_values_stay_as_they_are() -> None:
    free = 'labels="i64[8] 0..4", classes=5'
    plain = [values for _, values in edges.basic_edges(parse_inputs(free))]
    bound = [values for _, values in edges.basic_edges(parse_inputs(f'{free}, requires="labels < classes"'))]
    assert all(np.array_equal(one["labels"], other["labels"]) for one, other in zip(plain, bound, strict=True))


def test_they_are_written_as_they_were() -> None:
    assert format_inputs(parse_inputs(IDS)).endswith("classes=5, requires='0 <= labels < classes'")
    assert parse_inputs(format_inputs(parse_inputs(IDS))) == parse_inputs(IDS)


def test_a_parameter_may_have_the_name() -> None:
    assert set(parse_inputs('requires="f32[4]"').arguments) == {"requires"}
    assert set(parse_inputs("requires=True").arguments) == {"requires"}


@pytest.mark.parametrize(
    ("condition", "said"),
    [
        ("labels < clases", "speaks of `clases`, which is no input"),
        ("labels < len(x)", "has `len(x)`"),
        ("labels.max() < 5", "has `labels.max()`"),
        ("labels <", "is not Python"),
        ("labels < 5 or labels == 7", "is no comparison"),
        ("labels == 5 == __import__('os')", "has `__import__('os')`"),
    ],
)
def test_what_is_no_condition(condition: str, said: str) -> None:
    with pytest.raises(SpecError, match="requires") as raised:
        parse_inputs(f'x="f32[4]", labels="i64[4]", requires="{condition}"')
    assert said in str(raised.value)
