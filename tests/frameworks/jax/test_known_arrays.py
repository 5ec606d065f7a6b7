"""Arrays that were made before a tracer runs the code that uses them: their values are known there, and may choose shapes and branches."""

from __future__ import annotations

import json
from textwrap import dedent

import pytest

from tests.conftest import Loud
from xlalint.config import Settings
from xlalint.project import check_text

IMPORTS = "import abc\nimport functools\nimport numpy as np\nimport jax\nimport jax.numpy as jnp\n"
UNREAD = """
class Sampler:
    def __init__(self):
        self.{} = jax.jit(self.run)

    def run(self, x):
        while jnp.any(x > 0):
            x = x - 1
        return x

    def sample(self, x):
        return {}
"""
UNREAD_NAME = """
def run(x):
    while jnp.any(x > 0):
        x = x - 1
    return x

{0} = jax.jit(run, backend="cpu")
y = {1}
"""
BOX = """
class Box:
    def __init__(self, xs):
        self.keep = jnp.asarray(xs) > 0
        self.size = jnp.sum(self.keep)
"""

# JAX 0.10.2 traces each of these.
TABLE = """
class Weights:
    table{0}

    def __init__(self, table):
        self.table = {1}

    def each(self, i):
        return self.table[i]

def run(weights: Weights, at):
    return jax.vmap(weights.each)(at)
"""
SILENT = {
    "a function that is compiled under a name of the module's own, and called as it is": UNREAD_NAME.format(
        "_compiled", "run(jnp.ones(3))"
    ),
    "what a function around declares NumPy's": """
        def weigh(table: np.ndarray, at):
            def one(i):
                return table[i] * 2

            return jax.vmap(one)(at)
        """,
    "what a function declares NumPy's, of what it is passed": """
        def pick(table: np.ndarray, i: jax.Array):
            return table[i]

        @jax.jit
        def f(x, tables, i):
            return pick(tables.weights, i) * x
        """,
    "a field that is declared NumPy's": TABLE.format(": np.ndarray", "table"),
    "a method that is compiled, and called as it is": UNREAD.format("_compiled", "self.run(x)"),
    "a mask of NumPy's, turned around": "@jax.jit\ndef f(x):\n    off = ~np.eye(x.shape[0], dtype=bool)\n    return x[off]",
    "a mask of NumPy's, by its name": "@jax.jit\ndef f(x):\n    mask = np.ones(x.shape[0], bool)\n    return x[mask]",
    "a mask of NumPy's, compared": "@jax.jit\ndef f(x):\n    low = np.arange(x.shape[0]) < 2\n    return x[low].sum()",
    "a mask of NumPy's that is assigned by": "@jax.jit\ndef f(x):\n    mask = ~np.eye(3, dtype=bool)\n    return x.at[mask].set(0)",
    "what is declared NumPy's, of what maps": """
        def error(q: np.ndarray, act: np.ndarray) -> np.ndarray:
            return q[act]

        class Learner:
            def __init__(self, model):
                each = jax.vmap(error)

                def loss(p, seen, acts):
                    found, _ = model.apply(p, seen)
                    return jnp.mean(each(found, acts) ** 2)

                self.update = jax.jit(jax.grad(loss))
        """,
    "what a method is declared to give, of what maps": """
        class Values:
            @abc.abstractmethod
            def values(self, p, seen) -> tuple[np.ndarray, np.ndarray]:
                raise NotImplementedError

        def error(q: np.ndarray, act: np.ndarray) -> np.ndarray:
            return q[act]

        def make(values: Values):
            def loss(p, seen, acts):
                found, _ = jax.vmap(values.values, (None, 0))(p, seen)
                return jnp.mean(jax.vmap(error)(found, acts))

            return jax.jit(jax.grad(loss))
        """,
    "what is declared NumPy's, of a gradient": """
        def error(q: np.ndarray, act: np.ndarray) -> np.ndarray:
            return q[act]

        def run(model, seen, acts):
            return jax.grad(lambda p: jnp.sum(jax.vmap(error)(model.apply(p, seen), acts)))(model.params)
        """,
    "what runs only where nothing is compiled": """
        @jax.jit
        def f(x):
            if jax.config.jax_disable_jit:
                assert not jnp.any(jnp.isnan(x))
            return x
        """,
    "an index that is only called a mask, and mapped": """
        @jax.jit
        def each(x, table, QTmask):
            return x[:, QTmask] / table[QTmask]

        def run(x, table, QTmask):
            return jax.jit(jax.vmap(each, (None, None, 0)))(x, table, QTmask)
        """,
    "an index that is only called a mask": "@jax.jit\ndef f(x, QTmask):\n    return x[:, QTmask]",
    "what may be an array or a dict, by positions": """
        @jax.jit
        def step(x, at):
            return x[at] * 2

        def run(x, at: jax.Array, named):
            return step(named if named else x, jnp.arange(3))
        """,
    "what a gradient does not trace, in a function": (
        """
        def loss(p: jnp.ndarray, t: jnp.ndarray, q: float):
            return jnp.sum(p) * float(t[1] - t[0]) * q

        def check():
            return jax.grad(loss, argnums=0)(jnp.ones(3), jnp.ones(4), 0.1)
        """
    ),
    "a flag of an object that a scan's body closes over": """
        class Process:
            def __init__(self, noise):
                self.spatial = jnp.any(jnp.isnan(noise))

            def predict(self, x):
                if self.spatial:
                    return x * 2
                return x

            def sample(self, xs: jax.Array):
                def one(i, x):
                    return i + 1, self.predict(x)
                return jax.lax.scan(one, 0, xs)
        """,
    "one of several functions that is mapped": """
        def evolve(rho, n):
            return rho * jnp.zeros(n)

        def riemann(rho, u):
            return rho * u

        class Solver:
            def __init__(self, kind):
                if kind == "plain":
                    self.evolve = evolve
                else:
                    self.evolve = riemann
                self.kind = kind

            def step(self, rho: jax.Array, u: jax.Array, n: int):
                if self.kind == "plain":
                    return self.evolve(rho, n)
                return jax.vmap(self.evolve)(rho, u)
        """,
    "NumPy's array that was put on a device": """
        def make(table: np.ndarray):
            table = jax.device_put(table, jax.local_devices(backend="cpu")[0])

            def rows(key):
                index = jax.random.choice(key, 10, (3,))
                return table[index]

            return jax.jit(rows)
        """,
    "what a function with a gradient of its own gives": """
        @jax.custom_gradient
        def log(x):
            return jnp.log(x), lambda g: g / x

        @jax.jit
        def f(x, i):
            return log(x)[i]
        """,
    "what was found while the function is compiled, behind the block": """
        def is_diagonal(m):
            return jnp.allclose(jnp.diag(jnp.diag(m)), m)

        @jax.jit
        def f(x):
            with jax.ensure_compile_time_eval():
                diagonal = is_diagonal(jnp.eye(3))
            return x if diagonal else -x
        """,
    "a shape that is a default": """
        DRAWS = {"normal": lambda key, shape=(): jax.random.normal(key, shape=shape)}

        def draw(name, keys):
            return jax.vmap(DRAWS[name])(keys)
        """,
    "a flag that is static, behind a row of arguments": """
        class Solver:
            @functools.partial(jax.jit, static_argnums=0)
            def residual(self, primals, duals, more):
                return self.hessian(*primals, *duals, True, more)

            @functools.partial(jax.jit, static_argnums=(0, 4))
            def hessian(self, u, x, y, gauss_newton, more):
                if gauss_newton:
                    return u + x
                return u - x + y
        """,
    "a mask that a method closes over": """
        class Solver:
            def __init__(self, bounds):
                self.constraint = self.make(bounds)

            def make(self, bounds):
                lower, upper = bounds
                finite = jnp.logical_not(jnp.isinf(lower))

                def constraint(u, t):
                    return u[finite] - lower[finite]

                return jax.jit(constraint)
        """,
    "the truth of a tuple and of a dict": """
        @jax.jit
        def f(state, params):
            a, b = state
            if state:
                a = a + 1
            if not params:
                return a
            return params["w"] * a
        """,
    "a mask of the object whose method is handed over": BOX
    + "    def pick(self, x):\n        return x[self.keep] * 2\n\npick = jax.jit(Box(np.arange(3)).pick)",
    "a mask of a static self": BOX
    + "    @functools.partial(jax.jit, static_argnums=0)\n    def pick(self, x):\n        return x[self.keep]",
    "a mask of a self that is static by name": BOX
    + "    @functools.partial(jax.jit, static_argnames='self')\n    def pick(self, x):\n        return x[self.keep]",
    "a size that a partial binds": """
        def row(n, x):
            return jnp.zeros(n) + x

        def rows(xs):
            n = jnp.array(3)
            return jax.vmap(functools.partial(row, n))(xs)
        """,
    "a mask that a partial binds": """
        def row(mask, x):
            return x[mask]

        mask = jnp.arange(3) > 1
        f = jax.jit(functools.partial(row, mask))
        """,
    "truths that are summed": (
        "@jax.jit\ndef f(x: jax.Array, scores: jax.Array):\n    n = sum(jnp.all(x > 0, axis=1))\n    return scores[n]"
    ),
    "positions called a mask": (
        "@jax.jit\ndef f(x: jax.Array, row: jax.Array, at: jax.Array):\n"
        "    mask = jnp.where(row, at, -1)\n    return x.at[mask].set(0)"
    ),
    "what an abstract method will give": """
        class Start(abc.ABC):
            @abc.abstractmethod
            def make(self, x):
                \"\"\"Make a first guess.\"\"\"

            def __call__(self, x):
                return jnp.where(x > 0, self.make(x), 0.0)

        @jax.jit
        def f(x: jax.Array):
            return run(x, Start)

        def run(x, start: Start):
            return start(x)
        """,
    "an array of either kind that NumPy works on": """
        class Grid:
            def __init__(self, lat: np.ndarray | jax.Array, other: np.ndarray):
                self.lat = lat
                self.other = other

        def check(x, grid: Grid):
            if not np.all(np.reshape(grid.lat, (3, 1)) == grid.other):
                raise ValueError
            return x * 2

        def build(grid: Grid):
            return jax.jit(lambda x: check(x, grid))
        """,
    "what a loop carries, which began as NumPy's": """
        @jax.jit
        def f(i: jax.Array):
            def body(j, carry):
                table, total = carry
                return table, total + table[j]
            return jax.lax.fori_loop(0, 3, body, (np.ones(3), 0.0))[1]
        """,
    "a loop behind which no gradient flows, two calls on": """
        def solve(x):
            return jax.lax.while_loop(lambda c: c[1] < 5, lambda c: (c[0] * 0.5 + x, c[1] + 1), (x, 0))[0]

        def g(x: jax.Array):
            z = solve(x)
            return jnp.sum(jax.lax.stop_gradient(z) * x)

        grad = jax.grad(g)
        """,
    "an item that a string names": """
        class Net:
            def __init__(self, name: str):
                self.name = name

            def f(self, params: jax.Array, w):
                params = jnp.asarray(params)
                params[self.name] = w
                return params
        """,
    "an iterator or an array": """
        def pick(x):
            i = jnp.argsort(x)
            return x[i]

        def f(xs: jax.Array):
            return jax.jit(pick)(xs) if xs.ndim == 1 else [jax.jit(pick)(x) for x in xs]
        """,
    "a mask of NumPy's that a mapped function closes over": """
        def make(charges, cores):
            mask = np.abs(np.asarray(charges) - jnp.asarray(cores)) > 1e-6

            def inner(r: jax.Array):
                return r[:, mask]

            return jax.vmap(inner)

        def build(charges: jax.Array):
            return make(charges, [1, 2])
        """,
    "a mask of which nothing is known": """
        def make(mask):
            def inner(r: jax.Array):
                return r[:, mask]

            return jax.jit(inner)
        """,
    "NumPy's name under which JAX's was when the script called": """
        import jax.numpy as np

        @jax.jit
        def f(x):
            return np.concatenate([x, x]) + np.abs(x)

        print(f(np.ones(3)))
        import numpy as np

        print(np.zeros(3))
        """,
    "a number that a differentiated function passes on": """
        def scaled(x, scale: jax.typing.ArrayLike):
            if scale == 1.0:
                return x
            return x * scale

        class Test:
            def run(self, scale):
                return jax.grad(lambda x: scaled(x, scale).sum())(jnp.ones(3))
        """,
    "what is evaluated while the function is compiled": """
        @jax.jit
        def f(x, phi=jnp.tanh):
            with jax.ensure_compile_time_eval():
                c = jnp.mean(phi(jnp.arange(4.0))).item()
                if jnp.allclose(c, 1.0):
                    return x
                rows = jnp.arange(4) > c
            return x * c + jnp.arange(4.0)[rows].sum()
        """,
    "a function that closes over a mask, under another that is compiled": """
        def constraint(bounds):
            inside = jnp.logical_not(jnp.isinf(bounds))

            def outside(u):
                return u[inside] - bounds[inside]

            return outside

        def solver(bounds, cost):
            c = constraint(bounds)

            @jax.jit
            def lagrangian(u):
                return cost(u) + c(u).sum()

            return lagrangian
        """,
}
FOUND = {
    "a function that is compiled, and called by the module's own name": (
        UNREAD_NAME.format("_compiled", "_compiled(jnp.ones(3))"),
        ["XLA102"],
    ),
    "a function that is compiled for other modules": (UNREAD_NAME.format("compiled", "run(jnp.ones(3))"), ["XLA102"]),
    "an array of NumPy's that a function around makes": (
        """
        def weigh(at):
            table = np.arange(9)

            def one(i):
                return table[i] * 2

            return jax.jit(one)(at)
        """,
        ["XLA302"],
    ),
    "an array of NumPy's that the module keeps": (
        "TABLE = np.arange(9)\n@jax.jit\ndef f(i):\n    return TABLE[i]",
        ["XLA302"],
    ),
    "a method that is compiled, and called so": (UNREAD.format("_compiled", "self._compiled(x)"), ["XLA102"]),
    "a method that is compiled, and called so by a name": (
        UNREAD.format("_compiled", "getattr(self, '_compiled')(x)"),
        ["XLA102"],
    ),
    "a method that is compiled for others to call": (UNREAD.format("compiled", "self.run(x)"), ["XLA102"]),
    "a mask of JAX's, turned around": (
        "@jax.jit\ndef f(x):\n    off = ~jnp.eye(x.shape[0], dtype=bool)\n    return x[off]",
        ["XLA201"],
    ),
    "a mask that is compared with a tracer": (
        "@jax.jit\ndef f(x):\n    off = ~(np.ones(3) < x)\n    return x[off]",
        ["XLA201"],
    ),
    "what a gradient does not trace, where jit does": (
        "def loss(p: jnp.ndarray, t: jnp.ndarray):\n    return jnp.sum(p) * float(t[1] - t[0])\n\n"
        "@jax.jit\ndef step(p, t):\n    return jax.grad(loss)(p, t)",
        ["XLA301"],
    ),
    "what a gradient traces by number": (
        "def loss(p: jnp.ndarray, t: jnp.ndarray):\n    return jnp.sum(p) * float(t[1] - t[0])\n\n"
        "def check():\n    return jax.grad(loss, argnums=1)(jnp.ones(3), jnp.ones(4))",
        ["XLA301"],
    ),
    "a flag that is not static": (
        "@functools.partial(jax.jit, static_argnums=0)\ndef f(n, x, flag):\n    if flag:\n        return x * n\n    return x",
        ["XLA101"],
    ),
    "a truth in what a loss's function calls": (
        """
        def clipped(x):
            if jnp.max(x) > 1:
                return x / 2
            return x

        @jax.jit
        def train(w, x):
            def loss(w):
                return jnp.sum(clipped(x * w))
            return jax.grad(loss)(w)
        """,
        ["XLA101"],
    ),
    "behind what was evaluated while the function is compiled": (
        """
        @jax.jit
        def f(x):
            with jax.ensure_compile_time_eval():
                c = jnp.arange(4.0).sum()
            if c * x.sum() > 0:
                return x
            return -x
        """,
        ["XLA101"],
    ),
    "a mask that the traced function makes, under a name of the function around it": (
        """
        def make(limit):
            @jax.jit
            def f(x: jax.Array):
                mask = x > limit

                def inner(r):
                    return r[mask]

                return inner(x)

            return f
        """,
        ["XLA201"],
    ),
    "NumPy's name that no code between the imports uses": (
        "import jax.numpy as np\n\ndef g(x):\n    return x\n\nimport numpy as np\n\n"
        "@jax.jit\ndef f(x):\n    return np.concatenate([x, x])",
        ["XLA302"],
    ),
    "a number that a compiled function passes on": (
        """
        def scaled(x, scale: jax.typing.ArrayLike):
            if scale == 1.0:
                return x
            return x * scale

        @jax.jit
        def f(x, scale):
            return scaled(x, scale)
        """,
        ["XLA101"],
    ),
    "a mask of a static self's and the argument": (
        BOX
        + "    @functools.partial(jax.jit, static_argnums=0)\n    def f(self, x):\n        return x[self.keep & (x > 0)]",
        ["XLA201"],
    ),
    "NumPy's array, which a loop does not carry": (
        "table = np.ones(3)\n@jax.jit\ndef f(x):\n    return jax.lax.fori_loop(0, 3, lambda j, c: c + table[j], x)",
        ["XLA302"],
    ),
    "a loop through which a gradient flows": (
        "def g(x: jax.Array):\n    x = x * 2\n    return jax.lax.while_loop(lambda c: c < 5, lambda c: c * 2, x)\n\ngrad = jax.grad(g)",
        ["XLA102"],
    ),
    "a loop that one caller cuts off from gradients, and another does not": (
        "def solve(x):\n    return jax.lax.while_loop(lambda c: c < 5, lambda c: c * 2, x)\n\n"
        "def cut(x: jax.Array):\n    return jnp.sum(jax.lax.stop_gradient(solve(x * 2)) * x)\n\n"
        "def whole(x: jax.Array):\n    return jnp.sum(solve(x * 2) * x)\n\n"
        "first = jax.grad(cut)\nsecond = jax.grad(whole)",
        ["XLA102"],
    ),
    "a comparison of what a static self keeps": (  # is an operation of the graph, which is under way
        BOX
        + "    @functools.partial(jax.jit, static_argnums=0)\n    def f(self, x):\n        return x if self.size > 2 else -x",
        ["XLA105"],
    ),
    "a mask of an object that is traced": (
        "@jax.tree_util.register_pytree_node_class"
        + BOX
        + "    @jax.jit\n    def f(self, x: jax.Array):\n        y = x * 2\n        return y[y > 0]",
        ["XLA201"],
    ),
    "a size that a partial binds and jit has traced": (
        "def row(n, x):\n    return jnp.zeros(n) + x\n\n@jax.jit\ndef f(xs: jax.Array, n: jax.Array):\n"
        "    return jax.vmap(functools.partial(row, n))(xs)",
        ["XLA206"],
    ),
    "truths that are not summed": (
        "@jax.jit\ndef f(x: jax.Array, scores: jax.Array):\n    n = jnp.all(x > 0, axis=1)\n    return scores[n]",
        ["XLA201"],
    ),
    "a mask of two masks": (
        "@jax.jit\ndef f(x: jax.Array, row: jax.Array):\n    mask = jnp.where(row > 0, x > 0, True)\n    return x[mask]",
        ["XLA201"],
    ),
    "a tracer that NumPy works on": (
        "@jax.jit\ndef f(x: jax.Array, other: np.ndarray):\n    if not np.all(x == 3):\n        raise ValueError\n    return x",
        ["XLA103"],
    ),
}

KEPT = """
class Schedule:
    def __init__(self, betas):
        self.betas = betas = np.array(betas, dtype=np.float64)
        self.rest = np.cumprod(1.0 - betas)
        {0}

kept = Schedule([0.1, 0.2])

@jax.jit
def f(x, at):
    return x * kept.rest[at]
"""
PROTOCOL = """
import typing

class Squash({0}):
    def __call__(self, rewards):
        "Squash them."

def run(squash: Squash, x, mask):
    return jax.jit(lambda x, mask: jnp.where(mask, squash(x), 0.0))(x, mask)

run(lambda x: x * 2, jnp.ones(3), jnp.ones(3) > 0)
"""
SILENT["what a protocol leaves to others"] = PROTOCOL.format("typing.Protocol")
SILENT["a size that a partial binds by name before jit traces"] = """
def row(x, n, scale=1.0):
    return jnp.arange(n) * x.sum() * scale

n = jax.random.randint(jax.random.PRNGKey(0), (), 1, 9)
print(jax.jit(functools.partial(row, n=n))(jnp.ones(3)))
"""
SILENT["arrays that an object makes JAX's, whatever their names"] = KEPT.format(
    "for name, value in self.__dict__.items():\n            setattr(self, name, jnp.array(value))"
)
LIMITED = """
import flax.linen as nn

class Head(nn.Module):
    limits: jnp.ndarray = None

    @nn.compact
    def __call__(self, x):
        return x * self.limits[0] if {0} else nn.Dense(3)(x)
"""
FLAGGED = """
import haiku as hk

class Head(hk.Module):
    def __call__(self, x, training{0} = True):
        return x * 2 if training else x

@hk.transform
def apply(x, training):
    return Head()(x, training)
"""
PICKED = """
def pick(values{0}, at):
    return values[at]

@jax.jit
def loss(model, x, at):
    return pick({1}, at)
"""
SILENT |= {
    "an array that a module is configured with": LIMITED.format("self.limits"),
    "a flag that is declared one, which is handed on": FLAGGED.format(": bool"),
    "what the tracer passes for an array of NumPy's": PICKED.format(": np.ndarray", "model(x)"),
}
FOUND |= {
    "what is computed of an array that a module is configured with": (
        LIMITED.format("jnp.any(self.limits > 0)"),
        ["XLA105"],
    ),
    "an array that is handed on and asked for its truth": (FLAGGED.format(""), ["XLA105"]),
    "an index into an array of NumPy's": (PICKED.format("", "np.arange(9)"), ["XLA302"]),
    "arrays that an object keeps as they are": (KEPT.format("pass"), ["XLA302"]),
    "arrays of which an object sets others": (
        KEPT.format("for name in ('a', 'b'):\n            setattr(self, name, np.array(betas))"),
        ["XLA302"],
    ),
}


@pytest.mark.parametrize("code", SILENT.values(), ids=list(SILENT))
def test_what_was_made_before_is_known(code: str, loud: Loud) -> None:
    assert loud(IMPORTS + dedent(code) + "\n", "jax") == []


@pytest.mark.parametrize(("code", "rules"), FOUND.values(), ids=list(FOUND))
def test_what_a_tracer_passes_is_not(code: str, rules: list[str], loud: Loud) -> None:
    assert loud(IMPORTS + dedent(code) + "\n", "jax") == rules


@pytest.mark.parametrize(("asked", "rules"), [("run(jnp.ones(3))", []), ("fast(jnp.ones(3))", ["XLA102"])])
def test_what_a_notebook_compiles_and_never_calls_is_not_traced(asked: str, rules: list[str]) -> None:
    text = IMPORTS + UNREAD_NAME.format("fast", asked)
    cell = {"cell_type": "code", "source": text, "metadata": {}, "outputs": [], "execution_count": None}
    notebook = json.dumps({"cells": [cell], "metadata": {}, "nbformat": 4, "nbformat_minor": 5})
    report = check_text(notebook, "play.ipynb", Settings(target="jax"))
    assert not report.failures
    assert [finding.code for finding in report.findings if finding.code == "XLA102"] == rules
