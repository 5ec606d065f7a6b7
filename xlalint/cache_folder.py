"""The folder of a cache: whose it is, and which files in it are xlalint's.

A repository may bring a folder of the cache's name along, with links in it or with results that somebody made up. So the database has a
name that nobody knows beforehand: a hash of where it lies, keyed with what is kept in the user's own cache folder or told by
`XLALINT_CACHE_KEY`. What lies there under any other name is neither opened nor trusted, and no link is followed.
"""

from __future__ import annotations

import contextlib
import errno
import os
import re
import stat
import sys
import tempfile
import time
from collections.abc import Iterator
from hashlib import blake2b
from pathlib import Path

from xlalint.source.files import read_file

FOLDER = ".xlalint_cache"
KEY_VARIABLE = "XLALINT_CACHE_KEY"
APPLICATION = 0x786C616C
"""SQLite's application_id, "xlal": it says whose file a database is."""

_TAG = "Signature: 8a477f597d28d172789f06886806bc55\n# This folder is a cache of xlalint. See https://bford.info/cachedir/\n"
_MARKS = (("CACHEDIR.TAG", _TAG.encode()), (".gitignore", b"*\n"))
_NAME = re.compile(r"xlalint(?:-[0-9a-f]{16})?\.db")  # without a hash: as versions before wrote it
_BESIDE = ("-wal", "-shm", "-journal")
_MAGIC = b"SQLite format 3\0"
_ID_AT = 68  # in a database's first hundred bytes, big endian
_KEY_BYTES = 32


class RefusedError(OSError):
    """A folder that is not used; `strerror` says why."""

    def __init__(self, reason: str) -> None:
        super().__init__(errno.EPERM, reason)


def user_caches() -> Path:
    """The user's cache folder for xlalint. Raises `OSError` where the user has no home."""
    try:
        if sys.platform == "win32":
            base = Path(os.environ.get("LOCALAPPDATA") or Path.home() / "AppData" / "Local")
        elif sys.platform == "darwin":
            base = Path.home() / "Library" / "Caches"
        else:
            base = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
    except RuntimeError as error:
        raise OSError(errno.ENOENT, str(error)) from error
    return base / "xlalint"


def database_of(folder: Path) -> Path:
    """Where the database of a cache folder is. Raises `OSError` where the user's key can be neither read nor made."""
    place = os.fsencode(os.path.realpath(folder))
    return folder / f"xlalint-{blake2b(place, digest_size=8, key=_key()).hexdigest()}.db"


def prepare(folder: Path, project: str = "") -> Path:
    """Make a cache folder if it is not there; where its database is.

    Raises `OSError`: `RefusedError` for a link, for one that is reached through a link out of the `project` that it is said to be in,
    and for one that belongs to somebody else.
    """
    if folder.is_symlink():
        raise RefusedError("it is a link: name the folder itself with `cache-dir`")
    inside = project and folder.is_relative_to(project)
    if inside and not Path(os.path.realpath(folder)).is_relative_to(os.path.realpath(project)):
        raise RefusedError("it is reached by a link out of the project")
    file = database_of(folder)
    folder.mkdir(parents=True, exist_ok=True)
    told = os.lstat(folder)
    if not stat.S_ISDIR(told.st_mode):
        raise NotADirectoryError(errno.ENOTDIR, os.strerror(errno.ENOTDIR))
    if not _trusted(told):
        raise RefusedError("it belongs to another user: name one of your own with `cache-dir`")
    _mark(folder)
    _discard_foreign(file)
    return file


def remove(file: Path) -> None:
    """Remove a database, with what SQLite keeps beside it."""
    for name in (file.name, *(f"{file.name}{ending}" for ending in _BESIDE)):
        with contextlib.suppress(FileNotFoundError):
            (file.parent / name).unlink()


def clean(folder: Path) -> bool:
    """Remove a cache folder; of what it holds only what xlalint wrote. Whether there was anything."""
    if folder.is_symlink() or not folder.is_dir():
        return False
    ours = [*_databases(folder), *_marks(folder)]
    for file in ours:
        remove(file)
    if ours:
        with contextlib.suppress(OSError):  # holds something else, which is not ours
            folder.rmdir()
    return bool(ours)


def remove_old(file: Path, days: int) -> None:
    """Remove the databases beside one that were made with other keys, as each new machine of a CI service has its own, and are not used any
    more.
    """
    oldest = time.time() - days * 86400
    for other in _databases(file.parent):
        with contextlib.suppress(OSError):
            if other != file and other.lstat().st_mtime < oldest:
                remove(other)


def _databases(folder: Path) -> Iterator[Path]:
    """The databases of xlalint in a folder."""
    for name in sorted(os.listdir(folder)):  # noqa: PTH208
        if _NAME.fullmatch(name) and _is_ours(folder / name):
            yield folder / name


def _is_ours(file: Path) -> bool:
    """Return whether a file is a database that xlalint made: told by its header, without SQLite, which would write beside it."""
    try:
        told = file.lstat()
        if not stat.S_ISREG(told.st_mode) or not _owned(told):
            return False
        return told.st_size > 0 and _application(file) == APPLICATION
    except OSError:
        return False


def _application(file: Path) -> int | None:
    handle = os.open(file, os.O_RDONLY | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_BINARY", 0))
    try:
        header = os.read(handle, 100)
    finally:
        os.close(handle)
    return int.from_bytes(header[_ID_AT : _ID_AT + 4], "big") if header.startswith(_MAGIC) else None


def _discard_foreign(file: Path) -> None:
    """Remove what has the database's name and is none of ours: a link, of either kind, or the database of another program.

    An empty file, and one of no application yet, is one that is being made.
    """
    try:
        told = file.lstat()
    except FileNotFoundError:
        return
    plain = stat.S_ISREG(told.st_mode) and told.st_nlink == 1 and _owned(told)
    if not plain or (told.st_size and _application(file) not in (APPLICATION, 0)):
        remove(file)


def _marks(folder: Path) -> Iterator[Path]:
    """The files that tell others to leave the folder alone, where they are as they were written."""
    for name, content in _MARKS:
        file = folder / name
        try:
            if stat.S_ISREG(file.lstat().st_mode) and read_file(file, len(content)) == content:
                yield file
            elif name == _MARKS[0][0]:
                return
        except OSError:
            return


def _mark(folder: Path) -> None:
    """Tell backup programs and git to leave the folder alone, where it is ours alone: one that was there may hold a user's files."""
    if os.listdir(folder):  # noqa: PTH208
        return
    for name, content in _MARKS:
        flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_BINARY", 0)
        with contextlib.suppress(FileExistsError):
            handle = os.open(folder / name, flags, 0o666)
            try:
                os.write(handle, content)
            finally:
                os.close(handle)


def _owned(told: os.stat_result) -> bool:
    return not hasattr(os, "geteuid") or told.st_uid == os.geteuid()


def _trusted(told: os.stat_result) -> bool:
    """Return whether nobody else can exchange what lies in a folder: it is the user's, or the administrator's."""
    return _owned(told) or told.st_uid == 0


# -------------------------------------------------------------------------------------------------------------- the key


def _key() -> bytes:
    given = os.environ.get(KEY_VARIABLE)
    if given:
        return blake2b(os.fsencode(given), digest_size=_KEY_BYTES).digest()
    file = user_caches() / "cache-key"
    known = _kept_key(file)
    if known is None:
        _make_key(file)
        known = _kept_key(file)
    if known is None:
        raise RefusedError(f"`{file}` cannot be made private: set {KEY_VARIABLE}")
    return known


def _kept_key(file: Path) -> bytes | None:
    """The key in a file; None where there is none that only the user can know."""
    try:
        told = file.lstat()
        private = os.name == "nt" or not told.st_mode & 0o077
        if not stat.S_ISREG(told.st_mode) or not private or not _owned(told):
            return None
        found = read_file(file, _KEY_BYTES)
    except OSError:
        return None
    return found if len(found) == _KEY_BYTES else None


def _make_key(file: Path) -> None:
    """Keep a new key, unless another run was first."""
    try:
        file.parent.mkdir(parents=True, exist_ok=True)
        handle, name = tempfile.mkstemp(dir=file.parent, prefix=file.name)
    except OSError as error:
        reason = f"`{file}` cannot be written ({error.strerror}): set {KEY_VARIABLE}"
        raise OSError(error.errno, reason) from error
    try:
        with os.fdopen(handle, "wb") as stream:
            stream.write(os.urandom(_KEY_BYTES))
        if file.exists() and _kept_key(file) is None:
            os.replace(name, file)  # noqa: PTH105
        else:
            with contextlib.suppress(FileExistsError):
                os.link(name, file)
    except OSError:
        os.replace(name, file)  # noqa: PTH105 - a file system without links
    finally:
        with contextlib.suppress(FileNotFoundError):
            os.unlink(name)  # noqa: PTH108
