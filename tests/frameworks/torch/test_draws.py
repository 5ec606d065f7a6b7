"""What the host draws at random, in code that torch.compile traces."""

from __future__ import annotations

import pytest

from tests.conftest import Loud

START = """
import random
import numpy as np
import torch
from torch import nn

def coin():
    return random.random() < 0.5

def fixed():
    return 0.5 < 0.7

class Block(nn.Module):
    def __init__(self, p: float):
        super().__init__()
        self.p = p
        self.rng = random.Random()
        self.order = random.sample(range(4), 4)

    def forward(self, x: torch.Tensor):
        {body}
        return x
"""

FOUND = {
    "a branch": ("if random.random() < self.p:\n            x = x + 1", ["XLA101"]),
    "by a name": ("go = random.random() < self.p\n        if go:\n            x = x + 1", ["XLA101"]),
    "of a function": ("if coin():\n            x = x + 1", ["XLA101"]),
    "negated": ("if not random.random() < self.p:\n            x = x + 1", ["XLA101"]),
    "one of two": ("if self.training and random.uniform(0, 1) < self.p:\n            x = x + 1", ["XLA101"]),
    "a number": ("if random.getrandbits(1):\n            x = x + 1", ["XLA101"]),
    "a loop": ("while random.random() < self.p:\n            x = x + 1", ["XLA102"]),
    "a ternary": ("x = x + 1 if random.random() < self.p else x", ["XLA105"]),
    "a generator of its own": ("if self.rng.randrange(4) > 2:\n            x = x + 1", ["XLA101"]),
    "NumPy's": ("x = x * np.random.rand()", ["XLA301"]),
    "NumPy's choice": ("x = x * np.random.choice([1, 2])", ["XLA301"]),
    "an array that torch does not draw": ("x = x * torch.from_numpy(np.random.beta(0.3, 0.3, size=4))", ["XLA708"]),
    "NumPy's generator": ("x = x * np.random.default_rng().random(4)", ["XLA708", "XLA708"]),
    "NumPy's in a branch": ("if np.random.uniform() < self.p:\n            x = x + 1", ["XLA301"]),
}
QUIET = {
    "a factor": "x = x * random.random()",
    "an assertion": "assert random.random() < 2.0",
    "a comparison of settings": "if self.p < 0.5:\n            x = x + 1",
    "a function that draws nothing": "if fixed():\n            x = x + 1",
    "what was drawn before": "if self.order[0] == 1:\n            x = x + 1",
    "the seed": "random.seed(3)",
    "NumPy without a draw": "x = x * np.sqrt(2.0)",
    "an array of NumPy's": "x = x + torch.from_numpy(np.random.rand(4))",
    "one of a shape": "x = x + torch.from_numpy(np.random.randn(*x.shape))",
    "one of a size": "x = x + torch.from_numpy(np.random.uniform(0, 1, size=4))",
    "one of a size by place": "x = x[torch.from_numpy(np.random.randint(0, 3, (4,)))]",
    "a shuffled array": "order = np.arange(4)\n        np.random.shuffle(order)\n        x = x[torch.from_numpy(order)]",
    "NumPy's seed": "np.random.seed(3)",
    "on the device": "x = torch.where(torch.rand(()) < self.p, x, x + 1)",
    "a name that is assigned anew": "go = random.random() < self.p\n        go = self.training\n        if go:\n            x = x + 1",
    "a local of another name": "random_choice = self.p\n        if random_choice:\n            x = x + 1",
    "no code of the model": "pass\n\nif random.random() < 0.5:\n    print(1)\n\ndef end(x):",
}


@pytest.mark.parametrize(("body", "codes"), FOUND.values(), ids=FOUND)
def test_found(body: str, codes: list[str], loud: Loud) -> None:
    assert loud(START.replace("{body}", body), "torch_compile") == codes


@pytest.mark.parametrize("body", QUIET.values(), ids=QUIET)
def test_quiet(body: str, loud: Loud) -> None:
    assert loud(START.replace("{body}", body), "torch_compile") == []


@pytest.mark.parametrize("body", [body for body, _ in FOUND.values()], ids=FOUND)
def test_other_targets_do_not_break_graphs(body: str, loud: Loud) -> None:
    assert {"XLA101", "XLA102", "XLA105", "XLA301"}.isdisjoint(loud(START.replace("{body}", body), "torch_xla"))


def test_what_other_frameworks_trace(loud: Loud) -> None:
    code = "import random\nimport jax\n\n@jax.jit\ndef f(x):\n    if random.random() < 0.5:\n        x = x + 1\n    return x\n"
    assert loud(code, "torch_compile") == ["XLA306"]
