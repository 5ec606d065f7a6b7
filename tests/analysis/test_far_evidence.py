"""What comes over several calls from other files is too uncertain to say that a tracer raises an exception there."""

from __future__ import annotations

from pathlib import Path

import pytest

from xlalint.config import Settings
from xlalint.project import check_paths

HEAD = "import jax\nimport jax.numpy as jnp\n"
CHECK = HEAD + "def check(x: jax.Array):\n    if x.sum() > 0:\n        return x\n    return -x\n"
# Files of a program of JAX.
SILENT = {
    "two calls, two files": {
        "checks.py": CHECK,
        "main.py": HEAD
        + "from checks import check\ndef half(x):\n    return check(x * 2)\n@jax.jit\ndef f(x):\n    return half(x)\n",
    },
    "two calls, three files": {
        "checks.py": CHECK,
        "half.py": "from checks import check\ndef half(x):\n    return check(x * 2)\n",
        "main.py": HEAD + "from half import half\n@jax.jit\ndef f(x):\n    return half(x)\n",
    },
    "a check of what is static": {
        "main.py": HEAD
        + "def check(x):\n    return x if x.ndim > 1 else x[None]\n@jax.jit\ndef f(x):\n    return check(x)\n"
    },
}
FOUND = {
    "one call, two files": {
        "checks.py": CHECK,
        "main.py": HEAD + "from checks import check\n@jax.jit\ndef f(x):\n    return check(x * 2)\n",
    },
    "two calls, one file": {
        "main.py": CHECK + "def half(x):\n    return check(x * 2)\n@jax.jit\ndef f(x):\n    return half(x)\n"
    },
}


def _told(files: dict[str, str], folder: Path) -> list[str]:
    for name, text in files.items():
        (folder / name).write_text(text)
    report = check_paths([folder], Settings(target="jax"))
    assert not report.failures
    return [finding.code for finding in report.findings if finding.severity != "info"]


@pytest.mark.parametrize("files", SILENT.values(), ids=list(SILENT))
def test_far_evidence_is_none(files: dict[str, str], tmp_path: Path) -> None:
    assert _told(files, tmp_path) == []


@pytest.mark.parametrize("files", FOUND.values(), ids=list(FOUND))
def test_near_evidence_is_some(files: dict[str, str], tmp_path: Path) -> None:
    assert _told(files, tmp_path) == ["XLA101"]
