"""What JAX computes by operations one by one, in loops of the host that take compiled steps: it stands behind these on the device."""

from __future__ import annotations

import pytest

from tests.conftest import Loud

HEAD = """
import dataclasses
from typing import NamedTuple

import chex
import jax
import jax.numpy as jnp
import numpy as np
from flax import struct


@jax.jit
def step(params, batch):
    return params - batch, (params * batch).sum()


@struct.dataclass
class Buffer:
    rows: jax.Array
    size: jax.Array
    most: int = 100

    def full(self):
        return self.size > self.most


class Kept(NamedTuple):
    best: jax.Array
    turns: int


def add(buffer, batch):
    return Buffer(rows=buffer.rows.at[0].set(batch), size=jnp.minimum(buffer.size + 1, 100))


def double(rows):
    return jnp.reshape(rows, -1) * 2


def first(buffer):
    return buffer.rows


def count(turns):
    return turns + 1


def scale(width):
    return float(jnp.clip(width, 0.1, 2.0))


def place(width):
    return float(jnp.asarray(width))


def total(rows):
    found = 0.0
    for row in rows:
        found += float(jnp.sum(row))
    return found
"""
LOOP = """
def train(params, loader, rate):
    buffer, width, kept = Buffer(jnp.zeros(3), jnp.zeros(())), 1.0, Kept(jnp.zeros(()), 0)
    for i, batch in enumerate(loader):
        params, loss = step(params, batch)
        {0}
"""
GRID = """
SIZE = 15

def move(at, action):
    later = {0}
    return later, 1.0

def play(params, rows):
    at = 0
    while True:
        action = int(jnp.argmax(params @ rows[at]))
        at, reward = move(at, action)
        params, loss = step(params, reward)
"""
TURNS = "    for b in loader:\n        params, loss = step(params, b)\n"
SILENT = {
    "before the loop": "def train(params, loader, rate):\n    print(float(jnp.sum(rate)))\n" + TURNS,
    "behind the loop": "def train(params, loader, rate):\n" + TURNS + "    print(float(jnp.sum(rate)))",
    "at every n-th turn": LOOP.format("if i % 100 == 0:\n            print(float(jnp.sum(params)))"),
    "a loop that takes no step": "def show(rows):\n    for row in rows:\n        print(float(jnp.sum(row)))",
    "a copy of a number": LOOP.format("width = float(jnp.asarray(width))"),
    "a copy of a number, in a function": LOOP.format("width = place(width)"),
    "what was made before": LOOP.format("pass").replace("    for i", "    rate = jnp.sum(rate)\n    for i")
    + "        print(float(rate))",
    "an array of NumPy's": LOOP.format("print(float(np.sum(batch)))"),
    "its shape": LOOP.format("print(jnp.stack([params, params]).shape[0])"),
    "what a function only hands back": LOOP.format("print(float(first(Buffer(rate, 1))[0]))"),
    "a function that computes nothing": LOOP.format("if count(i) > 3:\n            print('many')"),
    "a function of loops of its own, once": LOOP.format("pass") + "    print(total(params))",
    "a function, at every n-th turn": LOOP.format("if i % 100 == 0:\n            width = scale(params[0])"),
    "a function, behind the loop": LOOP.format("pass") + "    return scale(params[0])",
    "a record that the host counts in": LOOP.format(
        "kept = kept._replace(turns=i)\n        if kept.turns > 3:\n            print('many')"
    ),
    "a setting of a record that is replaced": LOOP.format(
        "buffer = buffer.replace(most=9)\n        if buffer.most > 3:\n            print('many')"
    ),
    "what a record keeps, in a compiled function": (
        "@jax.jit\ndef learn(buffer, batch):\n    buffer = buffer.replace(rows=batch)\n    return buffer.rows if buffer.most > 3 else batch"
    ),
    "a text that is replaced": LOOP.format("name = 'loss'.replace('l', 'b')\n        print(name)"),
    "an action that is annotated, and a simulation needs": (
        "def play(params, env):\n    seen = env.reset()\n    while True:\n        action: int = jnp.argmax(jnp.tanh(seen)).item()\n"
        "        later, reward = env.step(action)\n        params, loss = step(params, reward)\n        seen = later"
    ),
    "an action that a simulation of plain Python needs, in the same module": GRID.format("(at + action) % 16"),
    "such a simulation, by functions of Python's and a constant": GRID.format("min(max(at + action, 0), SIZE)"),
}
FOUND = {
    "an action of which a compiled function makes the next state": GRID.format("step(at, action)[0]"),
    "of what the step gave": LOOP.format("print(float(jnp.linalg.norm(params)))"),
    "of what was there before": LOOP.format("print(float(jnp.sum(rate)))"),
    "by a name": LOOP.format("norm = jnp.sum(rate)\n        print(float(norm))"),
    "of a copy": LOOP.format("width = float(jnp.clip(jnp.asarray(width), 0.1, 2.0))"),
    "asked for its truth": LOOP.format("norm = jnp.abs(rate)\n        if norm > 3:\n            print('large')"),
    "in a function that computes it": LOOP.format("width = scale(width)"),
    "what a function gives": LOOP.format(
        "buffer = add(buffer, batch)\n        if buffer.size > 3:\n            print('many')"
    ),
    "what a function makes of something else": LOOP.format("print(float(double(rate)[0]))"),
    "what is replaced in a record": LOOP.format(
        "buffer = buffer.replace(size=jnp.minimum(buffer.size + 1, 9))\n        if buffer.size > 3:\n            print('many')"
    ),
    "what is replaced in a named tuple": LOOP.format(
        "kept = kept._replace(best=loss)\n        print(float(kept.best))"
    ),
    "what is replaced in a dataclass": LOOP.format(
        "buffer = dataclasses.replace(buffer, size=loss)\n        print(float(buffer.size))"
    ),
}


@pytest.mark.parametrize("code", SILENT.values(), ids=SILENT)
def test_what_waits_for_no_step_is_silent(code: str, loud: Loud) -> None:
    assert loud(HEAD + code, "jax") == []


@pytest.mark.parametrize("code", FOUND.values(), ids=FOUND)
def test_what_stands_behind_a_step_is_found(code: str, loud: Loud) -> None:
    assert loud(HEAD + code, "jax") == ["XLA301"]
