"""XLA205: assignment through a mask."""

from __future__ import annotations

from tests.xla.grammars import Grammar

GRAMMARS = (
    Grammar(
        name="mask-assignment",
        framework="torch",
        codes=("XLA205",),
        rules={
            "program": [
                "import torch\n\n\n"
                '# xlalint: inputs(x="<float_dtype><s:shape>", mask="bool<s:shape>")\n'
                "def f(x: torch.Tensor, mask: torch.Tensor) -> torch.Tensor:\n"
                "    y = <elementwise>\n"
                "    <target> = <number>\n"
                "    return <result>\n"
            ],
            "target": ["y[mask]", "x[mask]", "y[y > 0.5]", "y[~mask]", "y[torch.isnan(y)]"],
            "result": ["y", "x + y", "y.sum(), x"],
        },
    ),
)
