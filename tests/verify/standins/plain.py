"""A backend with no framework: programs take NumPy arrays, and count their own hazards by `hazard(kind)`. New shapes are compiled."""

from __future__ import annotations

import sys
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from xlalint.verify import places
from xlalint.verify.backends import Leaf, Options, Program, Result, values
from xlalint.verify.content import Kinds, take_apart
from xlalint.verify.held import changes, held_by, is_of_users, snapshot
from xlalint.verify.model import Counts, Event, Step

COUNTERS = {
    "compilation": "compilations",
    "host-sync": "transfers",
    "fallback": "fallbacks",
    "graph-break": "graph_breaks",
}
seen: list[Event] = []


def hazard(kind: str, what: str = "read") -> None:
    """Say in a program that something happened on the calling line."""
    seen.append(Event(kind, what, places.calling(sys._getframe(1))))


def _is_array(value: Any) -> bool:
    return isinstance(value, np.ndarray)


KINDS = Kinds(_is_array)
STATE_KINDS = Kinds(_is_array, enters=is_of_users, drains=False)


def leaves(items: Iterable[Any]) -> list[Leaf]:
    return values.leaves(items)


class Plain:
    name = "standins.plain"
    settings = ()

    def run(
        self, program: Program, steps: Sequence[Mapping[str, Any]], options: Options
    ) -> Iterator[tuple[Step, Result]]:
        called = program.make()
        shapes: set[str] = set()
        for number, given in enumerate(steps):
            seen.clear()
            before, held = snapshot(given, KINDS, leaves), snapshot(held_by(called), STATE_KINDS, leaves)
            begun = time.perf_counter()
            positional, named = values.split(given)
            result = called(*positional, **named)
            shape = str({name: getattr(value, "shape", None) for name, value in given.items()})
            if shape not in shapes:
                shapes.add(shape)
                seen.append(Event("compilation", shape))
            counts = Counts(
                **{field: sum(e.count for e in seen if e.kind == kind) for kind, field in COUNTERS.items()},
                executions=1,
            )
            effects = {"arguments": changes(before, snapshot(given, KINDS, leaves))}
            effects |= {"state": changes(held, snapshot(held_by(called), STATE_KINDS, leaves))}
            effects["random"] = values.generators()
            content = values.content_of(take_apart(result, KINDS), leaves)
            yield Step(number, counts, time.perf_counter() - begun, tuple(seen)), Result(content, [], effects)


def backend() -> Plain:
    return Plain()
