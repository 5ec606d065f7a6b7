"""The top level of scripts and notebooks: what its loops do to a device at each step counts, what runs once does not."""

from __future__ import annotations

from pathlib import Path
from textwrap import indent

import pytest

from tests.conftest import Loud
from tests.published import as_published, beside_devices
from xlalint.config import Settings
from xlalint.project import check_paths, check_text

SETUP = """
import torch
import torch_xla
import torch_xla.core.xla_model as xm
from torch import nn

device = torch_xla.device()
model = nn.Linear(8, 2).to(device)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
batches = [torch.randn(4, 8) for _ in range(3)]


def scaled(x):
    return x * 2
"""

STEP = """
    x = x.to(device)
    loss = model(x).sum()
    loss.backward()
    optimizer.step()
    torch_xla.sync()
"""
DEEPER = indent(STEP, "    ")
REPORT = "def report(loss):\n    print(f'loss {loss.item():.3f}')\n\n"

LOUD = {
    "a read at each step": ("for x in batches:" + STEP + "    total = loss.item()\n", ["XLA301"]),
    "one under `if __name__`": (
        "if __name__ == '__main__':\n    for x in batches:" + DEEPER + "        total = loss.item()\n",
        ["XLA301"],
    ),
    "one in a loop within a loop": (
        "for epoch in range(2):\n    for x in batches:" + DEEPER + "        print(loss)\n",
        ["XLA303"],
    ),
    "a branch on a loss": ("for x in batches:" + STEP + "    if loss > 3:\n        break\n", ["XLA101"]),
    "what a function does that is called at each step": (
        REPORT + "for x in batches:" + STEP + "    report(loss)\n",
        ["XLA301"],
    ),
    "a loop that marks the step": (
        "while True:"
        + STEP.replace("torch_xla.sync()", "xm.mark_step()").replace("x = x", "x = batches[0]")
        + "    total = float(loss)\n",
        ["XLA301"],
    ),
    "under `with`": (
        "with torch.autograd.profiler.record_function('all'):\n    for x in batches:"
        + DEEPER
        + "        total = float(loss)\n",
        ["XLA301"],
    ),
}

SILENT = {
    "a loop that reads nothing": "for x in batches:" + STEP,
    "a read before the loop": "print(model(batches[0].to(device)).sum().item())\nfor x in batches:" + STEP,
    "a read after the loop": "for x in batches:" + STEP + "print(loss.item())\n",
    "a read after the loop, under a condition": "for x in batches:" + STEP + "if loss > 3:\n    print('diverged')\n",
    "a loop that makes no step": "for x in batches:\n    print(x.sum().item())\n",
    "the host's numbers": "seen = 0\nfor x in batches:" + STEP + "    seen += len(x)\n    print(seen)\n",
    "shapes": "for x in batches:" + STEP + "    if x.shape[0] > 3:\n        print(x.shape)\n",
    "a function that reads nothing": "for x in batches:" + STEP.replace("x.to(device)", "scaled(x.to(device))"),
    "a step in a function that nothing calls in a loop": "def step(x):" + STEP + "    return loss\n",
    "a step outside of every loop": "x = batches[0]\nloss = model(x.to(device)).sum()\nloss.backward()\n"
    "optimizer.step()\nprint(loss.item())\n",
}


PROGRAM = """
import torch
import torch_xla
from torch import nn
from tqdm import tqdm


class Program(nn.Module):
    def forward(self, x: torch.Tensor, k: int):
        {forward}


def log(k, x: torch.Tensor):
    return x[k]


def run(program: Program, batches, table: torch.Tensor):
    {loop}
        torch_xla.sync()
"""

COUNTED = {
    "an index": ("return x[k]", "for step, x in enumerate(batches):\n        program(x, step)"),
    "computed from the count": (
        "return x[:, :k]",
        "for step, x in enumerate(batches):\n        program(x, 2 + step % 7)",
    ),
    "given by keyword": ("return x ** k", "for k in tqdm(range(8)):\n        program(table, k=k)"),
    "counted by hand": (
        "return x[k]",
        "step = 0\n    for x in batches:\n        step += 1\n        program(x, step)",
    ),
    "counted in a while loop": (
        "return x.roll(k)",
        "step = 0\n    while step < 9:\n        program(table, step)\n        step += 1",
    ),
    "sizes in a list": ("return torch.split(x, k)", "for i, x in enumerate(batches):\n        program(x, [i, 4 - i])"),
}
UNCOUNTED = {
    "in arithmetic": ("return x * k + k", "for step, x in enumerate(batches):\n        program(x, step)"),
    "a constant": ("return x[k]", "for step, x in enumerate(batches):\n        program(x, 3)"),
    "a number of the batch": ("return x[:k]", "for step, x in enumerate(batches):\n        program(x, len(x))"),
    "an epoch": (
        "return x[k]",
        "for epoch in range(3):\n        for x in batches:\n            program(x, epoch)\n            torch_xla.sync()",
    ),
    "set back in each turn": (
        "return x[k]",
        "for x in batches:\n        n = 0\n        n += 1\n        program(x, n)",
    ),
    "within a step": (
        "return x[k]",
        "for x in batches:\n        for i in range(4):\n            program(x, i)",
    ),
    "that cuts the host's data": (
        "return x + k",
        "for i in range(8):\n        program(table[i * 4 : i * 4 + 4].to('xla'), 1)",
    ),
    "that host code takes": (
        "return x + k",
        "for i, x in enumerate(batches):\n        program(x, 1)\n        log(i, x)",
    ),
    "a condition": (
        "return x if k > 100 else x * 2",
        "for step, x in enumerate(batches):\n        program(x, step)",
    ),
}


LOOPING = """
def train(loader, optimizer, names):
    model = Net().to("xla")
    {loop}
"""
STEPPING = """for x in loader:
        loss = model(x.to("xla")).sum()
        loss.backward()
        optimizer.step()
        print(loss.item())
"""


@pytest.mark.parametrize(
    ("first", "loop", "codes"),
    [
        ("from nets import *", STEPPING, ["XLA301"]),
        ("from shown import *", STEPPING, ["XLA301"]),
        ("from nets import Net", STEPPING, []),
        ("from words import *", STEPPING, []),
        ("from nets import *", "for name in names:\n        print(name, model)\n", []),
    ],
)
def test_a_framework_that_comes_with_all_names_of_a_module(
    tmp_path: Path, first: str, loop: str, codes: list[str]
) -> None:
    files = {
        "nets.py": "import torch\nfrom torch import nn\n\nclass Net(nn.Linear):\n    pass\n",
        "shown.py": "from nets import *\n",
        "words.py": "import json\n\nNet = json.loads\n",
        "train.py": first + LOOPING.format(loop=loop),
    }
    for name, text in files.items():
        (tmp_path / name).write_text(text)
    report = check_paths([tmp_path], Settings(root=str(tmp_path), jobs=1, python=None, select=("XLA3",)))
    assert [one.code for one in report.findings] == codes


CUTTING = """
import torch
import torch_xla

device = torch_xla.device()


def cut(source, i, n=35):
    return source[i : i + n]


def pick(source, i):
    return source[i]


def train(model, optimizer, data, examples):
    source = torch.as_tensor(data).to(device)
    for {loop}:
        {cut}
        loss = model(x).sum()
        loss.backward()
        optimizer.step()
        torch_xla.sync()
"""
CUT = {
    "by bounds": ("i in range(0, 1000, 35)", "x = source[i : i + 35]"),
    "by what is enumerated": ("k, i in enumerate(range(0, 1000, 35))", "x = source[i : i + 35]"),
    "by a function": ("i in range(0, 1000, 35)", "x = cut(source, i)"),
    "by a function, of what is enumerated": ("k, i in enumerate(range(0, 1000, 35))", "x = cut(source, i)"),
    "by one index": ("i in range(1000)", "x = source[i]"),
}
NOT_CUT = {
    "by numbers that stay": ("i in range(0, 1000, 35)", "x = source[0:35]"),
    "by a function, by numbers that stay": ("i in range(0, 1000, 35)", "x = cut(source, 4)"),
    "out of host memory": ("i in range(0, 1000, 35)", "x = examples[i : i + 35].to(device)"),
    "out of host memory, under a name": (
        "i in range(0, 1000, 35)",
        "x = examples[i : i + 35]\n        x = x.to(device)",
    ),
    "out of host memory, by a function": (
        "i in range(0, 1000, 35)",
        "x = cut(torch.rand(1000, 4), i)\n        x = x.to(device)",
    ),
    "out of a list": ("i in range(1000)", "x = pick([source, source], i)"),
    "out of a few": ("i in range(4)", "x = source"),
    "and only counted": ("k, x in enumerate(examples)", "x = x.to(device) + k"),
}


@pytest.mark.parametrize("name", CUT)
def test_parts_of_what_is_on_the_device(loud: Loud, name: str) -> None:
    loop, cut = CUT[name]
    assert set(loud(CUTTING.format(loop=loop, cut=cut), "torch_xla")) == {"XLA403"}


@pytest.mark.parametrize("name", NOT_CUT)
def test_parts_that_cost_nothing(loud: Loud, name: str) -> None:
    loop, cut = NOT_CUT[name]
    assert loud(CUTTING.format(loop=loop, cut=cut), "torch_xla") == []


@pytest.mark.parametrize("name", COUNTED)
def test_what_the_loop_counts_is_a_constant_of_a_graph(loud: Loud, name: str) -> None:
    forward, loop = COUNTED[name]
    assert loud(PROGRAM.format(forward=forward, loop=loop), "torch_xla") == ["XLA403"]


@pytest.mark.parametrize("name", UNCOUNTED)
def test_what_the_loop_counts_costs_nothing(loud: Loud, name: str) -> None:
    forward, loop = UNCOUNTED[name]
    assert loud(PROGRAM.format(forward=forward, loop=loop), "torch_xla") == []


@pytest.mark.parametrize("name", LOUD)
def test_what_each_turn_costs_is_found(loud: Loud, name: str) -> None:
    code, rules = LOUD[name]
    assert loud(SETUP + code, "torch_xla") == rules


@pytest.mark.parametrize("name", SILENT)
def test_what_runs_once_is_left_alone(loud: Loud, name: str) -> None:
    assert loud(SETUP + SILENT[name], "torch_xla") == []


@pytest.mark.parametrize("name", LOUD)
def test_before_it_is_ported_the_same_is_found(loud: Loud, name: str) -> None:
    code, rules = LOUD[name]
    assert beside_devices(loud(as_published(SETUP + code), "torch_xla")) == rules


@pytest.mark.parametrize("name", SILENT)
def test_before_it_is_ported_the_same_is_left_alone(loud: Loud, name: str) -> None:
    assert beside_devices(loud(as_published(SETUP + SILENT[name]), "torch_xla")) == []


@pytest.mark.parametrize("name", [name for name in LOUD if "function" not in name])
def test_where_only_what_is_captured_is_compiled_loops_are_left_alone(loud: Loud, name: str) -> None:
    assert loud(as_published(SETUP + LOUD[name][0]), "torch_compile") == []


def test_the_chain_begins_at_the_script() -> None:
    text = SETUP + LOUD["what a function does that is called at each step"][0]
    (finding,) = check_text(text, "train.py", Settings(target="torch_xla")).findings
    assert [(step.name, step.why) for step in finding.trace] == [
        ("<module>", "steps an XLA device in a loop"),
        ("report", "called from <module>"),
    ]
