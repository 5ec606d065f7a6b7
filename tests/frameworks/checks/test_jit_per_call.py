"""XLA404: compiled functions that are made where they are used; and the larger half, of those that are kept, left alone."""

from __future__ import annotations

import pytest

from tests.frameworks.checks.rows import find, find_rows

JAX = """
import equinox as eqx
import jax
import jax.numpy as jnp
from functools import cache, lru_cache, partial

def f(x, k=1):
    return x * k
"""
KERAS = """
import tensorflow as tf

def f(x, k=1):
    return x * k
"""


SILENT = {
    "what makes a state of a key": (
        "def begin(model, key: jax.random.PRNGKey):\n    def init(key):\n        return model.init(key)\n"
        "    return jax.jit(init)(key)"
    ),
    "what an evaluation at every n-th step compiles": """
        def gather(x):
            return jax.pmap(lambda y: jax.lax.psum(y, "i"), "i")(x)
        def evaluate(s, test):
            return gather(jnp.stack([f(s, t) for t in test]))
        def train(s, loader, test):
            step = jax.jit(f)
            for i, b in enumerate(loader):
                s = step(s, b)
                if i % 1000 == 0:
                    print(evaluate(s, test))
        """,
    "what whole programs of a sweep set up": """
        class Engine:
            def load(self, k):
                return jax.jit(lambda: jnp.zeros(k))()
        def build(k):
            return Engine().load(k)
        def prepare(k):
            return build(k)
        def bench(k):
            return prepare(k)
        for k in ks:
            bench(k)
        """,
    "where an object is made": """
        class Engine:
            def __init__(self, k):
                self.state = self.load(k)
            def load(self, k):
                return jax.jit(lambda: jnp.zeros(k))()
        engines = [Engine(k) for k in range(len(xs))]
        for k in ks:
            engines.append(Engine(k))
        """,
    "within a compiled function": """
        @partial(jax.jit, static_argnums=1)
        def run(x, k):
            return jax.jit(jax.vmap(lambda y: y * k))(x)
        for x in xs:
            run(x, 2)
        """,
    "in the first turn": "for i, x in enumerate(xs):\n    if i == 0:\n        g = jax.jit(lambda y: f(y))\n    g(x)",
    "where it is missing": "g = None\nfor x in xs:\n    if g is None:\n        g = jax.jit(lambda y: f(y))\n    g(x)",
    "under a flag that it clears": (
        "fresh = True\nfor x in xs:\n    if fresh:\n        g = jax.jit(lambda y: f(y))\n        fresh = False\n    g(x)"
    ),
    "a function of the module": "for x in xs:\n    jax.jit(f)(x)",
    "with static arguments": "for x in xs:\n    jax.jit(f, static_argnums=1)(x, 2)",
    "once": "step = jax.jit(lambda x: x)\nfor x in xs:\n    step(x)",
    "once, called at once": "y = jax.jit(lambda x: x)(x)",
    "a function of the module, in a function of arrays": "def run(x: jax.Array):\n    return jax.jit(f)(x)",
    "in a function of which nothing says that it is given arrays": "def make(model, key):\n    return jax.jit(lambda k: model(k))(key)",
    "in a method that sets up": (
        "class Net:\n    def init(self, key: jax.Array):\n        return jax.jit(lambda k: k * 2)(key)"
    ),
    "in a function of arrays that runs once": (
        "def run(x: jax.Array):\n    return jax.jit(lambda y: y * 2)(x)\nrun(jnp.ones(3))"
    ),
    "one lambda": "g = lambda x: x\nfor x in xs:\n    jax.jit(g)(x)",
    "one partial": "g = partial(f, k=2)\nfor x in xs:\n    jax.jit(g)(x)",
    "used by an inner loop": """
        for rate in rates:
            step = jax.jit(lambda x: x * rate)
            for x in xs:
                step(x)
        """,
    "used by a comprehension": "for k in ks:\n    step = jax.jit(lambda x: x * k)\n    ys = [step(x) for x in xs]",
    "a few": "for k in (1, 2, 3):\n    jax.jit(lambda x: x * k)(x)",
    "a few by range": "for k in range(3):\n    jax.jit(lambda x: x * k)(x)",
    "kept in a table": "steps = {}\nfor k in ks:\n    steps[k] = jax.jit(lambda x: x * k)",
    "kept in a list": "steps = []\nfor k in ks:\n    steps.append(jax.jit(lambda x: x * k))",
    "a factory": "def make(k):\n    return jax.jit(lambda x: x * k)\nfor k in ks:\n    run(make(k))",
    "a factory that remembers": """
        @lru_cache
        def run(k):
            return jax.jit(lambda: jnp.ones(k))()
        for k in ks:
            run(k)
        """,
    "kept in an attribute": """
        class Net:
            def step(self, x):
                if self.run is None:
                    self.run = jax.jit(self.forward)
                return self.run(x)
        net = Net()
        for x in xs:
            net.step(x)
        """,
    "called once": "def main(x):\n    return jax.jit(lambda x: x)(x)\nmain(x)",
    "called by nobody": "def main(x):\n    return jax.jit(lambda x: x)(x)",
    "used again and again": """
        def train(xs):
            step = jax.jit(lambda x: x)
            for x in xs:
                step(x)
        for rate in rates:
            train(xs)
        """,
    "passed on": "def train(xs):\n    step = jax.jit(lambda x: x)\n    return run(step, xs)\nfor x in xs:\n    train(x)",
    "called a few times": "def main(x):\n    return jax.jit(lambda x: x)(x)\nfor x in (1, 2, 3):\n    main(x)",
    "called a few times, two calls deep": (
        "def init(x):\n    return jax.jit(lambda x: x)(x)\ndef main(x):\n    return init(x)\nfor x in enumerate([1, 2]):\n    main(x)"
    ),
    "within a trace": """
        @jax.jit
        def outer(x):
            for _ in range(20):
                x = jax.jit(lambda x: x)(x)
            return x
        """,
    "nothing is compiled": "for x in xs:\n    jax.vmap(lambda x: x)(x)",
    "of unknown make": "for x in xs:\n    jax.jit(make(x))(x)",
    "a nested function that is given back": """
        def make(k):
            @jax.jit
            def step(x):
                return x * k
            return step
        for k in ks:
            make(k)(x)
        """,
}
NET = "class Net:\n    def f(self, x):\n        return x\nnet = Net()\nfor x in xs:\n    "
SILENT |= {
    "within what a compiled method calls": """
        class Solver:
            @partial(jax.jit, static_argnums=0)
            def tell(self, x):
                return self._tell(x)
            def _tell(self, x):
                @jax.jit
                def infer(y):
                    return y * 2
                return infer(x)
        solver = Solver()
        for x in xs:
            solver.tell(x)
        """,
    "a method, of which equinox compares the parts": NET + "eqx.filter_jit(net.f)(x)",
    "what equinox makes of a method": NET + "eqx.filter_jit(eqx.filter_vmap(net.f))(x)",
    "what equinox makes of a function": "for x in xs:\n    eqx.filter_jit(eqx.filter_value_and_grad(f))(x)",
    "what equinox makes of a partial, which has parts": (
        "for x in xs:\n    eqx.filter_jit(eqx.filter_vmap(jax.tree_util.Partial(f, k=2)))(x)"
    ),
}
FOUND = {
    "what computes with an array and a key": (
        "def begin(x: jax.Array, key: jax.random.PRNGKey):\n    def init(x):\n        return x\n    return jax.jit(init)(x)",
        [4],
    ),
    "what equinox makes of a lambda": ("for x in xs:\n    eqx.filter_jit(eqx.filter_vmap(lambda y: f(y)))(x)", [2]),
    "what JAX makes of a function, given to equinox": ("for x in xs:\n    eqx.filter_jit(jax.grad(f))(x)", [2]),
    "in a method, which a loop calls": (
        "class Engine:\n    def load(self, k):\n        return jax.jit(lambda: jnp.zeros(k))()\n"
        "engine = Engine()\nfor k in ks:\n    engine.load(k)",
        [3],
    ),
    "under a test that stays": ("for x in xs:\n    if x.ndim:\n        g = jax.jit(lambda y: f(y))\n        g(x)", [3]),
    "in a function of arrays": ("def run(x: jax.Array, k):\n    return jax.jit(partial(f, k=k))(x)", [2]),
    "of a gradient, in a function of arrays": ("def run(x: jax.Array):\n    return jax.jit(jax.grad(f))(x)", [2]),
    "a lambda": ("for x in xs:\n    jax.jit(lambda x: x)(x)", [2]),
    "a lambda by a name": ("for x in xs:\n    step = jax.jit(lambda x: x)\n    step(x)", [2]),
    "a partial": ("while True:\n    x = jax.jit(partial(f, k=2))(x)", [2]),
    "a gradient": ("for x in xs:\n    jax.pmap(jax.value_and_grad(f))(x)", [2]),
    "a method": (
        "class Net:\n    def f(self, x):\n        return x\nnet = Net()\nfor x in xs:\n    jax.jit(net.f)(x)",
        [6],
    ),
    "another's": ("for x in xs:\n    eqx.filter_jit(lambda x: x)(x)", [2]),
    "a nested function": (
        "def run(x):\n    def step(x):\n        return x\n    return jax.jit(step)(x)\nfor x in xs:\n    run(x)",
        [4],
    ),
    "a decorated one": (
        "def run(x):\n    @jax.jit\n    def step(x):\n        return x\n    return step(x)\nfor x in xs:\n    run(x)",
        [2],
    ),
    "two calls deep": (
        "def run(x):\n    return jax.jit(lambda x: x)(x)\ndef go(x):\n    return run(x)\nfor x in xs:\n    go(x)",
        [2],
    ),
    "in a loop of a few": (
        "def run(x):\n    return jax.jit(lambda x: x)(x)\nfor k in (1, 2):\n    for x in xs:\n        run(x)",
        [2],
    ),
    "in a training loop": ("def main(xs):\n    for x in xs:\n        jax.jit(lambda x: x)(x)", [3]),
}
KERAS_SILENT = {
    "once": "step = tf.function(f)\nfor x in xs:\n    step(x)",
    "of a module": "@tf.function\ndef step(x):\n    return x\nfor x in xs:\n    step(x)",
    "in a constructor": "class M:\n    def __init__(self):\n        self.step = tf.function(self.call)",
    "an export": "def export(x):\n    return tf.function(f).get_concrete_function(x)\nfor x in xs:\n    export(x)",
}
KERAS_FOUND = {
    "of a module": ("for x in xs:\n    tf.function(f)(x)", [2]),
    "a method": (
        "class M:\n    def run(self, x):\n        return tf.function(self.call)(x)\n"
        "    def call(self, x):\n        return x\nm = M()\nfor x in xs:\n    m.run(x)",
        [3],
    ),
    "a nested one": (
        "def run(x):\n    @tf.function(jit_compile=True)\n    def step(x):\n        return x\n    return step(x)\nfor x in xs:\n    run(x)",
        [2],
    ),
}  # fmt: skip


@pytest.mark.parametrize("case", SILENT)
def test_silent(case: str) -> None:
    assert find_rows(SILENT[case], JAX, "XLA404") == []


@pytest.mark.parametrize("case", FOUND)
def test_found(case: str) -> None:
    text, expected = FOUND[case]
    assert find_rows(text, JAX, "XLA404") == expected


@pytest.mark.parametrize("case", KERAS_SILENT)
def test_silent_under_tensorflow(case: str) -> None:
    assert find_rows(KERAS_SILENT[case], KERAS, "XLA404") == []


@pytest.mark.parametrize("case", KERAS_FOUND)
def test_found_under_tensorflow(case: str) -> None:
    text, expected = KERAS_FOUND[case]
    assert find_rows(text, KERAS, "XLA404") == expected


EPOCHS = """
def watch(load, data, step):
    while True:
        state = load()
        for b in data:
            {0}
        {1}
"""
PSUM = "print(jax.pmap(lambda y: jax.lax.psum(y, 'i'), 'i')(jnp.ones(8)))"


@pytest.mark.parametrize(
    ("inner", "beside", "severity"),
    [
        ("state = step(state, b)", PSUM, "info"),
        ("print(b)", PSUM, "warning"),
        (f"x = step(state, b); {PSUM}", "pass", "warning"),
    ],
    ids=["beside a loop over steps", "beside a loop that computes nothing", "in the loop over steps"],
)
def test_what_is_made_once_an_epoch_is_information(inner: str, beside: str, severity: str) -> None:
    text = EPOCHS.format(inner.replace("; ", "\n            "), beside)
    assert [one.severity for one in find(text, JAX, "XLA404")] == [severity]


RUNS = """
step = jax.jit(lambda s, b: (s + b, b.sum()))

def run(s, loader):
    for b in loader:
        s, loss = step(s, b)
    return s

def apply(s, b):
    return s * b

def check(folds, s, loader):
    for one in folds:
        best = {0}
        @jax.jit
        def predict(s, x):
            return s @ x
        keep(predict(best, one))
"""


@pytest.mark.parametrize(
    ("called", "severity"), [("run(s, one)", "info"), ("apply(s, one)", "warning"), ("step(s, one)[0]", "warning")]
)
def test_what_is_made_once_a_run_of_many_steps_is_information(called: str, severity: str) -> None:
    assert [one.severity for one in find(RUNS.format(called), JAX, "XLA404")] == [severity]
