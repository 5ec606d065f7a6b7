"""The parent's side of proving: jobs go to one child per backend; one that dies takes only the job it was at with it."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Sequence
from typing import NamedTuple

from xlalint.verify.inputs import fill_sizes
from xlalint.verify.isolation import LIMITS, Limits
from xlalint.verify.model import Specs, Subject, Verdict
from xlalint.verify.observing import CannotRunError, ask
from xlalint.verify.requests import Began, Found, Job, Judged, Message, Prove, Search

_SECONDS = 60.0  # that a job may take, on the average
_SHARE = 0.25  # of the time that is left, that one job may take: what hangs leaves time for the others
NO_TIME = "no time was left for it (`--time-budget`)"
NO_PROCESS = "the process that ran it"


class Shown(NamedTuple):
    """The verdict on a job, and the seconds that it took."""

    verdict: Verdict
    seconds: float = 0.0


def prove_all(
    jobs: Sequence[Job],
    backend: str,
    limits: Limits = LIMITS,
    on_verdict: Callable[[int, Shown], None] = lambda number, shown: None,
    until: float = math.inf,
) -> dict[int, Shown]:
    """Return the verdict on each job, by its number; unverified for those not reached `until` then, by `time.monotonic`.

    A job that takes longer than `limits.seconds`, or a quarter of the time that is left, is ended with its process, and the others go on in
    a new one.

    Raises: MissingPackageError, CannotRunError where the backend does not start, isolation.IsolationError.
    """
    found: dict[int, Shown] = {}
    waiting = list(jobs)
    again: list[int] = []
    while waiting and time.monotonic() < until:
        began: list[int] = []
        alone: list[int] = []

        def hear(message: Message, began: list[int] = began, alone: list[int] = alone) -> None:
            if isinstance(message, Began):
                began.append(message.number)
            elif isinstance(message, Judged) and message.again:
                alone.append(message.number)
            elif isinstance(message, Judged):
                found[message.number] = Shown(message.verdict, message.seconds)
                on_verdict(message.number, found[message.number])

        # A child serves some jobs only: what user code leaves in a process, memory above all, adds up.
        some = waiting[: 1 if again else _TOGETHER]
        again = again[1:]
        left = until - time.monotonic()
        seconds = max(min(max(limits.seconds, _SECONDS * len(some)), left), 0.0)
        most = limits._replace(seconds=seconds, silence=min(limits.seconds, max(_SECONDS, _SHARE * left)))
        ended, _ = ask(Prove(backend, tuple(some), limits.seconds), most, hear)
        waiting = [job for job in waiting if job.number not in found]
        again += alone
        waiting.sort(key=lambda job: job.number not in again)  # each of these in a process of its own
        cut = [number for number in began if number not in found and number not in alone]
        if cut:
            late = time.monotonic() >= until
            found[cut[0]] = Shown(Verdict("unverified", NO_TIME if late else f"{NO_PROCESS} {ended.reason or 'ended'}"))
            on_verdict(cut[0], found[cut[0]])
            waiting = [job for job in waiting if job.number != cut[0]]
        elif not began and time.monotonic() < until:
            raise CannotRunError(f"backend {backend} {ended.reason or 'ended'}, before it had done anything")
    for job in waiting:
        found[job.number] = Shown(Verdict("unverified", NO_TIME))
        on_verdict(job.number, found[job.number])
    return found


_TOGETHER = 40


def find_runnable(
    subjects: Sequence[Subject], candidates: Sequence[Specs], backend: str, limits: Limits = LIMITS
) -> tuple[Subject, Specs]:
    """Find the first of some subjects that can be made, with the first candidate on which it runs.

    Raises: CannotRunError where there is none, and as `prove_all` does.
    """
    found: list[Found] = []

    def hear(message: Message) -> None:
        if isinstance(message, Found):
            found.append(message)

    whole = tuple(fill_sizes(one) for one in candidates)
    ended, _ = ask(Search(backend, tuple(subjects), whole, 0.9 * limits.seconds), limits, hear)
    if not found:
        raise CannotRunError(f"the search for inputs did not end: {ended.reason or 'it told nothing'}")
    if found[0].candidate < 0:
        raise CannotRunError(
            f"no inputs were found on which it runs ({len(whole)} tried); the first: {found[0].reason}"
        )
    return subjects[found[0].subject], candidates[found[0].candidate]
