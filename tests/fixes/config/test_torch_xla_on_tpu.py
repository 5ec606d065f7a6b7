"""XLA527: what does on TorchTPU what torch_xla did."""

from __future__ import annotations

import pytest

from tests.fixes.fixing import expect_fixed, expect_left_alone, outcome

START = (
    "import torch\nimport torch_xla\nimport torch_xla.core.xla_model as xm\n"
    "import torch_xla.distributed.parallel_loader as pl\n\nmodel = torch.nn.Linear(2, 2)\n"
    "opt = torch.optim.SGD(model.parameters())\n"
)

PORTED = "import torch\n\nmodel = torch.nn.Linear(2, 2)\nopt = torch.optim.SGD(model.parameters())\n"

LEFT_ALONE = {
    "a loader": ("pl.MpDeviceLoader(loader, device)\n", "no single call"),
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
    "processes": ("torch_xla.launch(main)\n", "no single call"),
}
FIXED = {
    "the device": ("device = xm.xla_device()\n", 'device = torch.device("tpu")\n', "unsafe"),
    "moved": ('model.to("xla")\n', 'model.to("tpu")\n', "unsafe"),
    "a barrier": (
        "for x in batches:\n    opt.step()\n    xm.mark_step()\n",
        "for x in batches:\n    opt.step()\n",
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
    "saving": ('xm.save(model.state_dict(), "a.pt")\n', 'torch.save(model.state_dict(), "a.pt")\n', "unsafe"),
}


@pytest.mark.parametrize(("text", "why"), LEFT_ALONE.values(), ids=LEFT_ALONE)
def test_left_alone_with_a_reason(text: str, why: str) -> None:
    expect_left_alone(outcome(START + text, "XLA527", target="torch_tpu"), why)


@pytest.mark.parametrize(("before", "after", "applicability"), FIXED.values(), ids=FIXED)
def test_fixed(before: str, after: str, applicability: str) -> None:
    expect_fixed(outcome(START + before, "XLA527", target="torch_tpu"), PORTED + after, applicability)
