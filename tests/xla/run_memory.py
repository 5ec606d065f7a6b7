"""Child process of `test_memory`: calls operations of torch in every way that they take, and prints which gave memory that they got."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from typing import Any

import torch

from xlalint.fixes.toolkit.operations import WRITING

OPERANDS = (
    torch.rand(4, 4),
    torch.rand(4),
    torch.tensor(2.0),
    torch.rand(2, 4, 4),
    torch.rand(1, 2, 4, 4),
    torch.randint(1, 4, (4, 4)),
    torch.rand(4, 4) > 0.5,
    torch.rand(1, 1),
    torch.rand(1),
)
NUMBERS: tuple[Any, ...] = (
    *((), (0,), (1,), (1, 1), (1.0,), (0.0,), ((),), ((0,),), ((1,),), ((0, 0),), ((1, 1),), ((1, 1, 1, 1),)),
    *((0, 0), (0, 1), (0, 0, 1), (None,)),
)


def arguments(x: torch.Tensor) -> Iterator[tuple[Any, ...]]:
    """Arguments after the first that some operation takes."""
    yield from NUMBERS
    index = torch.zeros_like(x, dtype=torch.int64)
    rows = torch.arange(x.shape[0] if x.dim() else 1)
    kernel = torch.ones(x.shape[1], 1, 1, 1) if x.dim() > 1 else x
    yield from (
        (x,),
        (x, x),
        (x, 1.0),
        (1.0, x),
        (0, index),
        (0, index, x),
        (0, index, 1.0),
        (0, rows),
        (0, rows, x),
    )
    yield from ((x > 0,), (x > 0, x), (x > 0, 0.0), (torch.eye(x.shape[-1] if x.dim() else 1),), (kernel,))


def calls(x: torch.Tensor) -> Iterator[tuple[Any, ...]]:
    """All arguments that are tried with a tensor."""
    for others in arguments(x):
        yield (x, *others)
    yield from (([x],), ([x], 0), (x > 0, x, x), ("ij->ij", x), ("...->...", x))


def memory(value: object) -> set[int]:
    """Where the elements of tensors lie."""
    if isinstance(value, (tuple, list)):
        return set().union(*map(memory, value))
    filled = isinstance(value, torch.Tensor) and value.numel()
    return {value.untyped_storage().data_ptr()} if filled else set()  # type: ignore[union-attr]


def observe(name: str) -> str:
    """Return "new", "shares" or, for what no call ran of, "unknown"."""
    seen = "unknown"
    for holder in (torch, torch.Tensor, torch.nn.functional, torch.linalg):
        function = getattr(holder, name, None)
        for x in OPERANDS if callable(function) else ():
            for given in calls(x):
                if name in WRITING and len(given) > 1:
                    continue
                try:
                    result = function(*given)
                except Exception:  # noqa: BLE001 (most operations take few of these)
                    continue
                if memory(result) & memory(given):
                    return "shares"
                seen = "new"
    return seen


if __name__ == "__main__":
    print(json.dumps({name: observe(name) for name in json.load(sys.stdin)}))
