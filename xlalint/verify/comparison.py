"""Two programs on the same inputs: are their values, dtypes, shapes, gradients and effects the same? Runs in the child process.

Nothing is promised for inputs on which the first program raises. Where the programs differ, the smallest inputs that show it are looked for
and told as Python text.
"""

from __future__ import annotations

import contextlib
import io
import itertools
import signal
from collections.abc import Callable, Iterator, Mapping, Sequence
from types import FrameType
from typing import Any, NamedTuple, Union

import numpy as np

from xlalint.verify import places
from xlalint.verify.backends import Backend, Leaf, Mode, Options, Program, Result
from xlalint.verify.counterexample import size_of, text_of
from xlalint.verify.inputs.draws import Values, edges, resize
from xlalint.verify.model import Specs, Step, Verdict

ENOUGH = 8  # draws on which the first program must run before anything is proven
_TOLERANCES = {"float16": 4e-3, "bfloat16": 3e-2, "float64": 1e-9, "complex128": 1e-9}
_TOLERANCE = 2e-5


class Raised(NamedTuple):
    """A program raised this on some inputs; `endless`: it took too long."""

    what: str
    endless: bool = False


class Draw(NamedTuple):
    """Inputs, with the edge that they are at and their number among those of that edge."""

    edge: str
    number: int
    values: Values


class Difference(NamedTuple):
    """Two programs do not do the same on a draw: in this respect ("values", "gradients", "state", …), in these words."""

    draw: Draw
    respect: str
    why: str


Outcome = Union[Result, Raised]
Hear = Callable[[Step], None]


class Pair(NamedTuple):
    """Two programs, and how they are compared: `exact`ly or within what dtypes hold; edges and respects of `unlike` do not count;
    `patience` is how many seconds one call may take. In the mode "eager", which costs no compilation, programs begin anew at each edge, so
    that what one leaves behind hides nothing at the next; and what they print counts, which under a compiler is printed while it traces.
    """

    backend: Backend
    before: Program
    after: Program
    exact: bool = False
    unlike: tuple[str, ...] = ()
    patience: float = 0.0
    mode: Mode = "compiled"


def compare(pair: Pair, specs: Specs, name: str, hear_before: Hear, hear_after: Hear) -> Verdict:
    """The verdict on two programs, over steps and edges. Steps with ordinary values are heard, for what they count.

    `name` is what a counterexample calls; `specs` are the inputs of both.
    """
    draws = [draw for draw in _draws(specs) if draw.edge not in pair.unlike]
    gradients = "gradients" not in pair.unlike
    segments = _segments(pair, draws)
    expected = _outcomes(pair, pair.before, draws, segments, gradients, hear_before)
    if gradients and all(isinstance(one, Raised) for one in expected.values()):
        gradients = False
        expected = _outcomes(pair, pair.before, draws, segments, gradients, hear_before)
    ran = {index: one for index, one in expected.items() if isinstance(one, Result)}
    parts = [part for segment in segments for part in _runs([index for index in segment if index in ran])]
    found = _outcomes(pair, pair.after, draws, parts, gradients, hear_after, like=ran)
    differing = [one for index, after in found.items() for one in _differences(pair, ran[index], after, draws[index])]
    if not differing and len(ran) < ENOUGH:
        raised = next((one.what for one in expected.values() if isinstance(one, Raised)), "no inputs were drawn")
        return Verdict("unverified", f"the original ran on {len(ran)} of {len(draws)} draws: {raised}")
    if not differing:
        return Verdict("proven", f"the same on {len(ran)} draws{'' if gradients else ', of values alone'}")
    last = list(found.values())[-1]
    if isinstance(last, Raised) and last.endless:
        text = text_of(pair.backend.name, name, specs, differing[-1].draw)
        return Verdict("refuted", f"values: {differing[-1].why}", text)
    # The smallest inputs that show it; empty ones only where no others do.
    first = min(differing, key=lambda one: (not (size := size_of(one.draw.values)), size, one.draw.edge != "step"))
    return _refute(pair, specs, name, first, gradients)


def _draws(specs: Specs) -> list[Draw]:
    found: dict[str, int] = {}
    draws = []
    for edge, values in edges(specs):
        number = found.get(edge, 0)
        found[edge] = number + 1
        draws.append(Draw(edge, number, values))
    return draws


def _segments(pair: Pair, draws: Sequence[Draw]) -> list[list[int]]:
    """The draws, by number, that one instance of a program is called with in a row."""
    if pair.mode != "eager":
        return [list(range(len(draws)))]
    steps = [index for index, draw in enumerate(draws) if draw.edge == "step"]
    return [steps, *([index] for index, draw in enumerate(draws) if draw.edge != "step")]


def _runs(indices: Sequence[int]) -> list[list[int]]:
    """Ascending numbers, cut where one is missing."""
    cut = itertools.groupby(enumerate(indices), lambda pair: pair[1] - pair[0])
    return [[index for _, index in group] for _, group in cut]


def _outcomes(
    pair: Pair,
    program: Program,
    draws: Sequence[Draw],
    segments: Sequence[Sequence[int]],
    gradients: bool,
    hear: Hear = lambda step: None,
    *,
    like: Mapping[int, Result] | None = None,
) -> dict[int, Outcome]:
    """Run a program on draws; return the outcomes by the draws' numbers. It starts anew with each segment of draws, and after each draw
    on which it raises, so that both programs keep the same state from call to call.

    `like`: what the first program did, of the second. Its gradients come from the outputs that had some in the first: those that only now
    have some change no training that was. Nothing comes after a draw that takes too long.
    """
    outcomes: dict[int, Outcome] = {}
    for segment in segments:
        left = list(segment)
        while left:
            ends = [like[index].ends for index in left] if like is not None else None
            options = Options(gradients=gradients, mode=pair.mode, ends=ends)
            done = 0
            try:
                for step, result in _limit(pair, program, [draws[index] for index in left], options):
                    if draws[left[done]].edge == "step":
                        hear(step)
                    outcomes[left[done]] = result
                    done += 1
            except (Exception, SystemExit) as error:  # noqa: BLE001 (whatever it is, it is what the program does)
                outcomes[left[done]] = Raised(places.headline(error), isinstance(error, TimeoutError))
                done += 1
                if like is not None and isinstance(error, TimeoutError):
                    return outcomes
            else:
                outcomes.update(dict.fromkeys(left[done:], Raised("gave no result")))
                break
            left = left[done:]
    return outcomes


def _limit(pair: Pair, program: Program, draws: Sequence[Draw], options: Options) -> Iterator[tuple[Step, Result]]:
    """A program's steps; one that takes too long raises `TimeoutError`: a loop that waits for a NaN to become small never ends."""
    running = pair.backend.run(program, [_copy(draw.values) for draw in draws], options)
    while True:
        out = io.StringIO()
        with alarm(pair.patience), contextlib.redirect_stdout(out):
            told = next(running, None)
        if told is None:
            return
        step, result = told
        if pair.mode == "eager":
            result = result._replace(effects={**result.effects, "printed": [("none", out.getvalue())]})
        yield step, result


def _copy(values: Values) -> Values:
    """Values of their own: a tensor may share its memory with the array that it was made from, and be changed in place."""
    return {name: value.copy() if isinstance(value, np.ndarray) else value for name, value in values.items()}


@contextlib.contextmanager
def alarm(seconds: float) -> Iterator[None]:
    """Raise `TimeoutError` in code that takes longer; 0.0 is no limit."""

    def stop(number: int, frame: FrameType | None) -> None:
        raise TimeoutError(f"not done within {seconds:g} s")

    if not seconds:
        yield
        return
    before = signal.signal(signal.SIGALRM, stop)
    signal.setitimer(signal.ITIMER_REAL, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)


def _differences(pair: Pair, before: Outcome, after: Outcome, draw: Draw) -> Iterator[Difference]:
    """In what two outcomes differ; nothing is promised where the first program raised."""
    if isinstance(before, Raised):
        return
    if isinstance(after, Raised):
        yield Difference(draw, "values", f"raises {after.what}")
        return
    respects = {"values": (before.outputs, after.outputs)}
    respects |= {name: (before.effects[name], after.effects.get(name, [])) for name in before.effects}
    if not before.refused:
        respects["gradients"] = (before.gradients, after.gradients)
        if after.refused:
            respects["gradients"] = ([("none", "some")], [("none", f"none: {after.refused}")])
    for respect, (one, other) in respects.items():
        if respect not in pair.unlike and (why := difference(one, other, pair.exact)):
            yield Difference(draw, respect, why)


def difference(one: Sequence[Leaf], other: Sequence[Leaf], exact: bool, loose: float = 0.0) -> str | None:
    """Why two lists of values are not the same, or None: exactly, or within what the dtype can hold, a Python number being as good as
    an array of no dimensions. `loose` is the least tolerance where it is not exact.
    """
    if len(one) != len(other):
        return f"{len(one)} values against {len(other)}"
    for (kind, a), (other_kind, b) in zip(one, other, strict=True):
        if "none" in (kind, other_kind):
            if kind != other_kind or str(a) != str(b):
                return f"{a} against {b}"
        elif kind != other_kind and (exact or "python" not in (kind, other_kind)):
            return f"dtype {kind} against {other_kind}"
        elif a.shape != b.shape:
            return f"shape {a.shape} against {b.shape}"
        elif not (close := _close(a, b, 0.0 if exact else max(_tolerance(kind), _tolerance(other_kind), loose))).all():
            where = np.argwhere(~close)[:4]
            at = ", ".join(str(tuple(map(int, index))) for index in where)
            shown = [", ".join(str(array[tuple(index)]) for index in where) for array in (a, b)]
            return f"at {at}: {shown[0]} against {shown[1]}" if a.shape else f"{shown[0]} against {shown[1]}"
    return None


def _tolerance(kind: str) -> float:
    return _TOLERANCES.get(kind, _TOLERANCE)


def _close(a: Any, b: Any, tolerance: float) -> Any:
    if "bfloat16" in (a.dtype.name, b.dtype.name):
        a, b = a.astype("float32"), b.astype("float32")
    if a.dtype.kind in "fciub" and b.dtype.kind in "fciub":
        return np.asarray(np.isclose(a, b, rtol=tolerance, atol=tolerance, equal_nan=True))
    return np.asarray(a == b)


def _refute(pair: Pair, specs: Specs, name: str, first: Difference, gradients: bool) -> Verdict:
    """The verdict with the smallest inputs found that show a difference by themselves; where only a sequence of calls shows it, the
    reason says so.
    """

    def alone(draw: Draw) -> Difference | None:
        before = _outcomes(pair, pair.before, [draw], [[0]], gradients)[0]
        if isinstance(before, Raised):
            return None
        after = _outcomes(pair, pair.after, [draw], [[0]], gradients, like={0: before})[0]
        return next(_differences(pair, before, after, draw), None)

    shown = alone(first.draw)
    if shown is None:
        reason = f"{first.respect}: {first.why}, after {first.draw.number + 1} calls that keep something from one to the next"
        return Verdict("refuted", reason, text_of(pair.backend.name, name, specs, first.draw))
    for candidate in _smaller(specs, first.draw):
        if (smaller := alone(candidate)) is not None:
            shown = smaller
            break
    for decimals in (0, 1, 2):
        if (rounder := alone(shown.draw._replace(values=_round_all(shown.draw.values, decimals)))) is not None:
            shown = rounder
            break
    edge = "" if shown.draw.edge == "step" else f" ({shown.draw.edge})"
    text = text_of(pair.backend.name, name, specs, shown.draw)
    return Verdict("refuted", f"{shown.respect}: {shown.why}{edge}", text)


def _smaller(specs: Specs, draw: Draw) -> Iterator[Draw]:
    """Draws of the same edge with fewer elements along the first dimension, fewest first."""
    known = size_of(draw.values)
    for size in (1, 2, 3):
        for edge, values in edges(resize(specs, size)):
            if edge == draw.edge and size_of(values) < known:
                yield Draw(edge, -1, values)


def _round_all(values: Values, decimals: int) -> Values:
    def round_one(value: Any) -> Any:
        floating = isinstance(value, np.ndarray) and value.dtype.kind == "f"
        return np.asarray(np.round(value, decimals)) if floating else value

    return {name: round_one(value) for name, value in values.items()}
