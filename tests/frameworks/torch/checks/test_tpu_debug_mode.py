"""XLA526: modes of TorchTPU for finding faults."""

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
    "off": 'os.environ["TORCH_TPU_ENABLE_DEBUG_CHECKS"] = "0"',
    "another variable": 'os.environ["TORCH_TPU_TOPOLOGY"] = "1,1,1"',
    "read": 'on = os.environ["TORCH_TPU_ENABLE_DEBUG_CHECKS"]',
    "a dict of its own": 'env = {}\nenv["TORCH_TPU_ENABLE_DEBUG_CHECKS"] = "1"',
    "fused": "torch.tpu.set_eager_mode(torch.tpu.EagerMode.DEFER_AND_FUSE)",
    "a mode from elsewhere": "torch.tpu.set_eager_mode(mode)",
}
FOUND = {
    "checks": ('os.environ["TORCH_TPU_ENABLE_DEBUG_CHECKS"] = "1"', "warning"),
    "blocking": ("torch.tpu.set_eager_mode(torch.tpu.EagerMode.DEFER_NEVER_AND_LAUNCH_BLOCKING)", "warning"),
    "in a function": ('def main():\n    os.environ["TORCH_TPU_ENABLE_DEBUG_CHECKS"] = "1"', "warning"),
}


@pytest.mark.parametrize("code", IN_ORDER.values(), ids=IN_ORDER)
def test_in_order(code: str, findings: Findings) -> None:
    assert severities_of("XLA526", findings(f"{START}{code}\n", "torch_tpu")) == []


@pytest.mark.parametrize(("code", "severity"), FOUND.values(), ids=FOUND)
def test_found(code: str, severity: str, findings: Findings) -> None:
    assert set(severities_of("XLA526", findings(f"{START}{code}\n", "torch_tpu"))) == {severity}


@pytest.mark.parametrize(("code", "severity"), FOUND.values(), ids=FOUND)
def test_other_targets_are_left_alone(code: str, severity: str, findings: Findings) -> None:
    for target in ("torch_xla", "torch_compile"):
        assert severities_of("XLA526", findings(f"{START}{code}\n", target)) == []
