"""Loops of a condition and a bound, in torch."""

from __future__ import annotations

import pytest

from tests.fixes.fixing import append_indented, expect_fixed, expect_left_alone, outcome


def program(code: str) -> str:
    return append_indented(
        "import torch\n\nSEEN = []\n\n\ndef work(x: torch.Tensor) -> torch.Tensor:\n    return x.tanh() * 0.5\n\n\n"
        "@torch.compile\ndef run(x: torch.Tensor, y: torch.Tensor, n: int = 6) -> torch.Tensor:\n",
        code,
    )


UNSAFE = {
    "one name": (
        "i = 0\nwhile x.abs().sum() > 2 and i < 6:\n    x = x * 0.5\n    i += 1\nreturn x",
        "for _ in range(6):\n    going = x.abs().sum() > 2\n    x = torch.where(going, x * 0.5, x)\nreturn x",
    ),
    "a name of one turn": (
        "i = 0\nwhile x.abs().sum() > 2 and i < n:\n    # half\n    z = x * 0.5\n    x = z - y  # less\n    i = i + 1\nreturn x",
        "for _ in range(n):\n    going = x.abs().sum() > 2\n"
        "    # half\n    z = x * 0.5\n    x = torch.where(going, z - y, x)  # less\nreturn x",
    ),
    "a counter that is read, and the bound in front": (
        "i = 1\nwhile i <= n and not (x > 3).all():\n    x = x + i\n    i += 1\nreturn x",
        "for i in range(1, n + 1):\n    finished = (x > 3).all()\n    x = torch.where(finished, x, x + i)\nreturn x",
    ),
    "two names": (
        "i = 0\nwhile x.sum() > y.sum() and i < 3:\n    x = x * 0.5\n    y = y + x\n    i += 1\nreturn x + y",
        "for _ in range(3):\n    going = x.sum() > y.sum()\n    x = torch.where(going, x * 0.5, x)\n"
        "    y = torch.where(going, y + x, y)\nreturn x + y",
    ),
    "a name that only the condition reads": (
        "e = x.sum()\ni = 0\nwhile e > 1 and i < 3:\n    x = x * 0.5\n    e = x.sum()\n    i += 1\nreturn x",
        "e = x.sum()\nfor _ in range(3):\n    going = e > 1\n    x = torch.where(going, x * 0.5, x)\n"
        "    e = torch.where(going, x.sum(), e)\nreturn x",
    ),
    "a function of the program's": (
        "i = 0\nwhile x.sum() > 1 and i < 3:\n    x = work(x)\n    i += 1\nreturn x",
        "for _ in range(3):\n    going = x.sum() > 1\n    x = torch.where(going, work(x), x)\nreturn x",
    ),
}

LEFT_ALONE = {
    "no bound": ("while x.sum() > 1:\n    x = x * 0.5\nreturn x", "no bound"),
    "a bound that changes": (
        "i = 0\nwhile x.sum() > 1 and i < n:\n    x = x * 0.5\n    n = n - 1\n    i += 1\nreturn x",
        "not known to be the same whole number",
    ),
    "a bound that is computed": (
        "i = 0\nwhile x.sum() > 1 and i < len(SEEN):\n    x = x * 0.5\n    i += 1\nreturn x",
        "not known to be the same whole number",
    ),
    "a bound that is no whole number": (
        "i = 0\nwhile x.sum() > 1 and i < 2.5:\n    x = x * 0.5\n    i += 1\nreturn x",
        "not known to be the same whole number",
    ),
    "a step of two": ("i = 0\nwhile x.sum() > 1 and i < 6:\n    x = x * 0.5\n    i += 2\nreturn x", "known to count"),
    "a counter that is raised at times": (
        "i = 0\nwhile x.sum() > 1 and i < 6:\n    x = x * 0.5\n    if n > 3:\n        i += 1\nreturn x",
        "known to count",
    ),
    "a counter that is raised twice": (
        "i = 0\nwhile x.sum() > 1 and i < 6:\n    i += 1\n    x = x * 0.5\n    i += 1\nreturn x",
        "known to count",
    ),
    "a counter that begins somewhere": (
        "i = n\nwhile x.sum() > 1 and i < 6:\n    x = x * 0.5\n    i += 1\nreturn x",
        "known to count",
    ),
    "a counter that is used later": (
        "i = 0\nwhile x.sum() > 1 and i < 6:\n    x = x * 0.5\n    i += 1\nreturn x * i",
        "in which iteration",
    ),
    "a counter that is used in the condition": (
        "i = 0\nwhile x.sum() > i and i < 6:\n    x = x * 0.5\n    i += 1\nreturn x",
        "in which iteration",
    ),
    "a counter that is read before": (
        "i = 0\nx = x + i\nwhile x.sum() > 1 and i < 6:\n    x = x * 0.5\n    i += 1\nreturn x",
        "read before the loop",
    ),
    "a counter that is read where it is raised": (
        "i = 0\nwhile x.sum() > 1 and i < 6:\n    i += 1\n    x = x * i\nreturn x",
        "read after it is incremented",
    ),
    "a change in place": (
        "i = 0\nwhile x.sum() > 1 and i < 6:\n    x *= 0.5\n    i += 1\nreturn x",
        "changes a tensor in place",
    ),
    "a method that changes in place": (
        "i = 0\nwhile x.sum() > 1 and i < 6:\n    y = x.mul_(0.5)\n    i += 1\nreturn x + y",
        "changes a tensor in place",
    ),
    "an element": (
        "i = 0\nwhile x.sum() > 1 and i < 6:\n    x[0] = x[0] * 0.5\n    i += 1\nreturn x",
        "more than assign names",
    ),
    "a list": (
        "i = 0\nwhile x.sum() > 1 and i < 6:\n    x = x * 0.5\n    SEEN.append(1)\n    i += 1\nreturn x",
        "more than assign names",
    ),
    "two names at once": (
        "i = 0\nwhile x.sum() > 1 and i < 6:\n    x, y = y, x * 0.5\n    i += 1\nreturn x",
        "more than assign names",
    ),
    "a function of the program's on what changes in place": (
        "i = 0\nwhile x.sum() > 1 and i < 6:\n    x = y.add_(work(x))\n    i += 1\nreturn x",
        "in place",
    ),
    "a function of the program's on what is read": (
        "i = 0\nwhile x.sum() > 1 and i < 6:\n    x = x * work(x).max().item()\n    i += 1\nreturn x",
        "reads a tensor on the host",
    ),
    "random numbers": (
        "i = 0\nwhile x.sum() > 1 and i < 6:\n    x = x * torch.rand(3)\n    i += 1\nreturn x",
        "draws random numbers",
    ),
    "what is not known": (
        "import elsewhere\ni = 0\nwhile x.sum() > 1 and i < 6:\n    x = x + elsewhere.work(x)\n    i += 1\nreturn x",
        "not known what",
    ),
    "a number that changes": (
        "z = 1.0\ni = 0\nwhile x.sum() > 1 and i < 6:\n    x = x * z\n    z = z * 0.5\n    i += 1\nreturn x",
        "not a tensor in every iteration",
    ),
    "a number that becomes a tensor": (
        "z = 0.0\ni = 0\nwhile x.sum() > 1 and i < 6:\n    x = x * 0.5\n    z = z + x.sum()\n    i += 1\nreturn z",
        "not a tensor in every iteration",
    ),
    "an unset name": (
        "i = 0\nwhile x.sum() > 1 and i < 6:\n    x = x * 0.5\n    z = x + 1\n    i += 1\nreturn z",
        "may be unset",
    ),
    "an else": (
        "i = 0\nwhile x.sum() > 1 and i < 6:\n    x = x * 0.5\n    i += 1\nelse:\n    x = x + 1\nreturn x",
        "`else`",
    ),
    "a branch": (
        "i = 0\nwhile x.sum() > 1 and i < 6:\n    if n > 2:\n        x = x * 0.5\n    i += 1\nreturn x",
        "more than assign names",
    ),
    "a shape that grows": (
        "i = 0\nwhile x.sum() > 1 and i < 6:\n    x = torch.cat([x, x])\n    i += 1\nreturn x",
        "differ in shape",
    ),
    "nothing": ("i = 0\nwhile x.sum() > 1 and i < 6:\n    z = x * 0.5\n    i += 1\nreturn x", "nothing that the loop"),
}


@pytest.mark.parametrize(("before", "after"), UNSAFE.values(), ids=UNSAFE)
def test_unsafe(before: str, after: str) -> None:
    expect_fixed(outcome(program(before), "XLA102"), program(after), "unsafe", "may be computed needlessly")


@pytest.mark.parametrize(("before", "why"), LEFT_ALONE.values(), ids=LEFT_ALONE)
def test_left_alone_with_a_reason(before: str, why: str) -> None:
    expect_left_alone(outcome(program(before), "XLA102"), why)
