"""Children that hang, crash, print, fork and eat memory: each gets a clear verdict, and nothing of them is left."""

from __future__ import annotations

import importlib.util
import math
import os
import signal
import subprocess
import sys
import textwrap
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from xlalint.verify.isolation import Ended, IsolationError, Limits, run

pytestmark = pytest.mark.skipif(importlib.util.find_spec("psutil") is None, reason="psutil is not installed")

SEND = """\
import os, sys, signal, time, subprocess
def send(text, descriptor=int(os.environ["XLALINT_MESSAGES"])):
    raw = text.encode()
    os.write(descriptor, len(raw).to_bytes(4, "big") + raw)
"""
DAEMON = """\
there, here = os.pipe()
pid = os.fork()
if pid == 0:
    os.setsid()
    if os.fork() == 0:
        send(str(os.getpid()))
        os.write(here, b".")
        time.sleep(600)
    os._exit(0)
os.waitpid(pid, 0)
os.read(there, 1)
"""


@pytest.fixture
def child(tmp_path: Path) -> Iterator[Callable[..., Ended]]:
    """Runs the text of a child, and sees to it afterwards that no process that holds the test's mark is left."""
    mark = f"XLALINT_TEST_{os.getpid()}_{tmp_path.name}"

    def call(text: str, seconds: float = 60, memory: int = 4 << 30, silence: float = math.inf, **told: object) -> Ended:
        command = [sys.executable, "-c", SEND + textwrap.dedent(text)]
        return run(command, limits=Limits(seconds, memory, silence), env={mark: "1"}, **told)  # type: ignore[arg-type]

    yield call
    assert not marked(mark)


def marked(mark: str) -> list[str]:
    """The processes whose environment holds a mark, zombies not being able to tell theirs."""
    import psutil

    found = []
    for process in psutil.process_iter():
        try:
            if mark in process.environ():
                found.append(" ".join(process.cmdline()))
        except psutil.Error:
            continue
    return found


@pytest.mark.parametrize(
    ("text", "kind", "reason"),
    [
        ("pass", "finished", ""),
        ("raise SystemExit(3)", "crashed", "left with exit code 3"),
        ("os._exit(7)", "crashed", "left with exit code 7"),
        ("1 / 0", "crashed", "left with exit code 1"),
        ("os.kill(os.getpid(), signal.SIGSEGV)", "crashed", "was killed by SIGSEGV"),
        ("os.abort()", "crashed", "was killed by SIGABRT"),
        ("os.kill(os.getpid(), 9)", "crashed", "was killed by SIGKILL (by hand, or by the system for lack of memory)"),
    ],
)
def test_ends(child: Callable[..., Ended], text: str, kind: str, reason: str) -> None:
    ended = child(f"send('begun')\n{text}")
    assert (ended.kind, ended.reason) == (kind, reason)
    assert ended.messages == (b"begun",)


@pytest.mark.parametrize(
    "text",
    [
        "time.sleep(600)",
        "while True: pass",
        "for number in range(1, 32):\n"
        "    if number not in (9, 19): signal.signal(number, signal.SIG_IGN)\n"
        "time.sleep(600)",
        "os.kill(os.getpid(), signal.SIGSTOP)",
        "os.close(1); os.close(2); time.sleep(600)",
        "subprocess.run(['sleep', '600'])",
    ],
    ids=["sleeps", "spins", "ignores signals", "stops itself", "closes its output", "waits for a child"],
)
def test_one_that_hangs_is_ended(child: Callable[..., Ended], text: str) -> None:
    ended = child(text, seconds=1)
    assert (ended.kind, ended.reason) == ("timed-out", "did not end within 1 s")


@pytest.mark.parametrize(
    "text",
    ["time.sleep(600)", "while True: print('x', flush=True)", "send('one')\nos.kill(os.getpid(), signal.SIGSTOP)"],
    ids=["sleeps", "prints", "stops after a message"],
)
def test_one_that_tells_nothing_more_is_ended(child: Callable[..., Ended], text: str) -> None:
    ended = child(text, silence=2)
    assert (ended.kind, ended.reason) == ("timed-out", "did not get on for 2 s")


def test_one_that_tells_something_now_and_then_is_not(child: Callable[..., Ended]) -> None:
    ended = child("for _ in range(12):\n    send('on')\n    time.sleep(0.25)", silence=2)
    assert (ended.kind, len(ended.messages)) == ("finished", 12)


def test_memory_is_limited(child: Callable[..., Ended]) -> None:
    ended = child(
        "held = []\nwhile True:\n    held.append(bytearray(b'x' * (1 << 24)))\n    time.sleep(0.01)", memory=1 << 28
    )
    assert (ended.kind, ended.reason) == ("out-of-memory", "took more than 256 MiB of memory (all its processes)")


def test_memory_of_all_processes_counts(child: Callable[..., Ended]) -> None:
    eaters = "for _ in range(3):\n    if os.fork() == 0:\n        held = bytearray(b'x' * (150 << 20))\n        time.sleep(600)\n"
    assert child(f"{eaters}time.sleep(600)", memory=400 << 20).kind == "out-of-memory"


def test_memory_that_is_only_reserved_does_not_count(child: Callable[..., Ended]) -> None:
    assert child("import mmap\nheld = mmap.mmap(-1, 8 << 30)", memory=1 << 28).kind == "finished"


def test_what_is_printed_does_not_fill_anything_up(child: Callable[..., Ended]) -> None:
    ended = child("for _ in range(160): print('x' * 65535)\nprint('end', file=sys.stderr)\nsend('done')")
    assert (ended.kind, ended.messages) == ("finished", (b"done",))
    assert len(ended.output) == 64 * 1024
    assert ended.last_words == "end"


def test_messages_come_whole_and_as_they_are_sent(child: Callable[..., Ended]) -> None:
    told: list[bytes] = []
    text = (
        "send('')\nsend('y' * 300000)\nos.write(int(os.environ['XLALINT_MESSAGES']), b'\\0\\0\\0\\x09cut')\nos.abort()"
    )
    ended = child(text, on_message=told.append)
    assert ended.kind == "crashed"
    assert [len(one) for one in ended.messages] == [0, 300000]
    assert tuple(told) == ended.messages


def test_its_input_is_what_was_given_and_then_ends(child: Callable[..., Ended]) -> None:
    ended = child("send(sys.stdin.read(1000000))\nsend(repr(sys.stdin.read()))", stdin=b"a" * 200000)
    assert [len(one) for one in ended.messages] == [200000, 2]


@pytest.mark.skipif(sys.platform != "linux", reason="other systems have no subreapers")
@pytest.mark.parametrize("end", ["", "os._exit(3)", "os.kill(os.getpid(), 9)", "time.sleep(600)"])
def test_what_it_left_in_another_session_is_ended(child: Callable[..., Ended], end: str) -> None:
    ended = child(f"{DAEMON}{end}", seconds=10)
    (pid,) = ended.messages
    assert not Path(f"/proc/{int(pid)}").exists()


def test_its_temporary_folder_is_its_own_and_goes_with_it(child: Callable[..., Ended], tmp_path: Path) -> None:
    text = "import tempfile\nsend(tempfile.gettempdir())\nsend(os.getcwd())\ntempfile.mkdtemp()"
    folder, cwd = child(text, cwd=str(tmp_path)).messages
    assert Path(cwd.decode()) == tmp_path
    assert not Path(folder.decode()).exists()
    other, _ = child(text, cwd=str(tmp_path)).messages
    assert other != folder


INTERRUPTED = """\
import signal, sys
from xlalint.verify.isolation import run
signal.signal(signal.SIGINT, signal.default_int_handler)  # a shell that runs this in the background ignores it
said = lambda message: print(message.decode(), flush=True)
try:
    run([sys.executable, "-c", sys.argv[1]], on_message=said)
except KeyboardInterrupt:
    print("interrupted")
"""


@pytest.mark.skipif(sys.platform != "linux", reason="looks into /proc")
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGKILL])
def test_nothing_is_left_when_xlalint_is_stopped(number: int) -> None:
    child_text = f"{SEND}send(str(os.getpid()))\n{DAEMON}time.sleep(600)"
    parent = subprocess.Popen([sys.executable, "-c", INTERRUPTED, child_text], stdout=subprocess.PIPE, text=True)
    assert parent.stdout is not None
    pids = [int(parent.stdout.readline()) for _ in range(2)]
    os.kill(parent.pid, number)
    said, _ = parent.communicate()
    assert said.strip() == ("interrupted" if number == signal.SIGINT else "")
    # Only Ctrl-C waits for the end of all; who is killed cannot.
    while number != signal.SIGINT and any(Path(f"/proc/{pid}").exists() for pid in pids):
        time.sleep(0.05)
    assert not any(Path(f"/proc/{pid}").exists() for pid in pids)


def test_what_cannot_be_started_is_said(child: Callable[..., Ended], tmp_path: Path) -> None:
    with pytest.raises(IsolationError, match="cannot be run"):
        child("pass", cwd=str(tmp_path / "no such folder"))
    with pytest.raises(IsolationError, match="`no-such-command` cannot be run"):
        run(["no-such-command"])
