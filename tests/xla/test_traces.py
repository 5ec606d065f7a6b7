"""Programs that a framework traces alike are equal for all values: none that differs in a value, a gradient or an effect is."""

from __future__ import annotations

import json
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import pytest

from tests.xla.tpu_environment import require_torch_tpu


@pytest.mark.parametrize(
    "backend",
    [
        pytest.param("torch_compile", marks=pytest.mark.torch_xla),
        pytest.param("torch_tpu"),
        pytest.param("tensorflow", marks=pytest.mark.tensorflow),
        pytest.param("jax", marks=pytest.mark.jax),
    ],
)
def test_programs_that_are_traced_alike(backend: str) -> None:
    framework = backend.partition("_")[0]
    if find_spec(framework) is None:
        pytest.skip(f"{framework} is not installed")
    python = require_torch_tpu() if backend == "torch_tpu" else sys.executable
    command = [python, "-m", "tests.xla.run_traces", backend]
    done = subprocess.run(command, capture_output=True, text=True, cwd=Path(__file__).parents[2], check=False)
    assert done.returncode == 0, done.stderr
    told = json.loads(done.stdout.splitlines()[-1])
    wrong = {ident: equal for ident, equal in told["equal"].items() if equal != ident.startswith("equal")}
    assert wrong == {}
    assert len([ident for ident in told["equal"] if ident.startswith("differs")]) >= len(told["equal"]) // 2
    if framework == "torch":
        kind, equal, draws = told["proof"]
        assert (kind, equal.split(":")[0]) == ("proven", "the same FX graph")
        assert not {"nan", "constants", "magnitudes"} & set(draws)
        assert {"step", "bf16"} <= set(draws)
