"""XLA525: data on the TPU in forked workers."""

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
    "in host memory": (
        "class Rows(Dataset):\n    def __len__(self):\n        return 9\n"
        "    def __getitem__(self, i):\n        return torch.ones(2)\ndef gather(rows):\n"
        "    return torch.stack(rows)\nDataLoader(Rows(), num_workers=2)"
    ),
    "no workers": (
        "class Rows(Dataset):\n    def __len__(self):\n        return 9\n"
        '    def __getitem__(self, i):\n        return torch.ones(2).to("tpu")\n'
        "def gather(rows):\n    return torch.stack(rows)\nDataLoader(Rows())"
    ),
    "none": (
        "class Rows(Dataset):\n    def __len__(self):\n        return 9\n"
        '    def __getitem__(self, i):\n        return torch.ones(2).to("tpu")\n'
        "def gather(rows):\n    return torch.stack(rows)\nDataLoader(Rows(), num_workers=0)"
    ),
    "spawned": (
        "class Rows(Dataset):\n    def __len__(self):\n        return 9\n"
        '    def __getitem__(self, i):\n        return torch.ones(2).to("tpu")\n'
        "def gather(rows):\n    return torch.stack(rows)\n"
        'DataLoader(Rows(), num_workers=2, multiprocessing_context="spawn")'
    ),
    "a number from elsewhere": (
        "class Rows(Dataset):\n    def __len__(self):\n        return 9\n"
        '    def __getitem__(self, i):\n        return torch.ones(2).to("tpu")\n'
        "def gather(rows):\n    return torch.stack(rows)\n"
        "DataLoader(Rows(), num_workers=flags.workers)"
    ),
    "tensors of host memory": "DataLoader(TensorDataset(torch.ones(4, 2)), num_workers=2)",
    "a function that gathers": (
        "class Rows(Dataset):\n    def __len__(self):\n        return 9\n"
        "    def __getitem__(self, i):\n        return torch.ones(2)\ndef gather(rows):\n"
        "    return torch.stack(rows)\nDataLoader(Rows(), num_workers=2, collate_fn=gather)"
    ),
    "moved in the loop": (
        "class Rows(Dataset):\n    def __len__(self):\n        return 9\n"
        "    def __getitem__(self, i):\n        return torch.ones(2)\ndef gather(rows):\n"
        "    return torch.stack(rows)\nfor x in DataLoader(Rows(), num_workers=2):\n"
        '    x.to("tpu")'
    ),
}
FOUND = {
    "given out": (
        (
            "class Rows(Dataset):\n    def __len__(self):\n        return 9\n"
            '    def __getitem__(self, i):\n        return torch.ones(2).to("tpu")\n'
            "def gather(rows):\n    return torch.stack(rows)\nDataLoader(Rows(), num_workers=2)"
        ),
        "error",
    ),
    "gathered": (
        (
            "class Rows(Dataset):\n    def __len__(self):\n        return 9\n"
            "    def __getitem__(self, i):\n        return torch.ones(2)\ndef gather(rows):\n"
            '    return torch.stack(rows).to("tpu")\n'
            "DataLoader(Rows(), num_workers=2, collate_fn=gather)"
        ),
        "error",
    ),
    "a data set of it": ('DataLoader(TensorDataset(torch.ones(4, 2).to("tpu")), num_workers=1)', "error"),
    "by a variable": ('data = TensorDataset(torch.ones(4, 2, device="tpu"))\nDataLoader(data, num_workers=1)', "error"),
    "forked by name": (
        (
            "class Rows(Dataset):\n    def __len__(self):\n        return 9\n"
            "    def __getitem__(self, i):\n        return torch.ones(2).tpu()\ndef gather(rows):\n"
            "    return torch.stack(rows)\n"
            'DataLoader(Rows(), num_workers=2, multiprocessing_context="fork")'
        ),
        "error",
    ),
    "in a function": (
        (
            "class Rows(Dataset):\n    def __len__(self):\n        return 9\n"
            '    def __getitem__(self, i):\n        return torch.ones(2).to("tpu")\n'
            "def gather(rows):\n    return torch.stack(rows)\ndef main():\n"
            "    return DataLoader(Rows(), num_workers=4)"
        ),
        "error",
    ),
}


@pytest.mark.parametrize("code", IN_ORDER.values(), ids=IN_ORDER)
def test_in_order(code: str, findings: Findings) -> None:
    assert severities_of("XLA525", findings(f"{START}{code}\n", "torch_tpu")) == []


@pytest.mark.parametrize(("code", "severity"), FOUND.values(), ids=FOUND)
def test_found(code: str, severity: str, findings: Findings) -> None:
    assert set(severities_of("XLA525", findings(f"{START}{code}\n", "torch_tpu"))) == {severity}


@pytest.mark.parametrize(("code", "severity"), FOUND.values(), ids=FOUND)
def test_other_targets_are_left_alone(code: str, severity: str, findings: Findings) -> None:
    for target in ("torch_xla", "torch_compile"):
        assert severities_of("XLA525", findings(f"{START}{code}\n", target)) == []
