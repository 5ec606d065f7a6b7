"""How long the stages of a run take, for those who ask."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager


class Stages:
    """Call it with a stage's name for a `with` block; `tell` is then told the name and the seconds that it took. Without `tell` it looks at
    no clock."""

    def __init__(self, tell: Callable[[str, float], None] | None = None) -> None:
        self._tell = tell

    @contextmanager
    def __call__(self, name: str) -> Iterator[None]:
        if self._tell is None:
            yield
            return
        begun = time.perf_counter()
        try:
            yield
        finally:
            self._tell(name, time.perf_counter() - begun)


UNTIMED = Stages()
