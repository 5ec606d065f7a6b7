"""The meters of this process: one for each framework that it imported, shared by all who watch, running while anyone does."""

from __future__ import annotations

import sys
import warnings
from collections.abc import Callable, Sequence
from threading import RLock
from typing import Protocol

from xlalint.verify.arrivals import Arrivals, imported
from xlalint.verify.environment import countable
from xlalint.verify.meters import METERS, Meter, meter_of
from xlalint.verify.model import Counts, Event


class Observer(Protocol):
    """Who watches: is told of each cause while it does, with the name of the meter."""

    def note(self, meter: str, events: Sequence[Event]) -> None: ...


class Instruments:
    """Frameworks count for the whole process, so observers that overlap, nested or in threads, share meters, and each sees what all
    threads did while it watched. The meters are `thorough` if made so; `started` is called with the name of each framework, a key of
    `METERS`, once its meter runs.
    """

    def __init__(self, *, thorough: bool = False, started: Callable[[str], None] | None = None) -> None:
        self.thorough = thorough
        self._tell_started = started
        self._lock = RLock()
        self._meters: dict[str, Meter] = {}
        self._broken: set[str] = set()
        self._observers: list[Observer] = []
        self._arrivals = Arrivals(METERS, self._note_arrival)

    @property
    def names(self) -> tuple[str, ...]:
        """The frameworks that are counted, by the names of their meters."""
        return tuple(meter.name for meter in self._meters.values())

    def join(self, observer: Observer) -> dict[str, Counts]:
        """Start to watch; what the meters say now, for the observer to subtract."""
        with self._lock:
            if not self._observers:
                countable()
                sys.meta_path.insert(0, self._arrivals)
            self._start_missing()
            self.collect()
            before = self.read(wait=True)
            self._observers.append(observer)
            return before

    def leave(self, observer: Observer) -> None:
        """Watch no more; the meters stop with the last one who did."""
        with self._lock:
            self.collect()
            self._observers.remove(observer)
            if self._observers:
                return
            sys.meta_path.remove(self._arrivals)
            for meter in self._meters.values():
                meter.stop()
            self._meters.clear()

    def read(self, *, wait: bool) -> dict[str, Counts]:
        """Return what each meter counted since it started, by its name. `wait`: for the device."""
        with self._lock:
            self._start_missing()
            return {meter.name: meter.read(wait=wait) for meter in self._meters.values()}

    def collect(self) -> None:
        """Tell the observers what happened since the last time."""
        with self._lock:
            for meter in self._meters.values():
                events = meter.events()
                if events:
                    for observer in self._observers:
                        observer.note(meter.name, events)

    def _start_missing(self) -> None:
        for name in METERS:
            if name not in self._meters and name not in self._broken and imported(name):
                self._start(name)

    def _start(self, name: str) -> None:
        """Start a framework's meter; if that fails (another version of the framework), the others still count."""
        try:
            meter = meter_of(name, thorough=self.thorough)
            meter.start()
            if self._tell_started is not None:
                self._tell_started(name)
        except Exception as error:  # noqa: BLE001 (nor may it become an error of the user's import)
            self._broken.add(name)
            warnings.warn(f"xlalint cannot watch {name}: {type(error).__name__}: {error}", stacklevel=2)
        else:
            self._meters[name] = meter

    def _note_arrival(self, name: str) -> None:
        with self._lock:
            if name not in self._meters and self._observers:
                self._start(name)


INSTRUMENTS = Instruments()
"""Those of `xlalint.watch`."""
