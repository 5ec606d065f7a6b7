"""Containers of inputs: kept as one input for each value, made again for a call, and written as Python text."""

from __future__ import annotations

from collections import namedtuple
from dataclasses import dataclass

import pytest

from xlalint.verify.inputs.containers import Batches, Made, access_of, builder, flatten, nest, write
from xlalint.verify.inputs.spec import SpecError, fill_sizes, format_inputs, merge_specs, parse_inputs, specs_of

# What holds no array is one value, and so is what stands for an array.
WHOLE = ["f32[4]", "relu", 3, None, [1, 2], {"a": 1}, (), {}, {"a": {"b": "text"}}]
HELD = [
    {"x": "f32[4]", "y": "i32[4]"},
    ["f32[4]", "f32[4]"],
    ("f32[4]",),
    {"a": ["f32[4]", 3], "b": {"c": ("f32[2]", "relu")}},
    [{"x": "f32[4]"}, {"x": "f32[4]"}],
    Made("Batch", {"x": "f32[4]", "n": 3}),
    Made("data.Pair", {"0": "f32[4]", "1": "f32[4]"}),
    Made("Config", {}),
    Made("Batch", {"x": Made("Pair", {"0": "f32[4]", "b": ["f32[2]"]})}),
    {"a": Made("Batch", {"x": "f32[4]"})},
    Made("iter", {"0": {"x": "f32[4]"}, "1": {"x": "f32[4]"}}),
]
# Written inputs, and why they are none.
REFUSED = {
    "a function that is not known": ("f=swish2", "not a function that is known"),
    "an attribute": ("f=torch.addmm", "not a function that is known"),
    "one of another module": ("f=mine.relu", "not a function that is known"),
    "a lambda": ("f=lambda x: x", "not a literal"),
    "a call of a call": ("f=make()(1)", "not a literal"),
    "an iterator of no list": ("f=iter(3)", "not a literal"),
    "arguments in a dict": ("f=Batch(**{})", "not a literal"),
    "an array in a call that is none": ('b=Batch(x="f33[4]")', "unknown dtype"),
    "two sizes": ('b=Batch(x="f32[B=4]", y="f32[B=5]")', "`B` is 4 in one place and 5 in another"),
    "a condition on a field that is not there": ('b=Batch(x="f32[4]"), requires="b.y < 3"', "has `.y`"),
    "a function of numbers": ("x=jnp.ones(3)", "not a literal"),
}
WRITTEN = [
    'batch=Batch(x="f32[4]", y="i32[4] 0..2"), f=relu',
    "pair=data.Pair(\"f32[4]\", 3), requires='pair[0] < 5'",
    "batches=iter([{'x': \"f32[4]\"}, {'x': \"f32[4]\"}])",
    '"f32[4]", "f32[4]", scale=2.0',
    "fs=[relu, tanh], config=Config()",
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


@pytest.mark.parametrize(("text", "why"), REFUSED.values(), ids=REFUSED)
def test_what_cannot_be_read_is_refused(text: str, why: str) -> None:
    with pytest.raises(SpecError, match=why):
        parse_inputs(text)


@pytest.mark.parametrize("text", ["torch.tanh", "jnp.tanh", "tf.tanh", "jax.numpy.tanh", "tanh"])
def test_a_function_may_be_written_as_code_does(text: str) -> None:
    assert parse_inputs(f"f={text}") == parse_inputs("f=tanh")
    assert parse_inputs("f=F.gelu") == parse_inputs("f=gelu") == parse_inputs("f=jax.nn.gelu")


@pytest.mark.parametrize("text", WRITTEN)
def test_inputs_are_written_as_they_were(text: str) -> None:
    assert format_inputs(fill_sizes(parse_inputs(text))) == text


def test_a_table_of_toml_may_hold_a_call_as_a_text() -> None:
    found = specs_of({"batch": "Batch(x='f32[4]')", "name": "Batch(x)", "xs": ["f32[2]", "iter(['f32[1]'])"]})
    assert list(found.arguments) == ["batch<Batch:x>", "name", "xs[0]", "xs[1]<iter:0>"]


def test_an_argument_that_is_given_replaces_all_of_another() -> None:
    given = merge_specs([parse_inputs('batch={"x": "f32[2]"}'), parse_inputs('batch=Batch(y="f32[4]"), n=3')])
    assert list(given.arguments) == ["n", "batch{x}"]


@dataclass
class Batch:
    x: object
    n: int = 0


Pair = namedtuple("Pair", "a b")


def test_calls_are_made_by_the_names_of_a_module() -> None:
    made = Made("Batch", {"x": Made("Pair", {"0": "f32[4]", "b": "f32[3]"}), "n": 3})
    built = nest(dict(flatten("x", made)), builder({"Batch": Batch, "Pair": Pair}))
    assert built == {"x": Batch(Pair("f32[4]", "f32[3]"), 3)}
    with pytest.raises(NameError, match="`Batch`, which is no name of the module"):
        nest(dict(flatten("x", made)), builder({"Pair": Pair}))


def test_an_iterator_gives_its_items_once() -> None:
    (batches,) = nest(dict(flatten("x", Made("iter", {"0": "f32[4]", "1": "f32[4]"}))), builder({})).values()
    assert isinstance(batches, Batches)
    assert (next(batches), batches.taken, list(batches), list(batches)) == ("f32[4]", 1, ["f32[4]"], [])


@pytest.mark.parametrize(
    ("path", "access"),
    [
        ("x", "x"),
        ("0", "0"),
        ("batch{x}", "batch['x']"),
        ("xs[1](0)", "xs[1][0]"),
        ("batch<data.Batch:x>", "batch.x"),
        ("pair<Pair:1>", "pair[1]"),
        ("batches<iter:0>{x}", "batches[0]['x']"),
    ],
)
def test_paths_are_what_python_writes(path: str, access: str) -> None:
    assert access_of(path) == access
