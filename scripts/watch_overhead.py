"""What `xlalint.watch` costs a step of about 5 ms: python scripts/watch_overhead.py [torch_xla] [jax] [tensorflow] [torch_compile]

Each framework in a process of its own. What a watch costs does not depend on how large the arrays are, so they are small here, where it
can be told from noise: the fastest of many blocks of steps, watched or not. `with` is one watch around them, `call` a decorated step.
"""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Callable

import xlalint

TURNS, BLOCKS, STEPS, TARGET = 10, 20, 20, 0.005
Step = Callable[[], object]
Make = Callable[[int], Step]


def torch_xla() -> Make:
    os.environ.setdefault("PJRT_DEVICE", "CPU")
    import torch
    import torch_xla

    device = torch_xla.device()

    def make(size: int) -> Step:
        layers = torch.nn.Sequential(*[torch.nn.Linear(size, size) for _ in range(4)]).to(device)
        optimizer = torch.optim.SGD(layers.parameters(), 1e-3)
        batch = torch.randn(64, size).to(device)

        def step() -> None:
            optimizer.zero_grad()
            layers(batch).square().mean().backward()
            optimizer.step()
            torch_xla.sync(wait=True)

        return step

    return make


def torch_compile() -> Make:
    import torch

    def make(size: int) -> Step:
        weight, batch = torch.randn(size, size), torch.randn(256, size)
        function = torch.compile(lambda w, x: (x @ w).relu().sum(), backend="eager")
        return lambda: function(weight, batch)

    return make


def jax() -> Make:
    os.environ.setdefault("JAX_PLATFORMS", "cpu")
    import jax
    import jax.numpy as jnp

    def make(size: int) -> Step:
        weight, batch = jnp.ones((size, size)), jnp.ones((256, size))
        function = jax.jit(lambda w, x: w - 1e-9 * (x.T @ jnp.tanh(x @ w)))
        return lambda: jax.block_until_ready(function(weight, batch))

    return make


def tensorflow() -> Make:
    from xlalint.verify import environment

    environment.countable()
    import tensorflow as tf

    def make(size: int) -> Step:
        weight, batch = tf.ones((size, size)), tf.ones((256, size))
        function = tf.function(lambda w, x: tf.reduce_sum(tf.tanh(x @ w)), jit_compile=True)
        return lambda: float(function(weight, batch))

    return make


FRAMEWORKS = {made.__name__: made for made in (torch_xla, jax, tensorflow, torch_compile)}


def fastest(step: Step, blocks: int) -> float:
    """Seconds per step."""
    took = []
    for _ in range(blocks):
        start = time.perf_counter()
        for _ in range(STEPS):
            step()
        took.append(time.perf_counter() - start)
    return min(took) / STEPS


def measure(name: str) -> None:
    step = FRAMEWORKS[name]()(16)
    fastest(step, 5)
    plain, around = [], []
    for _ in range(TURNS):
        plain.append(fastest(step, BLOCKS))
        with xlalint.watch():
            fastest(step, 5)  # at first, causes without a line are looked for
            around.append(fastest(step, BLOCKS))
    watched = xlalint.watch(max_compiles=10_000)(step)
    call = fastest(watched, TURNS * BLOCKS)
    costs = [(told, (took - min(plain))) for told, took in (("with", min(around)), ("call", call))]
    words = "   ".join(f"{told} {cost * 1e6:+4.0f} µs, {cost / TARGET:+.1%} of 5 ms" for told, cost in costs)
    print(f"{name:14} {min(plain) * 1e6:5.0f} µs a step   {words}", flush=True)


if __name__ == "__main__":
    names = sys.argv[1:] or list(FRAMEWORKS)
    if len(names) == 1:
        measure(names[0])
    else:
        for name in names:
            subprocess.run([sys.executable, __file__, name], check=True, stderr=subprocess.DEVNULL)
