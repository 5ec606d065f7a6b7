"""Programs as frameworks trace them, with their operations numbered: two whose results have the same numbers are equal on all values.

    add(mul(x, 2), y)  and  add(y, mul(2, x))  →  the same number

Operations that nothing needs, names, and the order of what does not depend on one another make no difference; arithmetic does, where it
may round in another way.
"""

from __future__ import annotations

import ast
from collections.abc import Hashable, Iterator
from contextlib import contextmanager
from pathlib import Path
from types import FrameType
from typing import Any, NamedTuple

from xlalint.verify.frames import follow_frames
from xlalint.verify.places import is_users

Key = Hashable


class CannotTraceError(Exception):
    """A program is not the same computation for all values, or does something that a trace does not hold."""


class Numbering:
    """Gives numbers to computations: the same to those of the same operation, of the same parameters, on the same operands."""

    def __init__(self) -> None:
        self._numbers: dict[Key, int] = {}

    def of(self, *key: Key) -> int:
        """The number of a computation."""
        return self._numbers.setdefault(key, len(self._numbers))

    def constant(self, value: Any) -> int:
        """The number of an array of NumPy that does not change."""
        return self.of("constant", str(value.dtype), value.shape, value.tobytes())


class Traced(NamedTuple):
    """A program's results by number, with what holds them: of the call and what it leaves behind, then of its gradients.

    `made` are the numbers of all operations that may fail.
    """

    results: Key
    gradients: Key
    made: frozenset[int] = frozenset()

    def equals(self, other: Traced) -> bool:
        """Return whether another program, traced with the same `Numbering`, does the same, where this one does not fail."""
        same = self.results == other.results and self.gradients == other.gradients
        return same and other.made <= self.made


@contextmanager
def refusing_what_tells(file: str) -> Iterator[None]:
    """Raise CannotTraceError if what is traced may do something else than when it runs: its file asks whether it is, or of what class
    a value is; or code of the user's caught something.
    """
    text = Path(file).read_text(encoding="utf-8")
    compared = (node for node in ast.walk(ast.parse(text)) if isinstance(node, ast.Compare))
    if any(word in text for word in _TELLING) or any(map(_compares_classes, compared)):
        raise CannotTraceError("it may do something else while it is traced")
    raised: list[str] = []

    def enter(frame: FrameType, event: str, argument: Any) -> Any:
        frame.f_trace_lines = False
        return local if is_users(frame.f_code.co_filename) else None

    def local(frame: FrameType, event: str, argument: Any) -> Any:
        if event == "exception" and not issubclass(argument[0], StopIteration):
            raised.append(argument[0].__name__)
        return local

    with follow_frames(enter):
        yield
    if raised:
        raise CannotTraceError(f"it caught {raised[0]}")


_TELLING = ("Tracer", "FakeTensor", "is_compiling", "is_tracing", "executing_eagerly", "is_symbolic", "suppress(")


def _compares_classes(node: ast.Compare) -> bool:
    calls = (one for one in (node.left, *node.comparators) if isinstance(one, ast.Call))
    return any(isinstance(one.func, ast.Name) and one.func.id == "type" for one in calls)


def plain(value: Any) -> Key:
    """A result that is no array, as what is compared; CannotTraceError for what may hold some."""
    if isinstance(value, (bool, int, float, complex, str, bytes, type(None))):
        return type(value).__name__, repr(value)
    raise CannotTraceError(f"nothing is known of a `{type(value).__name__}`")


def parameter(value: Any) -> Key:
    """A parameter of an operation as what is compared: containers by content, arrays by their bytes, other things by what they print as."""
    if isinstance(value, dict):
        return tuple((name, parameter(one)) for name, one in sorted(value.items()))
    if isinstance(value, (list, tuple)):
        return (type(value).__name__, *map(parameter, value))
    if hasattr(value, "tobytes") and hasattr(value, "dtype"):
        return str(value.dtype), tuple(value.shape), value.tobytes()
    told = repr(value)
    if not callable(value) and " at 0x" not in told:
        return type(value).__name__, told
    if not isinstance(value, Hashable):
        raise CannotTraceError(f"an operation holds {told[:60]}")
    return value  # which equals itself; kept as a key, it keeps its identity
