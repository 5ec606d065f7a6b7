"""Joins what a script did, by line of source, with the predictions."""

from __future__ import annotations

import ast
import bisect
import re
from collections import Counter, defaultdict, deque
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from functools import cache
from statistics import median

from msgspec import Struct
from msgspec.structs import replace

from xlalint.diagnostics.finding import Finding
from xlalint.rules import NO_POLICY, policies
from xlalint.verify.model import Counts, Event, EventKind, Place, Step
from xlalint.verify.recording import Recording
from xlalint.verify.seen import shorten_path

_SHAPE = re.compile(r"\[[\d, ]*\]|\((?:\d+,\s*)*\d*,?\)")
_AHEAD = 3  # steps within which a batch is used: loaders fetch ahead
_FAMILIES = {"control-flow", "dynamic-shape", "host-sync", "recompile", "unsupported", "graph-break"}
"""The kinds of findings that a run can bear out; settings cannot be seen at work."""


class Cause(Struct, frozen=True):
    """A framework's words for why something happened, `count` times in all; `alike` others differ from it in numbers only."""

    what: str
    count: int
    alike: int = 0


class Line(Struct, frozen=True):
    """Describes the cost of one line after the warm-up, in events of one kind, and what was predicted there.

    `causes` has the most frequent first; `seconds` is what it took, `steps` in how many steps. The place has no file where the framework
    tells no line. `makers` are lines that batches of another shape came from, where a loader told them.
    """

    kind: EventKind
    place: Place
    count: int
    seconds: float
    steps: int
    causes: tuple[Cause, ...]
    findings: tuple[Finding, ...] = ()
    makers: tuple[Place, ...] = ()


class Joined(Struct, frozen=True):
    """A run against its prediction: lines with what they cost, the costliest first, and findings that nothing bore out.

    `counts` is what was counted after the warm-up, in `measured` steps, `warm` all before and, if no step was noticed, all there was.
    `unrun` are findings in files that the script did not import.
    """

    recording: Recording
    warmup: int
    measured: int
    counts: Counts
    warm: Counts
    lines: tuple[Line, ...]
    predicted_only: tuple[Finding, ...]
    unrun: tuple[Finding, ...]

    @property
    def predicted(self) -> tuple[Line, ...]:
        """Lines that were predicted and observed."""
        return tuple(line for line in self.lines if line.findings)

    @property
    def observed_only(self) -> tuple[Line, ...]:
        """Lines that the analysis missed."""
        return tuple(line for line in self.lines if not line.findings)


def join(
    recording: Recording, findings: Sequence[Finding], warmup: int, text_of: Callable[[str], str | None]
) -> Joined:
    """Join a run with the findings in its files; `warmup` steps of each name do not count, `text_of` gives a file's text."""
    measured = tuple(after_warmup(owed_to_batches(recording.steps), warmup))
    every = recording.steps or ((recording.rest,) if recording.rest else ())
    blocks = cache(lambda file: Statements(text_of(file) or ""))
    wanted = [finding for finding in findings if finding.kind in _FAMILIES and finding.cell is None]
    files = set(recording.files)
    lines = [_with_findings(line, wanted, blocks, files) for line in (*_lines(measured), *_crash(recording))]
    met = {id(finding) for line in lines for finding in line.findings}
    left = [finding for finding in wanted if id(finding) not in met]
    return Joined(
        recording,
        warmup,
        len(measured),
        _total(step.counts for step in measured),
        _total(step.counts for step in every) - _total(step.counts for step in measured),
        tuple(sorted(lines, key=lambda line: (-line.seconds, -line.count, line.place.file, line.place.line))),
        tuple(finding for finding in left if finding.filename in files),
        tuple(finding for finding in left if finding.filename not in files),
    )


def after_warmup(steps: Iterable[Step], warmup: int) -> Iterator[Step]:
    """The steps but for the first few of each name."""
    seen: Counter[str] = Counter()
    for step in steps:
        seen[step.name] += 1
        if seen[step.name] > warmup:
            yield step


def owed_to_batches(steps: Iterable[Step]) -> Iterator[Step]:
    """The steps, with what was compiled soon after a batch of a new shape told of the line where such batches are made."""
    fresh: deque[tuple[Event, ...]] = deque(maxlen=_AHEAD)
    for step in steps:
        fresh.append(tuple(event for event in step.events if event.kind == "new-shape"))
        maker = next((event for events in reversed(fresh) for event in events), None)
        events = (_find_owed(event, maker) if maker else event for event in step.events if event.kind != "new-shape")
        yield replace(step, events=tuple(events))


def _find_owed(event: Event, maker: Event) -> Event:
    if event.kind != "compilation" or maker.place is None:
        return event
    at = f" ({shorten_path(event.place.file)}:{event.place.line})" if event.place and event.place != maker.place else ""
    return replace(
        event, what=f"{maker.what}; {event.what}{at}", place=maker.place, related=(maker.place, *maker.related)
    )


def attribute_seconds(step: Step, usual: float) -> Mapping[int, float]:
    """Return the seconds that each event of a step cost, by index: as measured, else its share of what the step took beyond the usual."""
    unknown = [index for index, event in enumerate(step.events) if not event.seconds]
    known = sum(event.seconds for event in step.events)
    share = (
        max(step.seconds - usual - known, 0.0) / sum(step.events[index].count for index in unknown) if unknown else 0.0
    )
    return {index: event.seconds or share * event.count for index, event in enumerate(step.events)}


def usual_seconds(steps: Sequence[Step]) -> dict[str, float]:
    """Return the seconds that a step of each name takes if nothing is compiled: the median; all of it where something always is."""
    clean: dict[str, list[float]] = defaultdict(list)
    every: dict[str, list[float]] = defaultdict(list)
    for step in steps:
        every[step.name].append(step.seconds)
        if not step.counts.compilations:
            clean[step.name].append(step.seconds)
    return {name: median(clean.get(name) or seconds) for name, seconds in every.items()}


def _lines(steps: Sequence[Step]) -> list[Line]:
    usual = usual_seconds(steps)
    grouped: dict[tuple[EventKind, Place], list[tuple[Step, Event, float]]] = defaultdict(list)
    for step in steps:
        seconds = attribute_seconds(step, usual[step.name])
        for index, event in enumerate(step.events):
            grouped[event.kind, event.place or Place("", 0)].append((step, event, seconds[index]))
    return [_line(kind, place, told) for (kind, place), told in grouped.items()]


def _crash(recording: Recording) -> Iterator[Line]:
    """The line of the exception that ended a script, if one did."""
    for event in recording.rest.events if recording.rest else ():
        if event.kind == "error" and event.place is not None:
            yield Line("error", event.place, 1, 0.0, 1, (Cause(event.what, 1),))


def _line(kind: EventKind, place: Place, told: Sequence[tuple[Step, Event, float]]) -> Line:
    words: Counter[str] = Counter()
    for _, event, _ in told:
        words[event.what] += event.count
    steps = len({step.number for step, _, _ in told})
    makers = tuple(dict.fromkeys(maker for _, event, _ in told for maker in event.related))
    return Line(kind, place, words.total(), sum(one for *_, one in told), steps, tuple(_causes(words)), makers=makers)


def _causes(words: Counter[str]) -> Iterator[Cause]:
    """Words that differ only in numbers are one cause, told by the most frequent of them."""
    alike: dict[str, list[tuple[str, int]]] = defaultdict(list)
    for what, count in words.most_common():
        alike[re.sub(r"\d+", "0", what)].append((what, count))
    found = [Cause(some[0][0], sum(count for _, count in some), len(some) - 1) for some in alike.values()]
    yield from sorted(found, key=lambda cause: -cause.count)


def _with_findings(
    line: Line, findings: Sequence[Finding], blocks: Callable[[str], Statements], files: Collection[str]
) -> Line:
    """A line with the findings on its statement and, where something was compiled for a new shape, those of where such batches are made."""
    met = [one for one in findings if one.filename == line.place.file and _bears_out(line, one, blocks(one.filename))]
    if line.kind == "compilation" and any(of_shapes(cause.what) for cause in line.causes):
        shaping = [one for one in findings if one.filename in files and _shapes_batches(one)]
        met += [one for one in _find_made(line, shaping, blocks) if one not in met]
    return replace(line, findings=tuple(met))


def _shapes_batches(finding: Finding) -> bool:
    return policies().get(finding.code, NO_POLICY).shapes_batches


def _find_made(line: Line, shaping: list[Finding], blocks: Callable[[str], Statements]) -> list[Finding]:
    """The findings about what made the batches of a line: of the loader that they came from; where none is known, of the line's own file,
    or the only one that there is.
    """
    if line.makers:
        return [one for one in shaping if any(_is_at(one, maker, blocks) for maker in line.makers)]
    return [one for one in shaping if one.filename == line.place.file] or (shaping if len(shaping) == 1 else [])


def _is_at(finding: Finding, maker: Place, blocks: Callable[[str], Statements]) -> bool:
    """Return whether a finding is on the statement of a place, or in the function that begins there."""
    row, statements = finding.location.row, blocks(maker.file)
    return finding.filename == maker.file and (
        statements.same(row, maker.line) or statements.is_inside(row, maker.line)
    )


def _bears_out(line: Line, finding: Finding, statements: Statements) -> bool:
    """Return whether a line is on a finding's statement. What is compiled in a branch or loop is charged to its condition too."""
    row = finding.location.row
    conditional = finding.kind == "control-flow" and line.kind == "compilation"
    return statements.same(row, line.place.line) or (conditional and statements.governs(row, line.place.line))


def of_shapes(what: str) -> bool:
    """Return whether a compilation's reason is another shape: it mentions both."""
    return len(set(_SHAPE.findall(what))) > 1


class Statements:
    """Finds the rows of a file that belong to one statement, or to the header of one that holds others."""

    def __init__(self, text: str) -> None:
        try:
            tree = ast.parse(text)
        except (SyntaxError, ValueError):
            tree = ast.Module([], [])
        governing = (ast.If, ast.While, ast.For)
        self._ends = {node.lineno: node.end_lineno or 0 for node in ast.walk(tree) if isinstance(node, governing)}
        functions = (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda)
        self._functions = [
            (min([node.lineno, *(one.lineno for one in getattr(node, "decorator_list", ()))]), node.end_lineno or 0)
            for node in ast.walk(tree)
            if isinstance(node, functions)
        ]
        self._starts = sorted({node.lineno for node in ast.walk(tree) if isinstance(node, ast.stmt)})

    def same(self, row: int, other: int) -> bool:
        """Return whether two rows lie in one statement."""
        return row == other or (self._starts != [] and self._start(row) == self._start(other))

    def is_inside(self, row: int, start: int) -> bool:
        """Return whether a row lies in a function that starts at another."""
        return any(first == start and first <= row <= last for first, last in self._functions)

    def governs(self, row: int, other: int) -> bool:
        """Return whether a row is in the header of a branch or loop that contains another row."""
        index = self._start(row)
        start = self._starts[index - 1] if index else 0
        return start <= other <= self._ends.get(start, 0)

    def _start(self, row: int) -> int:
        return bisect.bisect_right(self._starts, row)


def _total(counts: Iterable[Counts]) -> Counts:
    total = Counts()
    for one in counts:
        total += one
    return total
