"""XLA511: orders to run, and gradients added up."""

from __future__ import annotations

import pytest

from tests.fixes.fixing import expect_fixed, expect_left_alone, outcome

START = (
    "import torch\nimport torch_xla\nimport torch_xla.core.xla_model as xm\nfrom torch.utils.data import DataLoader\n\n"
    "device = torch_xla.device()\nmodel = torch.nn.Linear(2, 2).to(device)\n"
    "optimizer = torch.optim.SGD(model.parameters(), lr=0.1)\n"
)
LOOP = "for batch in DataLoader(data):\n    model(batch).mean().backward()\n"
LAUNCHED = (
    "import torch\nimport torch_xla\nimport torch_xla.distributed.parallel_loader as pl\n\n\n"
    "def train(index):\n    model = torch.nn.Linear(2, 2).to(torch_xla.device())\n"
    "    opt = torch.optim.SGD(model.parameters(), lr=0.1)\n{}\n\n\ntorch_xla.launch(train)\n"
)
OURS = "    for batch in pl.MpDeviceLoader(data, 'xla'):\n        model(batch).mean().backward()\n        "
PLAIN = "    for batch in torch.utils.data.DataLoader(data):\n        model(batch).mean().backward()\n        "

LEFT_ALONE = {
    "two on a line": (f"{START}{LOOP}    optimizer.step(); optimizer.zero_grad()\n", "shares its line"),
    "a condition": (f"{START}{LOOP}    if optimizer.step():\n        pass\n", "part of another statement"),
    "a barrier from elsewhere": (f"{START}{LOOP}    xm.optimizer_step(optimizer, groups=other)\n", "give `barrier=True`"),
    "a step in a helper": (
        LAUNCHED.format(f"{OURS}opt.step(**more)"), "happens elsewhere"),
}  # fmt: skip
FIXED = {
    "a step": ("optimizer.step()", "optimizer.step()\n    torch_xla.sync()"),
    "a comment": ("optimizer.step()  # now", "optimizer.step()  # now\n    torch_xla.sync()"),
    "what follows": (
        "optimizer.step()\n    optimizer.zero_grad()",
        "optimizer.step()\n    torch_xla.sync()\n    optimizer.zero_grad()",
    ),
    "every fourth": (
        "if steps % 4 == 0:\n        optimizer.step()",
        "if steps % 4 == 0:\n        optimizer.step()\n        torch_xla.sync()",
    ),
    "torch_xla's step": ("xm.optimizer_step(optimizer)", "xm.optimizer_step(optimizer, barrier=True)"),
    "a barrier that is off": (
        "xm.optimizer_step(optimizer, barrier=False)",
        "xm.optimizer_step(optimizer, barrier=True)",
    ),
}
REDUCED = {
    "between barriers": (f"{OURS}opt.step()", f"{OURS}xm.optimizer_step(opt)"),
    "without": (f"{PLAIN}opt.step()", f"{PLAIN}xm.optimizer_step(opt, barrier=True)"),
}


@pytest.mark.parametrize(("code", "why"), LEFT_ALONE.values(), ids=LEFT_ALONE)
def test_left_alone_with_a_reason(code: str, why: str) -> None:
    expect_left_alone(outcome(code, "XLA511"), why)


@pytest.mark.parametrize(("before", "after"), FIXED.values(), ids=FIXED)
def test_ordered(before: str, after: str) -> None:
    expect_fixed(outcome(f"{START}{LOOP}    {before}\n", "XLA511"), f"{START}{LOOP}    {after}\n", "unsafe")


@pytest.mark.parametrize(("before", "after"), REDUCED.values(), ids=REDUCED)
def test_reduced(before: str, after: str) -> None:
    made = outcome(LAUNCHED.format(before), "XLA511")
    expected = LAUNCHED.format(after)
    assert made.text == expected.replace(
        "import torch_xla.distributed", "import torch_xla.core.xla_model as xm\nimport torch_xla.distributed"
    )
    assert made.applicability == "unsafe"


def test_the_import_comes_with_it() -> None:
    code = START.replace("import torch_xla\n", "").replace("torch_xla.device()", "xm.xla_device()")
    made = outcome(f"{code}{LOOP}    optimizer.step()\n", "XLA511")
    assert "import torch_xla\n" in made.text
    assert made.text.endswith("optimizer.step()\n    torch_xla.sync()\n")
