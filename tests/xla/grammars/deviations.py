"""XLA201: variances and standard deviations of what a mask selects."""

from __future__ import annotations

from collections.abc import Sequence

from tests.xla.grammars import Grammar

_RULES: dict[str, Sequence[str]] = {
    "program": [
        "import torch\n\n\n"
        '# xlalint: inputs(x="<dtype>[5,6]", mask="bool[5,6]")\n'
        "def f(x: torch.Tensor, mask: torch.Tensor) -> torch.Tensor:\n"
        "    y = torch.tanh(x.view(5, 6))\n"
        "    mask = mask.view(5, 6) > 0\n"
        "    return <result>\n"
    ],
    "dtype": ["f32", "f64"],
    "result": ["<spread>", "y * <spread>", "<spread> + 1.0", "torch.stack([<spread>, y.mean()])"],
    "picked": ["y[mask]", "(y[mask] - y[mask] * 0.5)", "y[mask & (x.view(5, 6) > 0)]", "y[mask[:, 0]]"],
    "options": ["", "", "unbiased=False", "correction=0", "False", "correction=2"],
}

GRAMMARS = (
    Grammar(
        name="variances",
        framework="torch",
        codes=("XLA201",),
        rules={**_RULES, "spread": ["<picked>.var(<options>)", "torch.var(<picked>)"]},
    ),
    Grammar(
        name="deviations",
        framework="torch",
        codes=("XLA201",),
        rules={**_RULES, "spread": ["<picked>.std(<options>)", "torch.std(<picked>)"]},
        unlike=("gradients",),  # PyTorch's is 0 where the deviation is, that of a root is none
    ),
)
