"""Code chosen while running: tables of classes, methods left to subclasses, modules given from outside."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from textwrap import dedent

import pytest

from xlalint.config import Settings
from xlalint.project import check_paths

HEAD = """
import abc
from typing import Optional
import torch
from einops import rearrange
from torch import Tensor, nn
from torchmetrics import Metric
"""

SILENT = {
    "a table of functions that give shapes": """
        def first(x):
            return x.shape[0]
        def last(x):
            return x.shape[-1]
        def rank(x):
            return x.dim()
        SIZES = {"first": first, "last": last, "rank": rank}
        def pool(x: Tensor, how: str):
            n = SIZES[how](x)
            if n > 1:
                x = x[:n]
            return x
        """,
    "a table of settings": """
        WIDTHS = {"small": 4, "base": 8, "large": 16}
        class M(nn.Module):
            def forward(self, x: Tensor, size: str):
                return x[:, : WIDTHS[size]] if WIDTHS[size] > 4 else x
        """,
    "an abstract property that is a setting": """
        class Base(abc.ABC):
            @property
            @abc.abstractmethod
            def order(self):
                raise NotImplementedError
            def run(self, x: Tensor):
                for _ in range(self.order):
                    x = x * 2
                return x
        class Second(Base):
            @property
            def order(self):
                return 2
        class Fourth(Base):
            @property
            def order(self):
                return 4
        """,
    "an abstract method that overrides make a shape of": """
        class Base(nn.Module):
            def width(self, x):
                raise NotImplementedError
            def forward(self, x: Tensor):
                return x if self.width(x) > 2 else x + 1
        class Wide(Base):
            def width(self, x):
                return x.shape[-1]
        """,
    "a hook that does nothing": """
        class Base(nn.Module):
            def before(self, x):
                pass
            def forward(self, x: Tensor):
                self.before(x)
                return x
        class Other(Base):
            def before(self, x):
                self.seen = x.shape
        """,
    "an abstract method that promises a tensor, whose overrides keep to shapes": """
        class Base(abc.ABC):
            @abc.abstractmethod
            def step(self, t, y) -> Tensor:
                raise NotImplementedError
            def run(self, y: Tensor, ts: Tensor):
                return self.step(ts[0], y)
        class Wide(Base):
            def step(self, t, y):
                return y * t if y.shape[0] > 2 else y
        """,
    "an abstract method that is given numbers of the host": """
        class Base(abc.ABC):
            @abc.abstractmethod
            def step(self, t, y) -> Tensor:
                raise NotImplementedError
            def run(self, y: Tensor, steps: int):
                for i in range(steps):
                    y = self.step(i, y)
                return y
        class Late(Base):
            def step(self, t, y):
                return y * 2 if t > 3 else y
        """,
    "a method that is not left to subclasses": """
        class Base:
            def step(self, t, y):
                return y * t
            def run(self, y: Tensor, ts: Tensor):
                return self.step(ts[0], y)
        class Other(Base):
            def step(self, t, y):
                return y * 2 if t > 3 else y
        """,
    "a sibling of the receiver": """
        class Base(abc.ABC):
            @abc.abstractmethod
            def step(self, t, y) -> Tensor:
                raise NotImplementedError
        class Plain(Base):
            def step(self, t, y):
                return y * t
        class Other(Base):
            def step(self, t, y):
                return y * 2 if t > 3 else y
        def run(y: Tensor, ts: Tensor):
            return Plain().step(ts[0], y)
        """,
    "an abstract call that is given numbers": """
        class Noise(abc.ABC):
            @abc.abstractmethod
            def __call__(self, ta): ...
        class Path(Noise):
            def __call__(self, ta):
                return float(ta)
        def run(y: Tensor, noise: Noise):
            return y * noise(3)
        """,
    "what a given module returns": """
        class Encoder(nn.Module):
            def __init__(self, inner: nn.Module):
                super().__init__()
                self.inner = inner
            def forward(self, x: Tensor):
                y = self.inner(x)
                return y if y.shape[0] > 1 and y.dim() == 2 else x
        """,
    "a tensor filled with a number": """
        class M(nn.Module):
            def forward(self, x: Tensor, at: Tensor):
                order = torch.full((x.shape[0],), 1, device=x.device)
                return x[order] + x.new_full((3,), 0.5)
        """,
    "a buffer made of a list": """
        class M(nn.Module):
            def __init__(self, slopes: Optional[list[int]] = None):
                super().__init__()
                slopes = torch.Tensor(slopes)
                slopes = rearrange(slopes, "h -> h 1 1")
                self.register_buffer("slopes", slopes)
            def forward(self, x: Tensor):
                return x * self.slopes
        """,
    "what is done on devices that XLA does not drive": """
        def solve(x: Tensor):
            y = x.cpu().double() if x.device.type == "mps" else x.float()
            if x.device.type in ("npu", "mps") or (x.device.type == "cuda" and x.max() > 0):
                return x
            if x.device.type == "cpu" and x.min() < 0:
                return x
            return y
        """,
    "an abstract method that says what it returns": """
        class Layer(abc.ABC):
            @abc.abstractmethod
            def length(self) -> int: ...
            def extend(self, x: Tensor):
                return x[: self.length()] if self.length() > 0 else x
        class Static(Layer):
            def length(self):
                return self.seen.sum()
            def see(self, x: Tensor):
                self.seen = x
        """,
    "functions of tensors that take numbers too": """
        def count(x: Tensor, settings):
            a = torch.add(x, settings.bias)
            return torch.full_like(a, settings.fill) + torch.clamp(a, settings.low)
        """,
    "whether there is anything": """
        class M(nn.Module):
            def __init__(self, tensors):
                super().__init__()
                self.kept = tuple(t for t in tensors if t.requires_grad)
            def forward(self, x: Tensor):
                return x + 1 if bool(self.kept) or bool([x]) else x
        """,
    "a state that is not read": """
        class Mean(Metric):
            def __init__(self):
                super().__init__()
                self.add_state("total", default=torch.tensor(0.0), dist_reduce_fx="sum")
                self.add_state("seen", torch.tensor(0), dist_reduce_fx="sum")
            def update(self, x: Tensor):
                self.total += x.sum()
                self.seen += x.numel()
            def compute(self):
                return self.total / self.seen
        """,
    "a plain tensor of a module stays on the host": """
        class M(nn.Module):
            def __init__(self):
                super().__init__()
                self.limit = torch.tensor(3)
            def forward(self, x: Tensor):
                return x[: int(self.limit)]
        """,
    "unknown objects with everyday methods": """
        def report(x: Tensor, meter, log):
            log.info("step")
            if meter.update(1) and meter.count() > 2 and log.level():
                return x
            return x + 1
        """,
}

FOUND = {
    "a table of functions": (
        """
        def top(x):
            return x.max()
        def low(x):
            return x.min()
        def mid(x):
            return x.mean()
        REDUCE = {"top": top, "low": low, "mid": mid}
        def pick(x: Tensor, how: str):
            if REDUCE[how](x) > 0:
                return x
            return -x
        """,
        ["XLA101"],
    ),
    "a large table of classes with a common base": (
        """
        class Solver:
            def __init__(self, y):
                self.y = y
            def solve(self, t: Tensor):
                return self.step(t[0])
            @abc.abstractmethod
            def step(self, t):
                raise NotImplementedError
        class A(Solver):
            def step(self, t):
                return t
        class B(Solver):
            def step(self, t):
                if t > 0:
                    return t * 2
                return t
        class C(A): ...
        class D(A): ...
        class E(A): ...
        class F(B): ...
        class G(B): ...
        SOLVERS = {"a": A, "b": B, "c": C, "d": D, "e": E, "f": F, "g": G}
        def solve(y: Tensor, t: Tensor, method: str):
            return SOLVERS[method](y).solve(t)
        """,
        ["XLA101"],
    ),
    "overrides of an abstract method that promises what it returns": (
        """
        class Base(abc.ABC):
            @abc.abstractmethod
            def step(self, t, y) -> Tensor:
                raise NotImplementedError
            def run(self, y: Tensor, ts: Tensor):
                return self.step(ts[0], y)
        class Late(Base):
            def step(self, t, y):
                return y * 2 if t > 3 else y
        """,
        ["XLA105"],
    ),
    "the promise of an abstract method, beside its overrides": (
        """
        class Base(abc.ABC):
            @abc.abstractmethod
            def size(self, y) -> Tensor:
                raise NotImplementedError
            def run(self, y: Tensor):
                return y if self.size(y) > 2 else y + 1
        class Other(Base):
            def size(self, y):
                return lookup(y)
        """,
        ["XLA105"],
    ),
    "what subclasses make of an abstract call": (
        """
        class Noise(abc.ABC):
            @abc.abstractmethod
            def __call__(self, ta): ...
        class Path(Noise):
            def __call__(self, ta):
                return float(ta)
        def run(ts: Tensor, noise: Noise):
            return ts * noise(ts[0])
        """,
        ["XLA301"],
    ),
    "a method that only raises": (
        """
        class Base(nn.Module):
            def score(self, x):
                raise NotImplementedError("subclasses")
            def forward(self, x: Tensor):
                return x if self.score(x) > 0 else -x
        class Sum(Base):
            def score(self, x):
                return x.sum()
        """,
        ["XLA105"],
    ),
    "what a given module makes of a tensor": (
        """
        class Encoder(nn.Module):
            def __init__(self, inner: nn.Module):
                super().__init__()
                self.inner = inner
            def forward(self, x: Tensor, lengths: Tensor):
                y = self.inner(x)
                n, t = y.shape[:2]
                y[torch.arange(t, device=y.device) >= lengths[:, None]] = 0.0
                return y
        """,
        ["XLA205"],
    ),
    "a mask filled with a number": (
        """
        class M(nn.Module):
            def forward(self, x: Tensor):
                mask = torch.full(x.shape, False, device=x.device)
                return x[mask]
        """,
        ["XLA201"],
    ),
    "what is done on the device at hand": (
        """
        def solve(x: Tensor):
            y = x.double() if x.device.type == "mps" else x.cpu().double()
            return y if x.device.type != "npu" else x
        """,
        ["XLA302"],
    ),
    "functions that take nothing but tensors": (
        """
        class Loss(nn.Module):
            def forward(self, embeddings: Tensor, batch):
                found = torch.unique(batch.labels)
                return embeddings[: len(found)]
        """,
        ["XLA203"],
    ),
    "a state that is read": (
        """
        class Mean(Metric):
            def __init__(self):
                super().__init__()
                self.add_state("seen", default=torch.tensor(0), dist_reduce_fx="sum")
            def update(self, x: Tensor):
                self.seen += x.numel()
            def compute(self):
                return int(self.seen)
        """,
        ["XLA301"],
    ),
    "tensors of a module that moves them itself": (
        """
        class Kept(nn.Module):
            def __init__(self):
                super().__init__()
                self.keep("count", torch.tensor(0))
            def keep(self, name, value):
                setattr(self, name, value)
            def _apply(self, fn):
                self.count = fn(self.count)
                return super()._apply(fn)
            def forward(self, x: Tensor):
                return x[: int(self.count)]
        """,
        ["XLA301"],
    ),
    "a tensor known by its methods": (
        """
        class M(nn.Module):
            def __init__(self, norm):
                super().__init__()
                self.norm = norm
            def forward(self, x: Tensor):
                size = self.norm(x).abs()
                return x if size < 1e-5 else x / size
        """,
        ["XLA105"],
    ),
}


@pytest.mark.parametrize("code", SILENT.values(), ids=SILENT)
def test_silent(loud: Callable[[str, str], list[str]], code: str) -> None:
    assert loud(HEAD + dedent(code), "torch_xla") == []


@pytest.mark.parametrize(("code", "expected"), FOUND.values(), ids=FOUND)
def test_found(loud: Callable[[str, str], list[str]], code: str, expected: list[str]) -> None:
    assert sorted(loud(HEAD + dedent(code), "torch_xla")) == expected


BLOCKS = """
import torch
from torch import Tensor, nn

class Seeds(nn.Module):
    def forward(self, code, size):
        return code.reshape(size, -1)

class Other(nn.Module):
    def forward(self, {params}):
        return code + 1

class Model(nn.Module):
    def __init__(self, kinds):
        super().__init__()
        self.parts = nn.ModuleList([Seeds() if kind else Other() for kind in kinds])

    def forward(self, x: Tensor):
        for part in self.parts:
            x = {called}
        return x
"""
SIGNATURES = {
    "all alternatives take what is given": ("code, size", "part(x, x.sum())", {"certain"}),
    "more than one takes is given elsewhere": ("code", "part(x, x.sum())", {"likely"}),
    "fewer than one takes": ("code, size, more", "part(x, x.sum())", {"likely"}),
    "another name": ("code, count", "part(x, size=x.sum())", {"likely"}),
    "another name among any": ("code, **rest", "part(x, size=x.sum())", {"certain"}),
    "how many is not known": ("code", "part(*[x, x.sum()])", {"likely", "certain"}),
}


@pytest.mark.parametrize(("params", "called", "expected"), SIGNATURES.values(), ids=SIGNATURES)
def test_what_only_some_alternatives_take_is_not_sure(
    params: str, called: str, expected: set[str], tmp_path: Path
) -> None:
    (tmp_path / "a.py").write_text(BLOCKS.format(params=params, called=called))
    result = check_paths([tmp_path], Settings(target="torch_xla", python=None))
    assert {one.confidence for one in result.findings if one.code == "XLA206"} <= expected
    assert any(one.code == "XLA206" for one in result.findings)
