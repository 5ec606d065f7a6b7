"""`xlalint run`'s side of a script: starts it in a child process, hands signals on, waits for it, and reads what it recorded."""

from __future__ import annotations

import os
import signal
import subprocess
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from tempfile import TemporaryDirectory
from types import FrameType

import msgspec

from xlalint.processes import hosting
from xlalint.verify.recording import Recording, read_recording
from xlalint.verify.script import Request

_PASSED_ON = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
_PATIENCE = 3  # interrupts until the script is killed


def run_script(what: str, arguments: Sequence[str], *, module: bool = False) -> Recording:
    """Run a script, or a module as `python -m` does, to its end. It has this process's streams; nothing that it started outlives it,
    unless that left its session.
    """
    with TemporaryDirectory(prefix="xlalint-run-") as folder:
        request = Request(what, tuple(arguments), module, folder)
        file = Path(folder, "request.json")
        file.write_bytes(msgspec.json.encode(request))
        began = time.perf_counter()
        child = subprocess.Popen(hosting("xlalint.verify.script", str(file)), start_new_session=True)
        try:
            with _signals_passed_on(child):
                code = child.wait()
        finally:
            _end(child)
        return read_recording(request.record, code, time.perf_counter() - began)


@contextmanager
def _signals_passed_on(child: subprocess.Popen[bytes]) -> Iterator[None]:
    """Whoever interrupts us means the script, which has a session of its own; the third time it is killed."""
    times = 0

    def pass_on(number: int, _: FrameType | None) -> None:
        nonlocal times
        times += 1
        _signal(child, number if times < _PATIENCE else signal.SIGKILL)

    before = {number: signal.signal(number, pass_on) for number in _PASSED_ON}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def _end(child: subprocess.Popen[bytes]) -> None:
    """Kill what is left of the script's session, and reap the script."""
    _signal(child, signal.SIGKILL)
    child.wait()


def _signal(child: subprocess.Popen[bytes], number: int) -> None:
    with suppress(ProcessLookupError, PermissionError):
        os.killpg(child.pid, number)
