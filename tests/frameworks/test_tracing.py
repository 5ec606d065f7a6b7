"""What a tracer makes of Python code: static arguments, effects that happen once, errors that code provides for."""

from __future__ import annotations

from textwrap import dedent

import pytest

from tests.conftest import Findings, Loud

TF = "import keras\nimport tensorflow as tf\n"
JAX = "import functools\nimport time\nimport numpy as np\nimport jax\nimport jax.numpy as jnp\n"
TORCH = "import torch\nfrom torch import nn\n"

SILENT = {
    "a static argument, by name": """
        @functools.partial(jax.jit, static_argnames=("n",))
        def f(x, n):
            return x if n > 2 else -x
        """,
    "a static argument, by number": """
        @functools.partial(jax.jit, static_argnums=1)
        def f(x: jax.Array, n):
            for _ in range(n):
                x = x + 1
            return x
        """,
    "a static argument of a function that is handed over": """
        def f(x, n):
            return x if n > 2 else -x

        g = jax.jit(f, static_argnums=(1,))
        """,
    "a static argument of a bound method": """
        class Model:
            def f(self, x, n):
                return x if n > 2 else -x

        g = jax.jit(Model().f, static_argnums=1)
        """,
    "a static argument behind one that a partial binds": """
        def f(scale, x, n):
            return x * scale if n > 2 else -x

        g = jax.jit(functools.partial(f, 3.0), static_argnums=1)
        """,
    "an argument that pmap broadcasts as it is": """
        def f(x, n):
            return x if n > 2 else -x

        g = jax.pmap(f, static_broadcasted_argnums=(1,))
        """,
    "an argument that vmap does not map": """
        def f(x, n):
            return x if n > 2 else -x

        g = jax.vmap(f, in_axes=(0, None))
        """,
    "one that vmap does not map and jit leaves static": """
        def f(x, n):
            return x if n > 2 else -x

        g = jax.jit(jax.vmap(f, in_axes=(0, None)), static_argnums=1)
        """,
    "an array of NumPy's that a jitted function is called with": """
        @jax.jit
        def f(batch):
            row = batch["x"]
            return row[jnp.arange(3)]

        for _ in range(3):
            f({"x": np.ones(3)})
        """,
    "an argument that a partial binds": """
        def f(n, x):
            return x if n > 2 else -x

        g = jax.jit(functools.partial(f, 3))
        """,
    "a value that is asked for in a try": """
        @jax.jit
        def f(x: jax.Array):
            try:
                size = float(x.sum())
            except TypeError:
                size = 0.0
            return x * size
        """,
    "code that no tracer is given runs eagerly": """
        def steps(x: jax.Array, n: jax.Array):
            for _ in range(int(n)):
                x = x + 1
            return x
        """,
    "host code may print, draw and look at the clock": """
        def report():
            print(time.time(), np.random.rand())
        """,
    "effects are information": """
        LOG = []

        @jax.jit
        def f(x: jax.Array):
            print("x", x)
            LOG.append(x)
            return x
        """,
    "a list of the function's own": """
        @jax.jit
        def f(x: jax.Array):
            parts = []
            parts.append(x)
            return jnp.stack(parts)
        """,
    "branches of one type": """
        @jax.jit
        def f(x: jax.Array):
            return jax.lax.cond(x.sum() > 0, lambda a: a * 2.0, lambda a: a - 1.0, x)
        """,
    "a gradient through a loop of known length": """
        @jax.jit
        def f(x: jax.Array):
            return jax.grad(lambda a: jax.lax.fori_loop(0, 3, lambda i, y: y * 1.1, a).sum())(x)
        """,
    "an open loop without a gradient": """
        @jax.jit
        def f(x: jax.Array):
            return jax.lax.while_loop(lambda c: c.sum() < 9, lambda c: c * 1.1, x)
        """,
}

GRAPHS = {
    "what is built in a graph of its own": (
        """
        def probed(n):
            return tf.ones(n).shape

        @tf.function
        def f(x: tf.Tensor, n: tf.Tensor):
            with tf.Graph().as_default():
                known = probed(n)
            return x
        """,
        [],
    ),
    "what is built in the graph that is traced": (
        """
        def probed(n):
            return tf.ones(n)

        @tf.function
        def f(x: tf.Tensor, n: tf.Tensor):
            with tf.name_scope("inner"):
                return x + tf.reduce_sum(probed(n))
        """,
        ["XLA206"],
    ),
    "a graph of its own, and the traced one": (
        """
        def probed(n):
            return tf.ones(n)

        @tf.function
        def f(x: tf.Tensor, n: tf.Tensor):
            with tf.Graph().as_default():
                probed(n)
            return x + tf.reduce_sum(probed(n))
        """,
        ["XLA206"],
    ),
}

FOUND = {
    "a traced argument": (
        """
        @jax.jit
        def f(x, n):
            return x if n > 2 else -x
        """,
        ["XLA105"],
    ),
    "a nested function under jit": (
        """
        def make(scale):
            @jax.jit
            def f(x):
                return x * scale if x.sum() > 0 else x
            return f
        """,
        ["XLA105"],
    ),
    "a random number that is frozen; a clock is information": (
        """
        @jax.jit
        def f(x: jax.Array):
            return x * time.time() + np.random.rand()
        """,
        ["XLA306"],
    ),
    "a format for a tracer": (
        """
        @jax.jit
        def f(x: jax.Array):
            return x * len(f"{x.sum():.2f}")
        """,
        ["XLA303"],
    ),
    "a tracer that is hashed": (
        """
        @jax.jit
        def f(x: jax.Array, n: jax.Array):
            return {3: x}[n]
        """,
        ["XLA106"],
    ),
    "an update through a mask": (
        """
        @jax.jit
        def f(x: jax.Array):
            return x.at[x > 0].set(0.0)
        """,
        ["XLA205"],
    ),
    "branches of two dtypes": (
        """
        @jax.jit
        def f(x: jax.Array):
            return jax.lax.cond(x.sum() > 0, lambda a: a.astype(jnp.int32), lambda a: a * 1.5, x)
        """,
        ["XLA108"],
    ),
    "branches of two shapes": (
        """
        @jax.jit
        def f(x: jax.Array):
            return jax.lax.cond(x.sum() > 0, lambda a: a, lambda a: a[:2], x)
        """,
        ["XLA108"],
    ),
    "a gradient through an open loop": (
        """
        @jax.jit
        def f(x: jax.Array):
            return jax.grad(lambda a: jax.lax.while_loop(lambda c: c.sum() < 9, lambda c: c * 1.1, a).sum())(x)
        """,
        ["XLA102"],
    ),
}


@pytest.mark.parametrize("code", SILENT.values(), ids=SILENT)
def test_what_traces_is_silent(code: str, loud: Loud) -> None:
    assert loud(JAX + dedent(code), "jax") == []


@pytest.mark.parametrize(("code", "rules"), FOUND.values(), ids=FOUND)
def test_what_a_tracer_refuses_or_freezes_is_found(code: str, rules: list[str], loud: Loud) -> None:
    assert loud(JAX + dedent(code), "jax") == rules


def test_a_size_is_named_where_the_tensor_is_read(loud: Loud) -> None:
    code = """
        class Model(nn.Module):
            def forward(self, x: torch.Tensor, n: torch.Tensor):
                for _ in range(int(n)):
                    x = x + 1
                return torch.arange(x.max().item(), device=x.device)
        """
    assert loud(TORCH + dedent(code), "torch_xla") == ["XLA107", "XLA206"]


def test_a_print_once_in_many_steps_is_information(findings: Findings) -> None:
    code = """
        class Model(nn.Module):
            def forward(self, x: torch.Tensor, step: int):
                if step % 100 == 0:
                    print(x)
                return x
        """
    assert findings(TORCH + dedent(code), "torch_xla") == [("XLA303", "info")]
    assert findings(TORCH + dedent(code), "torch_compile") == [("XLA303", "warning")]


@pytest.mark.parametrize(("code", "rules"), GRAPHS.values(), ids=GRAPHS)
def test_only_the_traced_graph_is_compiled(loud: Loud, code: str, rules: list[str]) -> None:
    assert loud("import tensorflow as tf\n" + dedent(code), "tf") == rules


DRIVERS = {
    "def train(model, loader):": ["XLA301"],
    "class Trainer:\n    def train(self, model, loader):": ["XLA301"],
    "class Pipeline:\n    def __call__(self, model, loader):": ["XLA301", "XLA302"],
}


@pytest.mark.parametrize("header", DRIVERS)
def test_what_is_read_behind_a_loop_counts_where_all_is_called_again(loud: Loud, header: str) -> None:
    indent = " " * (8 if header.startswith("class") else 4)
    body = [
        "image = torch.zeros(3, device='xla')",
        "for batch in loader:",
        "    image = model(image * batch.to('xla'))",
        "    print(image.sum().item())",
        "    xm.mark_step()",
        "return image.cpu()",
    ]
    code = (
        "import torch\nimport torch_xla.core.xla_model as xm\n"
        + header
        + "\n"
        + "\n".join(indent + line for line in body)
    )
    assert sorted(loud(code + "\n", "torch_xla")) == DRIVERS[header]


@pytest.mark.parametrize(("steps", "found"), [("4", ["XLA301"]), ("100", []), ("every", [])])
def test_what_is_read_every_few_steps_counts(loud: Loud, steps: str, found: list[str]) -> None:
    code = f"""
import torch
import torch_xla.core.xla_model as xm


def train(model, loader, every):
    for step, batch in enumerate(loader):
        loss = model(batch.to("xla") * torch.ones(3, device="xla")).sum() * torch.ones(1, device="xla").sum()
        if step % {steps} == 0:
            shown = loss.item()
        xm.mark_step()
"""
    assert loud(code, "torch_xla") == found
