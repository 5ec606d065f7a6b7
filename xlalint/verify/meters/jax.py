"""JAX's counters: `jax.monitoring` tells of compilations, `jax_explain_cache_misses` why; host reads are counted where they pass.

Measured with jax 0.10.2: a compilation records `/jax/core/compile/backend_compile_duration`, one that the persistent cache spared
`/jax/compilation_cache/cache_hits` before it. Reads pass `ArrayImpl._value`, or NumPy's buffer protocol on the CPU, which only
`numpy.asarray` and `numpy.array` show; a NumPy ufunc of an array (`np.sin(x)`) stays unseen there, on GPU and TPU it is seen.
"""

from __future__ import annotations

import logging
import re
import sys
import time
from collections import Counter
from typing import Any, Union

import jax
import numpy as np
from jax import monitoring
from jax._src import monitoring as private
from jax._src import pjit
from jax._src.array import ArrayImpl
from jax._src.interpreters import pxla

from xlalint.verify import places
from xlalint.verify.meters.patches import CONVERSIONS, Patches, watch_conversions
from xlalint.verify.model import Counts, Event, Place

_COMPILED = "/jax/core/compile/backend_compile_duration"
_SPARED = "/jax/compilation_cache/cache_hits"
_EXPLAINERS = ("jax._src.interpreters.partial_eval", "jax._src.pjit", "jax._src.compiler", "jax._src.compilation_cache")
_DIFFERS = re.compile(
    r"^  \* (?:at )?(?P<what>.+?)(?:,| differs:) now (?P<now>.+?) and before (?P<before>.+?)(?:, so the .+)?$",
    re.MULTILINE,
)
_STATIC = re.compile(
    r"<class '[\w.]+\.Static'> with pytree metadata Static\(val=(.+?)\)(?= and before|, so|$)", re.MULTILINE
)
_SUBJECT = re.compile(r"^ +(?:for )?(?P<name>\S+) (?:id=\d+ )?defined at ", re.MULTILINE)
_INTERNAL = ("jax/_src/interpreters/", "jax/_src/dispatch.py")


_Cause = tuple[str, str, Union[Place, None]]


class JaxMeter:
    """Counts compilations, host reads and, if thorough, executions: each call then goes through Python, about 0.1 ms more."""

    name = "jax"

    def __init__(self, *, thorough: bool = False) -> None:
        self.thorough = thorough
        self._patches = Patches()
        self._compiled = self._spared = self._reads = self._executed = 0
        self._reasons: dict[str, str] = {}
        self._seen: Counter[tuple[str, str, Place | None]] = Counter()
        self._seconds: Counter[tuple[str, str, Place | None]] = Counter()
        self._explained = False

    def start(self) -> None:
        monitoring.register_event_duration_secs_listener(self._on_duration)
        monitoring.register_event_listener(self._on_event)
        self._explained = jax.config.jax_explain_cache_misses
        jax.config.update("jax_explain_cache_misses", True)
        for name in _EXPLAINERS:
            logging.getLogger(name).addFilter(self._explains)
        self._patches.replace(ArrayImpl, "_value", self._counted_value)
        for name in ("asarray", "array"):
            self._patches.replace(
                np,
                name,
                watch_conversions(
                    ArrayImpl, lambda _, seconds: self._add_wait(self._read(), seconds), lambda: self._reads
                ),
            )
        if self.thorough:
            self._patches.replace(pjit, "_get_fastpath_data", lambda old: lambda *args, **kwargs: None)
            self._patches.replace(pxla.ExecuteReplicated, "__call__", self._counted_call)

    def stop(self) -> None:
        self._patches.undo()
        for name in _EXPLAINERS:
            logging.getLogger(name).removeFilter(self._explains)
        jax.config.update("jax_explain_cache_misses", self._explained)
        private.unregister_event_duration_listener(self._on_duration)
        private.unregister_event_listener(self._on_event)

    def read(self, *, wait: bool = True) -> Counts:
        """The counts since `start`; JAX compiles and dispatches in the caller's thread, only callbacks must be waited for."""
        if wait:
            jax.effects_barrier()
        return Counts(self._compiled - self._spared, self._executed, self._reads)

    def events(self) -> tuple[Event, ...]:
        found = tuple(
            Event(kind, what, place, count, self._seconds[kind, what, place])  # type: ignore[arg-type]
            for (kind, what, place), count in self._seen.items()
        )
        self._seen.clear()
        self._seconds.clear()
        return found

    def _note(self, kind: str, what: str, place: Place | None, seconds: float = 0.0) -> None:
        self._seen[kind, what, place] += 1
        self._seconds[kind, what, place] += seconds  # type: ignore[assignment]

    def _on_event(self, event: str, **_: Any) -> None:
        self._spared += event == _SPARED

    def _on_duration(self, event: str, seconds: float, **about: Any) -> None:
        if event != _COMPILED:
            return
        self._compiled += 1
        name = str(about.get("fun_name", ""))
        reason = self._reasons.pop(name.removeprefix("jit(").removesuffix(")"), "")
        self._note("compilation", f"{name}: {reason}" if reason else name, places.calling(sys._getframe(1)), seconds)

    def _explains(self, record: logging.LogRecord) -> bool:
        """A filter that takes the explanations out of the log, unless the user asked for them."""
        text = record.getMessage()
        if "CACHE MISS" not in text:
            return True
        if (subject := _SUBJECT.search(text)) is not None:
            self._reasons[subject["name"]] = reason_of(text)
        return self._explained

    def _counted_value(self, old: property) -> property:
        getter = old.fget
        assert getter is not None

        def value(array: Any) -> Any:
            if array._npy_value is not None:
                return getter(array)
            read, began = self._read(), time.perf_counter()
            try:
                return getter(array)
            finally:
                self._add_wait(read, time.perf_counter() - began)

        return property(value)

    def _counted_call(self, old: Any) -> Any:
        def call(*args: Any) -> Any:
            self._executed += 1
            return old(*args)

        return call

    def _add_wait(self, read: _Cause | None, seconds: float) -> None:
        """Enter what a read took: the wait for its value, and the copy."""
        if read is not None:
            self._seconds[read] += seconds  # type: ignore[assignment]

    def _read(self) -> _Cause | None:
        """Count a read and its line, unless the compiler itself reads: a constant that a program is made with."""
        frame = sys._getframe(2)
        reader = ""
        while frame is not None and not places.is_users(file := frame.f_code.co_filename):
            if any(part in file for part in _INTERNAL) or places.is_a_backends(frame):
                return None
            reader = frame.f_code.co_name if frame.f_code.co_name != "_value" else reader
            frame = frame.f_back  # type: ignore[assignment]
        self._reads += 1
        place = Place(frame.f_code.co_filename, frame.f_lineno, frame.f_code.co_name) if frame is not None else None
        cause = "host-sync", _READERS.get(reader, reader or "read"), place
        self._note(*cause)
        return cause


_READERS = {
    **CONVERSIONS,
    "__iter__": "iteration",
    "__array__": "np.asarray()",
    "convert": "np.asarray()",
    "_item": ".item()",
    "tolist": ".tolist()",
    "_single_device_array_to_np_array": "device_get()",
}
"""Of JAX's own functions, the outermost that a read came through → what the user wrote."""


def reason_of(explanation: str) -> str:
    """A cache miss in a line: the arguments and both their types, what is new, or why nothing can be cached."""
    plain = _STATIC.sub(r"static \1", explanation)
    differ = [f"{m['what']} is {m['now']}, was {m['before']}" for m in _DIFFERS.finditer(plain)]
    if differ:
        return "; ".join(differ)
    if "re-defined repeatedly" in explanation:
        return "the function is made anew for each call"
    if "never seen function" in explanation:
        return "first call"
    lines = [line.strip(" *") for line in explanation.splitlines() if line.startswith("  ")]
    return lines[-1] if lines else ""


def meter(*, thorough: bool = False) -> JaxMeter:
    """The meter for JAX; call `start` to begin. Who watches a script has no use for executions, which take longer to count than to do."""
    return JaxMeter()
