#!/usr/bin/env python3
"""What do reads and recompilations of a JAX training loop cost on the device that is at hand?

A model of residual layers (bfloat16) is trained by `jax.jit`, with some milliseconds of other work on the host at each step, as a loader or
a logger takes them. The loop keeps its losses, reads one at each step or at every 50th, or compares each with the best. Then batches of new
lengths, a static number that changes, and a function that is jitted at each call.

usage: loop_times.py [--layers 12] [--width 1024] [--rows 4096] [--steps 100] [--json FILE]

Times are milliseconds a step: of the loops the fastest of three, of what recompiles the mean of 15.
"""

from __future__ import annotations

import argparse
import functools
import json
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

LOOPS = ("reads nothing", "reads each", "compares each", "reads every 50th", "keeps each, reads them behind the loop")
HOST_MS = (0, 2, 5, 10)
FEW = 15

Params = list[tuple[jax.Array, jax.Array]]


def make(layers: int, width: int) -> Params:
    """Draw the weights of residual layers, each four times as wide within."""
    keys = jax.random.split(jax.random.PRNGKey(0), (layers, 2))
    shapes = (width, 4 * width), (4 * width, width)
    return [
        (jax.random.normal(a, shapes[0], jnp.bfloat16) * 0.02, jax.random.normal(b, shapes[1], jnp.bfloat16) * 0.02)
        for a, b in keys
    ]


def loss_of(params: Params, x: jax.Array, y: jax.Array) -> jax.Array:
    for inner, outer in params:
        x = x + jax.nn.gelu(x @ inner) @ outer
    return jnp.mean((x - y).astype(jnp.float32) ** 2)


@functools.partial(jax.jit, donate_argnums=0)
def step(params: Params, x: jax.Array, y: jax.Array) -> tuple[Params, jax.Array]:
    loss, gradients = jax.value_and_grad(loss_of)(params, x, y)
    return jax.tree.map(lambda p, g: p - 1e-4 * g.astype(p.dtype), params, gradients), loss


def work(milliseconds: float) -> None:
    """Keep the host busy."""
    end = time.perf_counter() + milliseconds / 1e3
    while time.perf_counter() < end:
        pass


def time_loop(kind: str, host_ms: float, asked: argparse.Namespace) -> float:
    """Train for some steps; milliseconds a step."""
    params = make(asked.layers, asked.width)
    x = jnp.asarray(np.random.default_rng(0).standard_normal((asked.rows, asked.width)), jnp.bfloat16)
    y = jnp.zeros_like(x)
    for _ in range(3):
        params, loss = step(params, x, y)
    jax.block_until_ready(params)
    best: Any = float("inf")
    kept: list[Any] = []
    start = time.perf_counter()
    for turn in range(asked.steps):
        work(host_ms)
        params, loss = step(params, x, y)
        if kind == LOOPS[1] or (kind == LOOPS[3] and turn % 50 == 0):
            kept.append(float(loss))
        elif kind == LOOPS[2]:
            if loss < best:
                best = loss
        elif kind == LOOPS[4]:
            kept.append(loss)
    kept = [float(one) for one in kept]
    jax.block_until_ready(params)
    return (time.perf_counter() - start) / asked.steps * 1e3


def time_lengths(asked: argparse.Namespace, padded: bool) -> float:
    """Train on batches of other lengths each; milliseconds a step, compilations and all."""
    lengths = np.random.default_rng(1).integers(100, 512, FEW)
    params = make(asked.layers, asked.width)
    start = time.perf_counter()
    for length in lengths:
        x = jnp.zeros((512 if padded else int(length), asked.width), jnp.bfloat16)
        params, _ = step(params, x, x)
    jax.block_until_ready(params)
    return (time.perf_counter() - start) / FEW * 1e3


def time_calls(call: Callable[[int], jax.Array]) -> float:
    """Call something some times, once before; milliseconds a call."""
    call(0).block_until_ready()
    start = time.perf_counter()
    for turn in range(1, FEW + 1):
        result = call(turn)
    result.block_until_ready()
    return (time.perf_counter() - start) / FEW * 1e3


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--layers", type=int, default=12)
    parser.add_argument("--width", type=int, default=1024)
    parser.add_argument("--rows", type=int, default=4096)
    parser.add_argument("--steps", type=int, default=100)
    parser.add_argument("--json", type=Path)
    asked = parser.parse_args()

    found: dict[str, Any] = {"device": str(jax.devices()[0]), "jax": jax.__version__}
    for host_ms in HOST_MS:
        for kind in LOOPS:
            name = f"{kind}, {host_ms} ms on the host"
            found[name] = min(time_loop(kind, host_ms, asked) for _ in range(3))
            print(f"{found[name]:10.3f}  {name}", flush=True)
    x = jnp.ones((1024, 1024))
    static = jax.jit(lambda v, s: v * s, static_argnums=1)
    traced = jax.jit(lambda v, s: v * s)
    double = jax.jit(lambda v: v * 2)
    rest = {
        "lengths padded to one": lambda: time_lengths(asked, padded=True),
        "other lengths each": lambda: time_lengths(asked, padded=False),
        "a number that changes, static": lambda: time_calls(lambda turn: static(x, 1.0 / (turn + 1))),
        "a number that changes, traced": lambda: time_calls(lambda turn: traced(x, 1.0 / (turn + 1))),
        "jitted at each call": lambda: time_calls(lambda _: jax.jit(lambda v: v * 2)(x)),
        "jitted once": lambda: time_calls(lambda _: double(x)),
    }
    for name, measure in rest.items():
        found[name] = measure()
        print(f"{found[name]:10.3f}  {name}", flush=True)
    if asked.json:
        asked.json.write_text(json.dumps(found, indent=1), encoding="utf-8")


if __name__ == "__main__":
    main()
