"""Keeps what a watch saw and its limits, and formats both."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

from xlalint.verify.model import Counts, Event, EventKind, Place

_NOUNS: Mapping[EventKind, tuple[str, str]] = {
    "compilation": ("compilation", "compilations"),
    "host-sync": ("host sync", "host syncs"),
    "fallback": ("fallback to the host", "fallbacks to the host"),
    "graph-break": ("graph break", "graph breaks"),
    "error": ("exception", "exceptions"),
}


_COUNTED: tuple[EventKind, ...] = ("compilation", "host-sync", "fallback", "graph-break")
_INSTALLED = ("/site-packages/", "/dist-packages/")


class WatchLimits(NamedTuple):
    """How much may happen after the warm-up; None is any number."""

    max_compiles: int | None = None
    max_syncs: int | None = None
    max_fallbacks: int | None = None
    max_graph_breaks: int | None = None

    def find_exceeded(self, counts: Counts) -> list[tuple[EventKind, int, int]]:
        """List the exceeded limits: kind, number, limit."""
        most = zip(_COUNTED, self, strict=True)
        return [
            (kind, of_kind(counts, kind), limit)
            for kind, limit in most
            if limit is not None and of_kind(counts, kind) > limit
        ]


class LimitExceededError(AssertionError):
    """More was compiled, read by the host, or run there than a watch allows; `counts` and `events` tell what, after the warm-up."""

    def __init__(self, counts: Counts, events: Sequence[Event], limits: WatchLimits) -> None:
        self.counts = counts
        self.events = tuple(events)
        self.limits = limits
        super().__init__("\n".join(self._lines()))

    def _lines(self) -> Iterable[str]:
        for kind, number, limit in self.limits.find_exceeded(self.counts):
            yield f"{plural(number, kind)}, at most {limit} allowed"
            yield from causes(self.events, kind, number)


def of_kind(counts: Counts, kind: EventKind) -> int:
    """How many events of a kind were counted."""
    by_kind = {
        "compilation": counts.compilations,
        "host-sync": counts.transfers,
        "fallback": counts.fallbacks,
        "graph-break": counts.graph_breaks,
    }
    return by_kind.get(kind, 0)


def plural(number: int, kind: EventKind) -> str:
    """A number of things in words."""
    return f"{number} {_NOUNS[kind][number != 1]}"


def causes(events: Iterable[Event], kind: EventKind, counted: int) -> list[str]:
    """The events of a kind by line, the most frequent first; then how many more were counted than have a line."""
    places: Counter[tuple[Place, str]] = Counter()
    for event in events:
        if event.kind == kind and event.place is not None:
            places[event.place, event.what] += event.count
    lines = [
        f"  {shorten_path(place.file)}:{place.line}{within(place)}: {times(number)}{what}"
        for (place, what), number in places.most_common()
    ]
    unplaced = counted - sum(places.values())
    return [*lines, f"  {unplaced} at lines that the framework does not report"] if unplaced > 0 else lines


def within(place: Place) -> str:
    """The function of a place, as it follows the line; "" for a module's own code."""
    return f" in {place.function}" if place.function not in ("", "<module>") else ""


def times(number: int) -> str:
    """Return the prefix of something that happened that often."""
    return f"{number} times " if number > 1 else ""


def shorten_path(file: str) -> str:
    """Return a path as short as it can be told: from the current folder or, of an installed package, from the folder of all."""
    for folder in _INSTALLED:
        _, found, inside = file.rpartition(folder)
        if found:
            return inside
    return file.removeprefix(os.getcwd().rstrip(os.sep) + os.sep)  # noqa: PTH109
