"""The child process, the only one that imports frameworks and runs what it is told to: a request on stdin, messages on their descriptor.

Each step is told when it is done, so that a crash keeps what was seen before it.
"""

from __future__ import annotations

import faulthandler
import os
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import msgspec

from xlalint.verify import places
from xlalint.verify.backends import Backend, Options, Program, backend_of
from xlalint.verify.isolation import MESSAGES
from xlalint.verify.loading import LoadError, format_callee, load
from xlalint.verify.model import Event, Place, Step, Subject
from xlalint.verify.requests import (
    Began,
    Compare,
    Done,
    Failed,
    Judged,
    Loaded,
    Message,
    Observe,
    Prove,
    Request,
    Search,
    Stepped,
)

Tell = Callable[[Message], None]
_CALLS = 8  # a call of a comparison may take this part of the patience: then it counts as one that does not end


def main() -> None:
    """Serve the request on stdin, and leave without the exit handlers of frameworks, some of which crash or wait."""
    tell = _teller()
    request = msgspec.msgpack.decode(sys.stdin.buffer.read(), type=Request)
    _close_input()
    faulthandler.enable()
    if request.patience:
        faulthandler.dump_traceback_later(request.patience)
    serve(request, tell)
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(0)


def serve(request: Request, tell: Tell) -> None:
    """Do what is asked; what goes wrong is told, not raised."""
    try:
        backend = backend_of(request.backend)
    except Exception as error:  # noqa: BLE001 (an installation can be broken in any way)
        tell(Failed("start", Event("error", f"backend {request.backend} does not start: {places.headline(error)}")))
        return
    tell(Loaded())
    if isinstance(request, Observe):
        _observe(backend, request, tell)
    elif isinstance(request, Compare):
        _compare(backend, request, tell)
    elif isinstance(request, Search):
        from xlalint.verify.searching import search

        tell(search(backend, request.subjects, request.candidates).told)
        tell(Done())
    else:
        _prove(backend, request, tell)


def _prove(backend: Backend, request: Prove, tell: Tell) -> None:
    from xlalint.verify.ambient import keep_settings
    from xlalint.verify.proving import JobProver

    prover = JobProver(backend)
    for job in request.jobs:
        tell(Began(job.number))
        began = time.perf_counter()
        with keep_settings():
            shown = prover.prove(job)
        tell(
            Judged(job.number, shown.verdict, time.perf_counter() - began, shown.cached and job is not request.jobs[0])
        )
    tell(Done())


def _observe(backend: Backend, request: Observe, tell: Tell) -> None:
    from xlalint.verify.inputs.draws import draw

    subject = request.subject
    try:
        program = load(subject)
        tell(Loaded(True))
        if request.ceiling and (told := _compile_only(backend, program, request)):
            tell(Done(programs=_list_written(request.programs), unrun=told))
            return
        steps = [draw(request.specs, number, sizes) for number, sizes in enumerate(request.steps)]
        for step in _steps(backend, program, steps, request):
            tell(Stepped(own_lines(step, program, subject)))
    except LoadError as error:
        tell(Failed("load", Event("error", str(error), own_place(error.place, subject))))
        return
    except BaseException as error:  # noqa: BLE001 (whatever it raises, `SystemExit` included, is what was seen)
        tell(Failed("run", error_event(error, program, subject)))
        return
    tell(Done(programs=_list_written(request.programs)))


def _compile_only(backend: Backend, program: Program, request: Observe) -> str:
    """Write a program that is too large to be run, and say why; "" where it is not, or the backend cannot tell before it runs."""
    compile_only = getattr(backend, "compile_only", None)
    return compile_only(program, request.specs, request.ceiling, request.programs) if compile_only is not None else ""


def _compare(backend: Backend, request: Compare, tell: Tell) -> None:
    from xlalint.verify.comparison import Pair, compare

    loading = request.before
    try:
        before = load(request.before)
        loading = request.after
        after = load(request.after)
        tell(Loaded(True))
    except LoadError as error:
        tell(Failed("load", Event("error", str(error), own_place(error.place, loading))))
        return
    pair = Pair(backend, before, after, request.exact, request.unlike, request.patience / _CALLS)

    def hear_before(step: Step) -> None:
        tell(Stepped(own_lines(step, before, request.before)))

    def hear_after(step: Step) -> None:
        tell(Stepped(own_lines(step, after, request.after), "after"))

    tell(Done(compare(pair, request.specs, format_callee(request.before), hear_before, hear_after)))


def _steps(backend: Backend, program: Program, steps: list[dict[str, Any]], request: Observe) -> Iterator[Step]:
    options = Options(programs=request.programs, mode="as-written" if request.as_written else "compiled")
    for step, _ in backend.run(program, steps, options):
        yield msgspec.structs.replace(step, sizes=request.steps[step.number])


def own_lines(step: Step, program: Program, subject: Subject) -> Step:
    """A step with its places in the subject's own file, where its lines were executed from another one."""
    if program.file == subject.file or not subject.file:
        return step
    events = tuple(
        msgspec.structs.replace(one, place=own_place(one.place, subject, program.file)) for one in step.events
    )
    return msgspec.structs.replace(step, events=events)


def own_place(place: Place | None, subject: Subject, file: str = "") -> Place | None:
    """A place in the subject's own file, where its lines were executed from `file`, or from another that has its name."""
    if place is None or not subject.file or subject.text is None:
        return place
    moved = place.file == file or (not file and Path(place.file).name == Path(subject.file).name)
    return msgspec.structs.replace(place, file=subject.file) if moved else place


def error_event(error: BaseException, program: Program, subject: Subject) -> Event:
    """Describe an exception, at the subject's own line, else at the innermost one of the user's."""
    place = places.of_error(error, program.file)
    return Event("error", places.headline(error), own_place(place, subject, program.file))


def _list_written(folder: str) -> tuple[str, ...]:
    return tuple(sorted(str(path) for path in Path(folder).iterdir() if path.is_file())) if folder else ()


def _teller() -> Tell:
    """Return a function that sends messages. A process that the subject forks neither sends any nor inherits the descriptor."""
    descriptor, owner = int(os.environ.pop(MESSAGES)), os.getpid()
    os.set_inheritable(descriptor, False)
    encoder = msgspec.msgpack.Encoder()

    def tell(message: Message) -> None:
        if os.getpid() != owner:
            os._exit(0)
        raw = encoder.encode(message)
        whole = memoryview(len(raw).to_bytes(4, "big") + raw)
        while whole:
            whole = whole[os.write(descriptor, whole) :]

    return tell


def _close_input() -> None:
    nothing = os.open(os.devnull, os.O_RDONLY)
    os.dup2(nothing, 0)
    os.close(nothing)
