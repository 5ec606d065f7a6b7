"""`check --watch`: it checks again after each change that counts, and ends with the last state's code."""

from __future__ import annotations

import os
import signal
import subprocess
import threading
from collections.abc import Iterator
from pathlib import Path
from queue import Queue

import pytest

from tests.e2e.conftest import COMMAND, MODEL

pytest.importorskip("watchfiles")

GOOD = MODEL.replace("if x.sum() > 0", "if x.ndim > 0")
READY = "xlalint: watching for changes; Ctrl-C ends\n"


class Watching:
    """The command, with what it says as it says it."""

    def __init__(self, folder: Path, *arguments: str) -> None:
        # A shell's background job ignores interrupts, and so would what it starts.
        signal.signal(signal.SIGINT, signal.default_int_handler)
        command = [COMMAND, "check", "--watch", "--output-format", "concise", *arguments]
        self.process = subprocess.Popen(
            command, cwd=folder, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, start_new_session=True
        )
        self._lines: Queue[str] = Queue()
        threading.Thread(target=self._read, daemon=True).start()

    def _read(self) -> None:
        assert self.process.stdout is not None
        for line in self.process.stdout:
            self._lines.put(line)
        self._lines.put("")

    def checked(self) -> str:
        """What is said until it waits again."""
        said = ""
        while not said.endswith(READY):
            line = self._lines.get(timeout=300)
            assert line, said
            said += line
        return said

    def interrupt(self) -> int:
        os.killpg(self.process.pid, signal.SIGINT)
        return self.process.wait(timeout=300)


@pytest.fixture
def started() -> Iterator[list[Watching]]:
    running: list[Watching] = []
    yield running
    for one in running:
        if one.process.poll() is None:
            os.killpg(one.process.pid, signal.SIGKILL)
            one.process.wait()


def put(path: Path, text: str) -> None:
    """Write a file in one step, as editors do: a check sees it whole."""
    beside = path.with_name("beside.tmp")
    beside.write_text(text)
    beside.replace(path)


def test_it_checks_again_after_each_change(tmp_path: Path, started: list[Watching]) -> None:
    model = tmp_path / "model.py"
    put(model, MODEL)
    started.append(watching := Watching(tmp_path, "--isolated"))
    assert "model.py:7:12: XLA101" in watching.checked()
    put(model, GOOD)
    said = watching.checked()
    assert said.startswith("xlalint: model.py changed: checking again\n")
    assert "All clear: 1 file checked." in said
    put(tmp_path / "notes.txt", "of no matter")
    new = tmp_path / "package" / "other.py"
    new.parent.mkdir()
    put(new, MODEL)
    said = watching.checked()
    while "Found 1 warning in 1 file (2 checked)." not in said:  # the folder was seen before the file was in it
        said += watching.checked()
    assert "package" in said.splitlines()[0]
    assert "notes.txt" not in said
    assert watching.interrupt() == 1


def test_a_file_that_was_named_is_watched_by_itself(tmp_path: Path, started: list[Watching]) -> None:
    put(tmp_path / "model.py", MODEL)
    put(tmp_path / "other.py", GOOD)
    started.append(watching := Watching(tmp_path, "--isolated", "--no-project", "model.py"))
    watching.checked()
    put(tmp_path / "other.py", MODEL)
    put(tmp_path / "model.py", "x = (\n")
    said = watching.checked()
    assert "model.py changed" in said
    assert "other.py" not in said
    assert "XLA001" in said
    put(tmp_path / "model.py", GOOD)
    assert "All clear" in watching.checked()
    assert watching.interrupt() == 0


def test_a_file_is_checked_again_where_its_program_changes(tmp_path: Path, started: list[Watching]) -> None:
    put(tmp_path / "model.py", MODEL)
    put(tmp_path / "other.py", GOOD)
    started.append(watching := Watching(tmp_path, "--isolated", "model.py"))
    watching.checked()
    put(tmp_path / "other.py", MODEL)
    assert "other.py changed" in watching.checked()
    assert watching.interrupt() == 1  # there are findings


def test_a_broken_configuration_is_told_and_outlived(tmp_path: Path, started: list[Watching]) -> None:
    put(tmp_path / "model.py", MODEL)
    config = tmp_path / "xlalint.toml"
    put(config, 'select = ["XLA1"]\n')
    started.append(watching := Watching(tmp_path))
    assert "XLA101" in watching.checked()
    put(config, "slect = 1\n")
    assert "unknown key; did you mean `select`?" in watching.checked()
    put(config, 'select = ["XLA2"]\n')
    assert "All clear" in watching.checked()
    assert watching.interrupt() == 0
