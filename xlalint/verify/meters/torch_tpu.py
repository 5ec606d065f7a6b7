"""Reads what TorchTPU compiled and read: counted by the plugin that stands for its TPU, else TorchTPU's own count of programs.

Programs that run are not counted: there is one for each operation, and another number of them is nothing worse. TorchTPU hands programs
on in a thread of its own, so whoever asks waits first: seven microseconds, if nothing is under way.
"""

from __future__ import annotations

from functools import cache
from typing import Any, NamedTuple

import torch
import torch_tpu._loader as loader
from torch._dynamo import trace_rules
from torch._guards import CompileContext

from xlalint.verify import plugin
from xlalint.verify.meters.lines import LineTracer
from xlalint.verify.meters.torch_compile import TorchCompileMeter
from xlalint.verify.model import Counts, Event, EventKind, Place
from xlalint.verify.plugin.device import switch_on

_NEW_PROGRAM = "a program not seen before"
_READ = "a read by the host"


class _Cause(NamedTuple):
    kind: EventKind
    what: str
    place: Place | None


class TorchTpuMeter:
    """A `Meter`; events of one cause on one line are one event, with a count.

    A thorough one asks after every line of the user's code. Of compilations of compiled functions Dynamo says why, and where graphs break:
    where nobody else counts these (`breaks`), they are counted here.
    """

    name = "torch_tpu"

    def __init__(self, thorough: bool = False, breaks: bool = False) -> None:
        self._thorough = thorough
        self._dynamo = TorchCompileMeter()
        self._breaks = breaks
        self._tracer = LineTracer(self._settle)
        self._counts = Counts()
        self._causes: dict[_Cause, int] = {}
        self._last = Counts()
        self._reason: Event | None = None  # of a graph that Dynamo made, until its program is compiled

    def start(self) -> None:
        self._dynamo.start()
        _wait()
        self._counts, self._causes, self._last, self._reason = Counts(), {}, _read(), None
        if self._thorough:
            _hide_from_dynamo()
            self._tracer.start()

    def stop(self) -> None:
        self._settle()
        if self._thorough:
            self._tracer.stop()

    def read(self, *, wait: bool = True) -> Counts:
        if wait:
            _wait()
        self._settle()
        return self._counts

    def events(self) -> tuple[Event, ...]:
        self._settle()
        causes, self._causes = self._causes, {}
        return tuple(Event(cause.kind, cause.what, cause.place, count) for cause, count in causes.items())

    def _settle(self) -> None:
        """Charge the line that was run with what was counted since the last one; once Dynamo is done and says why, if it is at work."""
        if CompileContext.current_compile_id() is not None:
            return
        if self._thorough:
            _wait()
        now = _read()
        gained, self._last = now - self._last, now
        told = self._dynamo.events()
        if gained == Counts() and not told:
            return
        here = self._tracer.here
        self._reason = next((event for event in told if event.kind == "compilation"), self._reason)
        if gained.compilations:
            what, place = (self._reason.what, self._reason.place) if self._reason is not None else (_NEW_PROGRAM, None)
            self._add(_Cause("compilation", what, place or here), gained.compilations)
            self._reason = None
        if gained.transfers:
            self._add(_Cause("host-sync", _READ, here), gained.transfers)
        broken = [event for event in told if event.kind == "graph-break"] if self._breaks else []
        for event in broken:
            self._add(_Cause("graph-break", event.what, event.place or here), 1)
        self._counts += gained + Counts(graph_breaks=len(broken))

    def _add(self, cause: _Cause, count: int) -> None:
        self._causes[cause] = self._causes.get(cause, 0) + count


@cache
def _hide_from_dynamo() -> None:
    """Have Dynamo leave alone what is called at each line of a compiled function: it would be compiled as part of it."""
    trace_rules.add("xlalint.verify")


def _wait() -> None:
    torch.accelerator.synchronize()


def _read() -> Counts:
    if plugin.is_used():
        seen = plugin.counts()
        return Counts(seen.compilations, transfers=seen.reads)
    from torch_tpu._internal.device import _device_ops_backend

    backend: Any = _device_ops_backend
    return Counts(int(backend._get_cache_misses()))


def meter(*, thorough: bool = False) -> TorchTpuMeter:
    """Make the meter; called when TorchTPU arrives, which looks for a TPU right after."""
    switch_on(loader)
    return TorchTpuMeter(thorough)
