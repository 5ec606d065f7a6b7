"""Where the results of a program jump between two draws, and where they only grow."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

np = pytest.importorskip("numpy")

from xlalint.verify.inputs import fill_sizes, parse_inputs  # noqa: E402
from xlalint.verify.jumps import find_jump, list_ways  # noqa: E402

Call = Callable[..., Any]
CONTINUOUS: dict[str, Call] = {
    "a sum": lambda x: x.sum(),
    "a maximum": lambda x: np.maximum(x, np.float32(0.375)),
    "steep": lambda x: np.exp(x),
    "constant": lambda x: np.ones_like(x),
    "a root": lambda x: np.sqrt(abs(x)),
    "large": lambda x: x * 1e30,
}
JUMPING: dict[str, tuple[Call, float]] = {
    "a threshold": (lambda x: x > np.float32(0.375), 0.375),
    "behind arithmetic": (lambda x: np.where(x * 4 - 1 > 2.25, x, -x), 0.8125),
    "a code of two": (lambda x: abs(x[:, None] - np.array([0, 1], "f4")).argmin(1), 0.5),
    "a shape": (lambda x: x[x > np.float32(0.375)], 0.375),
}


def jump_of(call: Call) -> Any:
    def evaluate(points: Any) -> Any:
        results = [np.asarray(call(values["x"])) for values in points]
        return [[(result.dtype.name, result)] for result in results]

    line = np.linspace(-3.1, 2.9, 7, dtype="f4")
    found = find_jump(evaluate, {"x": line, "n": 1}, {"x": line[::-1] * np.float32(1.7), "n": 1})
    return None if found is None else [one["x"] for one in found]


@pytest.mark.parametrize("call", [pytest.param(call, id=name) for name, call in CONTINUOUS.items()])
def test_what_only_grows(call: Call) -> None:
    assert jump_of(call) is None


@pytest.mark.parametrize(("call", "at"), [pytest.param(*one, id=name) for name, one in JUMPING.items()])
def test_a_jump_lies_between_neighbours(call: Call, at: float) -> None:
    low, high = jump_of(call)
    moved = low != high
    assert (np.nextafter(low, high) == high).all()
    assert any(min(pair) <= at <= max(pair) for pair in zip(abs(low[moved]), abs(high[moved]), strict=True))
    assert not np.array_equal(call(low), call(high))


def test_ways_move_floats_alone() -> None:
    ways = list(list_ways(fill_sizes(parse_inputs('x="f32[4]", y="f32[4]", ids="i64[4] 0..9", k=2'))))
    assert len(ways) == 12
    assert all((one["ids"] == other["ids"]).all() and one["k"] == other["k"] for one, other in ways)
    assert not list(list_ways(fill_sizes(parse_inputs('ids="i64[4] 0..9"'))))
