"""XLA101, XLA103 and XLA105: branches, early returns, guards, checks and conditional expressions."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from tests.xla.grammars import Grammar

_HEAD = {
    "torch": "import torch\n\n\n# xlalint: inputs(<inputs>)\n"
    "<stop>def f(x: torch.Tensor, y: torch.Tensor, flag: bool = True) -> torch.Tensor:\n",
    "tensorflow": "import tensorflow as tf\n\n\n# xlalint: inputs(<inputs>)\n@tf.function(autograph=False)\n"
    "def f(x: tf.Tensor, y: tf.Tensor, flag: bool = True) -> tf.Tensor:\n",
    "jax": "import jax\nimport jax.numpy as jnp\n\n\n# xlalint: inputs(<inputs>)\n@jax.jit\n"
    "def f(x: jax.Array, y: jax.Array, flag: bool = True) -> jax.Array:\n",
}
_SHARED: Mapping[str, Sequence[str]] = {
    "inputs": ['x="<d:float_dtype><s:shape>", y="<d:float_dtype><s:shape>"'],
    "stop": ["", "", "@torch.no_grad()\n"],
    "asked": [
        "<condition>",
        "<condition>",
        "not <condition_call>",
        "flag and <condition>",
        "<condition> and <condition>",
    ],
    "condition_call": ["<condition>"],
    "use": ["x", "x + 1.0", "x * y"],
    "side": ["<elementwise>", "<elementwise>", "y", "x + y", "x * y", "x / y", "x - 1", "x / 3.0"],
    "body": [
        "x = <side>",
        "x = <side>  # why",
        "step = <side>\nx = x - step",
        "x = <side>\nx = x + 1.0",
        "x = <side>\ny = y * 2.0",
        "y = x * 2.0\nx = <side>",
        "# a comment\nx = x * 0.5",
    ],
    "branch": [
        "if <asked>:\n    <body>",
        "if <asked>:\n    <body>\nelse:\n    <body>",
        "if <asked>:\n    x = <side>\nelif <condition>:\n    x = <side>\nelse:\n    x = <side>",
        "if <asked>:\n    x = <side>\nelif <condition>:\n    x = <side>",
    ],
}


def _grammars(framework: str) -> tuple[Grammar, ...]:
    head = _HEAD[framework]
    guards = {
        "torch": [
            "if mask.any():\n    x = x.masked_fill(mask, <number>)",
            "if torch.any(mask):\n    x = torch.where(mask, <number>, x)",
            "if not mask.all():\n    x = torch.where(mask, x, y * 2.0)",
            "if mask.sum() > 0:\n    x = torch.where(mask, y, x)",
            "if flag and mask.any():\n    x = x.masked_fill(mask, 0.0)",
            "if not torch.isfinite(x).all():\n    limit = torch.finfo(x.dtype).max - 1000\n"
            "    x = torch.clamp(x, min=-limit, max=limit)",
            "if x.dtype == torch.float16 and torch.isinf(x).any():\n    limit = torch.finfo(x.dtype).max - 1000\n"
            "    x = torch.clamp(x, min=-limit, max=limit)",
            "x = x.clone()\nif mask.any():\n    x[mask] = <number>",
        ],
        "tensorflow": ["if tf.reduce_any(mask):\n    x = tf.where(mask, y, x)"],
        "jax": [
            "if mask.any():\n    x = jnp.where(mask, <number>, x)",
            "if not jnp.all(mask):\n    x = jnp.where(mask, x, y)",
        ],
    }[framework]
    programs = {
        "branch": ("XLA101", [f"{head}    <branch>\n    return <use>\n"]),
        "early-return": (
            "XLA101",
            [
                f"{head}    if <asked>:\n        return <side>\n    return <side>\n",
                f"{head}    if <asked>:\n        return <side>\n    z = <side>\n    return z + x\n",
                f"{head}    if <condition>:\n        return <side>\n    elif <condition>:\n        return <side>\n    return <side>\n",
                f"{head}    if <condition>:\n        return <side>\n    if <condition>:\n        return <side>\n"
                "    else:\n        return <side>\n",
            ],
        ),
        "guard": ("XLA101", [f"{head}    mask = <mask>\n    <guard>\n    return <use>\n"]),
        "ternary": (
            "XLA105",
            [
                f"{head}    z = <side> if <asked> else <side>\n    return z\n",
                f"{head}    return x * (<number> if <asked> else <number>)\n",
                f"{head}    scale = <number> if <condition> else 2.0\n    return x / scale\n",
                f"{head}    return y + (<side> if <condition> else x)\n",
            ],
        ),
    }
    rules = {**_SHARED, "guard": guards, "mask": ["x > 0.5", "x != x", "x < -99.0", "y > x"]}
    return tuple(
        Grammar(
            name=name,
            framework=framework,
            codes=(code,),
            # In TensorFlow a choice between two numbers is a float32.
            rules={**rules, "program": texts, **({"float_dtype": ["f32"]} if framework == "tensorflow" else {})},
            unlike=("gradients", "empty", *(("bf16",) if framework == "tensorflow" else ())),
            target="tf" if framework == "tensorflow" else "",
        )
        for name, (code, texts) in programs.items()
    )


GRAMMARS = tuple(grammar for framework in _HEAD for grammar in _grammars(framework))
