"""Environments for tests that need other releases than the one that the suite runs in, made on first use and kept between runs.

They lie in the folder that XLALINT_TEST_ENVIRONMENTS names, else in the user's cache. An empty value means that none is to be made.
"""

from __future__ import annotations

import fcntl
import hashlib
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import cache
from pathlib import Path

import pytest

REPOSITORY = Path(__file__).resolve().parents[1]
_PATIENCE = 900  # seconds for all of an environment; with a mirror at hand it takes two minutes


def require_environment(name: str, requirements: Sequence[str]) -> str:
    """Return the Python of an environment that has `requirements`; skip the test, and say why, where it cannot be had."""
    python, why = _environment(name, tuple(requirements))
    if why:
        pytest.skip(f"no environment {name}: {why}")
    return python


def run_there(
    python: str, *arguments: str, given: str = "", limit: float = 600, **variables: str
) -> subprocess.CompletedProcess[str]:
    """Run the Python of an environment, with this repository's xlalint, which is not installed there."""
    there = {**os.environ, "PYTHONPATH": str(REPOSITORY), **variables}
    return subprocess.run(
        [python, *arguments], input=given, capture_output=True, text=True, timeout=limit, env=there, cwd=REPOSITORY
    )


@cache
def _environment(name: str, requirements: tuple[str, ...]) -> tuple[str, str]:
    """Return the environment's Python, and why there is none."""
    home = os.environ.get("XLALINT_TEST_ENVIRONMENTS", str(Path.home() / ".cache" / "xlalint-tests"))
    if not home:
        return "", "XLALINT_TEST_ENVIRONMENTS is empty"
    digest = hashlib.sha256("\n".join((sys.version, *requirements)).encode()).hexdigest()[:12]
    folder = Path(home, f"{name}-{digest}")
    folder.parent.mkdir(parents=True, exist_ok=True)
    with _locked(folder.with_suffix(".lock")):
        complete = folder / "complete"
        if complete.exists():
            return str(folder / "bin" / "python"), ""
        why = _make(folder, requirements)
        if why:
            shutil.rmtree(folder, ignore_errors=True)
            return "", why
        complete.touch()
    return str(folder / "bin" / "python"), ""


def _make(folder: Path, requirements: Sequence[str]) -> str:
    shutil.rmtree(folder, ignore_errors=True)
    install = [str(folder / "bin" / "python"), "-m", "pip", "install", "--quiet", "--no-input", "--no-compile"]
    for command in ([sys.executable, "-m", "venv", str(folder)], [*install, *requirements]):
        try:
            done = subprocess.run(command, capture_output=True, text=True, timeout=_PATIENCE)
        except subprocess.TimeoutExpired:
            return f"installing took more than {_PATIENCE} s"
        if done.returncode:
            said = [line for line in done.stderr.splitlines() if line.startswith("ERROR")] or done.stderr.splitlines()
            return said[-1] if said else f"`{' '.join(command)}` failed"
    return ""


@contextmanager
def _locked(file: Path) -> Iterator[None]:
    """Hold a lock among the processes of all test runs."""
    with file.open("w") as held:
        fcntl.flock(held, fcntl.LOCK_EX)
        yield
