"""Settings that are followed: through attributes, parsers, options of the command line, and notebooks' magics."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from xlalint.config import Settings
from xlalint.project import check_text
from xlalint.source.magics import masked

Findings = Callable[[str, str], list[tuple[str, str]]]
START = (
    "import argparse\nimport click\nimport torch_xla\nfrom absl import flags\nfrom accelerate import Accelerator\n"
    "from dataclasses import dataclass, field\n"
    "from transformers import HfArgumentParser, Seq2SeqTrainingArguments, TrainingArguments\n"
)
PARSER = "parser = argparse.ArgumentParser()\nparser.add_argument({})\nargs = parser.parse_args()\n"
USED = "Accelerator(mixed_precision=args.mixed_precision)"

SILENT = {
    "off": "args = TrainingArguments('out', optim='sgd')\nargs.fp16 = False",
    "not known": "args = TrainingArguments('out', optim='sgd')\nargs.fp16 = flag",
    "bfloat16": "args = TrainingArguments('out', optim='sgd')\nargs.bf16 = True",
    "another object": "args = other()\nargs.fp16 = True\nargs.optim = 'adamw_torch_fused'",
    "under a condition on the device": "args = TrainingArguments('out', optim='sgd')\nif not use_tpu:\n    args.fp16 = True",
    "a flag that is off": PARSER.format("'--fp16', action='store_true'")
    + "TrainingArguments(fp16=args.fp16, optim='sgd')",
    "an option without a default": PARSER.format("'--mixed-precision'") + USED,
    "an option with another default": PARSER.format("'--mixed_precision', default='bf16'") + USED,
    "an option that has to be given": PARSER.format("'--mixed_precision', choices=['fp16'], required=True") + USED,
    "another option": PARSER.format("'--precision', default='fp16'") + USED,
    "an option of another parser": "args = other.parse()\n" + USED,
    "kept elsewhere": PARSER.format("'--mixed_precision', default='fp16', dest='dtype'") + USED,
    "click's flag that is off": "@click.command()\n@click.option('--fp16', is_flag=True)\n"
    "def main(fp16):\n    TrainingArguments(fp16=fp16, optim='sgd')",
    "a parameter": "def main(fp16):\n    TrainingArguments(fp16=fp16, optim='sgd')",
    "absl's that is off": "flags.DEFINE_bool('fp16', False, 'half')\nTrainingArguments(fp16=flags.FLAGS.fp16, optim='sgd')",
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
    "an option's default": PARSER.format("'--mixed_precision', default='fp16'") + USED,
    "an option's default, with a dash": PARSER.format("'-m', '--mixed-precision', default='fp16'") + USED,
    "a flag that is on": PARSER.format("'--no-fp16', dest='fp16', action='store_false'")
    + "TrainingArguments(fp16=args.fp16, optim='sgd')",
    "handed on": "def main(options):\n    Accelerator(mixed_precision=options.mixed_precision)\n"
    + PARSER.format("'--mixed_precision', default='fp16'") + "main(args)",
    "click's": "@click.command()\n@click.option('--fp16/--no-fp16', default=True)\n"
    "def main(fp16):\n    TrainingArguments(fp16=fp16, optim='sgd')",
    "absl's": "flags.DEFINE_bool('fp16', True, 'half')\nFLAGS = flags.FLAGS\nTrainingArguments(fp16=FLAGS.fp16, optim='sgd')",
}  # fmt: skip
MAGICS = {
    "%env PJRT_DEVICE=TPU": "_env.PJRT_DEVICE=TPU",
    "%env XLA_USE_BF16=1": "_env.XLA_USE_BF16=1",
    "%env XLA_USE_BF16 1": "_env.XLA_USE_BF16=1",
    "%set_env TPU_NAME=local": "_set_env.TPU_NAME=local",
    "%env XRT_TPU_CONFIG=localservice;0;localhost:51011": "_env.XRT_TPU_CONFIG=" + "_" * 30,
    "%env  A = b ": "_env_.A=  b ",
    "%env A=01": "_env.A=__",
    "%env A=if": "_env.A=__",
    "%env": "____",
    "%env PATH": "_________",
    "%environ A=1": "____________",
}


@pytest.mark.parametrize("code", SILENT.values(), ids=SILENT)
def test_silent(code: str, findings: Findings) -> None:
    assert findings(f"{START}{code}\n", "torch_xla") == []


@pytest.mark.parametrize("code", FOUND.values(), ids=FOUND)
def test_found(code: str, findings: Findings) -> None:
    assert findings(f"{START}{code}\n", "torch_xla") == [("XLA506", "error")]


@pytest.mark.parametrize(("cell", "python"), MAGICS.items(), ids=MAGICS)
def test_variables_that_notebooks_set(cell: str, python: str) -> None:
    mask = masked(cell)
    assert mask is not None
    assert mask.text == python
    assert mask.hidden == ((0, len(cell)),)


def test_a_default_is_likely_at_most() -> None:
    code = START + FOUND["an option's default"] + "\n"
    report = check_text(code, "example.py", Settings(target="torch_xla"))
    assert [finding.confidence for finding in report.findings] == ["likely"]


def test_a_magic_says_where_the_program_runs(findings: Findings) -> None:
    mask = masked("%env PJRT_DEVICE=TPU\n%env XLA_USE_BF16=1\n")
    assert mask is not None
    assert findings(f"import torch\n{mask.text}", "") == [("XLA507", "warning")]
