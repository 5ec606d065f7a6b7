"""What a package of the extension for Visual Studio Code brings along starts by itself."""

from __future__ import annotations

import runpy
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from xlalint import __version__

ROOT = Path(__file__).parents[2]
EXTENSION = ROOT / "editors" / "vscode"
pytestmark = pytest.mark.skipif(not EXTENSION.is_dir(), reason="a source distribution has no extension")


def test_the_bundled_server_is_started_by_any_interpreter_that_it_is_for(tmp_path: Path) -> None:
    bundled = tmp_path / "bundled"
    (bundled / "server").mkdir(parents=True)
    (bundled / "server" / "xlalint").symlink_to(ROOT / "xlalint")
    shutil.copy(EXTENSION / "start.py", bundled)
    command = [sys.executable, "-I", str(bundled / "start.py"), "--version"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=True)
    assert done.stdout == f"xlalint {__version__}\n"


def test_versions_share_what_they_have_in_common(tmp_path: Path) -> None:
    script = runpy.run_path(str(EXTENSION / "bundle.py"))
    for version in ("310", "311"):
        folder = tmp_path / version
        (folder / "a-1.dist-info").mkdir(parents=True)
        (folder / "a-1.dist-info" / "WHEEL").write_text(version)
        (folder / "a.py").write_text("A = 1\n")
        (folder / f"b.cpython-{version}.so").write_text(version)
        script["merge"](folder, tmp_path / "server")
    assert sorted(path.name for path in (tmp_path / "server").iterdir()) == [
        "a-1.dist-info",
        "a.py",
        "b.cpython-310.so",
        "b.cpython-311.so",
    ]
    (folder / "a.py").write_text("A = 2\n")
    with pytest.raises(SystemExit, match=r"a\.py is another one"):
        script["merge"](folder, tmp_path / "server")


def test_it_is_for_the_versions_that_there_are_wheels_for() -> None:
    script = runpy.run_path(str(EXTENSION / "bundle.py"))
    for python in script["PYTHONS"]:
        assert f'"Programming Language :: Python :: {python}"' in (ROOT / "pyproject.toml").read_text()
