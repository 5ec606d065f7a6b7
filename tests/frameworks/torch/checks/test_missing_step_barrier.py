"""XLA511: training loops that give the device no orders, and replicas that train apart."""

from __future__ import annotations

from textwrap import dedent, indent

import pytest

from tests.conftest import Findings
from tests.frameworks.selecting import keep_rules

START = """\
import itertools
import torch
import torch_xla
import torch_xla.core.xla_model as xm
import torch_xla.distributed.parallel_loader as pl
import torch_xla.distributed.xla_multiprocessing as xmp
from torch.utils.data import DataLoader
from tqdm import tqdm
from accelerate import Accelerator
device = torch_xla.device()
model = torch.nn.Linear(2, 2).to(device)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
scheduler = torch.optim.lr_scheduler.StepLR(optimizer, 10)
loader = DataLoader(data, batch_size=8, drop_last=True)
def loss_of(batch):
    return model(batch).mean()
"""

EACH = "for b in loader:\n    loss_of(b).backward()\n"
BOTH = "    loss_of(b).backward()\n    optimizer.step()"
INNER = "        loss_of(b).backward()\n        optimizer.step()"

IN_ORDER = {
    "a sync": f"{EACH}    optimizer.step()\n    torch_xla.sync()",
    "a sync before": f"for b in loader:\n    torch_xla.sync()\n{BOTH}",
    "by the old name": f"{EACH}    optimizer.step()\n    xm.mark_step()",
    "now and then": f"for i, b in enumerate(loader):\n{BOTH}\n    if i % 10 == 0:\n        torch_xla.sync()",
    "a step as a block": f"for b in loader:\n    with torch_xla.step():\n{INNER}",
    "the optimizer's own barrier": f"{EACH}    xm.optimizer_step(optimizer, barrier=True)",
    "a barrier in a row": f"{EACH}    xm.optimizer_step(optimizer, True)",
    "a barrier by a flag": f"{EACH}    xm.optimizer_step(optimizer, barrier=flags.barrier)",
    "a device's loader": f"for b in pl.MpDeviceLoader(loader, device):\n{BOTH}",
    "a device's loader, held": f"fast = pl.MpDeviceLoader(loader, device)\nfor i, b in enumerate(tqdm(fast)):\n{BOTH}",
    "a device's loader, handed on": f"def train(batches):\n    for b in batches:\n{INNER}\ntrain(pl.MpDeviceLoader(loader, device))",
    "of a parallel loader": (
        "para = pl.ParallelLoader(loader, [device])\nfor b in para.per_device_loader(device):\n"
        "    loss_of(b).backward()\n    xm.optimizer_step(optimizer)"
    ),
    "of a parallel loader, held": (
        "fast = pl.ParallelLoader(loader, [device]).per_device_loader(device)\nfor b in fast:\n"
        "    loss_of(b).backward()\n    xm.optimizer_step(optimizer)"
    ),
    "any loader": f"def train(batches):\n    for b in batches:\n{INNER}",
    "any loader, under another name": f"def train(batches):\n    few = enumerate(batches)\n    for i, b in few:\n{INNER}",
    "any loader, under its own name": (
        f"def train(batches):\n    batches = itertools.islice(batches, 9)\n    for i, b in enumerate(batches):\n{INNER}"
    ),
    "a device's loader, handed on under another name": (
        f"def train(batches):\n    few = enumerate(batches)\n    for i, b in few:\n        b = b.to(device, dtype=torch.long)\n{INNER}\n"
        "train(pl.ParallelLoader(loader, [device]).per_device_loader(device))"
    ),
    "a device's loader, handed on under its own name": (
        f"def train(batches):\n    batches = enumerate(batches)\n    for i, b in batches:\n        b = b.to(device)\n{INNER}\n"
        "train(pl.MpDeviceLoader(loader, device))"
    ),
    "any iterator": "def train(batches):\n    for i in range(100):\n        loss_of(next(batches)).backward()\n        optimizer.step()",
    "in a helper": f"def finish():\n    optimizer.step()\n    torch_xla.sync()\n{EACH}    finish()",
    "after a helper": f"def step(b):\n{BOTH}\nfor b in loader:\n    step(b)\n    torch_xla.sync()",
    "in a helper's helper": f"def finish():\n    end()\ndef end():\n    xm.mark_step()\n{EACH}    optimizer.step()\n    finish()",
    "of two optimizers": f"{EACH}    for one in (optimizer, optimizer):\n        one.step()\n    torch_xla.sync()",
    "compiled": f"step = torch_xla.compile(train_step)\nfor b in loader:\n    step(b)\n{BOTH}",
    "compiled, decorated": f"@torch_xla.compile\ndef step(b):\n{BOTH}\nfor b in loader:\n    step(b)",
    "eager": f"from torch_xla.experimental import eager_mode\neager_mode(True)\n{EACH}    optimizer.step()",
    "an engine's": "accelerator = Accelerator()\nfor b in loader:\n    accelerator.backward(loss_of(b))\n    optimizer.step()",
    "no loop": "loss_of(torch.ones(8, 2)).backward()\noptimizer.step()",
    "no gradients": "for b in loader:\n    optimizer.step()",
    "no optimizer": "for b in loader:\n    loss_of(b).backward()",
    "a schedule": f"{EACH}    scheduler.step()",
    "another's step": f"{EACH}    profiler.step()\n    env.step(1)",
    "for another device": (
        f"{EACH}    if use_xla:\n        xm.optimizer_step(optimizer, barrier=True)\n    else:\n"
        f"        optimizer.step()"
    ),
    "no steps": "for b in loader:\n    print(loss_of(b))",
}
NEVER_RUN = {
    "plain": f"{EACH}    optimizer.step()",
    "counted": "for i in range(100):\n    loss_of(torch.ones(8, 2)).backward()\n    optimizer.step()",
    "epochs": f"for epoch in range(3):\n    for b in tqdm(loader):\n{INNER}\n    torch_xla.sync()",
    "enumerated": f"for i, b in enumerate(loader):\n{BOTH}\n    scheduler.step()",
    "without a barrier": f"{EACH}    xm.optimizer_step(optimizer)",
    "with its barrier off": f"{EACH}    xm.optimizer_step(optimizer, barrier=False)",
    "in a function": (
        "def train(batches, opt):\n    for b in batches:\n        b = b.to(device)\n"
        "        loss_of(b).backward()\n        opt.step()"
    ),
    "moved, in a comprehension": (
        f"def train(batches):\n    for b in batches:\n        b = {{k: v.to(device) for k, v in b.items()}}\n"
        f"{INNER}"
    ),
    "in a helper": f"def step(b):\n{BOTH}\nfor b in loader:\n    step(b)",
    "handed on": f"def train(batches):\n    for b in batches:\n{INNER}\ntrain(loader)",
    "drawn": f"batches = iter(loader)\nwhile True:\n    b = next(batches).to(device)\n{BOTH}",
    "accumulated": "for i, b in enumerate(loader):\n    loss_of(b).backward()\n    if (i + 1) % 4 == 0:\n        optimizer.step()",
}  # fmt: skip

TRAIN = (
    "def train(index, lr=0.1):\n    model = torch.nn.Linear(2, 2).to(torch_xla.device())\n"
    "    opt = torch.optim.SGD(model.parameters(), lr=lr)\n"
)
LOOP = "    for b in pl.MpDeviceLoader(data, torch_xla.device()):\n        model(b).mean().backward()\n"
TOGETHER = {
    "torch_xla's step": f"{LOOP}        xm.optimizer_step(opt)\ntorch_xla.launch(train)",
    "reduced": f"{LOOP}        xm.reduce_gradients(opt)\n        opt.step()\ntorch_xla.launch(train)",
    "reduced in a helper": (
        f"{LOOP}        take(opt)\ndef take(opt):\n    xm.reduce_gradients(opt)\n    opt.step()\n"
        f"torch_xla.launch(train)"
    ),
    "DDP": f"    model = torch.nn.parallel.DistributedDataParallel(model)\n{LOOP}        opt.step()\ntorch_xla.launch(train)",
    "FSDP": f"    model = FSDP(model)\n{LOOP}        opt.step()\nxmp.spawn(train)",
    "one process": f"{LOOP}        opt.step()\nxmp.spawn(train, nprocs=1)",
    "one process to look into": f"{LOOP}        opt.step()\ntorch_xla.launch(train, debug_single_process=True)",
    "not launched": f"{LOOP}        opt.step()\ntrain(0)",
    "launched by another": f"{LOOP}        opt.step()\nimport torch.multiprocessing as mp\nmp.spawn(train)",
    "evaluated": "    for b in pl.MpDeviceLoader(data, torch_xla.device()):\n        model(b)\ntorch_xla.launch(train)",
    "by the device": (
        f"{LOOP}        if on_xla:\n            xm.optimizer_step(opt)\n        else:\n"
        f"            opt.step()\ntorch_xla.launch(train)"
    ),
}
APART = {
    "launched": f"{LOOP}        opt.step()\ntorch_xla.launch(train)",
    "spawned": f"{LOOP}        opt.step()\nxmp.spawn(train, args=(0.1,))",
    "in a helper": f"{LOOP}        take(opt)\ndef take(opt):\n    opt.step()\ntorch_xla.launch(train)",
    "never run": "    for b in DataLoader(data):\n        model(b).mean().backward()\n        opt.step()\ntorch_xla.launch(train)",
    "where the script begins": f"{LOOP}        opt.step()\nif __name__ == '__main__':\n    torch_xla.launch(train, args=(0.1,))",
}  # fmt: skip
IMPORTS = START.partition("device =")[0]


@pytest.mark.parametrize("code", IN_ORDER.values(), ids=IN_ORDER)
def test_loops_in_order(code: str, findings: Findings) -> None:
    assert keep_rules(findings(f"{START}{code}\n", "torch_xla"), "XLA511") == []


@pytest.mark.parametrize("code", NEVER_RUN.values(), ids=NEVER_RUN)
def test_loops_that_never_run(code: str, findings: Findings) -> None:
    assert keep_rules(findings(f"{START}{code}\n", "torch_xla"), "XLA511") == [("XLA511", "warning")]


@pytest.mark.parametrize("code", NEVER_RUN.values(), ids=NEVER_RUN)
def test_loops_of_programs_for_other_devices(code: str, findings: Findings) -> None:
    elsewhere = START.replace("import torch_xla\n", "").replace("torch_xla.device()", "torch.device('cuda')")
    lines = [line for line in elsewhere.splitlines() if "torch_xla" not in line]
    text = "\n".join([*lines, "from torch_mock import xm, torch_xla", code])
    assert keep_rules(findings(f"{text}\n", ""), "XLA511") == []


@pytest.mark.parametrize("code", TOGETHER.values(), ids=TOGETHER)
def test_replicas_that_train_together(code: str, findings: Findings) -> None:
    assert keep_rules(findings(f"{IMPORTS}{TRAIN}{code}\n", "torch_xla"), "XLA511") == []


@pytest.mark.parametrize("code", APART.values(), ids=APART)
def test_replicas_that_train_apart(code: str, findings: Findings) -> None:
    assert keep_rules(findings(f"{IMPORTS}{TRAIN}{code}\n", "torch_xla"), "XLA511") == [("XLA511", "error")]


def test_methods(findings: Findings) -> None:
    body = indent("for b in self.loader:\n    self.run(b)\n", " " * 8)
    code = dedent(
        """\
        class Trainer:
            def __init__(self, data):
                self.loader = DataLoader(data)
                self.optimizer = torch.optim.SGD(model.parameters(), lr=0.1)

            def run(self, batch):
                loss_of(batch).backward()
                self.optimizer.step()

            def train(self):
        """
    )
    assert keep_rules(findings(f"{START}{code}{body}", "torch_xla"), "XLA511") == [("XLA511", "warning")]
