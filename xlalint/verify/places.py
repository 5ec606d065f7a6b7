"""Finds the user's line that something belongs to: the innermost one outside of frameworks, Python's library and this package."""

from __future__ import annotations

import inspect
import linecache
import re
import sys
import sysconfig
import traceback
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from types import FrameType

from xlalint.verify.model import Place

_NAMES = (
    "_pytest absl attr chex distrax einops equinox fire flax functorch google haiku jax jaxlib jaxtyping keras libcst libtpu lightning"
    " ml_dtypes msgspec numpy opt_einsum optax orbax pluggy pytest tensorflow tf_keras torch torch_tpu torch_xla torchgen torchvision"
    " typeguard typing_extensions"
)
_LIBRARIES = frozenset(_NAMES.split())
_STDLIB = tuple({sysconfig.get_path("stdlib") + "/", sysconfig.get_path("platstdlib") + "/"})
_HERE = f"{Path(__file__).resolve().parents[1]}/"
_BACKENDS = f"{_HERE}verify/backends/"
_QUOTED_CODE = re.compile(r'^ *File "[^"\n]+", line \d+.*\n(?:[ \t]+.*\n?)?', re.MULTILINE)
_PREAMBLES = ("in user code", "Traceback", "Exception encountered when calling")  # of AutoGraph, Python, Keras
_QUOTED = re.compile(r'File "(?P<file>[^"\n]+)", line (?P<line>\d+)(?:, in (?P<function>\S+))?')


@cache
def is_users(file: str) -> bool:
    """Return whether a code object's file is the user's: not generated, no framework's, not of Python's own library."""
    if file.startswith(("<", _HERE)) or "__autograph_generated_file" in file:
        return file.startswith("<ipython")
    for folder in ("site-packages/", "dist-packages/"):
        _, found, inside = file.rpartition(folder)
        if found:
            return inside.split("/", 1)[0].removesuffix(".py") not in _LIBRARIES
    return not file.startswith(_STDLIB)


def is_a_backends(frame: FrameType) -> bool:
    """Return whether a frame is a backend's. Its callers are no part of the program that it runs."""
    return frame.f_code.co_filename.startswith(_BACKENDS)


def calling(frame: FrameType | None = None) -> Place | None:
    """The user's line that is being executed, seen from a frame (the caller's, if none is given); about a microsecond.

    A backend calls the user's code: who called the backend is not looked at.
    """
    frame = frame or sys._getframe(1)
    while frame is not None and not is_a_backends(frame):
        code = frame.f_code
        if is_users(code.co_filename):
            return Place(code.co_filename, frame.f_lineno, code.co_name)
        frame = frame.f_back
    return None


def definition(subject: object) -> Place | None:
    """Where a function, a method, or the method that calls an object is defined."""
    function = inspect.unwrap(getattr(subject, "python_function", subject))  # type: ignore[arg-type]
    methods = (getattr(type(subject), name, None) for name in ("call", "forward", "__call__"))
    for one in (function, *methods):
        code = getattr(inspect.unwrap(getattr(one, "__func__", one)), "__code__", None) if callable(one) else None
        if code is not None and is_users(code.co_filename):
            return Place(code.co_filename, code.co_firstlineno, code.co_name)
    return None


def of_error(error: BaseException, first: str = "") -> Place | None:
    """The user's line that an exception came from; a line of the file `first`, if there is one, else the innermost of any."""
    places = list(through(error))
    return next((one for one in reversed(places) if one.file == first), places[-1] if places else None)


def through(error: BaseException) -> Iterator[Place]:
    """The user's lines that an exception came through, those that its text quotes (AutoGraph does) and those of its causes included."""
    cause = error.__cause__ or (None if error.__suppress_context__ else error.__context__)
    for frame in traceback.extract_tb(error.__traceback__):
        if is_users(frame.filename) and frame.lineno:
            yield Place(frame.filename, frame.lineno, frame.name)
    yield from find_quoted(str(error))
    if cause is not None:
        yield from through(cause)


def find_quoted(text: str) -> Iterator[Place]:
    """Find the user's lines that a text quotes as a traceback does, outermost first."""
    for match in _QUOTED.finditer(text):
        file = _whole(match["file"])
        if is_users(file):
            yield Place(file, int(match["line"]), match["function"] or "")


def _whole(file: str) -> str:
    """The path of a file that a text names by its end only: TensorFlow leaves out what all paths of a traceback begin with."""
    if file.startswith(("/", "<")) or Path(file).is_absolute():
        return file
    known = [*linecache.cache, *(getattr(module, "__file__", None) or "" for module in list(sys.modules.values()))]
    return next((one for one in known if one.endswith(f"/{file}")), file)


def headline(error: BaseException) -> str:
    """Type and first line of an exception that says something, at most 200 characters."""
    name = type(error).__name__
    text = _QUOTED_CODE.sub("", re.sub(r"\x1b\[[\d;]*m", "", str(error)))
    lines = (line.strip().removeprefix(f"{name}:").strip() for line in text.splitlines())
    said = next((line for line in lines if line and not line.startswith(_PREAMBLES)), "")
    return f"{name}: {said[:200]}".rstrip(": ")
