"""XLA522: functions of `torch.tpu` that raise, or do not exist."""

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
    "a seed": "torch.tpu.manual_seed(1)",
    "a name": "torch.tpu.get_device_name()",
    "a stream": "torch.tpu.Stream()",
    "an event": "torch.tpu.Event(enable_timing=True)",
    "of the accelerator": "torch.accelerator.synchronize()",
    "memory": "torch.accelerator.memory_allocated()",
    "a mode": "torch.tpu.set_eager_mode(torch.tpu.EagerMode.DEFER_AND_FUSE)",
    "of CUDA": "torch.cuda.is_available()",
    "a precision": 'torch.tpu.precision("high")',
    "for another device": 'if device_type == "cuda":\n    torch.tpu.synchronize()',
    "a sum for all": "import torch.distributed as dist\ndist.all_reduce(model.weight)",
    "a gathering": "import torch.distributed as dist\ndist.gather(model.weight, [model.weight])",
    "a sum of another group": "import torch.distributed as dist\ndist.reduce(model.weight, 0, group=dist.new_group([0], backend='x'))",
    "a sum in host memory": "import torch.distributed as dist\ndist.reduce(model.weight.cpu(), 0)",
    "a sum where the host has a backend": (
        "import torch.distributed as dist\ndist.init_process_group('cpu:gloo,tpu:tpu_dist')\ndist.reduce(model.weight, 0)"
    ),
    "a sum that is not distributed": "from functools import reduce\nreduce(max, [1, 2])",
    "allowed": 'os.environ["TORCH_TPU_ALLOW_LEGACY_DEVICE_APIS"] = "1"\ntorch.tpu.synchronize()',
}
FOUND = {
    "is there one": ("torch.tpu.is_available()", "error"),
    "waiting": ("torch.tpu.synchronize()", "error"),
    "choosing": ("torch.tpu.set_device(0)", "error"),
    "a context": ("with torch.tpu.device(0):\n    pass", "error"),
    "memory": ("torch.tpu.memory_allocated()", "error"),
    "freeing": ("torch.tpu.empty_cache()", "error"),
    "a dtype": ("torch.tpu.is_bf16_supported()", "error"),
    "a sum for one": ("import torch.distributed as dist\ndist.reduce(model.weight, dst=0)", "error"),
    "a sum by name": ("from torch.distributed import reduce\nreduce(model.weight, 0)", "error"),
    "a barrier with a limit": ("import torch.distributed as dist\ndist.monitored_barrier()", "error"),
    "in a function": ("def main():\n    torch.tpu.synchronize()", "error"),
}


@pytest.mark.parametrize("code", IN_ORDER.values(), ids=IN_ORDER)
def test_in_order(code: str, findings: Findings) -> None:
    assert severities_of("XLA522", findings(f"{START}{code}\n", "torch_tpu")) == []


@pytest.mark.parametrize(("code", "severity"), FOUND.values(), ids=FOUND)
def test_found(code: str, severity: str, findings: Findings) -> None:
    assert set(severities_of("XLA522", findings(f"{START}{code}\n", "torch_tpu"))) == {severity}


@pytest.mark.parametrize(("code", "severity"), FOUND.values(), ids=FOUND)
def test_other_targets_are_left_alone(code: str, severity: str, findings: Findings) -> None:
    for target in ("torch_xla", "torch_compile"):
        assert severities_of("XLA522", findings(f"{START}{code}\n", target)) == []
