"""The parent's side: a subject is observed, or two compared, in a child process; what it told becomes an observation or a verdict."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from typing import NamedTuple

import msgspec

from xlalint.processes import hosting
from xlalint.verify import environment, places
from xlalint.verify.backends import require
from xlalint.verify.inputs import STEPS, SpecError, fill_sizes, sizes_of
from xlalint.verify.isolation import LIMITS, Ended, Limits, run
from xlalint.verify.model import Event, Observation, Place, Specs, Step, Subject, Verdict
from xlalint.verify.requests import Compare, Done, Failed, Loaded, Message, Observe, Request, Stepped

_PATIENCE = 0.9  # of the time limit: then the child says on which lines it is


class CannotRunError(Exception):
    """Nothing was observed: the backend does not start, or the subject cannot be loaded. `place` is the line to blame, if there is one."""

    def __init__(self, message: str, place: Place | None = None) -> None:
        super().__init__(message)
        self.place = place


class Comparison(NamedTuple):
    """The verdict on two subjects' values, and the ordinary steps of each, for what they count."""

    verdict: Verdict
    before: tuple[Step, ...]
    after: tuple[Step, ...]


def observe(
    subject: Subject,
    specs: Specs,
    backend: str,
    *,
    steps: int = STEPS,
    vary: Sequence[str] = (),
    limits: Limits = LIMITS,
    programs: str = "",
    as_written: bool = False,
    ceiling: int = 0,
    on_step: Callable[[Step], None] = lambda step: None,
) -> Observation:
    """Run a subject for some steps, with other values in each; after the warm-up the named dimensions of `vary` take other sizes too.

    `programs` is a folder for the StableHLO of the compiled programs, "" for none; with `as_written` only what the subject compiles
    itself is compiled; what takes more bytes than `ceiling` is compiled only; `on_step` is called for each step when it is done.

    Raises: MissingPackageError, CannotRunError, SpecError, isolation.IsolationError.
    """
    sizes = tuple(sizes_of(specs, number, _find_varied(specs, vary)) for number in range(steps))
    request = Observe(
        backend, subject, fill_sizes(specs), sizes, programs, _PATIENCE * limits.seconds, as_written, ceiling
    )
    done: list[Step] = []
    stage = _Stage()

    def hear(message: Message) -> None:
        stage.hear(message)
        if isinstance(message, Stepped):
            done.append(message.step)
            on_step(message.step)

    ended, last = ask(request, limits, hear)
    error, kind = _error(ended, last, subject, stage), ended.kind
    if kind == "finished" and last is None:
        kind = "crashed"
    return Observation(
        backend,
        tuple(done),
        error,
        last.programs if isinstance(last, Done) else (),
        kind,
        _last_words(ended) if kind == "crashed" else "",
        last.unrun if isinstance(last, Done) else "",
    )


def compare_subjects(
    before: Subject,
    after: Subject,
    specs: Specs,
    backend: str,
    *,
    exact: bool = False,
    unlike: tuple[str, ...] = (),
    limits: Limits = LIMITS,
) -> Comparison:
    """Run two subjects on the same draws in one child, and compare values, dtypes, shapes, gradients and effects.

    `exact`: to the last bit, else within what the dtypes hold. `unlike` names edges ("nan", "empty") and respects ("gradients", "state")
    in which they may differ. A child that crashes or takes too long proves nothing: the verdict is "unverified".

    Raises: as `observe` does.
    """
    request = Compare(backend, before, after, fill_sizes(specs), exact, unlike, _PATIENCE * limits.seconds)
    steps: dict[str, list[Step]] = {"before": [], "after": []}
    stage = _Stage()

    def hear(message: Message) -> None:
        stage.hear(message)
        if isinstance(message, Stepped):
            steps[message.of].append(message.step)

    ended, last = ask(request, limits, hear)
    error = _error(ended, last, before, stage)
    if isinstance(last, Done) and last.verdict is not None:
        verdict = last.verdict
    else:
        verdict = Verdict("unverified", f"the comparison did not end: {error.what if error else 'it told nothing'}")
    return Comparison(verdict, tuple(steps["before"]), tuple(steps["after"]))


def ask(request: Request, limits: Limits, hear: Callable[[Message], None]) -> tuple[Ended, Done | Failed | None]:
    """Put a request to a child; each message is heard as it comes. The last one is given too, None where the child left without one.

    Raises: as `observe` does.
    """
    require(request.backend)
    decoder: msgspec.msgpack.Decoder[Message] = msgspec.msgpack.Decoder(Message)
    last: list[Done | Failed] = []

    def on_message(raw: bytes) -> None:
        message = decoder.decode(raw)
        if isinstance(message, (Done, Failed)):
            last.append(message)
        hear(message)

    command = hosting("xlalint.verify.child")
    ended = run(
        command, stdin=msgspec.msgpack.encode(request), limits=limits, env=_environment(), on_message=on_message
    )
    final = last[-1] if last else None
    if isinstance(final, Failed) and final.stage != "run":
        raise CannotRunError(final.event.what, final.event.place)
    return ended, final


def named_dimensions(specs: Specs) -> tuple[str, ...]:
    """The names of dimensions in specs, in order."""
    return tuple(fill_sizes(specs).sizes)


def _find_varied(specs: Specs, vary: Sequence[str]) -> tuple[str, ...]:
    names = named_dimensions(specs)
    for one in vary:
        if one not in names:
            known = f"the named ones are {', '.join(names)}" if names else 'name them in the inputs: x="f32[B,64]"'
            raise SpecError(f"no dimension `{one}` to vary; {known}")
    return tuple(vary)


class _Stage:
    """How far a child came, by what it told."""

    def __init__(self) -> None:
        self.started = self.loaded = False

    def hear(self, message: Message) -> None:
        if isinstance(message, Loaded):
            self.started, self.loaded = True, message.subject

    @property
    def text(self) -> str:
        if self.loaded:
            return ""
        return ", while the module was imported" if self.started else ", before the framework had started"


def _error(ended: Ended, last: Done | Failed | None, subject: Subject, stage: _Stage) -> Event | None:
    """Return the error: raised in the child, or the way in which that ended."""
    if isinstance(last, Failed):
        return last.event
    if ended.kind == "finished" and last is not None:
        return None
    reason = ended.reason or "left with exit code 0 before it was done"
    return Event("error", f"{reason}{stage.text}", _last_place(ended, subject) if stage.started else None)


def _last_place(ended: Ended, subject: Subject) -> Place | None:
    """The line that a crashed or hung child was on, as its traceback tells, which begins with the innermost call."""
    found = list(places.find_quoted(ended.errors))
    return next((one for one in found if one.file == subject.file), found[0] if found else None)


def _last_words(ended: Ended) -> str:
    """Return the last words of a crashed child: the beginning of Python's traceback, if there is one, which is its innermost frame."""
    _, fatal, told = ended.errors.rpartition("Fatal Python error")
    return "\n".join(f"{fatal}{told}".splitlines()[:8]) if fatal else ended.last_words


def _environment() -> dict[str, str]:
    """The child's: what is relative in PYTHONPATH stays what it is here, and Python prints what it is told to at once."""
    path = os.environ.get("PYTHONPATH")
    told = {"PYTHONUNBUFFERED": "1", **environment.for_memory()}
    if path:
        told["PYTHONPATH"] = os.pathsep.join(os.path.abspath(one) for one in path.split(os.pathsep) if one)  # noqa: PTH100
    return told
