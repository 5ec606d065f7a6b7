"""Looks for inputs on which a program runs, by trying: eagerly, on a few draws each. Runs in the child process."""

from __future__ import annotations

import contextlib
import io
import time
from collections.abc import Callable, Iterator, Sequence
from types import FrameType
from typing import Any, NamedTuple

from xlalint.verify import places
from xlalint.verify.alarms import alarm
from xlalint.verify.backends import Backend, Options, Program
from xlalint.verify.frames import follow_frames
from xlalint.verify.inputs.draws import draw
from xlalint.verify.loading import LoadError, load
from xlalint.verify.model import Specs, Subject
from xlalint.verify.requests import Found
from xlalint.verify.taken import check_of

_DRAWS = (0, 1, 2)
_CALL = 5.0  # seconds that a call may take
_ALL = 30.0  # seconds for all that is tried of one subject


class Hit(NamedTuple):
    """Result of a search. `program` is the subject's, if something ran; `reached`: whether the lines asked for were run."""

    told: Found
    program: Program | None = None
    reached: bool = False


def search(
    backend: Backend,
    subjects: Sequence[Subject],
    candidates: Sequence[Specs],
    lines: tuple[int, int] = (0, 0),
    seconds: float = _ALL,
) -> Hit:
    """The first subject that can be made, and the first candidate on which it runs; with `lines`, one that comes to these, if one does.

    `seconds` are for one subject.
    """
    reason = "" if subjects else "nothing can be run"
    for number, subject in enumerate(subjects):
        try:
            program = load(subject)
            with quiet():
                call = program.make()
        except LoadError as error:
            reason = reason or str(error)
            continue
        kept = program._replace(make=lambda call=call: call)  # type: ignore[misc]
        found = _try(backend, kept, candidates, lines, seconds)
        if found.told.candidate >= 0:
            return Hit(Found(number, found.told.candidate), program, found.reached)
        reason = reason or found.told.reason
    return Hit(Found(reason=reason or "no inputs are known"))


def _try(
    backend: Backend, program: Program, candidates: Sequence[Specs], lines: tuple[int, int], seconds: float
) -> Hit:
    reason, passed = "", -1
    end = time.monotonic() + seconds
    for number, specs in enumerate(candidates):
        with reaching(program.file, lines) as reached:
            why = runs(backend, program, specs)
        if not why and (reached() or not any(lines)):
            return Hit(Found(0, number), None, True)
        if not why and passed < 0:
            passed = number
        reason = reason or why
        if time.monotonic() > end:
            break
    return Hit(Found(0 if passed >= 0 else -1, passed, reason))


def runs(backend: Backend, program: Program, specs: Specs, numbers: Sequence[int] = _DRAWS) -> str:
    """Why a program does not run on some draws, "" where it does. Where a check of its own raises, it does if it runs on one of them."""
    refused: list[str] = []
    for number in numbers:
        try:
            with quiet(), alarm(_CALL):
                for _ in backend.run(program, [draw(specs, number)], Options(mode="eager")):
                    pass
        except (Exception, SystemExit) as error:  # noqa: BLE001 (whatever it raises, it does not run)
            refused.append(places.headline(error))
            if not check_of(error, program.file):
                return refused[0]
    return refused[0] if refused and len(refused) == len(numbers) else ""


@contextlib.contextmanager
def quiet() -> Iterator[None]:
    """Nothing that is printed is told."""
    with contextlib.redirect_stdout(io.StringIO()):
        yield


@contextlib.contextmanager
def reaching(file: str, lines: tuple[int, int]) -> Iterator[Callable[[], bool]]:
    """Yield a function that returns whether lines of a file were run inside of the `with` block, by Python's own tracing."""
    hit: list[int] = []
    if not any(lines):
        yield lambda: True
        return
    wanted = range(lines[0], lines[1] + 1)

    def local(frame: FrameType, event: str, argument: Any) -> Any:
        if event == "line" and frame.f_lineno in wanted:
            hit.append(frame.f_lineno)
        return local

    def enter(frame: FrameType, event: str, argument: Any) -> Any:
        return local if frame.f_code.co_filename == file else None

    with follow_frames(enter):
        yield lambda: bool(hit)
