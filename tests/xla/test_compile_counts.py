"""Programs of the pages whose cost shows over many steps, not in one call: how often XLA compiles in their `main`."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from tests.xla.conftest import HERE, LIMIT, MARKS, require
from xlalint.rules import Example, rules

# How many compilations more than the best program of the same name and number: what else compiles, as what makes an array does under JAX,
# is the same in all of them.
COUNTS = {
    "XLA401-torch-1-bad": 7,
    "XLA401-tensorflow-1-bad": 7,
    "XLA401-jax-1-bad": 14,  # what makes an array of a new length of NumPy's counts, too
    "XLA402-torch-1-bad": 1,
    "XLA402-tensorflow-1-bad": 1,
    "XLA402-tensorflow-2-bad": 1,
    "XLA402-jax-1-bad": 2,
    "XLA404-jax-1-bad": 10,
    "XLA404-jax-1-fixed": 1,  # a gradient has more to compile than a score
    "XLA404-jax-2-bad": 9,
    "XLA404-tensorflow-1-bad": 9,
    "XLA405-jax-1-bad": 9,
    "XLA405-jax-2-bad": 9,
    "XLA405-jax-3-bad": 1,
    "XLA405-jax-4-bad": 2,  # what takes the shorter slice is compiled for it as well
    "XLA405-tensorflow-1-bad": 9,
    "XLA405-tensorflow-2-bad": 9,
    "XLA406-jax-1-bad": 13,  # what joins the array is compiled for each length as well
    "XLA406-tensorflow-1-bad": 9,
    "XLA407-torch-1-bad": 2,  # the first turn of its loop begins with zeros
    "XLA407-tensorflow-1-bad": 1,
    "XLA407-jax-1-bad": 2,
}


def is_program(example: Example) -> bool:
    """Whether an example says what to run by a `main` that takes nothing."""
    return "\ndef main() -> None:\n" in example.code


PROGRAMS = {
    example.ident: example
    for code, rule in rules().items()
    if code.startswith("XLA4")
    for example in rule.examples
    if is_program(example)
}


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


def kind_of(ident: str) -> str:
    return ident.rpartition("-")[0]


@pytest.mark.parametrize(
    "framework", [pytest.param(name, marks=getattr(pytest.mark, mark)) for name, mark in MARKS.items()]
)
def test_programs_compile_as_often_as_is_said(framework: str, tmp_path: Path) -> None:
    seen = counts(framework, tmp_path)
    failed = {ident: said for ident, said in seen.items() if not said.isdecimal()}
    assert not failed
    best = {ident: min(int(seen[one]) for one in seen if kind_of(one) == kind_of(ident)) for ident in seen}
    more = {ident: int(seen[ident]) - best[ident] for ident in seen}
    assert more == {ident: COUNTS.get(ident, 0) for ident in seen}


def test_what_is_wrong_costs_more() -> None:
    assert set(COUNTS) <= set(PROGRAMS)
    for ident, example in PROGRAMS.items():
        if example.kind == "bad":
            others = [one for one in PROGRAMS if kind_of(one) == kind_of(ident) and one != ident]
            assert others and all(COUNTS.get(one, 0) < COUNTS[ident] for one in others), ident
