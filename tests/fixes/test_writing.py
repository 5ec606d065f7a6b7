"""Writing: whole or not at all, the same mode, and nothing outside of the project."""

from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from xlalint.fixes.writing import WriteError, write

OLD, NEW = b"old\r\n" * 100_000, b"new\n" * 150_000


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "project" / "a.py"
    path.parent.mkdir()
    path.write_bytes(OLD)
    return path


@pytest.mark.parametrize("mode", [0o644, 0o600, 0o755, 0o4711])
def test_the_mode_stays(file: Path, mode: int) -> None:
    file.chmod(mode)
    write(str(file), OLD, NEW, str(file.parent))
    assert file.read_bytes() == NEW
    assert file.stat().st_mode & 0o7777 == mode
    assert list(file.parent.iterdir()) == [file]


def test_a_file_that_changed_is_left_alone(file: Path) -> None:
    with pytest.raises(WriteError, match="changed while"):
        write(str(file), b"older", NEW, str(file.parent))
    assert file.read_bytes() == OLD


def test_a_file_that_went_away_is_not_made_again(file: Path) -> None:
    file.unlink()
    with pytest.raises(WriteError, match="No such file"):
        write(str(file), OLD, NEW, str(file.parent))
    assert list(file.parent.iterdir()) == []


def test_a_read_only_file_is_left_alone(file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "access", lambda *_: False)  # the tests may run as root, who may write everywhere
    with pytest.raises(WriteError, match="read-only"):
        write(str(file), OLD, NEW, str(file.parent))
    assert file.read_bytes() == OLD


def test_a_failed_rename_leaves_nothing_behind(file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupted(*_: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(os, "replace", interrupted)
    with pytest.raises(KeyboardInterrupt):
        write(str(file), OLD, NEW, str(file.parent))
    assert file.read_bytes() == OLD
    assert list(file.parent.iterdir()) == [file]


def test_a_link_within_the_project_stays_a_link(file: Path) -> None:
    link = file.parent / "link.py"
    link.symlink_to(file)
    write(str(link), OLD, NEW, str(file.parent))
    assert link.is_symlink()
    assert file.read_bytes() == NEW


@pytest.mark.parametrize("name", ["link.py", "folder/a.py", "chain.py", "../link.py"])
def test_no_link_out_of_the_project_is_followed(file: Path, tmp_path: Path, name: str) -> None:
    home = tmp_path / "home"
    home.mkdir()
    (home / "link.py").symlink_to(file)
    (home / "chain.py").symlink_to(home / "link.py")
    (home / "folder").symlink_to(file.parent)
    (tmp_path / "link.py").symlink_to(file)
    with pytest.raises(WriteError, match="a link out of the project"):
        write(os.path.normpath(home / name), OLD, NEW, str(home))
    assert file.read_bytes() == OLD


def test_the_project_may_itself_be_reached_by_a_link(file: Path, tmp_path: Path) -> None:
    (tmp_path / "home").symlink_to(file.parent)
    write(str(tmp_path / "home" / "a.py"), OLD, NEW, str(tmp_path / "home"))
    assert file.read_bytes() == NEW


def test_a_file_elsewhere_that_the_user_named_is_written(file: Path, tmp_path: Path) -> None:
    (tmp_path / "home").mkdir()
    write(str(file), OLD, NEW, str(tmp_path / "home"))
    assert file.read_bytes() == NEW


WRITER = """
import sys
from xlalint.fixes.writing import write
path, root = sys.argv[1:]
texts = [b"old\\r\\n" * 100_000, b"new\\n" * 150_000]
if open(path, "rb").read() == texts[1]:
    texts.reverse()
print("ready", flush=True)
while True:
    write(path, *texts, root)
    texts.reverse()
"""


def test_killed_at_any_time_the_file_is_old_or_new(file: Path) -> None:
    chance = random.Random(1)
    seen = set()
    for _ in range(30):
        command = [sys.executable, "-c", WRITER, str(file), str(file.parent)]
        with subprocess.Popen(command, stdout=subprocess.PIPE) as process:
            assert process.stdout is not None
            assert process.stdout.readline() == b"ready\n"
            time.sleep(chance.random() * 0.05)
            process.send_signal(signal.SIGKILL)
        content = file.read_bytes()
        assert content in (OLD, NEW)
        seen.add(content)
    assert seen == {OLD, NEW}
