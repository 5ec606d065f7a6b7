"""Numbers and lengths that are others at each call of compiled code, and those that are not."""

from __future__ import annotations

from pathlib import Path
from typing import cast

import pytest

from xlalint.config.settings import Settings, Target
from xlalint.project import check_paths, check_text

MODULE = """
import math
import torch
from torch import nn

CALLS = 0

def counted(n, x):
    return n + 1, x * n

class Block(nn.Module):
    def __init__(self):
        super().__init__()
        self.n = 0
        self.kept = 0
        self.total = 0
        self.size = 4
        self.weight = 1.0
        self.rows = []
        self.sums = {"a": 0}
        self.register_buffer("step", torch.zeros(1, dtype=torch.int64))
        self.register_buffer("queue", torch.zeros(64, 8))

    def forward(self, x: torch.Tensor):
        %s
        return x

    def load(self, state):
        self.kept = state["kept"]
        self.total = state["total"]
%s
"""

OPTIMIZER = """
import math
import torch

class Descent(torch.optim.Optimizer):
    @torch.no_grad()
    def step(self, closure=None):
        for group in self.param_groups:
            for p in group["params"]:
                if p.grad is None:
                    continue
                state = self.state[p]
                if len(state) == 0:
                    state["step"] = %s
                    state["mean"] = torch.zeros_like(p)
                %s
                state["mean"].mul_(0.9).add_(p.grad, alpha=0.1)
                p.add_(state["mean"], alpha=-group["lr"])
"""

QUIET = {
    "a number that stays": "x = x * self.n",
    "a number that is assigned and not read": "self.n = x.shape[0]",
    "a size that is kept": "self.n = max(self.n, x.shape[0])",
    "a buffer that counts": "self.step += 1",
    "a buffer that moves": "self.step = self.step + 1",
    "a tensor on average": "self.queue = self.queue * 0.9 + x.mean(0) * 0.1",
    "what was saved, and may be a tensor": "self.total = self.total + helper(x)",
    "what was saved, by what is not known": "self.total += self.rate",
    "what was saved, and stays": "x = x * self.kept",
    "a counter of the first steps": "if self.n < self.size:\n            self.n += 1",
    "a counter of three steps": "if self.n < 3:\n            self.n += 1\n        x = x * self.n",
    "a tensor that adds up where a number was": (
        "if x.shape[0] > 2:\n            self.weight += 0.5 * x\n"
        "        else:\n            x = x + self.weight\n            self.weight = 0"
    ),
    "a counter of each call": "self.n = 0\n        for row in x:\n            self.n += 1\n        x = x * self.n",
    "a local name": "n = 0\n        for row in x:\n            n += 1",
    "a switch": "self.ready = True",
    "a switch that turns": "self.ready = not self.training",
    "a constant": "self.n = 3\n        x = x * self.n",
    "a number of the host's": "self.n = int(self.size)",
    "a list of each call": "self.rows = []\n        self.rows.append(x)",
    "a local list": "rows = []\n        rows.append(x)",
    "a list that is emptied": "self.rows.append(x)\n        self.rows.clear()",
    "a dictionary of each call": 'sums = {"a": 0}\n        sums["a"] += 1',
    "an element that is a tensor": 'self.sums["b"] = x\n        self.sums["b"] += 1',
    "a module's constant": "x = x * CALLS",
}

QUIET_AROUND = {
    "an iteration that begins anew": (
        "self.n += 1",
        "    def __iter__(self):\n        self.n = 0\n        return self",
    ),
    "set back within a call": ("self.begin()\n        self.n += 1", "    def begin(self):\n        self.n = 0"),
    "a list that is emptied elsewhere": ("self.rows.append(x)", "    def flush(self):\n        self.rows.clear()"),
    "a list that is replaced elsewhere": ("self.rows.append(x)", "def flush(block):\n    block.rows = []"),
    "a list that is cut elsewhere": ("self.rows.append(x)", "def flush(block):\n    del block.rows[:]"),
    "a method that nothing compiles": ("pass", "def count(block):\n    block.n += 1"),
    "a loop that trains": (
        "pass",
        "def train(block, data):\n    for x in data:\n        block(x).sum().backward()\n        block.n += 1",
    ),
}

FOUND = {
    "a counter": ("self.n += 1", "self.n", "each"),
    "a counter that is read first": ("if self.n == 0:\n            x = x * 2\n        self.n += 1", "self.n", "each"),
    "a counter by an assignment": ("self.n = self.n + 1", "self.n", "each"),
    "a place in a queue": ("self.queue[self.n : self.n + 4] = x\n        self.n = (self.n + 4) % 64", "self.n", "each"),
    "a counter by a function": ("self.n, x = counted(self.n, x)", "self.n", "each"),
    "a counter that wraps": (
        "if self.n > 60:\n            self.n = 0\n        self.n = self.n + self.size",
        "self.n",
        "each",
    ),
    "a counter of many steps": ("if self.n < 1000:\n            self.n += 1", "self.n", "each"),
    "a counter beside a bound of something else": ("if x.shape[0] < 3:\n            self.n += 1", "self.n", "each"),
    "a counter in a branch": ("if self.training:\n            self.n += 1", "self.n", "each"),
    "a float": ("self.weight = self.weight * 0.9\n        x = x * self.weight", "self.weight", "once"),
    "a float in place": ("self.weight *= 0.9\n        x = x * self.weight", "self.weight", "once"),
    "an element of a dictionary": ('self.sums["a"] += 1\n        x = x * self.sums["a"]', "self.sums['a']", "each"),
    "a number of the module": ("global CALLS\n        CALLS += 1\n        x = x * CALLS", "CALLS", "each"),
    "a counter that begins at what was saved": ("self.kept += 1\n        x = x * self.kept", "self.kept", "each"),
    "a list that grows": ("self.rows.append(x)", "self.rows", "length"),
    "a list that is extended": ("self.rows.extend([1, 2])", "self.rows", "length"),
}

WORDS = {"each": "for each number, and after", "once": "once more", "length": "guards on its length"}


def found_in(text: str, target: str = "torch_compile") -> list[tuple[str, int]]:
    report = check_text(text, "block.py", Settings(target=cast("Target", target)))
    assert not report.failures
    return [(one.message, one.location.row) for one in report.findings if one.code == "XLA410"]


@pytest.mark.parametrize("body", QUIET.values(), ids=QUIET)
def test_quiet(body: str) -> None:
    assert not found_in(MODULE % (body, ""))


@pytest.mark.parametrize(("body", "around"), QUIET_AROUND.values(), ids=QUIET_AROUND)
def test_quiet_for_what_is_around(body: str, around: str) -> None:
    assert not found_in(MODULE % (body, around))


@pytest.mark.parametrize(("body", "subject", "words"), FOUND.values(), ids=FOUND)
def test_found(body: str, subject: str, words: str) -> None:
    [(message, _)] = found_in(MODULE % (body, ""))
    assert message.startswith(f"`{subject}`")
    assert WORDS[words] in message


@pytest.mark.parametrize(
    "first", ["torch.zeros(())", "torch.tensor(0.0)", "torch.zeros(()) if group['capturable'] else 0"]
)
def test_a_step_that_may_be_a_tensor(first: str) -> None:
    assert not found_in(OPTIMIZER % (first, 'state["step"] += 1'))


@pytest.mark.parametrize(
    ("first", "count", "row"),
    [
        ("0", 'state["step"] += 1', 16),
        ("0", 'state["step"] = state["step"] + 1', 16),
        ("0", 'state["step"] += 1\n                bias = 1 - 0.9 ** state["step"]', 17),
        ("0", 'state["step"] += 1\n                step = state["step"]\n                bias = math.sqrt(step)', 18),
        ("torch.zeros(()) if torch.is_tensor(group['lr']) else 0.0", 'state["step"] = state["step"] * 0.9 + 0.1', 16),
        ("0", 'step = state["step"]\n                state["step"] = step + 1', 17),
        ("0", 'n = state["step"] + 1\n                p.mul_(0.9 ** n)\n                state["step"] = n', 16),
        (
            "0",
            'step, mean = state["step"], state["mean"]\n                if step > 3:\n                    p.add_(mean)\n'
            '                step += 1\n                state["step"] = step',
            17,
        ),
        (
            "0.0",
            'state["step"] = state["step"] * 0.9 + rate\n                if isinstance(rate, torch.Tensor):\n'
            '                    p.mul_(torch.where(rate != 0.0, state["step"] / rate, 1.0))\n'
            '                else:\n                    p.mul_(state["step"] / rate)',
            20,
        ),
    ],
)
def test_a_step_of_an_optimizer(first: str, count: str, row: int) -> None:
    [(message, at)] = found_in(OPTIMIZER % (first, count))
    assert message.startswith("`state['step']`")
    assert at == row


@pytest.mark.parametrize(
    "count",
    [
        'step = state["step"]\n                state["step"] = step',
        'step = state["mean"]\n                step += 1\n                state["step"] = step',
        'step = state["step"]\n                step = 3\n                state["step"] = step',
        'steps = state["step"] + 1\n                p.mul_(0.9 ** steps)',
        'step, mean = state["mean"], state["step"]\n                step += 1\n                state["step"] = mean',
        'state["step"] += 1\n                state["step"] = torch.zeros(())',
        'total = state["step"]\n                total += p.grad.sum()\n                state["step"] = total',
        'total = state["step"]\n                total = total * 0.9 + p.grad.norm()\n                state["step"] = total',
    ],
    ids=[
        "kept as it is",
        "a tensor",
        "a constant",
        "used and not kept",
        "names of each other's",
        "a tensor again",
        "adds tensors up",
        "mixes tensors in",
    ],
)
def test_a_step_that_is_not_counted(count: str) -> None:
    assert not found_in(OPTIMIZER % ("0", count))


RESTORING = """
    def __setstate__(self, state):
        super().__setstate__(state)
        for kept in self.state.values():
            kept["step"] = torch.tensor(kept["step"])
"""
BY_KIND = """state["step"] = state["step"] * 0.9 + 0.1
                if torch.is_tensor(state["step"]):
                    step = state["step"]
                    p.mul_(torch.where(step != 0.0, step, 1.0))
                else:
                    p.mul_(1.0 / state["step"])"""


def test_a_number_that_is_used_where_it_is_no_tensor() -> None:
    first = "torch.zeros(()) if torch.is_tensor(group['lr']) else 0.0"
    [(_, at)] = found_in(OPTIMIZER % (first, BY_KIND) + RESTORING)
    assert at == 21


def test_a_tensor_that_is_restored() -> None:
    assert not found_in(OPTIMIZER % ("torch.zeros(())", BY_KIND) + RESTORING)


def test_a_number_that_others_begin() -> None:
    begun = RESTORING.replace("torch.tensor(kept", "int(kept")
    text = OPTIMIZER.replace('                    state["step"] = %s\n', "") % 'state["step"] += 1'
    assert not found_in(text + begun)
    assert found_in(text + RESTORING.replace('torch.tensor(kept["step"])', "0"))


BASE = """
from torch import nn

class Recorder(nn.Module):
    def clear(self):
        self.rows = []
"""
DERIVED = """
import torch
from recorder import Recorder

class Block(Recorder):
    def __init__(self):
        super().__init__()
        self.rows = []
        self.kept = []

    def forward(self, x: torch.Tensor):
        self.%s.append(x)
        return x
"""


@pytest.mark.parametrize(("name", "found"), [("rows", 0), ("kept", 1)])
def test_a_list_that_a_class_of_another_module_empties(tmp_path: Path, name: str, found: int) -> None:
    (tmp_path / "recorder.py").write_text(BASE)
    (tmp_path / "block.py").write_text(DERIVED % name)
    report = check_paths([tmp_path], Settings(target="torch_compile"))
    assert sum(one.code == "XLA410" for one in report.findings) == found


def test_set_back_by_what_does_not_count() -> None:
    around = "    def begin(self):\n        self.n = 0\n\n    def load(self):\n        self.begin()"
    assert found_in(MODULE % ("self.n += 1", around))


def test_set_back_the_first_time() -> None:
    around = "    def begin(self):\n        if self.ready:\n            return\n        self.n = 0"
    assert found_in(MODULE % ("self.begin()\n        self.n += 1", around))


def test_symbols_for_integers_of_modules() -> None:
    text = "import torch._dynamo\ntorch._dynamo.config.allow_unspec_int_on_nn_module = True\n" + MODULE % (
        "self.n += 1",
        "",
    )
    [(message, _)] = found_in(text)
    assert "once more" in message


def test_an_object_of_another_class() -> None:
    text = """
import torch

class Meter:
    def __init__(self):
        self.n = 0

    @torch.compile
    def update(self, x: torch.Tensor):
        self.n += 1
        return x * self.n
"""
    [(message, _)] = found_in(text)
    assert "once more" in message


def test_other_targets() -> None:
    for target in ("torch_xla", "torch_tpu"):
        assert not found_in(MODULE % ("self.n += 1", ""), target)
