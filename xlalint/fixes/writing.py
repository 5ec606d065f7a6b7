"""Fixed texts → files: each is either as it was or as it shall be, whatever happens meanwhile."""

from __future__ import annotations

import contextlib
import os
import tempfile
from pathlib import Path


class WriteError(Exception):
    """A file that is left as it was; the message says why."""


def write(path: str, before: bytes, after: bytes, root: str) -> None:
    """Replace the content of a file, which must still be `before`; its mode stays.

    A link is followed, and its target replaced, if that lies in the project folder `root`. Raises `WriteError`.
    """
    real = _real(path, root)
    try:
        if Path(real).read_bytes() != before:
            raise WriteError("it was changed while it was being fixed")
        if not os.access(real, os.W_OK):
            raise WriteError("it is read-only")
        _replace(real, after)
    except OSError as error:
        raise WriteError(error.strerror or str(error)) from error


def _real(path: str, root: str) -> str:
    """The file behind all links. Above the project, and in paths elsewhere that the user gave, only a link to a file is a way out."""
    real, home = os.path.realpath(path), os.path.realpath(root)
    inside = Path(path).is_relative_to(root)
    if (inside or os.path.islink(path)) and not Path(real).is_relative_to(home):  # noqa: PTH114
        raise WriteError(f"it is reached by a link out of the project, to `{real}`")
    return real


def _replace(real: str, after: bytes) -> None:
    """Write beside the file and rename: a rename is seen wholly or not at all, and after fsync it is not ahead of the content."""
    folder, name = os.path.split(real)
    handle, temporary = tempfile.mkstemp(prefix=f".{name}.", suffix=".xlalint", dir=folder)
    try:
        with os.fdopen(handle, "wb") as stream:
            os.fchmod(stream.fileno(), os.stat(real).st_mode & 0o7777)  # noqa: PTH116
            stream.write(after)
            stream.flush()
            os.fsync(stream.fileno())
        os.replace(temporary, real)  # noqa: PTH105
    except BaseException:  # Ctrl-C too
        with contextlib.suppress(OSError):
            os.unlink(temporary)  # noqa: PTH108
        raise
    _sync(folder)


def _sync(folder: str) -> None:
    """Make the rename last through a power cut, where folders can be synced."""
    with contextlib.suppress(OSError):
        handle = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)
