"""What tells one value from another: records, sizes, dtypes, defaults and names. The silent half first."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from textwrap import dedent

import pytest

from xlalint.config import Settings
from xlalint.project import check_paths

HEAD = """
import collections
from collections import namedtuple
from typing import Any, List, Optional, Union
import torch
from torch import Tensor, nn
State = namedtuple("State", ["y", "steps"])
Table = collections.namedtuple("Table", "alpha, order")
"""

SILENT = {
    "what has a mean, and what no tensor has": """
        def check(variable, at, tail: float):
            body = variable.cdf(at)
            if variable.mean() > tail:
                raise ValueError(body)
            return body
        """,
    "what multiplies, among methods of its own": """
        def inside(ring, scores: Tensor):
            kept = ring.zeros_like(scores)
            return ring.unconvert(kept) if ring.dot(kept, kept) else kept
        """,
    "what is kept in an object that computes": """
        def settle(accumulator, name):
            return name if accumulator.mean() > 3 else accumulator.history
        """,
    "a flag whose name stands for a tensor later on": """
        class Root(torch.autograd.Function):
            @staticmethod
            def forward(ctx, x: Tensor, inverse, n):
                ctx.inverse = inverse
                inverse = torch.empty(0)
                if ctx.inverse:
                    inverse = torch.relu(x) / 2
                return inverse.squeeze(0)
        """,
    "an item that is counted up from what is known": """
        class M(nn.Module):
            def forward(self, x: Tensor):
                more = {"n": 1}
                more["n"] += 1
                more["n"] *= 2
                return x.sum().item() if more["n"] != 4 else x
        """,
    "an item of the host that is counted up": """
        class M(nn.Module):
            def forward(self, x: Tensor, more: dict):
                if "n" not in more:
                    more["n"] = 0
                more["n"] += 1
                return x if more["n"] > 1 else -x
        """,
    "types that leave a tensor where it is": """
        class M(nn.Module):
            def forward(self, x: Tensor, like: Tensor, kind):
                y = x.type(torch.float32) + x.type(like.type()) + x.type("torch.cuda.FloatTensor")
                y = y + torch.ones(3).type(torch.LongTensor).to(x.device)
                return y.type(torch.cuda.FloatTensor), y.type(kind), y.type()
        """,
    "a device that the program may set otherwise": """
        device = torch.device("cpu")
        def f(x: Tensor):
            return x.to(device)
        """,
    "any object that is used as anything": """
        from typing import Any
        def f(x: object, y: Any):
            return str(x) if x == y else repr(y)
        """,
    "an object that has a name": """
        def f(x: object, y: object):
            return x.name if x.count > 1 else y.index
        """,
    "powers of a matrix": """
        def f(x: Tensor, n: int):
            return torch.matrix_power(x, 3) @ x.matrix_power(n)
        """,
    "an array, as its dtype says": """
        import numpy as np
        def f(x):
            if x.dtype == np.int16:
                x = x / 32768
            return x[:, 0].max().item()
        def g(x):
            return x[:, 0].max().item() if x.dtype in (np.int16, np.int32) else 0
        """,
    "an array, as what takes a part of it by a bare name says": """
        from sklearn.metrics import average_precision_score
        def f(known, given):
            found = []
            for i in range(known.shape[1]):
                kept = known[:, i] == known[:, i]
                found.append(average_precision_score(known[kept, i], given[kept, i]))
            return found
        """,
    "an array, as what takes it by a bare name says": """
        from numpy import mean
        def f(x):
            return mean(x[:, 0]), x[x > 0]
        """,
    "an empty list times a tensor": """
        def f(x: Tensor):
            pairs = []
            return pairs * x.amax()
        """,
    "the entries of a row of what is nonzero": """
        class M(nn.Module):
            def forward(self, x: Tensor, rows: Tensor):
                rows = rows.long().view(-1, 1)
                for row in rows:
                    x[row] = 0
                return x
        """,
    "rows of a column that is given an axis": """
        class M(nn.Module):
            def forward(self, x: Tensor):
                rows = torch.arange(3, device=x.device)
                rows.unsqueeze_(1)
                for row in rows:
                    x = x + x[row]
                for row in torch.arange(3, device=x.device).unsqueeze(0):
                    x = x + x[row]
                return x
        """,
    "a key of a dict that no method writes a mask to": """
        class M(nn.Module):
            def __init__(self):
                super().__init__()
                self.params = {}
            def choose(self, x: Tensor):
                self.params["rows"] = torch.arange(3, device=x.device)
            def forward(self, x: Tensor):
                return x[self.params["rows"]]
        """,
    "a tensor that is moved to where another one on the device is": """
        def f(x: Tensor, y: Tensor):
            return x.to(y), x.to(y, torch.float32), x.type_as(y), torch.ones(3).to(torch.zeros(3))
        """,
    "samples of what is not known, and an entropy that a class computes itself": """
        class Code:
            def entropy(self):
                return 0.5
        class M(nn.Module):
            def forward(self, x: Tensor):
                return x * float(self.memory.sample()) * float(Code().entropy())
        """,
    "the error path of what is tried": """
        def f(x: Tensor, extend):
            try:
                extend(x)
            except (NotImplementedError, RuntimeError):
                extend(x.tolist())
        """,
    "a kind that a name tells": "def f(x: Tensor, table):\n    return x if table.kind().type('sum') > 0 else -x\n",
    "an item that is known in each case": """
        class M(nn.Module):
            def forward(self, x: Tensor):
                more = {"n": 1}
                if x.shape[0] > 2:
                    more["n"] = 1
                return x.sum().item() if more["n"] > 3 else x
        """,
    "functions that are made and compute nothing": """
        def make(x: Tensor, names: dict):
            def name(key):
                return names[key] if key else None
            def size():
                return x.shape[0]
            return name, size
        """,
    "what is given to SciPy as numbers": """
        from scipy import optimize
        class M(nn.Module):
            def forward(self, x: Tensor, start: float):
                def cost(y):
                    return 2 * y.sum() if y[0] > 1 else y.sum()
                return optimize.minimize(cost, start)
        """,
    "numbers that are numbers": """
        class M(nn.Module):
            def forward(self, x: Tensor, v: Tensor, scale: float):
                y = torch.addr(x, v, v, alpha=scale, beta=2)
                y.addmm_(x, x, alpha=-scale).nan_to_num_(0.0)
                return nn.functional.softplus(torch.cdist(y, x, p=scale), beta=scale)
        """,
    "a number that a reduction adds up": """
        import functools
        class M(nn.Module):
            def forward(self, x: Tensor):
                total = functools.reduce(lambda total, p: total + p.numel(), self.parameters(), 0)
                assert x.numel() == total
                return x if total > 8 else -x
        """,
    "what keeps results and computes nothing": """
        from scipy.optimize import OptimizeResult
        class M(nn.Module):
            def forward(self, x: Tensor):
                return OptimizeResult(fun=x.sum(), x=x.detach(), nit=1)
        """,
    "an engine that is given the loss": """
        class M(nn.Module):
            def forward(self, x: Tensor, make):
                engine = make()
                engine.backward(x.sum())
                return x if engine else -x
        """,
    "what goes backward on a branch of its own": """
        class M(nn.Module):
            def forward(self, x: Tensor, make):
                f = make()
                if self.training:
                    f.backward()
                    return x
                return x if f else -x
        """,
    "a layer that goes backward by hand": """
        class M(nn.Module):
            def forward(self, x: Tensor, make):
                layer = make()
                layer.backward(x)
                self.backward()
                return x if layer else -x
        """,
    "what a gradient was not asked of": """
        class M(nn.Module):
            def forward(self, x: Tensor, make):
                f, scale = make()
                grads = torch.autograd.grad(x.sum(), x)
                return grads[0] if f > scale else x
        """,
    "a tensor equals no tuple and no list": """
        def f(x: Tensor, index: Union[Tensor, tuple]):
            if index == ():
                return x
            return x if index != [0] and x == (1, 2) else -x
        """,
    "a list of tensors compared with an empty one": """
        def f(xs: List[Tensor]):
            return xs[0] if xs == [] or xs == () else -xs[0]
        """,
    "what is counted may be a size": """
        def same(x: Tensor, new, old):
            if not new or not old:
                return x
            return x if new.numel() == old.numel() else -x
        """,
    "positions in a row, moved by what is not known, index as a row": """
        def allowed(mask: Tensor, row: int, column: int):
            return mask[row, column]
        class M(nn.Module):
            def forward(self, mask: Tensor, n: int, offset):
                rows = torch.arange(n) + offset
                return allowed(mask, rows[:, None], rows)
        """,
    "a record's number": """
        def f(x: Tensor, n: int):
            state = State(x * 2, n)
            return state.y if state.steps > 3 else state.y + 1
        """,
    "a record is no tensor": """
        def f(x: Tensor):
            table = Table(alpha=x, order=3)
            y, steps = State(x, 4)
            return x + 1 if table and isinstance(table, tuple) and steps > 2 else x
        """,
    "a size is made of ints": """
        def grown(shape: torch.Size, pad: Any) -> torch.Size:
            return torch.Size([*shape[:2], pad["size"][0], shape[-1]])
        def f(x: Tensor, pad: dict):
            shape = grown(x.shape, {"size": torch.tensor(x.shape)})
            return torch.zeros(shape[2]) if shape[2] > 4 else x
        """,
    "a symbolic int is no tensor": """
        def constant(data: Any, like: Tensor):
            if isinstance(data, (int, float, torch.SymInt, torch.SymFloat)):
                return torch.full((), data, dtype=like.dtype)
            return torch.as_tensor(data)
        def f(x: Tensor):
            return constant(x.sum(), x)
        """,
    "positions in several dimensions": """
        def f(x: Tensor, indices: Any, values: Tensor):
            batch, place = indices
            out = torch.zeros_like(x)
            out[batch, place] = values
            return out
        """,
    "a mask is made of positions": """
        def f(x: Tensor, subset: Tensor):
            mask = torch.zeros(x.size(0), dtype=torch.bool, device=x.device)
            mask[subset] = True
            return mask
        """,
    "an index that is called one": """
        def f(x: Tensor, node_index: Tensor, idx: List[Tensor], ids: Tensor):
            out = torch.zeros_like(x)
            out[node_index] = x
            out[idx[-1]] = 1
            out[ids] += 2
            return out
        """,
    "a flag out of a dict of tensors": """
        def f(x: Tensor, **kwargs: Tensor):
            if kwargs.get("use_cache", True) and kwargs.get("mode", "plain") == "plain":
                return x + 1
            return x
        """,
    "dtypes of different kinds": """
        class M(nn.Module):
            def forward(self, x: Tensor):
                ids = x.argmax(-1)
                if ids.dtype == torch.bool:
                    return x[ids]
                mask = x > 0
                if mask.dtype != torch.bool and mask.any():
                    return x + 1
                return x
        """,
    "an index computed with what is not known": """
        def at(mask: Tensor, row: int, column: int):
            return mask[row, column]
        class M(nn.Module):
            def forward(self, x: Tensor, mask: Tensor, offset):
                rows = torch.arange(x.size(0))[:, None].to(x.device)
                return at(mask, rows, rows + offset)
        """,
    "a name that speaks of a mask": """
        def f(x: Tensor, mask_indices, mask_ids, unmasked, mask_at):
            return x[mask_indices] + x[mask_ids] + x[unmasked] + x[mask_at]
        """,
    "a dict of anything": """
        def f(x: Tensor, model_kwargs: dict, more: Any):
            model_kwargs[more] = x
            model_kwargs["bias"] = x
            length = 1 if model_kwargs["use_cache"] else None
            return x if length is None else x + 1
        """,
    "a flag out of anything": """
        def warp(x: Tensor, align: bool = True, exact: Optional[bool] = None):
            return x + 1 if align and not exact else x
        class M(nn.Module):
            def forward(self, x: Tensor, which: Any, other: Any):
                flag = other if which else x.mean()
                return warp(x, flag, exact=flag)
        """,
    "an index in several dimensions, computed with another": """
        def at(mask: Tensor, row: int, column: int):
            return mask[row, column]
        class M(nn.Module):
            def forward(self, x: Tensor, mask: Tensor, offsets: Tensor):
                rows = torch.arange(x.size(0))[:, None].to(x.device)
                return at(mask, rows, rows + offsets)
        """,
    "a size that was read before": """
        def f(x: Tensor, n: Optional[int] = None):
            return torch.zeros((x.size(0), 4 if n is None else n))
        """,
}

FOUND = {
    "a tensor that becomes a dict of its rows": (
        """
        def merge(points, n):
            near = points.detach().sum().item()
            points = dict(enumerate(points))
            return near, [points.pop(key) for key in points.keys()]
        """,
        ["XLA301"],
    ),
    "a tensor with a note of the program's own": (
        """
        def settle(grad):
            if grad._seen:
                return grad
            return grad if grad.mean() > 3 else -grad
        """,
        ["XLA105"],
    ),
    "what has an attribute of NumPy's, or of a tensor": (
        """
        def settle(grad):
            return grad.astype(int) if grad.mean().item() > 3 else grad.detach()
        """,
        ["XLA301"],
    ),
    "an object, as its use says": (
        """
        def f(x: object, y: object):
            if not isinstance(x, Tensor):
                raise ValueError("no tensor")
            return x if torch.any(torch.isnan(x.float())) or torch.relu(y).sum() > 0 else -x.to(x.device)
        """,
        ["XLA105", "XLA105"],
    ),
    "no 0-d index from a search of the host's memory for several values": (
        """
        def f(x: Tensor, t: Tensor, u: Tensor):
            return x[torch.searchsorted(t.cpu(), u.cpu()).to(t.device)]
        """,
        ["XLA302", "XLA302"],
    ),
    "an item that is counted up from turn to turn": (
        """
        class M(nn.Module):
            def forward(self, x: Tensor, more: dict):
                if "n" not in more:
                    more["n"] = 0
                more["n"] += 1
                return x.sum().item() if more["n"] > 1 else x
        """,
        ["XLA301"],
    ),
    "a tensor among items that is counted up": (
        """
        class M(nn.Module):
            def forward(self, x: Tensor):
                more = {"total": x.sum()}
                more["total"] += 1
                return float(more["total"])
        """,
        ["XLA301"],
    ),
    "a tensor, as its dtype says": (
        """
        import numpy as np
        def f(x):
            if x.dtype == torch.int16:
                x = x / 32768
            return x[:, 0].max().item()
        """,
        ["XLA301"],
    ),
    "a tensor that is copied for what takes arrays by a bare name": (
        """
        from sklearn.metrics import average_precision_score
        def f(known, given):
            return average_precision_score(known[:, 0].cpu(), given.detach().cpu())
        """,
        ["XLA302", "XLA302"],
    ),
    "a tensor that a function of the program takes by a bare name": (
        """
        def mean(x):
            return x[0]
        def f(x):
            return mean(x[:, 0]), x[:, 1].max().item()
        """,
        ["XLA301"],
    ),
    "the entries of a column that loses its axis": (
        """
        class M(nn.Module):
            def forward(self, x: Tensor):
                rows = torch.arange(3, device=x.device).unsqueeze(1)
                rows.squeeze_(1)
                for row in rows:
                    x = x + x[row]
                for row in torch.arange(3, device=x.device)[:, None].squeeze(-1):
                    x = x + x[row]
                return x
        """,
        ["XLA208", "XLA208"],
    ),
    "the distinct values of a tensor": (
        """
        def f(x: Tensor, y: Tensor):
            for value in list(x.long().unique()):
                y[value] = 0
        """,
        ["XLA203", "XLA208"],
    ),
    "a mask that another method keeps under a key": (
        """
        class Base(nn.Module):
            def __init__(self):
                super().__init__()
                self.params = {}
            def forward(self, x: Tensor):
                self.choose(x)
                return self.cut(x)
        class M(Base):
            def choose(self, x: Tensor):
                self.params["rows"] = x.amax(-1) > 1
            def cut(self, x: Tensor):
                return x[self.params["rows"]]
        """,
        ["XLA201"],
    ),
    "a tensor that is moved to where one in host memory is": (
        """
        def f(x: Tensor):
            return x.to(torch.zeros(3)), x.type_as(x.cpu())
        """,
        ["XLA302", "XLA302", "XLA302"],
    ),
    "the entropy of what is not known": (
        """
        class M(nn.Module):
            def forward(self, x: Tensor):
                return x * float(self.policy(x).entropy().mean())
        """,
        ["XLA301"],
    ),
    "another way where one is not implemented": (
        """
        def f(x: Tensor, extend):
            try:
                extend(x)
            except NotImplementedError:
                extend(x.tolist())
        """,
        ["XLA302"],
    ),
    "a type that only tensors are given": (
        "def f(x: Tensor, table):\n    return x if table.count() - table.kept().type(torch.long) > 0 else -x\n",
        ["XLA105"],
    ),
    "types of the CPU's tensors": (
        """
        class M(nn.Module):
            def forward(self, x: Tensor):
                return x.type(torch.FloatTensor), (x > 0).type(torch.Tensor), x.type("torch.LongTensor")
        """,
        ["XLA302", "XLA302", "XLA302"],
    ),
    "an inverse as a power": (
        """
        def f(x: Tensor):
            return torch.matrix_power(x, -1) @ x.matrix_power(-2)
        """,
        ["XLA305", "XLA305"],
    ),
    "an item that may have been there before": (
        """
        class M(nn.Module):
            def forward(self, x: Tensor, more: dict):
                if x.shape[0] > 2:
                    more["n"] = 1
                return x.sum().item() if more["n"] > 3 else x
        """,
        ["XLA301"],
    ),
    "functions that are made, several": (
        """
        def make(x: Tensor):
            def total(y):
                return (x * y.detach()).sum().item()
            def width():
                return x.shape[-1]
            return width, total
        """,
        ["XLA301"],
    ),
    "what SciPy calls back": (
        """
        from scipy.optimize import minimize
        from scipy.sparse.linalg import LinearOperator
        class M(nn.Module):
            def forward(self, x: Tensor, start):
                def cost(y):
                    return (x * torch.tensor(y, device=x.device)).sum().item()
                def product(y):
                    return (x @ torch.tensor(y, device=x.device)).cpu().numpy()
                return minimize(cost, start), LinearOperator(x.shape, matvec=product)
        """,
        ["XLA301", "XLA302"],
    ),
    "numbers that are tensors": (
        """
        class M(nn.Module):
            def forward(self, x: Tensor, v: Tensor):
                scale = v.dot(v)
                y = torch.addr(x, v, v, alpha=scale)
                y.addmm_(x, x, beta=-scale)
                return nn.functional.softplus(torch.cdist(y, x, p=scale), scale)
        """,
        ["XLA301", "XLA301", "XLA301", "XLA301"],
    ),
    "a tensor that a reduction adds up": (
        """
        import functools
        class M(nn.Module):
            def forward(self, x: Tensor):
                total = functools.reduce(lambda total, p: total + p.sum(), self.parameters(), 0)
                return x if total > 8 else -x
        """,
        ["XLA105"],
    ),
    "what a gradient was asked of": (
        """
        class M(nn.Module):
            def forward(self, x: Tensor, make):
                f = make(x)
                g = torch.autograd.grad(f, x)
                return float(f)
        """,
        ["XLA301"],
    ),
    "what went backward": (
        """
        class M(nn.Module):
            def forward(self, x: Tensor, make):
                f = make(x)
                f.backward(retain_graph=True)
                return float(f)
        """,
        ["XLA301"],
    ),
    "what a computing function of SciPy's is given": (
        """
        import scipy.linalg
        class M(nn.Module):
            def forward(self, x: Tensor):
                return scipy.linalg.norm(x)
        """,
        ["XLA302"],
    ),
    "a record's tensor": (
        """
        def f(x: Tensor, n: int):
            state = State(x * 2, n)
            return state.y if state.y.sum() > 3 else state.y + 1
        """,
        ["XLA105"],
    ),
    "a record passed on": (
        """
        def step(table, x: Tensor):
            return x + 1 if table.alpha == 1.0 else x
        def f(x: Tensor):
            return step(Table(order=3, alpha=x.mean()), x)
        """,
        ["XLA105"],
    ),
    "an element of a record": (
        """
        def f(x: Tensor):
            y, steps = State(x, 4)
            while y.sum() < steps:
                y = y * 2
            return y
        """,
        ["XLA102"],
    ),
    "a mask made with an operator is one": (
        """
        def f(x: Tensor, chosen: Tensor):
            out = torch.zeros_like(x)
            out[x > 0] = 1
            return out
        """,
        ["XLA205"],
    ),
    "a mask of the host selects as many as it says": (
        """
        class M(nn.Module):
            def forward(self, x: Tensor):
                keep = torch.ones(x.size(0), dtype=torch.bool)
                keep[0] = False
                return x[keep]
        """,
        ["XLA201"],
    ),
    "a mask with a letter": (
        """
        def f(x: Tensor, mask_u, mask2):
            return x[mask_u].sum() + x[mask2].sum()
        """,
        ["XLA201", "XLA201"],
    ),
    "a flag that is a tensor": (
        """
        def warp(x: Tensor, align: bool = True):
            return x + 1 if align else x
        class M(nn.Module):
            def forward(self, x: Tensor):
                return warp(x, x.mean() > 0)
        """,
        ["XLA105"],
    ),
    "a known item of a dict of anything": (
        """
        class M(nn.Module):
            def forward(self, x: Tensor, more: dict):
                more["done"] = x.sum() > 0
                return x if more["done"] else x + 1
        """,
        ["XLA105"],
    ),
    "the read is the hazard, not the size": (
        """
        class M(nn.Module):
            def forward(self, x: Tensor, index: Tensor):
                n = int(index.max()) + 1
                return torch.zeros((x.size(0), n))
        """,
        ["XLA301"],
    ),
    "a size that is read where it is used": (
        """
        class M(nn.Module):
            def forward(self, x: Tensor, index: Tensor):
                return torch.zeros((x.size(0), int(index.max())))
        """,
        ["XLA206"],
    ),
    "a bool's dtype": (
        """
        class M(nn.Module):
            def forward(self, x: Tensor):
                mask = x > 0
                if mask.dtype == torch.bool:
                    return x[mask]
                return x
        """,
        ["XLA201"],
    ),
}


@pytest.mark.parametrize("code", SILENT.values(), ids=SILENT)
def test_silent(loud: Callable[[str, str], list[str]], code: str) -> None:
    assert loud(HEAD + dedent(code), "torch_xla") == []


@pytest.mark.parametrize(("code", "expected"), FOUND.values(), ids=FOUND)
def test_found(loud: Callable[[str, str], list[str]], code: str, expected: list[str]) -> None:
    assert loud(HEAD + dedent(code), "torch_xla") == expected


BASES = """
import torch
from torch import nn
class Loss(nn.Module):
    def forward(self, x, mask):
        return self.compute(x, mask)
class Table:
    pass
"""
BY_BASES = {
    "of a class that derives from no module": ("Table", 0),
    "of a class that derives from nothing that is known": ("Unknown", 0),
    "of a class that derives from a module": ("Loss", 1),
}


@pytest.mark.parametrize(("base", "count"), BY_BASES.values(), ids=BY_BASES)
def test_a_file_without_imports_is_of_the_framework_of_its_classes(base: str, count: int, tmp_path: Path) -> None:
    head = f"from bases import {base}\nclass Mine({base}):\n"
    text = head + "    def part(self, x, mask):\n        if mask.bool().any():\n            x = -x\n        return x\n"
    (tmp_path / "bases.py").write_text(BASES)
    (tmp_path / "mine.py").write_text(text)
    report = check_paths([tmp_path], Settings(target="torch_xla"))
    assert not report.failures
    assert [one.code for one in report.findings] == ["XLA101"] * count
