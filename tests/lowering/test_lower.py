"""Lowering: what a unit keeps of a file, and that it survives being written down."""

from __future__ import annotations

import ast
from textwrap import dedent

import pytest
from hypothesis import given
from hypothesis import strategies as st

from xlalint.lowering import lower
from xlalint.lowering.ir import Const, Function, Unit, decode_body, decode_unit, encode_unit
from xlalint.source.model import SourceFile


def lowered(code: str) -> Unit:
    text = dedent(code)
    return lower(SourceFile("/m.py", "m", False, text, "d"), ast.parse(text))


def function(unit: Unit, name: str) -> Function:
    return next(f for f in unit.functions if f.qualname == name)


def test_names_of_nested_things() -> None:
    unit = lowered(
        "class A:\n    def f(self):\n        def g(): return h()\n        class B:\n            def k(self): pass\n"
    )
    assert [f.qualname for f in unit.functions] == ["A.f", "A.f.g", "A.f.B.k"]
    assert [c.qualname for c in unit.classes] == ["A", "A.f.B"]


@pytest.mark.parametrize(
    ("body", "free"),
    [
        pytest.param("return 1", (), id="nothing"),
        pytest.param("return len(sys.argv)", (), id="globals-and-builtins"),
        pytest.param("z = x; return z", ("x",), id="an-outer-local"),
        pytest.param("x = 1; return x", (), id="its-own"),
        pytest.param("return lambda: x + y", ("x", "y"), id="what-an-inner-one-needs"),
    ],
)
def test_free_names(body: str, free: tuple[str, ...]) -> None:
    unit = lowered(f"def outer(x):\n    y = 2\n    def inner():\n        {body}\n    return inner\n")
    assert function(unit, "outer.inner").free == free


@pytest.mark.parametrize(
    ("test", "kept"),
    [
        pytest.param('__name__ == "__main__"', "x", id="a-script's-own"),
        pytest.param('"__main__" == __name__', "x", id="a-script's-own-turned-round"),
        pytest.param("sys.version_info > (3, 9)", "y", id="another-condition"),
        pytest.param('__name__ != "__main__"', "y", id="no-script"),
    ],
)
def test_what_a_script_defines_anew_is_not_imported(test: str, kept: str) -> None:
    unit = lowered(f"def f(x): pass\nif {test}:\n    def f(y): pass\n    def g(z): pass\n")
    assert {name: unit.functions[index].params[0].name for name, index in unit.defs.items()} == {"f": kept, "g": "z"}


def test_attributes_that_a_method_stores() -> None:
    unit = lowered(
        """
        class A:
            def f(self, other):
                self.a = 1
                self.b, other.c = 2, 3
                self.register_buffer("d", None)
                setattr(self, "e", 4)
                self.g.h = 5
        """
    )
    assert function(unit, "A.f").stores == ("a", "b", "d", "e")


def test_the_getter_of_a_property_is_the_method() -> None:
    unit = lowered("class A:\n    @property\n    def p(self): return 1\n    @p.setter\n    def p(self, v): pass\n")
    assert unit.functions[unit.classes[0].methods["p"]].row == 3


@pytest.mark.parametrize(
    ("body", "told"),
    [
        ("a = torch.empty(0)\n    a.squeeze(0)", False),
        ("a = 1\n    a = a.squeeze(0)\n    a = 2\n    a.squeeze(1)", False),
        ("a.squeeze(0)\n    a = torch.empty(0)", True),
        ("a = h(a)\n    a.squeeze(0)", True),
        ("if b:\n        a = torch.empty(0)\n    a.squeeze(0)", True),
        ("a, c = g(1)\n    a.squeeze(0)", True),
    ],
)
def test_another_value_of_its_name_tells_nothing_of_a_parameter(body: str, told: bool) -> None:
    unit = lowered(f"def f(a, b):\n    {body}\n")
    assert (".squeeze" in function(unit, "f").params[0].uses) is told


def test_how_a_body_uses_its_parameters() -> None:
    unit = lowered("def f(a, b, c, d):\n    return g.h(a, d) + b[:, None] + c.shape\n")
    assert [p.uses for p in function(unit, "f").params] == [("g.h()",), ("[,]",), (".shape",), ("g.h([])",)]


@pytest.mark.parametrize(
    ("body", "uses"),
    [
        ("return g.h(a[0], -b[1:] + c)", (("g.h([])",), ("g.h([])",), ("g.h([])", "op"))),
        ("return g.h(a.x, b.y(), {c})", ((".x",), (".y", "g.h([])"), ())),
        ("return g.h(a.item(), b.y(c))", ((".item",), (".y", ".y(,)", "g.h([])"), ("b.y()",))),
        ("return g.h([a, b]), g.h([c.x])", (("g.h([])",), ("g.h([])",), (".x",))),
        ("for x in a:\n        g.h(x)\n    return g.h(x.y)", (("g.h([])",), (), ())),
        ("for i, (x, y) in enumerate(zip(a, b)):\n        g.h(1, x, y)", (("g.h([])", "zip()"), ("g.h([])",), ())),
        ("return [g.h(x) for x in a for y in b.z]", (("g.h([])",), (".z",), ())),
        ("for x in a:\n        pass\n    for x in g.y:\n        g.h(x)", ((), (), ())),
        ("d = a - b[0]\n    e = d\n    g.h(1, e)", (("g.h([])", "op"), ("g.h([])",), ())),
        ("d = a[0]\n    d = b.y()\n    g.h(d)", ((), (".y",), ())),
        (
            "d = []\n    d.append(a[0])\n    d.append(b.y())\n    g.h(d)",
            (("d.append([])", "g.h([])"), (".y", "d.append([])"), ()),
        ),
        ("d.append(a[0])\n    d = []\n    g.h(d)", (("d.append([])",), (), ())),
        ("for x in a[b]:\n        g.h(x)", (("g.h([])",), (), ())),
        ("return h(a[0], b)", (("h([])",), ("h([])",), ())),
        ("return range(a[0], b), g.h(c.cpu(), c[0].detach())", ((), (), (".cpu",))),
        ("return a.h(b, c), a.h()", ((".h", ".h(,)"), ("a.h()",), ())),
        ("return a.h(*b), c.h(), c.x.h(1)", ((".h",), (), (".h", ".x"))),
    ],
)
def test_what_calls_are_passed(body: str, uses: tuple[tuple[str, ...], ...]) -> None:
    unit = lowered(f"def f(a, b, c):\n    {body}\n")
    assert tuple(p.uses for p in function(unit, "f").params) == uses


@pytest.mark.parametrize(
    ("body", "uses"),
    [
        ("return b if a > 0 else c", ((), (), ())),
        ("m = a > 0; return m", ((), (), ())),
        ("m = a > 0; m = 1; return b[m]", ((), (), ())),
        ("m = a > 0; return b[m]", (("mask",), ("[mask]",), ())),
        ("m = a > c; return b[m], (a == c).any()", ((), (), ())),
        ("return b[0, a == 1]", (("mask",), ("[mask]",), ())),
        ("return (-1.5 < c).sum()", ((), (), ("mask",))),
        ("return (c != self.ignored).sum()", ((), (), ("mask",))),
        ("return ~((a < 1) | (c < 2))", (("mask",), (), ("mask",))),
        ("return b[a == 'x'], (b, c)[a > 1]", ((), (), ())),
        ("return b[1 < c < 3]", ((), (), ())),
    ],
)
def test_what_the_outcome_of_a_comparison_is_used_for(body: str, uses: tuple[tuple[str, ...], ...]) -> None:
    unit = lowered(f"def f(a, b, c):\n    {body}\n")
    assert tuple(p.uses for p in function(unit, "f").params) == uses


def test_constants_keep_what_comparisons_need() -> None:
    (statement,) = decode_body(lowered("def f():\n    return (None, True, -2, 1.5, 'a')\n").functions[0].body)
    assert [item.value for item in statement.value.items] == [None, True, -2, 1.5, "a"]  # type: ignore[union-attr]
    assert all(isinstance(item, Const) for item in statement.value.items)  # type: ignore[union-attr]


def test_a_body_nested_too_deeply_is_left_out() -> None:
    unit = lowered("def f(x):\n    return " + "+".join(["x"] * 900) + "\n\n\ndef g():\n    return 1\n")
    assert [f.name for f in unit.functions] == ["f", "g"]
    assert decode_body(function(unit, "g").body)


@given(
    st.lists(
        st.sampled_from(
            ["x = 1", "def f(a=1): return a", "class C: y: int = 2", "import a.b as c", "x[1:] += [y for y in x if y]"]
        )
    )
)
def test_units_survive_being_written_down(statements: list[str]) -> None:
    unit = lowered("\n".join(statements) + "\n")
    assert decode_unit(encode_unit(unit)) == unit
