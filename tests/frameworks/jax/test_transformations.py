"""Which values JAX's transformations trace, and which keep those of the call."""

from __future__ import annotations

from textwrap import dedent

import pytest

from tests.conftest import Loud

IMPORTS = "import numpy as np\nimport jax\nimport jax.numpy as jnp\n"

# Of these kinds of code JAX 0.10.2 was run on; each of them runs through.
DRAWS = """
import numpy as np

def loss(p, x):
    order = np.random.permutation(9)
    return jnp.sum(p * x[order])

def train(p, xs):
    for x in xs:
        p = p - {0}(p, x)
    return p
"""
# Run with JAX 0.10.2 and equinox 0.13.2: what compiles replaces arrays of NumPy, and `filter_vmap` does not.
ROWS = """
import equinox as eqx

def f(x, rows):
    def body(i, v):
        return v + rows[i][0]

    return jax.lax.fori_loop(0, 3, body, x)

print({0}(jnp.ones(3), np.asarray([[1.0, 2.0], [3.0, 4.0]])))
"""

SILENT = {
    "a row of NumPy's array that is passed to what is compiled": ROWS.format("jax.jit(f)"),
    "a row of NumPy's array that is passed to what equinox compiles": ROWS.format("eqx.filter_jit(f)"),
    "a row of NumPy's array that is passed to what equinox runs on each device": ROWS.format("eqx.filter_pmap(f)"),
    "what no gradient flows through, by NumPy": """
        def loss(p, x):
            a = jax.lax.stop_gradient(p * x)
            return float(a.sum()) * jnp.sum(p * np.asarray(a))

        print(jax.value_and_grad(loss)(jnp.ones(3), jnp.ones(3)))
        """,
    "what no gradient flows through, where a loop of the host has it of a compiled function": """
        act = jax.jit(lambda p, x: (p * x, p.sum()))

        def loss(p, env):
            seen = env.reset()
            for _ in range(9):
                a, told = act(p, seen)
                a = jax.lax.stop_gradient(a)
                told = jax.lax.stop_gradient(told)
                seen = env.step(np.array(a), float(told))
            return jnp.sum(p)

        gradient = jax.value_and_grad(loss)
        """,
    "what is drawn anew where nothing compiles the gradient": DRAWS.format("jax.grad(loss)"),
    "what a function keeps of the loop that makes it": """
        def build(tasks, heads):
            made = {}
            for task in tasks:

                @jax.jit
                def predict(x, task=task):
                    if task in ("a", "b") or task == len(heads):
                        return x * 2
                    return min(task, 3) * x if task > 3 else x

                made[task] = predict
            return made
        """,
    "a flag that nobody passes": """
        def dice(p: jax.Array, q: jax.Array, softmax: bool = True):
            if not softmax:
                if not jnp.allclose(p.sum(), 1.0):
                    raise ValueError("no distribution")
            return jnp.sum(p * q)

        print(jax.jit(dice)(jnp.ones(3), jnp.ones(3)))
        """,
    "what is passed to functions of another signature": """
        import inspect

        import abc

        class Model:
            def predict(self, params, batch, rng=None):
                return params * batch

            @abc.abstractmethod
            def score(self, params, batch, more: bool = False):
                return (params, batch) if more else params * batch

        def infer(step):
            def run(params, batch, rng):
                if "rng" in inspect.signature(step).parameters:
                    return step(params, batch, rng)
                if "rng" not in inspect.getfullargspec(step).args:
                    return step(params, batch)
                return step(params, batch, rng)

            return jax.jit(run)

        def main(x: jax.Array):
            return infer(Model().predict)(x, x, x), infer(Model().score)(x, x, x)
        """,
    "which of several functions is passed what": """
        import inspect
        from functools import partial

        def predict(params, batch, rng=None, k=1):
            return params * batch

        def score(params, batch, more: bool = False, k=1):
            return (params, batch) if more else params * batch

        def make(mode):
            step = predict if mode == "infer" else score
            step = partial(step, k=2) if mode else step

            def run(params, batch, rng):
                if "rng" in inspect.signature(step).parameters:
                    return step(params, batch, rng)
                return step(params, batch)

            return jax.jit(run)

        def main(x: jax.Array, mode):
            return make(mode)(x, x, x)
        """,
    "a flag that options may call static": """
        def update(params, grads, freeze):
            return params if freeze else params - grads

        def compiled(**options):
            return jax.jit(update, **options)

        print(compiled(static_argnums=2)(jnp.ones(3), jnp.ones(3), False))
        """,
    "the smaller of numbers, one of which is a setting": """
        import math

        def yarn(x, size, beta):
            low = max(math.floor(size * beta), 0)
            high = min(math.ceil(size / 2), size - 1)
            return x / (high - low if high > low else 0.001)

        def scale(x, cfg):
            def body(carry, y):
                return carry, yarn(y, cfg.dims, cfg.beta)

            return jax.lax.scan(body, 0.0, x)

        @jax.jit
        def run(x, cfg):
            return scale(x, cfg)
        """,
    "a gradient that nothing compiles leaves values to Python": """
        def loss(x):
            if x.sum() > 0:
                return x[x > 0].sum()
            return sum(x[i] for i in range(x[0].astype(int)))

        print(jax.grad(loss)(jnp.ones(3)), jax.jacrev(loss)(jnp.ones(3)), jax.jvp(loss, (jnp.ones(3),), (jnp.ones(3),)))
        """,
    "what is evaluated beside its derivative, with something else": """
        @jax.jit
        def f(x, v):
            def score(x):
                return x * 2, {"rows": x}

            out, tangent, kept = jax.jvp(score, (x,), (v,), has_aux=True)
            value, back, again = jax.vjp(score, x, has_aux=True)
            if kept["rows"].shape[0] > 2 and again["rows"].ndim:
                return out * tangent * v * value
            return back(v)[0]

        print(f(jnp.ones(3), jnp.ones(3)))
        """,
    "truths and whole numbers have no derivative": """
        def loss(x):
            signs = jnp.all(x > 0)
            at = jnp.argmax(x)
            print(f"{at:d}", np.asarray(x > 0), float(signs))
            return jnp.sum(x) * float(at) if bool(signs) else x[0]

        def run():
            return jax.grad(lambda x: loss(x))(jnp.ones(3)), jax.jvp(loss, (jnp.ones(3),), (jnp.ones(3),))

        run()
        """,
    "settings that a lambda keeps": """
        settings = {"power": 3}

        def loss(p, x, settings):
            return jnp.sum(p * x) if settings["power"] > 1 else jnp.sum(p)

        def run(x: jax.Array):
            go = jax.jit(jax.grad(lambda p, x, kept=settings: loss(p, x, kept)))
            each = jax.jit(jax.vmap(lambda p, x, kept=settings: loss(p, x, kept)))
            return go(x, x), each(x, x)

        run(jnp.ones((3, 2)))
        """,
    "a default that the gradient is not called with another for": """
        def problem(ts):
            def simulate(alpha, save=False):
                kept = []
                for t in range(3):
                    s = jnp.sum(alpha * ts[t])
                    if save:
                        kept.append(s)
                if save:
                    np.save("kept.npy", np.asarray(kept))
                return s

            simulate(1.0, save=True)
            return jax.grad(simulate)(1.0)

        problem(jnp.ones(4))
        """,
    "a loop that counts has no gradient": """
        from functools import partial

        def table(size):
            def row(k, rows):
                total = jax.lax.fori_loop(1, k + 1, lambda m, acc: acc + rows[k - m], jnp.int32(0))
                return rows.at[k].set(total)

            return jax.lax.fori_loop(1, size + 1, row, jnp.zeros(size + 1, dtype=jnp.int32).at[0].set(1))

        @partial(jax.jit, static_argnames="n")
        def f(x, n):
            return x * table(n)[n]

        print(jax.grad(f)(1.0, 5))
        """,
    "elements that an update sets, whose size is known": """
        @jax.jit
        def f(x):
            y = jnp.zeros((4, 3)).at[0].set(x).at[1].add(1.0)
            if y.shape[0] > 3 and y.ndim == 2:
                y = y.at[:, 0].get(mode="fill")
            return y
        """,
    "the derivative of a function that says its own": """
        @jax.custom_jvp
        def solve(x):
            return jax.lax.while_loop(lambda y: y.sum() > 1, lambda y: y * x, x)

        @solve.defjvp
        def solve_jvp(primals, tangents):
            return primals[0], tangents[0]

        print(jax.jacrev(solve)(jnp.ones(3) / 4))
        """,
    "arguments in a row behind one that is static": """
        from functools import partial

        @partial(jax.jit, static_argnames=("fun", "flag", "size"))
        def run(fun, *values, flag=False, size=()):
            return fun(*values)

        def f(x, y, z):
            return x + y + z

        for _ in range(9):
            run(f, jnp.ones(3), jnp.ones(3), jnp.ones(3), flag=True)
        """,
    "what may be a tuple as well as an array": """
        from functools import partial

        def pair(x, both):
            g = jax.vmap(lambda y: y * 2)(x)
            return g if both else (g, g)

        @partial(jax.jit, static_argnames="both")
        def step(x, dt, both):
            g = pair(x, both)
            return x + dt * g
        """,
    "what is not differentiated": """
        def loss(x, steps, pairs):
            if pairs:
                x = x * 2
            return jnp.sum(x[:, None] * jnp.arange(steps))

        print(jax.grad(loss)(jnp.ones(3), 4, pairs=True))
        """,
    "what is not differentiated, by number": """
        def loss(depth, x):
            for _ in range(depth):
                x = x * 2
            return jnp.sum(x)

        print(jax.value_and_grad(loss, argnums=1)(3, jnp.ones(3)))
        """,
    "what depends on nothing that is mapped": """
        def batches(data, size):
            whole, left = jnp.divmod(len(data), size)
            return whole + jnp.where(left == 0, 0, 1)

        def fit(a, b, size=2):
            n = batches(jnp.ones((4, 2)), size)
            if size >= n:
                a = a + 1
            for _ in range(n):
                a = a + b
            return a

        print(jax.vmap(fit)(jnp.ones(3), jnp.ones(3)))
        """,
    "a jitted function closes over an array": """
        def train(total, evals):
            n = jnp.round(total / evals)

            def epoch(s):
                return jax.lax.scan(lambda c, i: (c + i, None), s, jnp.arange(n))[0]

            return jax.jit(epoch)(0.0)
        """,
    "an array of the module": """
        DEPTH = jnp.array(3)

        @jax.jit
        def f(x):
            return x + jnp.zeros(DEPTH).sum()
        """,
    "an array of the module, indexed by a tracer": """
        TABLE = jnp.arange(9.0)

        @jax.jit
        def f(i):
            return TABLE[i]
        """,
    "what came from the device": """
        step = jax.jit(lambda x: (x, x > 0))

        def evaluate(batch: jax.Array):
            probs, mask = jax.device_get(step(batch))
            return probs[mask]
        """,
    "what came from the device, leaf by leaf": """
        step = jax.pmap(lambda x: (x, x > 0))

        def get(x):
            return jax.device_get(jax.tree.map(lambda a: a[0], x))

        def evaluate(batch: jax.Array):
            probs, mask = jax.tree_util.tree_map(get, step(batch))
            return probs[mask]
        """,
    "an open loop on what no gradient flows into": """
        @jax.jit
        def f(p, x):
            def loss(p):
                c = jax.lax.stop_gradient(p * x)
                n = jax.lax.while_loop(lambda v: jnp.any(v > 1), lambda v: v * 0.5, c)
                m = jax.lax.while_loop(lambda v: jnp.any(v > 1), lambda v: v * 0.5, jnp.full(p.shape, 5.0))
                k = jax.lax.while_loop(lambda v: jnp.any(v > 1), lambda v: v * 0.5, jnp.round(p).sum())
                return jnp.sum(p * n * m) * k

            return jax.grad(loss)(p)
        """,
    "an open loop of what says what its gradient is, by a partial": """
        def forward(x: jax.Array):
            return jax.lax.while_loop(lambda v: jnp.any(v > 1), lambda v: v * 0.5, x * 2), x

        @functools.partial(jax.custom_vjp, nondiff_argnums=())
        def f(x):
            return forward(x)[0]

        f.defvjp(forward, lambda x, g: (g,))

        def test(x: jax.Array):
            return jax.grad(lambda x: f(x).sum())(x)
        """,
    "static arguments of a decorator of the program's": """
        def compiled(**options):
            def decorate(fun):
                def wrapped(*args, **kwargs):
                    return jax.jit(fun, **options)(*args, **kwargs)

                return wrapped

            return decorate

        @compiled(static_argnums=(1,))
        def resize(image, shape):
            return jax.image.resize(image, shape, "nearest")

        print(resize(jnp.ones((4, 4)), (2, 2)).shape)
        """,
    "static arguments of a map over devices": """
        from functools import partial

        @partial(jax.pmap, static_broadcasted_argnums=(1,))
        def f(x, n):
            return x * 2 if n > 1 else x
        """,
    "a flag of a function of Haiku's": """
        import haiku as hk

        def net(x, is_training):
            if is_training:
                x = hk.dropout(hk.next_rng_key(), 0.1, x)
            return hk.Linear(3)(x)

        forward = jax.jit(hk.transform(net).apply, static_argnums=3)
        """,
    "what equinox leaves as it is": """
        import equinox as eqx

        @eqx.filter_jit
        def f(model, x, depth):
            for _ in range(depth):
                x = model(x)
            return x if depth > 1 else -x
        """,
    "a record among the static arguments": """
        from functools import partial
        from typing import NamedTuple

        class Sizes(NamedTuple):
            rows: int

        @partial(jax.jit, static_argnums=0)
        def f(sizes: Sizes, x):
            return jax.lax.dynamic_slice_in_dim(x, 0, sizes.rows)

        print(f(Sizes(2), jnp.ones(3)), f(sizes=Sizes(2), x=jnp.ones(3)))
        """,
    "a map that tells structures from their leaves": """
        def is_leaf(tree, level):
            leaf = not isinstance(tree, (list, tuple))
            if level == 0 or leaf:
                return (level == 0) == leaf
            return all(is_leaf(part, level - 1) for part in tree)

        def over(f, tree, level=0):
            if is_leaf(tree, level):
                return f(tree)
            return [over(f, part, level) for part in tree]

        def f(inputs, n):
            inputs = (inputs,) if not isinstance(inputs, (tuple, list)) else inputs
            return jax.lax.fori_loop(0, n, lambda i, x: x + over(lambda s: s[i], inputs)[0], 0.0)

        print(f([jnp.ones(3)], 2))
        """,
    "an object that a parameter asks for": """
        import dataclasses
        import records

        @records.dataclass
        class Grid:
            cells: jax.Array
            rank: int = records.static()

        def shift(cells, grid: Grid):
            return cells + jnp.zeros((1,) * grid.rank)

        @jax.jit
        def f(grid):
            def body(pair):
                now, _ = pair
                return dataclasses.replace(now, cells=shift(now.cells, now)), now

            return jax.lax.while_loop(lambda pair: jnp.any(pair[0].cells > 1), body, (grid, grid))
        """,
    "a check of what may be an array of the host": """
        import chex
        import haiku as hk

        class Grid:
            def __init__(self, lat: chex.Array):
                self.lat = lat
                if lat.min() < -90:
                    raise ValueError(lat)

        class Net(hk.Module):
            def __call__(self, x, other):
                return x, Grid(other.lat)
        """,
    "what a map over shards leaves as it is": """
        from functools import partial
        from jax.sharding import PartitionSpec as P

        def g(mesh, x):
            @partial(jax.shard_map, mesh=mesh, in_specs=(P("x"), None), out_specs=P("x"))
            def inner(a, n):
                return a * n if n > 1 else a

            return inner(x, 3)
        """,
    "what a decorator that maps leaves as it is": """
        from functools import partial

        @partial(jax.vmap, in_axes=(0, None))
        def f(x, double):
            return x * 2 if double else x

        print(f(jnp.ones(3), True))
        """,
    "references of a kernel": """
        from jax.experimental import pallas as pl

        def kernel(x: jax.Array, out: jax.Array):
            def row(i, kept):
                out[i] = kept
                return kept

            jax.lax.fori_loop(0, 2, row, x[0])
            out[...] = x[...] * 2

        def f(x):
            return pl.pallas_call(kernel, out_shape=jax.ShapeDtypeStruct(x.shape, x.dtype))(x)
        """,
    "an array of either kind that a tracer indexes": """
        import chex
        import haiku as hk

        class Net(hk.Module):
            def __call__(self, points: chex.Array, first):
                order = jax.random.permutation(hk.next_rng_key(), 5)
                return points[:, order[first : first + 2]], points[order]
        """,
    "whether there is anything": """
        def f(x, deep):
            @jax.jit
            def g(pair):
                out, more = pair
                found = more if deep else None
                if found:
                    out = out + found[0]
                return out

            return g((x, (x,)))
        """,
    "a size that a module is given first": """
        import haiku as hk

        class Positions(hk.Module):
            def __call__(self, batch, pos=None):
                table = hk.get_parameter("w", [3, 4], init=jnp.ones)
                return jnp.broadcast_to(table[None], (batch,) + table.shape)
        """,
    "a size that a filtered transformation leaves as it is": """
        import equinox as eqx

        def make(size, key):
            return jax.random.normal(key, (size, size)) + jnp.eye(size)

        def run(n, keys):
            return eqx.filter_vmap(make, in_axes=(None, 0))(n, keys)
        """,
    "flags of what Haiku decorates, which who applies it passes": """
        import haiku as hk

        @hk.transform_with_state
        def net(x, is_training, task="a"):
            if is_training and task == "a":
                x = hk.dropout(hk.next_rng_key(), 0.1, x)
            return hk.BatchNorm(True, True, 0.9)(x, is_training)
        """,
    "NumPy's functions that ask the array itself": """
        @jax.jit
        def f(x: jax.Array):
            left, right = np.split(x, 2, axis=1)
            return np.moveaxis(left, 0, 1), np.flip(right), np.hsplit(x, 2)
        """,
}
FOUND = {
    "a row of NumPy's array that is passed to what equinox maps": (ROWS.format("eqx.filter_vmap(f)"), ["XLA302"]),
    "what a gradient flows through besides": (
        """
        def loss(p, x):
            a = jax.lax.stop_gradient(p * x) * p
            return np.asarray(a).sum() * jnp.sum(p)

        print(jax.value_and_grad(loss)(jnp.ones(3), jnp.ones(3)))
        """,
        ["XLA302"],
    ),
    "what no gradient flows through, compiled": (
        """
        @jax.jit
        def step(p, x):
            a = jax.lax.stop_gradient(p * x)
            return float(a.sum()) * jnp.sum(p)
        """,
        ["XLA301"],
    ),
    "what is drawn once where the gradient is compiled": (
        DRAWS.format("jax.jit(jax.grad(loss))"),
        ["XLA306", "XLA404"],
    ),
    "an array of what Haiku decorates": (
        """
        import haiku as hk

        @hk.transform
        def net(x, is_training):
            if x.sum() > 0 and is_training:
                x = x + 1
            return hk.Linear(3)(x)
        """,
        ["XLA101"],
    ),
    "settings that a lambda is passed": (
        """
        def loss(p, x, settings):
            return jnp.sum(p * x) if settings["power"] > 1 else jnp.sum(p)

        go = jax.jit(jax.grad(lambda p, x, settings: loss(p, x, settings)))
        """,
        ["XLA105"],
    ),
    "what is passed beside what a function keeps": (
        """
        def build(tasks):
            made = {}
            for task in tasks:

                @jax.jit
                def predict(x, y, task=task):
                    return x if y > 3 else x * task

                made[task] = predict
            return made
        """,
        ["XLA105"],
    ),
    "what a flag lets be tested that nobody passes": (
        """
        def dice(p: jax.Array, q: jax.Array, softmax: bool = False):
            if not softmax:
                if not jnp.allclose(p.sum(), 1.0):
                    raise ValueError("no distribution")
            return jnp.sum(p * q)

        print(jax.jit(dice)(jnp.ones(3), jnp.ones(3)))
        """,
        ["XLA103"],
    ),
    "what is passed to a function of this signature": (
        """
        import inspect

        def score(params, rng):
            return params if rng.sum() > 0 else -params

        def infer(step):
            def run(params, rng):
                return step(params, rng) if "rng" in inspect.signature(step).parameters else step(params, None)

            return jax.jit(run)

        def main(x: jax.Array):
            return infer(score)(x, x)
        """,
        ["XLA105"],
    ),
    "the value itself, in a gradient": (
        """
        def loss(x):
            return jnp.sum(x) * float(jnp.sum(x))

        def run():
            return jax.grad(loss)(jnp.ones(3))

        run()
        """,
        ["XLA301"],
    ),
    "a truth, where the gradient is compiled": (
        """
        def loss(x):
            return jnp.sum(x) * float(jnp.all(x > 0))

        grad = jax.jit(jax.grad(loss))
        """,
        ["XLA301"],
    ),
    "a loop that adds up what is differentiated": (
        """
        @jax.jit
        def step(x, n):
            def loss(x):
                return jax.lax.fori_loop(0, n, lambda m, acc: acc * x, jnp.float32(1))

            return jax.grad(loss)(x)
        """,
        ["XLA102"],
    ),
    "what an update of some elements gives": (
        """
        @jax.jit
        def f(x):
            y = jnp.zeros(4).at[0].set(x[0])
            y = y.at[1:].add(x[1])
            if y.sum() > 0:
                return y
            return x
        """,
        ["XLA101"],
    ),
    "a gradient that is compiled": (
        """
        def loss(x):
            return x.sum() if x.sum() > 0 else (x * 2).sum()

        step = jax.jit(jax.grad(loss))
        """,
        ["XLA105"],
    ),
    "a gradient that a compiled function takes": (
        """
        def loss(x):
            return x.sum() if x.sum() > 0 else (x * 2).sum()

        slope = jax.value_and_grad(loss)

        @jax.jit
        def step(x):
            return x - slope(x)[1]
        """,
        ["XLA105"],
    ),
    "an array of NumPy's in a gradient": (
        """
        def loss(x):
            return x.sum() * np.asarray(x)[0]

        print(jax.grad(loss)(jnp.ones(3)))
        """,
        ["XLA302"],
    ),
    "a field of a record that is traced": (
        """
        from typing import NamedTuple

        class Sizes(NamedTuple):
            rows: int

        @jax.jit
        def f(sizes: Sizes, x):
            return jax.lax.dynamic_slice_in_dim(x, 0, sizes.rows)
        """,
        ["XLA206"],
    ),
    "what may be an array of the host, under jit": (
        """
        import chex

        @jax.jit
        def f(x: chex.Array):
            return x if x.min() > 0 else -x
        """,
        ["XLA105"],
    ),
    "what a decorator maps": (
        """
        from functools import partial

        @partial(jax.vmap, in_axes=(0, None))
        def f(x, double):
            return x * 2 if x > 0 else x
        """,
        ["XLA105"],
    ),
    "what a map over devices broadcasts": (
        """
        from functools import partial

        @partial(jax.pmap, in_axes=(0, None))
        def f(x, scale):
            return x * 2 if scale > 1 else x
        """,
        ["XLA105"],
    ),
    "a shard of an array": (
        """
        from functools import partial
        from jax.sharding import PartitionSpec as P

        def g(mesh, x):
            @partial(jax.shard_map, mesh=mesh, in_specs=(P("x"), None), out_specs=P("x"))
            def inner(a, n):
                return a * n if a.sum() > 1 else a

            return inner(x, 3)
        """,
        ["XLA105"],
    ),
    "elements of an array that is traced": (
        """
        @jax.jit
        def f(x: jax.Array):
            x[0] = 1
            return x
        """,
        ["XLA205"],
    ),
    "a list that a tracer indexes": (
        """
        def f(first, second):
            parts = [first, second]
            return jax.lax.fori_loop(0, 2, lambda i, x: x + parts[i], 0.0)
        """,
        ["XLA301"],
    ),
    "a list repeated as often as a tracer says": (
        """
        @jax.jit
        def f(n: jax.Array):
            return (1,) * n
        """,
        ["XLA301"],
    ),
    "an array that equinox traces": (
        """
        import equinox as eqx

        @eqx.filter_jit
        def f(model, x):
            return x if x[0, 0] > 1 else model(x)
        """,
        ["XLA105"],
    ),
    "an open loop behind a number of operations": (
        """
        @jax.jit
        def f(p, x):
            def loss(p):
                c = jnp.exp(p) * x
                return jnp.sum(jax.lax.while_loop(lambda v: jnp.any(v > 1), lambda v: v * 0.5, c.reshape(-1)))

            return jax.grad(loss)(p)
        """,
        ["XLA102"],
    ),
    "what is differentiated": (
        """
        def loss(x, steps):
            return jnp.sum(x) * float(x[0])

        @jax.jit
        def f(x):
            return jax.grad(loss)(x, 4)
        """,
        ["XLA301"],
    ),
    "what is not differentiated, in a jitted function": (
        """
        def loss(x, scale):
            return jnp.sum(x) if scale > 1 else jnp.sum(x) * scale

        @jax.jit
        def f(x, scale):
            return jax.grad(loss)(x, scale)
        """,
        ["XLA105"],
    ),
    "the value beside the gradient": (
        """
        def loss(p, x):
            return jnp.sum(p["w"] * x)

        @jax.jit
        def f(p, x):
            value, grads = jax.value_and_grad(loss)(p, x)
            return grads if value > 1 else p
        """,
        ["XLA105"],
    ),
    "a gradient": (
        """
        def loss(p, x):
            return jnp.sum(p["w"] * x), x

        @jax.jit
        def f(p, x):
            grads, aux = jax.grad(loss, has_aux=True)(p, x)
            return jnp.nonzero(grads["w"])
        """,
        ["XLA202"],
    ),
    "what is made of an array that is closed over": (
        """
        TABLE = jnp.arange(9.0)

        @jax.jit
        def f(x):
            return x if TABLE.sum() > 1 else -x
        """,
        ["XLA105"],
    ),
    "what a traced function closes over in one": (
        """
        @jax.jit
        def f(x):
            def body(c, i):
                return c[c > x].sum(), None

            return jax.lax.scan(body, x, jnp.arange(3))
        """,
        ["XLA201"],
    ),
    "a leaf of a tree that is mapped": (
        """
        @jax.jit
        def f(params):
            return jax.tree.map(lambda p: p[p > 0], params)
        """,
        ["XLA201"],
    ),
    "NumPy's functions that want an array": (
        """
        @jax.jit
        def f(x: jax.Array):
            return np.stack([x, x])
        """,
        ["XLA302"],
    ),
}


@pytest.mark.parametrize("code", SILENT.values(), ids=SILENT)
def test_values_of_the_call_are_silent(code: str, loud: Loud) -> None:
    assert loud(IMPORTS + dedent(code), "jax") == []


@pytest.mark.parametrize(("code", "rules"), FOUND.values(), ids=FOUND)
def test_traced_values_are_found(code: str, rules: list[str], loud: Loud) -> None:
    assert loud(IMPORTS + dedent(code), "jax") == rules
