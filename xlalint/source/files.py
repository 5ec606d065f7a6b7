"""The one way in which files of a repository are read: asked what they are before they are opened, and read up to a limit.

A repository may hold a named pipe, a device or a socket under any name, or a link to one. To open a pipe waits for a writer, to open a
device may act on it, and to read either may never end. So only regular files are opened. What a name stands for may change between the
question and the opening: the file is opened without waiting, and asked once more.
"""

from __future__ import annotations

import errno
import os
import re
import stat
from pathlib import Path

MOST_BYTES = 1_000_000_000
"""No file of more bytes is read, whatever it is for."""
MOST_TEXT = 10_000_000
"""The limit for what people write: configurations, ignore files, rule pages."""

_FLAGS = os.O_RDONLY
for _name in ("O_BINARY", "O_CLOEXEC", "O_NONBLOCK", "O_NOCTTY"):
    _FLAGS |= getattr(os, _name, 0)
_KINDS = {
    stat.S_IFIFO: "a named pipe",
    stat.S_IFSOCK: "a socket",
    stat.S_IFCHR: "a device",
    stat.S_IFBLK: "a device",
}
_NOT_OF_DISK = re.compile("[\ud800-\udc7f\udd00-\udfff]")  # what no byte of a name is read as
_UNITS = ((10**9, "GB"), (10**6, "MB"), (10**3, "kB"))


class NotRegularError(OSError):
    """A pipe, a socket or a device, which is not opened; `strerror` says which."""


class TooLargeError(OSError):
    """A file of more bytes than wanted; `strerror` says how many are too many. `size` is how many it has, as far as that is known."""

    def __init__(self, path: str | Path, size: int, limit: int) -> None:
        super().__init__(errno.EFBIG, f"it is larger than {shown_size(limit)}", str(path))
        self.size = size


def read_file(path: str | Path, limit: int = MOST_BYTES) -> bytes:
    """Read a regular file.

    Raises `OSError` as the system does, `NotRegularError` for what is no file to read, and `TooLargeError` for one of more than `limit`
    bytes; of those not even so many are read.
    """
    _refuse(path, os.stat(path).st_mode)  # noqa: PTH116 - a third of the time of Path.stat, over thousands of files
    handle = os.open(path, _FLAGS)
    try:
        told = os.fstat(handle)
        _refuse(path, told.st_mode)
        if told.st_size > limit:
            raise TooLargeError(path, told.st_size, limit)
        return _content(path, handle, told.st_size, limit)
    finally:
        os.close(handle)


def _content(path: str | Path, handle: int, size: int, limit: int) -> bytes:
    """All that is to be read; some files have more than they say, as those of /proc do and those that grow."""
    chunks: list[bytes] = []
    read = 0
    while chunk := os.read(handle, max(size - read, 4096) + 1):
        read += len(chunk)
        if read > limit:
            raise TooLargeError(path, read, limit)
        chunks.append(chunk)
    return chunks[0] if len(chunks) == 1 else b"".join(chunks)


def read_text(path: str | Path, *, errors: str = "strict") -> str:
    """Read a file that people write, in UTF-8 with or without a byte order mark, its line ends as line feeds.

    Raises `OSError` as `read_file` does, and `UnicodeDecodeError` unless `errors` says what to make of it.
    """
    return read_file(path, MOST_TEXT).decode("utf-8-sig", errors).replace("\r\n", "\n").replace("\r", "\n")


def _refuse(path: str | Path, mode: int) -> None:
    if stat.S_ISREG(mode):
        return
    if stat.S_ISDIR(mode):
        raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR), str(path))
    kind = _KINDS.get(stat.S_IFMT(mode), "no regular file")
    raise NotRegularError(errno.EINVAL, f"it is {kind}", str(path))


def shown_name(text: str) -> str:
    """A name, or a text with one in it, as text that is UTF-8: `b\\xff.py` for one that is not on the disk."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return text.encode(
            "utf-8", "surrogateescape" if _NOT_OF_DISK.search(text) is None else "backslashreplace"
        ).decode("utf-8", "backslashreplace")
    return text


def shown_size(number: int) -> str:
    """A number of bytes as people write it: `5 MB`, `1.5 GB`, `900 bytes`."""
    for size, unit in _UNITS:
        if number >= size:
            return f"{number / size:.1f}".removesuffix(".0") + f" {unit}"
    return f"{number} byte{'' if number == 1 else 's'}"
