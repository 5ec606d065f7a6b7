"""A framework of a few lines, with a meter: what watching does is told apart from what frameworks do."""

from __future__ import annotations

import sys
import traceback
from types import ModuleType

from xlalint.verify.model import Counts, Event, Place

SOURCE = """
compilations = syncs = fallbacks = 0
happened = []  # (kind, what)


def compile(what="a graph"):
    global compilations
    compilations += 1
    tell("compilation", what)


def item():
    global syncs
    syncs += 1
    tell("host-sync", "aten::item")


def tell(kind, what):
    pass
"""


class FakeMeter:
    """Counts what the module did since the start, and remembers who asked for it."""

    def __init__(self, module: ModuleType) -> None:
        self.name = module.__name__
        self.module = module
        self.running = False
        self.waits = 0
        self._events: list[Event] = []

    def start(self) -> None:
        assert not self.running
        self.running = True
        self._before = self._now()
        self.module.tell = self._tell  # type: ignore[attr-defined]

    def stop(self) -> None:
        self.running = False
        self.module.tell = lambda kind, what: None  # type: ignore[attr-defined]

    def read(self, *, wait: bool = True) -> Counts:
        assert self.running
        self.waits += wait
        return self._now() - self._before

    def events(self) -> tuple[Event, ...]:
        done, self._events = self._events, []
        return tuple(done)

    def _now(self) -> Counts:
        return Counts(compilations=self.module.compilations, transfers=self.module.syncs)

    def _tell(self, kind: str, what: str) -> None:
        frame = traceback.extract_stack()[-3]
        place = Place(frame.filename, frame.lineno or 0, frame.name)
        self._events.append(Event(kind, what, place))  # type: ignore[arg-type]


def meter(*, thorough: bool = False) -> FakeMeter:
    """As the modules of `xlalint.verify.meters` do."""
    made = FakeMeter(sys.modules["fakexla"])
    made.thorough = thorough  # type: ignore[attr-defined]
    METERS.append(made)
    return made


METERS: list[FakeMeter] = []
"""Those that were made, for tests to look at."""
