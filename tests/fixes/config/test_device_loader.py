"""XLA527: torch_xla's loader goes, and the loops over it move what they take."""

from __future__ import annotations

import pytest

from tests.fixes.fixing import expect_fixed, expect_left_alone, outcome

START = "import torch\nimport torch_xla.distributed.parallel_loader as pl\n\nmodel = torch.nn.Linear(2, 2)\n"
PORTED = "import torch\n\nmodel = torch.nn.Linear(2, 2)\n"

LEFT_ALONE = {
    "a loader whose batches are not taken": ("ahead = pl.MpDeviceLoader(loader, device)\n", "handed on"),
    "a loader that is kept": ("ahead = pl.MpDeviceLoader(loader, device)\nkept.append(ahead)\n", "handed on"),
    "a loader for a function from elsewhere": ("train(pl.MpDeviceLoader(loader, device))\n", "handed on"),
    "a loader of which an element is asked for": (
        "ahead = pl.MpDeviceLoader(loader, device)\nfor x, y in ahead:\n    model(x)\nnext(iter(ahead))\n",
        "handed on",
    ),
    "a batch that is taken whole": ("for batch in pl.MpDeviceLoader(loader, device):\n    model(batch)\n", "whole"),
    "a batch in a batch": ("for x, (y, z) in pl.MpDeviceLoader(loader, device):\n    model(x)\n", "whole"),
    "a loader by keywords": ("pl.MpDeviceLoader(loader=loader, device=device)\n", "no loader"),
}
FIXED = {
    "a loader in place": (
        "for i, (x, y) in enumerate(pl.MpDeviceLoader(loader, device)):\n    model(x)\n",
        'for i, (x, y) in enumerate(loader):\n    x, y = x.to("tpu"), y.to("tpu")\n    model(x)\n',
    ),
    "a loader that functions take batches of": (
        "from itertools import islice\n"
        "def train(batches, epoch):\n    batches = islice(batches, 8)\n    for x, _ in batches:\n        model(x)\n"
        "class Run:\n    def __init__(self, loader):\n        self.loader = pl.MpDeviceLoader(loader, 'tpu')\n"
        "    def go(self):\n        print(len(self.loader))\n        self.each(self.loader, 1)\n"
        "        train(self.loader, epoch=1)\n"
        "    def each(self, ahead, n):\n        for x, y in ahead:\n            model(x)\n",
        "from itertools import islice\n"
        "def train(batches, epoch):\n    batches = islice(batches, 8)\n    for x, _ in batches:\n"
        '        x = x.to("tpu")\n        model(x)\n'
        "class Run:\n    def __init__(self, loader):\n        self.loader = loader\n"
        "    def go(self):\n        print(len(self.loader))\n        self.each(self.loader, 1)\n"
        "        train(self.loader, epoch=1)\n"
        '    def each(self, ahead, n):\n        for x, y in ahead:\n            x, y = x.to("tpu"), y.to("tpu")\n'
        "            model(x)\n",
    ),
}


@pytest.mark.parametrize(("text", "why"), LEFT_ALONE.values(), ids=LEFT_ALONE)
def test_left_alone_with_a_reason(text: str, why: str) -> None:
    expect_left_alone(outcome(START + text, "XLA527", target="torch_tpu"), why)


@pytest.mark.parametrize(("before", "after"), FIXED.values(), ids=FIXED)
def test_fixed(before: str, after: str) -> None:
    expect_fixed(outcome(START + before, "XLA527", target="torch_tpu"), PORTED + after, "unsafe")
