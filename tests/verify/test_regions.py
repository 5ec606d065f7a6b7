"""The rewritten lines alone: which they are, what they need, and what they give."""

from __future__ import annotations

import ast

import pytest

from xlalint.verify.inputs.believed import Believed, Kind
from xlalint.verify.regions import NAME, Region, RegionError, Side, region
from xlalint.verify.rewrites import around, counterpart, find_named, run_of


def of(before: str, after: str, row: int, copy_by: str = "", tensors: str = "") -> Region:
    """The region of a rewrite that changes one row of the text before."""
    tree, other = ast.parse(before), ast.parse(after)
    place = around(tree, row)
    assert place is not None
    rewritten = find_named(other, place.name)
    run = run_of(place.node, [(row, row)])
    assert rewritten is not None and run is not None
    opposite = counterpart(rewritten.node, run)
    assert opposite is not None
    believed = Believed({place.name: {name: Kind("tensor") for name in tensors}}, {})
    sides = Side(before, tree, place, run), Side(after, other, rewritten, opposite)
    return region("/project/module.py", *sides, believed, copy_by)


def test_only_the_lines_and_what_they_need_are_taken() -> None:
    before = "import os\nimport torch\ndef f(x, mask):\n    y = open(x)\n    z = y[mask]\n    return z.sum()\n"
    found = of(before, before.replace("y[mask]", "torch.where(mask, y, 0)"), 5)
    assert found.before.source == f"def {NAME}(y, mask):\n    z = y[mask]\n    return (z,)\n"
    assert found.after.source == f"def {NAME}(y, mask):\n    z = torch.where(mask, y, 0)\n    return (z,)\n"
    assert "import torch" in found.after.text and "import os" not in found.after.text
    assert found.before.text.splitlines()[found.before.rows[0] - 1].strip() == "z = y[mask]"


def test_attributes_of_self_become_parameters_and_its_methods_stand_ins() -> None:
    before = "class M:\n    def f(self, x):\n        if x.any():\n            x = self.norm(x) * self.config.scale\n        return x\n"
    found = of(before, before.replace("x.any()", "x.all()"), 3)
    assert [one.name for one in found.parameters] == ["x", "self_config_scale"]
    assert found.stand_ins == ("self_norm",)


def test_lines_that_leave_a_loop_stand_in_one_of_their_own() -> None:
    before = "def f(xs, y):\n    for x in xs:\n        if x > 0:\n            break\n        y = y + x\n    return y\n"
    found = of(before, before.replace("x > 0", "x >= 0"), 3)
    assert "for _only_once in (0,):" in found.before.source


def test_lines_that_return_do() -> None:
    before = "def f(x, y):\n    if x > 0:\n        return y\n    return x\n"
    found = of(before, before.replace("x > 0", "x >= 0"), 2)
    assert "return y" in found.before.source


@pytest.mark.parametrize(
    ("line", "why"), [("y = yield x", "yield"), ("y = helper(self)", "pass `self` on"), ("global y", "global")]
)
def test_what_cannot_stand_alone_is_said(line: str, why: str) -> None:
    before = f"class M:\n    def f(self, x):\n        {line}\n        return x\n"
    with pytest.raises(RegionError, match=why):
        of(before, before, 3)


@pytest.mark.parametrize(
    ("bound", "copied"),
    [
        ("d = x", False),
        ("d = +x", False),
        ("d = x[0]", False),
        ("d = x.view(-1)", False),
        ("d, e = x - y, y", False),
        ("d = x - y\n    d = d[0]", False),
        ("d = e = x - y", False),
        ("d = x - y\n    e = d", False),
        ("d = x - y\n    e = d.view(-1)", False),
        ("d = x - y\n    e = [d]", False),
        ("d = x - y\n    self.last = d", False),
        ("d = x - y\n    keep(d)", False),
        ("d = x - y\n    for d in x: pass", False),
        ("d = x - y", True),
        ("d = -x", True),
        ("d = x < y", True),
        ("d = x - y\n    e = d * 2 + d.sum(0)", True),
        ("d = x - y\n    e = d.shape[0]", True),
    ],
)
def test_what_an_operator_gave_is_nobody_s_else(bound: str, copied: bool) -> None:
    before = f"import torch\ndef f(self, x, y):\n    {bound}\n    d[d < 0] = 0\n    return d\n"
    row = before.splitlines().index("    d[d < 0] = 0") + 1
    found = of(before, before.replace("d[d < 0] = 0", "d = torch.where(d < 0, 0, d)"), row, "clone", "dxye")
    assert ("d = d.clone()" in found.before.source) is copied
    assert ("d = d.clone()" in found.after.source) is copied
    assert found.before.text.splitlines()[found.before.rows[0] - 1].strip() == "d[d < 0] = 0"


def test_arguments_are_as_the_caller_gave_them() -> None:
    before = "def f(d):\n    d[d < 0] = 0\n    return d\n"
    assert "clone" not in of(before, before.replace("d[d < 0] = 0", "d.clamp_(min=0)"), 2, "clone", "d").before.source


@pytest.mark.parametrize(
    ("bound", "borrowed"),
    [
        ("d = x - y", ()),
        ("d = self.d", ("d",)),
        ("d = load(x)", ("d",)),
        ("d, e = load(x)", ("d",)),
        ("x = load(x)\n    d = x", ("x", "d")),
        ("if y is None: x = load(x)\n    d = y - x", ()),
    ],
)
def test_who_holds_the_memory_of_what_a_call_gave_is_not_known(bound: str, borrowed: tuple[str, ...]) -> None:
    before = f"import torch\ndef f(self, x, y):\n    {bound}\n    d[x < 0] = 0\n    return d\n"
    row = before.splitlines().index("    d[x < 0] = 0") + 1
    found = of(before, before.replace("d[x < 0] = 0", "d = torch.where(x < 0, 0, d)"), row, "clone", "dxye")
    assert {*found.borrowed} == {*borrowed}
