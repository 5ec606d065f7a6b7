"""Settings that are assigned after their object was made."""

from __future__ import annotations

import pytest

from tests.conftest import Findings
from tests.frameworks.checks.arguments import START

SILENT = {
    "off": "args = TrainingArguments('out', optim='sgd')\nargs.fp16 = False",
    "not known": "args = TrainingArguments('out', optim='sgd')\nargs.fp16 = flag",
    "bfloat16": "args = TrainingArguments('out', optim='sgd')\nargs.bf16 = True",
    "another object": "args = other()\nargs.fp16 = True\nargs.optim = 'adamw_torch_fused'",
    "under a condition on the device": "args = TrainingArguments('out', optim='sgd')\nif not use_tpu:\n    args.fp16 = True",
    "parsed": "(args,) = HfArgumentParser((TrainingArguments,)).parse_args_into_dataclasses()\nprint(args.fp16)",
}
FOUND = {
    "assigned": "args = TrainingArguments('out', optim='sgd')\nargs.fp16 = True",
    "assigned in a function": "def set(args: TrainingArguments):\n    args.fp16 = True\n    TrainingArguments('out', optim='sgd')",
    "assigned to the derived": "class Mine(TrainingArguments):\n    pass\nargs = Mine('out', optim='sgd')\nargs.fp16 = True",
    "parsed": "(args,) = HfArgumentParser((TrainingArguments,)).parse_args_into_dataclasses()\nargs.fp16 = True",
    "parsed, with a default of its own": "@dataclass\nclass Mine(TrainingArguments):\n    optim: str = 'sgd'\n    fp16: bool = True\n"
    "HfArgumentParser(Mine).parse_args_into_dataclasses()",
    "parsed with others": "class Data:\n    pass\nparser = HfArgumentParser((Data, Seq2SeqTrainingArguments))\n"
    "data, args = parser.parse_args_into_dataclasses()\nargs.fp16 = True\nTrainingArguments('out', optim='sgd')",
}  # fmt: skip


@pytest.mark.parametrize("code", SILENT.values(), ids=SILENT)
def test_silent(code: str, findings: Findings) -> None:
    assert findings(f"{START}{code}\n", "torch_xla") == []


@pytest.mark.parametrize("code", FOUND.values(), ids=FOUND)
def test_found(code: str, findings: Findings) -> None:
    assert findings(f"{START}{code}\n", "torch_xla") == [("XLA506", "error")]
