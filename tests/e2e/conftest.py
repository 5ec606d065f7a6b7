"""The installed command, run as users run it."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import msgspec
import pytest

COMMAND = str(Path(sys.executable).parent / "xlalint")

MODEL = """\
import torch
from torch import nn


class Model(nn.Module):
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        if x.sum() > 0:
            return x + x
        return -x
"""
"""A module with one finding: the condition in row 7, from column 12."""


class Checked(NamedTuple):
    """How `xlalint check --output-format json` ended."""

    code: int
    text: bytes
    err: str

    @property
    def findings(self) -> list[dict[str, Any]]:
        found: list[dict[str, Any]] = msgspec.json.decode(self.text)
        return found

    def places(self) -> list[tuple[str, str, int, int]]:
        """File name, code, row and column of each finding."""
        return [
            (Path(f["filename"]).name, f["code"], f["location"]["row"], f["location"]["column"]) for f in self.findings
        ]


Check = Callable[..., Checked]


@pytest.fixture
def model() -> str:
    return MODEL


@pytest.fixture
def command() -> list[str]:
    return [COMMAND, "check", "--isolated", "--output-format", "json"]


@pytest.fixture
def check(tmp_path: Path, command: list[str]) -> Check:
    """Run `xlalint check` in the test's folder; whatever is there, it ends with 0, 1 or 2 and without a traceback."""

    def run(*arguments: str) -> Checked:
        done = subprocess.run([*command, *arguments], cwd=tmp_path, capture_output=True, timeout=120, check=False)
        err = done.stderr.decode()
        assert done.returncode in (0, 1, 2), err
        assert "Traceback" not in err
        return Checked(done.returncode, done.stdout, err)

    return run
