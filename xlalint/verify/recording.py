"""Records a script step by step: the child that runs it writes as it goes, so that a crash keeps what was seen. Also reads it back."""

from __future__ import annotations

import os
import sys
import threading
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Union

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from xlalint.verify import places
from xlalint.verify.instruments import Instruments
from xlalint.verify.model import Counts, Event, Step
from xlalint.verify.places import is_users


class ScriptBegan(Struct, frozen=True, tag="Began"):
    """The script is about to run; `main` is its file."""

    main: str


class ScriptStepped(Struct, frozen=True, tag="Stepped"):
    """A step ended."""

    step: Step


class ScriptEnded(Struct, frozen=True, tag="Ended"):
    """The script ended by itself; `files` are the user's files that were imported, `rest` what came after the last step."""

    frameworks: tuple[str, ...]
    files: tuple[str, ...]
    rest: Step


class Recording(Struct, frozen=True):
    """A script that ran.

    `exit_code` is the process's, negative for a signal; `ended` says whether it came to its end (an exit with an error is one), `rest` what
    came after the last step. `frameworks` are those that did something, else all that were imported. `files` are those of the user that
    were run, as far as is known.
    """

    main: str
    exit_code: int
    seconds: float
    steps: tuple[Step, ...] = ()
    rest: Union[Step, None] = None
    frameworks: tuple[str, ...] = ()
    files: tuple[str, ...] = ()
    ended: bool = False


Notice = Callable[[str, Callable[[str], None], Callable[[Event], None]], None]
"""`notice(framework, ended, note)` has `ended(name)` called for each step of a framework, `note` for what causes things."""


class Recorder:
    """Writes a line to a file for each step of this process; those of its forks are not its own."""

    def __init__(self, file: Path, notice: Notice) -> None:
        self._descriptor = os.open(file, os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC, 0o600)
        self._process = os.getpid()
        self._folder = os.getcwd()  # noqa: PTH109
        self._lock = threading.RLock()
        self._instruments = Instruments(thorough=True, started=lambda name: notice(name, self.step, self._record_event))
        self._events: list[Event] = []
        self._number = 0

    def begin(self, main: str) -> None:
        """Start to watch."""
        self._instruments.join(self)
        self._last, self._since = self._total(), time.perf_counter()
        self._write(ScriptBegan(main))

    def note(self, meter: str, events: Sequence[Event]) -> None:  # noqa: ARG002
        self._events += events

    def _record_event(self, event: Event) -> None:
        self._events.append(event)

    def fail(self, error: BaseException) -> None:
        """Remember the exception that ends the script, at the line of the user's that it came from."""
        self._record_event(Event("error", places.headline(error), places.of_error(error)))

    def step(self, name: str) -> None:
        """A step has ended; nothing is told of one in which the device had nothing to do."""
        if os.getpid() != self._process:
            return
        with self._lock:
            step = self._cut(name)
            if step is not None:
                self._write(ScriptStepped(step))
                self._number += 1

    def end(self) -> None:
        """Stop watching, and tell what came after the last step."""
        with self._lock:
            rest = self._cut("") or Step(self._number, Counts())
            counts = self._instruments.read(wait=False)
            self._instruments.leave(self)
            busy = tuple(name for name, counted in counts.items() if counted != Counts())
            self._write(ScriptEnded(busy or tuple(counts), _files(), rest))

    def _cut(self, name: str) -> Step | None:
        self._instruments.collect()
        total, now = self._total(), time.perf_counter()
        counts = total - self._last
        idle = counts == Counts() and all(event.kind == "new-shape" for event in self._events)
        if idle and "torch_xla" in self._instruments.names and name:
            return None
        step = Step(self._number, counts, now - self._since, tuple(map(self._absolute, self._events)), name=name)
        self._events.clear()
        self._last, self._since = total, now
        return step

    def _absolute(self, event: Event) -> Event:
        """An event with the whole path of its file: code knows its file as it was asked for, and may change the folder."""
        if event.place is None:
            return event
        return replace(event, place=replace(event.place, file=os.path.join(self._folder, event.place.file)))  # noqa: PTH118

    def _total(self) -> Counts:
        total = Counts()
        for counts in self._instruments.read(wait=False).values():
            total += counts
        return total

    def _write(self, message: Struct) -> None:
        os.write(self._descriptor, msgspec.json.encode(message) + b"\n")


def read_recording(file: Path, exit_code: int, seconds: float) -> Recording:
    """Read a recording, up to a line that was cut off."""
    decode = msgspec.json.Decoder(Union[ScriptBegan, ScriptStepped, ScriptEnded]).decode
    main, steps = "", []
    ended: ScriptEnded | None = None
    for line in file.read_bytes().splitlines(keepends=True) if file.exists() else ():
        if not line.endswith(b"\n"):
            break
        message = decode(line)
        if isinstance(message, ScriptBegan):
            main = message.main
        elif isinstance(message, ScriptStepped):
            steps.append(message.step)
        else:
            ended = message
    if ended is None:
        files = sorted({event.place.file for step in steps for event in step.events if event.place})
        return Recording(main, exit_code, seconds, tuple(steps), files=(main, *files))
    return Recording(
        main, exit_code, seconds, tuple(steps), ended.rest, ended.frameworks, (main, *ended.files), ended=True
    )


def _files() -> tuple[str, ...]:
    """The files of all modules that are not a library's, as far as libraries are known."""
    files = {getattr(module, "__file__", None) for module in list(sys.modules.values())}
    return tuple(sorted(os.path.abspath(file) for file in files if isinstance(file, str) and is_users(file)))  # noqa: PTH100
