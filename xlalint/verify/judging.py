"""An observation becomes a verdict: what a person is told of it in a line, and the causes behind that."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Union

from msgspec import Struct
from msgspec.structs import replace

from xlalint.verify.inputs import WARM_UP
from xlalint.verify.model import Counts, EventKind, Observation, Place, Step, TpuProgram

Line = Callable[[Place], str]
"""How a place is named to people, with its source line."""

_SHOWN = 2  # lines named in a verdict


class StepCause(Struct, frozen=True):
    """Describes what happened at one line, over all steps: `what` in the framework's words, how often, in which steps.

    `expected`: compilations of the warm-up, or of sizes that no step had before.
    """

    kind: EventKind
    what: str
    place: Union[Place, None]
    count: int
    steps: tuple[int, ...]
    expected: bool = False


class Judgement(Struct, frozen=True):
    """`ok`: nothing hurts. `ran`: it ran to its end, or to an error of its own; where it did not, nothing is known of it."""

    ok: bool
    ran: bool
    text: str
    causes: tuple[StepCause, ...] = ()


def judge(seen: Observation, wanted: int, line: Line, max_compiles: int | None = None) -> Judgement:
    """The verdict on an observation of which `wanted` steps were asked for.

    Compilations are bad after the warm-up, unless a step has sizes that are new; with `max_compiles`, if all steps together have more.
    Host syncs, fallbacks and graph breaks are bad in any step.
    """
    if seen.unrun:
        return Judgement(True, True, f"compiled, not run: {seen.unrun}")
    causes = tuple(_causes(seen.steps))
    problems = [*_end(seen, wanted, line), *_compilations(seen, causes, line, max_compiles)]
    for kind, counter, said in _HAZARDS:
        steps = [step.number for step in seen.steps if counter(step.counts)]
        if steps:
            problems.append(f"{said} {_share(steps, range(len(seen.steps)))}{_at(causes, kind, line)}")
    ran = seen.ended == "finished" and not _calls_kernels_of_tpus(seen)
    return Judgement(not problems, ran, "; ".join(problems) or _fine(seen, max_compiles), causes)


_HAZARDS: tuple[tuple[EventKind, Callable[[Counts], int], str], ...] = (
    ("host-sync", lambda counts: counts.transfers, "reads values on the host"),
    ("fallback", lambda counts: counts.fallbacks, "runs operations on the CPU"),
    ("graph-break", lambda counts: counts.graph_breaks, "breaks the graph"),
)


def judged_for_tpus(judgement: Judgement, programs: Sequence[TpuProgram], line: Line, backend: str) -> Judgement:
    """A judgement with what does not compile for TPUs. Without programs there is none, nor where a program calls the host as it runs; what
    is bad remains so.
    """
    if judgement.ran and not programs:
        text = f"{judgement.text}; nothing to compile for TPUs: {backend} wrote no StableHLO"
        return replace(judgement, ok=False, ran=not judgement.ok, text=text)
    calling = [one.error.what for one in programs if one.error is not None and one.error.kind == "host-sync"]
    if calling:
        return replace(judgement, ok=False, ran=False, text=f"{judgement.text}; not compiled for TPUs: {calling[0]}")
    failed = [one for one in programs if one.error is not None]
    if not failed:
        return judgement
    told = []
    for generation in dict.fromkeys(one.generation for one in failed):
        error = next(one.error for one in failed if one.generation == generation and one.error is not None)
        where = f": {line(error.place)}" if error.place is not None else ""
        told.append(f"does not compile for {generation}: {error.what}{where}")
    text = "; ".join([*([] if judgement.ok else [judgement.text]), *told])
    return replace(judgement, ok=False, text=text)


def _end(seen: Observation, wanted: int, line: Line) -> Iterator[str]:
    """Say what stopped the run, if something did."""
    if seen.error is not None and _calls_kernels_of_tpus(seen):
        yield f"could not be run here: it calls a kernel that only TPUs have ({_KERNEL})"
    elif seen.error is not None:
        verb = "raises " if seen.ended == "finished" else ""
        where = f": {line(seen.error.place)}" if seen.error.place else ""
        yield f"{verb}{seen.error.what} (in step {len(seen.steps)} of {wanted}, counted from 0){where}"


def _calls_kernels_of_tpus(seen: Observation) -> bool:
    """Return whether the CPU that stands for a TPU refused a kernel written for TPUs; where there is one, it runs."""
    return seen.error is not None and f"custom call to {_KERNEL} for Host" in seen.error.what


_KERNEL = "tpu_custom_call"


def _compilations(seen: Observation, causes: Sequence[StepCause], line: Line, limit: int | None) -> Iterator[str]:
    where = _at(causes, "compilation", line)
    total = sum(step.counts.compilations for step in seen.steps)
    if limit is not None:
        if total > limit:
            yield f"{_times(total, 'compilation')} in {len(seen.steps)} steps, and {limit} allowed{where}"
        return
    again = [step.number for step in _again(seen.steps)]
    if again:
        yield f"compiles {_share(again, range(WARM_UP, len(seen.steps)), ' after the warm-up')}{where}"


def _again(steps: Sequence[Step]) -> Iterator[Step]:
    """The steps that compiled though they had nothing new: no new code, no new sizes."""
    known: list[dict[str, int]] = []
    for step in steps:
        if step.counts.compilations and step.number >= WARM_UP and step.sizes in known:
            yield step
        known.append(step.sizes)


def _fine(seen: Observation, limit: int | None) -> str:
    """The verdict on what hurts nowhere."""
    if limit is not None:
        total = sum(step.counts.compilations for step in seen.steps)
        return (
            f"{_times(total, 'compilation')} in {_times(len(seen.steps), 'step')}, and {limit} allowed; no host syncs"
        )
    compiled = [step for step in seen.steps if step.counts.compilations]
    new = [step for step in compiled if step.number >= WARM_UP]
    total = sum(step.counts.compilations for step in compiled if step.number < WARM_UP)
    said = {0: "compiles nothing", 1: "compiles once"}.get(total, f"compiles {total} times, all in the warm-up")
    if new:
        count = sum(step.counts.compilations for step in new)
        seconds = sum(step.seconds for step in new) / len(new)
        said += f", and for new sizes {_times(count, 'time')} more ({_share_of(len(new), seen)}, {seconds:.2g} s each)"
    return f"{said}; no host syncs"


def _share_of(steps: int, seen: Observation) -> str:
    varied = sum(step.sizes not in [one.sizes for one in seen.steps[: step.number]] for step in seen.steps[WARM_UP:])
    return f"{steps} of {varied} sizes"


def _causes(steps: Sequence[Step]) -> Iterator[StepCause]:
    """The events of all steps, those of one line and kind together: what repeats first."""
    again = {step.number for step in _again(steps)}
    found: dict[tuple[bool, EventKind, Place | None], list[tuple[int, int, str]]] = {}
    for step in steps:
        for event in step.events:
            expected = event.kind == "compilation" and step.number not in again
            found.setdefault((expected, event.kind, event.place), []).append((step.number, event.count, event.what))
    for (expected, kind, place), told in sorted(found.items(), key=lambda item: (item[0][0], -len(item[1]))):
        numbers = tuple(dict.fromkeys(number for number, _, _ in told))
        count = sum(count for _, count, _ in told)
        yield StepCause(kind, told[-1][2], place, count, numbers, expected)


def _at(causes: Sequence[StepCause], kind: EventKind, line: Line) -> str:
    """The lines to blame, the first few of them."""
    places = [cause.place for cause in causes if cause.kind == kind and cause.place is not None and not cause.expected]
    if not places:
        return ""
    more = f" and {len(places) - _SHOWN} more" if len(places) > _SHOWN else ""
    return f": {', '.join(line(place) for place in places[:_SHOWN])}{more}"


def _share(steps: Sequence[int], of: range, when: str = "") -> str:
    if len(steps) >= len(of):
        return f"in every step{when}"
    return f"in {len(steps)} of {_times(len(of), 'step')}{when}"


def _times(count: int, what: str) -> str:
    return f"{count} {what}" if count == 1 else f"{count} {what}s"
