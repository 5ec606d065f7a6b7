"""Reads torch.compile's counters: graphs compiled, graph breaks, and reasons for recompilation.

All of it is Dynamo's own bookkeeping, only read. What another version of torch lacks is a detail that is missing, not an error.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from traceback import FrameSummary
from typing import Any

import torch._dynamo.utils as dynamo

from xlalint.verify.model import Counts, Event, Place
from xlalint.verify.places import is_users

_GUARD = re.compile(r"^\d+/\d+: (?P<guard>.*?)(?: +#.* # \S+:(?P<line>\d+) in \S+(?: \(.*\))?)?$")
_RESUMED = re.compile(r"torch_dynamo_resume_in_(?P<function>.+)_at_\d+")


class TorchCompileMeter:
    """A `Meter`. Reading costs microseconds: Dynamo tells line and reason of what it does in any case, while it compiles."""

    name = "torch_compile"

    def __init__(self) -> None:
        self._counts = Counts()
        self._events: list[Event] = []
        self._graphs = 0
        self._breaks = 0
        self._compiled: Any = None

    def start(self) -> None:
        self._counts, self._events = Counts(), []
        self._graphs, self._breaks = _graphs(), len(_breaks())
        self._compiled = next(reversed(_list_compiled()), None)

    def stop(self) -> None:
        self._settle()

    def read(self, *, wait: bool = True) -> Counts:  # noqa: ARG002 (nothing runs that is not done)
        self._settle()
        return self._counts

    def events(self) -> tuple[Event, ...]:
        self._settle()
        events, self._events = self._events, []
        return tuple(events)

    def _settle(self) -> None:
        graphs = _graphs()
        breaks = _breaks()
        compiled = _since(_list_compiled(), self._compiled)
        if graphs == self._graphs and len(breaks) == self._breaks and not compiled:
            return
        new_graphs = graphs - self._graphs if graphs >= self._graphs else graphs
        new_breaks = breaks[self._breaks :] if len(breaks) >= self._breaks else breaks
        self._graphs, self._breaks = graphs, len(breaks)
        self._compiled = compiled[-1] if compiled else self._compiled
        limits = [event for one in compiled if (event := _gave_up(one))]
        self._counts += Counts(compilations=new_graphs, graph_breaks=len(new_breaks) + len(limits))
        self._events += [event for one in compiled if (event := _compilation(one))]
        self._events += [_graph_break(one.reason, one.user_stack) for one in new_breaks] + limits


def _graphs() -> int:
    return int(dynamo.counters["stats"]["unique_graphs"]) if hasattr(dynamo, "counters") else 0


def _breaks() -> list[Any]:
    return list(getattr(dynamo, "graph_break_reasons", ()))


def _list_compiled() -> list[Any]:
    """Return what Dynamo keeps of the frames that it compiled: the latest 64."""
    return list(dynamo.get_compilation_metrics()) if hasattr(dynamo, "get_compilation_metrics") else []


def _since(compiled: list[Any], last: Any) -> list[Any]:
    """Those after the last one that is known; all, if that is kept no more."""
    for index in range(len(compiled) - 1, -1, -1):
        if compiled[index] is last:
            return compiled[index + 1 :]
    return compiled


def _compilation(metrics: Any) -> Event | None:
    """A frame that was compiled to a graph, with the guard for which the graph it had did not do."""
    if not getattr(metrics, "graph_op_count", None):
        return None
    file, line = getattr(metrics, "co_filename", None), getattr(metrics, "co_firstlineno", None)
    name = getattr(metrics, "co_name", None) or ""
    resumed = _RESUMED.fullmatch(name)
    place = Place(file, line, resumed["function"] if resumed else name) if file and line else None
    seconds = float(getattr(metrics, "entire_frame_compile_time_s", None) or 0.0)
    reason = getattr(metrics, "recompile_reason", None)
    if not reason:
        return Event("compilation", "a function not seen before", place, 1, seconds)
    what, line_of_guard = guard(reason)
    if place and line_of_guard:
        place = Place(place.file, line_of_guard, place.function)
    return Event("compilation", what, place, 1, seconds)


def guard(reason: str) -> tuple[str, int | None]:
    """The guard that failed, of a reason like "0/1: k == 1  # return x * k  # dir/f.py:12 in g", and its line."""
    match = _GUARD.match(reason.splitlines()[0])
    if match is None:
        return reason.splitlines()[0], None
    said = re.sub(r"___check_type_id\((?P<what>.*), \d+\)", r"type of \g<what>", match["guard"].strip())
    return said, int(match["line"]) if match["line"] else None


def _gave_up(metrics: Any) -> Event | None:
    """A function that was compiled so often that Dynamo compiles it no more."""
    if "RecompileLimit" not in (getattr(metrics, "fail_type", None) or ""):
        return None
    what, _ = guard(getattr(metrics, "recompile_reason", None) or "")
    return Event("graph-break", f"compiled too often, now runs without: {what}")


def _graph_break(reason: str, stack: Sequence[FrameSummary]) -> Event:
    places = [Place(one.filename, one.lineno or 0, one.name) for one in stack if is_users(one.filename)]
    return Event("graph-break", headline_of(reason), places[-1] if places else None)


def headline_of(reason: str) -> str:
    """Return the first thing that Dynamo says: its explanation, if it has one."""
    if reason.startswith("generic_jump"):
        return "Data-dependent branching"
    lines = [line.strip() for line in reason.splitlines() if line.strip()]
    explained = next((line.removeprefix("Explanation: ") for line in lines if line.startswith("Explanation: ")), "")
    return f"{lines[0]}: {explained}" if explained and lines else (lines or [""])[0]


def meter(*, thorough: bool = False) -> TorchCompileMeter:
    return TorchCompileMeter()
