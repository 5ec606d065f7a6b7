"""Regenerate rules/apis/*_generated.toml from the frameworks that are installed.

    python scripts/generate_apis.py [TABLE …], of: torch, torch_fallbacks, torch_tpu, torch_compile, graph_arguments, tensorflow,
        tensorflow_kernels, jax

Run it in an environment with torch, torch_xla, torchvision, tensorflow-cpu and jax; torch_tpu asks for a newer torch, and so for an
environment of its own (torch, numpy, torch_tpu, libtpu; no TPU is needed). Each is looked at in a process of its own, since tensorflow and
torch_xla cannot be imported in any order. torch_compile and graph_arguments want the newest torch, and NumPy.

The same versions give the same files. What changed is printed for each table: entries that are new (+), gone (-) and different (~). The
exit code is 1 where a table could not be made.
"""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path

SCRIPTS = Path(__file__).resolve().parent
TABLES = SCRIPTS.parent / "rules" / "apis"
FRAMEWORKS = (
    "torch",
    "torch_fallbacks",
    "torch_tpu",
    "torch_compile",
    "graph_arguments",
    "tensorflow",
    "tensorflow_kernels",
    "jax",
)

WRITE = """
import pathlib, sys
from api_tables.from_{framework} import generate
pathlib.Path(sys.argv[1]).write_text(generate(), encoding="utf-8")
"""


def main(arguments: list[str]) -> int:
    """Write the table of each framework named (all, when none is)."""
    failed = 0
    for framework in arguments or FRAMEWORKS:
        code = WRITE.format(framework=framework)
        path = TABLES / f"{framework}_generated.toml"
        before = read_entries(path)
        done = subprocess.run([sys.executable, "-W", "ignore", "-c", code, str(path)], cwd=SCRIPTS, check=False)
        failed |= done.returncode
        print(f"{path.name}: {'written' if not done.returncode else 'failed'}")
        for line in describe_changes(before, read_entries(path)):
            print(f"  {line}")
    return failed


def read_entries(path: Path) -> dict[str, str]:
    """The entries of a table as they are written, by section and name; none of a file that is not there."""
    entries, section = {}, ""
    for line in path.read_text(encoding="utf-8").splitlines() if path.exists() else ():
        name, equals, written = line.partition(" = ")
        if line.startswith("["):
            section = line
        elif equals and not line.startswith("#"):
            entries[f"{section} {name}".lstrip()] = written
    return entries


def describe_changes(before: Mapping[str, str], after: Mapping[str, str]) -> Iterator[str]:
    """Say which entries are new, gone or different, in the order of their names."""
    for name in sorted({*before, *after}):
        if name not in before:
            yield f"+ {name} = {after[name]}"
        elif name not in after:
            yield f"- {name} = {before[name]}"
        elif before[name] != after[name]:
            yield f"~ {name} = {before[name]} -> {after[name]}"


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
