"""Inputs that signatures declare."""

from __future__ import annotations

import ast
from typing import cast

import pytest

from xlalint.verify.inputs import parse_inputs
from xlalint.verify.inputs.marks import Definition
from xlalint.verify.inputs.signatures import signature_of


def of(text: str) -> object:
    return signature_of(cast(Definition, ast.parse(text).body[-1]))


@pytest.mark.parametrize(
    ("text", "inputs"),
    [
        ('def f(x: Float[Array, "batch 16"]): ...', 'x="f32[batch,16]"'),
        ('def f(x: Float[Tensor, "b"], y: Int[Tensor, "b"]): ...', 'x="f32[b]", y="i64[b]"'),
        ('def f(x: jt.Int[jax.Array, "b=4 3"]): ...', 'x="i32[b=4,3]"'),
        ('def f(self, x: Bool[Array, ""]): ...', 'x="bool[]"'),
        ("def f(x: \"BFloat16[Array, '#b ?c']\"): ...", 'x="bf16[b,c]"'),
        ('def f(x: Float64[Array, "_ _n 2"]): ...', 'x="f64[x0,x1,2]"'),
        ('def f(x: UInt8[Array, "2"], n=3, *, m: Bool[Array, "2"]): ...', 'x="u8[2]", m="bool[2]"'),
        ("@tf.function(input_signature=[tf.TensorSpec([None, 8], tf.float32)])\ndef f(x): ...", 'x="f32[batch,8]"'),
        (
            "@tf.function(jit_compile=True, input_signature=(tf.TensorSpec(shape=(2, None), dtype='int64'),"
            " TensorSpec(dtype=tf.bool, shape=[]), tf.TensorSpec([None])))\ndef f(self, x, y, z): ...",
            'x="i64[2,x1]", y="bool[]", z="f32[batch]"',
        ),
        ('class M:\n    def __init__(self, n): ...\n    def forward(self, x: Float[Array, "b"]): ...', 'x="f32[b]"'),
    ],
)
def test_declares(text: str, inputs: str) -> None:
    found = of(text)
    assert (found.specs, found.unknown) == (parse_inputs(inputs), {})


@pytest.mark.parametrize(
    ("text", "unknown"),
    [
        ("def f(x, y=1): ...", {"x": "nothing says what it is"}),
        ("def f(x: torch.Tensor): ...", {"x": "nothing says what it is"}),
        ("def f(x: dict[str, int]): ...", {"x": "nothing says what it is"}),
        (
            'def f(x: Float[Array, "*batch 3"]): ...',
            {"x": "`*batch` stands for any number of dimensions: write its shape"},
        ),
        ('def f(x: Float[Array, "... 3"]): ...', {"x": "`...` stands for any number of dimensions: write its shape"}),
        ('def f(x: Float[Array, "n-1"]): ...', {"x": "`n-1` is computed: write its shape"}),
        ("@tf.function(input_signature=SIGNATURE)\ndef f(x): ...", {"x": "nothing says what it is"}),
        (
            "@tf.function(input_signature=[tf.TensorSpec(None, tf.float32)])\ndef f(x): ...",
            {"x": "nothing says what it is"},
        ),
        ("@staticmethod\ndef f(self): ...", {"self": "nothing says what it is"}),
    ],
)
def test_does_not_declare(text: str, unknown: dict[str, str]) -> None:
    found = of(text)
    assert (found.specs.arguments, found.unknown) == ({}, unknown)
