"""`xlalint check --fix --verify` on files: what is proven is applied, what is refuted is not, and the rewritten lines alone count too."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import pytest

from tests.xla.conftest import LIMIT

ROOT = Path(__file__).parents[2]

PROVEN = """import torch


def f(x: torch.Tensor, mask: torch.Tensor) -> torch.Tensor:
    total = x[mask].sum()
    return total
"""
ALONE = """import torch
from nowhere import load


def f(x: torch.Tensor, mask: torch.Tensor) -> torch.Tensor:
    load()
    total = x[mask].sum()
    return total
"""
REFUTED = """import torch


# xlalint: inputs(x="f32[8]", y="f32[8]")
def f(x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
    if y.sum() > 0:
        x = torch.sqrt(x)
    return x
"""

UNWRITTEN = """import torch
from torch import nn


class Biased(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.bias = nn.Parameter(torch.Tensor(8))  # memory as it is

    # xlalint: inputs(x="f32[4,8]", mask="bool[4,8]")
    def forward(self, x: torch.Tensor, mask: torch.Tensor) -> torch.Tensor:
        return x[mask].sum() + self.bias
"""


def checked(folder: Path, text: str, *options: str) -> subprocess.CompletedProcess[str]:
    for package in ("torch", "torch_xla"):
        if find_spec(package) is None:
            pytest.skip(f"{package} is not installed")
    file = folder / "model.py"
    file.write_text(text)
    command = [sys.executable, "-m", "xlalint", "check", "--no-cache", "--isolated", "--verify", *options, str(file)]
    path = os.pathsep.join([str(ROOT), *filter(None, [os.environ.get("PYTHONPATH")])])
    return subprocess.run(
        command, capture_output=True, text=True, timeout=LIMIT, env={**os.environ, "PYTHONPATH": path}
    )


@pytest.mark.torch_xla
def test_what_is_proven_is_applied(tmp_path: Path) -> None:
    done = checked(tmp_path, PROVEN, "--fix", "--unsafe-fixes", "--show-fixes")
    assert "1 fix proven, 0 refuted, 0 unverified." in done.stdout, done.stdout + done.stderr
    assert "x[mask]" not in (tmp_path / "model.py").read_text()


@pytest.mark.torch_xla
def test_memory_that_nobody_wrote_to_is_the_same_before_and_after(tmp_path: Path) -> None:
    done = checked(tmp_path, UNWRITTEN, "--fix", "--unsafe-fixes")
    assert "1 fix proven, 0 refuted, 0 unverified." in done.stdout, done.stdout + done.stderr


@pytest.mark.torch_xla
def test_where_the_function_cannot_be_run_its_lines_are(tmp_path: Path) -> None:
    done = checked(tmp_path, ALONE, "--unsafe-fixes", "--output-format", "json")
    (finding,) = json.loads(done.stdout)
    assert finding["fix"]["proof"]["verdict"] == "proven", done.stdout
    assert "the rewritten lines alone" in finding["fix"]["proof"]["reason"]
    assert (tmp_path / "model.py").read_text() == ALONE


@pytest.mark.torch_xla
def test_what_is_refuted_is_withheld_with_inputs_that_show_it(tmp_path: Path) -> None:
    done = checked(tmp_path, REFUTED, "--fix", "--unsafe-fixes")
    assert "0 fixes proven, 1 refuted, 0 unverified." in done.stdout, done.stdout + done.stderr
    assert "gradients" in done.stdout and "torch.tensor(" in done.stdout
    assert (tmp_path / "model.py").read_text() == REFUTED
