"""What is passed to a traced function as a structure of arrays: its parts are traced, its settings are not."""

from __future__ import annotations

import pytest

from tests.conftest import Loud

IMPORTS = "import numpy as np\nimport jax\nimport jax.numpy as jnp\nimport flax.linen as nn\nfrom flax import struct\n"
RECORD = """
@struct.dataclass
class State:
    obs: jax.Array
    info: dict
    step: int
    depth: int = struct.field(pytree_node=False)
"""
MODULE = """
class Net(nn.Module):
    @nn.compact
    def __call__(self, x, train):
        x = nn.Dense(3)(x)
{body}
        return x
"""

# Of these kinds of code JAX 0.10.2 was run on; each of them traces.
LOOP = """
from functools import partial

def body(i, carry, ref: jax.Array):
    ref[i, :] = jnp.zeros(3)
    return carry

def kernel(ref: jax.Array):
    jax.lax.fori_loop(0, 4, partial(body, ref=ref), 0)
"""

TASKS = """
def adapt(params, rows, query):
    if rows:
        params, _ = jax.lax.scan({0})
    return jnp.sum(params * query)

@jax.jit
def f(params, rows, query):
    return jnp.mean(jax.vmap(adapt, in_axes=(None, 0, 0))(params, rows, query))
"""

SILENT = {
    "whether there are rows for a scan": TASKS.format("lambda p, row: (p - row['g'], None), params, rows"),
    "whether there are rows for a scan, by keyword": TASKS.format(
        "lambda p, row: (p - row['g'], None), params, xs=rows"
    ),
    "the first of several that are asked for their keys": (
        "def merge(rows, keys=None):\n    if keys is None:\n        keys = rows[0].keys()\n"
        "    return {k: jnp.stack([row[k] for row in rows]) for k in keys if k in rows[0]}\n\n"
        "@jax.jit\ndef f(a: jax.Array, b: jax.Array):\n    return merge([a, b])"
    ),
    "a field that a function of the program makes static": (
        "import dataclasses\nstatic_field = lambda val=0: dataclasses.field(default=val, metadata=dict(static=True))\n\n"
        "@jax.tree_util.register_dataclass\n@dataclasses.dataclass\nclass Cache:\n    k: jax.Array\n    axis: int = static_field(1)\n\n"
        "def last(x, axis: int):\n    return [a for a in range(x.ndim)][axis]\n\n"
        "@jax.jit\ndef f(x: jax.Array, cache: Cache):\n    if x.shape[cache.axis] == 1:\n        x = x + 1\n"
        "    return jnp.sum(x * cache.k, axis=last(x, cache.axis))"
    ),
    "an element of a kernel's reference": "from jax.experimental import pallas as pl\n" + LOOP,
    "a key is looked for": "@jax.jit\ndef f(batch):\n    return batch['x'] * 2 if 'mask' in batch else batch['x']",
    "a key of what is declared an array or a dict": (
        "import typing\nData = typing.Union[np.ndarray, typing.Dict[str, 'Data']]\n\n"
        "def unpack(batch):\n    for key in batch['now'].keys():\n        if key not in batch['next']:\n"
        "            return batch['now'][key]\n    return batch['next']['x']\n\n"
        "@jax.jit\ndef f(batch: typing.Dict[str, Data]):\n    return unpack(batch) * 2"
    ),
    "a key of one part is looked for in another": (
        "def unpack(batch):\n    for key in batch['now'].keys():\n        if key not in batch['next']:\n"
        "            return batch['now'][key]\n"
        "    return batch['next']['x']\n\n@jax.jit\ndef f(batch):\n    return unpack(batch) * 2"
    ),
    "the shape of a leaf": "@jax.jit\ndef f(batch):\n    x = batch['x']\n    return x * 2 if x.shape[0] > 1 and x.ndim == 2 else x",
    "as many as a dict holds": "@jax.jit\ndef f(batch):\n    return batch['x'] * len(batch)",
    "a dict that is copied": "@jax.jit\ndef f(batch):\n    out = dict(batch)\n    out['x'] = jnp.where(out['x'] > 0, 1, 0)\n    return out",
    "an update of a state": "@jax.jit\ndef f(state, grads):\n    return state.apply_gradients(grads=grads).replace(step=0)",
    "a setting that a state may carry": "@jax.jit\ndef f(state, x):\n    return x * 2 if state.use_scale else x",
    "a static field": RECORD
    + "@jax.jit\ndef f(state: State):\n    return state.obs * 2 if state.depth > 1 else state.obs",
    "a leaf that is absent": "@jax.jit\ndef f(batch):\n    m = batch.get('m')\n    return batch['x'] if m is None else batch['x'] * m",
    "a dict of the host's": "def f(config):\n    if config['depth'] > 2:\n        return jnp.zeros(config['depth'])",
    "a static argument": (
        "from functools import partial\n@partial(jax.jit, static_argnums=1)\n"
        "def f(x, config):\n    return x * 2 if config['depth'] > 2 else x"
    ),
    "a flag of a module": MODULE.format(body="        if train:\n            x = x * 2") + "f = jax.jit(Net().apply)",
    "a size that a module is given": MODULE.format(
        body="        x = x + np.arange(train)[None, :] + np.zeros((train, 3))"
    ),
    "a name that a module is given": MODULE.format(body="        if train == 'full':\n            x = x * 2"),
    "an item of a dict, and of the host's array": (
        "@jax.jit\ndef f(batch):\n    batch['x'] = 1\n    w = np.zeros(3)\n    w[0] = 1\n    return w"
    ),
    "an item of a list that is traced": "@jax.jit\ndef f(params, x):\n    params[0] = x\n    return params",
    "the parts of a size that a module is given": (
        "class Grid(nn.Module):\n    @nn.compact\n    def __call__(self, size):\n        h, w = size\n"
        "        return jnp.cumsum(jnp.ones((h, w)), axis=0) / h"
    ),
    "what is assigned to a structure that is asked for its items": (
        "@jax.jit\ndef loss(w, data: jax.Array):\n    for k, v in data.items():\n        data[k] = v[:3]\n    return w * data['x']"
    ),
    "NumPy's arrays in a record that is traced": (
        "import typing\nclass Rows(typing.NamedTuple):\n    obs: np.ndarray\n    acts: np.ndarray\n\n"
        "def pick(at: jax.Array, rows: Rows):\n    return jax.tree.map(lambda x: x[at], rows)\n\n"
        "@jax.jit\ndef f(key, rows: Rows):\n    return pick(jax.random.randint(key, (1,), 0, 3), rows)"
    ),
    "an item of what may be a list": (
        "@jax.jit\ndef f(x: jax.Array, many: bool = False, k=None):\n    out = jnp.tanh(x)\n    if k is not None:\n"
        "        out = [jnp.tanh(x), x]\n    if k is not None:\n        out[1] += x\n    return out"
    ),
    "the size of what a module gets": MODULE.format(
        body="        x = x + jnp.zeros(x.shape[-1]) / np.sqrt(x.shape[-1])"
    ),
}
FOUND = {
    "what the steps of a scan begin with": (
        TASKS.replace("if rows:", "if params:").format("lambda p, row: (p - row['g'], None), params, rows"),
        ["XLA101"],
    ),
    "NumPy's array in a record that is not traced": (
        "import typing\nclass Rows(typing.NamedTuple):\n    obs: np.ndarray\n\n"
        "@jax.jit\ndef f(key):\n    rows = Rows(np.zeros(3))\n    return rows.obs[jax.random.randint(key, (1,), 0, 3)]",
        ["XLA302"],
    ),
    "a field that a function of the program makes an array": (
        "import dataclasses\nfield = lambda val=0: dataclasses.field(default=val)\n\n"
        "@jax.tree_util.register_dataclass\n@dataclasses.dataclass\nclass Cache:\n    k: jax.Array\n    size: int = field(1)\n\n"
        "@jax.jit\ndef f(x: jax.Array, cache: Cache):\n    return jnp.zeros(cache.size) + x",
        ["XLA206"],
    ),
    "an element of what a loop is given": (LOOP, ["XLA205"]),
    "an element of an array, beside kernels": (
        "from jax.experimental import pallas as pl\n\ndef f():\n    x = jnp.zeros(3)\n    x[0] = 1.0\n    return x\n\ng = jax.jit(f)",
        ["XLA205"],
    ),
    "an item of an array": (
        "def f():\n    x = jnp.zeros(3)\n    x[0] = 1.0\n    return x\n\ng = jax.jit(f)",
        ["XLA205"],
    ),
    "an item that is added to": ("@jax.jit\ndef f(x: jax.Array):\n    x[1:] += 1.0\n    return x", ["XLA205"]),
    "a leaf of a dict": (
        "@jax.jit\ndef f(batch):\n    x = batch['a']\n    return x if x[0, 0] > 0 else -x",
        ["XLA105"],
    ),
    "a leaf of leaves": ("@jax.jit\ndef f(p):\n    x = p['a']['b']\n    return x[x > 0].sum()", ["XLA201"]),
    "one of a pair": ("@jax.jit\ndef f(batch):\n    x, y = batch\n    return np.asarray(x)", ["XLA302"]),
    "each of a dict": (
        "@jax.jit\ndef f(batch):\n    for key, x in batch.items():\n        if x.sum() > 0:\n            return x",
        ["XLA101"],
    ),
    "the parameters of a state": ("@jax.jit\ndef f(state):\n    return jnp.unique(state.params['w'])", ["XLA203"]),
    "the step of a state": ("@jax.jit\ndef f(state, x):\n    return x if state.step % 10 == 0 else -x", ["XLA105"]),
    "what a state's function gives": (
        "@jax.jit\ndef f(state, b):\n    y = state.apply_fn({'params': state.params}, b['x'])\n    return y * float(y.sum())",
        ["XLA301"],
    ),
    "a number in a record": (
        RECORD + "@jax.jit\ndef f(state: State):\n    return state.obs if state.step > 3 else 0",
        ["XLA105"],
    ),
    "a leaf in a record": (
        RECORD + "@jax.jit\ndef f(state: State):\n    x = state.info['x']\n    return x[x > 0]",
        ["XLA201"],
    ),
    "what a module is given": (MODULE.format(body="        if x.sum() > 0:\n            x = -x"), ["XLA101"]),
    "what a module gives": (
        MODULE.format(body="")
        + "m = Net()\n@jax.jit\ndef f(p, batch):\n    y = m.apply(p, batch['x'], False)\n    return float(y.sum())",
        ["XLA301"],
    ),
}


@pytest.mark.parametrize("code", SILENT.values(), ids=SILENT)
def test_settings_and_shapes_are_silent(code: str, loud: Loud) -> None:
    assert loud(IMPORTS + code + "\n", "jax") == []


@pytest.mark.parametrize(("code", "rules"), FOUND.values(), ids=FOUND)
def test_parts_of_what_is_traced_are_traced(code: str, rules: list[str], loud: Loud) -> None:
    assert loud(IMPORTS + code + "\n", "jax") == rules
