"""XLA513: types of tensors that a flag chooses, on TorchTPU."""

from __future__ import annotations

import pytest

from tests.fixes.fixing import expect_fixed, expect_left_alone, outcome

CHOICE = "kind = torch.cuda.FloatTensor if fast else torch.FloatTensor\n"
HOST = "kind = torch.FloatTensor\n"
START = 'import torch\n\nfast = bool(options)\nmodel = torch.nn.Linear(2, 2).to("tpu")\n'

LEFT_ALONE = {
    "it makes nothing": "print(1)\n",
    "handed on": "train(kind)\n",
    "asked for": "x = kind(3)\nisinstance(x, kind)\n",
    "bound again": "kind = torch.HalfTensor\nx = kind(3)\n",
    "other arguments": "x = torch.ones(3).type(kind, True)\n",
}
FIXED = {
    "made": ("x = kind(3, 4).fill_(1.0)\n", 'x = kind(3, 4).to("tpu").fill_(1.0)\n'),
    "converted": ("x = torch.ones(3).type(kind)\n", 'x = torch.ones(3).type(kind).to("tpu")\n'),
    "in a function": ("def f(x):\n    return kind(x)\n", 'def f(x):\n    return kind(x).to("tpu")\n'),
    "beside an attribute of that name": (
        "x = kind(3)\nx.kind\nf(kind=1)\n",
        'x = kind(3).to("tpu")\nx.kind\nf(kind=1)\n',
    ),
}


@pytest.mark.parametrize("rest", LEFT_ALONE.values(), ids=LEFT_ALONE)
def test_left_alone_with_a_reason(rest: str) -> None:
    expect_left_alone(outcome(START + CHOICE + rest, "XLA513", target="torch_tpu"), "otherwise")


@pytest.mark.parametrize(("before", "after"), FIXED.values(), ids=FIXED)
def test_fixed(before: str, after: str) -> None:
    expect_fixed(outcome(START + CHOICE + before, "XLA513", target="torch_tpu"), START + HOST + after, "unsafe")


def test_not_where_it_stands_for_another_type() -> None:
    text = START + CHOICE.replace("torch.FloatTensor", "torch.DoubleTensor") + "x = kind(3)\n"
    expect_left_alone(outcome(text, "XLA513", target="torch_tpu"), "otherwise")
