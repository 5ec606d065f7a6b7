"""XLA406 around compiled functions: arrays that grow from call to call; and the larger half, of those that do not, left alone."""

from __future__ import annotations

import pytest

from tests.frameworks.checks.rows import find_rows

JAX = """
import jax
import jax.numpy as jnp
import numpy as np

@jax.jit
def step(x, y=None):
    return jnp.tanh(x).sum(0)

def plain(x):
    return jnp.tanh(x).sum(0)

forward = jax.jit(plain)
x = jnp.ones((1, 8))
"""
KERAS = """
import tensorflow as tf

@tf.function
def step(x):
    return tf.reduce_sum(x, 0)

@tf.function(reduce_retracing=True)
def retraced(x):
    return tf.reduce_sum(x, 0)

@tf.function(reduce_retracing=True, jit_compile=True)
def compiled(x):
    return tf.reduce_sum(x, 0)

@tf.function(input_signature=[tf.TensorSpec((None, 8))])
def signed(x):
    return tf.reduce_sum(x, 0)

x = tf.ones((1, 8))
"""


def loop(body: str, head: str = "for _ in range(99):", before: str = "") -> str:
    lines = [f"    {line}" for line in body.splitlines()]
    return "\n".join([*before.splitlines(), head, *lines]) + "\n"


SILENT = {
    "one length": loop("y = step(x)\nx = x + y"),
    "not in a loop": "y = step(x)\nx = jnp.concatenate([x, y[None]])\n",
    "a few turns": loop("y = step(x)\nx = jnp.concatenate([x, y[None]])", "for _ in range(4):"),
    "a window": loop("y = step(x)\nx = jnp.concatenate([x, y[None]])\nx = x[1:]"),
    "a window at once": loop("y = step(x)\nx = jnp.concatenate([x[1:], y[None]])"),
    "joined anew": loop("z = jnp.concatenate([x, x])\ny = step(z)"),
    "what a turn makes": loop("z = x * 2\nz = jnp.concatenate([z, z])\ny = step(z)"),
    "the loop's own": loop("y = step(z)\nz = jnp.concatenate([z, y[None]])", "for z in batches:"),
    "results of NumPy's are kept": loop(
        "y = step(x)\nkept = np.append(kept, np.asarray(y))", before="kept = np.zeros(0)"
    ),
    "results are kept in a list": loop("y = step(x)\nkept.append(y)", before="kept = []")
    + "kept = jnp.concatenate(kept)\n",
    "a few results are kept": loop("y = step(x)\nkept = jnp.append(kept, y)", "for _ in (1, 2, 3):", "kept = x[0]"),
    "results are kept where nothing is compiled": loop(
        "y = plain(x)\nkept = jnp.append(kept, y)", before="kept = x[0]"
    ),
    "results are kept at every n-th turn": loop(
        "y = step(x)\nif _ % 10 == 0:\n    kept = jnp.append(kept, y)", before="kept = x[0]"
    ),
    "results are kept of each turn": loop("y = step(x)\nkept = x[0]\nkept = jnp.append(kept, y)"),
    "results are kept in a compiled function": (
        "@jax.jit\ndef whole(x):\n    kept = x[0]\n    for _ in range(20):\n        kept = jnp.append(kept, step(x))\n    return kept\n"
    ),
    "results are kept of what maps": (
        "def whole(x):\n    kept = x\n    for _ in range(20):\n        kept = jnp.append(kept, step(x))\n"
        "    return kept\n\ny = jax.vmap(whole)(x)\n"
    ),
    "of higher rank": loop("y = step(x)\nx = jnp.stack([x, x])"),
    "a function that is not compiled": loop("y = plain(x)\nx = jnp.concatenate([x, y[None]])"),
    "a list of one turn": loop("rows = []\nrows.append(x[0])\ny = step(jnp.stack(rows))"),
    "a list that is emptied": loop("rows.append(x[0])\ny = step(jnp.stack(rows))\nrows.clear()", before="rows = []"),
    "a list that is cut": loop("rows.append(x[0])\ny = step(jnp.stack(rows))\nrows = rows[-4:]", before="rows = []"),
    "the first of it is dropped": loop(
        "rows.append(x[0])\ny = step(jnp.stack(rows))\ndel rows[0]", before="rows = [x[0]]"
    ),
    "a list of given length": "rows = [x[0]] * 4\n" + loop("y = step(jnp.stack(rows))"),
    "a loop in a compiled function": (
        "@jax.jit\ndef whole(x):\n    for _ in range(20):\n"
        "        y = step(x)\n        x = jnp.concatenate([x, y[None]])\n    return x\n"
    ),
    "joined before the loop": "x = jnp.concatenate([x, x])\n" + loop("y = step(x)"),
    "joined behind it": loop("y = step(x)") + "x = jnp.concatenate([x, y[None]])\n",
    "of another loop": loop("y = step(x)") + loop("x = jnp.concatenate([x, x])"),
    "written by an index": loop("y = step(x)\nx = x.at[0].set(y)"),
}

LOUD = {
    "a part is passed": (loop("y = step(x[-4:])\nx = jnp.concatenate([x, y[None]])"), [3]),
    "only the results are kept": (loop("y = step(x)\nkept = jnp.concatenate([kept, y])", before="kept = x[0]"), [4]),
    "only the results of an evaluation are kept": (
        "def validate(batches):\n    losses = jnp.array([])\n    for batch in batches:\n        loss = step(batch)\n"
        "        losses = jnp.append(losses, loss)\n    return losses.mean()\n",
        [5],
    ),
    "concatenate": (loop("y = step(x)\nx = jnp.concatenate([x, y[None]])"), [3]),
    "append": (loop("y = step(x)\nx = jnp.append(x, y)"), [3]),
    "of NumPy": (loop("y = step(x)\nx = np.concatenate([x, y[None]])"), [3]),
    "by keyword": (loop("y = step(x[0], y=x)\nx = jnp.vstack((x, y))"), [3]),
    "joined first": (loop("x = jnp.concatenate([x, x[-1:]])\ny = step(x)"), [2]),
    "a jitted function by its name": (loop("y = forward(x)\nx = jnp.concatenate([x, y[None]])", "while going():"), [3]),
    "in a function": (
        "def main(z):\n    for _ in range(99):\n        y = step(z)\n        z = jnp.append(z, y)\n",
        [4],
    ),
    "a list": (loop("y = step(jnp.stack(rows))\nrows.append(y)", before="rows = [x[0]]"), [3]),
    "a list, in two lines": (loop("z = jnp.array(rows)\ny = step(z)\nrows.append(y)", before="rows = [x[0]]"), [3]),
    "under a condition": (loop("y = step(x)\nif y.any():\n    x = jnp.concatenate([x, y[None]])"), [4]),
}


@pytest.mark.parametrize("text", SILENT.values(), ids=SILENT)
def test_what_keeps_its_length_is_left_alone(text: str) -> None:
    assert find_rows(text, JAX, "XLA406") == []


@pytest.mark.parametrize(("text", "rows"), LOUD.values(), ids=LOUD)
def test_what_grows_is_found(text: str, rows: list[int]) -> None:
    assert find_rows(text, JAX, "XLA406") == rows


@pytest.mark.parametrize(
    ("function", "rows"), [("step", [3]), ("compiled", [3]), ("retraced", []), ("signed", []), ("tf.tanh", [])]
)
def test_tensorflow_knows_unknown_sizes_where_it_is_told(function: str, rows: list[int]) -> None:
    assert find_rows(loop(f"y = {function}(x)\nx = tf.concat([x, y[None]], 0)"), KERAS, "XLA406") == rows
