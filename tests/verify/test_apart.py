"""What only reads code loads nothing of what runs it: neither the verifier nor a framework."""

from __future__ import annotations

import ast
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

import xlalint

PACKAGE = Path(xlalint.__file__).parent
FRAMEWORKS = {"torch", "torch_xla", "torchvision", "tensorflow", "keras", "jax", "jaxlib", "flax", "optax", "libtpu"}
RUNS = {*FRAMEWORKS, "numpy", "ml_dtypes", "psutil", "jinja2"}
CODE = (
    "import torch\n\n\ndef f(x: torch.Tensor) -> torch.Tensor:\n    if x.sum() > 0:\n        x = x + 1\n    return x\n"
)
TOLD = f"""
import sys
from xlalint.cli import main
main(sys.argv[1:])
loaded = [name for name in sys.modules if name.startswith("xlalint.verify") or name.partition(".")[0] in {sorted(RUNS)}]
print(f"loaded: {{sorted(loaded)}}")
"""


@pytest.mark.parametrize(
    "arguments",
    [
        ["--version"],
        ["check"],
        ["check", "--fix", "--unsafe-fixes"],
        ["check", "--diff"],
        ["rules"],
        ["explain", "a.py:5"],
    ],
    ids=" ".join,
)
def test_what_reads_code_loads_nothing_that_runs_it(arguments: list[str], tmp_path: Path) -> None:
    (tmp_path / "a.py").write_text(CODE)
    done = subprocess.run([sys.executable, "-c", TOLD, *arguments], cwd=tmp_path, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines()[-1] == "loaded: []"


def imported(file: Path) -> Iterator[str]:
    """The packages that a module imports, anywhere in it."""
    for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            yield from (alias.name.partition(".")[0] for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and not node.level:
            yield (node.module or "").partition(".")[0]


def test_frameworks_are_imported_by_the_verifier_alone() -> None:
    outside = [file for file in PACKAGE.rglob("*.py") if PACKAGE / "verify" not in file.parents]
    found = {str(file.relative_to(PACKAGE)): names for file in outside if (names := set(imported(file)) & FRAMEWORKS)}
    assert outside
    assert not found
