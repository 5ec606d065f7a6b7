"""How processes are started: by one module, which decides what they import from."""

from __future__ import annotations

import ast
import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from xlalint import processes
from xlalint.processes import hosting, isolated_command

PACKAGE = Path(__file__).parents[1] / "xlalint"
# What starts processes; each with the modules that do so, by a command of `xlalint.processes` or, of git and compilers, by its path.
_STARTING = {
    "subprocess.Popen": {
        "cli/watching.py",
        "server/warming.py",
        "verify/isolation.py",
        "verify/running.py",
        "verify/supervisor.py",
    },
    "subprocess.run": {"source/git.py", "verify/plugin/__init__.py"},
    "asyncio.create_subprocess_exec": {"server/server.py"},
    "anyio.run_process": {"agents/tools.py"},
    "context.Process": {"project/workers.py"},
    "runpy.run_path": {"verify/script.py"},
    "runpy.run_module": {"verify/script.py"},
}
_NEVER = (
    *("os.system", "os.popen", "os.fork", "os.forkpty", "os.posix_spawn", "os.posix_spawnp", "os.startfile"),
    *(f"os.{kind}{way}" for kind in ("exec", "spawn") for way in ("l", "le", "lp", "lpe", "v", "ve", "vp", "vpe")),
    *(
        "subprocess.call",
        "subprocess.check_call",
        "subprocess.check_output",
        "subprocess.getoutput",
        "subprocess.getstatusoutput",
    ),
    *("asyncio.create_subprocess_shell", "anyio.open_process", "multiprocessing.Process", "multiprocessing.Pool"),
    *(
        "pickle.load",
        "pickle.loads",
        "marshal.loads",
        "yaml.load",
        "yaml.unsafe_load",
        "webbrowser.open",
        "click.edit",
        "click.launch",
    ),
)

# What forks of this very process send over a pipe that nobody else holds.
_FROM_FORKS = {("project/workers.py", "pickle.loads")}


def _calls(path: Path) -> Iterator[tuple[str, ast.Call]]:
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Call):
            yield ast.unparse(node.func), node


def test_processes_are_started_where_it_is_known() -> None:
    found: dict[str, set[str]] = {}
    for path in sorted(PACKAGE.rglob("*.py")):
        for name, call in _calls(path):
            known = (path.relative_to(PACKAGE).as_posix(), name) in _FROM_FORKS
            assert known or name not in _NEVER, (path, call.lineno)
            assert not any(keyword.arg == "shell" for keyword in call.keywords), (path, call.lineno)
            if name in _STARTING:
                found.setdefault(name, set()).add(path.relative_to(PACKAGE).as_posix())
    assert found == _STARTING


def test_only_one_module_names_the_interpreter() -> None:
    naming = {
        path.relative_to(PACKAGE).as_posix()
        for path in PACKAGE.rglob("*.py")
        for node in ast.walk(ast.parse(path.read_text()))
        if isinstance(node, ast.Attribute) and ast.unparse(node) == "sys.executable"
    }
    assert naming == {"processes.py"}


def _path_of(command: list[str], **told: object) -> list[str]:
    """The path of modules that a command's process has when `main` begins."""
    boot = command[command.index("-c") + 1].replace(
        "from xlalint.cli import main", "main = lambda: print(__import__('json').dumps(sys.path))"
    )
    command = [*command[: command.index("-c") + 1], boot]
    done = subprocess.run(command, capture_output=True, text=True, check=True, **told)  # type: ignore[call-overload]
    path: list[str] = json.loads(done.stdout)
    return path


def test_an_isolated_process_imports_what_this_one_does(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """In the same order, less the working directory and what is relative to it; the environment adds nothing."""
    extra, hostile = tmp_path / "ex\udcfftra; 'quoted'", tmp_path / "hostile"
    monkeypatch.setattr(sys, "path", ["", ".", "relative", str(tmp_path), str(extra), *sys.path])
    monkeypatch.chdir(tmp_path)
    path = _path_of(isolated_command("xlalint.cli"), cwd=tmp_path, env={**os.environ, "PYTHONPATH": f":{hostile}"})
    assert str(extra) in path
    assert not {"", ".", "relative", str(tmp_path), str(hostile)} & set(path)
    expected = [entry for entry in sys.path if Path(entry).is_absolute() and entry != str(tmp_path)]
    assert [entry for entry in path if entry in expected] == list(dict.fromkeys(expected))


def test_xlalint_is_found_wherever_it_lies(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Also where it was imported from the working directory: its folder is the last one."""
    root = processes._ROOT
    monkeypatch.setattr(sys, "path", [entry for entry in sys.path if entry != root])
    monkeypatch.chdir(root)
    assert root in _path_of(isolated_command("xlalint.cli"))
    assert processes._own_path()[-1] == root


def test_a_process_for_code_of_users_hears_the_environment(tmp_path: Path) -> None:
    told = {"cwd": tmp_path, "env": {**os.environ, "PYTHONPATH": "/nowhere/theirs"}}
    path = _path_of(hosting("xlalint.cli"), **told)
    assert "/nowhere/theirs" in path
    assert not {"", str(tmp_path)} & set(path)


def test_a_working_directory_that_is_gone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = tmp_path / "gone"
    folder.mkdir()
    monkeypatch.chdir(folder)
    folder.rmdir()
    assert isolated_command("xlalint.cli")[0] == sys.executable
