"""What torch's tensors are known by beyond signatures: own uses, classes derived from them, containers, buffers, host memory.

Each form was run on torch_xla 2.9.0: what is found copies to the host there, what is quiet does not.
"""

from __future__ import annotations

from textwrap import dedent

import pytest

from tests.conftest import Loud

HEAD = """
import math
from typing import cast
import numpy as np
import torch
from torch import Tensor, nn

class Gram(Tensor):
    pass
"""

QUIET = {
    "a number beside a tensor, both given anew by their places": """
        def total(x: Tensor, n: int):
            kept = {}
            kept["a"] = [torch.relu(x), n]
            kept["a"][0] += x
            kept["a"][1] += n
            return max(1, kept["a"][1]) * kept["a"][0]
        """,
    "what is given more than a tensor's method takes": """
        def check(x: Tensor, lib, counts):
            y = torch.relu(x)
            if lib.isnan(counts) or not lib.isfinite(counts):
                return y
            return y if lib.sqrt(counts) > 3 else x
        """,
    "a method of a base that the class above it hides": """
        class Base:
            def __init__(self, mask: Tensor):
                self.mask = mask
        class Below(Base):
            def mask(self):
                return 3
            def cut(self, x: Tensor):
                return x[self.mask()]
        """,
    "a method that another object's constructor hides": """
        class Base:
            def part(self):
                return 3
        class Other(Base):
            def __init__(self, part: Tensor):
                self.part = part > 0
        class Below(Base):
            def cut(self, x: Tensor):
                return x[self.part()]
        """,
    "what copies nothing of tensors": """
        class Tree:
            def copy(self, node):
                return node.copy() if node.size > 3 else node
        """,
    "what an object keeps on the host": """
        class Buffer:
            def __init__(self, n):
                self.errors = torch.zeros(n)
            def worst(self, limit):
                return 1 if self.errors[0] > limit else 0
        """,
    "numbers and arrays that an object keeps": """
        class Buffer:
            def __init__(self, n: int):
                self.errors, self.n = np.zeros(n), n
            def worst(self, limit):
                return 1 if self.errors[0] > limit and self.n else 0
        """,
    "a method that uses none of the tensors that its object keeps": """
        class Buffer:
            def __init__(self, n, device):
                self.errors = torch.zeros(n, device=device)
            def worst(self, limit, step):
                return 1 if torch.zeros((), device=step.place) > limit else 0
        """,
    "what a dataset keeps": """
        class Rows(torch.utils.data.Dataset):
            def __init__(self, n, device):
                self.rows = torch.zeros(n, device=device)
            def take(self, limit):
                return 1 if self.rows[0] > limit else 0
        """,
    "what keeps tensors and writes files": """
        class Log:
            def __init__(self, n, device):
                self.rows = torch.zeros(n, device=device)
            def save(self):
                open("log").write(str(self.rows))
            def worst(self, limit):
                return 1 if self.rows[0] > limit else 0
        """,
    "what calls nothing of a tensor's": """
        class Schedule:
            def value(self, step):
                rate = self.base ** step
                return rate if rate > 0.1 else 0.1
        """,
    "functions that Python and NumPy have too": """
        class Curve:
            def at(self, t):
                y = math.sqrt(math.exp(t))
                return y if np.isnan(y).any() else abs(y)
        """,
    "a class whose methods write files": """
        class Log:
            def save(self):
                open("log").write(str(self.values.detach()))
        """,
    "a test": """
        def test_head():
            y = nn.Linear(4, 4)(torch.zeros(4).to("xla"))
            assert torch.as_tensor(y).sum() > 0
        """,
    "what a method gives that says what it returns": """
        class Base:
            def energy(self) -> float:
                raise NotImplementedError
            def run(self, x: Tensor):
                return x if self.energy() > 0 else -x
        class Below(Base):
            def energy(self):
                return torch.ones(()).to("xla")
        """,
    "rows of the device": """
        def f(x: Tensor):
            rows = torch.zeros(4, device=x.device)
            rows[0] = x[1]
            return rows
        """,
    "rows into what callers pass": """
        def fill(image: Tensor, v: Tensor):
            image[0] = v
            return image
        def f(x: Tensor):
            return fill(torch.zeros(4), x[1])
        """,
    "host rows into host memory": """
        def f(x: Tensor):
            rows = torch.zeros(4)
            rows[0] = torch.ones(())
            return x + 1
        """,
    "arrays of objects": """
        def f(x: Tensor, n: int):
            parts = np.empty(n, dtype=object)
            for i in range(n):
                parts[i] = x[i] * 2
            return torch.stack(list(parts))
        """,
    "pairs ordered by numbers": """
        def f(x: Tensor):
            pairs = [(i, x[i]) for i in range(4)]
            pairs.sort()
            return x + 1
        """,
    "random numbers of tensors": """
        def f(x: Tensor):
            return torch.normal(x, x.abs())
        """,
    "random numbers of numbers": """
        def f(x: Tensor, std: float):
            return x + torch.normal(0.0, std, size=x.shape)
        """,
    "the device that a program sets": """
        class M(nn.Module):
            def forward(self, x: Tensor):
                device = torch.device("cpu")
                return x.to(device)
        """,
    "a function that is returned and computes with numbers": """
        def make(width):
            def at(distance):
                return math.exp(-distance / width) if distance > 0 else 1.0
            return at
        """,
    "numbers that are compared": """
        def f(x: Tensor, rows):
            return x if all(row > 0 for row in rows) else -x
        """,
    "arrays that are compared": """
        class Host:
            def score(self, fn):
                return np.zeros(3) if (fn.skew == 0).all() else torch.zeros(3).detach()
        """,
    "what a cast makes a number": """
        def f(x: Tensor, given):
            return x if cast(int, given) > 3 else -x
        """,
    "a method of a class derived from Tensor": """
        def f(gram: Gram):
            return gram.shape[0] if gram.shape[0] > 2 else gram.dim()
        """,
    "host memory that is no buffer": """
        class M(nn.Module):
            def __init__(self):
                super().__init__()
                self.count = torch.zeros(())
            def forward(self, x: Tensor):
                return x if int(self.count) > 2 else -x
        """,
}

LOUD = {
    "a tensor beside a number, given anew by its place": (
        """
        def total(x: Tensor, n: int):
            kept = {}
            kept["a"] = [torch.relu(x).sum(), n]
            kept["a"][0] += x.sum()
            return max(1, kept["a"][0])
        """,
        ["XLA106"],
    ),
    "a tensor put in a number's place": (
        """
        def total(x: Tensor, n: int):
            kept = [n, n]
            kept[-1] = torch.relu(x).sum()
            return max(1, kept[1])
        """,
        ["XLA106"],
    ),
    "what is given as little as a tensor's method takes": (
        """
        def check(x: Tensor, other):
            y = torch.relu(x)
            if other.isnan().any():
                return y
            return y * 2
        """,
        ["XLA101"],
    ),
    "as many positions as are asked for": (
        """
        def at(edges: Tensor, x: Tensor, n: float):
            first = torch.searchsorted(torch.sort(edges.flatten()).values, torch.tensor([n], device=edges.device))
            return edges[first], edges[torch.bucketize(x.flatten(), edges)], edges[torch.bucketize(x, edges)]
        """,
        ["XLA602", "XLA602", "XLA602"],
    ),
    "the position of one number": (
        """
        def at(edges: Tensor, x: Tensor, n: float):
            first = torch.searchsorted(torch.sort(edges.flatten()).values, torch.tensor([n], device=edges.device))
            return edges[first[0]] + edges[torch.bucketize(x.sum(), edges)]
        """,
        ["XLA602", "XLA208", "XLA208", "XLA602"],
    ),
    "an attribute in the place of an inherited method": (
        """
        class Base:
            def mask(self, other):
                return other
        class Mixture(Base):
            def __init__(self, mask: Tensor):
                self.mask = mask > 0
            def cut(self, x: Tensor):
                return x[self.mask]
        """,
        ["XLA201"],
    ),
    "copies of tensors": (
        """
        class Kernel:
            def step(self, state):
                state = {name: part.clone() for name, part in state.items()}
                energy = torch.stack(list(state.values())).sum()
                return 1 if energy > self.limit else -1
        """,
        ["XLA105"],
    ),
    "tensors that an object keeps": (
        """
        class Solver:
            def __init__(self, n, device):
                self.errors = torch.zeros(n, device=device)
            def worst(self, limit):
                return 1 if self.errors[0] > limit else 0
        """,
        ["XLA105"],
    ),
    "tensors that a method of it keeps": (
        """
        class Solver:
            def setup(self, y0: Tensor):
                self.y0 = y0.reshape(-1)
            def small(self, limit):
                while self.y0[0] > limit:
                    limit = limit * 2
                return limit
        """,
        ["XLA102"],
    ),
    "a sampler that moves tensors of its own": (
        """
        class Sampler:
            def sample(self, params):
                energy = self.potential(params)
                accepted = (-energy).exp().clamp(max=1.0)
                return accepted.item()
        """,
        ["XLA301"],
    ),
    "what a runner calls in subclasses": (
        """
        class Agent:
            def train(self) -> None:
                raise NotImplementedError
            def learn(self, n: int):
                while self.steps < n:
                    self.train()
        class Actor(Agent):
            def train(self):
                for batch in self.batches:
                    loss = self.model(batch).mean()
                    loss.backward()
                    self.optimizer.step()
                self.record(loss.item())
        """,
        ["XLA301"],
    ),
    "device rows into host memory": (
        """
        def f(x: Tensor):
            rows = torch.zeros(4)
            rows[0] = x[1]
            return rows
        """,
        ["XLA302"],
    ),
    "pairs ordered by tensors": (
        """
        def f(x: Tensor):
            pairs = [(x[i], i) for i in range(4)]
            pairs.sort()
            return x + 1
        """,
        ["XLA106"],
    ),
    "random numbers of a tensor where a number is wanted": (
        """
        def f(x: Tensor, std: Tensor):
            return x + torch.normal(0.0, std, size=x.shape)
        """,
        ["XLA301"],
    ),
    "a function that is returned": (
        """
        def kernel(width):
            similarity = nn.CosineSimilarity(dim=0)
            def at(a: Tensor, b: Tensor):
                distance = 1 - similarity(a.detach(), b)
                return math.exp(-distance / width)
            return at
        """,
        ["XLA301"],
    ),
    "a factor of what is not known": (
        """
        class M(nn.Module):
            def forward(self, x):
                return torch.linalg.cholesky(self.kernel(x))
        """,
        ["XLA305"],
    ),
    "the host, by name": (
        """
        class M(nn.Module):
            def forward(self, x: Tensor):
                cpu = torch.device("cpu")
                return x.to(cpu)
        """,
        ["XLA302"],
    ),
    "a class derived from Tensor": (
        """
        class M(nn.Module):
            def forward(self, gram: Gram):
                return gram if gram.sum() > 0 else -gram
        """,
        ["XLA105"],
    ),
    "what is cast to a tensor": (
        """
        class M(nn.Module):
            def forward(self, x: Tensor):
                level = cast(Tensor, self.level)
                return x if level.sum() > 0 else -x
        """,
        ["XLA105"],
    ),
    "what is assigned to a buffer": (
        """
        class M(nn.Module):
            def __init__(self):
                super().__init__()
                self.register_buffer("count", None)
            def begin(self):
                self.count = torch.zeros(())
            def forward(self, x: Tensor):
                return x if int(self.count) > 2 else -x
        """,
        ["XLA301"],
    ),
}


@pytest.mark.parametrize("code", QUIET.values(), ids=QUIET)
def test_quiet(loud: Loud, code: str) -> None:
    assert loud(HEAD + dedent(code), "torch_xla") == []


@pytest.mark.parametrize(("code", "expected"), LOUD.values(), ids=LOUD)
def test_loud(loud: Loud, code: str, expected: list[str]) -> None:
    assert loud(HEAD + dedent(code), "torch_xla") == expected


BASES = {
    "a loss": ("loss", "_Loss"),
    "a loss with weights": ("loss", "_WeightedLoss"),
    "a normalisation": ("batchnorm", "_BatchNorm"),
}


@pytest.mark.parametrize("name", BASES)
def test_what_derives_from_a_base_of_layers_is_one(loud: Loud, name: str) -> None:
    home, base = BASES[name]
    program = f"""
        import matplotlib.pyplot as plt
        import torch
        from torch.nn.modules.{home} import {base}

        class Own({base}):
            def forward(self, x):
                return x.relu().sum().item()

            def show(self, path):
                plt.savefig(path)
        """
    assert loud(program, "torch_xla") == ["XLA301"]
