"""Fixed texts → files: each is either as it was or as it shall be, whatever happens meanwhile.

The new content is written beside the file and takes its name in one step. What is written beside has no name at all until it is complete,
where the system can do that. Elsewhere, and for the moment between, its name says whose it is, and a lock that it is being written: what a
killed run left is removed by the next that writes in the folder.
"""

from __future__ import annotations

import contextlib
import os
import re
import secrets
import stat
import time
from pathlib import Path

from xlalint.source.files import read_file

_TEMPORARY = re.compile(r"\.xlalint-[0-9a-f]{16}\.tmp")
_ABANDONED_SECONDS = 3600  # where there are no locks
_BINARY = getattr(os, "O_BINARY", 0) | getattr(os, "O_CLOEXEC", 0)


class WriteError(Exception):
    """A file that is left as it was; the message says why."""


def write(path: str, before: bytes, after: bytes, root: str) -> None:
    """Replace the content of a file, which must still be `before`. Its mode, extended attributes and access control list stay, and its
    owner and group where the user may give files to them.

    A link is followed, and its target replaced, if that lies in the project folder `root`. Raises `WriteError`.
    """
    real = _real(path, root)
    try:
        if read_file(real) != before:
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
    folder = os.path.dirname(real)  # noqa: PTH120
    _remove_abandoned(folder)
    temporary, handle, named = _open(folder)
    try:
        with open(handle, "wb", closefd=False) as stream:
            stream.write(after)
        _dress(handle, real)
        os.fsync(handle)
        if not named:
            os.link(f"/proc/self/fd/{handle}", temporary, src_dir_fd=handle)  # with a folder given, it follows the link
        if os.name == "nt":
            os.close(handle)
            handle = -1
        os.replace(temporary, real)  # noqa: PTH105
    except BaseException:  # Ctrl-C too
        with contextlib.suppress(OSError):
            os.unlink(temporary)  # noqa: PTH108
        raise
    finally:
        if handle >= 0:
            os.close(handle)
    _sync(folder)


def _open(folder: str) -> tuple[str, int, bool]:
    """A new file in a folder, locked: its name, the file, and whether it has its name already."""
    temporary = os.path.join(folder, f".xlalint-{secrets.token_hex(8)}.tmp")  # noqa: PTH118
    if hasattr(os, "O_TMPFILE") and os.path.exists("/proc/self/fd"):  # noqa: PTH110
        with contextlib.suppress(OSError):  # not on every file system
            handle = os.open(folder, os.O_TMPFILE | os.O_RDWR | _BINARY, 0o600)
            _lock(handle)
            return temporary, handle, False
    handle = os.open(temporary, os.O_CREAT | os.O_EXCL | os.O_RDWR | _BINARY, 0o600)
    if _lock(handle) is False or not os.fstat(handle).st_nlink:  # another run took it for abandoned
        os.close(handle)
        return _open(folder)
    return temporary, handle, True


def _dress(handle: int, real: str) -> None:
    """Give a new file what the one has that it takes the place of, as far as the user may.

    Whom it cannot belong to it belongs to the user, rather than be written in place, of which a part may be seen. The new group must not be
    allowed what only the old one was.
    """
    told = os.stat(real)  # noqa: PTH116
    mode = stat.S_IMODE(told.st_mode)
    if hasattr(os, "fchown"):
        own = os.fstat(handle)
        if own.st_uid != told.st_uid:
            with contextlib.suppress(OSError):
                os.fchown(handle, told.st_uid, -1)
        if own.st_gid != told.st_gid:
            try:
                os.fchown(handle, -1, told.st_gid)
            except OSError:
                mode = (mode & ~0o2070) | ((mode & 0o007) << 3)
        if os.fstat(handle).st_uid != told.st_uid:
            mode &= ~0o4000
    if hasattr(os, "fchmod"):
        os.fchmod(handle, mode)
    _keep_attributes(handle, real)


def _keep_attributes(handle: int, real: str) -> None:
    """Copy extended attributes, of which access control lists are one on Linux; those that only the system may set are its business."""
    if not hasattr(os, "listxattr"):
        return
    with contextlib.suppress(OSError):
        for name in os.listxattr(real):
            with contextlib.suppress(OSError):
                os.setxattr(handle, name, os.getxattr(real, name))


def _remove_abandoned(folder: str) -> None:
    """Remove what killed runs left in a folder."""
    with contextlib.suppress(OSError):
        for name in os.listdir(folder):  # noqa: PTH208
            if _TEMPORARY.fullmatch(name):
                with contextlib.suppress(OSError):
                    _remove_if_abandoned(os.path.join(folder, name))  # noqa: PTH118


def _remove_if_abandoned(temporary: str) -> None:
    told = os.lstat(temporary)
    if not stat.S_ISREG(told.st_mode) or (hasattr(os, "geteuid") and told.st_uid not in (os.geteuid(), 0)):
        return
    handle = os.open(temporary, os.O_RDWR | _BINARY | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0))
    try:
        free = _lock(handle)
        if free or (free is None and time.time() - told.st_mtime > _ABANDONED_SECONDS):
            os.unlink(temporary)  # noqa: PTH108
    finally:
        os.close(handle)


def _lock(handle: int) -> bool | None:
    """Hold a file until it is closed; whether nobody else holds it, None where nobody can say."""
    try:
        import fcntl
    except ImportError:
        return None
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    except OSError:  # a file system without locks
        return None
    return True


def _sync(folder: str) -> None:
    """Make the rename last through a power cut, where folders can be synced."""
    with contextlib.suppress(OSError):
        handle = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)
