"""XLA101: turns of a loop that a tensor's value skips."""

from __future__ import annotations

from tests.xla.grammars import Grammar

GRAMMARS = (
    Grammar(
        name="continues",
        framework="torch",
        codes=("XLA101",),
        rules={
            "program": [
                "import torch\n\n\n"
                '# xlalint: inputs(x="<float_dtype>[4,3]", t="i64[4] 0..2")\n'
                "def f(x: torch.Tensor, t: torch.Tensor):\n"
                "    y = torch.zeros_like(x)\n"
                "    total = <start>\n"
                "    x = x * 0.5\n"
                "    for i in range(x.shape[0]):\n"
                "        if <skip>:\n"
                "            continue\n"
                "        <rest>\n"
                "    return x, y, total\n"
            ],
            "start": ["0.0", "torch.zeros((), dtype=x.dtype)", "x.sum() * 0.0"],
            "skip": [
                "t[i] == 0",
                "not t[i] == 0",
                "(x[i] > 0.2).any()",
                "not (x[i] > 0.2).all()",
                "x.sum() > i",
                "y.sum() > 1.0",
                "x[i].max() > 0.5 or t[i] == 1",
            ],
            "rest": [
                "total += x[i].sum()",
                "total -= x[i].sum()",
                "total = total + x[i].abs().sum()",
                "x = x + 1.0",
                "x = x * x",
                "y = y - x",
                "y[i] = x[i] * 2.0",
                "y[i, 1:] = <number>",
                "row = x[i] * 2.0\ny[i] = row\ntotal += row.sum()",
                "row = x[i].exp()\nx = x + row\ny = y + x",
                "y += x\nx = x - y",
            ],
        },
        unlike=("nan", "magnitudes", "signs"),  # a gradient of zero meets what is not finite; −0 and nothing more are 0
    ),
    Grammar(
        name="continues",
        framework="jax",
        codes=("XLA101",),
        rules={
            "program": [
                "import jax\nimport jax.numpy as jnp\n\n\n"
                '# xlalint: inputs(x="<float_dtype>[4,3]", t="i32[4] 0..2")\n'
                "@jax.jit\n"
                "def f(x: jax.Array, t: jax.Array):\n"
                "    y = jnp.zeros_like(x)\n"
                "    for i in range(min(x.shape[0], 5)):\n"  # more turns make graphs that take seconds to compile
                "        if <skip>:\n"
                "            continue\n"
                "        <rest>\n"
                "    return x, y\n"
            ],
            "skip": ["t[i] == 0", "not (x[i] > 0.2).all()", "x.sum() > i"],
            "rest": [
                "x = x + 1.0",
                "y = y - x[i]",
                "y = y.at[i].set(x[i])",
                "row = jnp.exp(x[i])\ny = y + row\nx = x * 0.5",
            ],
        },
        unlike=("nan", "magnitudes", "signs"),  # a gradient of zero meets what is not finite; −0 and nothing more are 0
    ),
)
