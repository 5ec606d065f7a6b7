"""`xlalint run` runs a script as Python would: streams, arguments, exit codes and signals; nothing of it is left."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

RUN = [sys.executable, "-m", "xlalint", "run", "--isolated", "--no-cache"]
Start = Callable[..., "subprocess.Popen[str]"]


@pytest.fixture
def start(tmp_path: Path) -> Start:
    def start(text: str, *arguments: str, before: tuple[str, ...] = ()) -> subprocess.Popen[str]:
        (tmp_path / "train.py").write_text(text)
        command = [*RUN, *before, *(arguments or ("train.py",))]
        pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
        return subprocess.Popen(command, cwd=tmp_path, text=True, **pipes)  # type: ignore[call-overload,no-any-return]

    return start


def told(child: subprocess.Popen[str], given: str = "") -> tuple[int, str, str]:
    out, err = child.communicate(given, timeout=60)
    return child.returncode, out, err


def test_arguments_and_streams(start: Start, tmp_path: Path) -> None:
    text = "import sys; print(sys.argv, sys.path[0], __name__, __file__, input()); print('oops', file=sys.stderr)"
    code, out, err = told(start(text, "train.py", "--output-format", "x", "-m"), "hello\n")
    assert code == 0
    assert out == f"['train.py', '--output-format', 'x', '-m'] {tmp_path} __main__ train.py hello\n"
    assert err.startswith("oops\n")
    assert "train.py ran 0 steps in " in err
    assert "It imported no framework that compiles for XLA" in err


def test_module(start: Start, tmp_path: Path) -> None:
    package = tmp_path / "work"
    package.mkdir()
    (package / "__init__.py").touch()
    (package / "__main__.py").write_text("import sys; print(sys.argv, sys.path[0], __package__)")
    code, out, _ = told(start("", "-m", "work", "7"))
    assert (code, out) == (0, f"['{package / '__main__.py'}', '7'] {tmp_path} work\n")


@pytest.mark.parametrize(
    ("text", "code"),
    [
        ("raise SystemExit", 0),
        ("raise SystemExit(5)", 5),
        ("raise SystemExit('no data')", 1),
        ("import os; os._exit(6)", 6),
        ("1 / 0", 1),
        ("def f(:", 1),
        ("import os; os.abort()", 128 + signal.SIGABRT),
        ("import nothing_of_that_name", 1),
    ],
)
def test_exit_codes(start: Start, text: str, code: int) -> None:
    left, _, err = told(start(text))
    assert left == code
    assert ("was killed by signal 6" if code > 128 else f"exit code {code}.") in err


def test_tracebacks_are_the_scripts(start: Start, tmp_path: Path) -> None:
    _, _, err = told(start("def f():\n    1 / 0\nf()\n"))
    plain = subprocess.run([sys.executable, "train.py"], cwd=tmp_path, capture_output=True, text=True).stderr
    frames = [line.strip() for line in err.splitlines() if line.startswith("  File")]
    assert frames == [
        line.strip().replace(f"{tmp_path}/", "") for line in plain.splitlines() if line.startswith("  File")
    ]


def test_a_script_that_is_not_there(start: Start) -> None:
    code, _, err = told(start("", "other.py"))
    assert code == 2
    assert "`other.py` does not exist; for a module say `xlalint run -m other.py`" in err


def test_json_is_the_last_line(start: Start) -> None:
    _, out, _ = told(start("print('hi')", before=("--output-format", "json")))
    said = json.loads(out.splitlines()[-1])
    assert (said["script"], said["exit_code"], said["ended"], said["steps"]) == ("train.py", 0, True, [])
    assert out.startswith("hi\n")


def test_text_in_a_file(start: Start, tmp_path: Path) -> None:
    _, _, err = told(start("", before=("--output-file", "said.txt")))
    assert err == ""
    assert (tmp_path / "said.txt").read_text().startswith("train.py ran 0 steps in ")


WAITING = """
import signal, sys, time
def stop(number, frame):
    print("caught", number, flush=True)
    {act}
signal.signal(signal.SIGINT, stop)
print("ready", flush=True)
time.sleep(60)
"""


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_signals_are_passed_on(start: Start, number: int) -> None:
    child = start(WAITING.replace("SIGINT", signal.Signals(number).name).format(act="sys.exit(3)"))
    assert child.stdout is not None
    assert child.stdout.readline() == "ready\n"
    child.send_signal(number)
    code, out, err = told(child)
    assert (code, out) == (3, f"caught {number}\n")
    assert "exit code 3." in err


def test_the_third_interrupt_kills(start: Start) -> None:
    child = start(WAITING.format(act="pass"))
    assert child.stdout is not None
    child.stdout.readline()
    for _ in range(2):
        child.send_signal(signal.SIGINT)
        assert child.stdout.readline() == "caught 2\n"
    child.send_signal(signal.SIGINT)
    code, _, err = told(child)
    assert code == 128 + signal.SIGKILL
    assert "was killed by signal 9" in err


def test_nothing_is_left_of_a_script(start: Start, tmp_path: Path) -> None:
    text = """
import subprocess, sys
child = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(60)"])
print(child.pid)
"""
    code, out, _ = told(start(text))
    assert code == 0
    deadline = time.monotonic() + 10
    while _alive(int(out)) and time.monotonic() < deadline:
        time.sleep(0.02)
    assert not _alive(int(out))


def _alive(process: int) -> bool:
    try:
        return Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


def test_forks_record_nothing(tmp_path: Path, fakexla: Any) -> None:
    from xlalint.verify.recording import Recorder, read_recording

    ended: list[Any] = []
    recorder = Recorder(tmp_path / "steps", lambda name, step, note: ended.append(step))
    recorder.begin("train.py")
    fakexla.compile()
    ended[0]("train")
    child = os.fork()
    if not child:
        ended[0]("train")
        os._exit(0)
    os.waitpid(child, 0)
    fakexla.item()
    recorder.end()
    recording = read_recording(tmp_path / "steps", 0, 1.0)
    assert [(step.number, step.name, step.counts.compilations) for step in recording.steps] == [(0, "train", 1)]
    assert recording.rest is not None and recording.rest.counts.transfers == 1
    assert (recording.main, recording.frameworks, recording.ended) == ("train.py", ("fakexla",), True)


def test_a_record_that_was_cut_off(tmp_path: Path, fakexla: Any) -> None:
    from xlalint.verify.recording import Recorder, read_recording

    recorder = Recorder(tmp_path / "steps", lambda name, step, note: None)
    recorder.begin("train.py")
    fakexla.compile()
    recorder.step("train")
    recorder.end()
    whole = (tmp_path / "steps").read_bytes()
    ends = [number for number, byte in enumerate(whole) if byte == ord("\n")]
    # The last line names every file that was imported: each of its bytes would be one more file to write.
    for size in sorted({0, len(whole), *range(0, len(whole), 97), *(end + n for end in ends for n in (-1, 0, 1))}):
        (tmp_path / "steps").write_bytes(whole[:size])
        recording = read_recording(tmp_path / "steps", -9, 1.0)
        assert recording.ended is (size == len(whole))
        assert len(recording.steps) == (whole[:size].count(b"\n") >= 2)
