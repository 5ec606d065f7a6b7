"""Containers of inputs: kept as one input for each value, made again for a call, and written as Python text."""

from __future__ import annotations

import pytest

from xlalint.verify.inputs.containers import flatten, nest, write
from xlalint.verify.inputs.spec import SpecError, fill_sizes, format_inputs, parse_inputs

# What holds no array is one value, and so is what stands for an array.
WHOLE = ["f32[4]", "relu", 3, None, [1, 2], {"a": 1}, (), {}, {"a": {"b": "text"}}]
HELD = [
    {"x": "f32[4]", "y": "i32[4]"},
    ["f32[4]", "f32[4]"],
    ("f32[4]",),
    {"a": ["f32[4]", 3], "b": {"c": ("f32[2]", "relu")}},
    [{"x": "f32[4]"}, {"x": "f32[4]"}],
]


@pytest.mark.parametrize("value", WHOLE)
def test_a_value_without_arrays_is_kept_whole(value: object) -> None:
    assert list(flatten("x", value)) == [("x", value)]


@pytest.mark.parametrize("value", HELD)
def test_a_container_is_made_again(value: object) -> None:
    flat = dict(flatten("x", value))
    assert "x" not in flat
    assert nest(flat) == {"x": value}


@pytest.mark.parametrize("key", [1, "a{", None])
def test_keys_that_make_no_path_are_refused(key: object) -> None:
    with pytest.raises(ValueError, match="no string without braces"):
        list(flatten("x", {key: "f32[4]"}))


def test_a_wrong_key_of_a_mark_says_which_input_it_is() -> None:
    with pytest.raises(SpecError, match="input `x`: the key 1"):
        parse_inputs('x={1: "f32[4]"}')


def test_containers_are_written_as_they_were() -> None:
    text = "batch={'x': \"f32[4,3]\", 'y': (\"i32[4] 0..2\",)}, n=4"
    assert format_inputs(fill_sizes(parse_inputs(text))) == text


def test_texts_are_written_within_their_containers() -> None:
    assert write({"a": ["x", ("y",)], "b": ("1", "2")}) == "{'a': [x, (y,)], 'b': (1, 2)}"
