"""The cache keeps what it was given, and is never a reason to fail."""

from __future__ import annotations

import os
import sqlite3
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from xlalint import cache as module
from xlalint.cache import Cache, clean
from xlalint.cache_folder import database_of

STATS = [("/a.py", 10**18, 5, "d1"), ("/b.py", 1, 0, "d2")]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return tmp_path / "cache"


def filled(folder: Path) -> None:
    with Cache(folder) as cache:
        cache.put_stats(STATS)
        cache.put_units([("d1", b"unit one"), ("d2", b"")])
        cache.put_result("key", b"result")
        assert cache.warning is None


def test_it_gives_back_what_it_was_given(folder: Path) -> None:
    filled(folder)
    with Cache(folder) as cache:
        assert cache.stats() == {"/a.py": (10**18, 5, "d1"), "/b.py": (1, 0, "d2")}
        assert cache.units(["d1", "d2", "d3", "d1"]) == {"d1": b"unit one", "d2": b""}
        assert cache.result("key") == b"result"
        assert cache.result("other") is None


def test_the_newest_wins(folder: Path) -> None:
    filled(folder)
    with Cache(folder) as cache:
        cache.put_stats([("/a.py", 2, 2, "d9")])
        cache.put_result("key", b"newer")
        assert cache.stats()["/a.py"] == (2, 2, "d9")
        assert cache.result("key") == b"newer"


def test_without_a_folder_it_keeps_nothing() -> None:
    cache = Cache(None)
    cache.put_stats(STATS)
    cache.put_units([("d1", b"x")])
    cache.put_result("key", b"x")
    cache.prune()
    assert (cache.stats(), cache.units(["d1"]), cache.result("key"), cache.warning) == ({}, {}, None, None)


def test_thousands_of_rows(folder: Path) -> None:
    rows = [(f"/path/{i}.py", i, i, f"{i:032x}") for i in range(3000)]
    with Cache(folder) as cache:
        cache.put_stats(rows)
        cache.put_units((digest, digest.encode()) for *_, digest in rows)
        assert len(cache.units(digest for *_, digest in rows)) == 3000
    with Cache(folder) as cache:
        assert len(cache.stats()) == 3000


def test_paths_that_are_not_utf8(folder: Path) -> None:
    with Cache(folder) as cache:
        cache.put_stats([("/\udcff.py", 1, 1, "d")])
        assert len(cache.stats()) == 1


def test_the_folder_is_marked_as_a_cache(folder: Path) -> None:
    filled(folder)
    assert (folder / "CACHEDIR.TAG").read_text().startswith("Signature: 8a477f597d28d172789f06886806bc55\n")
    assert (folder / ".gitignore").read_text() == "*\n"


def truncate(file: Path) -> None:
    os.truncate(file, 1000)


def scramble(file: Path) -> None:
    raw = bytearray(file.read_bytes())
    raw[4096:] = bytes(b ^ 0x5A for b in raw[4096:])
    file.write_bytes(raw)


def overwrite(file: Path) -> None:
    file.write_bytes(b"not a database at all " * 1000)


def empty(file: Path) -> None:
    file.write_bytes(b"")


def foreign(file: Path) -> None:
    file.unlink()
    with sqlite3.connect(file) as db:
        db.execute("CREATE TABLE meta (other)")


def lose_a_table(file: Path) -> None:
    with sqlite3.connect(file) as db:
        db.execute("DROP TABLE units")


def other_version(file: Path) -> None:
    with sqlite3.connect(file) as db:
        db.execute("UPDATE meta SET value = 'older' WHERE key = 'version'")


@pytest.mark.parametrize("harm", [truncate, scramble, overwrite, empty, foreign, lose_a_table, other_version])
def test_a_file_of_no_use_is_made_anew(folder: Path, harm: Callable[[Path], None]) -> None:
    filled(folder)
    harm(database_of(folder))
    with Cache(folder) as cache:
        cache.units(["d1"])
        cache.stats()
        assert cache.result("key") is None
        cache.put_units([("d1", b"again")])
        assert cache.warning is None
    with Cache(folder) as cache:
        assert cache.units(["d1"]) == {"d1": b"again"}
        assert cache.warning is None


def test_a_file_harmed_while_in_use(folder: Path) -> None:
    filled(folder)
    with Cache(folder) as cache:
        truncate(database_of(folder))
        cache.put_units([("d1", b"again")])
        cache.units(["d1"])
        cache.put_units([("d2", b"later")])
        assert cache.warning is None


def test_a_blob_that_changed_is_a_miss(folder: Path) -> None:
    filled(folder)
    with sqlite3.connect(database_of(folder)) as db:
        db.execute("UPDATE units SET blob = x'0011223344' WHERE key = 'd1'")
        db.execute("UPDATE results SET blob = 'text'")
    with Cache(folder) as cache:
        assert cache.units(["d1", "d2"]) == {"d2": b""}
        assert cache.result("key") is None


def test_another_version_of_xlalint_starts_afresh(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    filled(folder)
    monkeypatch.setattr(module, "__version__", "99.0")
    with Cache(folder) as cache:
        assert cache.stats() == {}


@pytest.mark.parametrize("place", ["file/cache", "file"])
def test_an_impossible_place_is_one_warning(tmp_path: Path, place: str) -> None:
    (tmp_path / "file").write_text("")
    cache = Cache(tmp_path / place)
    cache.put_result("key", b"x")
    assert cache.result("key") is None
    assert cache.warning is not None
    assert "no cache" in cache.warning
    assert "\n" not in cache.warning


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write everywhere")
def test_an_unwritable_place_is_one_warning(tmp_path: Path) -> None:
    tmp_path.chmod(0o500)
    try:
        assert "Permission denied" in (Cache(tmp_path / "cache").warning or "")
    finally:
        tmp_path.chmod(0o700)


def test_a_file_locked_for_long_is_a_miss(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    filled(folder)
    monkeypatch.setattr(module, "_BUSY_SECONDS", 0.05)
    other = sqlite3.connect(database_of(folder), isolation_level=None)
    with Cache(folder) as cache:
        other.execute("BEGIN EXCLUSIVE")
        cache.put_result("key", b"lost")
        assert cache.result("key") == b"result"
        other.execute("ROLLBACK")
        cache.put_result("key", b"kept")
        assert cache.result("key") == b"kept"
    other.close()


WRITER = """
import sys
from pathlib import Path
from xlalint import cache as module
from xlalint.cache import Cache
module._BUSY_SECONDS = 50.0
name = sys.argv[2]
for round in range(15):
    with Cache(Path(sys.argv[1])) as cache:
        assert cache.warning is None, cache.warning
        cache.put_units([(f"{name}-{round}-{i}", name.encode() * 500) for i in range(40)])
        cache.put_units([(f"shared-{i}", b"same" * 200) for i in range(40)])
        cache.put_stats([(f"/{name}/{round}/{i}", i, i, "d") for i in range(40)])
        cache.put_result("shared", b"same")
"""


def test_processes_write_at_once(folder: Path) -> None:
    writers = [
        subprocess.Popen([sys.executable, "-c", WRITER, str(folder), name], stderr=subprocess.PIPE, cwd=folder.parent)
        for name in "abc"
    ]
    for writer in writers:
        _, told = writer.communicate(timeout=60)
        assert writer.returncode == 0, told.decode()
    with Cache(folder) as cache:
        keys = [f"{name}-{i}-{j}" for name in "abc" for i in range(15) for j in range(40)]
        assert len(cache.units(keys)) == len(keys)
        assert len(cache.stats()) == len(keys)
        assert cache.result("shared") == b"same"


def test_a_process_killed_while_writing_leaves_a_good_file(folder: Path) -> None:
    filled(folder)
    writer = subprocess.Popen(
        [sys.executable, "-c", WRITER.replace("range(15)", "range(10**6)"), str(folder), "k"], cwd=folder.parent
    )
    time.sleep(0.5)
    writer.kill()
    writer.wait()
    with Cache(folder) as cache:
        assert cache.result("key") == b"result"
        assert cache.warning is None
        assert sqlite3.connect(database_of(folder)).execute("PRAGMA integrity_check").fetchone() == ("ok",)


def test_prune_forgets_what_is_old(folder: Path, tmp_path: Path) -> None:
    here = tmp_path / "here.py"
    here.touch()
    with Cache(folder) as cache:
        cache.put_stats([("/nowhere/at/all.py", 1, 1, "d"), (str(here), 1, 1, "d")])
        cache.put_units([("old", b"x"), ("new", b"x")])
        for i in range(40):
            cache.put_result(f"r{i}", b"x")
    with sqlite3.connect(database_of(folder)) as db:
        db.execute("UPDATE units SET used = 1 WHERE key = 'old'")
    with Cache(folder) as cache:
        cache.prune()
        assert cache.units(["old", "new"]) == {"new": b"x"}
        assert set(cache.stats()) == {str(here)}
        assert (cache.result("r0"), cache.result("r39")) == (None, b"x")


def test_what_is_used_does_not_grow_old(folder: Path) -> None:
    filled(folder)
    with sqlite3.connect(database_of(folder)) as db:
        db.execute("UPDATE units SET used = 1")
    with Cache(folder) as cache:
        cache.units(["d1"])
        cache.prune()
        assert cache.units(["d1", "d2"]) == {"d1": b"unit one"}


def test_clean_removes_only_what_is_ours(folder: Path) -> None:
    assert not clean(folder)
    filled(folder)
    (folder / "notes.txt").write_text("mine")
    assert clean(folder)
    assert [path.name for path in folder.iterdir()] == ["notes.txt"]
    (folder / "notes.txt").unlink()
    filled(folder)
    assert clean(folder)
    assert not folder.exists()
