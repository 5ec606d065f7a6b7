"""TensorFlow's counters: XLA's profiler writes a line for each compilation to descriptor 2; host reads are counted where they pass.

Measured with TensorFlow 2.21: `TF_CPP_VMODULE=device_compilation_profiler=1`, set before TensorFlow is imported, gives one line
`Compiled <function> <n> times, compile time: <µs> us, …` for each compilation (as many as `--xla_dump_to` has modules);
`experimental_get_tracing_count` misses nearly all of them. Reads pass `EagerTensor._numpy_internal`, or the buffer protocol, which only
`numpy.asarray` and `numpy.array` show; a NumPy ufunc of a tensor (`np.sin(x)`) stays unseen.
"""

from __future__ import annotations

import inspect
import re
import sys
import threading
import time
import warnings
from collections import Counter
from collections.abc import MutableMapping
from typing import Any
from weakref import WeakKeyDictionary

import numpy as np
import tensorflow as tf
from tensorflow.python.eager import context
from tensorflow.python.eager.polymorphic_function.polymorphic_function import Function
from tensorflow.python.framework.ops import EagerTensor

from xlalint.verify import places
from xlalint.verify.environment import COUNTS_COMPILATIONS, counts_compilations
from xlalint.verify.meters.patches import CONVERSIONS, Patches, watch_conversions
from xlalint.verify.meters.stderr import ErrorStream
from xlalint.verify.model import Counts, Event, Place

_COMPILED = re.compile(
    rb"^.*Compiled (?P<name>\S+) \d+ times, compile time: (?P<us>\d+) us.*\n?|^.*device_compilation_profiler.*\n?",
    re.MULTILINE,
)
_NAME = re.compile(r"^__(?:inference|forward)_(?P<back>__backward_)?(?P<name>.+?)_\d+(?:_\d+)?$")
_READERS = {
    **CONVERSIONS,
    "numpy": ".numpy()",
    "__array__": "np.asarray()",
    "convert": "np.asarray()",
    "constant_value": "tf.get_static_value()",
}
"""Of TensorFlow's own functions, the outermost that a read came through → what the user wrote."""

Signature = dict[str, str]
_Cause = tuple[str, str, "Place | None"]


class TensorFlowMeter:
    """Counts compilations by XLA, calls of `tf.function`s, and host reads; all of it is cheap."""

    name = "tensorflow"

    def __init__(self) -> None:
        self._patches = Patches()
        self._compiled = self._called = self._reads = 0
        self._inside = threading.local()
        self._seen: Counter[_Cause] = Counter()
        self._seconds: MutableMapping[_Cause, float] = {}
        self._signatures: WeakKeyDictionary[Any, Signature] = WeakKeyDictionary()
        self._stream: ErrorStream | None = None

    def start(self) -> None:
        if not counts_compilations():
            settings = " ".join(f"{name}={value}" for name, value in COUNTS_COMPILATIONS.items())
            warnings.warn(
                f"compilations by TensorFlow are not counted: set {settings} before TensorFlow is imported, or import xlalint first",
                stacklevel=2,
            )
        self._stream = ErrorStream()
        self._patches.replace(Function, "__call__", self._counted_call)
        self._patches.replace(EagerTensor, "_numpy_internal", self._counted_numpy)
        for name in ("asarray", "array"):
            self._patches.replace(
                np, name, watch_conversions(EagerTensor, lambda _, seconds: self._read(seconds), lambda: self._reads)
            )

    def stop(self) -> None:
        self._patches.undo()
        if self._stream is not None:
            self._drain(None, (), {})
            self._stream.close()
            self._stream = None

    def read(self, *, wait: bool = True) -> Counts:
        """The counts since `start`; the wait is for calls that run asynchronously, on GPUs and TPUs."""
        if wait:
            context.async_wait()
        self._drain(None, (), {})
        return Counts(self._compiled, self._called, self._reads)

    def events(self) -> tuple[Event, ...]:
        found = tuple(
            Event(kind, what, place, count, self._seconds.get((kind, what, place), 0.0))  # type: ignore[arg-type]
            for (kind, what, place), count in self._seen.items()
        )
        self._seen.clear()
        self._seconds.clear()
        return found

    def _counted_call(self, old: Any) -> Any:
        def call(function: Any, *args: Any, **kwargs: Any) -> Any:
            if getattr(self._inside, "call", False):
                return old(function, *args, **kwargs)
            self._inside.call = True
            try:
                return old(function, *args, **kwargs)
            finally:
                self._inside.call = False
                self._called += 1
                self._drain(function, args, kwargs)

        return call

    def _drain(self, function: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
        """Count what was compiled since the last time: by the call that has just ended, or by none that is known."""
        text = self._stream.read() if self._stream is not None else b""
        if not text:
            return
        assert self._stream is not None
        self._stream.pass_on(_COMPILED.sub(b"", text))
        compiled = [match for match in _COMPILED.finditer(text) if match["name"]]
        self._compiled += len(compiled)
        if compiled:
            reason = self._reason(function, args, kwargs)
            place = places.calling(sys._getframe(1))
            for match in compiled:
                named = _NAME.match(match["name"].decode())
                name = f"{named['name']}{' (gradient)' * bool(named['back'])}" if named else match["name"].decode()
                self._note("compilation", f"{name}: {reason}" if reason else name, place, int(match["us"]) / 1e6)

    def _reason(self, function: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> str:
        """In what the call differs from the one before it that compiled."""
        if function is None:
            return ""
        now = signature_of(function.python_function, args, kwargs)
        before = self._signatures.get(function)
        self._signatures[function] = now
        if before is None:
            return "first call"
        changes = [
            f"{k} is {now.get(k)}, was {before.get(k)}" for k in {**before, **now} if now.get(k) != before.get(k)
        ]
        return "; ".join(changes) or "a shape inside it, or a value that a shape depends on"

    def _counted_numpy(self, old: Any) -> Any:
        def numpy(tensor: Any) -> Any:
            began = time.perf_counter()
            value = old(tensor)
            self._read(time.perf_counter() - began)
            return value

        return numpy

    def _read(self, seconds: float) -> None:
        """Count a read, what it took, and its line; what TensorFlow reads while it traces a function is no step's."""
        if getattr(self._inside, "call", False) and not context.executing_eagerly():
            return
        frame, reader = sys._getframe(2), ""
        while frame is not None and not places.is_users(frame.f_code.co_filename):
            if reader == "constant_value" or places.is_a_backends(
                frame
            ):  # what TensorFlow reads for the value of a shape
                return
            reader = frame.f_code.co_name if frame.f_code.co_name in _READERS else reader
            frame = frame.f_back  # type: ignore[assignment]
        self._reads += 1
        place = Place(frame.f_code.co_filename, frame.f_lineno, frame.f_code.co_name) if frame is not None else None
        self._note("host-sync", _READERS.get(reader, "read"), place, seconds)

    def _note(self, kind: str, what: str, place: Place | None, seconds: float = 0.0) -> None:
        cause = (kind, what, place)
        self._seen[cause] += 1
        self._seconds[cause] = self._seconds.get(cause, 0.0) + seconds


def signature_of(function: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Signature:
    """The arguments of a call by name: dtype and shape of tensors, Python values as they are written."""
    try:
        bound = inspect.signature(function).bind(*args, **kwargs)
        bound.apply_defaults()
        named = dict(bound.arguments)
    except (TypeError, ValueError):
        named = {**{str(n): one for n, one in enumerate(args)}, **kwargs}
    return {name: ", ".join(map(_describe, tf.nest.flatten(one)))[:200] for name, one in named.items()}


def _describe(value: Any) -> str:
    if isinstance(value, (tf.Tensor, np.ndarray)):
        return f"{tf.as_dtype(value.dtype).name}{list(value.shape)}"
    return repr(value) if isinstance(value, (bool, int, float, str)) else type(value).__name__


def meter(*, thorough: bool = False) -> TensorFlowMeter:
    """The meter for TensorFlow; call `start` to begin."""
    return TensorFlowMeter()
