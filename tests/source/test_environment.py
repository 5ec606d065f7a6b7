"""Which folder holds the installed packages, and where in it a module lies."""

from __future__ import annotations

from pathlib import Path

import pytest

from xlalint.source.environment import Installed, environment_of, installed_packages


def made(root: Path, *files: str) -> Path:
    for name in files:
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).touch()
    return root


@pytest.mark.parametrize(
    ("files", "python", "folder"),
    [
        pytest.param([], "env", None, id="nothing-there"),
        pytest.param(["env/pyvenv.cfg"], "env", None, id="no-packages"),
        pytest.param(["env/lib/python3.11/os.py"], "env", None, id="library-without-packages"),
        pytest.param(["env/lib/site-packages.txt"], "env", None, id="file"),
        pytest.param(["tool"], "tool", None, id="no-interpreter"),
        pytest.param(["env/bin/python"], "env/bin/python", None, id="interpreter-without-packages"),
        pytest.param(["env/lib/python3.11/site-packages/a.py"], "env/bin/python", None, id="interpreter-not-there"),
        pytest.param(
            ["env/lib/python3.11/site-packages/a.py"], "env", "env/lib/python3.11/site-packages", id="environment"
        ),
        pytest.param(
            ["env/bin/python3", "env/lib/python3.11/site-packages/a.py"],
            "env/bin/python3",
            "env/lib/python3.11/site-packages",
            id="interpreter",
        ),
        pytest.param(
            ["u/bin/python3.9", "u/lib/python3.9/site-packages/a.py", "u/lib/python3.12/site-packages/a.py"],
            "u/bin/python3.9",
            "u/lib/python3.9/site-packages",
            id="of-two-versions-the-interpreter's",
        ),
        pytest.param(
            ["u/lib/python3.9/site-packages/a.py", "u/lib/python3.12/site-packages/a.py"],
            "u",
            "u/lib/python3.12/site-packages",
            id="of-two-versions-the-newer",
        ),
        pytest.param(["u/lib/python3/dist-packages/a.py"], "u", "u/lib/python3/dist-packages", id="debian"),
        pytest.param(["env/Lib/site-packages/a.py"], "env", "env/Lib/site-packages", id="windows"),
        pytest.param(["x/site-packages/a.py"], "x/site-packages", "x/site-packages", id="the-folder-itself"),
    ],
)
def test_packages(tmp_path: Path, files: list[str], python: str, folder: str | None) -> None:
    made(tmp_path, *files)
    assert installed_packages(str(tmp_path / python)) == (str(tmp_path / folder) if folder else None)


PLACES = ("active", "project/.venv", "conda")


@pytest.mark.parametrize(
    ("there", "used"),
    [
        pytest.param([], None, id="none"),
        pytest.param(PLACES, "active", id="the-active-one-first"),
        pytest.param(PLACES[1:], "project/.venv", id="the-project's-own"),
        pytest.param(PLACES[2:], "conda", id="conda"),
    ],
)
def test_environment(tmp_path: Path, there: list[str], used: str | None) -> None:
    for place in there:
        made(tmp_path, f"{place}/lib/python3.11/site-packages/a.py")
    variables = {"VIRTUAL_ENV": str(tmp_path / "active"), "CONDA_PREFIX": str(tmp_path / "conda")}
    assert environment_of(tmp_path / "project", variables) == (str(tmp_path / used) if used else None)
    assert environment_of(None, {"VIRTUAL_ENV": "", "PATH": "/bin"}) is None


@pytest.mark.parametrize(
    ("module", "path"),
    [
        ("gone", None),
        ("space", None),
        ("pack.gone", None),
        ("pack.data", None),
        ("gone.core", None),
        ("compiled", None),
        ("pack", "pack/__init__.py"),
        ("pack.core", "pack/core.py"),
        ("pack.both", "pack/both/__init__.py"),
        ("space.core", "space/core.py"),
        ("single", "single.py"),
    ],
)
def test_modules(tmp_path: Path, module: str, path: str | None) -> None:
    files = ["pack/__init__.py", "pack/core.py", "pack/both.py", "pack/both/__init__.py", "pack/data.txt", "single.py"]
    made(tmp_path, *files, "space/core.py", "compiled.so")
    found = Installed(str(tmp_path)).find(module)
    assert (found and found.path) == (f"{tmp_path}/{path}" if path else None)
    assert found is None or found.is_package is found.path.endswith("__init__.py")
