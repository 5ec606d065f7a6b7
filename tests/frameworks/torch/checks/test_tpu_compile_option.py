"""XLA521: options of `torch.compile` that TorchTPU refuses."""

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
    "none": "torch.compile(model)",
    "its own backend": 'torch.compile(model, backend="tpu")',
    "static": "torch.compile(model, dynamic=False)",
    "left open": "torch.compile(model, dynamic=None)",
    "the default mode": 'torch.compile(model, mode="default")',
    "to debug with": 'torch.compile(model, backend="aot_eager")',
    "a flag": "torch.compile(model, dynamic=flags.dynamic)",
    "a choice": "torch.compile(model, mode=mode)",
    "options of Inductor": 'torch.compile(model, backend="inductor", options={"tpu_backend": "pallas"})',
    "a graph": "torch.compile(model, fullgraph=True)",
    "for another device": 'if device.type == "cuda":\n    torch.compile(model, mode="max-autotune")',
    "a pattern": 'import re\nre.compile("a", re.DOTALL)',
}
FOUND = {
    "dynamic": ("torch.compile(model, dynamic=True)", "error"),
    "a mode": ('torch.compile(model, mode="max-autotune")', "error"),
    "less overhead": ('torch.compile(model, mode="reduce-overhead")', "error"),
    "inductor": ('torch.compile(model, backend="inductor")', "error"),
    "torch_xla's": ('torch.compile(model, backend="openxla")', "error"),
    "by a variable": ('backend = "openxla"\ntorch.compile(model, backend=backend)', "error"),
    "a decorator": ("@torch.compile(dynamic=True)\ndef f(x):\n    return x\n", "error"),
    "in a function": ("def main():\n    return torch.compile(model, dynamic=True)", "error"),
}


@pytest.mark.parametrize("code", IN_ORDER.values(), ids=IN_ORDER)
def test_in_order(code: str, findings: Findings) -> None:
    assert severities_of("XLA521", findings(f"{START}{code}\n", "torch_tpu")) == []


@pytest.mark.parametrize(("code", "severity"), FOUND.values(), ids=FOUND)
def test_found(code: str, severity: str, findings: Findings) -> None:
    assert set(severities_of("XLA521", findings(f"{START}{code}\n", "torch_tpu"))) == {severity}


@pytest.mark.parametrize(("code", "severity"), FOUND.values(), ids=FOUND)
def test_other_targets_are_left_alone(code: str, severity: str, findings: Findings) -> None:
    for target in ("torch_xla", "torch_compile"):
        assert severities_of("XLA521", findings(f"{START}{code}\n", target)) == []
