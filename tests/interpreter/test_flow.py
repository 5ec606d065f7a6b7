"""How values flow in PyTorch code: what must be found, and the larger half: what must stay silent."""

from __future__ import annotations

from collections.abc import Callable
from textwrap import dedent

import pytest

HEAD = """
import math
from dataclasses import dataclass
from functools import partial
from typing import Optional, TypeVar, Union
import torch
import torch.nn.functional as F
from torch import Tensor, nn
"""

SILENT = {
    "rows, and elements of what is more than one number": """
        def rows(x: Tensor, weights: Tensor, at: int):
            x.backward(weights)
            weights.backward()
            first = x.data[0] * weights.data[at]
            return first + x.T.data[0], weights.data[-1], weights[0]
        """,
    "a number of the host's, as PyTorch gave it before 0.5": """
        def accuracy(near: torch.FloatTensor):
            right = torch.zeros(4).cpu().sum()
            return right.data[0] / 4 if right.data[0] > 0 else 0
        """,
    "shapes": """
        class M(nn.Module):
            def forward(self, x: Tensor):
                n, c = x.shape[:2]
                if n > 1 and x.dim() == 2 and len(x) > c and x.numel() // 2 > x.size(-1):
                    x = x[:, : c // 2]
                return x.view(n, -1)
        """,
    "a flag whose annotation says that it is a tensor": """
        class M(nn.Module):
            def forward(self, x: Tensor, weights: Optional[Tensor] = True, shown: Tensor = False):
                if shown:
                    x = x + 1
                return (x, x * 2) if weights else x
        """,
    "none tests": """
        class M(nn.Module):
            def forward(self, x: Tensor, mask: Optional[Tensor] = None):
                if mask is not None:
                    x = x * mask
                return x if mask is None else x + 1
        """,
    "dtype, device and training": """
        class M(nn.Module):
            def forward(self, x: Tensor):
                if x.dtype == torch.float16 or x.device.type == "cuda" or self.training or x.requires_grad:
                    x = x.clamp(min=torch.finfo(x.dtype).min)
                return x
        """,
    "settings kept on self": """
        class M(nn.Module):
            def __init__(self, width: int, causal: bool = False):
                super().__init__()
                self.width, self.causal, self.scale = width, causal, math.sqrt(width)
            def forward(self, x: Tensor):
                return x * self.scale if self.causal and self.width > 8 else x
        """,
    "a helper that tells by type": """
        def as_number(v):
            return v if isinstance(v, (int, float)) else 1.0
        class M(nn.Module):
            def forward(self, x: Tensor, n: int):
                return x * float(as_number(n))
        """,
    "exists and default": """
        def exists(v):
            return v is not None
        def default(v, d):
            return v if exists(v) else d
        class M(nn.Module):
            def forward(self, x: Tensor, context: Tensor = None):
                context = default(context, x)
                return x @ context if exists(context) else x
        """,
    "a flag that a branch sets": """
        class M(nn.Module):
            def forward(self, x: Tensor, return_all: bool = False):
                outputs = (x,)
                if return_all:
                    outputs = outputs + (x + 1,)
                if len(outputs) > 1:
                    return outputs
                return outputs[0]
        """,
    "lists of ints that were read before": """
        class M(nn.Module):
            def forward(self, x: Tensor, sizes: list[int]):
                return [part.sum() for part in x.split(sizes)] if max(sizes) > 1 else [x]
        """,
    "integer positions": """
        class M(nn.Module):
            def forward(self, x: Tensor):
                order = x.argsort(dim=-1)
                return x.gather(-1, order)[torch.arange(x.shape[0], device=x.device)]
        """,
    "assignment to integer positions": """
        class M(nn.Module):
            def forward(self, x: Tensor, column: int):
                x = x.clone()
                x[x.argmax(dim=-1)] = 0.0
                x[torch.arange(4), :] = 1.0
                x[:, column] = 2.0
                return x
        """,
    "a dictionary of settings": """
        class M(nn.Module):
            def __init__(self):
                super().__init__()
                self.options = {"eps": 1e-6, "affine": True}
            def forward(self, x: Tensor):
                return x + self.options["eps"] if self.options["affine"] else x
        """,
    "constructors and checkpoints": """
        class M(nn.Module):
            def __init__(self, weight: Tensor):
                super().__init__()
                if weight.sum() > 0:
                    self.weight = nn.Parameter(weight)
            def load(self, path: str):
                state = torch.load(open(path, "rb"))
                return {k: v.tolist() for k, v in state.items()}
        """,
    "errors that never come": """
        class M(nn.Module):
            def forward(self, x: Tensor):
                if x.shape[0] > 8:
                    raise ValueError(f"too many: {x}")
                try:
                    return x + 1
                except RuntimeError:
                    print(x)
                    raise
        """,
    "scripting and tracing guards": """
        class M(nn.Module):
            def forward(self, x: Tensor):
                if torch.jit.is_scripting() or torch.jit.is_tracing():
                    return x[x > 0]
                return x.relu()
        """,
    "an output tuple that a branch lengthens": """
        class Inner(nn.Module):
            def forward(self, x: Tensor, size: tuple[int, int], more: bool = False):
                out = (x, size)
                if more:
                    out += (x, x)
                return out
        class M(nn.Module):
            def __init__(self):
                super().__init__()
                self.inner = Inner()
            def forward(self, x: Tensor, more: bool = False):
                out = self.inner(x, (4, 4), more)
                h, w = out[1]
                return out[0].view(-1, h, w) if h > 2 else out[0]
        """,
    "identity of tensors in a set of names": """
        class M(nn.Module):
            def forward(self, x: Tensor, names: list[str]):
                if "weight" in names or names[0] == "bias":
                    return x
                return x + 1
        """,
    "a tensor that stays in host memory": """
        class M(nn.Module):
            def forward(self, x: Tensor):
                rates = torch.linspace(0, 1, 4)
                return x * rates[2].item()
        """,
    "numbers of an optimizer's groups": """
        class Sgd(torch.optim.Optimizer):
            def __init__(self, params, lr: float = 0.1, momentum: float = 0.0):
                super().__init__(params, {"lr": lr, "momentum": momentum})
            @torch.no_grad()
            def step(self, closure=None):
                for group in self.param_groups:
                    for p in group["params"]:
                        if p.grad is not None and group["momentum"] > 0.0:
                            p.add_(p.grad, alpha=-group["lr"])
        """,
    "a record whose default is a record of its own class": """
        @dataclass
        class Node:
            count: int = 0
            inner: "Node" = None
        @dataclass
        class Pair:
            first: Node = Node()
            again: "Pair" = None
            other = Node(2)
        class M(nn.Module):
            def forward(self, x: Tensor):
                pair = Pair()
                return x if pair.first.count > 1 and pair.other.count > 1 else x + 1
        """,
    "no tensors at all": """
        def total(prices, limit=3):
            if prices and max(prices) > limit:
                return sum(int(p) for p in prices)
            return 0
        """,
}

FOUND = {
    "numbers as PyTorch gave them before 0.5": (
        """
        def step(model, x: Tensor, t: Tensor, scale):
            loss = F.cross_entropy(model(x), t)
            loss.backward()
            other = x.sum()
            return (1 if loss.data[0] > 3 else 2), "%.3f" % loss.data[0], other.data[0] / 2
        """,
        ["XLA301", "XLA301", "XLA301"],
    ),
    "what a turn assigned that a later one did not end": (
        """
        def last(x: Tensor, done):
            found = 0.0
            while True:
                if done():
                    break
                found = x.sum()
            return x if found > 0 else -x
        """,
        ["XLA105"],
    ),
    "what a turn assigned at its end": (
        """
        def last(x: Tensor, rows: int):
            found = 0.0
            for row in range(rows):
                found = x[row].sum()
            return x if found > 0 else -x
        """,
        ["XLA105"],
    ),
    "behind a test that calls itself": (
        """
        def is_leaf(x):
            if isinstance(x, tuple):
                return is_leaf(x[0])
            return is_leaf(x)
        class M(nn.Module):
            def forward(self, x: Tensor, y=None):
                return x if is_leaf(y) else x[x > 0]
        """,
        ["XLA201"],
    ),
    "a tensor whose default is a number": (
        """
        class M(nn.Module):
            def forward(self, x: Tensor, scale: Tensor = 1.0):
                if scale > 1:
                    x = x * scale
                return x
        """,
        ["XLA101"],
    ),
    "what a call of itself settles is not settled for others": (
        """
        def share(x: Tensor, batch: Optional[Tensor] = None, how: str = "one"):
            if how == "all":
                return share(x, x > 1, how="one").mean()
            if batch is None:
                return float(x.mean())
            return x[batch > 0]
        """,
        ["XLA201", "XLA301"],
    ),
    "through a helper": (
        """
        def busy(mask):
            return mask.any()
        class M(nn.Module):
            def forward(self, x: Tensor):
                if busy(x > 0):
                    x = x + 1
                return x
        """,
        ["XLA101"],
    ),
    "through a helper that branches": (
        """
        def keep(x, mask=None):
            if mask is not None:
                return x[mask]
            return x
        class M(nn.Module):
            def forward(self, x: Tensor):
                return keep(x, x > 0)
        """,
        ["XLA201"],
    ),
    "a buffer": (
        """
        class M(nn.Module):
            def __init__(self):
                super().__init__()
                self.register_buffer("started", torch.zeros((), dtype=torch.bool))
            def forward(self, x: Tensor):
                return x if self.started else x + 1
        """,
        ["XLA105"],
    ),
    "an attribute that another method stores": (
        """
        class M(nn.Module):
            def prepare(self, x: Tensor):
                self.limit = x.max()
            def forward(self, x: Tensor):
                self.prepare(x)
                while self.limit > 1:
                    x = x / 2
                return x
        """,
        ["XLA102"],
    ),
    "an attribute that a helper of the constructor stores": (
        """
        class M(nn.Module):
            def __init__(self):
                super().__init__()
                self.keep(scale=nn.Parameter(torch.ones(())))
            def keep(self, **values):
                for name, value in values.items():
                    setattr(self, name, value)
            def forward(self, x: Tensor):
                return x * float(self.scale)
        """,
        ["XLA301"],
    ),
    "a base class in between": (
        """
        class Base(nn.Module):
            def loss(self, x: Tensor):
                return x.sum()
        class M(Base):
            def loss(self, x: Tensor):
                total = super().loss(x)
                return total if total > 0 else -total
            def forward(self, x: Tensor):
                return self.loss(x)
        """,
        ["XLA105"],
    ),
    "a property": (
        """
        class M(nn.Module):
            def __init__(self):
                super().__init__()
                self.scale = nn.Parameter(torch.ones(()))
            @property
            def large(self):
                return self.scale > 2
            def forward(self, x: Tensor):
                return x if self.large else x * 2
        """,
        ["XLA105"],
    ),
    "modules in a list and in a chain": (
        """
        class Inner(nn.Module):
            def forward(self, x: Tensor):
                assert x.isfinite().all()
                return x
        class M(nn.Module):
            def __init__(self, n: int):
                super().__init__()
                self.layers = nn.ModuleList([nn.Sequential(nn.Linear(4, 4), Inner()) for _ in range(n)])
            def forward(self, x):
                for layer in self.layers:
                    x = layer(x)
                return x[x > 0]
        """,
        ["XLA103", "XLA201"],
    ),
    "fields of a data class": (
        """
        @dataclass
        class Output:
            logits: Tensor
            mask: Optional[Tensor] = None
        class Inner(nn.Module):
            def forward(self, x: Tensor):
                return Output(logits=x, mask=x > 0)
        class M(nn.Module):
            def __init__(self):
                super().__init__()
                self.inner = Inner()
            def forward(self, x: Tensor):
                out = self.inner(x)
                return out.logits[out.mask]
        """,
        ["XLA201"],
    ),
    "lists, dicts and unpacking": (
        """
        class M(nn.Module):
            def forward(self, x: Tensor):
                found = []
                found.append(x.amax())
                state = {"low": x.amin()}
                first, *rest = found
                return int(first) + int(state["low"])
        """,
        ["XLA301", "XLA301"],
    ),
    "closures, lambdas and partial": (
        """
        class M(nn.Module):
            def forward(self, x: Tensor):
                def inner(y):
                    return y[x > 0]
                double = lambda y: y.item() * 2
                scaled = partial(inner)
                return scaled(x) * double(x.sum())
        """,
        ["XLA201", "XLA301"],
    ),
    "a type alias and a type variable": (
        """
        Values = Union[Tensor, None]
        T = TypeVar("T", bound=Tensor)
        class M(nn.Module):
            def forward(self, x: "Values", y: T):
                return x.nonzero(), y.tolist()
        """,
        ["XLA202", "XLA302"],
    ),
    "a name whose annotation still says what it is": (
        """
        class M(nn.Module):
            def __init__(self, inner: nn.Module):
                super().__init__()
                self.inner = inner
            def forward(self, x: Tensor):
                x = self.inner(x)
                return x.item()
        """,
        ["XLA301"],
    ),
    "how the body uses a parameter": (
        """
        class M(nn.Module):
            def forward(self, x):
                b, n = x.shape
                return x[:, : x.argmax()]
        """,
        ["XLA206"],
    ),
    "iteration gives scalars": (
        """
        class M(nn.Module):
            def forward(self, x: Tensor):
                for row in (x > 0).nonzero():
                    x = x + x[row[0]]
                return x
        """,
        ["XLA202", "XLA208"],
    ),
    "an optimizer's state": (
        """
        class Opt(torch.optim.Optimizer):
            def prepare(self, p: Tensor):
                self.state[p]["mask"] = p > 0
            @torch.no_grad()
            def step(self, closure=None):
                for group in self.param_groups:
                    for p in group["params"]:
                        state = self.state[p]
                        p[state["mask"]] = 0.0
        """,
        ["XLA205"],
    ),
    "a value given through what may be a mask": (
        """
        class M(nn.Module):
            def forward(self, x: Tensor, chosen: Tensor):
                x = x.clone()
                x[chosen] = 0.0
                return x
        """,
        ["XLA205"],
    ),
    "builtins that compare": (
        """
        class M(nn.Module):
            def forward(self, x: Tensor, y: Tensor):
                return max(x.sum(), y.sum()) if x.sum() in (1, 2) else sorted([x.sum(), y.sum()])
        """,
        ["XLA106", "XLA106", "XLA106"],
    ),
}


CONFIGURED = """
import torch
class M(torch.nn.Module):
    share = 0.0

    def __init__(self):
        super().__init__()
        self.many, self.cache = False, None

    def forward(self, x: torch.Tensor):
        if {test}:
            return x[x > 1]
        return x
"""
TESTS = {
    "a number of the class": ("self.share > 0.5", "share = 0.75"),
    "a truth of an object": ("self.many", "many = True"),
    "an absence": ("self.cache is not None", "cache = {}"),
}
ASSIGNED = {
    "by a function": "def main(model):\n    model.",
    "through what wraps it": "def main(wrapped):\n    wrapped.module.",
    "by a module": "model = M()\nmodel.",
    "by a method of another class": "class T:\n    def run(self):\n        self.model.",
}


@pytest.mark.parametrize(("test", "assignment"), TESTS.values(), ids=TESTS)
@pytest.mark.parametrize("place", ASSIGNED.values(), ids=ASSIGNED)
def test_an_attribute_that_is_assigned_from_outside_is_not_what_its_class_gave_it(
    test: str, assignment: str, place: str, loud: Callable[[str, str], list[str]]
) -> None:
    assert loud(CONFIGURED.format(test=test) + place + assignment + "\n", "torch_xla") == ["XLA201"]


@pytest.mark.parametrize(("test", "assignment"), TESTS.values(), ids=TESTS)
@pytest.mark.parametrize(
    "elsewhere",
    ["", "def main(model):\n    print(model.share, model.many, model.cache)\n", "def main(o):\n    o.other = 3\n"],
    ids=["nothing", "what reads", "what assigns others"],
)
def test_one_that_only_its_class_assigns_is(
    test: str, assignment: str, elsewhere: str, loud: Callable[[str, str], list[str]]
) -> None:
    assert loud(CONFIGURED.format(test=test) + elsewhere, "torch_xla") == []


INFINITIES = ("math.inf", "torch.inf", "inf", 'float("inf")', 'float("Infinity")', "-float('-inf')")
NORM = """
import math
import torch
from math import inf

def norm(gradients: list[torch.Tensor], norm_type: float = {default}):
    norm_type = float(norm_type)
    if norm_type == {infinity}:
        return max(one.abs().max() for one in gradients)
    return torch.stack([one.norm() for one in gradients]).norm()

class M(torch.nn.Module):
    def forward(self, x: torch.Tensor, y: torch.Tensor):
        return norm([x, y])
"""


@pytest.mark.parametrize("infinity", INFINITIES)
def test_what_a_default_number_leaves_out_is_silent(loud: Callable[[str, str], list[str]], infinity: str) -> None:
    assert loud(NORM.format(default="2.0", infinity=infinity), "torch_xla") == []


@pytest.mark.parametrize("infinity", INFINITIES)
def test_what_it_leaves_in_is_found(loud: Callable[[str, str], list[str]], infinity: str) -> None:
    assert [one.split()[0] for one in loud(NORM.format(default="math.inf", infinity=infinity), "torch_xla")] == [
        "XLA106"
    ]


@pytest.mark.parametrize("default", ["math.nan", 'float("large")', "math.pi"])
def test_a_number_that_is_not_known_leaves_both(loud: Callable[[str, str], list[str]], default: str) -> None:
    assert len(loud(NORM.format(default=default, infinity="math.inf"), "torch_xla")) == 1


@pytest.mark.parametrize("code", SILENT.values(), ids=SILENT)
def test_silent(loud: Callable[[str, str], list[str]], code: str) -> None:
    assert loud(HEAD + dedent(code), "torch_xla") == []


@pytest.mark.parametrize(("code", "expected"), FOUND.values(), ids=FOUND)
def test_found(loud: Callable[[str, str], list[str]], code: str, expected: list[str]) -> None:
    assert sorted(loud(HEAD + dedent(code), "torch_xla")) == expected
