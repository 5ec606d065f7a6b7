"""What a turn of a loop takes over from another: names that it may read before it assigns them."""

from __future__ import annotations

from collections.abc import Callable
from textwrap import dedent

import pytest

from xlalint.interpreter.loop_names import names_taken_over
from xlalint.lowering import ir, lower
from xlalint.source.reading import from_text
from xlalint.source.syntax import parse

ASSIGNED_FIRST = {
    "the target": "for x in xs:\n    y = x",
    "targets": "for i, (x, *rest) in xs:\n    y = i, x, rest",
    "in a line": "for _ in xs:\n    y = 1\n    z = y",
    "in both branches": "for _ in xs:\n    if c:\n        y = 1\n    else:\n        y = 2\n    z = y",
    "where the other branch leaves": "for _ in xs:\n    if c:\n        y = 1\n    else:\n        continue\n    z = y",
    "where the branch leaves": "for _ in xs:\n    if c:\n        raise E\n    else:\n        y = 2\n    z = y",
    "by a with": "for _ in xs:\n    with c as y:\n        z = y\n    w = z",
    "with an annotation": "for _ in xs:\n    y: int = 1\n    z = y",
    "behind what is never left": "for _ in xs:\n    break\n    z = y",
    "by the target of a loop inside": "for _ in xs:\n    for y in c:\n        z = y",
    "to a place of what was assigned": "for _ in xs:\n    y = {}\n    y[1] = 2\n    y.z = 3",
}
TAKEN_OVER = {
    "read, then assigned": "for _ in xs:\n    z = y\n    y = 1",
    "added to": "for _ in xs:\n    y += 1",
    "in one branch": "for _ in xs:\n    if c:\n        y = 1\n    z = y",
    "in a loop inside": "for _ in xs:\n    for i in c:\n        y = i\n    z = y",
    "in a try": "for _ in xs:\n    try:\n        y = 1\n    except E:\n        pass\n    z = y",
    "in a case": "for _ in xs:\n    match c:\n        case 1:\n            y = 1\n    z = y",
    "by the test": "while y < 3:\n    y = c",
    "by a test inside": "for _ in xs:\n    if y:\n        y = c",
    "by an item's index": "for _ in xs:\n    c[y] = 1\n    y = 2",
    "deleted before": "for _ in xs:\n    y = 1\n    del y\n    z = y",
    "annotated only": "for _ in xs:\n    y: int\n    z = y",
    "in a comprehension": "for _ in xs:\n    z = [c for _ in y]\n    y = 1",
}
NOT_TOLD = {
    "a function": "for _ in xs:\n    def f():\n        return y\n    y = 1",
    "a lambda": "for _ in xs:\n    f = lambda: y\n    y = 1",
    "a class": "for _ in xs:\n    class A:\n        x = y\n    y = 1",
    "a global": "for _ in xs:\n    global y\n    y = 1",
}


def taken_over(loop: str) -> frozenset[str] | None:
    source = from_text("m.py", loop + "\n")
    node = ir.decode_body(lower(source, parse(source.text)).body)[0]
    assert isinstance(node, (ir.For, ir.While))
    return names_taken_over(node)


@pytest.mark.parametrize("loop", ASSIGNED_FIRST.values(), ids=ASSIGNED_FIRST)
def test_what_a_turn_assigns_before_it_reads_is_its_own(loop: str) -> None:
    names = taken_over(loop)
    assert names is not None
    assert names <= {"c", "E"}


@pytest.mark.parametrize("loop", TAKEN_OVER.values(), ids=TAKEN_OVER)
def test_what_a_turn_may_read_first_is_taken_over(loop: str) -> None:
    names = taken_over(loop)
    assert names is not None
    assert "y" in names


@pytest.mark.parametrize("loop", NOT_TOLD.values(), ids=NOT_TOLD)
def test_functions_of_a_loop_may_read_what_they_like(loop: str) -> None:
    assert taken_over(loop) is None


LATE = {
    "a name that the next turn reads": (
        "for i in range(3):\n        if i:\n            z = float(y)\n        y = x.sum()",
        ["XLA301"],
    ),
    "a name that one branch of an earlier turn assigned": (
        "for i in range(3):\n        y = 1.0\n        if i:\n            z = x.sum()\n        if i > 1:\n            w = float(z)",
        ["XLA301"],
    ),
    "a name that a function reads": (
        "for i in range(3):\n        def f():\n            return float(y)\n        if i:\n            f()\n        y = x.sum()",
        ["XLA301"],
    ),
    "a name of each turn's own": ("for i in range(3):\n        y = float(i)\n        z = x * y\n        y = z", []),
}


@pytest.mark.parametrize(("body", "expected"), LATE.values(), ids=LATE)
def test_what_only_later_turns_see(loud: Callable[[str, str], list[str]], body: str, expected: list[str]) -> None:
    code = f"import torch\ndef f(x: torch.Tensor):\n    {body}\n    return x\n"
    assert sorted(set(loud(dedent(code), "torch_xla"))) == expected
