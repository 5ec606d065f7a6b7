"""How messages write expressions: as the source does, with parentheses where it would read otherwise."""

from __future__ import annotations

import ast
from typing import cast

import pytest

from xlalint.interpreter.spelling import spelling
from xlalint.lowering import ir

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
