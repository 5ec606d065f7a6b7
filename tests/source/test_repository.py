"""Git's configuration read as text: the same file of excludes that git takes, whatever the configuration holds."""

from __future__ import annotations

import os
import random
import shutil
import subprocess
from collections.abc import Mapping
from pathlib import Path

import pytest

from xlalint.config import Settings
from xlalint.source.discovery import discover
from xlalint.source.repository import entries, excludes_file, repository_around, repository_at

with_git = pytest.mark.skipif(shutil.which("git") is None, reason="compares with git")


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A user without any configuration of git."""
    folder = tmp_path / "home"
    folder.mkdir()
    for name in [name for name in os.environ if name.startswith(("GIT_", "XDG_"))]:
        monkeypatch.delenv(name)
    monkeypatch.setenv("HOME", str(folder))
    monkeypatch.setenv("GIT_CONFIG_NOSYSTEM", "1")
    return folder


def write(path: Path, text: str) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")
    return path


def git(folder: Path, *arguments: str) -> str:
    command = [
        "git",
        "-c",
        "user.name=a",
        "-c",
        "user.email=a@b",
        "-c",
        "protocol.file.allow=always",
        "-C",
        str(folder),
    ]
    return subprocess.run([*command, *arguments], check=True, capture_output=True, text=True).stdout


def checked(folder: Path) -> list[str]:
    made = Settings(root=str(folder), exclude=())
    return [os.path.relpath(path, folder) for path in discover([folder], made)]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        pytest.param("[core]\n\teditor = vi\n", [("core.editor", "vi")], id="plain"),
        pytest.param("[CORE]\nExcludesFile=a", [("core.excludesfile", "a")], id="case"),
        pytest.param("[core] a = b ; c\n# d = e\n", [("core.a", "b")], id="comments-and-one-line"),
        pytest.param('[core]\na = "b # c" # d\n', [("core.a", "b # c")], id="quoted"),
        pytest.param('[core]\na = x" y "z  \n', [("core.a", "x y z")], id="partly-quoted"),
        pytest.param('[core]\na = " b "\n', [("core.a", " b ")], id="quoted-spaces"),
        pytest.param("[core]\na = b\\\nc\n", [("core.a", "bc")], id="continued"),
        pytest.param('[core]\na = \\"b\\\\c\\t\n', [("core.a", '"b\\c\t')], id="escapes"),
        pytest.param("[core]\na\nb = c", [("core.a", ""), ("core.b", "c")], id="no-value"),
        pytest.param('[Remote "My Own"]\nurl = u', [("remote.My Own.url", "u")], id="subsection"),
        pytest.param('[a "b\\"c"]\nd = e', [('a.b"c.d', "e")], id="escaped-subsection"),
        pytest.param("[core]\r\na = b\r\nc = d\r\n", [("core.a", "b"), ("core.c", "d")], id="crlf"),
        pytest.param("[core]\na = b\n[core\nc = d", [("core.a", "b")], id="broken-section-ends-it"),
        pytest.param("[core]\na = \\q\nb = c", [], id="broken-escape-ends-it"),
        pytest.param('[core]\na = "b\nc = d', [], id="open-quote-ends-it"),
        pytest.param("a = b", [], id="no-section"),
        pytest.param("\0\1\2", [], id="no-text"),
        pytest.param("", [], id="empty"),
    ],
)
def test_entries(text: str, expected: list[tuple[str, str]]) -> None:
    assert list(entries(text)) == expected


@with_git
@pytest.mark.parametrize("seed", range(6))
def test_entries_are_git_s(tmp_path: Path, home: Path, seed: int) -> None:
    """Values of random pieces are what `git config` reads, where it reads them at all."""
    chosen = random.Random(seed)
    pieces = ["a", " ", '"', "\\\\", '\\"', "\\n", "#", ";", "=", "[", "]", "~/x", "\\\n", "é", "'", "\\t"]
    for _ in range(25):
        value = "".join(chosen.choices(pieces, k=chosen.randrange(8)))
        file = write(tmp_path / "config", f"[core]\n\texcludesFile = {value}\n[z]\n\ty = 1\n")
        command = ["git", "config", "--file", str(file), "--null", "--list"]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        if done.returncode == 0:
            told = [tuple(line.split("\n", 1)) for line in done.stdout.split("\0") if line]
            assert list(entries(file.read_text())) == [one if len(one) > 1 else (one[0], "") for one in told], repr(
                value
            )


@with_git
@pytest.mark.parametrize(
    ("files", "variables", "named"),
    [
        pytest.param({}, {}, "home/.config/git/ignore", id="default"),
        pytest.param({}, {"XDG_CONFIG_HOME": "{}/x"}, "x/git/ignore", id="default-of-xdg"),
        pytest.param({"home/.gitconfig": "[core]\nexcludesFile = ~/i"}, {}, "home/i", id="of-the-user"),
        pytest.param({"home/.config/git/config": "[core]\nexcludesfile = ~/i"}, {}, "home/i", id="of-the-user-in-xdg"),
        pytest.param({"x/git/config": "[core]\nexcludesfile = ~/i"}, {"XDG_CONFIG_HOME": "{}/x"}, "home/i", id="xdg"),
        pytest.param(
            {"home/.config/git/config": "[core]\nexcludesfile = a", "home/.gitconfig": "[core]\nexcludesfile = b"},
            {},
            "repo/b",
            id="gitconfig-wins",
        ),
        pytest.param(
            {"home/.gitconfig": "[core]\nexcludesfile = a", "repo/.git/config": "[core]\nexcludesfile = b"},
            {},
            "repo/b",
            id="the-repository-wins",
        ),
        pytest.param({"home/.gitconfig": "[core]\nexcludesfile ="}, {}, None, id="set-to-none"),
        pytest.param({"home/.gitconfig": "[core]\nexcludesfile = /i"}, {}, "/i", id="absolute"),
        pytest.param({"home/.gitconfig": '[core]\nexcludesfile = "~/a b"'}, {}, "home/a b", id="quoted"),
        pytest.param({"home/.gitconfig": "[core]\nexcludesfile = ~nobody-of-that-name/i"}, {}, None, id="no-such-user"),
        pytest.param({"other": "[core]\nexcludesfile = c"}, {"GIT_CONFIG_GLOBAL": "{}/other"}, "repo/c", id="global"),
        pytest.param(
            {"other": "[core]\nexcludesfile = c"},
            {"GIT_CONFIG_SYSTEM": "{}/other", "GIT_CONFIG_NOSYSTEM": "0"},
            "repo/c",
            id="system",
        ),
        pytest.param(
            {"other": "[core]\nexcludesfile = c"},
            {"GIT_CONFIG_SYSTEM": "{}/other"},
            "home/.config/git/ignore",
            id="no-system",
        ),
        pytest.param(
            {"repo/.git/config": "[core]\nexcludesfile = a"},
            {"GIT_CONFIG_COUNT": "1", "GIT_CONFIG_KEY_0": "core.excludesFile", "GIT_CONFIG_VALUE_0": "d"},
            "repo/d",
            id="environment-wins",
        ),
        pytest.param(
            {"home/.gitconfig": "[include]\npath = sub/more", "home/sub/more": "[core]\nexcludesfile = e"},
            {},
            "repo/e",
            id="included",
        ),
        pytest.param(
            {
                "home/.gitconfig": '[core]\nexcludesfile = a\n[includeIf "gitdir:repo/"]\npath = ~/m',
                "home/m": "[core]\nexcludesfile = e",
            },
            {},
            "repo/e",
            id="included-here",
        ),
        pytest.param(
            {
                "home/.gitconfig": '[core]\nexcludesfile = a\n[includeIf "gitdir:other/"]\npath = ~/m',
                "home/m": "[core]\nexcludesfile = e",
            },
            {},
            "repo/a",
            id="included-elsewhere",
        ),
        pytest.param(
            {"home/.gitconfig": '[includeIf "gitdir/i:REPO/"]\npath = ~/m', "home/m": "[core]\nexcludesfile = e"},
            {},
            "repo/e",
            id="included-whatever-the-case",
        ),
        pytest.param(
            {
                "repo/.git/config": "[extensions]\nworktreeConfig = true\n[core]\nexcludesfile = a",
                "repo/.git/config.worktree": "[core]\nexcludesfile = w",
            },
            {},
            "repo/w",
            id="of-the-work-tree",
        ),
        pytest.param(
            {
                "repo/.git/config": "[core]\nexcludesfile = a",
                "repo/.git/config.worktree": "[core]\nexcludesfile = w",
            },
            {},
            "repo/a",
            id="of-the-work-tree-but-off",
        ),
    ],
)
def test_which_file(
    tmp_path: Path,
    home: Path,
    monkeypatch: pytest.MonkeyPatch,
    files: Mapping[str, str],
    variables: Mapping[str, str],
    named: str | None,
) -> None:
    """As expected, and as git itself ignores by it."""
    repo = tmp_path / "repo"
    git(tmp_path, "init", "-q", "repo")
    for name, text in files.items():
        with (write(tmp_path / name, "") if not (tmp_path / name).exists() else tmp_path / name).open("a") as file:
            file.write(f"\n{text}\n")
    for name, value in variables.items():
        monkeypatch.setenv(name, value.format(tmp_path))
    repository = repository_around(repo)
    assert repository is not None
    place = excludes_file(repository, os.environ)
    assert place == (tmp_path / named if named else None)
    write(repo / "seen.py", "")
    write(repo / "hidden.py", "")
    if place is not None and place.is_relative_to(tmp_path):
        write(place, "hidden.py\n")
        ignored = subprocess.run(
            ["git", "-C", str(repo), "check-ignore", "hidden.py"], capture_output=True, check=False
        )
        assert ignored.returncode == 0
        assert checked(repo) == ["seen.py"]
    else:
        assert checked(repo) == ["hidden.py", "seen.py"]


@with_git
def test_work_trees_and_submodules_go_by_their_own_repository(tmp_path: Path, home: Path) -> None:
    main, inner = tmp_path / "main", tmp_path / "inner"
    for repo in (main, inner):
        git(tmp_path, "init", "-q", str(repo))
        write(repo / "a.py", "")
        git(repo, "add", "."), git(repo, "commit", "-qm", "first")
    git(main, "submodule", "add", "-q", str(inner), "sub")
    git(main, "commit", "-qam", "with a submodule")
    git(main, "worktree", "add", "-q", str(tmp_path / "tree"))
    write(main / ".git/info/exclude", "of_main.py")
    write(main / ".git/modules/sub/info/exclude", "of_sub.py")
    write(main / ".gitignore", "told.py")
    for folder in (main, main / "sub", tmp_path / "tree"):
        for name in ("of_main.py", "of_sub.py", "told.py"):
            write(folder / name, "")
    # What the outer repository says is not of the submodule's files.
    assert checked(main) == ["a.py", "of_sub.py", "sub/a.py", "sub/of_main.py", "sub/told.py"]
    assert checked(main / "sub") == ["a.py", "of_main.py", "told.py"]
    assert checked(tmp_path / "tree") == ["a.py", "of_sub.py", "told.py"]
    git(main, "config", "extensions.worktreeConfig", "true")
    git(tmp_path / "tree", "config", "--worktree", "core.excludesFile", str(write(tmp_path / "more", "told.py")))
    assert checked(tmp_path / "tree") == ["a.py", "of_sub.py"]
    assert "told.py" in checked(main / "sub")


_PATTERNS = (
    *("a*", "*.py", "!a.py", "b/", "/c.py", "a/b", "**/d.py", "b/**", "!b/", "[ab].py", "?.py", "\\!x.py", "#c.py"),
    *("a/**/c.py", "d", "!d/a.py", "*/b.py", "/a/", "!/a/b/", "x.py ", "c.py\\ "),
)


@with_git
@pytest.mark.parametrize("seed", range(12))
def test_random_trees_as_git_has_them(tmp_path: Path, home: Path, seed: int) -> None:
    chosen = random.Random(seed)
    repo = tmp_path / "repo"
    git(tmp_path, "init", "-q", "repo")
    names = [f"{name}.py" for name in "abcd"]
    folders = ["", *(f"{a}/" for a in "abd"), *(f"{a}/{b}/" for a in "abd" for b in "abd")]
    for folder in folders:
        for name in names:
            write(repo / f"{folder}{name}", "")

    def some(most: int) -> str:
        return "\n".join(chosen.choices(_PATTERNS, k=chosen.randint(0, most)))

    write(home / ".gitconfig", "[core]\n\texcludesFile = ~/all\n")
    write(home / "all", some(4))
    write(repo / ".git/info/exclude", some(3))
    for folder in ["", *chosen.sample(folders[1:], 3)]:
        write(repo / f"{folder}.gitignore", some(3))
    listed = git(repo, "ls-files", "-coz", "--exclude-standard", "*.py").split("\0")
    left = sorted(filter(None, listed))
    every = sorted(f"{folder}{name}" for folder in folders for name in names)
    command = ["git", "-C", str(repo), "check-ignore", "--stdin", "-z"]
    told = subprocess.run(command, input="\0".join(every), capture_output=True, text=True, check=False).stdout
    assert left == sorted(set(every).difference(told.split("\0")))
    assert sorted(checked(repo)) == left


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="no FIFOs here")
@pytest.mark.parametrize("place", [".git/config", ".git/info/exclude", "excludes", "included", ".gitignore", ".git"])
@pytest.mark.parametrize("trap", ["fifo", "zero", "folder", "loop", "large"])
def test_what_is_no_small_file_says_nothing(tmp_path: Path, home: Path, place: str, trap: str) -> None:
    repo = tmp_path / "repo"
    write(home / ".gitconfig", f"[include]\npath = {repo}/included\n[core]\nexcludesFile = {repo}/excludes")
    (repo / ("" if place == ".git" else ".git/info")).mkdir(parents=True)
    write(repo / "a.py", "")
    if trap == "fifo":
        os.mkfifo(repo / place)
    elif trap == "zero":
        (repo / place).symlink_to("/dev/zero")
    elif trap == "loop":
        (repo / place).symlink_to(repo / place)
    elif trap == "folder":
        (repo / place).mkdir()
    else:
        with (repo / place).open("wb") as file:
            file.truncate(1 << 30)
    assert checked(repo) == ["a.py"]


def test_includes_that_include_themselves_end(tmp_path: Path, home: Path) -> None:
    write(home / ".gitconfig", "[core]\nexcludesFile = first\n[include]\npath = .gitconfig\n")
    (tmp_path / "repo/.git").mkdir(parents=True)
    repository = repository_around(tmp_path / "repo")
    assert repository is not None
    assert excludes_file(repository, os.environ) == tmp_path / "repo/first"


@pytest.mark.parametrize(
    "pointer",
    [
        pytest.param("gitdir: nowhere", id="gone"),
        pytest.param("gitdir:", id="empty"),
        pytest.param("text", id="no-pointer"),
        pytest.param("gitdir: \0", id="null"),
    ],
)
def test_a_pointer_that_leads_nowhere(tmp_path: Path, home: Path, pointer: str) -> None:
    write(tmp_path / "repo/.git", pointer)
    write(tmp_path / "repo/.gitignore", "b.py")
    write(tmp_path / "repo/a.py", ""), write(tmp_path / "repo/b.py", "")
    assert repository_at(tmp_path / "repo") is not None
    assert checked(tmp_path / "repo") == ["a.py"]
