"""Runs a command so that nothing of it is left: with limits, a temporary folder of its own, and all that it starts ended when it ends.

Between this process and the command stands a supervisor (see `supervisor`), which holds the command to its limits and ends every
process that came of it, however it ends: by itself, by a limit, by Ctrl-C here, or because this process is gone. Standard input is what
the caller gives, then the end of the file; of what is printed the last part is kept. Messages come over a descriptor of their own, so
that printing cannot disturb them, and those that came before a crash are kept.
"""

from __future__ import annotations

import contextlib
import json
import math
import os
import selectors
import signal
import subprocess
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from types import MappingProxyType
from typing import Literal, NamedTuple

from xlalint.processes import isolated_command

MESSAGES = "XLALINT_MESSAGES"
"""The environment variable that tells a command which descriptor takes messages: each its length in four bytes, then itself."""

_KEPT = 64 * 1024  # bytes of each output stream, its end
_CHUNK = 1 << 16
_GRACE = 20.0  # seconds for a supervisor to end what it watches, before it is killed itself
_LENGTH = 4

Kind = Literal["finished", "crashed", "timed-out", "out-of-memory"]


class Limits(NamedTuple):
    """Limits of a command: `seconds` of wall time, `memory` in bytes, resident, of all its processes together, and the `silence` in seconds
    from one message to the next.

    The limit on memory is not the system's on address space: XLA and its thread pools reserve tens of gigabytes that they never touch.
    """

    seconds: float = 120.0
    memory: int = 8 << 30
    silence: float = math.inf


LIMITS = Limits()


class Ended(NamedTuple):
    """How a command ended; `reason` is one line, "" where it finished. `output` and `errors` are the last parts of what it printed."""

    kind: Kind
    reason: str
    messages: tuple[bytes, ...]
    output: str
    errors: str
    code: int = 0

    @property
    def last_words(self) -> str:
        """The last lines on standard error, as far as they say something of a crash."""
        return "\n".join(self.errors.strip().splitlines()[-8:])


class IsolationError(Exception):
    """No command was run: it, its folder or the supervisor could not be started."""


def run(
    command: Sequence[str],
    *,
    stdin: bytes = b"",
    limits: Limits = LIMITS,
    cwd: str | None = None,
    env: Mapping[str, str] = MappingProxyType({}),
    on_message: Callable[[bytes], None] = lambda message: None,
) -> Ended:
    """Run a command to its end, or to that of its limits.

    `cwd` is its working directory (that of this process); `env` is put over this process's environment. `on_message` is called for each
    message as it comes.

    Raises: IsolationError; KeyboardInterrupt, after all was ended.
    """
    frames = _Frames(on_message)
    kept = {"output": bytearray(), "errors": bytearray(), "status": bytearray()}
    with _start(command, stdin, limits, cwd, env) as (supervisor, streams, end):
        takers = {
            streams["output"]: _keeping(kept["output"]),
            streams["errors"]: _keeping(kept["errors"]),
            streams["messages"]: frames.take,
            streams["status"]: kept["status"].extend,
        }
        _drain(takers, until=streams["status"], speaks=streams["messages"], silence=limits.silence, end=end)
        supervisor.wait()
    output, errors = (_text(kept[name]) for name in ("output", "errors"))
    kind, reason, code = _verdict(bytes(kept["status"]), limits, errors)
    return Ended(kind, reason, tuple(frames.whole), output, errors, code)


@contextlib.contextmanager
def _start(
    command: Sequence[str], stdin: bytes, limits: Limits, cwd: str | None, env: Mapping[str, str]
) -> Iterator[tuple[subprocess.Popen[bytes], dict[str, int], Callable[[], None]]]:
    """A supervisor at work, what can be read from it, and what has it end; when this is left, it and all that it watches are gone."""
    pipes = {name: os.pipe() for name in ("messages", "status", "alive")}
    theirs = {"messages": pipes["messages"][1], "status": pipes["status"][1], "alive": pipes["alive"][0]}
    plan = {
        "command": list(command),
        "seconds": limits.seconds,
        "memory": limits.memory,
        "cwd": os.path.abspath(cwd or Path.cwd()),  # noqa: PTH100
        "env": dict(env),
        **theirs,
    }
    supervisor = None
    alive = contextlib.ExitStack()  # closed, it makes the supervisor end everything
    alive.callback(os.close, pipes["alive"][1])
    try:
        with tempfile.TemporaryFile() as given:
            given.write(stdin)
            given.seek(0)
            supervisor = subprocess.Popen(
                isolated_command("xlalint.verify.supervisor", json.dumps(plan)),
                stdin=given,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                pass_fds=tuple(theirs.values()),
                start_new_session=True,  # Ctrl-C in the terminal is for us, who then end it
            )
        for descriptor in theirs.values():
            os.close(descriptor)
        theirs.clear()
        assert supervisor.stdout is not None and supervisor.stderr is not None
        own = {"messages": pipes["messages"][0], "status": pipes["status"][0]}
        streams = {**own, "output": supervisor.stdout.fileno(), "errors": supervisor.stderr.fileno()}
        yield supervisor, streams, alive.close
    finally:
        for descriptor in theirs.values():
            os.close(descriptor)
        alive.close()
        if supervisor is not None:
            _wait_for_end(supervisor)
        for descriptor in (pipes["messages"][0], pipes["status"][0]):
            os.close(descriptor)


def _wait_for_end(supervisor: subprocess.Popen[bytes]) -> None:
    """Wait until a supervisor has ended all that it watches."""
    assert supervisor.stdout is not None and supervisor.stderr is not None
    # Nobody reads any more: whoever writes must fail, not wait.
    supervisor.stdout.close()
    supervisor.stderr.close()
    try:
        supervisor.wait(_GRACE)
    except subprocess.TimeoutExpired:
        supervisor.kill()
        supervisor.wait()


def _drain(
    takers: Mapping[int, Callable[[bytes], object]], until: int, speaks: int, silence: float, end: Callable[[], None]
) -> None:
    """Hand on what comes from descriptors, until one of them ends; what has come from the others by then included.

    `end` is called once nothing came from `speaks` for `silence` seconds.
    """
    with selectors.DefaultSelector() as selector:
        for descriptor in takers:
            os.set_blocking(descriptor, False)
            selector.register(descriptor, selectors.EVENT_READ)
        over, late = False, time.monotonic() + silence
        while not over or selector.get_map():
            wait = None if late == math.inf else max(late - time.monotonic(), 0.0)
            ready = [key.fd for key, _ in selector.select(timeout=0 if over else wait)]
            if over and not ready:
                return  # a process that escaped may hold a descriptor open for ever
            if not over and time.monotonic() >= late and speaks not in ready:
                end()
                late = math.inf
            for descriptor in ready:
                chunk = os.read(descriptor, _CHUNK)
                if chunk:
                    takers[descriptor](chunk)
                else:
                    selector.unregister(descriptor)
                    over = over or descriptor == until
            if speaks in ready and late != math.inf:
                late = time.monotonic() + silence


class _Frames:
    """Takes bytes as they come and tells the messages in them; one that was cut off is dropped."""

    def __init__(self, tell: Callable[[bytes], None]) -> None:
        self.whole: list[bytes] = []
        self._tell = tell
        self._held = bytearray()

    def take(self, chunk: bytes) -> None:
        held = self._held
        held += chunk
        while len(held) >= _LENGTH:
            end = _LENGTH + int.from_bytes(held[:_LENGTH], "big")
            if len(held) < end:
                return
            message = bytes(held[_LENGTH:end])
            del held[:end]
            self.whole.append(message)
            self._tell(message)


def _keeping(kept: bytearray) -> Callable[[bytes], None]:
    def take(chunk: bytes) -> None:
        kept.extend(chunk)
        del kept[:-_KEPT]

    return take


def _text(raw: bytearray) -> str:
    return raw.decode("utf-8", "replace")


def _verdict(status: bytes, limits: Limits, errors: str) -> tuple[Kind, str, int]:
    """Interpret a supervisor's last words."""
    if not status:
        last = (errors.strip().splitlines() or ["it was killed"])[-1]
        raise IsolationError(f"the process that watches over the child is gone: {last}")
    told = json.loads(status)
    if "error" in told:
        raise IsolationError(told["error"])
    code = int(told["code"])
    match told["ended"]:
        case "timed-out":
            return "timed-out", f"did not end within {limits.seconds:g} s", code
        case "abandoned":
            return "timed-out", f"did not get on for {limits.silence:g} s", code
        case "out-of-memory":
            return "out-of-memory", f"took more than {size_text(limits.memory)} of memory (all its processes)", code
    if code < 0:
        return "crashed", f"was killed by {_signal_name(-code)}", code
    return ("crashed", f"left with exit code {code}", code) if code else ("finished", "", 0)


def _signal_name(number: int) -> str:
    try:
        name = signal.Signals(number).name
    except ValueError:
        return f"signal {number}"
    return f"{name} (by hand, or by the system for lack of memory)" if number == signal.SIGKILL else name


def size_text(size: int) -> str:
    """A number of bytes for people."""
    for power, unit in ((30, "GiB"), (20, "MiB"), (10, "KiB")):
        if size >= 1 << power:
            return f"{size / (1 << power):.3g} {unit}"
    return f"{size} B"
