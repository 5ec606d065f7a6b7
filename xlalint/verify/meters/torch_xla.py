"""Reads torch_xla's counters: graphs compiled and run, values read by the host, operations without a kernel.

The counters are torch_xla's own and are only read, so a program that uses them itself (or clears them) sees no difference. They tell no
line. It is found by asking them before and after the Python calls that can move them (`entries`), which costs nothing between such calls;
and, for reads inside C++ (an index by a tensor, an operation that falls back), line by line: always if thorough, else during the
step after one in which something had no line. To follow lines, and to have torch_xla remember the line of each operation, takes as
long as a small model's step does; a thorough meter may rest from both while steps show nothing new.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, NamedTuple

import torch_xla
import torch_xla.core.xla_model as xm

from xlalint.verify.meters.entries import wrap_computing, wrap_entries
from xlalint.verify.meters.graphs import GraphLog
from xlalint.verify.meters.lines import LineTracer
from xlalint.verify.meters.patches import Patches
from xlalint.verify.model import Counts, Event, EventKind, Place
from xlalint.verify.places import calling

_XLAC = torch_xla._XLAC
SCALAR_READ = "aten::_local_scalar_dense"  # counted among the operations that fall back, but it is the read itself
_TRACED_STEPS = 3  # how many steps a meter that is not thorough follows line by line
_QUIET_STEPS = 8  # that show nothing new, after which a thorough one may rest

# A read moves one of these, each asked for in half a microsecond. The metric of reads takes 75 µs once it holds its 1,024 samples, and as
# many tuples, which wake the garbage collector. The others are moved by casts and uploads too, so a meter that wraps what computes leaves
# them to the calls that it wraps.
_MOVED_BY_HIDDEN_READS = ("xla::_to_cpu",)
_MOVED_BY_READS = (*_MOVED_BY_HIDDEN_READS, "xla::_to_copy", "xla::_copy_from")


class _Reading(NamedTuple):
    """Raw values of torch_xla's counters at one moment; `fallbacks` by operation."""

    compilations: int
    executions: int
    signs: tuple[int, ...]
    reads: int
    fallbacks: dict[str, int]


def _counter(name: str) -> int:
    return _XLAC._xla_counter_value(name) or 0


def _samples(metric: str) -> tuple[int, float]:
    """How many samples a metric has seen, and their sum."""
    data = _XLAC._xla_metric_data(metric)
    return (int(data[0]), float(data[1])) if data else (0, 0.0)


def _measure_gain(now: int, before: int) -> int:
    """A counter that is less than it was has been cleared in between."""
    return now - before if now >= before else now


class TorchXlaMeter:
    """A `Meter`; events of one cause on one line are one event, with a count. One that `rests` is thorough only while steps show
    something new: after a rest, the first step that does is told with what is known of it then.
    """

    name = "torch_xla"

    def __init__(self, thorough: bool = False, *, rests: bool = False) -> None:
        self._thorough = thorough
        self._rests = rests
        self._quiet = 0  # steps since the last one that showed something new
        self._counts = Counts()
        self._causes: dict[tuple[EventKind, str, Place | None], tuple[int, float]] = {}
        self._lock = threading.RLock()
        self._local = threading.local()
        self._tracer = LineTracer(self._after_line)
        self._graphs = GraphLog.from_environment()
        self._lines: dict[str, set[Place]] = {}  # of operations that fell back
        self._patches: Patches | None = None
        self._computing: Patches | None = None
        self._ran = _Ran()
        self._closures = 0  # step closures that are running
        self._traced = 0  # steps that were followed line by line
        self._tracing = False
        self._unplaced = False
        self._last = self._reading(None)
        self._started = self._last.executions
        self._spent = 0.0

    def start(self) -> None:
        if self._graphs:
            _XLAC._set_ir_debug(True)
            self._graphs.skip()
        self._last = self._reading(None)
        self._counts, self._causes = Counts(), {}
        self._spent = _samples("CompileTime")[1]
        if self._thorough:
            self._ran.forget()
        self._patches = wrap_entries(self)
        if self._thorough:
            self._quiet = 0
            self._tracing = self._tracer.start()
        else:
            self._computing = wrap_computing(self)

    def stop(self) -> None:
        self._stop_tracing()
        if self._patches:
            self.settle(force=True)
            self._stop_wrapping()
            self._patches.undo()
            self._patches = None

    def read(self, *, wait: bool = True) -> Counts:
        if wait:
            self.wait()
        self.settle(force=wait)
        return self._counts

    def wait(self) -> None:
        """Let the device do what was asked of it, up to here; it ends torch_xla's step."""
        torch_xla.sync()
        xm.wait_device_ops()

    def events(self) -> tuple[Event, ...]:
        self.settle()
        with self._lock:
            causes, self._causes = self._causes, {}
        return tuple(Event(kind, what, place, *much) for (kind, what, place), much in causes.items())

    # What follows is for `entries` and for tracing.

    def settle(self, what: str = "", place: Place | None = None, seconds: float = 0.0, force: bool = False) -> None:
        """Charge what the counters gained since they were last asked.

        Args:
            what: the call that did it, "" if none is known.
            place: where it was called; the line that is traced, if any is, where it is None.
            seconds: what the call took.
            force: ask the metric of reads even if nothing suggests one.
        """
        with self._lock:
            before, now = self._last, self._reading(None if force else self._last)
            self._last = now
            if now is before:
                return
            compiled = _measure_gain(now.compilations, before.compilations)
            reads = _measure_gain(now.reads, before.reads)
            ops = {
                op: n for op, count in now.fallbacks.items() if (n := _measure_gain(count, before.fallbacks.get(op, 0)))
            }
            scalars = ops.pop(SCALAR_READ, 0)
            if self._closures and (not what or getattr(self._local, "after_step", False)):
                reads = 0  # by a step closure, once the step is over
            self._counts = Counts(
                self._counts.compilations + compiled,
                self._counts.executions + _measure_gain(now.executions, before.executions),
                self._counts.transfers + reads,
                self._counts.fallbacks + sum(ops.values()),
            )
            if compiled or ((reads or ops) and place is None):
                self._quiet = 0
            if compiled or reads or ops:
                self._charge(
                    what or (SCALAR_READ if scalars else ""), place or self._tracer.here, seconds, compiled, reads, ops
                )

    def _charge(
        self, what: str, place: Place | None, seconds: float, compiled: int, reads: int, ops: dict[str, int]
    ) -> None:
        if compiled:
            spent = _samples("CompileTime")[1]
            compiling, self._spent = (spent - self._spent) / 1e9, spent
            why, where = self._graphs.explain_change(self._ran.line_of) if self._graphs else ("", None)
            self._add("compilation", why or "a graph not seen before", where or place, compiled, max(compiling, 0.0))
            seconds = max(seconds - compiling, 0.0)
        place = self._line_of(ops, place)
        for op, count in ops.items():
            self._add("fallback", op, place, count)
        if reads:
            self._add("host-sync", next(iter(ops), what) or "a read by the host", place, reads, seconds)
        self._unplaced |= place is None and bool(reads or ops)

    def _line_of(self, ops: dict[str, int], place: Place | None) -> Place | None:
        """The place, or, for operations that were traced on one line only, that line."""
        if place is None:
            seen = set().union(*(self._lines.get(op, set()) for op in ops))
            return next(iter(seen)) if len(seen) == 1 else None
        for op in ops:
            self._lines.setdefault(op, set()).add(place)
        return place

    def _add(self, kind: EventKind, what: str, place: Place | None, count: int, seconds: float = 0.0) -> None:
        have, spent = self._causes.get((kind, what, place), (0, 0.0))
        self._causes[kind, what, place] = (have + count, spent + seconds)

    def _reading(self, last: _Reading | None) -> _Reading:
        """The counters now; `last` itself if they did not move."""
        compilations, executions = _counter("UncachedCompile"), _executions()
        signs = tuple(map(_counter, _MOVED_BY_HIDDEN_READS if self._computing is not None else _MOVED_BY_READS))
        if last is not None and signs == last.signs:
            if (compilations, executions) == (last.compilations, last.executions):
                return last
            return last._replace(compilations=compilations, executions=executions)
        fallbacks = {op: _counter(op) for op in _XLAC._get_executed_fallback_ops()}
        return _Reading(compilations, executions, signs, _samples("TransferFromDeviceTime")[0], fallbacks)

    def _after_line(self) -> None:
        if self._thorough and self._graphs and (here := self._tracer.here):
            self._ran.note(here)
        self.settle()

    @contextmanager
    def charging(self, what: str, copies: bool = True) -> Iterator[None]:
        """Charge what happens inside a call that may read to the user's line that is being run; the outermost of nested ones names it.

        Args:
            what: the call.
            copies: whether it copies to the host, of which only the metric of reads tells.
        """
        if getattr(self._local, "inside", False):
            yield
            return
        self.settle()
        self._local.inside = True
        began = time.perf_counter()
        try:
            yield
        finally:
            self._local.inside = False
            self.settle(what, calling(), time.perf_counter() - began, force=copies)

    def ending_step(self, end: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
        """Run the graph of a step: what it compiles belongs to the line that ends the step, if not to one whose operations are others."""
        self.settle()
        try:
            return end(*args, **kwargs)
        finally:
            self.settle("", calling())
            if self._thorough:
                self._pace()
            else:
                self._stop_tracing()
                if self._unplaced and self._traced < _TRACED_STEPS:
                    self._traced += 1
                    self._tracing = self._tracer.start()
                self._unplaced = False

    def after_step(self, closures: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
        """Run step closures, in whichever thread, of which no step waits for what they read."""
        self.settle()
        with self._lock:
            self._closures += 1
        self._local.after_step = True
        try:
            return closures(*args, **kwargs)
        finally:
            self._local.after_step = False
            with self._lock:
                self.settle()
                self._closures -= 1

    def clearing(self, clear: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
        """Let the program clear torch_xla's counters, and go on from there."""
        with self._lock:
            self.settle(force=True)
            try:
                return clear(*args, **kwargs)
            finally:
                self._last = self._reading(None)
                self._spent = _samples("CompileTime")[1]

    def _pace(self) -> None:
        """After a step: rest if nothing new was seen for some, and go on as soon as something is."""
        self._quiet += 1
        if self._tracing:
            self._ran.forget()
            if self._rests and self._quiet > _QUIET_STEPS:
                self._stop_tracing()
                _XLAC._set_ir_debug(False)
                self._computing = wrap_computing(self)
        elif self._computing is not None and self._quiet == 1:
            self._stop_wrapping()
            _XLAC._set_ir_debug(self._graphs is not None)
            self._ran.forget()
            self._tracing = self._tracer.start()

    def _stop_wrapping(self) -> None:
        if self._computing is not None:
            self._computing.undo()
            self._computing = None

    def _stop_tracing(self) -> None:
        if self._tracing:
            self.settle()
            self._tracer.stop()
            self._tracing = False


class _Ran:
    """On which lines the operations of a step ran; torch_xla counts each operation as `xla::` and its name."""

    def __init__(self) -> None:
        self._counted: dict[str, int] = {}
        self._lines: dict[str, set[Place]] = {}

    def note(self, here: Place) -> None:
        """Charge a line with what was counted since the last note."""
        for name in self._list_moved():
            self._lines.setdefault(name.removeprefix("xla::"), set()).add(here)

    def _list_moved(self) -> list[str]:
        counts = {name: _counter(name) for name in _XLAC._xla_counter_names() if name.startswith("xla::")}
        before, self._counted = self._counted, counts
        return [name for name, count in counts.items() if count != before.get(name)]

    def line_of(self, operation: str) -> Place | None:
        lines = self._lines.get(operation.partition("::")[2], ())
        return next(iter(lines)) if len(lines) == 1 else None

    def forget(self) -> None:
        """Forget what ran so far: it belongs to no step to come."""
        self._list_moved()
        self._lines.clear()


def _executions() -> int:
    return _counter("ExecuteComputation") + _counter("ExecuteReplicated")


def meter(*, thorough: bool = False) -> TorchXlaMeter:
    return TorchXlaMeter(thorough, rests=True)
