"""Is a rewrite proven? The same values on the same inputs, and no more compilations, reads and fallbacks. Runs in the child process.

Values are compared as Python says them, eagerly: what a rewrite mends often cannot be compiled at all. What the rewrite gives when it is
compiled is compared besides.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import msgspec

from xlalint.verify import places
from xlalint.verify.alarms import alarm
from xlalint.verify.ambient import keep_settings
from xlalint.verify.backends import Backend, Content, Options, Program, Result, TracingBackend
from xlalint.verify.closeness import difference
from xlalint.verify.comparison import Draw, Pair, compare
from xlalint.verify.counterexample import text_of
from xlalint.verify.emitted import listening
from xlalint.verify.inputs import STEPS, WARM_UP
from xlalint.verify.inputs.draws import draw
from xlalint.verify.loading import LoadError, format_callee, load
from xlalint.verify.model import Counts, Specs, Step, Subject, Verdict
from xlalint.verify.numbering import Numbering, Traced, refusing_what_tells
from xlalint.verify.requests import Job, Way
from xlalint.verify.searching import quiet, runs, search
from xlalint.verify.stepwise import TRACED_ONCE, find_left

_SEARCH = 20.0  # seconds to look for inputs of a job's first way; half of it for the second, and so on
_CALL = 5.0  # seconds that a call of the comparison may take
_TRACED = 20.0  # seconds to trace both programs
_COMPILED = 20.0  # seconds that a step on the device may take, its compilation included
_LOOSE = 2e-3  # what compiled arithmetic may be off: XLA fuses, and adds in an order of its own
_COUNTED = (
    ("transfers", "waits for the host {} times, {} before"),
    ("fallbacks", "runs {} operations on the CPU, {} before"),
    ("graph_breaks", "breaks the graph {} times, {} before"),
)
_EVENTS = {
    "host-sync": ("host-sync",),
    "control-flow": ("host-sync", "graph-break"),
    "dynamic-shape": ("compilation", "fallback"),
}
_OF_MEMORY = ("layout", "arguments")
_PROVEN = ("proven", "proven-except-check")
_ALONE_SAME = "the rewritten lines alone are the same, whatever becomes of"
_ENOUGH = WARM_UP + 1  # steps that must run, so that something is known of those after the warm-up
_COMPILE, _STAND = Options(), Options(mode="as-written", effects=True)
_AS_WRITTEN = 3  # steps of the programs as they stand: in the second, nothing is compiled any more
_GIVEN = "it gives arguments away, which callers must not use again"


class Eager:
    """A backend that compiles nothing: what the Python says."""

    def __init__(self, backend: Backend) -> None:
        self.name = backend.name
        self.settings = backend.settings
        self._backend = backend

    def run(
        self, program: Program, steps: Sequence[Mapping[str, Any]], options: Options
    ) -> Iterator[tuple[Step, Result]]:
        yield from self._backend.run(program, steps, options._replace(mode="eager"))


class Counted(NamedTuple):
    """Counts what a program did on the device, up to the error that ended it, at its line, if one did."""

    steps: list[Step]
    results: list[Result]
    error: str = ""
    line: int = 0

    @property
    def counts(self) -> Counts:
        """Of all steps together."""
        total = Counts()
        for step in self.steps:
            total += step.counts
        return total

    @property
    def pairs(self) -> list[tuple[Step, Result]]:
        """Steps and results."""
        return list(zip(self.steps, self.results, strict=True))

    @property
    def again(self) -> int:
        """Compilations after the warm-up."""
        return sum(step.counts.compilations for step in self.steps[WARM_UP:])


class Case(NamedTuple):
    """Holds one comparison: the subjects and programs before and after, their inputs, and what a counterexample calls."""

    subjects: tuple[Subject, Subject]
    programs: tuple[Program, Program]
    specs: Specs
    name: str


class Attempt(NamedTuple):
    """A verdict; `cached`: the rewrite was compiled before in this process, so that nothing can be said of how often it is."""

    verdict: Verdict
    cached: bool = False


class JobProver:
    """Verifies rewrites with one backend; what a function does on the device before any is found out once."""

    def __init__(self, backend: Backend) -> None:
        self._backend = backend
        self._eager = Eager(backend)
        self._before: dict[tuple[bytes, bytes], Counted] = {}

    def prove(self, job: Job) -> Attempt:
        """The verdict on a rewrite: of the first way that leads to one. Where none does, the reasons of all."""
        reasons, text = list(job.reasons), ""
        for number, way in enumerate(job.ways):
            try:
                shown = self._prove(way, job, _SEARCH / (number + 1))
            except (Exception, SystemExit) as error:  # noqa: BLE001 (what the user's code makes of these steps proves nothing)
                shown = Attempt(Verdict("unverified", places.headline(error)))
            verdict = _note(shown.verdict, way)
            if verdict.kind == "refuted" and way.partial:
                # A difference that may be none to the lines that follow: a padded result, whose padding they ignore.
                text = text or verdict.counterexample
            elif verdict.kind in _PROVEN and way.assumed:
                verdict = Verdict("unverified", f"{_ALONE_SAME} {way.assumed}, which others stand for")
            elif shown.cached or verdict.kind != "unverified":
                return shown._replace(verdict=verdict)
            reasons.append(verdict.reason)
        return Attempt(Verdict("unverified", "; ".join(dict.fromkeys(reasons)) or "nothing can be run", text))

    def _prove(self, way: Way, job: Job, seconds: float) -> Attempt:
        found = search(self._backend, [before for before, _ in way.subjects], way.candidates, way.lines, seconds)
        if found.program is None:
            return Attempt(Verdict("unverified", f"no inputs were found on which it runs: {found.told.reason}"))
        if not found.reached:
            return Attempt(Verdict("unverified", "no inputs were found on which it reaches the rewritten lines"))
        subjects, specs = way.subjects[found.told.subject], way.candidates[found.told.candidate]
        before = load(subjects[0])
        try:
            after = load(subjects[1])
            after.make()
        except LoadError as error:
            return Attempt(Verdict("refuted", f"the rewritten file does not load: {error}"))
        case = Case(subjects, (before, after), specs, format_callee(subjects[0]))
        # What stops a tracer, as the lines of these findings do, is not given to one.
        equal = "" if job.kind in _EVENTS else equal_by_trace(self._backend, subjects, specs)
        pair = Pair(self._eager, before, after, patience=_CALL, mode="eager", equal=equal)
        verdict = compare(pair, specs, case.name, lambda step: None, lambda step: None)
        if verdict.kind == "refuted" and way.borrowed:
            inside = compare(pair._replace(unlike=_OF_MEMORY), specs, case.name, lambda step: None, lambda step: None)
            if inside.kind != "refuted":
                held = " or ".join(f"`{name}`" for name in way.borrowed)
                return Attempt(
                    Verdict("unverified", f"{verdict.reason}, which shows where something else holds {held}")
                )
        if verdict.kind in ("refuted", "unverified"):
            return Attempt(verdict)
        return self._on_device(case, way, job, verdict)

    def _on_device(self, case: Case, way: Way, job: Job, verdict: Verdict) -> Attempt:
        """Compare a rewrite that gives the same values with the original on the device."""
        before, after = case.programs
        eager = before._replace(make=_once(before))
        numbers = [number for number in range(STEPS) if not runs(self._backend, eager, case.specs, (number,))]
        if len(numbers) < _ENOUGH:
            reason = f"the original runs on {len(numbers)} of {STEPS} steps, too few to count on"
            return Attempt(Verdict("unverified", reason))
        draws = [draw(case.specs, number) for number in numbers]
        # The rewrite first: what the original has compiled is not compiled again for it.
        now = _count(self._backend, after, draws)
        cached = not now.error and not now.counts.compilations and bool(now.counts.executions)
        was = self._was(case, draws)

        def show(index: int) -> str:
            return text_of(self._backend.name, case.name, case.specs, Draw("step", numbers[index], draws[index]))

        if now.error:
            raised = show(min(len(now.steps), len(draws) - 1))
            return Attempt(_judge_stopped(was, now, way, job, verdict, raised))
        reference = was.results if not was.error else self._as_python_says(before, draws)
        for index, (one, other) in enumerate(zip(reference, now.results, strict=False)):
            why = _device_difference(one.outputs, other.outputs)
            if why and not self._as_well(was, before, draws[index], other.outputs):
                return Attempt(Verdict("refuted", f"values when compiled: {why}", show(index)))
        worse = _worse(was, now, way, job)
        index, left = self._find_left(case, draws, was, now, job) if worse is None else (0, "")
        if left:
            return Attempt(Verdict("refuted", left, show(index)))
        if worse is None:
            said = _gain(was, now, verdict)
            if job.gives_away:
                said = f"{said}; {_GIVEN}"
            more = (
                "; other findings in the function still have it compiled again" if job.others and now.again > 1 else ""
            )
            return Attempt(msgspec.structs.replace(verdict, reason=f"{said}{more}"), cached and not job.others)
        text = show(len(draws) - 1) if worse.kind == "refuted" else ""
        return Attempt(msgspec.structs.replace(worse, counterexample=text), cached)

    def _find_left(
        self, case: Case, draws: Sequence[Mapping[str, Any]], was: Counted, now: Counted, job: Job
    ) -> tuple[int, str]:
        """Find in what the rewrite leaves something else behind where something is compiled, and in which step: all of it, or, as it
        stands, what it compiles itself.
        """
        if self._backend.name not in TRACED_ONCE:
            return 0, ""
        index, left = find_left(was.pairs, now.pairs, gives_away=job.gives_away)
        if left:
            return index, f"{left} (compiled)"
        before, after = (_count(self._backend, one, draws[:_AS_WRITTEN], _STAND) for one in case.programs)
        if before.error:
            return 0, ""
        if after.error:
            return len(after.steps), f"as it stands it raises {after.error}, and did not before"
        index, left = find_left(before.pairs, after.pairs, gives_away=job.gives_away)
        return index, f"{left} (as it stands)" if left else ""

    def _was(self, case: Case, draws: Sequence[Mapping[str, Any]]) -> Counted:
        key = msgspec.msgpack.encode(case.subjects[0]), msgspec.msgpack.encode(case.specs)
        if key not in self._before:
            self._before[key] = _count(self._backend, case.programs[0], draws)
        return self._before[key]

    def _as_python_says(self, program: Program, draws: Sequence[Mapping[str, Any]]) -> list[Result]:
        with quiet():
            return [result for _, result in self._eager.run(program, draws, Options())]

    def _as_well(self, was: Counted, program: Program, values: Mapping[str, Any], other: Content) -> bool:
        """Return whether a rewrite's compiled results are right all the same: they equal Python's, or are as random as the original's."""
        first, later = (result.outputs for result in self._as_python_says(program, [values, values]))
        if not was.error and not _device_difference(first, other):
            return True
        return bool(was.error) and bool(difference(first.leaves, later.leaves))


def equal_by_trace(backend: Backend | TracingBackend, subjects: tuple[Subject, Subject], specs: Specs) -> str:
    """Say by what two subjects are equal for all values, "" where no trace tells."""
    if not isinstance(backend, TracingBackend):
        return ""
    numbering = Numbering()
    try:
        with quiet(), alarm(_TRACED):
            one, other = (_trace(backend, subject, specs, numbering) for subject in subjects)
    except (Exception, SystemExit):  # noqa: BLE001 (draws tell then)
        return ""
    if not one.equals(other):
        return ""
    return (
        f"the same {backend.traces}: values and gradients are equal for all values of arrays of these shapes and dtypes"
    )


def _trace(backend: TracingBackend, subject: Subject, specs: Specs, numbering: Numbering) -> Traced:
    program = load(subject)
    with keep_settings(), refusing_what_tells(program.file):
        return backend.trace(program, draw(specs, 0), numbering)


def _device_difference(one: Content, other: Content) -> str:
    """In what values differ that compiled programs gave: their containers are compared as Python gives them."""
    return difference(one.leaves, other.leaves, loose=_LOOSE, paths=one.paths, signs=False)


def _note(verdict: Verdict, way: Way) -> Verdict:
    if not way.note:
        return verdict
    text = f"{way.source.rstrip()}\n\n\n{verdict.counterexample}" if verdict.counterexample else ""
    return msgspec.structs.replace(verdict, reason=f"{verdict.reason} ({way.note})", counterexample=text)


def _judge_stopped(before: Counted, after: Counted, way: Way, job: Job, verdict: Verdict, text: str) -> Verdict:
    """The verdict on a rewrite with which the device still cannot run the function."""
    if not before.error:
        return Verdict("refuted", f"on the device it raises {after.error}, and did not before", text)
    others = any(way.lines[0] <= row <= way.lines[1] for row in job.others)
    if way.after_lines[0] <= after.line <= way.after_lines[1] and not others:
        return Verdict("unverified", f"{verdict.reason}, but the rewritten lines still stop XLA: {after.error}")
    at = f" (line {after.line})" if after.line else ""
    return msgspec.structs.replace(verdict, reason=f"{verdict.reason}; other findings still stop XLA{at}")


def _worse(before: Counted, after: Counted, way: Way, job: Job) -> Verdict | None:
    """In what the rewrite does worse on the device, None where in nothing."""
    if not job.others:
        here = _at(after, way.after_lines, ("compilation",))
        if (not before.error and after.again > before.again) or (job.kind and after.again > 1 and here > 1):
            return Verdict("refuted", f"it compiles {after.again} times after the warm-up")
    if before.error:
        return None
    for field, text in _COUNTED:
        one, other = getattr(before.counts, field), getattr(after.counts, field)
        if other > one:
            return Verdict("refuted", f"it {text.format(other, one)}")
    # Each program is compiled. Compilations do not tell: what both have in common was compiled for the rewrite, which ran first. What ran
    # no program computed on the host.
    if 0 < before.counts.executions < after.counts.executions:
        said = f"it runs {after.counts.executions} programs on the device, {before.counts.executions} before"
        return Verdict("refuted", said)
    kinds = _EVENTS.get(job.kind, ())
    seen, left = _at(before, way.lines, kinds), _at(after, way.after_lines, kinds)
    if seen and left >= seen and not job.others:
        return Verdict("refuted", f"the rewritten lines still have {left} events of that kind, {seen} before")
    return None


def _at(counted: Counted, lines: tuple[int, int], kinds: Sequence[str]) -> int:
    """How many events of some kinds came from some lines; compilations after the warm-up only."""
    return sum(
        event.count
        for step in counted.steps
        for event in step.events
        if event.kind in kinds
        and (event.kind != "compilation" or step.number >= WARM_UP)
        and event.place is not None
        and lines[0] <= event.place.line <= lines[1]
    )


def _gain(before: Counted, after: Counted, verdict: Verdict) -> str:
    if before.error:
        return f"{verdict.reason}; XLA refused it before ({before.error[:80]})"
    fields = (("compilations", "compilations"), ("transfers", "host syncs"), ("fallbacks", "fallbacks"))
    told = [
        f"{name} {getattr(before.counts, field)} → {getattr(after.counts, field)}"
        for field, name in fields
        # Graphs that both have were compiled for the rewrite, which ran first: the original seems to compile fewer.
        if getattr(before.counts, field) > getattr(after.counts, field)
    ]
    return f"{verdict.reason}; {', '.join(told)}" if told else verdict.reason


def _count(
    backend: Backend, program: Program, draws: Sequence[Mapping[str, Any]], options: Options = _COMPILE
) -> Counted:
    """Run a program on the device and count; results tell what was said. Raises if it takes too long."""
    steps: list[Step] = []
    results: list[Result] = []
    try:
        with keep_settings():
            running = backend.run(program, [dict(one) for one in draws], options)
            while True:
                with alarm(_COMPILED), listening() as heard:
                    told = next(running, None)
                if told is None:
                    return Counted(steps, results)
                step, result = told
                steps.append(step)
                results.append(result._replace(effects={**result.effects, **heard.effects()}))
    except (Exception, SystemExit) as error:  # noqa: BLE001 (whatever it is, it is what was seen)
        place = places.of_error(error, program.file)
        line = place.line if place is not None and place.file == program.file else 0
        return Counted(steps, results, places.headline(error), line)


def _once(program: Program) -> Any:
    """Gives the same callable again and again: it is only asked whether it runs."""
    made: list[Any] = []

    def make() -> Any:
        if not made:
            made.append(program.make())
        return made[0]

    return make
