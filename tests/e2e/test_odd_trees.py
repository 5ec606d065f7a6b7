"""Trees in which not everything is a file, and machines on which not everything can be written: a report and the right exit code, soon."""

from __future__ import annotations

import json
import os
import shutil
import socket
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import msgspec
import pytest

COMMAND = str(Path(sys.executable).parent / "xlalint")
HANGS = 120.0  # seconds; every one of these runs takes one or two on a machine that has nothing else to do
FORMATS = ("full", "concise", "json", "json-lines", "sarif", "github", "gitlab", "junit", "rdjson", "markdown", "html")

pytestmark = pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="a system without named pipes")


def run(
    folder: Path, *arguments: str, prefix: tuple[str, ...] = (), **variables: str
) -> subprocess.CompletedProcess[bytes]:
    """`xlalint check` in a folder, with the cache that it has of itself."""
    command = [*prefix, COMMAND, "check", "--output-format", "json", *arguments]
    environment = {**os.environ, **variables}
    done = subprocess.run(command, cwd=folder, capture_output=True, timeout=HANGS, check=False, env=environment)
    assert b"Traceback" not in done.stderr, done.stderr
    assert b"internal error" not in done.stderr, done.stderr
    return done


def places(done: subprocess.CompletedProcess[bytes]) -> list[tuple[str, str]]:
    return [(Path(found["filename"]).name, found["code"]) for found in msgspec.json.decode(done.stdout)]


@pytest.fixture
def project(tmp_path: Path, model: str) -> Path:
    folder = tmp_path / "project"
    folder.mkdir()
    (folder / "m.py").write_text(model)
    return folder


def pipe(file: Path) -> None:
    os.mkfifo(file)


def listening(file: Path) -> None:
    here = Path.cwd()
    os.chdir(file.parent)  # names of sockets are short
    try:
        with socket.socket(socket.AF_UNIX) as made:
            made.bind(file.name)
    finally:
        os.chdir(here)


def endless(file: Path) -> None:
    file.symlink_to("/dev/zero")


def linked_pipe(file: Path) -> None:
    if not (file.parent / "the-pipe").exists():
        os.mkfifo(file.parent / "the-pipe")
    file.symlink_to("the-pipe")


def looping(file: Path) -> None:
    file.symlink_to(file.name)


ODD = {"pipe": pipe, "socket": listening, "endless-device": endless, "link-to-a-pipe": linked_pipe, "loop": looping}
NAMES = ("x.py", "x.ipynb", "x.yaml", "x.json", ".gitignore", "pyproject.toml", "xlalint.toml", "xlalint-baseline.json")


@pytest.mark.parametrize("make", ODD.values(), ids=ODD)
def test_what_is_no_file_is_passed_over_in_a_folder(project: Path, make: Callable[[Path], None]) -> None:
    for name in NAMES:
        make(project / name)
    done = run(project)
    assert [place for place in places(done) if place[1] != "XLA002"] == [("m.py", "XLA101")]
    assert done.returncode == 1


@pytest.mark.parametrize("make", ODD.values(), ids=ODD)
def test_what_is_no_file_is_reported_where_it_is_named(project: Path, make: Callable[[Path], None]) -> None:
    named = ["x.py", "x.ipynb", "x.yaml"]
    for name in named:
        make(project / name)
    done = run(project, "m.py", *named)
    assert sorted(places(done)) == [("m.py", "XLA101"), *((name, "XLA002") for name in sorted(named))]
    assert done.returncode == 1


@pytest.mark.parametrize("make", [pipe, endless])
@pytest.mark.parametrize(
    "option", ["--config", "--baseline", "rules-folder", "tables", "page"], ids=lambda name: name.strip("-")
)
def test_what_is_no_file_cannot_configure(project: Path, make: Callable[[Path], None], option: str) -> None:
    (project / "rules").mkdir()
    name = {"tables": "own.toml", "page": "rules/XLA101.md"}.get(option, "odd")
    make(project / name)
    if option.startswith("--"):
        done = run(project, option, name)
    else:
        place = {"rules-folder": name, "tables": name, "page": "rules"}[option]
        (project / "xlalint.toml").write_text(f"extend-rules = [{place!r}]\n")
        done = run(project)
    assert done.returncode == 2
    assert len(done.stderr.splitlines()) == 1
    assert name in done.stderr.decode()


NOT_UTF8 = (b"b\xff.py", b"\x80\xfe.py", b"p\xffkg/__init__.py", b"p\xffkg/m\x81.py", b"new\nline.py", b"\x1b[2J.py")


def odd_names(folder: Path, model: str, more: int = 0) -> int:
    """Files with names of any bytes; how many."""
    names = [*NOT_UTF8, *(b"m%d\xff.py" % number for number in range(more)), b"nb\xff.ipynb"]
    cell = {"cell_type": "code", "source": [model], "metadata": {}, "outputs": [], "execution_count": 1}
    notebook = json.dumps({"cells": [cell], "metadata": {}, "nbformat": 4, "nbformat_minor": 4})
    try:
        Path(folder, os.fsdecode(b"p\xffkg")).mkdir()
        for name in names:
            Path(folder, os.fsdecode(name)).write_text(notebook if name.endswith(b"ipynb") else model)
    except OSError:
        pytest.skip("a file system that has only names in UTF-8")
    return len(names)


def test_names_of_any_bytes(project: Path, model: str) -> None:
    number = odd_names(project, model, 40)  # enough that processes share the work
    cold, warm, bare = run(project, "-j", "2"), run(project), run(project, "-j", "1", "--no-cache")
    assert cold.stdout == warm.stdout == bare.stdout
    assert [code for _, code in places(cold)] == ["XLA101"] * (number + 1)
    assert {"b\\xff.py", "m7\\xff.py", "nb\\xff.ipynb"} < {name for name, _ in places(cold)}
    assert (cold.returncode, cold.stderr, warm.stderr) == (1, b"", b"")


@pytest.mark.parametrize("form", FORMATS)
def test_names_of_any_bytes_in_every_format(project: Path, model: str, form: str) -> None:
    odd_names(project, model)
    done = run(project, "--output-format", form)
    assert done.returncode == 1
    text = done.stdout.decode()
    assert ("b%FF.py" if form == "sarif" else "b\\xff.py") in text.replace("\\\\", "\\")
    assert "\x1b[2J" not in text
    if form in ("json", "sarif", "gitlab", "rdjson"):
        msgspec.json.decode(text)  # which takes no lone surrogate


def test_names_of_any_bytes_are_fixed(project: Path, model: str) -> None:
    odd_names(project, model)
    done = run(project, "--fix", "--unsafe-fixes")
    assert (done.returncode, places(done)) == (0, [])
    assert "torch.where" in Path(project, os.fsdecode(b"b\xff.py")).read_text()


def test_a_project_in_a_folder_whose_name_is_not_utf8(tmp_path: Path, model: str) -> None:
    folder = Path(tmp_path, os.fsdecode(b"f\xff"))
    folder.mkdir()
    (folder / "m.py").write_text(model)
    (folder / "xlalint.toml").write_text('per-file-ignores = { "gone.py" = ["XLA101"] }\n')
    cold, warm = run(folder), run(folder)
    assert places(cold) == [("m.py", "XLA101")]
    assert (cold.stdout, cold.stderr, cold.returncode) == (warm.stdout, warm.stderr, warm.returncode)


def test_folders_as_deep_as_they_go(project: Path, model: str) -> None:
    here = os.open(project, os.O_RDONLY)
    depth = 0
    try:
        while depth < 2_500:  # more than a path may have
            os.mkdir("d", dir_fd=here)
            inner = os.open("d", os.O_RDONLY, dir_fd=here)
            os.close(here)
            here, depth = inner, depth + 1
            if depth in (1_000, 1_900):
                file = os.open("deep.py", os.O_WRONLY | os.O_CREAT, dir_fd=here)
                os.write(file, model.encode())
                os.close(file)
        done = run(project)
    finally:
        os.close(here)
        subprocess.run(["rm", "-rf", str(project / "d")], check=True)
    assert [place for place in places(done) if place[1] == "XLA101"] == [
        ("deep.py", "XLA101"),
        ("deep.py", "XLA101"),
        ("m.py", "XLA101"),
    ]
    assert done.returncode == 1
    # What lies deeper than a path may be long is told of, and nothing else is wrong.
    assert [code for _, code in places(done) if code != "XLA101"] == ["XLA002"]


def test_loops_of_folders(project: Path) -> None:
    (project / "a").mkdir()
    (project / "a" / "up").symlink_to(project)
    (project / "a" / "b").symlink_to("c")
    (project / "a" / "c").symlink_to("b")
    done = run(project, ".", "a/up")
    assert [place[1] for place in places(done)] == [
        "XLA101",
        "XLA101",
    ]  # the loop was named, so it is a folder of its own
    assert done.returncode == 1


SMALL = "import resource, os, sys; resource.setrlimit(resource.RLIMIT_FSIZE, (4096, 4096)); os.execv(sys.argv[1], sys.argv[1:])"


def test_a_cache_that_may_not_grow(project: Path, model: str) -> None:
    for number in range(30):
        (project / f"m{number}.py").write_text(model)
    expected = run(project, "--no-cache")
    for _ in range(2):
        done = run(project, prefix=(sys.executable, "-c", SMALL))
        assert (done.returncode, done.stdout) == (1, expected.stdout)
    assert run(project).stdout == expected.stdout


def test_a_full_disk(project: Path, model: str, tmp_path: Path) -> None:
    for number in range(30):
        (project / f"m{number}.py").write_text(model * 20)
    expected = run(project, "--no-cache")
    disk = tmp_path / "disk"
    disk.mkdir()
    script = f'mount -t tmpfs -o size=64k none "{disk}" && shift 0 && exec "$@"'
    prefix = ("unshare", "-rm", "sh", "-c", script, "sh")
    if (
        shutil.which("unshare") is None
        or subprocess.run([*prefix, "true"], capture_output=True, check=False).returncode
    ):
        pytest.skip("file systems cannot be mounted here")
    done = run(project, "--cache-dir", str(disk / "cache"), prefix=prefix)
    assert (done.returncode, done.stdout) == (1, expected.stdout)


def test_a_project_that_cannot_be_written(project: Path) -> None:
    script = (
        f'mount --bind "{project}" "{project}" && mount -o remount,bind,ro "{project}" && cd "{project}" && exec "$@"'
    )
    prefix = ("unshare", "-rm", "sh", "-c", script, "sh")
    if (
        shutil.which("unshare") is None
        or subprocess.run([*prefix, "true"], capture_output=True, check=False).returncode
    ):
        pytest.skip("file systems cannot be mounted here")
    done = run(project, prefix=prefix)
    assert (places(done), done.returncode) == ([("m.py", "XLA101")], 1)
    assert done.stderr.decode().splitlines() == [
        f"xlalint: warning: no cache: `{project}/.xlalint_cache`: Read-only file system"
    ]
    fixing = run(project, "--fix", "--unsafe-fixes", prefix=prefix)
    assert fixing.returncode == 2
    assert "is not fixed" in fixing.stderr.decode()


LARGE = {"string": b"x = '" + b"a" * 5_000_000 + b"'\n", "list": b"x = [" + b"1," * 2_500_000 + b"]\n"}


@pytest.mark.parametrize("raw", LARGE.values(), ids=LARGE)
@pytest.mark.parametrize("name", ["large.py", "large.ipynb"])
def test_a_file_that_is_too_large(project: Path, raw: bytes, name: str) -> None:
    (project / name).write_bytes(raw)
    cold, warm = run(project), run(project)
    assert sorted(places(cold)) == [(name, "XLA004"), ("m.py", "XLA101")]
    assert (cold.returncode, cold.stdout) == (1, warm.stdout)
    told = run(project, "--output-format", "concise").stdout.decode()
    assert "its 5 MB are more than `max-file-size` allows (5 MB)" in told
    assert "Found 2 warnings in 2 files (1 checked, 1 too large)." in told


def test_the_limit_holds_whatever_an_earlier_run_was_allowed(project: Path, model: str) -> None:
    (project / "n.py").write_text(model + "# more\n" * 1000)
    both = [("m.py", "XLA101"), ("n.py", "XLA101")]
    for limit, expected in (("5MB", both), ("1kB", [("m.py", "XLA101"), ("n.py", "XLA004")]), ("1 MB", both)):
        assert places(run(project, "--max-file-size", limit)) == expected
    assert places(run(project, "--max-file-size", "1kB", "--ignore", "XLA004")) == [("m.py", "XLA101")]


def test_standard_input_has_the_limit_too(project: Path) -> None:
    done = subprocess.run(
        [COMMAND, "check", "--isolated", "--output-format", "json", "--max-file-size", "10", "-"],
        input=b"x = 1 + 1 + 1\n",
        cwd=project,
        capture_output=True,
        timeout=HANGS,
        check=False,
    )
    assert (done.returncode, places(done)) == (1, [("-", "XLA004")])
