"""What is left alone is not fixed either: `--fix` with a baseline and with `--diff-base`."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

import pytest

from tests.e2e.conftest import COMMAND

MODEL = """\
import torch
from torch import nn


class Model(nn.Module):
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        x = torch.where(torch.equal(x, x), x, x)
        if x.isnan().any():
            raise ValueError("not a number")
        return x
"""
EDITED = MODEL.replace("return x", "return x * x.sum().item()")
FIXED = MODEL.replace("return x", "return x * x.sum().detach()")


def _xlalint(folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run([COMMAND, *arguments, "--isolated", "--no-cache"], cwd=folder, capture_output=True, text=True)


def _fixed_where(folder: Path, *narrowed: str) -> str:
    (folder / "model.py").write_text(EDITED)
    done = _xlalint(folder, "check", "model.py", *narrowed, "--fix", "--unsafe-fixes")
    assert done.returncode == 0, done.stdout + done.stderr
    return (folder / "model.py").read_text()


def test_only_new_findings_are_fixed(tmp_path: Path) -> None:
    (tmp_path / "model.py").write_text(MODEL)
    made = _xlalint(tmp_path, "baseline", "update")
    assert made.returncode == 0, made.stderr
    assert _fixed_where(tmp_path, "--baseline", "xlalint-baseline.json") == FIXED


def test_a_file_is_judged_within_its_program(tmp_path: Path) -> None:
    """What another file calls under `jit` is traced; by itself the file shows nothing of that."""
    (tmp_path / "helpers.py").write_text("def pick(x):\n    if x > 0:\n        return x\n    return -x\n")
    (tmp_path / "main.py").write_text(
        "import jax\nimport jax.numpy as jnp\nfrom helpers import pick\n\n\n@jax.jit\ndef step(x: jax.Array):\n    return pick(x)\n"
    )
    assert _xlalint(tmp_path, "check", "--no-project", "helpers.py").returncode == 0
    for project in ((), ("--project", ".")):
        done = _xlalint(tmp_path, "check", *project, "helpers.py", "--output-format", "concise")
        assert done.returncode == 1, done.stderr
        assert done.stdout.startswith("helpers.py:2:8: XLA101")
        assert _xlalint(tmp_path, "check", *project, "main.py").returncode == 0


@pytest.mark.skipif(shutil.which("git") is None, reason="git is not installed")
def test_only_findings_on_changed_lines_are_fixed(tmp_path: Path) -> None:
    environment = {**os.environ, "GIT_CONFIG_GLOBAL": os.devnull}
    (tmp_path / "model.py").write_text(MODEL)
    who = ["-c", "user.name=a", "-c", "user.email=a@b.c"]
    for command in (["init", "-q", "-b", "main"], ["add", "-A"], [*who, "commit", "-qm", "x"]):
        subprocess.run(["git", *command], cwd=tmp_path, check=True, env=environment)
    assert _fixed_where(tmp_path, "--diff-base", "main") == FIXED
