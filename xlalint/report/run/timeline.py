"""The steps of a run as bars: how many compilations and host syncs each had, and how long it took."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from typing import NamedTuple

from xlalint.report.run import duration
from xlalint.verify.joined import Joined, after_warmup
from xlalint.verify.model import Counts, Step

WIDTH, HEIGHT, LEFT = 1000, 64, 64
_MOST = 400  # bars; of more steps than that, several make one


class Bar(NamedTuple):
    """A rectangle, what it says when pointed at, and its looks."""

    x: float
    y: float
    width: float
    height: float
    title: str
    looks: str


class Lane(NamedTuple):
    """One row of bars, with the labels of its axis: text and y."""

    title: str
    bars: list[Bar]
    labels: list[tuple[str, float]]


class _Group(NamedTuple):
    """Successive steps that share a bar."""

    steps: Sequence[Step]
    counts: Counts
    warm: bool

    @property
    def seconds(self) -> float:
        """The longest: what is rare must not vanish in a mean."""
        return max(step.seconds for step in self.steps)

    @property
    def title(self) -> str:
        first, last = self.steps[0], self.steps[-1]
        steps = f"step {first.number}" if first is last else f"steps {first.number} to {last.number}"
        return f"{steps}, {first.name}{' (warm-up)' if self.warm else ''}"


def lanes(joined: Joined) -> list[Lane]:
    """The rows of the timeline; those of which there is nothing are left out."""
    groups = list(_groups(joined))
    if not groups:
        return []
    told: list[tuple[str, str, Callable[[Counts], int]]] = [
        ("compilations", "compilation", lambda counts: counts.compilations),
        ("host syncs", "host-sync", lambda counts: counts.transfers),
        ("fallbacks", "fallback", lambda counts: counts.fallbacks),
        ("graph breaks", "graph-break", lambda counts: counts.graph_breaks),
    ]
    found = [
        _counting(title, looks, groups, of)
        for title, looks, of in told
        if title == "compilations" or any(of(group.counts) for group in groups)
    ]
    return [*found, _timing(groups)]


def _groups(joined: Joined) -> Iterator[_Group]:
    steps = joined.recording.steps
    measured = {step.number for step in after_warmup(steps, joined.warmup)}
    size = math.ceil(len(steps) / _MOST) or 1
    for start in range(0, len(steps), size):
        some = steps[start : start + size]
        counts = Counts()
        for step in some:
            counts += step.counts
        yield _Group(some, counts, all(step.number not in measured for step in some))


def _counting(title: str, looks: str, groups: Sequence[_Group], of: Callable[[Counts], int]) -> Lane:
    most = max(max(of(group.counts) for group in groups), 1)
    bars = []
    for index, group in enumerate(groups):
        count = of(group.counts)
        if count:
            height = max(HEIGHT * count / most, 3.0)
            bars.append(
                _bar(
                    index,
                    len(groups),
                    height,
                    f"{group.title}: {count} {title}",
                    f"{looks}{' warm' if group.warm else ''}",
                )
            )
    return Lane(title, bars, [(str(most), 0.0), ("0", float(HEIGHT))])


def _timing(groups: Sequence[_Group]) -> Lane:
    """Bars on a logarithmic scale: a compilation takes a thousand times as long as a step."""
    seconds = [max(group.seconds, 1e-6) for group in groups]
    low, high = math.floor(math.log10(min(seconds))), math.ceil(math.log10(max(seconds)))
    low = min(low, high - 1)
    bars = []
    for index, (group, took) in enumerate(zip(groups, seconds, strict=True)):
        height = max(HEIGHT * (math.log10(took) - low) / (high - low), 1.0)
        looks = "compilation" if group.counts.compilations else "time"
        title = f"{group.title}: {duration(group.seconds)}"
        bars.append(_bar(index, len(groups), height, title, f"{looks}{' warm' if group.warm else ''}"))
    return Lane("time", bars, [(_axis(high), 0.0), (_axis(low), float(HEIGHT))])


def _axis(power: int) -> str:
    """A power of ten, in seconds."""
    return f"{10**power:,} s" if power >= 0 else f"{10 ** (power + 3):g} ms"


def _bar(index: int, count: int, height: float, title: str, looks: str) -> Bar:
    room = (WIDTH - LEFT) / max(count, 24)
    gap = min(room * 0.2, 2.0)
    return Bar(
        round(LEFT + index * room, 2), round(HEIGHT - height, 2), round(room - gap, 2), round(height, 2), title, looks
    )
