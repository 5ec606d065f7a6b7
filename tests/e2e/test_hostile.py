"""A folder that somebody else wrote is opened by every command, the servers and each child process: nothing in it is run."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from tests.e2e.conftest import COMMAND, MODEL
from tests.e2e.hostile import Hostile, environment, imported_names, shadows, workspace
from xlalint.processes import hosting, isolated_command

FORMATS = ["full", "concise", "json", "json-lines", "sarif", "github", "gitlab", "junit", "rdjson", "markdown", "html"]
HOOK = ("check", "--force-exclude")


@pytest.fixture(scope="module")
def opened(tmp_path_factory: pytest.TempPathFactory) -> Hostile:
    """The folder, for what only reads."""
    base = tmp_path_factory.mktemp("hostile")
    return workspace(base / "work", base / "markers")


@pytest.fixture
def own(tmp_path: Path) -> Hostile:
    """The folder, for what writes."""
    return workspace(tmp_path / "work", tmp_path / "markers")


@pytest.fixture(scope="module")
def shadowed(tmp_path_factory: pytest.TempPathFactory) -> Hostile:
    """Nothing but modules."""
    base = tmp_path_factory.mktemp("shadows")
    return shadows(base / "work", base / "markers")


def run(made: Hostile, command: Sequence[str], text: str = "", codes: tuple[int, ...] = (0, 1)) -> str:
    """What a command prints that is run in the folder and ends with one of some codes."""
    done = subprocess.run(
        command, cwd=made.folder, env=environment(made), input=text, capture_output=True, text=True, timeout=300
    )
    assert done.returncode in codes, (command, done.stdout[-2000:], done.stderr[-2000:])
    return done.stdout + done.stderr


def test_there_is_a_trap_for_what_is_imported() -> None:
    """Names that only one part of xlalint imports are among them."""
    wanted = {
        "click",
        "libcst",
        "msgspec",
        "json",
        "sqlite3",
        "subprocess",
        "multiprocessing",
        "sitecustomize",
        "torch",
        "yaml",
    }
    assert wanted <= imported_names()


@pytest.mark.parametrize("name", ["json", "click", "xlalint"])
def test_the_traps_work(name: str, tmp_path: Path) -> None:
    made = shadows(tmp_path / "work", tmp_path / "markers")
    run(made, [sys.executable, "-c", f"import {name}"], codes=(1,))
    assert made.ran()


@pytest.mark.slow
@pytest.mark.parametrize(
    "arguments",
    [
        *(("check", "--output-format", form) for form in FORMATS),
        ("check", "--no-cache", "-j", "2"),
        ("check", "--show-files"),
        ("check", "--show-settings"),
        ("check", "--statistics", "--show-info", "--min-confidence", "possible"),
        ("check", "--show-fixes", "--unsafe-fixes"),
        ("check", "--diff", "--unsafe-fixes", "-j", "2"),
        ("check", "--python", ".venv/bin/python", "model.py"),
        ("check", "--isolated", "model.py", "notebook.ipynb"),
        ("check", "--stdin-filename", "model.py", "-"),
        (*HOOK, "model.py", "setup.py", "notebook.ipynb"),
        ("explain", "model.py:7"),
        ("explain", "model.py:7:12", "--output-format", "json"),
        ("explain", "XLA201"),
        ("rule", "tensor-if"),
        ("rules", "--output-format", "json"),
        ("config", "target"),
        ("verify", "--help"),
        ("run", "--help"),
        ("mcp", "--help"),
        ("server", "--help"),
        ("--version",),
    ],
    ids=" ".join,
)
def test_commands_that_read(arguments: tuple[str, ...], opened: Hostile) -> None:
    run(opened, [COMMAND, *arguments], text=MODEL)
    assert opened.ran() == []


@pytest.mark.slow
@pytest.mark.skipif(shutil.which("git") is None, reason="git is not installed")
@pytest.mark.parametrize("base", ["HEAD", "HEAD~1"])
def test_changes_since_a_revision(base: str, opened: Hostile) -> None:
    said = run(opened, [COMMAND, "check", "--diff-base", base, "--output-format", "concise"])
    assert "model.py" in said
    assert opened.ran() == []


@pytest.mark.slow
@pytest.mark.parametrize(
    "arguments",
    [
        ("check", "--fix", "--unsafe-fixes", "--show-fixes"),
        ("check", "--fix-only", "-j", "2", "--no-cache"),
        ("check", "--add-noqa", "--extend-exclude", "cookie.py"),
        ("baseline", "update"),
        ("clean",),
    ],
    ids=" ".join,
)
def test_commands_that_write(arguments: tuple[str, ...], own: Hostile) -> None:
    before = (own.folder / "model.py").read_text()
    run(own, [COMMAND, *arguments])
    assert own.ran() == []
    assert ((own.folder / "model.py").read_text() != before) == (arguments[0] == "check")


@pytest.mark.slow
def test_a_watch(own: Hostile) -> None:
    pytest.importorskip("watchfiles")
    command = [COMMAND, "check", "--watch", "--output-format", "concise"]
    told = {"cwd": own.folder, "env": environment(own), "stdout": subprocess.PIPE, "stderr": subprocess.STDOUT}
    signal.signal(signal.SIGINT, signal.default_int_handler)
    with subprocess.Popen(command, text=True, start_new_session=True, **told) as process:  # type: ignore[call-overload]
        for turn in range(2):
            while not (line := process.stdout.readline()).startswith("xlalint: watching"):
                assert line
            if not turn:
                (own.folder / "model.py").write_text(MODEL)
        os.killpg(process.pid, signal.SIGINT)
    assert own.ran() == []


@pytest.mark.slow
def test_the_language_server_and_its_first_check(own: Hostile) -> None:
    """There are enough files that the first check runs in a process of its own."""
    pytest.importorskip("pygls")
    pytest.importorskip("pytest_lsp")
    from tests.server.editor import Editor, converse

    shutil.rmtree(own.folder / ".xlalint_cache")
    assert len(list(own.folder.glob("*.py"))) > 150

    async def talk(editor: Editor) -> None:
        editor.open("model.py")
        await editor.until(lambda: editor.codes("model.py"))
        assert editor.client.progress_reports, "no first check was shown"
        assert "XLA101" in await editor.hover("model.py", 7, 12)
        await editor.actions("model.py", 7, 12)
        editor.change("model.py", MODEL)
        await editor.shows("model.py", ("XLA101", 7))

    converse(own.folder, talk, command=(COMMAND, "server"), cwd=own.folder, env=environment(own))
    assert own.ran() == []


@pytest.mark.slow
def test_the_server_for_agents(own: Hostile) -> None:
    mcp = pytest.importorskip("mcp")
    anyio = pytest.importorskip("anyio")
    calls: list[tuple[str, dict[str, Any]]] = [
        ("check_file", {"path": "model.py", "program": "."}),
        ("check_text", {"text": MODEL}),
        ("explain_line", {"path": "model.py", "line": 7}),
        ("get_rule", {"code": "XLA101"}),
        ("propose_fixes", {"path": "model.py", "unsafe": True}),
    ]

    async def converse() -> None:
        server = mcp.StdioServerParameters(command=COMMAND, args=["mcp"], cwd=str(own.folder), env=environment(own))
        async with mcp.Client(server) as client:
            for name, arguments in calls:
                result = await client.call_tool(name, arguments)
                assert not result.is_error, result.content

    anyio.run(converse)
    assert own.ran() == []


@pytest.mark.parametrize(
    "command",
    [
        isolated_command("xlalint.server.warming"),
        isolated_command("xlalint.cli", "verify", "--help"),
        isolated_command("xlalint.verify.supervisor", "{}"),
        hosting("xlalint.verify.child"),
        hosting("xlalint.verify.script", "gone.json"),
    ],
    ids=["warming", "cli", "supervisor", "child", "script"],
)
def test_child_processes_start_without_the_folder(command: list[str], shadowed: Hostile) -> None:
    """They end at once, for they are told nothing; by then they have imported what they need."""
    said = run(shadowed, command, codes=(0, 1, 2))
    assert shadowed.ran() == []
    assert "No module named" not in said and "a trap" not in said


def test_the_working_directory_counts_for_a_script_alone(shadowed: Hostile) -> None:
    """`xlalint run` runs it with its folder in front of the path, as `python` does; before that nothing there was imported."""
    (shadowed.folder / "train.py").write_text(
        f"print(__import__('os').listdir({str(shadowed.markers)!r}))\nimport colorsys\n"
    )
    try:
        said = run(shadowed, [COMMAND, "run", "--isolated", "--no-cache", "train.py"], codes=(1,))
        assert said.startswith("[]\n")
        assert shadowed.ran() == ["colorsys.py"]
    finally:
        for marker in shadowed.markers.iterdir():
            marker.unlink()


_POOL = """
import sys
sys.path = [entry for entry in sys.path if entry]
import multiprocessing
multiprocessing.set_start_method({method!r})
from xlalint.project.workers import map_in_processes
print(list(map_in_processes(len, ["a", "bb", "ccc"], 2)))
"""


@pytest.mark.parametrize("method", ["spawn", "forkserver", "fork"])
def test_workers_are_no_new_interpreters(method: str, shadowed: Hostile) -> None:
    """Python's own way to start them, the usual one on macOS and from 3.14 on, would import modules of the working directory."""
    said = run(shadowed, [sys.executable, "-c", _POOL.format(method=method)])
    assert said == "[1, 2, 3]\n"
    assert shadowed.ran() == []


def test_python_dash_m_leaves_the_folder_out(tmp_path: Path) -> None:
    """Of what xlalint itself imports; for what Python imports to find xlalint there is `-I`."""
    made = shadows(tmp_path / "work", tmp_path / "markers")
    shutil.rmtree(made.folder / "xlalint")
    for path in made.folder.glob("*.py"):
        if path.stem in sys.stdlib_module_names:
            path.unlink()
    run(made, [sys.executable, "-m", "xlalint", "check", "--no-cache"])
    assert made.ran() == []


@pytest.mark.parametrize(
    "flags", [("-I",), pytest.param(("-P",), marks=pytest.mark.skipif(sys.version_info < (3, 11), reason="new"))]
)
def test_an_isolated_interpreter_sees_nothing_of_the_folder(flags: tuple[str, ...], shadowed: Hostile) -> None:
    run(shadowed, [sys.executable, *flags, "-m", "xlalint", "--version"])
    assert shadowed.ran() == []


def test_a_file_named_like_an_option_is_none(tmp_path: Path) -> None:
    """Hooks and shells name files before which nobody writes `--`."""
    (tmp_path / "--verify").write_text("#!/usr/bin/env python3\n")
    (tmp_path / "--output-file=model.py").write_text(MODEL)
    (tmp_path / "model.py").write_text(MODEL)
    for name in ("--verify", "--output-file=model.py"):
        done = subprocess.run([COMMAND, *HOOK, "model.py", name], cwd=tmp_path, capture_output=True, text=True)
        assert done.returncode == 2
        assert f"`{name}` is an option and the name of a file here" in done.stderr
        assert (tmp_path / "model.py").read_text() == MODEL
    done = subprocess.run(
        [COMMAND, "check", "--isolated", "--", "--output-file=model.py"], cwd=tmp_path, capture_output=True
    )
    assert done.returncode == 1
