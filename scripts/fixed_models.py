"""Copies of transformers in which the files of some models are fixed, for the scripts that measure what that changes."""

from __future__ import annotations

import os
import shlex
import shutil
import subprocess
import sys
from collections.abc import Iterable, Sequence
from pathlib import Path

_QUIET = {"HF_HUB_OFFLINE": "1", "USE_TF": "0", "USE_JAX": "0", "TOKENIZERS_PARALLELISM": "false"}


def fix_copy(
    folder: Path, names: Sequence[str], command: str, target: Path, options: Iterable[str], shared: Iterable[str]
) -> None:
    """Copy the package and fix the files of these models, and what matches the patterns of `shared`.

    Args:
        folder: Holds `transformers/`; `target` will.
        names: The models' classes.
        command: What runs xlalint, with `options` beside those of fixing.
    """
    shutil.copytree(folder / "transformers", target / "transformers", ignore=shutil.ignore_patterns("__pycache__"))
    files = {str(path.relative_to(target)) for pattern in shared for path in target.glob(pattern)}
    for path in (target / "transformers/models").glob("*/modeling_*.py"):
        text = path.read_text(encoding="utf-8")
        if any(f"class {name}(" in text for name in names):
            files.add(str(path.relative_to(target)))
    fixing = ["check", "--isolated", "--no-cache", "--fix", "--unsafe-fixes", *options]
    done = subprocess.run([*shlex.split(command), *fixing, *sorted(files)], cwd=target, capture_output=True, text=True)
    if done.returncode not in (0, 1):
        sys.exit(done.stderr)


def environment_of(tree: Path, **more: str) -> dict[str, str]:
    """The variables under which Python imports this copy of the package, with nothing fetched and nothing else imported."""
    path = os.pathsep.join(filter(None, [str(tree), os.environ.get("PYTHONPATH", "")]))
    return {**os.environ, **_QUIET, **more, "PYTHONPATH": path}
