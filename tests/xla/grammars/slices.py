"""XLA206, XLA107, XLA102: bounds that are tensors."""

from __future__ import annotations

from tests.xla.grammars import Grammar

GRAMMARS = (
    Grammar(
        name="bounds",
        framework="torch",
        codes=("XLA206",),
        rules={
            "program": [
                "import torch\n\n\n"
                '# xlalint: inputs(x="<float_dtype>[6,9]", n="i64[] 0..5", lengths="i64[6] 0..9")\n'
                "def f(x: torch.Tensor, n: torch.Tensor, lengths: torch.Tensor) -> torch.Tensor:\n"
                "    y = <elementwise>\n"
                "    <statement>\n"
                "    return y\n"
            ],
            "statement": [
                "y = y + x[..., :n].sum()",
                "y = torch.ones(6, 9, device=x.device)[n:].sum(0) * y[0]",
                "y = y[:, n : n + 4] * 2.0",
                "y = y[n : n + 1].exp()",
                "y = y[:n].cpu()",
                "y = y[..., :n].detach().to('cpu') * 2.0",
                "y = torch.ones(6, 9)\ny[2, :n] = <number>",
                "y = torch.ones(6, 9)\ny[n:, 1] = <number>",
                "y = y * 1.0\ny[:, n : n + 2] = x[:, :2]",
                "y = torch.ones(6, 9)\nfor i in range(6):\n    y[i, : lengths[i]] = <number>",
                "y = torch.ones(6, 9)\nfor i, k in enumerate(lengths):\n    y[i, k + 1 :] = <number>",
                "m = torch.zeros(6, 9, dtype=torch.bool)\nfor i, k in enumerate(lengths):\n    m[i, :k] = True\ny = y * m",
            ],
        },
        unlike=("nan", "empty", "single"),  # a window may end behind what has one element
    ),
    Grammar(
        name="bounds",
        framework="jax",
        codes=("XLA206", "XLA107", "XLA102"),
        rules={
            "program": [
                "import jax\nimport jax.numpy as jnp\n\n\n"
                '# xlalint: inputs(x="<float_dtype>[6,9]", n="i32[] 0..5")\n'
                "@jax.jit\n"
                "def f(x: jax.Array, n: jax.Array) -> jax.Array:\n"
                "    y = <elementwise>\n"
                "    <statement>\n"
                "    return y\n"
            ],
            "statement": [
                "y = y + x[..., :n].sum()",
                "y = y[:, n : n + 4] * 2.0",
                "y = y.at[:, n : n + 2].set(x[:, :2])",
                "for i in range(n):\n    y = y * 0.5 + x[i]",
                "z = x * 0.5\nfor i in range(1, n):\n    z = z + x[i]\n    y = y * 0.5 + z",
                "while jnp.abs(y).sum() > 2.0:\n    y = y * 0.5",
            ],
        },
        unlike=("nan", "empty", "single", "gradients"),
    ),
)
