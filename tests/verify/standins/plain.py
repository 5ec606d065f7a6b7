"""A backend with no framework: programs take NumPy arrays, and count their own hazards by `hazard(kind)`. New shapes are compiled."""

from __future__ import annotations

import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from xlalint.verify import places
from xlalint.verify.backends import Options, Program, Result
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


class Plain:
    name = "standins.plain"

    def run(
        self, program: Program, steps: Sequence[Mapping[str, Any]], options: Options
    ) -> Iterator[tuple[Step, Result]]:
        called = program.make()
        shapes: set[str] = set()
        for number, values in enumerate(steps):
            seen.clear()
            begun = time.perf_counter()
            named = {name: value for name, value in values.items() if not name.isdigit()}
            result = called(*(value for name, value in values.items() if name.isdigit()), **named)
            shape = str({name: getattr(value, "shape", None) for name, value in values.items()})
            if shape not in shapes:
                shapes.add(shape)
                seen.append(Event("compilation", shape))
            counts = Counts(
                **{field: sum(e.count for e in seen if e.kind == kind) for kind, field in COUNTERS.items()},
                executions=1,
            )
            flat = result if isinstance(result, (list, tuple)) else [result]
            leaves = [("python" if not hasattr(one, "dtype") else str(one.dtype), np.asarray(one)) for one in flat]
            effects = {"arguments": [(str(v.dtype), v) for v in values.values() if isinstance(v, np.ndarray)]}
            yield Step(number, counts, time.perf_counter() - begun, tuple(seen)), Result(leaves, [], effects)


def backend() -> Plain:
    return Plain()
