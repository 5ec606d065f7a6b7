"""Python numbers that change and tensors that grow from step to step, under torch: found, and the larger half left alone."""

from __future__ import annotations

from textwrap import dedent

import pytest

from tests.conftest import Loud

HEAD = """
import math
import random
import numpy as np
import torch
import torch.nn.functional as F
from torch import Tensor, nn

TABLES = []
"""
MODULE = """
class M(nn.Module):
    def __init__(self):
        super().__init__()
        self.step = 0
        self.memory = None
        self.norm = nn.BatchNorm2d(8)
        self.layers = nn.ModuleList([nn.Linear(8, 8) for _ in range(4)])

    def forward(self, x: Tensor, y: Tensor):
{body}
"""

SILENT = {
    "a counter in arithmetic": """
        self.step += 1
        return x * self.step + y / (self.step + 1) - 0.9 ** self.step
        """,
    "a drawn number of turns that fill an array": """
        n = random.randint(1, 5)
        found = np.zeros(9)
        for i in range(n):
            found[i] = np.random.choice(self.words[i : i + 4])
        return x
        """,
    "a drawn number of turns that draw numbers": """
        angles, low = [], np.random.uniform(0, 1)
        n = np.random.randint(4, 12)
        for i in range(n):
            if i % 2 == 0:
                angle = 2 * math.pi - np.random.uniform(low, 1)
            else:
                angle = min(float(i), random.random())
            angles.append(angle)
        return x
        """,
    "a counter that is set back": """
        self.step = 0
        for layer in self.layers:
            self.step += 1
            x = layer(x) + y[self.step]
        return x
        """,
    "a counter that only speaks": """
        self.step += 1
        if self.step % 100 == 0:
            print("step", self.step)
        return x
        """,
    "a counter of something else": """
        self.names = {}
        self.step += 1
        self.names["step"] = [1, 2, 3][self.step % 3]
        return x
        """,
    "a number that a schedule decides by": """
        self.step += 1
        if self.step > 1000:
            x = x * 0.5
        return x
        """,
    "a drawn number in arithmetic": "return x * random.random() + F.dropout(y, random.uniform(0.1, 0.2))",
    "a drawn number in a loss": "return F.cross_entropy(x, y, label_smoothing=random.random())",
    "numbers that are chosen at random": """
        scale, sizes = 1.0, [1, 2]
        if random.random() < 0.5:
            scale = random.uniform(0.5, 2.0)
            sizes[0] = 3
        return x * scale
        """,
    "a drawn number that only speaks": """
        if random.random() < 0.01:
            print("now and then")
        return x
        """,
    "a number of the loop": """
        for i, layer in enumerate(self.layers):
            x = layer(x) + y[i] + y[:, i : i + 1]
        return x
        """,
    "a size": "n = x.shape[1]\n        return y[:, :n] + F.pad(x, (0, n)) + torch.arange(n)",
    "host memory": "table = torch.zeros(16)\n        return x + table[random.randint(0, 3)].to(x.device)",
    "a tensor that is made anew": """
        out = x
        for layer in self.layers:
            out = torch.cat([out, layer(out)])
        return out
        """,
    "an attribute that is made anew": """
        self.memory = x
        for layer in self.layers:
            self.memory = torch.cat([self.memory, layer(x)])
        return self.memory
        """,
    "an attribute that is put beside another": """
        self.memory = torch.cat([x, y])
        return torch.cat([self.memory, x])
        """,
    "an attribute that is wrapped": "self.memory = torch.stack([self.memory])\n        return x",
    "a list that is made anew": """
        rows = []
        for layer in self.layers:
            rows.append(layer(x))
        return torch.stack(rows)
        """,
    "a list that is emptied": """
        self.memory.append(x)
        out = torch.cat(self.memory)
        self.memory.clear()
        return out
        """,
    "a list of the module's that is only joined": "return x + torch.stack(TABLES)",
    "a drawn slope, bound, weight": """
        k = random.random()
        return F.leaky_relu(x, k).clamp(min=-k).lerp(y, k) + F.normalize(x, eps=k) + torch.full_like(x, k)
        """,
    "turns that are always as many": "for _ in range(len(self.layers)):\n            x = x * 2\n        return x",
    "a normalisation with a momentum": "return self.norm(x) + nn.BatchNorm1d(8, momentum=0.01)(y)",
}
FOUND = {
    "a counter as an index": ("x = x + y[self.step]\n        self.step += 1\n        return x", ["XLA403"]),
    "a counter as a bound": ("self.step += 1\n        return x[:, : self.step + 4]", ["XLA403"]),
    "a counter as an exponent": ("self.step += 1\n        return x ** self.step", ["XLA403"]),
    "a counter as a size": ("self.step += 1\n        return x + torch.arange(self.step, device=x.device)", ["XLA403"]),
    "a counter as a diagonal": ("self.step -= 1\n        return torch.tril(x, diagonal=self.step)", ["XLA403"]),
    "a drawn norm": ("return x.norm(p=1 + random.random()) + torch.dist(x, y, random.random())", ["XLA403"] * 2),
    "a drawn epsilon": ("return F.layer_norm(x, (8,), eps=random.random())", ["XLA403"]),
    "a drawn value to pad with": ("return F.pad(x, (1, 1), value=random.random())", ["XLA403"]),
    "a drawn base of a power": ("return random.random() ** x", ["XLA403"]),
    "a counted number of turns": (
        """
        self.step += 1
        for _ in range(self.step):
            x = x * 2
        return x
        """,
        ["XLA403"],
    ),
    "a drawn number of turns that read a list of tensors": (
        """
        parts = [x]
        n = random.randint(1, 5)
        for _ in range(n):
            parts = [*parts, parts[-1] * 2]
        return sum(parts)
        """,
        ["XLA403"],
    ),
    "a drawn number of turns that fill a tensor": (
        """
        n = random.randint(1, 5)
        found = torch.zeros_like(x)
        for i in range(n):
            found[i] = x[i] * 2
        return found
        """,
        ["XLA403"],
    ),
    "a drawn number of turns that fill an array beside a tensor": (
        """
        n = random.randint(1, 5)
        found = np.zeros(9)
        for i in range(n):
            found[i] = 2
            x = x * 2
        return x
        """,
        ["XLA403"],
    ),
    "a drawn number of turns that call something unknown": (
        """
        from elsewhere import refine
        n = random.randint(1, 5)
        for _ in range(n):
            done = refine()
        return x
        """,
        ["XLA403"],
    ),
    "a drawn index": ("return x[random.randint(0, 3)] + x[:, random.randrange(4)]", ["XLA403"] * 2),
    "a drawn window": ("i = random.randint(0, 3)\n        return x[:, i : i + 4]", ["XLA403"]),
    "a drawn shift": (
        "return x.roll(int(random.uniform(0, 4)), 1) + torch.roll(y, random.randint(0, 3))",
        ["XLA403"] * 2,
    ),
    "a drawn assignment": ("x[random.randint(0, 3)] = 0\n        return x", ["XLA403"]),
    "layers left out at random": (
        """
        for layer in self.layers:
            if self.training and random.random() < 0.1:
                continue
            x = layer(x)
        return x
        """,
        ["XLA403"],
    ),
    "elements set at random": ("if random.random() > 0.5:\n            x[0] = 0\n        return x", ["XLA403"]),
    "a way chosen at random": ("if random.random() > 0.5:\n            x = x.flip(1)\n        return x", ["XLA403"]),
    "an index that NumPy draws": ("return x[np.random.randint(0, 4)]", ["XLA403"]),
    "an index that NumPy chooses": ("return x[:, np.random.choice(4)]", ["XLA403"]),
    "a memory": (
        """
        if self.memory is None:
            self.memory = x
        else:
            self.memory = torch.cat([self.memory, x], dim=1)
        return self.memory
        """,
        ["XLA406"],
    ),
    "a cache for each layer": (
        """
        self.memory[0] = torch.cat([self.memory[0], x], dim=-2)
        return self.memory[0] @ y
        """,
        ["XLA406"],
    ),
    "a list that grows": ("self.memory.append(x)\n        return torch.stack(self.memory)", ["XLA406"]),
    "a list of the module's that grows": ("TABLES.append(x)\n        return torch.stack(TABLES)", ["XLA406"]),
    "a memory that begins with the first": (
        "global kept\n        kept = x if kept is None else torch.cat([kept, x], 1)\n        return kept",
        ["XLA406"],
    ),
    "a memory of the module's": ("global kept\n        kept = torch.cat((kept, x))\n        return kept", ["XLA406"]),
    "a normalisation over all batches": (
        "return nn.BatchNorm1d(8, momentum=None)(x) + nn.BatchNorm2d(8, 1e-5, None)(y)",
        ["XLA408"] * 2,
    ),
}


def module(body: str) -> str:
    """A module with such a `forward`."""
    lines = dedent(" " * 8 + body.strip("\n") if not body.startswith("\n") else body).strip("\n")
    return HEAD + MODULE.format(body="\n".join(f"        {line}" for line in lines.split("\n")))


ELSEWHERE = {
    "a record of one step's results, which is given them": """
        class Assigned:
            def __init__(self, labels, size=0):
                self.labels = labels
            def add(self, more: Tensor):
                self.labels = torch.cat([more, self.labels])
        """,
    "a number that NumPy draws for the host": """
        class Draws(nn.Module):
            def forward(self, x: Tensor):
                return x * np.random.randint(1, 3)
        """,
    "a layer of Keras', whose choice is made once": """
        import tensorflow as tf
        class Encoder(tf.keras.layers.Layer):
            def call(self, x, training=False):
                for layer in self.layers:
                    if training and random.random() < 0.1:
                        continue
                    x = layer(x)
                return x
        """,
    "an iterator, which counts within a step": """
        class Levels(nn.Module):
            def __iter__(self):
                self.at = 0
                return self
            def forward(self, x: Tensor):
                self.at += 1
                return x[self.at]
        """,
    "an augmentation, which the host does": """
        def erase(x: Tensor):
            if random.random() > 0.5:
                x = x.flip(1)
            return x[:, random.randint(0, 3) :]
        """,
}


@pytest.mark.parametrize("case", ELSEWHERE)
def test_silent_elsewhere(loud: Loud, case: str) -> None:
    code = dedent(ELSEWHERE[case])
    head = "import random\n" if "tensorflow" in code else HEAD
    assert [code for code in loud(head + code, "torch_xla") if code[:4] == "XLA4"] == []


@pytest.mark.parametrize("case", SILENT)
def test_silent(loud: Loud, case: str) -> None:
    assert [code for code in loud(module(SILENT[case]), "torch_xla") if code[:4] == "XLA4"] == []


@pytest.mark.parametrize("case", FOUND)
def test_found(loud: Loud, case: str) -> None:
    body, expected = FOUND[case]
    assert [code for code in loud(module(body), "torch_xla") if code[:4] == "XLA4"] == expected


@pytest.mark.parametrize("case", FOUND)
def test_torch_compile_takes_symbols(loud: Loud, case: str) -> None:
    """Numbers of modules that it guards on are XLA410's."""
    found = loud(module(FOUND[case][0]), "torch_compile")
    assert [code for code in found if code[:4] == "XLA4" and code != "XLA410"] == []


@pytest.mark.parametrize(
    ("optimizer", "expected"), [("SGD", []), ("AdamW", []), ("Rprop", ["XLA408"]), ("LBFGS", ["XLA408"])]
)
def test_optimizers(loud: Loud, optimizer: str, expected: list[str]) -> None:
    code = f"""
    class M(nn.Module):
        def __init__(self):
            super().__init__()
            self.net = nn.Linear(8, 8)
            self.optimizer = torch.optim.{optimizer}(self.net.parameters(), lr=0.1)
        def training_step(self, x: Tensor):
            self.net(x).sum().backward()
            self.optimizer.step()
        def forward(self, x: Tensor):
            self.training_step(x)
    """
    assert loud(HEAD + dedent(code), "torch_xla") == expected


SCRIPT = """
import torch
from torch import nn

cell = nn.GRUCell(8, 8).to("tpu")
x = torch.randn(20, 4, 8).to("tpu")
h = torch.zeros(4, 8, device="tpu")
host = torch.randn(20, 4, 8)
"""
TURNS_SILENT = {
    "a few turns": "for t in range(3):\n    h = cell(x[t], h)",
    "in host memory": "for t in range(20):\n    h = cell(host[t].to('tpu'), h)",
    "a list": "parts = [x, h]\nfor t in range(20):\n    h = cell(parts[t], h)",
    "the parts themselves": "for part in x.unbind():\n    h = cell(part, h)",
    "a tensor": "for t in range(20):\n    h = cell(x.index_select(0, torch.tensor([t], device='tpu'))[0], h)",
    "a number that stays": "k = 5\nfor t in range(20):\n    h = cell(x[k], h)",
    "a number in arithmetic": "for t in range(20):\n    h = h * t + x.mean(0) / (t + 1)",
    "a power": "for t in range(20):\n    h = h * 0.9 ** t + x.mean(0) ** t",
}
TURNS_FOUND = {
    "an index": "for t in range(20):\n    h = cell(x[t], h)",
    "a slice": "for t in range(0, 20, 2):\n    h = x[t : t + 2].mean(0)",
    "an enumeration": "for t, name in enumerate(names):\n    h = cell(x[t], h)",
    "a store": "for t in range(20):\n    x[t] = 1.0",
    "a method": "for t in range(20):\n    h = x.narrow(0, t, 1)[0]",
    "a growing number": "t = 0\nwhile t < 20:\n    h = cell(x[t], h)\n    t += 1",
}

COMPILED = "@torch.compile\ndef f(x, k):\n    return x * k\nstep = torch.compile(cell)\nplain = lambda x, k: x * k\n"
ARGUMENTS_SILENT = {
    "a tensor": "for t in range(20):\n    f(x, torch.tensor(t, device='tpu'))",
    "a number that stays": "for t in range(20):\n    f(x, 3)",
    "a few turns": "for t in range(3):\n    f(x, t)",
    "not compiled": "for t in range(20):\n    plain(x, t)",
    "a pattern": "import re\nmatch = re.compile('a').match\nfor t in range(20):\n    match('a', t)",
}
ARGUMENTS_FOUND = {
    "a counter": "for t in range(20):\n    f(x, t)",
    "made of a counter": "for t in range(20):\n    f(x, t / 20)",
    "by keyword": "for t in range(20):\n    f(x, k=0.9 ** t)",
    "what a call gave": "for t in range(20):\n    step(h, t)",
}


@pytest.mark.parametrize("code", ARGUMENTS_SILENT.values(), ids=ARGUMENTS_SILENT)
def test_what_a_compiled_function_takes(code: str, loud: Loud) -> None:
    assert loud(f"{SCRIPT}{COMPILED}{code}\n", "torch_tpu") == []


@pytest.mark.parametrize("code", ARGUMENTS_FOUND.values(), ids=ARGUMENTS_FOUND)
def test_what_torchtpu_compiles_for_each_number(code: str, loud: Loud) -> None:
    assert loud(f"{SCRIPT}{COMPILED}{code}\n", "torch_tpu") == ["XLA403"]


@pytest.mark.parametrize("code", TURNS_SILENT.values(), ids=TURNS_SILENT)
def test_what_torchtpu_compiles_once(code: str, loud: Loud) -> None:
    assert loud(f"{SCRIPT}{code}\n", "torch_tpu") == []


@pytest.mark.parametrize("code", TURNS_FOUND.values(), ids=TURNS_FOUND)
def test_what_torchtpu_compiles_at_each_turn(code: str, loud: Loud) -> None:
    assert set(loud(f"{SCRIPT}{code}\n", "torch_tpu")) == {"XLA403"}
    assert loud(f"{SCRIPT}{code}\n".replace("tpu", "xla"), "torch_xla") == []


MASKED = (
    "import torch\nx = torch.zeros(12, device='tpu')\nm = torch.arange(12, device='tpu') > 3\nfor _ in range(9):\n    "
)
FREE = {"a number": "x[m] = 0", "a tensor of none": "x[m] = x.mean()", "what is not known": "x[m] = values"}
PACKED = {"as many as are true": "x[m] = torch.ones(8, device='tpu')", "selected": "x[m] = x[m]", "added": "x[m] += 1"}


@pytest.mark.parametrize("code", FREE.values(), ids=FREE)
def test_what_torchtpu_assigns_through_a_mask(code: str, loud: Loud) -> None:
    assert "XLA205" not in loud(f"{MASKED}{code}\n", "torch_tpu")


@pytest.mark.parametrize("code", PACKED.values(), ids=PACKED)
def test_what_torchtpu_counts_for_a_mask(code: str, loud: Loud) -> None:
    assert "XLA205" in loud(f"{MASKED}{code}\n", "torch_tpu")
