"""Sizes that a loop takes from rows of a tensor: the numbers are read once."""

from __future__ import annotations

import textwrap

import pytest

from tests.fixes.fixing import fixed

HEAD = """import torch
from torch import nn


class Merge(nn.Module):
    def __init__(self):
        super().__init__()
        self.side = 2
        self.kept = None

    def forward(self, x: torch.Tensor, sizes: torch.LongTensor, parts: torch.Tensor):
        y = x.float()
        made = []
"""


def program(code: str) -> str:
    return HEAD + textwrap.indent(code, " " * 8)


FOUND = {
    "rows that are taken apart": "for h, w in sizes:\n    made.append(y.view(h, w))\nreturn torch.cat(made)\n",
    "elements of a row": "for size in sizes:\n    made.append(y.view(size[0], size[1] * 2))\nreturn torch.cat(made)\n",
    "a row that is taken apart": "for size in sizes:\n    h, w = size\n    made.append(y.view(h // 2, w))\nreturn torch.cat(made)\n",
    "beside others": "for row, (h, w) in zip(y, sizes):\n    made.append(row.view(h, w))\nreturn torch.cat(made)\n",
    "counted": "for i, (h, w) in enumerate(sizes):\n    made.append(y[i].view(h, w))\nreturn torch.cat(made)\n",
    "in a comprehension": "return torch.cat([y.view(h, w) for h, w in sizes])\n",
    "bounds of slices": "return torch.cat([y[: size[0] // self.side] for size in sizes])\n",
    "a list of rows": "sizes = [(size[0] // self.side, size[1]) for size in sizes]\ncounts = [h * w for h, w in sizes]\n"
    "for i, part in enumerate(y.split(counts)):\n    h, w = sizes[i]\n    made.append(part.view(h, w))\n"
    "return torch.cat(made)\n",
    "a number in between": "for h, w in sizes:\n    n = h * w\n    if n > 3:\n        made.append(y.view(n))\nreturn torch.cat(made)\n",
    "what makes tensors": "for h, w in sizes:\n    made.append(torch.zeros(h, w))\nreturn torch.cat(made)\n",
}

LEFT_ALONE = {
    "computed with tensors": "for h, w in sizes:\n    made.append(y.view(h, w) * h)\nreturn torch.cat(made)\n",
    "kept": "for h, w in sizes:\n    self.kept = h\n    made.append(y.view(h, w))\nreturn torch.cat(made)\n",
    "collected": "for h, w in sizes:\n    made.append(h)\n    y = y.view(h, w)\nreturn torch.stack(made), y\n",
    "returned": "for h, w in sizes:\n    y = y.view(h, w)\n    n = h\nreturn y, n\n",
    "read behind the loop": "for h, w in sizes:\n    y = y.view(h, w)\nreturn y + h\n",
    "a quotient": "for h, w in sizes:\n    made.append(y.view(h, w) + h / w)\nreturn torch.cat(made)\n",
    "a method of a row": "for size in sizes:\n    made.append(y.view(size[0], -1) * size.prod())\nreturn torch.cat(made)\n",
    "arithmetic of a row": "for size in sizes:\n    h, w = size * 2\n    made.append(y.view(h, w))\nreturn torch.cat(made)\n",
    "a sum with a tensor": "n = sizes.sum()\nfor h, w in sizes:\n    made.append(y.view(h + n, w))\nreturn torch.cat(made)\n",
    "an index": "for h, w in sizes:\n    made.append(y[h].view(w, w))\nreturn torch.cat(made)\n",
    "a mask": "for h, w in sizes:\n    wide = h > w\n    made.append(torch.where(wide, y, 0).view(h, w))\nreturn torch.cat(made)\n",
    "bound anew": "for h, w in sizes:\n    h = y.sum()\n    made.append(y.view(h, w))\nreturn torch.cat(made)\n",
    "a function": "for h, w in sizes:\n    made.append(self.kept(h))\n    made.append(y.view(h, w))\nreturn torch.cat(made)\n",
    "printed": "for h, w in sizes:\n    print(f'{h}')\n    made.append(y.view(h, w))\nreturn torch.cat(made)\n",
    "the data": "for h, w in sizes:\n    made.append(h.view(1, 1).expand(w, w))\nreturn torch.cat(made)\n",
    "read already": "for h, w in sizes.tolist():\n    made.append(y.view(h, w))\nreturn torch.cat(made)\n",
    "on the host": "for h, w in sizes.cpu():\n    made.append(y.view(h, w))\nreturn torch.cat(made)\n",
}


@pytest.mark.parametrize("code", FOUND.values(), ids=FOUND)
def test_the_numbers_are_read_once(code: str) -> None:
    text, done = fixed(program(code))
    loop = "in sizes" if "in sizes" in code else "sizes)"
    expected = (
        code.replace("in sizes]", "in sizes.tolist()]", 1)
        .replace("in sizes:", "in sizes.tolist():")
        .replace("sizes):", "sizes.tolist()):")
    )
    assert loop in code
    assert text == program(expected)
    assert not done.report.failures
    assert fixed(text)[0] == text


@pytest.mark.parametrize("code", LEFT_ALONE.values(), ids=LEFT_ALONE)
def test_left_alone(code: str) -> None:
    assert fixed(program(code))[0].count(".tolist()") == code.count(".tolist()")


def test_numbers_side_by_side() -> None:
    code = "hs, ws = sizes.sum(0), sizes.sum(1)\nreturn torch.cat([y.view(9 - h, w) for h, w in zip(hs, ws)])\n"
    text, _ = fixed(program(code))
    assert "zip(hs.tolist(), ws.tolist())" in text


def test_no_loop_goes_over_none() -> None:
    before = program("for h, w in sizes:\n    made.append(y.view(h, w))\nreturn torch.cat(made)\n")
    text, _ = fixed(before.replace("sizes: torch.LongTensor, parts: torch.Tensor", "sizes: torch.Tensor | None = None"))
    assert "in sizes.tolist():" in text


def test_a_list_has_its_numbers() -> None:
    before = program("for h, w in sizes:\n    made.append(y.view(h, w))\nreturn torch.cat(made)\n")
    before = before.replace("sizes: torch.LongTensor, parts", "sizes: torch.Tensor | list, parts")
    assert ".tolist()" not in fixed(before)[0]


def test_what_is_assumed_is_said() -> None:
    code = "for h, w in parts:\n    made.append(y.view(h, w))\nreturn torch.cat(made)\n"
    _, done = fixed(program(code))
    message = done.findings[0].fix.message  # type: ignore[union-attr]
    assert "`parts` has two dimensions" in message
    assert "`parts` holds whole numbers" in message
