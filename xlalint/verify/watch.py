"""`xlalint.watch`: counts compilations, host syncs and fallbacks around steps of the user's code, in the user's process."""

from __future__ import annotations

import functools
import inspect
import warnings
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from threading import RLock
from types import TracebackType
from typing import Any, Literal, TypeVar, cast

from xlalint.verify import environment
from xlalint.verify.instruments import INSTRUMENTS
from xlalint.verify.model import Counts, Event
from xlalint.verify.seen import LimitExceededError, WatchLimits, causes, of_kind, plural

environment.countable()  # TensorFlow reads it when it is imported, which comes after this, or is too late

_Function = TypeVar("_Function", bound=Callable[..., Any])
_NOTHING = Counts()


class Seen:
    """Counts of what happened in this process while a watch was open, after its warm-up. Inside the block it has the counts so far.

    `warmup` holds the counts of the warm-up steps, `steps` how many steps were told by `step()`, `frameworks` what was counted.
    Asking for a count waits until the device has done what was asked of it.
    """

    def __init__(self, limits: WatchLimits, warmup: int) -> None:
        self.limits = limits
        self.steps = 0
        self.frameworks: tuple[str, ...] = ()
        self.warmup = _NOTHING
        self._warm_steps = warmup
        self._events: list[Event] = []
        self._done = _NOTHING  # of the spans that ended
        self._before: dict[str, Counts] = {}
        self._open = 0
        self._joined = False
        self._lock = RLock()

    @property
    def compilations(self) -> int:
        return self.counts.compilations

    @property
    def syncs(self) -> int:
        """How many values the host read from the device."""
        return self.counts.transfers

    @property
    def fallbacks(self) -> int:
        """How many operations ran on the host for want of a kernel."""
        return self.counts.fallbacks

    @property
    def graph_breaks(self) -> int:
        return self.counts.graph_breaks

    @property
    def counts(self) -> Counts:
        """All that was counted."""
        with self._lock:
            return self._done + self._span(wait=True) if self._open else self._done

    @property
    def events(self) -> tuple[Event, ...]:
        """The causes, with the lines of the user's code where they are known."""
        if self._open:
            INSTRUMENTS.collect()
        return tuple(self._events)

    def step(self) -> None:
        """Say that a step has ended. Those of the warm-up do not count for the limits."""
        with self._lock:
            self.steps += 1
            if self.steps == self._warm_steps:
                self._warm()

    def check(self) -> None:
        """Raise LimitExceededError if more happened since the warm-up than is allowed."""
        counts = self.counts
        if self.steps >= self._warm_steps and self.limits.find_exceeded(counts):
            raise LimitExceededError(counts, self.events, self.limits)

    def report(self) -> str:
        """Format what happened, a line for each kind, and the causes below it."""
        counts, lines = self.counts, []
        for kind in ("compilation", "host-sync", "fallback", "graph-break"):
            number = of_kind(counts, kind)
            if number:
                lines += [plural(number, kind), *causes(self.events, kind, number)]
        return "\n".join(lines) or "nothing was compiled or read"

    def note(self, meter: str, events: Sequence[Event]) -> None:  # noqa: ARG002
        """Remember causes that a meter tells; those of the warm-up, or from between the spans, do not count."""
        if self._open and self.steps >= self._warm_steps:
            self._events += events

    def _warm(self) -> None:
        if self._open:
            INSTRUMENTS.collect()
            self._done += self._span(wait=False)  # to wait would end torch_xla's step
            self._before = INSTRUMENTS.read(wait=False)
        self.warmup, self._done = self._done, _NOTHING
        self._events.clear()

    def _span(self, *, wait: bool) -> Counts:
        """Return the counts since the span began. A framework that was imported later began at zero."""
        total = _NOTHING
        for name, counts in INSTRUMENTS.read(wait=wait).items():
            total += counts - self._before.get(name, _NOTHING)
        return total

    def _begin(self) -> None:
        with self._lock:
            if not self._joined:
                self._before = INSTRUMENTS.join(self)
                self._joined = True
            elif not self._open:  # else a call inside another, or beside it in a thread: the outer one counts
                INSTRUMENTS.collect()
                self._before = INSTRUMENTS.read(wait=False)
            self._open += 1

    def _end(self, *, wait: bool, leave: bool) -> Counts:
        """End a span; what it counted."""
        with self._lock:
            if self._open > 1:
                self._open -= 1
                return _NOTHING
            try:
                span = self._span(wait=wait)
                INSTRUMENTS.collect()
                self.frameworks = INSTRUMENTS.names
            finally:
                self._open -= 1
                if leave:
                    self._joined = False
                    INSTRUMENTS.leave(self)
            self._done += span
            return span


class Watch(AbstractContextManager[Seen]):
    """A watch: use it in `with`, or as a decorator. `seen` is what the block that comes next, or came last, is told by; a `quiet` one does
    not warn that it had nothing to count.
    """

    def __init__(self, limits: WatchLimits, warmup: int, *, quiet: bool = False) -> None:
        self.seen = Seen(limits, warmup)
        self._limits = limits
        self._warmup = warmup
        self._quiet = quiet
        self._state: Literal["new", "open", "used"] = "new"

    def __enter__(self) -> Seen:
        if self._state == "open":
            raise RuntimeError("this watch is open already: call xlalint.watch() once for each `with`")
        if self._state == "used":
            self.seen = Seen(self._limits, self._warmup)
        self.seen._begin()
        self._state = "open"
        return self.seen

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self._state = "used"
        self.seen._end(wait=error is None, leave=True)
        if error is None:
            if not self._quiet:
                _warn_of_idle(self.seen, self._warmup)
            self.seen.check()

    def __call__(self, function: _Function) -> _Function:
        """Watch a function: all its calls together, each of them a step. `function.seen` tells what was seen."""
        if isinstance(function, type) or not callable(function):
            raise TypeError("xlalint.watch decorates functions")
        if _is_deferred(function):
            raise TypeError(
                f"xlalint.watch cannot decorate `{function.__name__}`, whose code runs after the call has returned: "
                "use `with xlalint.watch(...)` inside it"
            )
        seen = Seen(self._limits, self._warmup)

        @functools.wraps(function)
        def call(*args: Any, **kwargs: Any) -> Any:
            seen._begin()
            try:
                result = function(*args, **kwargs)
            except BaseException:
                seen._end(wait=False, leave=False)
                raise
            span = seen._end(wait=False, leave=False)
            seen.step()
            if self._limits.find_exceeded(seen._done) and _adds(span, self._limits):
                seen.check()
            return result

        call.seen = seen  # type: ignore[attr-defined]
        return cast(_Function, call)


def watch(
    max_compiles: int | None = None,
    max_syncs: int | None = None,
    max_fallbacks: int | None = None,
    max_graph_breaks: int | None = None,
    *,
    warmup: int = 0,
) -> Watch:
    """Count what XLA does in this process: compilations, values that the host reads, operations that run on the host, graph breaks.

        with xlalint.watch(max_compiles=1) as seen:
            for batch in batches:
                train_step(batch)

        @xlalint.watch(max_compiles=0, max_syncs=0, warmup=2)
        def train_step(batch): ...

    Limits hold for what comes after `warmup` steps (in a `with`, `seen.step()` ends a step; each call of a decorated function is one) and
    are checked when the block ends, or after the call. Counted is what the whole process does meanwhile, in all threads, with every
    framework that is imported by then: torch_xla, torch.compile, TensorFlow, JAX. Under torch_xla a decorated function should end its
    step itself (`torch_xla.sync()`): what it leaves pending is compiled after it.

    Raises: LimitExceededError, an AssertionError that lists the causes by line; ValueError for limits that are no counts.
    """
    limits = WatchLimits(max_compiles, max_syncs, max_fallbacks, max_graph_breaks)
    for name, limit in [*limits._asdict().items(), ("warmup", warmup)]:
        if limit is not None and (not isinstance(limit, int) or isinstance(limit, bool) or limit < 0):
            raise ValueError(f"{name} must be a whole number from 0, not {limit!r}")
    return Watch(limits, warmup)


def _is_deferred(function: Callable[..., Any]) -> bool:
    tests = (inspect.iscoroutinefunction, inspect.isgeneratorfunction, inspect.isasyncgenfunction)
    return any(test(function) for test in tests)


def _adds(span: Counts, limits: WatchLimits) -> bool:
    """Return whether a call added to something that is limited. One that did not cannot exceed a limit."""
    return bool(limits._replace(**{k: 0 for k, v in limits._asdict().items() if v is not None}).find_exceeded(span))


def _warn_of_idle(seen: Seen, warmup: int) -> None:
    """A limit that could not be exceeded would pass for a promise kept."""
    if not seen.frameworks:
        warnings.warn("xlalint.watch counted nothing: no XLA framework was imported", stacklevel=3)
    elif seen.steps < warmup:
        warnings.warn(
            f"xlalint.watch(warmup={warmup}) saw {seen.steps} steps, so no limit was checked: call `seen.step()` after each step",
            stacklevel=3,
        )
