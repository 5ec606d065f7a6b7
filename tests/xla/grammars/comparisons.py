"""XLA304: comparisons of whole tensors."""

from __future__ import annotations

from tests.xla.grammars import Grammar

GRAMMARS = (
    Grammar(
        name="whole-comparison",
        framework="torch",
        codes=("XLA304",),
        rules={
            "program": [
                "import torch\n\n\n"
                '# xlalint: inputs(x="<d:dtype><s:shape>", y="<d:dtype><s:shape>", flag="<flag_dtype>[]")\n'
                "def f(x: torch.Tensor, y: torch.Tensor, flag: torch.Tensor) -> torch.Tensor:\n"
                "    <body>\n"
            ],
            "dtype": ["f32", "f16", "i32", "i64"],
            "flag_dtype": ["f32", "i64", "bool"],
            "body": [
                "return <use>",
                "same = <answer>\nreturn <stored>",
                "y = y + <answer>\nreturn y",
            ],
            "use": ["x * <answer>", "(<answer>) + y", "torch.where(<answer> & (x > 0), x, y)", "(x > y) | <answer>"],
            "stored": ["x * same", "x / y * same", "(x > 0) & same", "x + same, same * y"],
            "answer": [
                "torch.equal(<a>, <b>)",
                "<a>.equal(<b>)",
                "torch.allclose(<a>, <b>)",
                "torch.allclose(<a>, <b>, atol=0.5, equal_nan=True)",
                "x.allclose(<b>)",
                "torch.is_nonzero(flag)",
                "torch.is_nonzero(x.sum())",
            ],
            "a": ["x", "x", "(x + 1)", "x.abs()"],
            "b": ["y", "x.abs()", "torch.zeros_like(x)"],
        },
    ),
)
