"""XLA523: compiled steps of optimizers that count on the host."""

from __future__ import annotations

import pytest

from tests.conftest import Findings
from tests.frameworks.selecting import severities_of

START = (
    "import os\nimport torch\nfrom torch import nn\n"
    "from torch.utils.data import DataLoader, Dataset, TensorDataset\n"
    'model = nn.Linear(2, 2).to("tpu")\n'
)

IN_ORDER = {
    "plain": "opt = torch.optim.AdamW(model.parameters())\nopt.step()",
    "capturable": "opt = torch.optim.AdamW(model.parameters(), capturable=True)\ntorch.compile(opt.step)",
    "fused": "opt = torch.optim.Adam(model.parameters(), fused=True)\ntorch.compile(opt.step)",
    "SGD": "opt = torch.optim.SGD(model.parameters())\ntorch.compile(opt.step)",
    "Adagrad": "opt = torch.optim.Adagrad(model.parameters())\ntorch.compile(opt.step)",
    "by options": "opt = torch.optim.AdamW(model.parameters(), **options)\ntorch.compile(opt.step)",
    "from elsewhere": "opt = make(model)\ntorch.compile(opt.step)",
    "another step": "torch.compile(model.forward)",
    "a compiled model": "opt = torch.optim.AdamW(model.parameters())\nfast = torch.compile(model)\nopt.step()",
}
FOUND = {
    "AdamW": ("opt = torch.optim.AdamW(model.parameters())\ntorch.compile(opt.step)", "error"),
    "Adam": ("opt = torch.optim.Adam(model.parameters(), lr=0.1)\ntorch.compile(opt.step)", "error"),
    "RMSprop": ("opt = torch.optim.RMSprop(model.parameters())\ntorch.compile(opt.step)", "error"),
    "in a function": (
        ("def main():\n    opt = torch.optim.AdamW(model.parameters())\n    return torch.compile(opt.step)"),
        "error",
    ),
    "in a compiled function": (
        (
            "opt = torch.optim.AdamW(model.parameters())\n@torch.compile\ndef f(x):\n"
            '    model(x).mean().backward()\n    opt.step()\nf(torch.ones(2, 2, device="tpu"))'
        ),
        "error",
    ),
}


@pytest.mark.parametrize("code", IN_ORDER.values(), ids=IN_ORDER)
def test_in_order(code: str, findings: Findings) -> None:
    assert severities_of("XLA523", findings(f"{START}{code}\n", "torch_tpu")) == []


@pytest.mark.parametrize(("code", "severity"), FOUND.values(), ids=FOUND)
def test_found(code: str, severity: str, findings: Findings) -> None:
    assert set(severities_of("XLA523", findings(f"{START}{code}\n", "torch_tpu"))) == {severity}


@pytest.mark.parametrize(("code", "severity"), FOUND.values(), ids=FOUND)
def test_other_targets_are_left_alone(code: str, severity: str, findings: Findings) -> None:
    for target in ("torch_xla", "torch_compile"):
        assert severities_of("XLA523", findings(f"{START}{code}\n", target)) == []
