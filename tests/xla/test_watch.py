"""`xlalint.watch` around steps of each framework, in a process of its own: what it counts, where, and when it raises."""

from __future__ import annotations

import os
import subprocess
import sys
from collections import Counter
from pathlib import Path

import pytest

from tests.xla.conftest import LIMIT, require

TORCH_XLA = """
import torch, torch_xla, xlalint

def step(x):
    y = (x * 2).sum()
    if float(y) > 0:  # read
        y = y + 1
    torch_xla.sync()  # end

with xlalint.watch(warmup=2) as seen:
    for size in (4, 4, 4, 5, 6):
        step(torch.ones(size).to("xla"))
        seen.step()
"""
TORCH_COMPILE = """
import torch, xlalint

@torch.compile(backend="eager")
def step(x):
    y = x * 2
    torch._dynamo.graph_break()  # break
    return y.sum()

with xlalint.watch() as seen:
    for size in (4, 4):
        step(torch.ones(size))
"""
JAX = """
import jax, jax.numpy as jnp, xlalint

@jax.jit
def step(x):
    return (x * 2).sum()

inputs = [jnp.ones(size) for size in (4, 4, 4, 5, 6)]
with xlalint.watch(warmup=2) as seen:
    for x in inputs:
        y = step(x)  # end
        float(y)  # read
        seen.step()
"""
TENSORFLOW = """
import xlalint
with xlalint.watch(warmup=2) as seen:
    import tensorflow as tf

    @tf.function(jit_compile=True)
    def step(x):
        return tf.reduce_sum(x * 2)

    for size in (4, 4, 4, 5, 6):
        y = step(tf.ones(size))  # end
        float(y)  # read
        seen.step()
"""
TELL = """
lines = open(__file__).read().splitlines()
for event in seen.events:
    print(event.kind, event.count, lines[event.place.line - 1].partition("# ")[2].strip() or "unmarked" if event.place else "unplaced")
print(seen.frameworks, seen.counts.compilations, seen.syncs, seen.graph_breaks)
"""
DECORATED = """
import jax, jax.numpy as jnp, xlalint

@xlalint.watch(max_compiles=1)
@jax.jit
def step(x):
    return (x * 2).sum()

inputs = [jnp.ones(size) for size in (4, 4, 5)]
step(inputs[0]), step(inputs[1])
try:
    step(inputs[2])
except xlalint.LimitExceededError as error:
    print(str(error).splitlines()[0], len(error.events))
"""


def told(text: str, folder: Path) -> list[str]:
    """What a program prints."""
    (folder / "program.py").write_text(text)
    env = {**os.environ, "PJRT_DEVICE": "CPU", "JAX_PLATFORMS": "cpu"}
    done = subprocess.run(
        [sys.executable, "program.py"], cwd=folder, env=env, capture_output=True, text=True, timeout=LIMIT
    )
    assert done.returncode == 0, done.stderr[-4000:]
    return done.stdout.splitlines()


def counted(text: str, folder: Path) -> tuple[dict[str, int], str]:
    """How many events of each kind a program had on each marked line; and what was counted."""
    *events, counts = told(text + TELL, folder)
    found: Counter[str] = Counter()
    for kind, count, mark in map(str.split, events):
        found[f"{kind} {mark}"] += int(count)
    return dict(found), counts


@pytest.mark.torch_xla
def test_torch_xla(tmp_path: Path) -> None:
    require("torch")
    events, counts = counted(TORCH_XLA, tmp_path)
    assert events["host-sync read"] == 3
    assert events["compilation read"] + events["compilation end"] == 4
    assert "'torch_xla'" in counts and ") 4 3 " in counts


@pytest.mark.torch_xla
def test_torch_compile(tmp_path: Path) -> None:
    require("torch")
    events, counts = counted(TORCH_COMPILE, tmp_path)
    assert events["graph-break break"] == 1
    assert counts.startswith("('torch_compile',)") and counts.endswith(" 1")


@pytest.mark.jax
def test_jax(tmp_path: Path) -> None:
    require("jax")
    assert counted(JAX, tmp_path) == ({"compilation end": 2, "host-sync read": 3}, "('jax',) 2 3 0")


@pytest.mark.tensorflow
def test_tensorflow_that_is_imported_inside(tmp_path: Path) -> None:
    require("tensorflow")
    events, counts = counted(TENSORFLOW, tmp_path)
    assert events == {"compilation end": 2, "host-sync read": 3}
    assert "'tensorflow'" in counts and ") 2 3 0" in counts


@pytest.mark.jax
def test_a_decorated_step(tmp_path: Path) -> None:
    require("jax")
    assert told(DECORATED, tmp_path) == ["2 compilations, at most 1 allowed 2"]
