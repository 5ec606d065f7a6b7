"""Whose a cache is: nothing is written through links, nothing of others is opened, changed, removed or believed."""

from __future__ import annotations

import os
import re
import sqlite3
import stat
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from xlalint import cache_folder as module
from xlalint.cache import FOLDER, Cache, clean
from xlalint.cache_folder import APPLICATION, database_of
from xlalint.cli import main

MODEL = "import torch\n\n\ndef f(x: torch.Tensor):\n    if x.any():\n        return x\n    return -x\n"


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The user's cache folder."""
    monkeypatch.delenv(module.KEY_VARIABLE, raising=False)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "home"))
    monkeypatch.setattr(module, "user_caches", lambda: tmp_path / "home" / "xlalint")
    return tmp_path / "home" / "xlalint"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "project").mkdir()
    return tmp_path / "project" / FOLDER


def state(*places: Path) -> dict[str, object]:
    """All that lies in some folders: names, contents, where links lead."""
    return {
        str(path): str(path.readlink()) if path.is_symlink() else path.read_bytes() if path.is_file() else None
        for place in places
        for path in sorted(place.rglob("*"))
    }


# ---------------------------------------------------------------------------------------------------------------- clean


@pytest.mark.parametrize("content", ["build/\n", "*\n", ""], ids=["theirs", "same-as-ours", "empty"])
def test_clean_leaves_the_users_ignore_file(tmp_path: Path, content: str) -> None:
    (tmp_path / ".gitignore").write_text(content)
    (tmp_path / "m.py").write_text(MODEL)
    with Cache(tmp_path, str(tmp_path)) as cache:
        cache.put_result("k", b"v")
        assert cache.warning is None
    assert clean(tmp_path)
    assert {path.name for path in tmp_path.iterdir()} == {".gitignore", "m.py", "home"}
    assert (tmp_path / ".gitignore").read_text() == content


@pytest.mark.parametrize("name", ["xlalint.db", "xlalint-0123456789abcdef.db", "CACHEDIR.TAG"])
@pytest.mark.parametrize("kind", ["text", "link", "folder", "foreign-database"])
def test_clean_leaves_what_it_did_not_write(tmp_path: Path, folder: Path, name: str, kind: str) -> None:
    folder.mkdir()
    target = tmp_path / "target"
    with sqlite3.connect(target) as db:
        db.execute(f"PRAGMA application_id = {APPLICATION}")
        db.execute("CREATE TABLE t (x)")
    db.close()
    if kind == "link":
        (folder / name).symlink_to(target)
    elif kind == "folder":
        (folder / name).mkdir()
    elif kind == "text":
        (folder / name).write_text("mine")
    else:
        with sqlite3.connect(folder / name) as db:
            db.execute("CREATE TABLE t (x)")
        db.close()
    before = state(tmp_path)
    assert not clean(folder)
    assert state(tmp_path) == before


def test_clean_does_not_go_through_a_link(tmp_path: Path, folder: Path) -> None:
    with Cache(tmp_path / "other"):
        pass
    folder.symlink_to(tmp_path / "other")
    before = state(tmp_path / "other")
    assert not clean(folder)
    assert state(tmp_path / "other") == before


def test_clean_removes_what_earlier_versions_wrote(folder: Path) -> None:
    folder.mkdir()
    with sqlite3.connect(folder / "xlalint.db") as db:
        db.execute(f"PRAGMA application_id = {APPLICATION}")
        db.execute("CREATE TABLE meta (x)")
    db.close()
    assert clean(folder)
    assert not folder.exists()


# ---------------------------------------------------------------------------------------------------------------- links


@pytest.mark.parametrize("name", ["CACHEDIR.TAG", ".gitignore", "xlalint.db", "xlalint.db-wal", "xlalint.db-shm"])
@pytest.mark.parametrize("there", [True, False], ids=["to-a-file", "to-nothing"])
def test_a_link_that_a_repository_brings_is_not_followed(tmp_path: Path, folder: Path, name: str, there: bool) -> None:
    folder.mkdir()
    (tmp_path / "outside").mkdir()
    if there:
        (tmp_path / "outside" / "file").touch()
    (folder / name).symlink_to(tmp_path / "outside" / "file")
    before = state(tmp_path / "outside")
    with Cache(folder) as cache:
        cache.put_result("k", b"v")
        assert cache.warning is None
    with Cache(folder) as cache:
        assert cache.result("k") == b"v"
    assert state(tmp_path / "outside") == before
    assert (folder / name).is_symlink()


def test_a_folder_that_is_a_link_is_refused(tmp_path: Path, folder: Path) -> None:
    (tmp_path / "outside").mkdir()
    folder.symlink_to(tmp_path / "outside")
    with Cache(folder) as cache:
        assert "it is a link" in (cache.warning or "")
    assert state(tmp_path / "outside") == {}


def test_a_folder_behind_a_link_out_of_the_project_is_refused(tmp_path: Path) -> None:
    project = tmp_path / "project"
    project.mkdir()
    (tmp_path / "outside").mkdir()
    (project / "sub").symlink_to(tmp_path / "outside")
    with Cache(project / "sub" / "cache", str(project)) as cache:
        assert "link out of the project" in (cache.warning or "")
    assert state(tmp_path / "outside") == {}


def test_a_project_that_is_reached_by_a_link_has_its_cache(tmp_path: Path) -> None:
    (tmp_path / "project").mkdir()
    (tmp_path / "link").symlink_to(tmp_path / "project")
    with Cache(tmp_path / "link" / FOLDER, str(tmp_path / "link")) as cache:
        assert cache.warning is None


@pytest.mark.skipif(not hasattr(os, "geteuid") or os.geteuid() != 0, reason="only root gives folders away")
def test_a_folder_of_somebody_else_is_refused(folder: Path) -> None:
    folder.mkdir()
    os.chown(folder, 12345, 12345)
    with Cache(folder) as cache:
        assert "another user" in (cache.warning or "")
    assert list(folder.iterdir()) == []


# ------------------------------------------------------------------------------------------------- databases of others


def foreign(file: Path) -> None:
    with sqlite3.connect(file) as db:
        db.execute("PRAGMA application_id = 7")
        db.execute("CREATE TABLE precious (x)")
    db.close()


def empty(file: Path) -> None:
    file.touch()


def hostile(file: Path) -> None:
    """A database that says that it is xlalint's, with tables of the right names, and a trigger and a view among them."""
    with sqlite3.connect(file) as db:
        db.execute(f"PRAGMA application_id = {APPLICATION}")
        db.executescript(
            """
            CREATE TABLE meta (key TEXT PRIMARY KEY, value TEXT) WITHOUT ROWID;
            CREATE VIEW stats AS SELECT '/a.py' AS path, 1 AS mtime, 1 AS size, load_extension('./evil.so') AS digest;
            CREATE TABLE units (key TEXT PRIMARY KEY, used INTEGER, blob BLOB);
            CREATE TABLE results (key TEXT PRIMARY KEY, used INTEGER, blob BLOB);
            CREATE TRIGGER t AFTER INSERT ON units BEGIN DELETE FROM results; END;
            """
        )
    db.close()


@pytest.mark.parametrize("make", [foreign, empty, hostile])
def test_a_database_that_a_repository_brings_is_not_touched(folder: Path, make: Callable[[Path], None]) -> None:
    folder.mkdir()
    make(folder / "xlalint.db")
    make(folder / "xlalint-0123456789abcdef.db")
    before = state(folder)
    with Cache(folder) as cache:
        assert cache.stats() == {}
        cache.put_result("k", b"v")
        assert cache.warning is None
    assert before.items() <= state(folder).items()


@pytest.mark.parametrize("make", [foreign, empty, hostile])
def test_nor_used_where_it_has_the_right_name(folder: Path, make: Callable[[Path], None]) -> None:
    folder.mkdir()
    make(database_of(folder))
    with Cache(folder) as cache:
        assert cache.stats() == {}
        cache.put_units([("u", b"u")])
        cache.put_result("k", b"v")
        cache.put_units([("w", b"w")])
        assert (cache.result("k"), cache.warning) == (b"v", None)
    with sqlite3.connect(database_of(folder)) as db:
        assert {kind for (kind,) in db.execute("SELECT type FROM sqlite_master")} <= {"table", "index"}


@pytest.mark.parametrize("link", ["symbolic", "hard"])
def test_a_link_of_the_right_name_is_replaced(tmp_path: Path, folder: Path, link: str) -> None:
    folder.mkdir()
    target = tmp_path / "other.db"
    foreign(target)
    if link == "symbolic":
        database_of(folder).symlink_to(target)
    else:
        os.link(target, database_of(folder))
    before = target.read_bytes()
    with Cache(folder) as cache:
        cache.put_result("k", b"v")
        assert cache.result("k") == b"v"
    assert target.read_bytes() == before
    assert {path.name for path in tmp_path.iterdir()} == {"home", "project", "other.db"}


def test_what_another_user_kept_is_not_believed(
    folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Somebody makes up results under a key of their own, and puts the cache into a repository."""
    (folder.parent / "m.py").write_text(MODEL)
    monkeypatch.chdir(folder.parent)
    monkeypatch.setenv("XLALINT_CACHE_KEY", "theirs")
    assert main(["check", "--isolated"]) == 1
    with sqlite3.connect(database_of(folder)) as db:
        assert db.execute("SELECT count(*) FROM results").fetchone()[0] > 0
    db.close()
    for key in ("", "mine"):
        monkeypatch.setenv("XLALINT_CACHE_KEY", key)
        with Cache(folder) as cache:
            assert cache.stats() == {}
    capsys.readouterr()


# -------------------------------------------------------------------------------------------------------------- the key


def test_the_key_is_made_once_and_kept_to_the_user(home: Path, folder: Path) -> None:
    first = database_of(folder)
    assert database_of(folder) == first
    assert re.fullmatch(r"xlalint-[0-9a-f]{16}\.db", first.name)
    assert [path.name for path in home.iterdir()] == ["cache-key"]
    assert stat.S_IMODE((home / "cache-key").stat().st_mode) == 0o600
    assert database_of(folder.parent).name != first.name


@pytest.mark.skipif(os.name == "nt", reason="no modes")
@pytest.mark.parametrize("harm", ["readable", "short", "link", "pipe"])
def test_a_key_that_others_may_know_is_not_used(home: Path, folder: Path, tmp_path: Path, harm: str) -> None:
    first = database_of(folder)
    key = home / "cache-key"
    if harm == "readable":
        key.chmod(0o644)
    elif harm == "short":
        key.write_bytes(b"short")
    else:
        key.rename(tmp_path / "elsewhere")
        os.mkfifo(key, 0o600) if harm == "pipe" else key.symlink_to(tmp_path / "elsewhere")
    second = database_of(folder)
    assert second != first
    assert database_of(folder) == second


def test_a_home_that_cannot_be_written_is_one_warning(
    tmp_path: Path, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "file").touch()
    monkeypatch.setattr(module, "user_caches", lambda: tmp_path / "file" / "xlalint")
    with Cache(folder) as cache:
        assert "set XLALINT_CACHE_KEY" in (cache.warning or "")
    monkeypatch.setenv("XLALINT_CACHE_KEY", "any text")
    with Cache(folder) as cache:
        assert cache.warning is None


def test_runs_that_make_the_key_at_once_agree(home: Path, folder: Path) -> None:
    script = f"""
import sys
from pathlib import Path
from xlalint.cache_folder import database_of
sys.stdin.read()
print(database_of(Path({str(folder)!r})))
"""
    environment = {**os.environ, "XDG_CACHE_HOME": str(home.parent)}
    runs = [
        subprocess.Popen([sys.executable, "-c", script], stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=environment)
        for _ in range(4)
    ]
    told = {run.communicate(timeout=60)[0] for run in runs}
    assert len(told) == 1
    assert list(home.iterdir()) == [home / "cache-key"]


def test_databases_of_other_keys_go_when_they_are_old(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    made = []
    for key in ("old", "newer", "mine"):
        monkeypatch.setenv("XLALINT_CACHE_KEY", key)
        with Cache(folder) as cache:
            cache.put_result("k", b"v")
        made.append(database_of(folder))
    os.utime(made[0], (1, 1))
    (folder / "xlalint.db").write_text("mine")
    os.utime(folder / "xlalint.db", (1, 1))
    with Cache(folder) as cache:
        cache.prune()
    assert [file.exists() for file in made] == [False, True, True]
    assert (folder / "xlalint.db").exists()
