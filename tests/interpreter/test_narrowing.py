"""How tests, annotations and names tell what a value is: what must be found, and the larger half: what must stay silent."""

from __future__ import annotations

from collections.abc import Callable
from textwrap import dedent

import pytest

HEAD = """
from typing import Any, Optional, Union
import numpy as np
import torch
import torch.nn.functional as F
from torch import Tensor, nn
"""

SILENT = {
    "one of two types of numbers": """
        def act(x, state):
            state = torch.relu(x) if x.shape[0] > 2 else state
            if isinstance(state, np.int64) or isinstance(state, int):
                state = np.array([state])
            return state
        """,
    "a number told by a helper": """
        def is_number(v):
            return isinstance(v, (int, float))
        class M(nn.Module):
            def forward(self, x: Tensor, scale: Union[Tensor, float] = 1.0):
                if is_number(scale):
                    return x * float(scale)
                return x * scale
        """,
    "a slice, a range, a set: no built-in type is a tensor's": """
        def pick(x: Tensor, rows: Union[Tensor, slice, range, frozenset]):
            if isinstance(rows, (slice, range, frozenset)):
                if rows != slice(None):
                    raise NotImplementedError
                return x
            return x[:, rows.long()]
        def use(x: Tensor):
            return pick(x, x.argmax(1)) + pick(x, slice(None))
        """,
    "nothing given, told by a helper": """
        def exists(v):
            return v is not None
        class M(nn.Module):
            def forward(self, x: Tensor, keep=None):
                if not exists(keep):
                    return x
                return x * keep
        """,
    "a list of which no element is a tensor": """
        def matrix(*rows):
            elements = [x for row in rows for x in row]
            given = [x for x in elements if isinstance(x, Tensor)]
            if len(given) == 0:
                return torch.as_tensor(np.asarray(rows))
            elements = [x + given[0] for x in elements]
            return torch.stack(elements)
        def turn(x: Tensor):
            return matrix([1, x], [0, 1])
        """,
    "a list of which none is one, told by its truth": """
        class M(nn.Module):
            def forward(self, x: Tensor):
                parts = [x.mean(), 1.0]
                given = [one for one in parts if isinstance(one, Tensor)]
                return x if given else np.asarray(parts)
        """,
    "each element told to be a number": """
        class M(nn.Module):
            def forward(self, x: Tensor, sizes: list[Union[Tensor, float]]):
                if all(isinstance(size, float) for size in sizes):
                    return x * torch.tensor(sizes, device=x.device)
                return x * torch.stack(sizes)
        """,
    "none of the elements a tensor": """
        class M(nn.Module):
            def forward(self, x: Tensor, sizes: list[Union[Tensor, float]]):
                if any(isinstance(size, Tensor) for size in sizes):
                    return x
                return x * torch.tensor(sizes, device=x.device)
        """,
    "numpy's scalars": """
        class M(nn.Module):
            def forward(self, x: Tensor, scale: Union[Tensor, float]):
                if np.isscalar(scale):
                    return x if scale == 0.0 else x / scale
                return x / scale
        """,
    "what a class of arrays leads to": """
        def converted(data: Any, kind: type):
            if issubclass(kind, np.ndarray):
                return data.detach().shape
            return data
        class M(nn.Module):
            def forward(self, x: Tensor):
                shape = converted(x, np.ndarray)
                return x.flatten() if shape[0] > 1 else x
        """,
    "flags choose the branch however often a helper is called": """
        def as_tuple(v: Any, wrap: bool = False):
            if wrap and isinstance(v, Tensor):
                return (v,)
            return tuple(v)
        class M(nn.Module):
            def forward(self, x: Tensor):
                total = 0
                for sizes in ((1,), (1, 2), (1, 2, 3), (1, 2, 3, 4), (1, 2, 3, 4, 5), (1, 1), (2, 2), (3, 3), (4, 4), (5, 5),
                              (6, 6), (7, 7)):
                    total += max(as_tuple(sizes))
                return x.repeat(max(as_tuple((9, 9))), 1) + total
        """,
    "a text is no element of a list of tensors": """
        class M(nn.Module):
            def forward(self, x: Tensor, kept: list[Tensor]):
                return x + 1 if "rows" in kept else x
        """,
    "positions are no mask": """
        class M(nn.Module):
            def forward(self, x: Tensor, index: Tensor):
                if index.dtype != torch.int64:
                    raise ValueError("positions are int64")
                return x[index]
        """,
    "the first of two sizes is not read from a tensor": """
        class M(nn.Module):
            def forward(self, x: Tensor, length: Optional[int] = None):
                n = length or x.shape[1]
                return torch.arange(n, device=x.device).expand(len(x), n)
        """,
    "vectors pass for indices": """
        class Table:
            def __init__(self, n: int):
                self.values = torch.linspace(0, 1, n)
            def at(self, x: Tensor, positions: Tensor):
                return x * self.values.to(x.device)[positions]
        """,
    "lengths passed for an int or a tensor": """
        class M(nn.Module):
            def shorter(self, lengths: Union[int, Tensor]):
                return lengths // 2
            def forward(self, x: Tensor, mask: Tensor):
                return x[torch.arange(len(x), device=x.device), self.shorter(mask.sum(-1))]
        """,
    "images told from tensors by a helper": """
        from PIL import Image
        def is_image(v):
            if Image is None:
                return isinstance(v, str)
            else:
                return isinstance(v, Image.Image)
        class M(nn.Module):
            def forward(self, x: Union[Tensor, Image.Image]):
                if not is_image(x):
                    return x
                return torch.as_tensor(np.array(x))
        """,
    "sizes of what nothing is known of": """
        def padding(size, step: int):
            if isinstance(size, Tensor):
                return torch.clamp(size % step, min=0)
            return max(size % step, 0)
        class M(nn.Module):
            def forward(self, x, step: int):
                h, w = x.shape[-2:]
                return F.pad(x, (padding(w, step), 0, padding(h, step), 0))
        """,
    "a flag passed in a row with tensors": """
        class M(nn.Module):
            def mixed(self, x: Tensor, y: Tensor, keep: bool):
                return x + y if keep else x
            def forward(self, x: Tensor, y: Tensor):
                parts = [x, y] + [self.training]
                return self.mixed(*parts)
        """,
    "a list of tensors is no array": """
        def as_array(data: Any):
            if isinstance(data, np.ndarray):
                return np.ascontiguousarray(data)
            return data
        class M(nn.Module):
            def forward(self, parts: list[Tensor]):
                return torch.cat(as_array(parts))
        """,
    "names that say mask of what is told to be none": """
        class M(nn.Module):
            def forward(self, x: Tensor, mask: int, attention_mask: slice):
                return x[mask] + x[torch.arange(2, device=x.device)]
        """,
    "settings of an optimizer's groups": """
        class Scaled(torch.optim.Optimizer):
            def __init__(self, params, lr: float = 0.1):
                defaults = {"lr": lr, "pace": 1.0}
                super().__init__(params, defaults)
            @torch.no_grad()
            def step(self, closure=None):
                for group in self.param_groups:
                    if group["pace"] > 0.5:
                        group["pace"] = torch.ones(1, device="xla").mean()
                    for p in group["params"]:
                        p.mul_(group["pace"])
        """,
    "a number that no tensor is kept for": """
        class Scale:
            def __init__(self):
                self.steps = 10
            def apply(self, x: Tensor, step: int):
                return x * 2 if step > self.steps else x
        """,
}

FOUND = {
    "a list of which some are tensors": (
        """
        class M(nn.Module):
            def forward(self, x: Tensor, scale: float):
                parts = [x.mean(), scale]
                given = [one for one in parts if isinstance(one, Tensor)]
                return np.asarray(parts) if given else x
        """,
        ["XLA302"],
    ),
    "a list that was picked by their rank": (
        """
        class M(nn.Module):
            def forward(self, x: Tensor, scale: float):
                parts = [x.mean(), scale]
                given = [one for one in parts if isinstance(one, Tensor) and one.ndim > 0]
                return x if given else np.asarray(parts)
        """,
        ["XLA302"],
    ),
    "a list that holds others than were asked for": (
        """
        class M(nn.Module):
            def forward(self, x: Tensor, scale: float):
                parts = [x.mean(), scale]
                given = [one for one in [scale] if isinstance(one, Tensor)]
                return x if given else np.asarray(parts)
        """,
        ["XLA302"],
    ),
    "a tensor is an object": (
        """
        def pick(x: Tensor, limit):
            if isinstance(limit, object) and torch.relu(limit).sum() > 3:
                return x
            return x + limit
        """,
        ["XLA101"],
    ),
    "a tensor that a helper lets through": (
        """
        def exists(v):
            return v is not None
        class M(nn.Module):
            def forward(self, x: Tensor, keep: Optional[Tensor] = None):
                if exists(keep) and keep.any():
                    x = x + 1
                return x
        """,
        ["XLA101"],
    ),
    "a mask by its checked dtype": (
        """
        class M(nn.Module):
            def forward(self, x: Tensor, chosen: Tensor):
                if chosen.dtype != torch.bool:
                    raise ValueError("not a mask")
                return x[chosen]
        """,
        ["XLA201"],
    ),
    "an index by its checked rank": (
        """
        class M(nn.Module):
            def forward(self, x: Tensor, i: Tensor):
                if i.ndim == 0:
                    return x[i]
                return x
        """,
        ["XLA208"],
    ),
    "an int or a tensor": (
        """
        class M(nn.Module):
            def __init__(self):
                super().__init__()
                self.table = nn.Parameter(torch.zeros(10))
            def forward(self, x: Tensor, step: Union[int, Tensor]):
                return x * self.table[step]
        """,
        ["XLA208"],
    ),
    "a tensor passed for an int": (
        """
        class M(nn.Module):
            def scaled(self, x: Tensor, step: int):
                return x * self.table[step]
            def __init__(self):
                super().__init__()
                self.table = nn.Parameter(torch.zeros(10))
            def forward(self, x: Tensor, steps: Tensor):
                for step in steps:
                    x = self.scaled(x, step)
                return x
        """,
        ["XLA208"],
    ),
    "an element of what the class keeps": (
        """
        class Schedule:
            def __init__(self, n: int, device):
                self.rates = torch.linspace(1, 0, n, device=device)
                self.stages = torch.arange(n, device=device)
            def step(self, x: Tensor, stage: int):
                if stage > 0:
                    x = x * self.rates[stage]
                return x
        """,
        ["XLA101", "XLA208"],
    ),
    "a row of sizes or a tuple of them": (
        """
        class M(nn.Module):
            def forward(self, x: Tensor, sizes: Optional[list[tuple[int, int]]] = None):
                if sizes is None:
                    sizes = torch.tensor([[2, 2]], device=x.device).repeat(2, 1)
                h, w = sizes[0]
                return x.reshape(-1, h, w)
        """,
        ["XLA206"],
    ),
    "lengths that nothing else tells": (
        """
        class M(nn.Module):
            def forward(self, x: Tensor, lengths):
                n = (lengths[0] * x.shape[1]).int()
                return x[:, :n]
        """,
        ["XLA206"],
    ),
    "an unknown index that is named a mask": (
        """
        class M(nn.Module):
            def forward(self, x: Tensor, mask=None):
                if mask is not None:
                    x = x[mask]
                return x
        """,
        ["XLA201"],
    ),
    "an unknown value under a mask": (
        """
        class M(nn.Module):
            def __init__(self, loss):
                super().__init__()
                self.loss = loss
            def forward(self, x: Tensor):
                return self.loss(x)[x > 0].mean()
        """,
        ["XLA201"],
    ),
    "what an optimizer keeps for each parameter": (
        """
        class Scaled(torch.optim.Optimizer):
            def prepare(self, group: dict[str, Any]):
                for p in group["params"]:
                    state = self.state[p]
                    if len(state) == 0:
                        state["scale"] = p.norm()
                        state["calls"] = 0
                        if state["scale"] == 0.0:
                            state["scale"] = torch.ones_like(p).mean()
            @torch.no_grad()
            def step(self, closure=None):
                for group in self.param_groups:
                    self.prepare(group)
                    for p in group["params"]:
                        p.mul_(2 if self.state[p]["calls"] else self.state[p]["scale"])
        """,
        ["XLA101"],
    ),
    "what autograd saved": (
        """
        class Sparse(torch.autograd.Function):
            @staticmethod
            def backward(ctx, grad: Tensor):
                (output,) = ctx.saved_tensors
                grad = grad.clone()
                grad[output == 0] = 0
                return grad
        """,
        ["XLA205"],
    ),
}


SILENT_UNDER_TRACERS = {
    "a table that is filled in once": (
        """
        import jax
        _kinds = {}
        @jax.jit
        def f(x):
            if x.shape not in _kinds:
                _kinds[x.shape] = len(_kinds)
            return x * 2
        """,
        "jax",
    ),
    "a number or an array, by the way taken": (
        """
        import jax
        import jax.numpy as jnp
        @jax.jit
        def f(x, parts: int):
            carried = 0
            for _ in range(parts):
                carried = x if isinstance(carried, int) else carried + x
                if carried.shape[0] == parts:
                    carried = 0
            assert carried == 0
            return x
        """,
        "jax",
    ),
    "layers of the input pipeline": (
        """
        import keras
        import tensorflow as tf
        class PreprocessingLayer(keras.layers.Layer):
            pass
        class ImageConverter(PreprocessingLayer):
            def call(self, x):
                return tf.zeros((tf.cast(tf.reduce_sum(x), tf.int32), 3))
        """,
        "tf",
    ),
}


@pytest.mark.parametrize(("code", "target"), SILENT_UNDER_TRACERS.values(), ids=SILENT_UNDER_TRACERS)
def test_silent_under_a_tracer(loud: Callable[[str, str], list[str]], code: str, target: str) -> None:
    assert loud(dedent(code), target) == []


@pytest.mark.parametrize("code", SILENT.values(), ids=SILENT)
def test_silent(loud: Callable[[str, str], list[str]], code: str) -> None:
    assert loud(HEAD + dedent(code), "torch_xla") == []


@pytest.mark.parametrize(("code", "expected"), FOUND.values(), ids=FOUND)
def test_found(loud: Callable[[str, str], list[str]], code: str, expected: list[str]) -> None:
    assert sorted(loud(HEAD + dedent(code), "torch_xla")) == expected
