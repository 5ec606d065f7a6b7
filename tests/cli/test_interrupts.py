"""Ctrl-C and its like: the process ends with the exit code that shells know, one line, no process of its own left, and no file torn.

Times are not looked at but for a limit at which a run counts as hung; `scripts/interrupts.py` measures.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from textwrap import dedent

import pytest

HUNG = 120
MODEL = """
    import torch
    from torch import nn


    class Model(nn.Module):
        def forward(self, x: torch.Tensor):
            x[x < 0] = 0
            return x
    """
FIXED = "x.masked_fill_(x < 0, 0)"


pytestmark = pytest.mark.usefixtures("heeds_signals")

# A run of many files whose second part, in the workers, tells that it has begun and goes on for ever.
STUCK = """\
import os, sys, time
from pathlib import Path
from xlalint.project import lowered

def stuck(*_):
    Path("begun").touch()
    while True:
        time.sleep(0.01)

lowered.lower_path = stuck
from xlalint.cli import run
run()
"""
# The same, but what interrupts is lost, as where a library catches everything.
DEAF = STUCK.replace(
    "    while True:\n        time.sleep(0.01)\n",
    "    while True:\n        try:\n            time.sleep(0.01)\n        except BaseException:\n            pass\n",
)
# Fixes are being written: the first file is whole, the second is not.
WRITING = """\
import os, sys, time
from pathlib import Path
from xlalint.fixes.toolkit import writing

written = os.replace
def replace(source, target):
    if target.endswith("m7.py"):
        Path("begun").touch()
        while True:
            time.sleep(0.01)
    written(source, target)

os.replace = replace
from xlalint.cli import run
run()
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "tree").mkdir()
    for number in range(40):
        (tmp_path / "tree" / f"m{number}.py").write_text(dedent(MODEL))
    return tmp_path


@contextmanager
def begun(folder: Path, program: str, *arguments: str, number: int = signal.SIGINT) -> Iterator[subprocess.Popen[str]]:
    """A run that has come to the point where it waits."""
    started = subprocess.Popen(
        [sys.executable, "-c", program, *arguments],
        cwd=folder,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
        preexec_fn=lambda: signal.signal(number, signal.SIG_DFL) and None,
    )
    try:
        _until(lambda: (folder / "begun").exists() or started.poll() is not None)
        yield started
    finally:
        if started.poll() is None:
            os.killpg(started.pid, signal.SIGKILL)
        started.communicate()


def _until(happened: object) -> None:
    for _ in range(HUNG * 100):
        if happened():  # type: ignore[operator]
            return
        time.sleep(0.01)
    raise AssertionError("nothing has happened")


def _gone(group: int) -> bool:
    try:
        os.killpg(group, 0)
    except ProcessLookupError:
        return True
    return False


CHECK = ("check", "tree", "--isolated", "--no-cache", "--target", "torch_xla")


@pytest.mark.parametrize("jobs", ["1", "3"])
@pytest.mark.parametrize("program", [STUCK, DEAF], ids=["stuck", "deaf"])
@pytest.mark.parametrize(
    ("number", "everybody", "code", "words"),
    [
        pytest.param(signal.SIGINT, False, 130, "interrupted", id="ctrl-c"),
        pytest.param(signal.SIGINT, True, 130, "interrupted", id="ctrl-c-of-a-terminal"),
        pytest.param(signal.SIGTERM, False, 143, "ended by SIGTERM", id="sigterm"),
        pytest.param(signal.SIGHUP, True, 129, "ended by SIGHUP", id="a-terminal-that-is-closed"),
    ],
)
def test_a_run_that_would_go_on_for_ever_ends(
    folder: Path, program: str, jobs: str, number: int, everybody: bool, code: int, words: str
) -> None:
    with begun(folder, program, *CHECK, "-j", jobs, number=number) as started:
        (os.killpg if everybody else os.kill)(started.pid, number)
        out, err = started.communicate(timeout=HUNG)
        assert (started.returncode, out, err) == (code, "", f"xlalint: {words}\n")
        _until(lambda: _gone(started.pid))


@pytest.mark.parametrize("program", [STUCK, DEAF], ids=["stuck", "deaf"])
def test_two_are_as_good_as_one(folder: Path, program: str) -> None:
    with begun(folder, program, *CHECK, "-j", "3") as started:
        started.send_signal(signal.SIGINT)
        started.send_signal(signal.SIGINT)
        _, err = started.communicate(timeout=HUNG)
        assert (started.returncode, err) == (130, "xlalint: interrupted\n")
        _until(lambda: _gone(started.pid))


TELLING = """
import os, signal, sys
from xlalint import interrupts

interrupts.heed()
try:
    signal.raise_signal(signal.SIGINT)
except KeyboardInterrupt:
    with interrupts.tell():
        signal.raise_signal(signal.SIGINT)
        os.write(2, f"xlalint: {interrupts.reason()}\\n".encode())
signal.raise_signal(signal.SIGINT)
"""


def test_a_second_one_does_not_cut_off_what_is_said_of_the_first() -> None:
    done = subprocess.run([sys.executable, "-c", TELLING], capture_output=True, text=True, timeout=HUNG)
    assert (done.returncode, done.stdout, done.stderr) == (130, "", "xlalint: interrupted\n")


FINALIZED = """
import signal, time
from xlalint import interrupts

class Held:
    def __del__(self):
        signal.raise_signal(signal.SIGINT)

interrupts.heed()
held = Held()
del held
time.sleep(60)
"""


def test_one_that_comes_in_a_finalizer_ends_the_run_without_a_traceback() -> None:
    done = subprocess.run([sys.executable, "-c", FINALIZED], capture_output=True, text=True, timeout=HUNG)
    assert (done.returncode, done.stdout, done.stderr) == (130, "", "xlalint: interrupted\n")


def test_workers_end_with_a_run_that_is_killed(folder: Path) -> None:
    with begun(folder, STUCK, *CHECK, "-j", "3") as started:
        started.kill()
        started.communicate(timeout=HUNG)
        _until(lambda: _gone(started.pid))


def test_a_file_that_is_being_written_is_old_or_new(folder: Path) -> None:
    with begun(folder, WRITING, *CHECK, "--fix", "-j", "1") as started:
        started.send_signal(signal.SIGINT)
        _, err = started.communicate(timeout=HUNG)
        assert (started.returncode, err) == (130, "xlalint: interrupted\n")
    files = {path.name: path.read_text() for path in (folder / "tree").iterdir()}
    assert len(files) == 40
    fixed = {name for name, text in files.items() if FIXED in text}
    assert fixed == {name for name in files if name < "m7.py"}
    assert all(text == dedent(MODEL) for name, text in files.items() if name not in fixed)


def test_what_is_ignored_stays_ignored(folder: Path) -> None:
    """`nohup xlalint check &` goes on when the terminal is closed."""
    program = STUCK.replace(
        "    while True:\n        time.sleep(0.01)\n", "    time.sleep(0.2)\n    raise OSError('done')\n"
    )
    ignoring = f"import signal\nsignal.signal(signal.SIGHUP, signal.SIG_IGN)\n{program}"
    with begun(folder, ignoring, *CHECK, "-j", "1") as started:
        started.send_signal(signal.SIGHUP)
        _, err = started.communicate(timeout=HUNG)
        assert (started.returncode, err) == (
            2,
            "xlalint: internal error: OSError: done (set XLALINT_DEBUG=1 to see where)\n",
        )


@pytest.mark.parametrize(
    ("closed", "code"),
    [pytest.param((1,), 1, id="stdout"), pytest.param((1, 2), 1, id="both"), pytest.param((0, 1, 2), 1, id="all")],
)
def test_streams_that_were_closed_are_no_error(folder: Path, closed: tuple[int, ...], code: int) -> None:
    def close() -> None:
        for number in closed:
            os.close(number)

    command = [sys.executable, "-m", "xlalint", *CHECK, "--cache-dir", "c"]
    command.remove("--no-cache")
    done = subprocess.run(command, cwd=folder, capture_output=True, preexec_fn=close, timeout=HUNG, check=False)
    assert (done.returncode, done.stdout, done.stderr) == (code, b"", b"")
    again = subprocess.run(command, cwd=folder, capture_output=True, timeout=HUNG, check=False)
    assert (again.returncode, again.stderr) == (1, b"")


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="this system has no device that is always full")
def test_a_full_disk_is_told_as_such(folder: Path) -> None:
    with Path("/dev/full").open("w") as full:
        done = subprocess.run(
            [sys.executable, "-m", "xlalint", *CHECK], cwd=folder, stdout=full, stderr=subprocess.PIPE, check=False
        )
    assert (done.returncode, done.stderr) == (
        2,
        b"xlalint: the output cannot be written: No space left on device\n",
    )
