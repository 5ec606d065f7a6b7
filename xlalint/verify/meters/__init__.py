"""Meters read a framework's own counters in the process that runs it: of a child, or, for `xlalint.watch`, of the user.

Each framework's meter is made by the function `meter` of a module here, which is imported once the framework is:

    def meter(*, thorough: bool = False) -> Meter
"""

from __future__ import annotations

from importlib import import_module
from types import MappingProxyType
from typing import Protocol

from xlalint.verify.model import Counts, Event


class Meter(Protocol):
    """Counts what one framework does between `start` and `stop`; starting a second time without a stop is an error of the caller.

    One that is not `thorough` costs under 2 % of a step of 5 ms: it tells the lines of what is rare (compilations, graph breaks) and of
    what it can tell for little. A thorough one tells the line of each host read and fallback too, at whatever that costs.
    """

    name: str

    def start(self) -> None: ...

    def stop(self) -> None: ...

    def read(self, *, wait: bool = True) -> Counts:
        """The counts since `start`; waits until the device has done what was asked of it, unless `wait` is false: then it tells at
        once (in microseconds) what was counted so far.
        """
        ...

    def events(self) -> tuple[Event, ...]:
        """The causes seen since the last call, with the user's lines where the framework or the call stack tells them."""
        ...


METERS = MappingProxyType(
    {
        "torch_xla": "torch_xla",
        "torch_tpu._loader": "torch_tpu",
        "torch._dynamo": "torch_compile",
        "tensorflow": "tensorflow",
        "jax": "jax",
    }
)
"""The imported module that calls for a meter → the module here that makes it."""


def meter_of(imported: str, *, thorough: bool = False) -> Meter:
    """The meter for a framework, by a key of `METERS`; the framework must have been imported."""
    made: Meter = import_module(f"{__name__}.{METERS[imported]}").meter(thorough=thorough)
    return made
