"""Lay out the server that the extension's package for one platform brings along, in `bundled`.

    python bundle.py linux-x64 [--wheel DIST/xlalint-1.2.3-py3-none-any.whl]
    npx vsce package --target linux-x64 ...

Beside xlalint without compiled modules there are the packages that it needs, for all supported versions of Python in one folder: where they
hold compiled modules, the versions' names tell them apart.
"""

from __future__ import annotations

import argparse
import filecmp
import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

HERE = Path(__file__).parent
PYTHONS = ("3.10", "3.11", "3.12", "3.13", "3.14")
# pip takes the conditions of requirements for those of the Python that runs it: what is needed by some versions only is named.
ONLY_IN = {"3.10": ("exceptiongroup>=1.1", "tomli>=2.0")}
# What Visual Studio Code calls a platform, and the tags of its wheels, as pip wants them: all that would do.
PLATFORMS = {
    "linux-x64": ("manylinux2014_x86_64", "manylinux_2_17_x86_64", "manylinux_2_28_x86_64"),
    "linux-arm64": ("manylinux2014_aarch64", "manylinux_2_17_aarch64", "manylinux_2_28_aarch64"),
    "darwin-x64": ("macosx_10_9_x86_64", "macosx_10_12_x86_64", "macosx_10_13_x86_64"),
    "darwin-arm64": ("macosx_11_0_arm64",),
}


def build_wheel(folder: Path) -> Path:
    """Build the wheel without compiled modules."""
    command = [
        sys.executable,
        "-m",
        "pip",
        "wheel",
        "--quiet",
        "--no-deps",
        "--wheel-dir",
        str(folder),
        str(HERE.parents[1]),
    ]
    subprocess.run(command, check=True, env=os.environ | {"XLALINT_PURE": "1"})
    return next(folder.glob("xlalint-*.whl"))


def install(wheel: Path, platform: str, python: str, folder: Path) -> None:
    """Install the server for a version of Python, which need not be the one that runs this."""
    tags = [word for tag in PLATFORMS[platform] for word in ("--platform", tag)]
    options = [
        "--quiet",
        "--no-compile",
        "--only-binary=:all:",
        "--python-version",
        python,
        *tags,
        "--target",
        str(folder),
    ]
    subprocess.run(
        [sys.executable, "-m", "pip", "install", *options, f"{wheel}[server]", *ONLY_IN.get(python, ())], check=True
    )
    shutil.rmtree(folder / "bin", ignore_errors=True)


def merge(one: Path, all_of_them: Path) -> None:
    """Add what is installed for one version; a module that other versions have otherwise cannot be shared."""
    for file in sorted(path for path in one.rglob("*") if path.is_file()):
        place = all_of_them / file.relative_to(one)
        described = any(part.endswith(".dist-info") for part in file.relative_to(one).parts)
        if place.exists() and not described and not filecmp.cmp(file, place, shallow=False):
            raise SystemExit(f"{place.relative_to(all_of_them)} is another one for another version of Python")
        place.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(file, place)


def main() -> int:
    """Write the folder anew."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("platform", choices=sorted(PLATFORMS))
    parser.add_argument("--wheel", type=Path, help="xlalint's wheel without compiled modules; else it is built")
    told = parser.parse_args()
    bundled = HERE / "bundled"
    shutil.rmtree(bundled, ignore_errors=True)
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        wheel = told.wheel or build_wheel(folder)
        for python in PYTHONS:
            install(wheel, told.platform, python, folder / python)
            merge(folder / python, bundled / "server")
    shutil.copy(HERE / "start.py", bundled)
    return 0


if __name__ == "__main__":
    sys.exit(main())
