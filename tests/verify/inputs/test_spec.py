"""Inputs as people write them."""

from __future__ import annotations

import pytest

from xlalint.verify.inputs import SpecError, fill_sizes, format_spec, merge_specs, parse_inputs, sizes_of
from xlalint.verify.model import ArraySpec, Literally, Specs


@pytest.mark.parametrize(
    ("text", "argument", "sizes"),
    [
        ('x="f32[8,128]"', ArraySpec("f32", (8, 128)), {}),
        ('x="bool[8]"', ArraySpec("bool", (8,)), {}),
        ('x="f32[]"', ArraySpec("f32", ()), {}),
        ('x="i64[4] 1..6"', ArraySpec("i64", (4,), 1, 6), {}),
        ('x="i32[] -2..-1"', ArraySpec("i32", (), -2, -1), {}),
        ('x="f32[B,64]"', ArraySpec("f32", ("B", 64)), {}),
        ('x="bf16[B=8, seq_len=16]"', ArraySpec("bf16", ("B", "seq_len")), {"B": 8, "seq_len": 16}),
        ('x=" c64[ 2 , 0 ] "', ArraySpec("c64", (2, 0)), {}),
        ("x=4", Literally("4"), {}),
        ("x=-0.5", Literally("-0.5"), {}),
        ("x=None", Literally("None"), {}),
        ('x="u8[8]"', ArraySpec("u8", (8,), 0, 255), {}),
        ('x="i8[8] 0..3"', ArraySpec("i8", (8,), 0, 3), {}),
        ('x="i16[8]"', ArraySpec("i16", (8,), 0, 3), {}),
        ("x='mean'", Literally("'mean'"), {}),
        ("x=(1, [2, True])", Literally("(1, [2, True])"), {}),
        ("x={'a': 1}", Literally("{'a': 1}"), {}),
    ],
)
def test_parses(text: str, argument: object, sizes: dict[str, int]) -> None:
    specs = parse_inputs(text)
    assert specs == Specs({"x": argument}, sizes)
    if not sizes:
        assert parse_inputs(f"x={format_spec(specs.arguments['x'])}") == specs


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ('x="f31[8]"', "input `x`: unknown dtype `f31`; write `f32`"),
        ('x="float32[8]"', "unknown dtype `float32`; write `f32`"),
        ('x="LONG[8]"', "unknown dtype `LONG`; write `i64`"),
        ('x="f32[8"', r"`f32\[8` is not an array; write it like"),
        ('x="f32[8] 1-6"', "is not an array"),
        ('x="f32[8x4]"', "`8x4` is not a dimension; write a size, a name, or both: 8, B, B=8"),
        ('x="f32[8,,4]"', "`` is not a dimension"),
        ('x="f32[-1]"', "`-1` is not a dimension"),
        ('x="f32[*B]"', r"`\*B` is not a dimension"),
        ('x="f32[99999999999]"', "too large"),
        ('x="i64[4] 6..1"', r"the range 6..1 is empty; write 1..6"),
        ('x="f32[B=8,B=9]"', "`B` has two sizes"),
        ('x="f32[B=8]", y="f32[B=9]"', "input `y`: `B` is 8 in one place and 9 in another"),
        ("x=f32[8]", r'`f32\[8\]` is not a literal; write "f32\[8\]"'),
        ("x=jnp.ones(3)", r"`jnp.ones\(3\)` is not a literal; write .* for an array"),
        ("**x", "`\\*\\*` has no place"),
        ("x=1 y=2", "is not Python"),
        ("x=1) or (2", "is not one call"),
    ],
)
def test_refuses(text: str, message: str) -> None:
    with pytest.raises(SpecError, match=message):
        parse_inputs(text)


def test_arguments_without_a_name_are_numbered() -> None:
    assert list(parse_inputs('"f32[8]", 3, n=4').arguments) == ["0", "1", "n"]


def test_the_first_that_speaks_of_an_argument_counts() -> None:
    one, other = parse_inputs('x="f32[B=2]"'), parse_inputs('x="f32[B=3,4]", y="bool[C=5]"')
    assert merge_specs([one, other]) == parse_inputs('x="f32[B=2]", y="bool[C=5]"')
    assert list(merge_specs([one, other]).arguments) == ["x", "y"]


def test_names_without_a_size_get_sizes_that_no_other_has() -> None:
    specs = fill_sizes(parse_inputs('x="f32[A,B=8,C]", y="f32[C,D]"'))
    assert specs.sizes["B"] == 8
    assert len(set(specs.sizes.values())) == 4
    many = ",".join(f"D{number}" for number in range(40))
    assert len(set(fill_sizes(parse_inputs(f'x="f32[{many}]"')).sizes.values())) == 40


def test_dimensions_vary_by_turns_after_the_warm_up() -> None:
    specs = parse_inputs('x="f32[A=2,B=7]"')
    assert [sizes_of(specs, step, ()) for step in (0, 5)] == [{"A": 2, "B": 7}] * 2
    sizes = [tuple(sizes_of(specs, step, ("A", "B")).values()) for step in range(6)]
    assert sizes == [(2, 7), (2, 7), (3, 7), (3, 8), (4, 8), (4, 9)]
