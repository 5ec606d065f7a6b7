"""`xlalint run` on three scripts as people write them: the lines that cost are named."""

from __future__ import annotations

import json
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest

from tests.xla.conftest import LIMIT

SCRIPTS = Path(__file__).parent / "scripts"
Where = tuple[str, str, str]


def run(script: str, *arguments: str, folder: Path, needs: tuple[str, ...]) -> dict[str, Any]:
    for package in needs:
        if find_spec(package) is None:
            pytest.skip(f"{package} is not installed")
    said = folder / "said.json"
    options = [
        "--isolated",
        "--no-cache",
        "--output-format",
        "json",
        "--output-file",
        str(said),
        "--project",
        str(SCRIPTS),
    ]
    command = [sys.executable, "-m", "xlalint", "run", *options, str(SCRIPTS / script), *arguments]
    done = subprocess.run(command, capture_output=True, text=True, timeout=LIMIT, cwd=folder)
    assert done.returncode == 0, done.stderr[-4000:]
    return dict(json.loads(said.read_text(encoding="utf-8")))


def costs(said: dict[str, Any], kind: str, script: str) -> dict[str, int]:
    """The text of each line of the script that had events of a kind, and how many."""
    text = (SCRIPTS / script).read_text(encoding="utf-8").splitlines()
    lines = [line for line in (*said["predicted_and_observed"], *said["observed_only"]) if line["kind"] == kind]
    own = [line for line in lines if line["place"] and line["place"]["file"] == str(SCRIPTS / script)]
    return {text[line["place"]["line"] - 1].strip(): line["count"] for line in own}


def reasons(said: dict[str, Any], kind: str) -> str:
    lines = (*said["predicted_and_observed"], *said["observed_only"])
    return "\n".join(cause["what"] for line in lines if line["kind"] == kind for cause in line["causes"])


@pytest.mark.jax
def test_a_step_count_in_the_graph(tmp_path: Path) -> None:
    script = "jax_step_count.py"
    said = run(script, "--steps", "6", folder=tmp_path, needs=("jax",))
    assert [step["step"]["counts"]["compilations"] for step in said["steps"][2:]] == [1, 1, 1, 1]
    assert costs(said, "compilation", script) == {"weights, loss = train_step(weights, x, y, step, steps)": 4}
    assert costs(said, "host-sync", script) == {'print(f"step {step}: loss {float(loss):.4f}")': 4}
    assert "static 2, was static" in reasons(said, "compilation")


@pytest.mark.tensorflow
def test_a_partial_last_batch(tmp_path: Path) -> None:
    script = "keras_partial_batch.py"
    said = run(script, folder=tmp_path, needs=("tensorflow", "keras"))
    assert [step["step"]["counts"]["compilations"] for step in said["steps"]] == [1, 0, 1, 0, 0, 0, 0, 0, 0]
    assert costs(said, "compilation", script) == {"history = model.fit(dataset, epochs=3, verbose=0)": 1}


@pytest.mark.torch_xla
@pytest.mark.slow
def test_padding_to_the_longest(tmp_path: Path) -> None:
    script = "trainer_longest_padding.py"
    said = run(script, "4", folder=tmp_path, needs=("torch_xla", "transformers", "accelerate"))
    assert costs(said, "compilation", script) == {
        'data_collator=DataCollatorWithPadding(tokenizer, padding="longest"),': 4
    }
    assert said["counts"]["compilations"] == 4
    assert "a batch with input_ids: [4, 5]" in reasons(said, "compilation")


@pytest.mark.torch_xla
def test_what_changes_after_many_quiet_steps(tmp_path: Path) -> None:
    script = "torch_late_changes.py"
    said = run(script, folder=tmp_path, needs=("torch_xla",))
    assert costs(said, "host-sync", script) == {"y = y[y > 0]": 4}
    late = costs(said, "compilation", script)
    assert "torch_xla.sync()" in late or "z = torch.full((8, 4), float(scale + 40), device=device)" in late
