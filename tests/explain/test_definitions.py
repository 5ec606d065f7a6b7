"""Which bindings reach a place: names of any length, and of names that are bound in very many places the last."""

from __future__ import annotations

import ast

import pytest

from xlalint.explain.definitions import dotted_name


@pytest.mark.parametrize(
    ("code", "name"),
    [
        ("x", "x"),
        ("x.a.b", "x.a.b"),
        ("f().a", ""),
        ("x[0].a", ""),
        ("x.a()", ""),
        ("(x + y).a", ""),
        ("1", ""),
    ],
)
def test_names_and_attribute_chains_have_a_name(code: str, name: str) -> None:
    assert dotted_name(ast.parse(code, mode="eval").body) == name


def test_a_chain_may_be_longer_than_the_stack_is_deep() -> None:
    node: ast.expr = ast.Name("x")
    for _ in range(100_000):
        node = ast.Attribute(node, "a")
    assert dotted_name(node) == "x" + ".a" * 100_000
    while isinstance(node, ast.Attribute):  # freed link by link: to free it all at once takes a stack, too
        node = node.value
