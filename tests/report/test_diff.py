"""Patches that `patch` and `git apply` take, whatever the file's encoding, line ends and name are."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

import pytest

from xlalint.report.diff import patch
from xlalint.report.view import View

TEXT = "# -*- coding: {} -*-\n# {}\nimport torch\n\n\ndef f(x):\n    return x  # {}\n"
ENCODINGS = {
    "latin-1": "é ü",
    "cp1252": "€ …",
    "shift_jis": "日本語 表",
    "euc-jp": "日本語",
    "gb18030": "中文 😀",
    "utf-8": "é 日 😀",
    "utf-8-sig": "é",
    "latin-1-unix": "é",
}
ENDS = {"lf": "\n", "crlf": "\r\n", "cr": "\r"}
COMMANDS = {
    "patch": ["patch", "-p0", "--no-backup-if-mismatch", "-F0"],
    "git": ["git", "apply", "-p0", "--unidiff-zero", "--whitespace=nowarn"],
}


def view(folder: Path) -> View:
    return View(str(folder), colour=False, text_of=lambda _: None)


def applied(folder: Path, name: str, before: bytes, after: bytes, tool: str) -> bytes:
    """What a file is after its patch was applied."""
    if shutil.which(tool) is None:
        pytest.skip(f"{tool} is not installed")
    file = Path(folder, name)
    file.write_bytes(before)
    made = patch(str(file), before, after, view(folder))
    environment = {**os.environ, "GIT_CEILING_DIRECTORIES": str(folder.parent)}
    done = subprocess.run(
        COMMANDS[tool], input=made, cwd=folder, capture_output=True, check=False, timeout=60, env=environment
    )
    assert done.returncode == 0, (made, done)
    return file.read_bytes()


@pytest.mark.parametrize("tool", COMMANDS)
@pytest.mark.parametrize("end", ENDS.values(), ids=ENDS)
@pytest.mark.parametrize(("encoding", "words"), ENCODINGS.items(), ids=ENCODINGS)
def test_a_patch_can_be_applied(tmp_path: Path, encoding: str, words: str, end: str, tool: str) -> None:
    codec = "latin-1" if encoding == "latin-1-unix" else encoding
    before = TEXT.format(encoding, words, words).replace("\n", end).encode(codec)
    after = before.replace(b"return x", b"return -x")
    assert applied(tmp_path, "a.py", before, after, tool) == after != before


@pytest.mark.parametrize("tool", COMMANDS)
@pytest.mark.parametrize("before", [b"x = 1", b"x = 1\n", b"\x0cx = 1\n\x85y\n", b"x = 1\r\ny\rz\n"])
@pytest.mark.parametrize("after", [b"x = 2", b"x = 2\n"])
def test_the_end_of_the_file_and_odd_line_ends(tmp_path: Path, before: bytes, after: bytes, tool: str) -> None:
    assert applied(tmp_path, "a.py", before, after, tool) == after


@pytest.mark.parametrize("tool", COMMANDS)
@pytest.mark.parametrize(
    "name", ["a b.py", "é.py", "b\udcff.py", 'quo"te.py', "back\\slash.py", "new\nline.py", "tab\tbed.py"]
)
def test_a_patch_of_a_file_of_any_name(tmp_path: Path, name: str, tool: str) -> None:
    try:
        Path(tmp_path, name).touch()
    except OSError:
        pytest.skip("a file system that has no such names")
    assert applied(tmp_path, name, b"x = 1\n", b"x = 2\n", tool) == b"x = 2\n"


def test_no_difference_is_no_patch(tmp_path: Path) -> None:
    assert patch(str(tmp_path / "a.py"), b"x\n", b"x\n", view(tmp_path)) == b""
