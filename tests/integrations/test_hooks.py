"""The hooks for pre-commit, as pre-commit installs and runs them."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

pytest.importorskip("pre_commit")

ROOT = Path(__file__).parents[2]
MODEL = """\
import torch
from torch import nn


class Model(nn.Module):
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return x.sum().item()  # xlalint: ignore[XLA301]


idle = 1  # xlalint: ignore[XLA301]
"""
# A tensor reaches `shown` from another file alone.
HELPER = """\
def shown(x):
    return x.item()
"""
CALLER = """\
import torch
from helper import shown
from torch import nn


class Loss(nn.Module):
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return x * shown(x.sum())  # xlalint: ignore
"""
CELL = '{"cells": [{"cell_type": "code", "metadata": {}, "outputs": [], "source": "x = (\\n"}], "metadata": {}, "nbformat": 4}\n'
# What pip says where it reaches no index: the hook's environment cannot be made then.
_UNREACHABLE = re.compile(
    r"Could not find a version|No matching distribution|Temporary failure in name resolution|Connection"
)


def _pre_commit(*arguments: str, folder: Path, home: Path) -> subprocess.CompletedProcess[str]:
    environment = {name: value for name, value in os.environ.items() if not name.startswith("GIT_")}
    environment |= {"PRE_COMMIT_HOME": str(home), "XLALINT_PURE": "1", "GIT_CONFIG_GLOBAL": os.devnull}
    command = [sys.executable, "-m", "pre_commit", *arguments]
    return subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True)


def test_the_manifest_is_valid(tmp_path: Path) -> None:
    done = _pre_commit("validate-manifest", str(ROOT / ".pre-commit-hooks.yaml"), folder=tmp_path, home=tmp_path)
    assert done.returncode == 0, done.stdout


@pytest.fixture
def published(tmp_path: Path) -> Path:
    """A repository that holds what the working tree does, committed: pre-commit takes hooks from nothing else."""
    folder = tmp_path / "published"
    command = ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"]
    listed = subprocess.run(command, cwd=ROOT, check=True, capture_output=True, text=True).stdout
    for name in filter(None, listed.split("\0")):
        if (ROOT / name).is_file():
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(ROOT / name, folder / name)
    author = ("-c", "user.name=xlalint", "-c", "user.email=xlalint@example.org")
    for command in (["init", "-q"], ["add", "-A"], [*author, "commit", "-q", "--no-verify", "-m", "all"]):
        subprocess.run(["git", *command], cwd=folder, check=True)
    return folder


@pytest.mark.slow
@pytest.mark.skipif(not (ROOT / ".git").exists(), reason="pre-commit takes hooks from a repository")
def test_the_hooks_check_and_fix_what_is_committed(tmp_path: Path, published: Path) -> None:
    """Both hooks come from one environment, which pre-commit builds once."""
    project = tmp_path / "project"
    project.mkdir()
    (project / "model.py").write_text(MODEL)
    (project / "stub.pyi").write_text("def f() -> int: ...\n")
    (project / "broken.ipynb").write_text(CELL)
    (project / "notes.md").write_text("x = (\n")
    (project / "helper.py").write_text(HELPER)
    (project / "loss.py").write_text(CALLER)
    (project / "vendor").mkdir()
    (project / "vendor" / "broken.py").write_text("x = (\n")
    (project / "pyproject.toml").write_text('[tool.xlalint]\nextend-exclude = ["vendor"]\n')
    head = subprocess.run(
        ["git", "rev-parse", "HEAD"], cwd=published, check=True, capture_output=True, text=True
    ).stdout
    hooks = "[{id: xlalint}, {id: xlalint-fix}]"
    (project / ".pre-commit-config.yaml").write_text(
        f"repos: [{{repo: {published}, rev: {head.strip()}, hooks: {hooks}}}]\n"
    )
    for command in (["init", "-q"], ["add", "-A"]):
        subprocess.run(["git", *command], cwd=project, check=True)

    def run(*arguments: str) -> subprocess.CompletedProcess[str]:
        return _pre_commit("run", *arguments, folder=project, home=tmp_path / "home")

    done = run("xlalint", "--all-files")
    if "CalledProcessError" in done.stdout and _UNREACHABLE.search(done.stdout):
        pytest.skip("pip reaches no index to build the hook's environment from")
    assert done.returncode == 1, done.stdout + done.stderr
    assert "- exit code: 1" in done.stdout
    assert "model.py:10:11" in done.stdout
    assert "broken.ipynb:cell 1:" in done.stdout
    assert "helper.py:2:12" in done.stdout
    assert "vendor" not in done.stdout
    assert "(5 checked)" in done.stdout
    # Of a commit of one file that file is reported, as a check of all has it.
    done = run("xlalint", "--files", "helper.py")
    assert "helper.py:2:12" in done.stdout
    assert (
        "Found 1 warning in 1 file (1 checked within the 4 files of " in done.stdout
    )  # stubs are checked where they are named
    done = run("xlalint", "--files", "vendor/broken.py", "stub.pyi")
    assert done.returncode == 0, done.stdout
    done = run("xlalint-fix", "--files", "model.py")
    assert "- files were modified by this hook" in done.stdout, done.stdout + done.stderr
    assert "- exit code: 1" in done.stdout
    assert "- model.py:\n    1 × XLA003 (unused-suppression)\n" in done.stdout
    assert (project / "model.py").read_text() == MODEL.replace("idle = 1  # xlalint: ignore[XLA301]", "idle = 1")
