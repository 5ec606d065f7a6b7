"""XLA519: models moved before their optimizer is made."""

from __future__ import annotations

import pytest

from tests.fixes.fixing import expect_fixed, expect_left_alone, outcome

START = "import torch\nimport torch_xla\nfrom torch import nn, optim\nmodel = nn.Linear(2, 2)\n"
OPT = "opt = optim.SGD(model.parameters(), lr=0.1)\n"

KEEPER = (
    "class Keeper:\n    def __init__(self):\n        self.model = nn.Linear(2, 2)\n{between}    def show(self):\n        {shown}\n"
    "Keeper().opt.step()\n"
)
KEPT = "        self.opt = optim.SGD(self.model.parameters(), lr=0.1)\n"
MOVED = "        self.model.to('xla')\n"
SHOWN = "        self.show()\n"

FIXED = {
    "an object's": (
        KEEPER.format(between=f"{KEPT}{SHOWN}{MOVED}", shown="print(self.model)"),
        KEEPER.format(between=f"{SHOWN}{MOVED}{KEPT}", shown="print(self.model)"),
    ),
    "next": (f"{OPT}model.to('xla')\n", f"model.to('xla')\n{OPT}"),
    "bound again": (f"{OPT}model = model.to('xla')\nprint(opt)\n", f"model = model.to('xla')\n{OPT}print(opt)\n"),
    "with more between": (f"{OPT}print(1)\nmodel.to('xla')\n", f"print(1)\nmodel.to('xla')\n{OPT}"),
}
UP = "plan = Plan(opt)\n"
FIXED |= {
    "used between": (f"{OPT}{UP}model.to('xla')\n", f"model.to('xla')\n{OPT}{UP}"),
    "used between, and bound again": (
        f"{OPT}{UP}model.total = 3\n# train\nmodel = model.to('xla')\nprint(opt)\n",
        f"model = model.to('xla')\n{OPT}{UP}model.total = 3\n# train\nprint(opt)\n",
    ),
}
LEFT_ALONE = {
    "an object's, used between": KEEPER.format(between=f"{KEPT}        print(self.opt)\n{MOVED}", shown="pass"),
    "an object's, used by what is called between": KEEPER.format(
        between=f"{KEPT}{SHOWN}{MOVED}", shown="print(self.opt)"
    ),
    "used between, where the device is found": f"{OPT}{UP}device = find()\nmodel.to(device)\n",
    "used between, where devices are found": f"{OPT}{UP}device, rank = find()\nmodel.to(device)\n",
    "used between, in a block": f"{OPT}if ready:\n    print(opt)\nmodel.to('xla')\n",
    "used between, with a comment": f"{OPT}{UP}model.to('xla')  # now\n",
    "in a block": f"{OPT}if ready:\n    model.to('xla')\n",
    "a comment": "opt = optim.SGD(model.parameters(), lr=0.1)  # slow\nmodel.to('xla')\n",
}


@pytest.mark.parametrize(("before", "after"), FIXED.values(), ids=FIXED)
def test_the_other_way_round(before: str, after: str) -> None:
    expect_fixed(outcome(START + before, "XLA519"), START + after, "unsafe")


@pytest.mark.parametrize("code", LEFT_ALONE.values(), ids=LEFT_ALONE)
def test_left_alone_with_a_reason(code: str) -> None:
    expect_left_alone(outcome(START + code, "XLA519"), "create the optimizer after")
