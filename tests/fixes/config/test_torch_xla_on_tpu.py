"""XLA527: what does on TorchTPU what torch_xla did."""

from __future__ import annotations

import pytest

from tests.fixes.fixing import expect_fixed, expect_left_alone, outcome

START = (
    "import torch\nimport torch_xla\nimport torch_xla.core.xla_model as xm\n"
    "\nmodel = torch.nn.Linear(2, 2)\n"
    "opt = torch.optim.SGD(model.parameters())\n"
)

PORTED = "import torch\n\nmodel = torch.nn.Linear(2, 2)\nopt = torch.optim.SGD(model.parameters())\n"

LEFT_ALONE = {
    "an ordinal by default": ("xm.get_ordinal(0)\n", "no equivalent"),
    "samples without a number": ("import torch_xla.utils.utils as xu\nxu.SampleGenerator(batch)\n", "as often"),
    "a process group by an address": (
        "torch.distributed.init_process_group('xla', init_method='env://')\n",
        "leave the backend",
    ),
    "a process group of some": ("torch.distributed.init_process_group('xla', rank=rank)\n", "leave the backend"),
    "a device by its number": ("xm.xla_device(1)\n", "number"),
    "a step that is used": (
        'loss = xm.optimizer_step(opt, optimizer_args={"closure": f})\n',
        "more than the optimizer",
    ),
    "a barrier that waits": ("torch_xla.sync(wait=True)\n", "synchronize"),
    "a function that is decorated": ("@torch_xla.compile()\ndef step(x):\n    return x\n", "no function"),
    "a closure that is made": ("xm.add_step_closure(closures[0], args=(1,))\n", "result of an expression"),
    "a closure with what is kept": ("xm.add_step_closure(report, args=kept)\n", "result of an expression"),
    "a message with an option": ("xm.master_print('a', flush=True)\n", "none of its options"),
    "an autocast with a dtype": (
        "from torch_xla.amp import autocast\nwith autocast(device, dtype=torch.bfloat16):\n    pass\n",
        "bfloat16",
    ),
    "processes with what is kept": ("torch_xla.launch(main, args=kept)\n", "result of an expression"),
    "processes that are awaited": ("running = torch_xla.launch(main)\n", "in each"),
    "processes otherwise": ("torch_xla.launch(main, context=fork)\n", "in each"),
}
SHARDED = "from torch_xla.distributed.fsdp import XlaFullyShardedDataParallel as FSDP\n"
LEFT_ALONE |= {
    "a model that is sharded in another dtype": (
        SHARDED + "model = FSDP(model, compute_dtype=torch.bfloat16)\n",
        "more than the model",
    ),
    "a model that is sharded by a policy": (SHARDED + "model = FSDP(model, auto_wrap_policy=policy)\n", "more than"),
    "a model that is sharded with what is kept": (SHARDED + "model = FSDP(model, **options)\n", "more than the model"),
    "a model that is told by its name": (SHARDED + "model = FSDP(module=model)\n", "not written here"),
    "models of which all are sharded": (SHARDED + "model = FSDP(*models)\n", "not written here"),
    "a sharded model whose own module is asked for": (SHARDED + "FSDP(model).module.eval()\n", "wrapper's own"),
    "a sharded model that clips": (SHARDED + "model = FSDP(model)\nmodel.clip_grad_norm_(1.0)\n", "wrapper's own"),
}
FIXED = {
    "a model that is sharded": (
        "import torch.distributed.fsdp\n" + SHARDED + "model = FSDP(model.to(device))\n",
        "import torch.distributed.fsdp\nmodel = torch.distributed.fsdp.fully_shard(model.to(device))\n",
        "unsafe",
    ),
    "a model that is sharded, as it is kept": (
        "import torch.distributed.fsdp\n"
        + SHARDED
        + "model = FSDP(model, reshard_after_forward=False, flatten_parameters=True)\n",
        "import torch.distributed.fsdp\nmodel = torch.distributed.fsdp.fully_shard(model, reshard_after_forward=False)\n",
        "unsafe",
    ),
    "the device": ("device = xm.xla_device()\n", 'device = torch.device("tpu")\n', "unsafe"),
    "moved": ('model.to("xla")\n', 'model.to("tpu")\n', "unsafe"),
    "a barrier": (
        "for x in batches:\n    opt.step()\n    xm.mark_step()\n",
        "for x in batches:\n    opt.step()\n",
        "unsafe",
    ),
    "a mode": (
        "def main():\n    torch_xla.experimental.eager_mode(True)\n    run()\n",
        "def main():\n    run()\n",
        "unsafe",
    ),
    "a step": ("xm.optimizer_step(opt)\n", "opt.step()\n", "unsafe"),
    "a step with a barrier": ("xm.optimizer_step(opt, barrier=True)\n", "opt.step()\n", "unsafe"),
    "a step that is compiled": (
        "step = torch_xla.compile(model, full_graph=True, name='step')\n",
        "step = model\n",
        "unsafe",
    ),
    "a closure": ("xm.add_step_closure(report, args=(1, loss))\n", "report(1, loss)\n", "unsafe"),
    "a closure without arguments": ("xm.add_step_closure(model.report)\n", "model.report()\n", "unsafe"),
    "a message": ("xm.master_print('a', 1)\n", "print('a', 1)\n", "unsafe"),
    "a seed": ("torch_xla.manual_seed(42)\n", "torch.manual_seed(42)\n", "unsafe"),
    "processes": (
        "import os\ntorch_xla.launch(main)\n",
        'import os\nmain(int(os.environ.get("LOCAL_RANK", 0)))\n',
        "unsafe",
    ),
    "processes with arguments": (
        "import os\nimport torch_xla.distributed.xla_multiprocessing as xmp\nxmp.spawn(main, args=(flags, 2), nprocs=4)\n",
        'import os\nmain(int(os.environ.get("LOCAL_RANK", 0)), flags, 2)\n',
        "unsafe",
    ),
    "how many there are": (
        "import os\nimport torch_xla.runtime as xr\nrate = 0.1 * xr.world_size()\n",
        'import os\nrate = 0.1 * int(os.environ.get("WORLD_SIZE", 1))\n',
        "unsafe",
    ),
    "which it is": (
        "import os\nimport torch_xla.runtime as xr\nprint(xr.global_ordinal(), xm.get_local_ordinal())\n",
        'import os\nprint(int(os.environ.get("RANK", 0)), int(os.environ.get("LOCAL_RANK", 0)))\n',
        "unsafe",
    ),
    "whether it is the first": (
        "import os\nif xm.is_master_ordinal():\n    print(xm.is_master_ordinal() is True)\n",
        'import os\nif int(os.environ.get("RANK", 0)) == 0:\n    print((int(os.environ.get("RANK", 0)) == 0) is True)\n',
        "unsafe",
    ),
    "a process group": (
        "torch.distributed.init_process_group('xla', init_method='xla://')\n",
        "torch.distributed.init_process_group()\n",
        "unsafe",
    ),
    "samples": (
        "import torch_xla.utils.utils as xu\nbatches = xu.SampleGenerator(data=(x, y), sample_count=n // 2)\n",
        "batches = [(x, y)] * (n // 2)\n",
        "unsafe",
    ),
    "saving": ('xm.save(model.state_dict(), "a.pt")\n', 'torch.save(model.state_dict(), "a.pt")\n', "unsafe"),
}


@pytest.mark.parametrize(("text", "why"), LEFT_ALONE.values(), ids=LEFT_ALONE)
def test_left_alone_with_a_reason(text: str, why: str) -> None:
    expect_left_alone(outcome(START + text, "XLA527", target="torch_tpu"), why)


@pytest.mark.parametrize(("before", "after", "applicability"), FIXED.values(), ids=FIXED)
def test_fixed(before: str, after: str, applicability: str) -> None:
    expect_fixed(outcome(START + before, "XLA527", target="torch_tpu"), PORTED + after, applicability)
