"""XLA524: TPUs by number."""

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
    "no number": 'torch.ones(2, device="tpu")',
    "the first": 'torch.ones(2, device="tpu:0")',
    "moved": 'model.to("tpu:0")',
    "a GPU": 'torch.device("cuda:1")',
    "a rank": 'model.to(f"tpu:{rank}")',
    "loaded": 'torch.load("a.pt", map_location="tpu")',
    "loaded in host memory": 'torch.load("a.pt", map_location="cpu")',
    "a text": 'print("tpu:1")',
    "a dtype": "model.to(torch.bfloat16)",
}
FOUND = {
    "loaded": ('torch.load("a.pt", map_location="tpu:1")', "error"),
    "made": ('torch.ones(2, device="tpu:1")', "warning"),
    "made of data": ('torch.tensor([1], device="tpu:1")', "warning"),
    "made as another is": ('torch.zeros_like(model.weight, device="tpu:1")', "warning"),
    "made by another": ('model.weight.new_zeros(2, device="tpu:1")', "warning"),
    "moved": ('model.to("tpu:3")', "warning"),
    "a device": ('torch.device("tpu:2")', "warning"),
    "the default": ('torch.set_default_device("tpu:1")', "warning"),
    "in a function": ('def main():\n    return torch.zeros(2, device="tpu:1")', "warning"),
}


@pytest.mark.parametrize("code", IN_ORDER.values(), ids=IN_ORDER)
def test_in_order(code: str, findings: Findings) -> None:
    assert severities_of("XLA524", findings(f"{START}{code}\n", "torch_tpu")) == []


@pytest.mark.parametrize(("code", "severity"), FOUND.values(), ids=FOUND)
def test_found(code: str, severity: str, findings: Findings) -> None:
    assert set(severities_of("XLA524", findings(f"{START}{code}\n", "torch_tpu"))) == {severity}


@pytest.mark.parametrize(("code", "severity"), FOUND.values(), ids=FOUND)
def test_other_targets_are_left_alone(code: str, severity: str, findings: Findings) -> None:
    for target in ("torch_xla", "torch_compile"):
        assert severities_of("XLA524", findings(f"{START}{code}\n", target)) == []
