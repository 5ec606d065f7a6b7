"""What is found when a body is walked: all of its nodes, or its statements alone."""

from __future__ import annotations

import ast
from textwrap import dedent

import pytest

from xlalint.interpreter.guards import assigned_once, name_assigned
from xlalint.lowering import ir, lower
from xlalint.source.model import SourceFile

BODIES = {
    "nothing": "pass",
    "expressions hold no statements": "x = [y for y in f(lambda: 0) if (z := y)]\ny[1:2, ...] += -x if not x else {'a': 1, **z}",
    "branches": "if a:\n    b = 1\nelif c:\n    d = 2\nelse:\n    e = 3",
    "loops": "for i in x:\n    if i: continue\n    y += 1\nelse:\n    z = 1\nwhile y:\n    break\nelse:\n    del z",
    "errors": "try:\n    a = 1\nexcept (E, F) as e:\n    b = 2\n    raise\nexcept G:\n    import c\nelse:\n    d = 1\nfinally:\n    e = 1",
    "blocks of context managers": "with a as b, c:\n    with d:\n        assert e, f",
    "matches": "match x:\n    case 1:\n        a = 1\n    case [b, *c] if b:\n        d: int = 2\n    case _:\n        return d",
    "definitions are no blocks": "def g():\n    a = 1\nclass C:\n    b = 2\nglobal h\nc = 3",
    "awaited and yielded": "async with a:\n    x = await b\n    async for y in c:\n        yield f'{y:>{x}}'",
}


def lowered(body: str) -> tuple[ir.Statement, ...]:
    text = "async def f():\n" + "".join(f"    {line}\n" for line in dedent(body).splitlines())
    unit = lower(SourceFile("f.py", "f", False, text, ""), ast.parse(text))
    return ir.decode_body(next(one for one in unit.functions if one.name == "f").body)


@pytest.mark.parametrize("body", [pytest.param(text, id=name) for name, text in BODIES.items()])
def test_statements_are_those_among_all_nodes_in_the_same_order(body: str) -> None:
    statements = lowered(body)
    clauses = (ir.Stmt, ir.Handler, ir.Case)
    assert ir.walk_statements(statements) == [one for one in ir.walk(statements) if isinstance(one, clauses)]


def test_walk_gives_nodes_in_the_order_of_the_source() -> None:
    node = ir.Call(ir.Name("f", 1), (ir.Const(1), ir.Name("x", 2)), (("k", ir.Attr(ir.Name("y", 3), "z", 4)),), 5, (6,))
    found = ir.walk((node, None))
    assert [type(one).__name__ for one in found] == ["Call", "Name", "Const", "Name", "Attr", "Name"]
    assert [one.id for one in found if isinstance(one, ir.Name)] == ["f", "x", "y"]


ASSIGNED = {
    "nothing": ("x", set()),
    "other statements": ("for x in y: pass\nz += 1\nwith y as w: del v\nu: int = 1", set()),
    "parts": ("x.a = 1\nx[0] = 2\nx, y = z", set()),
    "twice": ("x = 1\nif y:\n    x = 2", set()),
    "once": ("if y:\n    x = 1", {"x"}),
    "twice in one statement": ("x = x = 1", {"x"}),
    "among others": ("x = y = 1\ny = 2\nw = x", {"x", "w"}),
}


@pytest.mark.parametrize(("body", "names"), [pytest.param(*case, id=name) for name, case in ASSIGNED.items()])
def test_what_just_one_statement_assigns(body: str, names: set[str]) -> None:
    statements = lowered(body)
    told = name_assigned(statements)
    assert set(told) == names
    for name in "uvwxyz":
        asked = ir.Name(name, 0)
        assert told.get(name, asked) == assigned_once(asked, statements)
