"""XLA513: calls for CUDA become calls for an XLA device."""

from __future__ import annotations

import pytest

from tests.fixes.fixing import expect_fixed, expect_left_alone, outcome

START = "import torch\nimport torch_xla\nfrom torch.utils.data import DataLoader\n\nmodel = torch.nn.Linear(2, 2)\n"

LEFT_ALONE = {
    "a GPU by its number": ("model.cuda(1)\n", "by its number"),
    "a device by a name": ("device = 'cuda'\nmodel.to(device)\n", "named elsewhere"),
    "an autocast with a dtype": ("with torch.autocast('cuda', dtype=torch.float16):\n    pass\n", "bfloat16"),
    "a call of which the purpose is not known": ("torch.cuda.synchronize()\n", "what it is used for"),
}
FIXED = {
    "a module": ("model.cuda()\n", 'model.to("xla")\n', "unsafe"),
    "by name": ("model.to('cuda:0')\n", "model.to('xla')\n", "unsafe"),
    "an autocast": ("with torch.autocast('cuda'):\n    pass\n", "with torch.autocast('xla'):\n    pass\n", "unsafe"),
    "pinned memory": ("DataLoader(data, 8, pin_memory=True)\n", "DataLoader(data, 8)\n", "safe"),
}


@pytest.mark.parametrize(("text", "why"), LEFT_ALONE.values(), ids=LEFT_ALONE)
def test_left_alone_with_a_reason(text: str, why: str) -> None:
    expect_left_alone(outcome(START + text, "XLA513"), why)


@pytest.mark.parametrize(("before", "after", "applicability"), FIXED.values(), ids=FIXED)
def test_fixed(before: str, after: str, applicability: str) -> None:
    expect_fixed(outcome(START + before, "XLA513"), START + after, applicability)


TPU = "import torch\n\nmodel = torch.nn.Linear(2, 2)\n"
LEFT_ALONE_ON_TPU = {
    "a GPU by its number": ("model.cuda(1)\n", "by its number"),
    "a stream": ("torch.cuda.Stream()\n", "what it is used for"),
    "an autocast by place": ("with torch.autocast('cuda', torch.float16):\n    pass\n", "bfloat16"),
    "a backend among other arguments": (
        "torch.distributed.init_process_group('nccl', method)\n",
        "leave it out",
    ),
}
FIXED_ON_TPU = {
    "a module": ("model.cuda()\n", 'model.to("tpu")\n'),
    "by name": ("model.to('cuda:0')\n", "model.to('tpu')\n"),
    "an autocast": (
        "with torch.autocast('cuda', dtype=torch.float16):\n    pass\n",
        'with torch.autocast("tpu", dtype=torch.bfloat16):\n    pass\n',
    ),
    "waiting": ("torch.cuda.synchronize()\n", "torch.accelerator.synchronize()\n"),
    "processes": ("torch.distributed.init_process_group('nccl')\n", "torch.distributed.init_process_group()\n"),
    "processes by keyword": (
        "torch.distributed.init_process_group(backend='nccl', world_size=4)\n",
        "torch.distributed.init_process_group(world_size=4)\n",
    ),
    "a choice": (
        "device = torch.device('cuda' if torch.cuda.is_available() else 'cpu')\n",
        "device = torch.device('tpu')\n",
    ),
}


@pytest.mark.parametrize(("text", "why"), LEFT_ALONE_ON_TPU.values(), ids=LEFT_ALONE_ON_TPU)
def test_left_alone_on_a_tpu(text: str, why: str) -> None:
    expect_left_alone(outcome(TPU + text, "XLA513", target="torch_tpu"), why)


@pytest.mark.parametrize(("before", "after"), FIXED_ON_TPU.values(), ids=FIXED_ON_TPU)
def test_fixed_on_a_tpu(before: str, after: str) -> None:
    expect_fixed(outcome(TPU + before, "XLA513", target="torch_tpu"), TPU + after, "unsafe")
