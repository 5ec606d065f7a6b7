"""XLA301 to XLA304: values that the host reads."""

from __future__ import annotations

from tests.xla.grammars import Grammar

GRAMMARS = (
    Grammar(
        name="item-in-arithmetic",
        framework="torch",
        codes=("XLA301",),
        rules={
            "program": [
                'import math\n\nimport torch\n\n\n# xlalint: inputs(x="<float_dtype><shape>")\n'
                "def f(x: torch.Tensor) -> torch.Tensor:\n    peak = <read>\n    return <use>\n"
            ],
            "read": [
                "float(<scalar>)",
                "(<scalar>).item()",
                "int(<scalar>)",
                "math.exp(<scalar>)",
                "bool(<condition>)",
            ],
            "use": [
                "x * peak",
                "x / max(peak, 1.0)",
                "x + (peak - 1)",
                "torch.where(x > peak, x, 0.0)",
                "x * 2 ** peak",
            ],
        },
    ),
)
