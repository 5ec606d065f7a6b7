"""Functions that another compiler makes are opaque: nothing is told of what stands in them, however they are called."""

from __future__ import annotations

import textwrap

import pytest

from xlalint.config import Settings
from xlalint.project import check_text

PROGRAM = """
import contextlib
import functools

import numba
import numba as nb
import taichi as ti
import torch
import triton
import warp as wp
from numba import cuda, njit
from torch import nn

{made}
def kernel(x, n=3):
    if x.sum() > 0:
        return x.item()
    return x


class Model(nn.Module):
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        y = torch.relu(x)
        {call}
        return y
"""
CLOSED = [
    "@njit",
    "@nb.njit(cache=True)",
    "@numba.jit",
    "@numba.vectorize(['f4(f4)'])",
    "@cuda.jit",
    "@triton.jit",
    "@ti.kernel",
    "@wp.func",
]
CLOSED += ["@functools.cache\n@njit", "@triton.autotune(configs=[], key=['n'])\n@triton.jit"]
OPEN = [
    "",
    "@torch.no_grad()",
    "@functools.cache",
    "@contextlib.contextmanager",
    "@torch.jit.script",
    "@numba.set_num_threads",
]
OPEN += ["@unknown.jit", "@functools.wraps(njit)", "@triton.testing.perf_report([])", "@nn.jit"]


def found(made: str, call: str) -> set[int]:
    text = textwrap.dedent(PROGRAM).format(made=made, call=call)
    first = text[: text.index("def kernel")].count("\n") + 1
    findings = check_text(text, "model.py", Settings(target="torch_xla", python=None, show_info=True)).findings
    return {one.location.row - first for one in findings}


@pytest.mark.parametrize("made", CLOSED)
@pytest.mark.parametrize("call", ["kernel(y)", "kernel[8](y, 3)", "pass"])
def test_closed(made: str, call: str) -> None:
    assert found(made, call) == set()


@pytest.mark.parametrize("made", OPEN)
def test_open(made: str) -> None:
    assert {1, 2} & found(made, "kernel(y)")
