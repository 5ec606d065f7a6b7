"""Replacing attributes of a framework for a while: what has no counter of its own is counted where it passes."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

CONVERSIONS = {
    "__float__": "float()",
    "__int__": "int()",
    "__bool__": "bool()",
    "__index__": "index",
    "__repr__": "repr()",
    "__str__": "str()",
    "__format__": "format()",
}
"""Methods through which Python reads an array's value, by what the user writes."""


class Patches:
    """Attributes that were replaced, to be put back in reverse order."""

    def __init__(self) -> None:
        self._undo: list[Callable[[], None]] = []

    def replace(self, owner: Any, name: str, made: Callable[[Any], Any]) -> None:
        """Put `made(old)` in an attribute's place; `old` is what the owner itself holds: of a class, the function or the property."""
        own = vars(owner)
        inherited = name not in own
        old = getattr(owner, name) if inherited else own[name]
        setattr(owner, name, made(old))
        self._undo.append((lambda: delattr(owner, name)) if inherited else (lambda: setattr(owner, name, old)))

    def undo(self) -> None:
        """Put everything back."""
        while self._undo:
            self._undo.pop()()


def watch_conversions(
    values: type, read: Callable[[Any, float], None], reads: Callable[[], int]
) -> Callable[[Any], Any]:
    """For `Patches.replace(numpy, "asarray", …)`: call `read(value, seconds)` where a `values` was converted and `reads()` did
    not move, with the time that it took.

    On the CPU NumPy takes an array's memory through the buffer protocol, past every method that could be patched.
    """

    def wrap(old: Callable[..., Any]) -> Callable[..., Any]:
        def convert(*args: Any, **kwargs: Any) -> Any:
            if not (args and isinstance(args[0], values)):
                return old(*args, **kwargs)
            before, began = reads(), time.perf_counter()
            result = old(*args, **kwargs)
            if reads() == before:
                read(args[0], time.perf_counter() - began)
            return result

        convert.__name__ = convert.__qualname__ = old.__name__
        convert.__module__, convert.__doc__ = old.__module__, old.__doc__
        return convert

    return wrap
