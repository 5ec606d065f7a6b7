"""Calls at which torch.compile ends a graph, and calls that it traces."""

from __future__ import annotations

from typing import cast

import pytest

from tests.conftest import Loud
from xlalint.config.releases import TargetVersion
from xlalint.config.settings import Settings
from xlalint.project import check_text

START = """
import contextlib
import copy
import importlib
import inspect
import logging
import math
import os
import pickle
import random
import sys
import time
import numpy as np
import scipy.special
import torch
from torch import nn
from torch.utils.checkpoint import checkpoint

log = logging.getLogger(__name__)
RNG = np.random.RandomState(0)

@torch.compiler.disable
def left_out(x):
    return x.item()

def traced(x):
    return x * 2

@torch.jit.script
def scripted(x):
    return x * 2

class Block(nn.Module):
    def __init__(self):
        super().__init__()
        self.rnn = nn.LSTM(4, 4)
        self.cell = nn.LSTMCell(4, 4)
        self.generator = torch.Generator()
        self.sobol = torch.quasirandom.SobolEngine(2)
        self.seeds = np.random.SeedSequence(3)
        self.began = time.time()

    def forward(self, x: torch.Tensor):
        {body}
        return x
"""

QUIET = {
    "a function of the program": "x = traced(x)",
    "a function that was scripted": "x = scripted(x)",
    "a test for scripts": "x = x if torch.jit.is_scripting() else torch.jit.annotate(torch.Tensor, x * 2)",
    "a variable of the environment": 'x = x * float(os.environ.get("SCALE", "1")) if os.getenv("A") else x',
    "a path": 'name = os.path.join("a", "b")',
    "a signature": "n = len(inspect.signature(traced).parameters)",
    "a copy of a list": "sizes = copy.deepcopy([1, 2])",
    "numbers": "x = x * math.sqrt(2.0)",
    "draws that it traces": "x = x * random.uniform(0.0, 1.0)",
    "draws that 2.14 traces": "x = x * random.random()",
    "draws of torch": "x = x + torch.rand(4)",
    "draws without a generator": "x = x + torch.randn(4, generator=None)",
    "a recurrent cell": "x, _ = self.cell(x)",
    "contexts that it traces": "with torch.no_grad(), contextlib.nullcontext():\n            x = x * 2",
    "gradients of functions": "x = torch.func.grad(lambda t: (t * 2).sum())(x)",
    "a checkpoint": "x = checkpoint(traced, x, use_reentrant=False)",
    "NumPy's that torch has": "grid = np.linspace(0.0, 1.0, 8)",
    "an array of numbers": "rows = np.zeros(3, dtype=np.float32)",
    "an address that nothing is compared with": "where = x.data_ptr()",
    "a product that takes dense tensors too": "x = torch.sparse.mm(x, x)",
    "elements drawn in place": "x = x.clone().exponential_() + x.clone().bernoulli_(0.5)",
    "the dimension of a sequence": "x = x * self.sobol.dimension",
    "what a sequence of seeds was made of": "made_of = self.seeds.entropy",
    "the tensor's data": "x = x.data.as_strided((2, 2), (1, 2))",
}
FOUND = {
    "a clock": ("t = time.perf_counter()", ["XLA701"]),
    "a clock by another name": ("clock = time.time\n        t = clock()", ["XLA701"]),
    "a log call": ('log.info("x")', ["XLA701"]),
    "a file": ('h = open("a")', ["XLA701"]),
    "a pickle": ("b = pickle.dumps([1])", ["XLA701"]),
    "a module by name": ('m = importlib.import_module("math")', ["XLA701"]),
    "a frame": ("f = sys._getframe()", ["XLA701"]),
    "a function that is scripted here": ("x = torch.jit.script(traced)(x)", ["XLA701"]),
    "a task of a script": ("x = torch.jit.wait(torch.jit.fork(traced, x))", ["XLA701"]),
    "SciPy": ("y = scipy.special.gamma(2.0)", ["XLA701"]),
    "a function that is left out, and nothing within it": ("x = left_out(x)", ["XLA702"]),
    "one that is left out here": ("x = torch.compiler.disable(traced)(x)", ["XLA702"]),
    "a break asked for": ("torch._dynamo.graph_break()", ["XLA702"]),
    "a fork of random numbers": ("with torch.random.fork_rng():\n            x = x * 2", ["XLA703"]),
    "anomalies": ("with torch.autograd.detect_anomaly():\n            x = x * 2", ["XLA703"]),
    "NumPy's that torch lacks": ("y = np.interp(0.5, [0.0, 1.0], [0.0, 1.0])", ["XLA704"]),
    "an array of objects": ("rows = np.empty(3, dtype=object)", ["XLA704"]),
    "a recurrent module": ("x, _ = self.rnn(x)", ["XLA705"]),
    "its parameters in one piece": ("self.rnn.flatten_parameters()", ["XLA705"]),
    "a gradient": ("(g,) = torch.autograd.grad(x.sum(), x)", ["XLA706"]),
    "a backward pass": ("x.sum().backward()", ["XLA706"]),
    "a sparse tensor": ("x = x.to_sparse()", ["XLA707"]),
    "a seed": ("torch.manual_seed(0)", ["XLA708"]),
    "a generator": ("x = x + torch.randn(4, generator=self.generator)", ["XLA708"]),
    "NumPy's state": ("y = RNG.uniform()", ["XLA708"]),
    "a choice": ("k = random.choice([1, 2])", ["XLA708"]),
    "a quasirandom sequence of the module": ("x = x + self.sobol.draw(4)[0, 0]", ["XLA708"]),
    "numbers of a sequence of seeds": ("seed = self.seeds.generate_state(1)", ["XLA708"]),
    "integers drawn in place": ("x = x + x.clone().random_(0, 5)", ["XLA708"]),
    "a copy of a tensor": ("x = x + copy.deepcopy(x)", ["XLA709"]),
    "memory that is resized": ("x.resize_(2, 2)", ["XLA709"]),
}


@pytest.mark.parametrize("body", QUIET.values(), ids=list(QUIET))
def test_quiet(body: str, loud: Loud) -> None:
    assert loud(START.replace("{body}", body), "torch_compile") == []


@pytest.mark.parametrize("target", ["torch_xla", "torch_tpu"])
@pytest.mark.parametrize("body", [body for body, _ in FOUND.values()], ids=list(FOUND))
def test_other_targets_have_no_graph_breaks(body: str, target: str, loud: Loud) -> None:
    assert not [code for code in loud(START.replace("{body}", body), target) if code.startswith("XLA7")]


@pytest.mark.parametrize(("body", "codes"), FOUND.values(), ids=list(FOUND))
def test_found(body: str, codes: list[str], loud: Loud) -> None:
    assert loud(START.replace("{body}", body), "torch_compile") == codes


def test_loop_that_trains_is_host_code(loud: Loud) -> None:
    code = """
import time
import torch

def train(model: torch.nn.Module, optimizer: torch.optim.Optimizer, loader):
    for batch in loader:
        began = time.time()
        optimizer.zero_grad()
        model(batch).mean().backward()
        optimizer.step()
"""
    assert not [found for found in loud(code, "torch_compile") if found.startswith("XLA7")]


RELEASES = {
    "traced from 2.14 on": ("x = x * random.random()", "torch2.13", "torch2.14", ["XLA708"]),
    "traced from 2.13 on": (
        "with contextlib.suppress(ValueError):\n            x = x * 2",
        "torch2.9",
        "torch2.13",
        ["XLA703"],
    ),
    "of a list": ("sizes = copy.deepcopy([1, 2])", "torch2.9", "torch2.14", ["XLA709"]),
    "quantiles that a tensor says": ("x = torch.quantile(x, torch.rand(2))", "torch2.11", "torch2.12", ["XLA305"]),
    "a quantile": ("x = torch.quantile(x, 0.5)", "torch2.11", "torch2.12", ["XLA305"]),
    "a quantile of numbers": ("x = x.nanquantile(0.5, -1)", "torch2.11", "torch2.12", ["XLA305"]),
    "pairs": ("x = torch.combinations(x[0])", "torch2.13", "torch2.14", ["XLA209"]),
    "a break since then": ("x = x.to_sparse()", "torch2.14", "torch2.6", ["XLA707"]),
}


@pytest.mark.parametrize(("body", "broken", "traced", "codes"), RELEASES.values(), ids=list(RELEASES))
def test_release_decides(body: str, broken: str, traced: str, codes: list[str]) -> None:
    for release, wanted in ((broken, codes), (traced, [])):
        settings = Settings(target="torch_compile", target_version=cast("TargetVersion", release))
        report = check_text(START.replace("{body}", body), "block.py", settings)
        assert [found.code for found in report.findings if found.severity != "info"] == wanted
