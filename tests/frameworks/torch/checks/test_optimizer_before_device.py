"""XLA519: models moved after their optimizer was made."""

from __future__ import annotations

import pytest

from tests.conftest import Findings

START = "import torch\nimport torch_xla\nfrom torch import nn, optim\nmodel = nn.Linear(2, 2)\n"
OPT = "opt = optim.SGD(model.parameters(), lr=0.1)\n"

IN_ORDER = {
    "moved first": f"model.to('xla')\n{OPT}",
    "moved as it is made": f"model = nn.Linear(2, 2).to(torch_xla.device())\n{OPT}",
    "another model": f"{OPT}other = nn.Linear(2, 2)\nother.to('xla')",
    "a new model": f"{OPT}model = nn.Conv2d(2, 2, 2)\nmodel.to('xla')",
    "a dtype": f"{OPT}model.to(torch.bfloat16)",
    "a dtype by keyword": f"{OPT}model.to(dtype=torch.bfloat16)",
    "to the host": f"{OPT}model.to('cpu')",
    "something": f"{OPT}model.to(something)",
    "by the device": f"{OPT}if use_xla:\n    model.to('xla')",
    "a batch": f"{OPT}batch.to('xla')",
    "in another function": f"def one():\n    {OPT}def other():\n    model.to('xla')",
    "some parameters": "opt = optim.SGD([p for p in model.parameters()], lr=0.1)\nbatch.to('xla')",
}
MOVED = {
    "by name": f"{OPT}model.to('xla')",
    "bound again": f"{OPT}model = model.to('xla')",
    "a numbered device": f"{OPT}model.to('xla:0')",
    "by keyword": f"{OPT}model.to(device='xla')",
    "torch_xla's device": f"{OPT}model.to(torch_xla.device())",
    "a device that is known": f"d = torch_xla.device()\n{OPT}model.to(d)",
    "some device": f"def setup(device):\n    model = nn.Linear(2, 2)\n    {OPT}    model = model.to(device)",
    "a field": "def setup(self, device):\n    self.opt = optim.Adam(self.model.parameters())\n    self.model.to(device)",
}


@pytest.mark.parametrize("code", IN_ORDER.values(), ids=IN_ORDER)
def test_in_order(code: str, findings: Findings) -> None:
    assert findings(f"{START}{code}\n", "torch_xla") == []


@pytest.mark.parametrize("code", MOVED.values(), ids=MOVED)
def test_moved_too_late(code: str, findings: Findings) -> None:
    assert findings(f"{START}{code}\n", "torch_xla") == [("XLA519", "error")]
