"""Programs that are too large to be run are written for a compiler all the same, and nothing of their size is made."""

from __future__ import annotations

from importlib.util import find_spec
from pathlib import Path

import pytest

from xlalint.verify.inputs import parse_inputs
from xlalint.verify.model import Observation, Subject
from xlalint.verify.observing import observe

TEXTS = {
    "jax": "import jax.numpy as np\n\n\ndef f(x):\n    return np.sort(x[:, None] * x, axis=1).sum(axis=1)\n",
    "tensorflow": "import tensorflow as tf\n\n\ndef f(x):\n    return tf.reduce_sum(x[:, None] * x, axis=1)\n",
}
PARAMETERS = [
    pytest.param(name, marks=(getattr(pytest.mark, name), pytest.mark.skipif(not find_spec(name), reason=f"no {name}")))
    for name in TEXTS
]


def seen(backend: str, ceiling: int, folder: Path, inputs: str = 'x="f32[64]"') -> Observation:
    file = folder / "model.py"
    file.write_text(TEXTS[backend])
    written = folder / "programs"
    written.mkdir()
    specs = parse_inputs(inputs)
    return observe(Subject("", "f", str(file)), specs, backend, steps=2, ceiling=ceiling, programs=str(written))


def count_programs(told: Observation) -> int:
    return sum(one.endswith(".mlir") for one in told.programs)


@pytest.mark.parametrize("backend", PARAMETERS)
@pytest.mark.parametrize("ceiling", [0, 1 << 20])
def test_what_is_small_enough_runs(backend: str, ceiling: int, tmp_path: Path) -> None:
    told = seen(backend, ceiling, tmp_path)
    assert (len(told.steps), count_programs(told), told.unrun, told.error) == (2, 1, "", None)


@pytest.mark.parametrize("backend", PARAMETERS)
def test_what_is_not_is_written_only(backend: str, tmp_path: Path) -> None:
    told = seen(backend, 1000, tmp_path)
    assert (told.steps, told.error) == ((), None)
    assert told.unrun.startswith("it needs ")
    assert count_programs(told) == 1


@pytest.mark.parametrize("backend", PARAMETERS)
def test_values_in_between_count(backend: str, tmp_path: Path) -> None:
    told = seen(backend, 1 << 33, tmp_path, 'x="f32[131072]"')
    assert (told.steps, told.error) == ((), None)
    assert count_programs(told) == 1
