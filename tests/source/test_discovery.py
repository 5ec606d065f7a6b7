"""Which files are checked."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

import pytest

from xlalint.config import Settings
from xlalint.source.discovery import DiscoveryError, discover


def tree(root: Path, *files: str) -> None:
    for name in files:
        path, _, content = name.partition(":")
        (root / path).parent.mkdir(parents=True, exist_ok=True)
        if path.endswith("/"):
            (root / path).mkdir(exist_ok=True)
        else:
            (root / path).write_text(content.replace("|", "\n"), encoding="utf-8")


def found(root: Path, *paths: str, **settings: object) -> list[str]:
    made = Settings(root=str(root), **settings)  # type: ignore[arg-type]
    return [os.path.relpath(path, root) for path in discover([root / path for path in paths or (".",)], made)]


@pytest.mark.parametrize(
    "file",
    [
        pytest.param("a.pyi", id="stub"),
        pytest.param("a.txt", id="text"),
        pytest.param("script", id="no-extension"),
        pytest.param(".ipynb_checkpoints/a-checkpoint.ipynb", id="checkpoint"),
        pytest.param("a.PY.bak", id="backup"),
        *[pytest.param(f"{name}/a.py", id=name) for name in (".venv", "node_modules", "__pycache__", "build", "dist")],
        *[pytest.param(f"x/{name}/a.py", id=f"nested-{name}") for name in (".git", ".tox", "site-packages")],
    ],
)
def test_left_alone_in_a_folder(tmp_path: Path, file: str) -> None:
    tree(tmp_path, file)
    assert found(tmp_path) == []


@pytest.mark.parametrize("file", ["a.pyi", "script", "build/a.py", "x/site-packages/y/a.py", "ignored/a.py", "out.py"])
def test_a_named_file_is_checked(tmp_path: Path, file: str) -> None:
    tree(tmp_path, file, ".git/", ".gitignore:ignored/|out.py")
    assert found(tmp_path, file, extend_exclude=("out.py",)) == [file]


@pytest.mark.parametrize(
    ("named", "left"),
    [
        pytest.param(["a.pyi", "script", "src/a.py"], ["a.pyi", "script", "src/a.py"], id="not-excluded"),
        pytest.param(["out.py"], ["out.py"], id="ignored-by-git-alone"),
        pytest.param(["build/a.py", "x/site-packages/y/a.py"], [], id="excluded-as-ever"),
        pytest.param(["vendor/a.py", "src/a.py", "src/a_pb2.py"], ["src/a.py"], id="excluded-by-the-project"),
        pytest.param(["vendor", "src"], ["src/a.py"], id="folders"),
    ],
)
def test_what_is_excluded_may_be_left_alone_where_it_is_named(
    tmp_path: Path, named: list[str], left: list[str]
) -> None:
    tree(tmp_path, "a.pyi", "script", "src/a.py", "src/a_pb2.py", "vendor/a.py", "build/a.py", "x/site-packages/y/a.py")
    tree(tmp_path, "out.py", ".git/", ".gitignore:out.py")
    assert found(tmp_path, *named, extend_exclude=("vendor", "*_pb2.py"), force_exclude=True) == left


@pytest.mark.parametrize(
    "folder", ["build", "build/x", "venv/lib/site-packages", "venv/lib/site-packages/torch", "ignored/x"]
)
def test_a_named_folder_is_checked_whatever_ignores_it(tmp_path: Path, folder: str) -> None:
    tree(tmp_path, f"{folder}/a.py", f"{folder}/sub/b.py", ".git/", ".gitignore:ignored/|build/*|**/site-packages/**")
    settings = {"extend_exclude": ("**/build/**", "ignored/*", "venv/lib/**")}
    assert found(tmp_path, folder, **settings) == [f"{folder}/a.py", f"{folder}/sub/b.py"]


def test_what_is_ignored_inside_a_named_folder_stays_ignored(tmp_path: Path) -> None:
    tree(
        tmp_path, "build/x/a.py", "build/x/b_gen.py", "build/x/node_modules/c.py", ".git/", ".gitignore:build/|*_gen.py"
    )
    assert found(tmp_path, "build/x") == ["build/x/a.py"]


@pytest.mark.parametrize(
    ("include", "left"),
    [
        pytest.param(("*.py", "*.ipynb"), ["a.ipynb", "a.py", "src/b.py"], id="usual"),
        pytest.param(("*.py",), ["a.py", "src/b.py"], id="no-notebooks"),
        pytest.param(("*.py", "*.pyi"), ["a.py", "src/b.py", "src/c.pyi"], id="another-ending"),
        pytest.param(("src/*.py",), ["src/b.py"], id="path"),
        pytest.param(("src/**",), ["src/b.py", "src/c.pyi"], id="folder"),
        pytest.param(("*.ipynb", "src/b.py"), ["a.ipynb", "src/b.py"], id="ending-and-file"),
        pytest.param((), [], id="nothing"),
    ],
)
def test_include(tmp_path: Path, include: tuple[str, ...], left: list[str]) -> None:
    tree(tmp_path, "a.py", "a.ipynb", "src/b.py", "src/c.pyi")
    assert found(tmp_path, include=include) == left


def test_files_are_sorted_absolute_and_unique(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    tree(tmp_path, "b.py", "a/z.py", "a/b/c.py")
    monkeypatch.chdir(tmp_path)
    paths = discover([Path("b.py"), Path(), Path("a/../a"), tmp_path / "a"], Settings(root=str(tmp_path)))
    assert paths == [tmp_path / name for name in ("a/b/c.py", "a/z.py", "b.py")]


@pytest.mark.parametrize(
    ("exclude", "left"),
    [
        pytest.param((), ["a.py", "gen/b.py", "src/c.py", "src/gen/d.py"], id="none"),
        pytest.param(("gen",), ["a.py", "src/c.py"], id="name"),
        pytest.param(("src/gen",), ["a.py", "gen/b.py", "src/c.py"], id="path"),
        pytest.param(("src/*.py",), ["a.py", "gen/b.py", "src/gen/d.py"], id="wild-path"),
        pytest.param(("[ab].py",), ["src/c.py", "src/gen/d.py"], id="wild-name"),
    ],
)
def test_exclude(tmp_path: Path, exclude: tuple[str, ...], left: list[str]) -> None:
    tree(tmp_path, "a.py", "gen/b.py", "src/c.py", "src/gen/d.py")
    assert found(tmp_path, exclude=exclude) == left
    assert found(tmp_path, extend_exclude=exclude) == left


def test_gitignore_can_be_disregarded(tmp_path: Path) -> None:
    tree(tmp_path, ".git/", ".gitignore:a.py", "a.py")
    assert found(tmp_path) == []
    assert found(tmp_path, respect_gitignore=False) == ["a.py"]


def test_the_repositorys_ignore_files_hold_below_a_named_folder(tmp_path: Path) -> None:
    tree(tmp_path, ".git/info/exclude:secret.py", ".gitignore:*_pb2.py", "src/.gitignore:!keep_pb2.py")
    tree(tmp_path, "src/x/a.py", "src/x/a_pb2.py", "src/x/keep_pb2.py", "src/x/secret.py")
    assert found(tmp_path, "src/x") == ["src/x/a.py", "src/x/keep_pb2.py"]


def test_ignore_files_above_count_only_inside_a_repository(tmp_path: Path) -> None:
    tree(tmp_path, ".gitignore:*.py", "src/a.py")
    assert found(tmp_path, "src") == ["src/a.py"]


def test_a_named_folder_that_says_ignore_me(tmp_path: Path) -> None:
    tree(tmp_path, ".venv/.gitignore:*", ".venv/a.py", "x/.gitignore:*", "x/a.py")
    assert found(tmp_path, ".venv") == [".venv/a.py"]
    assert found(tmp_path) == []


@pytest.mark.skipif(shutil.which("git") is None, reason="compares with git")
def test_as_git_has_it(tmp_path: Path) -> None:
    folders = ("", "a/b", "a/b/build", "c/keep", "d/x", "doc/api", "gen", "pkg/gen", "pkg/sub", "deep/a/b", "#x")
    tree(
        tmp_path,
        *(f"{folder}/{name}".lstrip("/") for folder in folders for name in ("m.py", "t_pb2.py", ".h.py", "a b.py")),
    )
    rules = "*_pb2.py", "!c/*_pb2.py", "build/", "/gen", "doc/*", "!doc/api/", "**/x/**", "pkg/**/t*", "a/b/m.py"
    tree(tmp_path, f".gitignore:{'|'.join((*rules, '**/a/b/a*', '# no', chr(92) + '#x', '', 'a b.pyc '))}")
    tree(tmp_path, "pkg/sub/.gitignore:*|!m.py", "pkg/.gitignore:!gen/")
    subprocess.run(["git", "init", "-q", str(tmp_path)], check=True)
    command = ["git", "-C", str(tmp_path), "ls-files", "-coz", "--exclude-standard", "*.py"]
    listed = subprocess.run(command, check=True, capture_output=True, text=True).stdout.split("\0")
    assert found(tmp_path, exclude=()) == sorted(filter(None, listed), key=lambda name: str(tmp_path / name))


def test_links(tmp_path: Path) -> None:
    tree(tmp_path, "p/a.py", "p/sub/b.py", "other/c.py")
    (tmp_path / "p/again.py").symlink_to(tmp_path / "p/a.py")
    (tmp_path / "p/outside.py").symlink_to(tmp_path / "other/c.py")
    (tmp_path / "p/broken.py").symlink_to(tmp_path / "nowhere.py")
    (tmp_path / "p/loop").symlink_to(tmp_path / "p")
    (tmp_path / "p/linked").symlink_to(tmp_path / "other")
    (tmp_path / "p/self.py").symlink_to(tmp_path / "p/self.py")
    assert found(tmp_path, "p") == ["p/a.py", "p/outside.py", "p/sub/b.py"]
    assert found(tmp_path, "p/linked", "p/again.py", "p/broken.py") == ["p/again.py", "p/broken.py", "p/linked/c.py"]


def test_what_is_not_a_file_is_left_alone(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe.py")
    tree(tmp_path, "folder.py/a.py")
    assert found(tmp_path) == ["folder.py/a.py"]


def test_an_empty_folder(tmp_path: Path) -> None:
    assert found(tmp_path) == []


def test_a_path_that_does_not_exist(tmp_path: Path) -> None:
    with pytest.raises(DiscoveryError, match=r"gone\.py`: no such file or folder"):
        found(tmp_path, "gone.py")


def test_a_glob_that_no_shell_expanded(tmp_path: Path) -> None:
    tree(tmp_path, "a/x.py", "a/b/y.py", "[odd].py")
    assert found(tmp_path, "**/*y.py", "[odd].py") == ["[odd].py", "a/b/y.py"]
    with pytest.raises(DiscoveryError):
        found(tmp_path, "*.rs")


@pytest.mark.skipif(os.geteuid() == 0, reason="root may read everything")
def test_a_folder_that_cannot_be_listed_is_left_to_reading(tmp_path: Path) -> None:
    tree(tmp_path, "closed/a.py")
    (tmp_path / "closed").chmod(0)
    try:
        assert found(tmp_path) == ["closed"]
    finally:
        (tmp_path / "closed").chmod(0o755)
