"""XLA508: models built once, before processes are forked."""

from __future__ import annotations

import pytest

from tests.fixes.fixing import expect_fixed, expect_left_alone, outcome

START = """\
import torch
import torch_xla
import torch_xla.distributed.xla_multiprocessing as xmp
import torchvision
from accelerate import Accelerator, notebook_launcher
from transformers import AutoConfig, AutoModel, AutoTokenizer


class Net(torch.nn.Module):
    pass


"""
PARAMS = "def train({}):\n    model = {}\n    print(model)\n\n\n"
FIXED = {
    "alone": (
        PARAMS.format("", "Net()") + "notebook_launcher(train)\n",
        "def train(model):\n    print(model)\n\n\nmodel = Net()\nnotebook_launcher(train, args=(model,))\n",
    ),
    "with arguments": (
        PARAMS.format("rate, steps: int", "Net()") + "notebook_launcher(train, args=(0.1, 5), num_processes=8)\n",
        "def train(rate, steps: int, model):\n    print(model)\n\n\n"
        "model = Net()\nnotebook_launcher(train, args=(0.1, 5, model), num_processes=8)\n",
    ),
    "arguments in a row": (
        PARAMS.format("rate", "AutoModel.from_pretrained('bert')") + "notebook_launcher(train, (0.1,))\n",
        "def train(rate, model):\n    print(model)\n\n\n"
        "model = AutoModel.from_pretrained('bert')\nnotebook_launcher(train, (0.1, model))\n",
    ),
    "under the script's guard": (
        PARAMS.format("index", "Net()") + "if __name__ == '__main__':\n    xmp.spawn(train, start_method='fork')\n",
        "def train(index, model):\n    print(model)\n\n\n"
        "if __name__ == '__main__':\n    model = Net()\n    xmp.spawn(train, args=(model,), start_method='fork')\n",
    ),
}
LEFT_ALONE = {
    "of an argument": (
        PARAMS.format("name", "AutoModel.from_pretrained(name)") + "notebook_launcher(train, ('b',))\n",
        "only the function knows"),
    "of any arguments": (PARAMS.format("*args", "Net()") + "notebook_launcher(train)\n", "only the function knows"),
    "a default": (PARAMS.format("rate=0.1", "Net()") + "notebook_launcher(train)\n", "defaults"),
    "another of that name": ("model = 1\n" + PARAMS.format("", "Net()") + "notebook_launcher(train)\n", "another thing"),
    "arguments from elsewhere": (PARAMS.format("a", "Net()") + "notebook_launcher(train, given)\n", "not certain"),
    "launched in a function": (PARAMS.format("", "Net()") + "def main():\n    notebook_launcher(train)\n", "not certain"),
    "two names": ("def train():\n    other = model = Net()\n\n\nnotebook_launcher(train)\n", "more than one name"),
}  # fmt: skip


@pytest.mark.parametrize(("before", "after"), FIXED.values(), ids=FIXED)
def test_built_once(before: str, after: str) -> None:
    expect_fixed(outcome(START + before, "XLA508"), START + after, "unsafe")


@pytest.mark.parametrize(("code", "why"), LEFT_ALONE.values(), ids=LEFT_ALONE)
def test_left_alone_with_a_reason(code: str, why: str) -> None:
    expect_left_alone(outcome(START + code, "XLA508"), why)
