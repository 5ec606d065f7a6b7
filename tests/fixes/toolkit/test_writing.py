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

from xlalint.fixes.toolkit.writing import WriteError, write

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
from xlalint.fixes.toolkit.writing import write
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


def left_beside(file: Path) -> list[Path]:
    return [path for path in file.parent.iterdir() if path != file]


@pytest.mark.parametrize("nameless", [True, False], ids=["without-a-name", "with-a-name"])
def test_what_a_killed_run_left_is_gone_after_the_next(
    file: Path, monkeypatch: pytest.MonkeyPatch, nameless: bool
) -> None:
    if not nameless:
        monkeypatch.delattr(os, "O_TMPFILE", raising=False)
    elif not hasattr(os, "O_TMPFILE"):
        pytest.skip("no files without a name here")
    write(str(file), OLD, NEW, str(file.parent))
    assert left_beside(file) == []
    (file.parent / ".xlalint-0123456789abcdef.tmp").write_bytes(b"half")
    write(str(file), NEW, OLD, str(file.parent))
    assert left_beside(file) == []
    assert file.read_bytes() == OLD


@pytest.mark.skipif(sys.platform == "win32", reason="no locks of this kind")
def test_what_another_run_is_writing_stays(file: Path) -> None:
    import fcntl

    busy = file.parent / ".xlalint-0123456789abcdef.tmp"
    with busy.open("wb") as stream:
        fcntl.flock(stream, fcntl.LOCK_EX)
        write(str(file), OLD, NEW, str(file.parent))
        assert left_beside(file) == [busy]
    write(str(file), NEW, OLD, str(file.parent))
    assert left_beside(file) == []


@pytest.mark.parametrize("name", [".xlalint-0123456789abcdef.tmp", ".xlalint-mine.tmp", "xlalint-0123456789abcdef.tmp"])
def test_nothing_else_of_such_a_name_is_removed(file: Path, tmp_path: Path, name: str) -> None:
    (tmp_path / "target").write_text("kept")
    if name == ".xlalint-0123456789abcdef.tmp":
        (file.parent / name).symlink_to(tmp_path / "target")
    else:
        (file.parent / name).write_text("kept")
    write(str(file), OLD, NEW, str(file.parent))
    assert (file.parent / name).read_text() == (tmp_path / "target").read_text() == "kept"


KILLED = """
import os, signal, sys
from xlalint.fixes.toolkit import writing
if sys.argv[3] == "named":
    del os.O_TMPFILE
os.fsync = lambda handle: os.kill(os.getpid(), signal.SIGKILL)
writing.write(sys.argv[1], open(sys.argv[1], "rb").read(), b"new", sys.argv[2])
"""


@pytest.mark.skipif(not hasattr(os, "O_TMPFILE"), reason="no files without a name here")
@pytest.mark.parametrize(("how", "left"), [("nameless", 0), ("named", 1)])
def test_killed_while_writing(file: Path, how: str, left: int) -> None:
    command = [sys.executable, "-c", KILLED, str(file), str(file.parent), how]
    assert subprocess.run(command, check=False).returncode == -signal.SIGKILL
    assert file.read_bytes() == OLD
    assert len(left_beside(file)) == left
    write(str(file), OLD, NEW, str(file.parent))
    assert left_beside(file) == []


@pytest.mark.skipif(not hasattr(os, "geteuid") or os.geteuid() != 0, reason="only root gives files away")
@pytest.mark.parametrize("mode", [0o644, 0o660, 0o4755])
def test_the_owner_stays(file: Path, mode: int) -> None:
    os.chown(file, 12345, 23456)
    file.chmod(mode)
    write(str(file), OLD, NEW, str(file.parent))
    told = file.stat()
    assert (told.st_uid, told.st_gid, told.st_mode & 0o7777) == (12345, 23456, mode)


@pytest.mark.skipif(not hasattr(os, "fchown"), reason="a system without owners")
@pytest.mark.parametrize(("mode", "after"), [(0o664, 0o644), (0o660, 0o600), (0o666, 0o666), (0o6775, 0o755)])
def test_a_group_that_cannot_be_kept_leaves_no_rights_to_another(
    file: Path, monkeypatch: pytest.MonkeyPatch, mode: int, after: int
) -> None:
    def refuse(*_: object) -> None:
        raise PermissionError

    file.chmod(mode)
    real = os.stat
    other = os.stat_result((*real(file)[:4], 12345, 23456, *real(file)[6:]))
    monkeypatch.setattr(os, "fchown", refuse)
    monkeypatch.setattr(os, "stat", lambda path, **more: other if path == str(file) else real(path, **more))
    write(str(file), OLD, NEW, str(file.parent))
    monkeypatch.undo()
    assert file.read_bytes() == NEW
    assert file.stat().st_mode & 0o7777 == after


@pytest.mark.skipif(not hasattr(os, "setxattr"), reason="a system without extended attributes")
def test_extended_attributes_stay(file: Path) -> None:
    try:
        os.setxattr(file, "user.note", b"kept")
    except OSError:
        pytest.skip("a file system without extended attributes")
    write(str(file), OLD, NEW, str(file.parent))
    assert os.getxattr(file, "user.note") == b"kept"
