"""XLA522: `torch.accelerator` takes the place of `torch.tpu`."""

from __future__ import annotations

import pytest

from tests.fixes.fixing import expect_fixed, expect_left_alone, outcome

START = 'import torch\n\nmodel = torch.nn.Linear(2, 2).to("tpu")\n'

LEFT_ALONE = {
    "a dtype": ("torch.tpu.is_bf16_supported()\n", "nothing takes its place"),
    "sums at once": (
        "import torch.distributed as dist\n\ndist.all_reduce_coalesced([model.weight])\n",
        "nothing takes its place",
    ),
    "a sum, starred": ("import torch.distributed as dist\n\ndist.reduce(*given)\n", "cannot be told apart"),
    "a sum by name": ("from torch.distributed import reduce\n\nreduce(model.weight, 0)\n", "under another name"),
    "a summary": ("print(torch.tpu.memory_summary())\n", "nothing takes its place"),
}
FIXED = {
    "waiting": ("torch.tpu.synchronize()\n", "torch.accelerator.synchronize()\n", "safe"),
    "choosing": ("torch.tpu.set_device(rank)\n", "torch.accelerator.set_device_index(rank)\n", "safe"),
    "memory": ("n = torch.tpu.mem_get_info()[0]\n", "n = torch.accelerator.get_memory_info()[0]\n", "safe"),
    "a sum": (
        "import torch.distributed as dist\n\ndist.reduce(model.weight, dst=0)\n",
        "import torch.distributed as dist\n\ndist.all_reduce(model.weight)\n",
        "safe",
    ),
    "a sum of a kind": (
        "import torch.distributed as dist\n\nwork = dist.reduce(model.weight, 0, dist.ReduceOp.MAX, async_op=True)\n",
        "import torch.distributed as dist\n\nwork = dist.all_reduce(model.weight, op=dist.ReduceOp.MAX, async_op=True)\n",
        "safe",
    ),
    "a barrier": (
        "import torch.distributed as dist\n\ndist.monitored_barrier(timeout=limit)\n",
        "import torch.distributed as dist\n\ndist.barrier()\n",
        "safe",
    ),
    "a condition": ("assert torch.tpu.is_available()\n", "assert torch.accelerator.is_available()\n", "safe"),
}


@pytest.mark.parametrize(("text", "why"), LEFT_ALONE.values(), ids=LEFT_ALONE)
def test_left_alone_with_a_reason(text: str, why: str) -> None:
    expect_left_alone(outcome(START + text, "XLA522", target="torch_tpu"), why)


@pytest.mark.parametrize(("before", "after", "applicability"), FIXED.values(), ids=FIXED)
def test_fixed(before: str, after: str, applicability: str) -> None:
    expect_fixed(outcome(START + before, "XLA522", target="torch_tpu"), START + after, applicability)
