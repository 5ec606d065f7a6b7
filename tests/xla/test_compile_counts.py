"""Programs of the pages whose cost shows over many steps, not in one call: how often XLA compiles in their `main`."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from tests.xla.conftest import HERE, LIMIT, MARKS, require
from xlalint.rules import Example, rules

COUNTS = {
    "XLA401-torch-1-bad": 8,
    "XLA401-torch-1-good": 1,
    "XLA401-tensorflow-1-bad": 8,
    "XLA401-tensorflow-1-good": 1,
    "XLA401-jax-1-bad": 16,  # what makes an array of NumPy's counts, too
    "XLA401-jax-1-good": 2,
    "XLA402-torch-1-bad": 2,
    "XLA402-torch-1-fixed": 1,
    "XLA402-torch-1-good": 1,
    "XLA402-tensorflow-1-bad": 2,
    "XLA402-tensorflow-1-fixed": 1,
    "XLA402-tensorflow-1-good": 1,
    "XLA402-tensorflow-2-bad": 2,
    "XLA402-tensorflow-2-good": 1,
    "XLA402-jax-1-bad": 6,
    "XLA402-jax-1-fixed": 4,
    "XLA402-jax-1-good": 4,
    "XLA404-jax-1-bad": 12,
    "XLA404-jax-1-fixed": 3,
    "XLA404-jax-1-good": 3,
    "XLA404-jax-2-bad": 10,
    "XLA404-jax-2-good": 1,
    "XLA404-tensorflow-1-bad": 10,
    "XLA404-tensorflow-1-good": 1,
}


def is_program(example: Example) -> bool:
    """Whether an example says what to run by a `main` that takes nothing."""
    return "\ndef main() -> None:\n" in example.code


PROGRAMS = {example.ident: example for rule in rules().values() for example in rule.examples if is_program(example)}


def counts(framework: str, folder: Path) -> dict[str, str]:
    """How often XLA compiles in each of the programs of a framework."""
    require(framework)
    files = {}
    for ident, example in PROGRAMS.items():
        if example.framework == framework:
            files[ident] = str(folder / f"{ident}.py")
            Path(files[ident]).write_text(example.code, encoding="utf-8")
    command = [sys.executable, str(HERE / "count_compilations.py"), framework]
    asked = json.dumps(files)
    done = subprocess.run(command, input=asked, capture_output=True, text=True, timeout=LIMIT, cwd=folder)
    assert done.returncode == 0, done.stderr[-4000:]
    return dict(json.loads(done.stdout.splitlines()[-1]))


@pytest.mark.parametrize(
    "framework", [pytest.param(name, marks=getattr(pytest.mark, mark)) for name, mark in MARKS.items()]
)
def test_programs_compile_as_often_as_is_said(framework: str, tmp_path: Path) -> None:
    wanted = {ident: str(count) for ident, count in COUNTS.items() if PROGRAMS[ident].framework == framework}
    assert counts(framework, tmp_path) == wanted


def test_what_is_wrong_costs_more() -> None:
    assert set(PROGRAMS) == set(COUNTS)
    for ident, example in PROGRAMS.items():
        rule_and_framework = ident.rpartition("-")[0].rpartition("-")[0]
        if example.kind == "bad":
            others = [one for one in PROGRAMS if one.startswith(rule_and_framework) and not one.endswith("-bad")]
            assert others and all(COUNTS[one] < COUNTS[ident] for one in others), ident
