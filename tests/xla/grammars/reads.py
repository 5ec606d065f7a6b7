"""XLA301: numbers that the host reads."""

from __future__ import annotations

from tests.xla.grammars import Grammar

GRAMMARS = (
    Grammar(
        name="number-in-arithmetic",
        framework="torch",
        codes=("XLA301",),
        rules={
            "program": [
                'import math\n\nimport torch\n\n\n# xlalint: inputs(x="<dtype><shape>", n="i64[] 1..5")\n'
                "def f(x: torch.Tensor, n: torch.Tensor):\n    <body>\n"
            ],
            "dtype": ["f32", "f32", "f64"],
            "body": [
                "peak = <read>\nreturn <use>",
                "return <direct>",
                "y = x * 1\ny += <read>\nreturn y",
                "y = x.view(-1) * 1\nlow = y[0].item()\ny *= 3\nreturn y + low",
            ],
            "read": [
                "float(<scalar>)",
                "(<scalar>).item()",
                "int(<scalar>)",
                "int(n)",
                "n.item()",
                "math.exp(x.mean())",
                "math.sqrt(x.abs().max())",
                "bool(x.sum() > 0)",
                "(x > 0).sum().item()",
            ],
            "use": [
                "x * peak",
                "x / max(peak, 1.0)",
                "x + (peak - 1)",
                "torch.where(x > peak, x, 0.0)",
                "x.masked_fill(x > 0, peak)",
                "x.mul(peak), x.clone().add_(peak)",
                "x / (2 * -peak + 1e-3)",
                "x / math.sqrt(abs(peak) + 1)",
                "x, peak",
            ],
            "direct": ["x * <read>", "x / (1 + <read>)", "<read>, x", "{'x': x, 'loss': <read>}"],
        },
    ),
    Grammar(
        name="sum-over-steps",
        framework="torch",
        codes=("XLA301",),
        rules={
            "program": [
                'import torch\nimport torch_xla\n\n\n# xlalint: inputs(x="<dtype>[4,8]")\n'
                "def f(x: torch.Tensor):\n    total = <start>\n    count = 0\n    for step, row in enumerate(x):\n"
                "        loss = <loss>\n        total <sign> <term>\n        count += 1\n        torch_xla.sync()\n    return <end>\n"
            ],
            "dtype": ["f32", "f64"],
            "start": ["0.0", "0"],
            "loss": ["row.mean()", "(row * row).sum()", "(row > 0).sum()"],
            "sign": ["+=", "-="],
            "term": ["loss.item()", "float(loss)", "loss.item() * 2", "loss.item() * row.shape[0]"],
            "end": ["total", "total / max(count, 1)", "(total, x)", "float(total)"],
        },
        unlike=("empty",),
    ),
    Grammar(
        name="wanted-number",
        framework="torch",
        codes=("XLA301",),
        rules={
            "program": [
                'import torch\n\n\n# xlalint: inputs(x="f32<s:shape>", y="f32<s:shape>")\n'
                "def f(x: torch.Tensor, y: torch.Tensor):\n    scale = <scalar>\n    return <use>\n"
            ],
            "use": [
                "torch.empty_like(x).fill_(scale)",
                "y.fill_(scale)",
                "torch.add(y, x, alpha=scale)",
                "y.sub(y, alpha=scale)",
                "torch.tensor([scale, y.sum()])",
                "torch.tensor([y.argmax(), x.argmin()], dtype=torch.int32)",
                "torch.as_tensor([row.sum() for row in x], device=x.device)",
            ],
        },
    ),
    Grammar(
        name="number-in-arithmetic",
        framework="jax",
        codes=("XLA301",),
        rules={
            "program": [
                "import math\n\nimport jax\nimport jax.numpy as jnp\n\n\n"
                '# xlalint: inputs(x="f32<shape>", n="i32[] 1..5")\n'
                "@jax.jit\ndef f(x: jax.Array, n: jax.Array):\n    peak = <read>\n    return <use>\n"
            ],
            "read": [
                "float(<scalar>)",
                "(<scalar>).item()",
                "int(n)",
                "n.item()",
                "math.exp(x.mean())",
                "bool(x.sum() > 0)",
            ],
            "use": ["x * peak", "x + (peak - 1)", "jnp.where(x > peak, x, 0.0)", "x / (2 * -peak + 1e-3)", "x, peak"],
        },
        unlike=("gradients", "magnitudes"),  # `math` computes in float64, which tells where a sum with 1 is small
    ),
    Grammar(
        name="number-in-arithmetic",
        framework="tensorflow",
        codes=("XLA301",),
        rules={
            "program": [
                "import math\n\nimport tensorflow as tf\n\n\n"
                '# xlalint: inputs(x="f32<shape>")\n'
                "@tf.function(jit_compile=True, autograph=False)\ndef f(x: tf.Tensor):\n    peak = <read>\n    return <use>\n"
            ],
            "read": ["float(<scalar>)", "math.exp(tf.reduce_mean(x))", "math.sqrt(tf.reduce_max(tf.abs(x)))"],
            "use": ["x * peak", "x + (peak - 1)", "x / (2 * -peak + 1e-3)", "x, peak"],
        },
        unlike=("gradients", "magnitudes"),  # `math` computes in float64, which tells where a sum with 1 is small
    ),
)
