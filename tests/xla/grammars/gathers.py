"""XLA208, XLA301, XLA302: loops that pick from each row by an index of its own."""

from __future__ import annotations

from tests.xla.grammars import Grammar

GRAMMARS = (
    Grammar(
        name="gathers",
        framework="torch",
        codes=("XLA208", "XLA301", "XLA302"),
        rules={
            "program": [
                "import torch\n\n\n"
                '# xlalint: inputs(x="<float_dtype>[6,5,4]", n="i64[6] 0..4")\n'
                "def f(x: torch.Tensor, n: torch.Tensor) -> torch.Tensor:\n"
                "    <statement>\n"
                "    return y\n"
            ],
            "statement": [
                "y = torch.stack([<picked> for i in range(<count>)])",
                "y = torch.stack([x[i, k - 1] for i, k in enumerate(n.tolist())])",
                "y = torch.stack([row[k, :2] for row, k in zip(x, n.tolist())], dim=0) * 2.0",
                "rows = []\nfor i in range(<count>):\n    rows.append(<picked>)\ny = torch.stack(rows)",
                "rows = []\nfor i in range(<count>):\n    k = int(n[i])\n    rows.append(x[i, k])\ny = torch.stack(rows)",
                "y = torch.zeros(<count>, 4, dtype=x.dtype)\nfor i in range(<count>):\n    y[i] = x[i, <place>]",
                "y = torch.zeros(6, 4)\nfor i in range(<count>):\n    y[i] = x[i, <place>]",
            ],
            "count": ["x.shape[0]", "len(x)", "len(n)", "n.shape[0]"],
            "place": ["n[i].item()", "int(n[i])", "n[i].item() - 1", "int(n[i]) - 2"],
            "picked": ["x[i, <place>]", "x[i][<place>]", "x[i, <place>, :]", "x[i, <place>, 1:3]", "x[i, :, <short>]"],
            "short": ["n[i].item() - 1", "int(n[i]) - 2"],
        },
    ),
)
