"""Settings that options of the command line are given by default."""

from __future__ import annotations

import pytest

from tests.conftest import Findings
from tests.frameworks.checks.arguments import START
from xlalint.config import Settings
from xlalint.project import check_text

PARSER = "parser = argparse.ArgumentParser()\nparser.add_argument({})\nargs = parser.parse_args()\n"
USED = "Accelerator(mixed_precision=args.mixed_precision)"

SILENT = {
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
}
FOUND = {
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


@pytest.mark.parametrize("code", SILENT.values(), ids=SILENT)
def test_silent(code: str, findings: Findings) -> None:
    assert findings(f"{START}{code}\n", "torch_xla") == []


@pytest.mark.parametrize("code", FOUND.values(), ids=FOUND)
def test_found(code: str, findings: Findings) -> None:
    assert findings(f"{START}{code}\n", "torch_xla") == [("XLA506", "error")]


def test_a_default_is_likely_at_most() -> None:
    code = START + FOUND["an option's default"] + "\n"
    report = check_text(code, "example.py", Settings(target="torch_xla"))
    assert [finding.confidence for finding in report.findings] == ["likely"]
