"""Loops of `tests/frameworks/checks/shapes.py` are run on TensorFlow, and its traces counted."""

from __future__ import annotations

import json
import subprocess
import sys

import pytest

from tests.frameworks.checks.shapes import FOUND, HEAD, SILENT
from tests.xla.conftest import require

COUNT = """
import json, sys
counts = {}
for name, text in json.load(sys.stdin).items():
    space = {}
    exec(text, space)
    compiled = [space[one] for one in ("step", "scaled", "signed", "relaxed")]
    counts[name] = max(one.experimental_get_tracing_count() for one in compiled)
print(json.dumps(counts))
"""


@pytest.fixture(scope="module")
def traces() -> dict[str, int]:
    require("tensorflow")
    programs = {name: HEAD + text for name, text in SILENT.items()}
    programs |= {name: HEAD + text for name, (text, _, _) in FOUND.items()}
    run = subprocess.run([sys.executable, "-c", COUNT], input=json.dumps(programs), capture_output=True, text=True)
    assert run.returncode == 0, run.stderr[-2000:]
    return dict(json.loads(run.stdout.splitlines()[-1]))


@pytest.mark.parametrize("case", SILENT)
def test_traced_once(case: str, traces: dict[str, int]) -> None:
    assert traces[case] == 1


@pytest.mark.parametrize("case", FOUND)
def test_traced_again(case: str, traces: dict[str, int]) -> None:
    assert traces[case] == FOUND[case][1]
