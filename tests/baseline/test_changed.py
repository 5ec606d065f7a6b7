"""Rows that changed since a revision, in real repositories."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.baseline.programs import findings
from xlalint.baseline.changed import Changes, RevisionError, _carry, _parse

if shutil.which("git") is None:
    pytest.skip("git is not installed", allow_module_level=True)

Git = Callable[..., str]


@pytest.fixture
def git(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Git:
    """A repository on branch `main` whose `a.py` holds `bad(0)` to `bad(9)`."""
    for name in [name for name in os.environ if name.startswith("GIT_")]:
        monkeypatch.delenv(name)
    monkeypatch.setenv("GIT_CONFIG_GLOBAL", os.devnull)
    monkeypatch.setenv("GIT_CONFIG_SYSTEM", os.devnull)
    who = [f"GIT_{who}_{what}" for who in ("AUTHOR", "COMMITTER") for what in ("NAME", "EMAIL")]
    for name in who:
        monkeypatch.setenv(name, "a@b.c")

    def run(*arguments: str) -> str:
        return subprocess.run(["git", *arguments], cwd=tmp_path, check=True, capture_output=True, text=True).stdout

    run("init", "-q", "-b", "main")
    (tmp_path / "a.py").write_text("".join(f"bad({n})\n" for n in range(10)))
    run("add", "-A")
    run("commit", "-qm", "first")
    return run


def _new(folder: Path, *, base: str = "main", content: str | None = None, name: str = "a.py") -> list[int]:
    """The rows of the findings in a file that are on changed rows."""
    path = folder / name
    contents = {} if content is None else {str(path): content.encode()}
    changes = Changes(base, str(folder))
    found = findings(str(path), path.read_text() if content is None else content)
    return [one.location.row for one in found if changes.touch(one, contents)]


def _edit(path: Path, old: str, new: str) -> None:
    path.write_text(path.read_text().replace(old, new))


def test_nothing_changed(git: Git, tmp_path: Path) -> None:
    assert _new(tmp_path) == []


@pytest.mark.parametrize("state", ["working tree", "index", "commit"])
def test_changed_rows_wherever_they_are(state: str, git: Git, tmp_path: Path) -> None:
    git("checkout", "-qb", "mine")
    _edit(tmp_path / "a.py", "bad(3)\n", "bad(33)\nx\nbad(34)\n")
    _edit(tmp_path / "a.py", "bad(7)\n", "")
    if state != "working tree":
        git("add", "-A")
    if state == "commit":
        git("commit", "-qm", "second")
    assert _new(tmp_path) == [4, 6]


def test_what_others_changed_since_is_not_mine(git: Git, tmp_path: Path) -> None:
    """The revision went on: its new commits are no changes of this branch."""
    git("checkout", "-qb", "mine")
    _edit(tmp_path / "a.py", "bad(3)", "bad(33)")
    git("commit", "-qam", "mine")
    git("checkout", "-q", "main")
    _edit(tmp_path / "a.py", "bad(8)", "bad(88)")
    git("commit", "-qam", "theirs")
    git("checkout", "-q", "mine")
    assert _new(tmp_path) == [4]


@pytest.mark.parametrize("name", ["b.py", 'new folder/é\t"b\\.py', "x y.py"])
@pytest.mark.parametrize("tracked", [False, True], ids=["untracked", "tracked"])
def test_new_files_are_new(name: str, tracked: bool, git: Git, tmp_path: Path) -> None:
    path = tmp_path / name
    path.parent.mkdir(exist_ok=True)
    path.write_text("bad(1)\n")
    if tracked:
        git("add", "-A")
        assert _new(tmp_path, name=name) == [1]
        git("commit", "-qm", "b")
        assert _new(tmp_path, name=name) == []
        path.write_text("bad(1)\nbad(2)\n")
    assert _new(tmp_path, name=name) == ([2] if tracked else [1])


def test_ignored_files_that_are_named_are_new(git: Git, tmp_path: Path) -> None:
    (tmp_path / ".gitignore").write_text("b.py\n")
    (tmp_path / "b.py").write_text("bad(1)\n")
    assert _new(tmp_path, name="b.py") == [1]


def test_of_a_renamed_file_only_changed_rows_count(git: Git, tmp_path: Path) -> None:
    git("mv", "a.py", "b.py")
    assert _new(tmp_path, name="b.py") == []
    _edit(tmp_path / "b.py", "bad(0)", "bad(00)")
    assert _new(tmp_path, name="b.py") == [1]


def test_lines_that_look_like_headings(git: Git, tmp_path: Path) -> None:
    path = tmp_path / "a.py"
    path.write_text("-- a/a.py\n@@ -1 +1 @@\nbad(1)\n")
    git("commit", "-qam", "odd")
    path.write_text("++ b/b.py\n++ b/b.py\n@@ -9 +9 @@\nbad(1)\nbad(2)")
    assert _new(tmp_path) == [5]


def test_settings_of_git_change_nothing(git: Git, tmp_path: Path) -> None:
    for key, value in (
        ("diff.noprefix", "true"),
        ("color.ui", "always"),
        ("diff.external", "false"),
        ("diff.context", "9"),
    ):
        git("config", key, value)
    (tmp_path / ".gitattributes").write_text("*.py diff=odd\n")
    git("config", "diff.odd.textconv", "tr a-z A-Z <")
    _edit(tmp_path / "a.py", "bad(3)", "bad(33)")
    assert _new(tmp_path) == [4]


def test_from_a_folder_below_and_through_a_link(git: Git, tmp_path: Path) -> None:
    (tmp_path / "sub").mkdir()
    (tmp_path / "sub" / "c.py").write_text("bad(1)\n")
    git("add", "-A")
    git("commit", "-qm", "c")
    _edit(tmp_path / "sub" / "c.py", "bad(1)", "bad(1)\nbad(2)")
    assert _new(tmp_path / "sub", name="c.py") == [2]
    link = tmp_path.parent / f"{tmp_path.name}-link"
    link.symlink_to(tmp_path)
    assert _new(link / "sub", name="c.py") == [2]


def test_a_file_elsewhere_is_new(git: Git, tmp_path: Path, tmp_path_factory: pytest.TempPathFactory) -> None:
    other = tmp_path_factory.mktemp("other") / "x.py"
    other.write_text("bad(1)\n")
    assert Changes("main", str(tmp_path)).touch(findings(str(other), "bad(1)\n")[0], {})


def test_submodules_are_not_looked_into(git: Git, tmp_path: Path, tmp_path_factory: pytest.TempPathFactory) -> None:
    inner = tmp_path_factory.mktemp("inner")
    for command in (["init", "-q"], ["commit", "-q", "--allow-empty", "-m", "x"]):
        subprocess.run(["git", *command], cwd=inner, check=True)
    git("-c", "protocol.file.allow=always", "submodule", "--quiet", "add", str(inner), "lib")
    git("commit", "-qm", "lib")
    (tmp_path / "lib" / "x.py").write_text("bad(1)\n")
    assert _new(tmp_path, name="lib/x.py") == []


def test_texts_that_are_not_on_the_disk(git: Git, tmp_path: Path) -> None:
    """Editors' buffers, and files between two rounds of fixes."""
    _edit(tmp_path / "a.py", "bad(3)", "bad(33)")
    text = (tmp_path / "a.py").read_text()
    assert _new(tmp_path, content=text) == [4]
    assert _new(tmp_path, content="# a\n" + text.replace("bad(5)", "bad(55)")) == [5, 7]


def test_a_file_that_cannot_be_read_counts_if_it_changed(git: Git, tmp_path: Path) -> None:
    text = (tmp_path / "a.py").read_text()
    [one, *_] = findings(str(tmp_path / "a.py"), text, code="XLA001")
    assert not Changes("main", str(tmp_path)).touch(one, {})
    _edit(tmp_path / "a.py", "bad(3)", "bad(33)")
    assert Changes("main", str(tmp_path)).touch(one, {})


def _notebook(*cells: str, output: str = "") -> str:
    told = [
        {"cell_type": "code", "metadata": {}, "execution_count": len(output), "outputs": [output], "source": cell}
        for cell in cells
    ]
    return json.dumps({"cells": told, "metadata": {}, "nbformat": 4, "nbformat_minor": 5}, indent=1)


def test_notebooks_are_compared_by_the_rows_of_their_cells(git: Git, tmp_path: Path) -> None:
    path = tmp_path / "n.ipynb"
    path.write_text(_notebook("bad(1)\nbad(2)", "bad(3)"))
    git("add", "-A")
    git("commit", "-qm", "n")

    def new() -> list[int]:
        from xlalint.source.reading import read_source

        changes = Changes("main", str(tmp_path))
        text = read_source(path).text
        return [one.location.row for one in findings(str(path), text) if changes.touch(one, {})]

    path.write_text(_notebook("bad(1)\nbad(2)", "bad(3)", output="figures"))
    assert new() == []
    path.write_text(_notebook("x = 0", "bad(1)\nbad(22)", "bad(3)", output="figures"))
    assert len(new()) == 1
    path.write_text("{")
    assert Changes("main", str(tmp_path)).touch(findings(str(path), "bad(1)", code="XLA001")[0], {})


@pytest.mark.parametrize(
    ("revision", "says"),
    [
        pytest.param("nosuch", "no commit `nosuch`", id="unknown"),
        pytest.param("--output=x", "is not a revision", id="option"),
        pytest.param("orphan", "no commit in common", id="unrelated"),
    ],
)
def test_revisions_that_are_of_no_use(revision: str, says: str, git: Git, tmp_path: Path) -> None:
    git("checkout", "-q", "--orphan", "orphan")
    git("commit", "-qm", "other")
    git("checkout", "-q", "main")
    with pytest.raises(RevisionError, match=says):
        Changes(revision, str(tmp_path))


def test_no_repository(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GIT_CEILING_DIRECTORIES", str(tmp_path.parent))
    with pytest.raises(RevisionError, match="not in a git repository"):
        Changes("main", str(tmp_path))
    monkeypatch.setenv("PATH", "")
    with pytest.raises(RevisionError, match="git is not installed"):
        Changes("main", str(tmp_path))


LINES = st.lists(st.sampled_from(["a", "b", "c", ""]), max_size=8)


@given(LINES, LINES)
def test_rows_that_did_not_change_are_the_same_text(before: list[str], after: list[str]) -> None:
    rows = _carry("\n".join(before), "\n".join(after), frozenset())
    kept = [line for row, line in enumerate("\n".join(after).split("\n"), 1) if row not in rows]
    old = iter("\n".join(before).split("\n"))
    assert all(line in old for line in kept)  # a subsequence
    assert _carry("\n".join(after), "\n".join(after), rows) == rows


def test_a_diff_of_nothing() -> None:
    assert list(_parse(b"")) == []
