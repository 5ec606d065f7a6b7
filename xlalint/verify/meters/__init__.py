"""Meters read a framework's own counters in the process that runs it: of a child, or, for `xlalint.watch`, of the user."""

from __future__ import annotations

from typing import Protocol

from xlalint.verify.model import Counts, Event


class Meter(Protocol):
    """Counts what one framework does between `start` and `stop`; starting a second time without a stop is an error of the caller."""

    name: str

    def start(self) -> None: ...

    def stop(self) -> None: ...

    def read(self) -> Counts:
        """The counts since `start`; waits until the device has done what was asked of it."""
        ...

    def events(self) -> tuple[Event, ...]:
        """The causes seen since the last call, with the user's lines where the framework or the call stack tells them."""
        ...
