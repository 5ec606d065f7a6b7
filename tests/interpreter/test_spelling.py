"""How messages write expressions: as the source does, with parentheses where it would read otherwise."""

from __future__ import annotations

import ast
from typing import cast

import pytest

from xlalint.config import Settings
from xlalint.interpreter.spelling import spelling
from xlalint.lowering import ir
from xlalint.project import check_text

_SIGNS = {ast.Add: "+", ast.Sub: "-", ast.Mult: "*", ast.Pow: "**", ast.BitAnd: "&", ast.Gt: ">", ast.USub: "-"}


def _lowered(node: ast.expr) -> ir.Node:
    match node:
        case ast.Name(name):
            return ir.Name(name, 0)
        case ast.Attribute(value, name):
            return ir.Attr(_lowered(value), name, 0)
        case ast.Subscript(value, index):
            return ir.Sub(_lowered(value), _lowered(index), 0)
        case ast.BinOp(left, op, right):
            return ir.Bin(_SIGNS[type(op)], _lowered(left), _lowered(right), 0)
        case ast.UnaryOp(ast.Not(), value):
            return ir.Not(_lowered(value), 0)
        case ast.UnaryOp(op, value):
            return ir.Unary(_SIGNS[type(op)], _lowered(value), 0)
        case ast.Compare(left, ops, rights):
            return ir.Compare(_lowered(left), tuple(_SIGNS[type(op)] for op in ops), tuple(map(_lowered, rights)), 0)
    raise AssertionError(cast(object, node))


@pytest.mark.parametrize(
    "text",
    [
        "(x > y).all",
        "(-x).sum",
        "(x + y)[z]",
        "x + y * z",
        "(x + y) * z",
        "x - y - z",
        "x - (y - z)",
        "x ** y ** z",
        "(x ** y) ** z",
        "-x ** y",
        "(-x) ** y",
        "(x > y) & (y > z)",
        "(x > y) > z",
        "x > y > z",
        "-(x + y)",
        "not x > y",
        "x.y[z]",
        "x + y > z",
    ],
)
def test_an_expression_is_written_as_it_is_meant(text: str) -> None:
    assert spelling(_lowered(ast.parse(text, mode="eval").body)) == text


@pytest.mark.parametrize(
    ("links", "text"), [(31, "x" + ".a" * 31), (32, "x" + ".a" * 32), (33, "…" + ".a" * 32), (5000, "…" + ".a" * 32)]
)
def test_of_a_long_chain_the_end_is_written(links: int, text: str) -> None:
    node: ir.Node = ir.Name("x", 0)
    for _ in range(links):
        node = ir.Attr(node, "a", 0)
    assert spelling(node) == text


@pytest.mark.parametrize(
    "made",
    [
        "x.view(n, most)",
        "x.view(n * 2, most, 3)",
        "x.new_zeros((n, most))",
        "torch.zeros([n, most])",
        "torch.full(size=(n, most), fill_value=1.0)",
        "nn.functional.pad(x, [0, n, 0, most])",
    ],
)
def test_of_several_sizes_the_tensor_is_named(made: str) -> None:
    text = (
        "import torch\nfrom torch import nn\nclass Model(nn.Module):\n    def forward(self, x, lengths):\n"
        f"        n, most = x.size(0), lengths.max()\n        return {made}\n"
    )
    (found,) = [one for one in check_text(text, "model.py", Settings()).findings if one.code == "XLA206"]
    assert "the value of tensor `most`" in found.message
