"""XLA104, XLA106: boolean operators, and builtins that compare tensors."""

from __future__ import annotations

from tests.xla.grammars import Grammar

_TORCH = (
    "import torch\n\n\n"
    '# xlalint: inputs(x="<d:float_dtype><shape>", t="<d:float_dtype>[] 0..3", v="<d:float_dtype>[6] 0..3")\n'
    "def f(x: torch.Tensor, t: torch.Tensor, v: torch.Tensor) -> torch.Tensor:\n"
)
_JAX = (
    "import jax\nimport jax.numpy as jnp\n\n\n"
    '# xlalint: inputs(x="<d:float_dtype><shape>", t="<d:float_dtype>[] 0..3", v="<d:float_dtype>[6] 0..3")\n'
    "@jax.jit\n"
    "def f(x: jax.Array, t: jax.Array, v: jax.Array) -> jax.Array:\n"
)
_OPERATORS = {
    "bools": ["<bool>", "<bool> and <bool>", "<bool> or <bool>", "<bool> and <bool> or <bool>", "<chain>"],
    "bool": ["<condition>", "not <condition>", "(<condition> or <chain>)", "x.ndim > 1", "not (<bool> and <bool>)"],
    "chain": ["0 < t < 1", "-1.0 <= <scalar> < t", "0 <= t <= 1 <= 2", "(t == 1) == (t < 2) != (t > 0)"],
}
_BUILTINS = {
    "value": [
        "max(<scalar>, t)",
        "max(t, 1)",
        "min(2.0, t)",
        "max(1, (x > 0).sum())",
        "min(v)",
        "max((x > 0).sum(), 2, 3)",
        "sorted(v)[<place>]",
        "sorted(v, reverse=True)[<place>]",
        "x * (<case> in v)",
        "x * (1.0 not in v)",
        "x * (t in (0, 1))",
        "x * (t not in [1, 2, 3])",
        "x * any(v > <case>)",
        "x * all(v > -1)",
    ],
    "case": ["0", "1", "t", "2.0"],
    "place": ["0", "-1", "2"],
}

GRAMMARS = (
    Grammar(
        name="boolean-operators",
        framework="torch",
        codes=("XLA104",),
        rules={"program": [_TORCH + "    y = <bools>\n    return x * y\n"], **_OPERATORS},
        unlike=("empty", "nan"),
    ),
    Grammar(
        name="boolean-operators",
        framework="jax",
        codes=("XLA104",),
        rules={"program": [_JAX + "    y = <bools>\n    return x * y\n"], **_OPERATORS},
        unlike=("empty", "nan"),
    ),
    Grammar(
        name="comparing-builtins",
        framework="torch",
        codes=("XLA106",),
        rules={"program": [_TORCH + "    y = <value>\n    return x + y\n"], **_BUILTINS},
        unlike=("nan", "gradients", "signs"),  # of −0 and 0, Python takes the first
    ),
    Grammar(
        name="comparing-builtins",
        framework="jax",
        codes=("XLA106",),
        rules={"program": [_JAX + "    y = <value>\n    return x + y\n"], **_BUILTINS},
        unlike=("nan", "gradients", "signs"),  # of −0 and 0, Python takes the first
    ),
)
