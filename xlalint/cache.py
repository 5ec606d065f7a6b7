"""Keep the results of earlier runs in one SQLite file: safe with parallel runs, and never a reason to fail.

The file holds nothing that cannot be computed again. So whatever is wrong with it (truncated, foreign, of another version, locked for
long) is answered by a miss or by starting afresh, and an unwritable place by running without.
"""

from __future__ import annotations

import contextlib
import os
import sqlite3
import sys
import time
import zlib
from collections.abc import Callable, Iterable, Iterator, Sequence
from hashlib import blake2b
from pathlib import Path
from typing import Any, TypeVar

from xlalint import __version__
from xlalint.cache_folder import APPLICATION, FOLDER, clean, prepare, remove, remove_old
from xlalint.rules import rules_folder

_SCHEMA = 3
_BUSY_SECONDS = 5.0
_CHUNK = 500  # variables in one statement; SQLite's oldest limit is 999
_KEEP_DAYS = 14
_KEEP_RESULTS = 32
_TABLES = """
    CREATE TABLE IF NOT EXISTS meta (key TEXT PRIMARY KEY, value TEXT) WITHOUT ROWID;
    CREATE TABLE IF NOT EXISTS stats (path TEXT PRIMARY KEY, mtime INTEGER, size INTEGER, digest TEXT, used INTEGER) WITHOUT ROWID;
    CREATE TABLE IF NOT EXISTS units (key TEXT PRIMARY KEY, used INTEGER, blob BLOB);
    CREATE TABLE IF NOT EXISTS parts (key TEXT PRIMARY KEY, used INTEGER, blob BLOB);
    CREATE TABLE IF NOT EXISTS results (key TEXT PRIMARY KEY, used INTEGER, blob BLOB);
"""
# What a database of ours may hold, as SQLite tells it: of tables the statement that made them, of their indexes none.
_SCHEMA_TEXTS = {" ".join(text.split()).replace("IF NOT EXISTS ", "") for text in _TABLES.split(";")} | {None}
_DAMAGE = ("malformed", "not a database", "no such table", "no such column", "has no column", "disk i/o error")

__all__ = ["FOLDER", "Cache", "clean"]

T = TypeVar("T")


class Cache:
    """The cache of one run. With `folder` None nothing is found and nothing kept.

    `warning` says why there is no cache where one was wanted. Where the folder is said to be in a `project`, no link leads out of that.
    Used by one thread of one process; others may use the same file.
    """

    def __init__(self, folder: Path | None, project: str = "") -> None:
        self.folder = folder
        self._project = project
        self._file: Path | None = None
        self.warning: str | None = None
        self._db: sqlite3.Connection | None = None
        self._today = int(time.time() // 86400)
        if folder is not None:
            self._open(folder)

    def stats(self) -> dict[str, tuple[int, int, str]]:
        """Path → (modification time in ns, size, digest) of every file that was read before."""
        rows: list[tuple[str | bytes, int, int, str]] = []
        rows = self._ask(lambda db: db.execute("SELECT path, mtime, size, digest FROM stats").fetchall(), rows)
        return {os.fsdecode(path): (mtime, size, content) for path, mtime, size, content in rows}

    def put_stats(self, rows: Iterable[tuple[str, int, int, str]]) -> None:
        """Remember (path, mtime_ns, size, digest)."""
        values = [(_encode_path(path), mtime, size, content, self._today) for path, mtime, size, content in rows]
        self._write("INSERT OR REPLACE INTO stats VALUES (?, ?, ?, ?, ?)", values)

    def units(self, digests: Iterable[str]) -> dict[str, bytes]:
        """The units that are kept, by digest; those not there are left out."""
        return self._blobs("units", list(dict.fromkeys(digests)))

    def count_units(self, digests: Iterable[str]) -> int:
        """How many of some units are kept."""
        found = 0
        for chunk in _chunks(list(dict.fromkeys(digests))):
            query = f"SELECT count(*) FROM units WHERE key IN ({','.join('?' * len(chunk))})"
            found += self._ask(lambda db, q=query, c=chunk: int(db.execute(q, c).fetchone()[0]), 0)  # type: ignore[misc]
        return found

    def put_units(self, rows: Iterable[tuple[str, bytes]]) -> None:
        """Keep units by digest."""
        self._put("units", rows)

    def parts(self, keys: Iterable[str]) -> dict[str, bytes]:
        """The parts of results that are kept, by key; those not there are left out."""
        return self._blobs("parts", list(keys))

    def put_parts(self, rows: Iterable[tuple[str, bytes]]) -> None:
        """Keep parts of results by key."""
        self._put("parts", rows)

    def result(self, key: str) -> bytes | None:
        """The blob that was kept under a key."""
        return self._blobs("results", [key]).get(key)

    def put_result(self, key: str, blob: bytes) -> None:
        """Keep a blob under a key."""
        self._put("results", [(key, blob)])

    def prune(self) -> None:
        """Once a day, forget what no run has used for two weeks, and all but the newest results."""
        if self._meta("pruned") == str(self._today):
            return
        self._ask(self._forget, None)
        if self._file is not None:
            with contextlib.suppress(OSError):
                remove_old(self._file, _KEEP_DAYS)

    def close(self) -> None:
        """Let go of the file."""
        if self._db is not None:
            with contextlib.suppress(sqlite3.Error):
                self._db.close()
        self._db = None

    def __enter__(self) -> Cache:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _open(self, folder: Path) -> None:
        try:
            self._file = prepare(folder, self._project)
            self._connect(self._file)
        except (OSError, sqlite3.Error) as error:
            self.close()
            reason = (error.strerror if isinstance(error, OSError) else None) or str(error)
            self.warning = f"no cache: `{folder}`: {reason}"

    def _connect(self, file: Path) -> None:
        """Open the file; a second time, after removing it, if the first shows that it is of no use."""
        try:
            self._db = _connection(file)
        except sqlite3.Error as error:
            if not _damaged(error):
                raise
            remove(file)
            self._db = _connection(file)

    def _ask(self, question: Callable[[sqlite3.Connection], T], otherwise: T) -> T:
        """Run something on the database; damage found on the way starts the file afresh, any other trouble is a miss."""
        if self._db is None:
            return otherwise
        try:
            return question(self._db)
        except sqlite3.Error as error:
            with contextlib.suppress(sqlite3.Error):
                self._db.rollback()
            if _damaged(error) and self.folder is not None and self._file is not None:
                self.close()
                with contextlib.suppress(OSError):
                    remove(self._file)
                self._open(self.folder)
            return otherwise

    def _blobs(self, table: str, keys: Sequence[str]) -> dict[str, bytes]:
        found: dict[str, bytes] = {}
        stale: list[str] = []
        for chunk in _chunks(keys):
            for key, used, blob in self._rows(table, chunk):
                if (content := _unseal(blob)) is not None:
                    found[key] = content
                    if used != self._today:
                        stale.append(key)
        self._write(f"UPDATE {table} SET used = ? WHERE key = ?", [(self._today, key) for key in stale])
        return found

    def _rows(self, table: str, keys: Sequence[str]) -> list[tuple[str, int, object]]:
        query = f"SELECT key, used, blob FROM {table} WHERE key IN ({','.join('?' * len(keys))})"
        none: list[tuple[str, int, object]] = []
        return self._ask(lambda db: db.execute(query, keys).fetchall(), none)

    def _put(self, table: str, rows: Iterable[tuple[str, bytes]]) -> None:
        values = [(key, self._today, _seal(blob)) for key, blob in rows]
        self._write(f"INSERT OR REPLACE INTO {table} VALUES (?, ?, ?)", values)

    def _write(self, statement: str, values: Sequence[tuple[Any, ...]]) -> None:
        def write(db: sqlite3.Connection) -> None:
            with db:
                db.execute("BEGIN IMMEDIATE")
                db.executemany(statement, values)

        if values:
            self._ask(write, None)

    def _meta(self, key: str) -> str | None:
        row = self._ask(lambda db: db.execute("SELECT value FROM meta WHERE key = ?", (key,)).fetchone(), None)
        return str(row[0]) if row else None

    def _forget(self, db: sqlite3.Connection) -> None:
        oldest = self._today - _KEEP_DAYS
        with db:
            db.execute("BEGIN IMMEDIATE")
            db.execute("DELETE FROM units WHERE used < ?", (oldest,))
            db.execute("DELETE FROM parts WHERE used < ?", (oldest,))
            db.execute("DELETE FROM results WHERE used < ?", (oldest,))
            db.execute(
                "DELETE FROM results WHERE rowid NOT IN (SELECT rowid FROM results ORDER BY rowid DESC LIMIT ?)",
                (_KEEP_RESULTS,),
            )
            gone = [(path,) for (path,) in db.execute("SELECT path FROM stats") if not os.path.lexists(path)]
            db.executemany("DELETE FROM stats WHERE path = ?", gone)
            db.execute("INSERT OR REPLACE INTO meta VALUES ('pruned', ?)", (str(self._today),))
        db.execute("PRAGMA incremental_vacuum").fetchall()


def _connection(file: Path) -> sqlite3.Connection:
    """An open database with the right tables of the right version."""
    db = sqlite3.connect(file, timeout=_BUSY_SECONDS, isolation_level=None)
    try:
        # Before anything is written: that it is ours, and has nothing in it that SQLite would act upon.
        db.execute("PRAGMA trusted_schema = OFF")
        db.execute("PRAGMA cell_size_check = ON")
        if not _check(db):
            db.execute("PRAGMA auto_vacuum = INCREMENTAL")
            db.execute(f"PRAGMA application_id = {APPLICATION}")
        _write_ahead(db)
        db.execute("PRAGMA synchronous = NORMAL")
        _prepare(db)
    except BaseException:
        db.close()
        raise
    return db


def _write_ahead(db: sqlite3.Connection) -> None:
    """Let readers and a writer go on side by side. Only this change fails at once, not after the timeout, on a file in use."""
    deadline = time.monotonic() + _BUSY_SECONDS
    while True:
        try:
            db.execute("PRAGMA journal_mode = WAL").fetchall()
        except sqlite3.OperationalError as error:
            if "locked" not in str(error) or time.monotonic() > deadline:
                raise
            time.sleep(0.01)
        else:
            return


def _prepare(db: sqlite3.Connection) -> None:
    version = _version()
    with db:
        # One snapshot: tables that another run makes between two questions are not a foreign program's.
        db.execute("BEGIN")
        if _read_version(db) == version:
            return
    with db:
        db.execute("BEGIN IMMEDIATE")
        if _read_version(db) == version:
            return  # another run was first
        for name in ("meta", "stats", "units", "parts", "results"):
            db.execute(f"DROP TABLE IF EXISTS {name}")
        for statement in _TABLES.split(";"):
            db.execute(statement)
        db.execute("INSERT OR REPLACE INTO meta VALUES ('version', ?)", (version,))


def _read_version(db: sqlite3.Connection) -> str | None:
    """The version that the tables were made by, None where there are none yet."""
    if not db.execute("SELECT 1 FROM sqlite_master WHERE name = 'meta'").fetchone():
        return None
    row = db.execute("SELECT value FROM meta WHERE key = 'version'").fetchone()
    return str(row[0]) if row else None


def _check(db: sqlite3.Connection) -> bool:
    """Return whether it is a database of ours already, not an empty one; one that holds anything else counts as damaged."""
    with db:
        db.execute("BEGIN")  # one snapshot
        made = [text for (text,) in db.execute("SELECT sql FROM sqlite_master")]
        ours = bool(db.execute("PRAGMA application_id").fetchone()[0] == APPLICATION)
    if (made and not ours) or not _SCHEMA_TEXTS.issuperset(made):
        raise sqlite3.DatabaseError("not a database of xlalint")
    return ours


def _version() -> str:
    """Digest what the kept blobs depend on: this schema, Python's grammar, and xlalint itself, down to the state of its files.

    The files' state makes an editable checkout safe to work on; asking for it takes a millisecond.
    """
    state = blake2b(digest_size=12)
    own = [*_own_files(os.path.dirname(__file__)), *_own_files(str(rules_folder()))]  # noqa: PTH120
    for path, mtime, size in sorted(own):
        state.update(f"{path}:{mtime}:{size};".encode())
    return f"{_SCHEMA}/{__version__}/{sys.version_info.major}.{sys.version_info.minor}/{state.hexdigest()}"


def _own_files(folder: str) -> Iterator[tuple[str, int, int]]:
    with os.scandir(folder) as entries:
        for entry in entries:
            if entry.is_dir():
                if entry.name != "__pycache__":
                    yield from _own_files(entry.path)
            elif entry.name.endswith((".py", ".toml", ".md")):
                told = entry.stat()
                yield entry.path, told.st_mtime_ns, told.st_size


def _damaged(error: sqlite3.Error) -> bool:
    message = str(error).lower()
    return any(sign in message for sign in _DAMAGE)


def _seal(blob: bytes) -> bytes:
    return zlib.crc32(blob).to_bytes(4, "little") + blob


def _unseal(sealed: object) -> bytes | None:
    """The blob, if its checksum says that it is what was kept."""
    if not isinstance(sealed, bytes) or len(sealed) < 4:
        return None
    content = sealed[4:]
    return content if zlib.crc32(content) == int.from_bytes(sealed[:4], "little") else None


def _encode_path(path: str) -> str | bytes:
    """A path as SQLite takes it: one that is not UTF-8 by its bytes."""
    try:
        path.encode()
    except UnicodeEncodeError:
        return os.fsencode(path)
    return path


def _chunks(keys: Sequence[str]) -> Iterator[Sequence[str]]:
    for start in range(0, len(keys), _CHUNK):
        yield keys[start : start + _CHUNK]
