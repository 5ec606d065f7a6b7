"""XLA201, XLA204: selections of which only the size is asked."""

from __future__ import annotations

from tests.xla.grammars import Grammar

GRAMMARS = (
    Grammar(
        name="selected-counts",
        framework="torch",
        codes=("XLA201", "XLA204"),
        rules={
            "program": [
                "import torch\n\n\n"
                '# xlalint: inputs(x="<float_dtype>[5,6]", mask="bool[5,6]")\n'
                "def f(x: torch.Tensor, mask: torch.Tensor) -> torch.Tensor:\n"
                "    y = torch.tanh(x.view(5, 6))\n"
                "    mask = mask.view(5, 6) > 0\n"
                "    rows = mask.any(1)\n"
                "    <statement>\n"
            ],
            "statement": [
                "return y * <size>",
                "return y.sum() / (<size> + 1)",
                "n = <size>\nreturn y / (n + 2)",
                "part = <picked>\nreturn y * part.shape[0]",
                "return y * (<size> > 0)",
                "return y / max(<size>, 1)",
            ],
            "size": ["<picked>.numel()", "len(<picked>)", "<picked>.shape[0]", "<picked>.size(0)"],
            "picked": ["y[mask]", "y[rows]", "torch.masked_select(y, mask)", "y[y > 0.2]", "y[mask[:, 0]]"],
        },
    ),
)
