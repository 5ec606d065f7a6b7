"""Only regular files are opened, and no more is read than is wanted."""

from __future__ import annotations

import contextlib
import os
import stat
from pathlib import Path

import pytest

from xlalint.source import files
from xlalint.source.files import NotRegularError, TooLargeError, read_file, read_text, shown_name, shown_size


@pytest.mark.parametrize("size", [0, 1, 4095, 4096, 4097, 100_000])
def test_a_file_is_read_whole(tmp_path: Path, size: int) -> None:
    (tmp_path / "f").write_bytes(os.urandom(size))
    assert read_file(tmp_path / "f") == read_file(tmp_path / "f", size) == (tmp_path / "f").read_bytes()


@pytest.mark.parametrize("size", [1, 10, 100_000])
def test_a_file_of_one_byte_too_many(tmp_path: Path, size: int) -> None:
    (tmp_path / "f").write_bytes(bytes(size))
    with pytest.raises(TooLargeError, match="larger than") as caught:
        read_file(tmp_path / "f", size - 1)
    assert caught.value.size == size


@pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="no /proc")
def test_a_file_that_says_it_is_empty() -> None:
    assert Path("/proc/self/status").stat().st_size == 0
    assert b"Pid:" in read_file("/proc/self/status")
    with pytest.raises(TooLargeError):
        read_file("/proc/self/status", 10)


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="a system without named pipes")
def test_a_pipe_that_took_the_place_of_a_file_is_not_waited_for(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "f").write_text("")
    before = (tmp_path / "f").stat()
    (tmp_path / "f").unlink()
    os.mkfifo(tmp_path / "f")
    monkeypatch.setattr(files.os, "stat", lambda _: before)
    with pytest.raises(NotRegularError, match="named pipe"):
        read_file(tmp_path / "f")


@pytest.mark.parametrize(("place", "kind"), [("/dev/null", "device"), ("/dev/zero", "device")])
@pytest.mark.skipif(not Path("/dev/zero").exists(), reason="no devices")
def test_a_device_is_not_opened(monkeypatch: pytest.MonkeyPatch, place: str, kind: str) -> None:
    def opened(*_: object) -> int:
        raise AssertionError("opened")

    assert stat.S_ISCHR(Path(place).stat().st_mode)
    monkeypatch.setattr(files.os, "open", opened)
    with pytest.raises(NotRegularError, match=kind):
        read_file(place)


def test_a_folder_and_nothing(tmp_path: Path) -> None:
    with pytest.raises(IsADirectoryError):
        read_file(tmp_path)
    with pytest.raises(FileNotFoundError):
        read_file(tmp_path / "nothing")


def test_no_handle_is_left_open(tmp_path: Path) -> None:
    (tmp_path / "f").write_bytes(bytes(100))
    before = os.open(tmp_path / "f", os.O_RDONLY)
    os.close(before)
    for limit in (1000, 10):
        with contextlib.suppress(TooLargeError):
            read_file(tmp_path / "f", limit)
    after = os.open(tmp_path / "f", os.O_RDONLY)
    os.close(after)
    assert after == before


@pytest.mark.parametrize(
    ("raw", "text"), [(b"a\r\nb\rc\n", "a\nb\nc\n"), (b"\xef\xbb\xbfa", "a"), (b"", "")], ids=["ends", "bom", "empty"]
)
def test_text(tmp_path: Path, raw: bytes, text: str) -> None:
    (tmp_path / "f").write_bytes(raw)
    assert read_text(tmp_path / "f") == text


@pytest.mark.parametrize(
    ("size", "shown"),
    [(1, "1 byte"), (999, "999 bytes"), (5_000_000, "5 MB"), (1_500, "1.5 kB"), (10**9, "1 GB"), (30_000_007, "30 MB")],
)
def test_sizes_as_people_write_them(size: int, shown: str) -> None:
    assert shown_size(size) == shown


@pytest.mark.parametrize(
    ("name", "shown"),
    [("a.py", "a.py"), ("é.py", "é.py"), ("b\udcff.py", "b\\xff.py"), ("\ud800é", "\\ud800é"), ("\\xff", "\\xff")],
)
def test_names_that_are_not_utf8(name: str, shown: str) -> None:
    assert shown_name(name) == shown
