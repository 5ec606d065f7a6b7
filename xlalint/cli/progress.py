"""A progress bar on a terminal, for runs that take longer than a second."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, TextIO

from xlalint.cli.saying import Verbosity, verbosity

if TYPE_CHECKING:
    from rich.progress import Progress as Bar
    from rich.progress import TaskID

_PATIENCE = 1.0
_REDRAW = 0.1


class Progress:
    """Call it with how many files are done, of how many. Costs a look at the clock until there is something to show."""

    def __init__(self, stream: TextIO) -> None:
        self._shown = stream.isatty() and verbosity() >= Verbosity.USUAL
        self._due = time.monotonic() + _PATIENCE
        self._bar: Bar | None = None
        self._task: TaskID | None = None

    def __call__(self, done: int, total: int) -> None:
        now = time.monotonic()
        if not self._shown or now < self._due:
            return
        self._due = now + _REDRAW
        if self._bar is None:
            self._begin(total)
        if self._bar is not None and self._task is not None:
            self._bar.update(self._task, completed=done, total=total)

    def _begin(self, total: int) -> None:
        from rich.console import Console
        from rich.progress import BarColumn, MofNCompleteColumn, TextColumn
        from rich.progress import Progress as Bar

        columns = (TextColumn("Checking"), BarColumn(), MofNCompleteColumn())
        self._bar = Bar(*columns, console=Console(stderr=True), transient=True)
        self._task = self._bar.add_task("", total=total)
        self._bar.start()

    def __enter__(self) -> Progress:
        return self

    def __exit__(self, *_: object) -> None:
        if self._bar is not None:
            self._bar.stop()
