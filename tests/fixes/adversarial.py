"""Functions on which a fix may go wrong, as data: `adversaries/<framework>.txt` has a block for each.

    ## what it is (x t)
    #! what the unsafe fix must say, where it may change something
    the lines of its body

In parentheses stand the parameters; `tests/xla/run_adversaries.py` says what each name is. `m:b[2,3]` says it for one.
"""

from __future__ import annotations

import re
import textwrap
from pathlib import Path
from typing import NamedTuple

FOLDER = Path(__file__).parent / "adversaries"
TARGETS = {"torch": "torch_xla", "jax": "jax", "tensorflow": "tf"}
TYPES = {"torch": "torch.Tensor", "jax": "jax.Array", "tensorflow": "tf.Tensor"}
HEADS = {
    "torch": """import torch
import torch.nn.functional as F
from torch import nn


class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.linear = nn.Linear(4, 4)
        self.drop = nn.Dropout(0.5)
        self.norm = nn.BatchNorm1d(4)
        self.weight = nn.Parameter(torch.tensor([1.0, -2.0, 0.5, 3.0]))
        self.register_buffer("total", torch.zeros(4))
        self.kept = None

    def forward(self, {parameters}):
""",
    "jax": """import jax
import jax.numpy as jnp


@jax.jit
def f({parameters}):
""",
    "tensorflow": """import tensorflow as tf


@tf.function(jit_compile=True)
def f({parameters}):
""",
}
_HEADER = re.compile(r"^## (.+) \(([^()]*)\)$", re.MULTILINE)


class Adversary(NamedTuple):
    """A function: its framework, its name, its parameters, its body, and what an unsafe fix of it must say."""

    framework: str
    name: str
    parameters: str
    body: str
    assumed: tuple[str, ...]

    @property
    def text(self) -> str:
        """The module that it is in."""
        kind = TYPES[self.framework]
        named = ", ".join(f"{one.partition(':')[0]}: {kind}" for one in self.parameters.split())
        head = HEADS[self.framework].format(parameters=named)
        return head + textwrap.indent(self.body, " " * (8 if self.framework == "torch" else 4))


def adversaries(framework: str) -> list[Adversary]:
    """All functions of a framework."""
    parts = _HEADER.split((FOLDER / f"{framework}.txt").read_text(encoding="utf-8"))
    found = []
    for name, parameters, block in zip(parts[1::3], parts[2::3], parts[3::3], strict=True):
        lines = block.strip("\n").splitlines()
        told = tuple(line[2:].strip() for line in lines if line.startswith("#!"))
        body = "\n".join(line for line in lines if not line.startswith("#!"))
        found.append(Adversary(framework, name, parameters, f"{body}\n", told))
    return found
