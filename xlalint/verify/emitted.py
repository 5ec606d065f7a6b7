"""Listens to user code while it runs: to what it prints, logs, warns of, and asks of the system. What libraries say is not looked at."""

from __future__ import annotations

import contextlib
import io
import logging
import re
import sys
import warnings
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from xlalint.verify.backends import Content
from xlalint.verify.places import is_users
from xlalint.verify.system import noting

# More digits than float32 has: what a number of it looks like as Python's, which is how JAX's callbacks print outside of `jit`.
_LONG = re.compile(r"-?\d+\.\d+(?:e[+-]?\d+)?")
_DIGITS = 9


class _Copying(io.StringIO):
    """Keeps what is written, and writes it to another text as well, so that the order of both is kept there."""

    def __init__(self, other: io.StringIO) -> None:
        super().__init__()
        self._other = other

    def write(self, text: str, /) -> int:
        self._other.write(text)
        return super().write(text)


class Emitted:
    """Collects what is said: `printed` on standard output and error, `errors` on the latter alone, `logged` from INFO on, `warned`, and
    `asked` of the system.
    """

    def __init__(self) -> None:
        self.printed = io.StringIO()
        self.errors = _Copying(self.printed)
        self.logged: list[str] = []
        self.warned: list[str] = []
        self.asked: list[str] = []

    def effects(self) -> dict[str, Content]:
        """Return what was said, as effects of a step; numbers with more digits than float32 has are those of it that are nearest."""
        lines = {"logged": self.logged, "warned": self.warned, "asked of the system": self.asked}
        printed = {"printed": self.printed.getvalue(), "standard error": self.errors.getvalue()}
        said = {**printed, **{name: "\n".join(told) for name, told in lines.items()}}
        return {name: Content([("none", np.asarray(_LONG.sub(_shorten, text)))]) for name, text in said.items()}


def _shorten(match: re.Match[str]) -> str:
    digits = match[0].partition("e")[0].lstrip("-0.").replace(".", "")
    with np.errstate(all="ignore"):
        short = np.float32(match[0])
    return str(short) if len(digits) > _DIGITS and np.isfinite(short) else match[0]


class _Handler(logging.Handler):
    def __init__(self, told: list[str]) -> None:
        super().__init__(logging.INFO)
        self._told = told

    def emit(self, record: logging.LogRecord) -> None:
        if is_users(record.pathname):
            with contextlib.suppress(Exception):  # arguments that do not fit the text
                self._told.append(f"{record.levelname}: {record.getMessage()}")


@contextlib.contextmanager
def listening() -> Iterator[Emitted]:
    """Collect what user code says inside of the `with` block; none of it is shown."""
    heard = Emitted()
    root, handler = logging.getLogger(), _Handler(heard.logged)
    level, warn, show = root.level, warnings.warn, warnings.showwarning

    def note(message: Any, category: Any = None, *args: Any, **kwargs: Any) -> None:
        if is_users(sys._getframe(1).f_code.co_filename):
            kind = type(message) if isinstance(message, Warning) else category or UserWarning
            heard.warned.append(f"{kind.__name__}: {message}")

    left: list[Any] = []  # filters of user code: those that still stand in the end are as good as said

    def noting_filters(function: Callable[..., None]) -> Callable[..., None]:
        def call(*args: Any, **kwargs: Any) -> None:
            known = list(warnings.filters)
            function(*args, **kwargs)
            if is_users(sys._getframe(1).f_code.co_filename):
                left.extend(one for one in warnings.filters if not any(one is other for other in known))

        return call

    filtering = {name: getattr(warnings, name) for name in ("simplefilter", "filterwarnings")}
    for name, function in filtering.items():
        setattr(warnings, name, noting_filters(function))
    root.addHandler(handler)
    root.setLevel(min(level, logging.INFO))
    warnings.warn = note
    warnings.showwarning = lambda *args, **kwargs: None  # a framework's, which it may give once in a process
    try:
        with contextlib.redirect_stdout(heard.printed), contextlib.redirect_stderr(heard.errors), noting() as asked:
            heard.asked = asked
            yield heard
    finally:
        warnings.warn, warnings.showwarning = warn, show
        for name, function in filtering.items():
            setattr(warnings, name, function)
        standing = (one for one in left if any(one is other for other in warnings.filters))
        heard.warned += [f"filter: {action} {kind.__name__}" for action, _, kind, *_ in standing]
        root.setLevel(level)
        root.removeHandler(handler)
