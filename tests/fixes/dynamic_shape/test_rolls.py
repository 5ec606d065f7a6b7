"""XLA206: rolls by a tensor's value become an index."""

from __future__ import annotations

import pytest

from tests.fixes.fixing import fixed

HEAD = """import torch


def f(x: torch.Tensor, y: torch.Tensor, k: int) -> torch.Tensor:
    n = y.argmax()
    t = y.view(-1).argsort()
"""

LEFT = {
    "by a number": "return x.roll(k, 1)",
    "by a size": "return x.roll(-x.shape[1] // 2, 1)",
    "by the turn of a loop": "for i in range(k):\n        x = x + x.roll(i, 0)\n    return x",
    "of all elements": "return x.roll(int(n))",
    "of all elements by a function": "return torch.roll(x, n.item())",
    "along two dimensions": "return x.roll((int(n), 1), (0, 1))",
    "along a dimension that is not known": "return x.roll(int(n), k)",
    "of what is computed there": "return (x * y).roll(int(n), 1)",
    "by what is computed of the number": "return x.roll(int(n) // 2, 1)",
    "by a float": "return x.roll(int(y.mean()), 1)",
    "by what has dimensions": "return x.roll(int(y.long().view(1, 1)), 1)",
    "by the tensor itself, which torch refuses": "return x.roll(n, 1)",
    "of a list": "return [x, y].roll(int(n), 1)",
    "of what is handed over by stars": "return x.roll(*[int(n), 1])",
    "another method": "return x.rotate(int(n), 1)",
    "an array": "import numpy as np\n\n    return np.roll(x.numpy(), k, 1)",
}

CHANGED = {
    "a number read": ("x.roll(int(n), 1)", 1, "-", "n", "safe"),
    "a number read by a method": ("x.roll(n.item(), 1)", 1, "-", "n", "safe"),
    "a number with its sign": ("x.roll(-int(n), dims=1)", 1, "+", "n", "safe"),
    "by names": ("x.roll(shifts=-n.item(), dims=0)", 0, "+", "n", "safe"),
    "a tuple of one": ("x.roll((int(n),), (1,))", 1, "-", "n", "safe"),
    "from the end": ("torch.roll(x, int(n), -1)", -1, "-", "n", "safe"),
    "of all by names": ("torch.roll(input=x, shifts=int(n), dims=-1)", -1, "-", "n", "safe"),
    "an element": ("x.roll(int(t[0]), 1)", 1, "-", "t[0]", "safe"),
    "arithmetic": ("x.roll(-int(n + k), 1)", 1, "+", "(n + k)", "safe"),
    "what may have dimensions": ("x.roll(int(y.long()), 1)", 1, "-", "y.long()", "unsafe"),
    "what may be a float": ("x.roll(int(y.sum()), 1)", 1, "-", "y.sum()", "unsafe"),
}


@pytest.mark.parametrize("body", LEFT.values(), ids=LEFT)
def test_left_alone(body: str) -> None:
    text = f"{HEAD}    {body}\n"
    assert fixed(text)[0] == text


@pytest.mark.parametrize(("roll", "dim", "sign", "shift", "applicability"), CHANGED.values(), ids=CHANGED)
def test_changed(roll: str, dim: int, sign: str, shift: str, applicability: str) -> None:
    text, done = fixed(f"{HEAD}    return {roll}\n")
    size = f"x.shape[{dim}]"
    places = f"torch.arange({size}, device=x.device) {sign} {shift}"
    line = f"    return x.index_select({dim}, ({places}) % {size})\n"
    lines = f"    places = {places}\n    return x.index_select({dim}, places % {size})\n"
    assert text == HEAD + (line if len(line) < 90 else lines)
    assert [finding.fix.applicability for finding in done.findings if finding.fix] == [applicability]
    assert fixed(text)[0] == text


def test_of_what_is_a_tensor_as_far_as_it_is_known() -> None:
    text, done = fixed(f"{HEAD}    x = unknown(x) if k else x.float()\n    return x.roll(int(n), 1)\n")
    assert "x.index_select(" in text
    assert "`x` is a tensor" in done.findings[0].fix.message  # type: ignore[union-attr]


def test_where_no_line_can_stand_above_it_is_broken_up() -> None:
    text, _ = fixed(f"{HEAD}    return [a.roll(int(n), 1) for a in (x, y)]\n")
    places = "(torch.arange(a.shape[1], device=a.device) - n) % a.shape[1]"
    assert f"return [a.index_select(\n        1,\n        {places},\n    ) for a in (x, y)]\n" in text


def test_not_of_what_is_not_known() -> None:
    text = f"{HEAD}    z = unknown(x)\n    return z.roll(int(n), 1)\n"
    assert fixed(text)[0] == text


def test_of_an_attribute_says_on_which_device() -> None:
    head = "import torch\nfrom torch import nn\n\n\nclass Model(nn.Module):\n    def __init__(self) -> None:\n"
    head += '        super().__init__()\n        self.register_buffer("kept", torch.zeros(4, 4))\n\n'
    text = f"{head}    def forward(self, y: torch.Tensor) -> torch.Tensor:\n        n = y.argmax()\n"
    _, done = fixed(f"{text}        return self.kept.roll(int(n), 1)\n")
    assert "`n` is on the device of `self.kept`" in done.findings[0].fix.message  # type: ignore[union-attr]
