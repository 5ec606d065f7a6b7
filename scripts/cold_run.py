"""Times `xlalint check` on a folder: from nothing, with nothing changed, with one file changed, beside `ast.parse` of the same files.

    python scripts/cold_run.py FOLDER [--runs 5]

Wall clock, on as many processes as xlalint takes by itself; medians, and the range of the runs from nothing. The folder is copied, so that
a file can be changed. Other load on the machine makes all figures worse, the ratio less so.
"""

from __future__ import annotations

import argparse
import ast
import shutil
import statistics
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from tempfile import TemporaryDirectory


def _timed(work: Callable[[], object]) -> float:
    began = time.perf_counter()
    work()
    return time.perf_counter() - began


def _parse(files: list[Path]) -> None:
    for file in files:
        try:
            ast.parse(file.read_bytes())
        except (SyntaxError, ValueError):
            print(f"{file} does not parse", file=sys.stderr)


def _check(folder: Path, cache: Path) -> None:
    command = [
        sys.executable,
        "-I",
        "-m",
        "xlalint",
        "check",
        "--isolated",
        "--silent",
        "--cache-dir",
        str(cache),
        str(folder),
    ]
    done = subprocess.run(command, check=False)
    if done.returncode not in (0, 1):
        raise SystemExit(f"xlalint ended with {done.returncode}")


def measure(source: Path, runs: int, scratch: Path) -> dict[str, list[float]]:
    """Time each kind of run several times."""
    folder = scratch / source.name
    shutil.copytree(source, folder)
    files = sorted(folder.rglob("*.py"))
    largest = max(files, key=lambda file: file.stat().st_size)
    times: dict[str, list[float]] = {"parse": [], "cold": [], "warm": [], "one file changed": []}
    for i in range(runs):
        cache = scratch / f"cache{i}"
        times["parse"].append(_timed(lambda: _parse(files)))
        times["cold"].append(_timed(lambda: _check(folder, cache)))  # noqa: B023 - called at once
        times["warm"].append(_timed(lambda: _check(folder, cache)))  # noqa: B023 - called at once
        with largest.open("a", encoding="utf-8") as file:
            file.write(f"\n\ndef added_{i}(x):\n    return x\n")
        times["one file changed"].append(_timed(lambda: _check(folder, cache)))  # noqa: B023 - called at once
    return times


def main() -> int:
    """Run the command."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("folder", type=Path)
    parser.add_argument("--runs", type=int, default=5)
    told = parser.parse_args()
    with TemporaryDirectory() as scratch:
        times = measure(told.folder.resolve(), told.runs, Path(scratch))
    for kind, own in times.items():
        print(f"{kind:<17} {statistics.median(own):7.2f} s  ({min(own):.2f} to {max(own):.2f})")
    print(f"cold / parse      {statistics.median(times['cold']) / statistics.median(times['parse']):7.2f}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
