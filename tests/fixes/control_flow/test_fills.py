"""XLA101: branches that only fill tensors in place get their condition into the mask."""

from __future__ import annotations

import pytest

from tests.fixes.control_flow.programs import module
from tests.fixes.fixing import expect_fixed, outcome

LEFT_ALONE = {
    "of what is not a number": "if y.sum() > 0:\n    x[0] = y[0]\nreturn x",
    "of a number that is not known": "if y.sum() > 0:\n    x[0] = ok\nreturn x",
    "of what float16 cannot hold": "if y.sum() > 0:\n    x[0] = 1e9\nreturn x",
    "of a float into whole numbers": "x = x.long()\nif y.sum() > 0:\n    x[0] = 0.5\nreturn x",
    "of a float into what may be whole": "z = self.unknown(x).sum(0).long() * 2\nif y.sum() > 0:\n    z.fill_(0.5)\nreturn z",
    "with an else": "if y.sum() > 0:\n    x[0] = 1\nelse:\n    x[1] = 1\nreturn x",
    "under elif": "if ok:\n    x = x * 2\nelif y.sum() > 0:\n    x[0] = 1\nreturn x",
    "by a tensor's places": "if y.sum() > 0:\n    x[y.long()] = 1\nreturn x",
    "by an element's place": "n = y.argmax()\nif y.sum() > 0:\n    x[n] = 1\nreturn x",
    "by a list": "if y.sum() > 0:\n    x[[0, 1]] = 1\nreturn x",
    "in a list": "z = [x, y]\nif y.sum() > 0:\n    z[0] = 1\nreturn z",
    "in an array": "import numpy as np\nz = np.zeros(3)\nif y.sum() > 0:\n    z[0] = 1\nreturn z",
    "in host memory": "z = torch.zeros(3)\nif y.sum() > 0:\n    z[0] = 1\nreturn z",
    "and something that is kept": "z = x\nif y.sum() > 0:\n    x[0] = 1\n    z = y * 2\nreturn x + z",
    "and a call": "if y.sum() > 0:\n    x[0] = 1\n    self.tell(x)\nreturn x",
    "and a sum in place": "if y.sum() > 0:\n    x[0] = 1\n    y += 1\nreturn x + y",
    "and a read": "if y.sum() > 0:\n    n = x.sum().item()\n    x[0].masked_fill_(y[0] > n, 1)\nreturn x",
    "and dropout by a layer": "if y.sum() > 0:\n    z = self.drop(x)\n    x.masked_fill_(z > 0, 1)\nreturn x",
    "and a draw": "if y.sum() > 0:\n    mask = torch.rand_like(x) > 0.5\n    x.masked_fill_(mask, 0.5)\nreturn x",
    "with a loop": "if y.sum() > 0:\n    for i in range(2):\n        x[i] = 1\nreturn x",
    "and a return": "if y.sum() > 0:\n    x[0] = 1\n    return x\nreturn y",
    "of a slice by a tensor": "n = y.argmax()\nif y.sum() > 0:\n    x[:n] = 1\nreturn x",
    "added in place": "if y.sum() > 0:\n    x[0] += 1\nreturn x",
    "by a condition with dimensions": "if y.view(1) > 0:\n    x[0] = 1\nreturn x",
}
FIXED = {
    "a store": (
        "if y.sum() > 0:\n    x[0] = 1\nreturn x",
        "x[0].masked_fill_(y.sum() > 0, 1)\nreturn x",
        "`x[0]` may be written into where nothing is filled",
    ),
    "a store of slices": (
        "if y.sum() > 0:\n    x[..., 1:, None] = -float('inf')\nreturn x",
        "x[..., 1:, None].masked_fill_(y.sum() > 0, -float('inf'))\nreturn x",
        "may be written into",
    ),
    "a fill of all": (
        "if y.isnan().any():\n    x.fill_(0.5)  # broken\nreturn x",
        "x.masked_fill_(y.isnan().any(), 0.5)  # broken\nreturn x",
        "`x` may be written into",
    ),
    "zeros": ("if not y.sum() > 0:\n    x.zero_()\nreturn x", "x.masked_fill_(~(y.sum() > 0), 0)\nreturn x", "`x`"),
    "a mask": (
        "if y.sum() > 0:\n    x.masked_fill_(y > 1, 0.5)\nreturn x",
        "x.masked_fill_((y > 1) & (y.sum() > 0), 0.5)\nreturn x",
        "may be written into",
    ),
    "a mask that is computed": (
        "if y.sum() > 0:\n    # those above\n    mask = y > y.mean()\n\n    x.masked_fill_(mask, 0.5)\nreturn x",
        "# those above\nmask = y > y.mean()\n\nx.masked_fill_(mask & (y.sum() > 0), 0.5)\nreturn x",
        "may be written into",
    ),
    "several": (
        "if x.sum() > 0:\n    x.zero_()\n    y[0] = 2\nreturn x + y",
        "condition = x.sum() > 0\nx.masked_fill_(condition, 0)\ny[0].masked_fill_(condition, 2)\nreturn x + y",
        "may be written into",
    ),
    "under what the host knows": (
        "if ok and y.sum() > 0:\n    x[0] = 1\nreturn x",
        "if ok:\n    x[0].masked_fill_(y.sum() > 0, 1)\nreturn x",
        "may be written into",
    ),
    "a name that the condition reads": (
        "if y.sum() > 0:\n    y = y > 1\n    x.masked_fill_(y, 0.5)\nreturn x",
        "condition = y.sum() > 0\ny = y > 1\nx.masked_fill_(y & condition, 0.5)\nreturn x",
        "may be written into",
    ),
    "whole numbers": (
        "x = x.long()\nif y.sum() > 0:\n    x[0] = 7\nreturn x",
        "x = x.long()\nx[0].masked_fill_(y.sum() > 0, 7)\nreturn x",
        "may be written into",
    ),
}


@pytest.mark.parametrize("body", LEFT_ALONE.values(), ids=LEFT_ALONE)
def test_left_alone(body: str) -> None:
    made = outcome(module(body), "XLA101")
    assert made.text.count("masked_fill_") == body.count("masked_fill_")
    assert "if " in made.text


@pytest.mark.parametrize(("before", "after", "assumed"), FIXED.values(), ids=FIXED)
def test_fixed(before: str, after: str, assumed: str) -> None:
    expect_fixed(outcome(module(before), "XLA101"), module(after), "unsafe", assumed)
