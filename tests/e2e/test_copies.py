"""Findings in copies of one function, through the installed command: one entry for people, all of them for programs."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path

import pytest

from tests.e2e.conftest import COMMAND

COPY = """\
import torch
from torch import nn


class {name}(nn.Module):
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        mask = x > 0
        if {test}:
            return x[mask]
        return x
"""


def run(folder: Path, *arguments: str) -> str:
    command = [COMMAND, "check", "--isolated", "--no-cache", *arguments]
    return subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False).stdout


@pytest.fixture
def program(tmp_path: Path) -> Path:
    """Two copies under other names, at other rows, and one function that only looks like them."""
    (tmp_path / "a.py").write_text(COPY.format(name="Bert", test="mask.any()"))
    (tmp_path / "b.py").write_text("# Copied.\n\n\n" + COPY.format(name="Roberta", test="mask.any()"))
    (tmp_path / "c.py").write_text(COPY.format(name="Other", test="mask.all()"))
    return tmp_path


def test_people_see_each_function_once(program: Path) -> None:
    said = run(program)
    assert said.count("XLA101]") == 2
    assert "= copies: 1 more, in a copy of the function: b.py:11" in said
    assert "Found 6 warnings in 3 files (3 checked). 2 are in copies of functions: --show-copies shows them.\n" in said
    assert run(program, "--show-copies").count("XLA101]") == 3


def test_programs_see_all_and_what_they_have_in_common(program: Path) -> None:
    found = json.loads(run(program, "--output-format", "json"))
    keys = {(Path(one["filename"]).name, one["code"]): one["copy_key"] for one in found}
    assert len(found) == len(keys) == 6
    assert all(keys["a.py", code] == keys["b.py", code] for code in ("XLA101", "XLA201"))
    assert len(set(keys.values())) == 4
