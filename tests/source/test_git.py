"""Git on repositories whose configuration names programs: what is asked is answered, and none of them is run."""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from xlalint.source.git import Git, GitError, git_program

if shutil.which("git") is None:
    pytest.skip("git is not installed", allow_module_level=True)

TEXT = "x = 1\n"
CHANGED = "x = 2\n"


class Repository:
    """A repository with one file that is committed and changed since, and a program that leaves a marker."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder / "repository"
        self.marker = folder / "ran"
        self.program = folder / "program"
        self.program.write_text(f"#!/bin/sh\n: > '{self.marker}'\ncat\n")
        self.program.chmod(0o755)
        self.folder.mkdir()
        self.run("init", "-q", "-b", "main")
        self.write("a.py", TEXT)
        self.write(".gitattributes", '*.py filter=odd diff=odd\nempty.py filter=\n"b c.py" filter=odd.x\n')
        self.run("add", "-A")
        self.run("commit", "-qm", "first")
        self.write("a.py", CHANGED)

    def run(self, *arguments: str) -> str:
        done = subprocess.run(["git", *arguments], cwd=self.folder, check=True, capture_output=True, text=True)
        return done.stdout

    def write(self, name: str, text: str) -> None:
        (self.folder / name).write_text(text)

    def configure(self, text: str) -> None:
        with (self.folder / ".git" / "config").open("a") as file:
            file.write(text.replace("PROGRAM", str(self.program)))

    def asked(self) -> str:
        """What a change is seen by: the commands of `--diff-base`."""
        git = Git(str(self.folder))
        git("rev-parse", "--show-toplevel")
        git("merge-base", "main", "HEAD")
        git("ls-files", "--stage", "-z")
        git("cat-file", "blob", "main:a.py")
        diff = git(
            "diff", "--no-color", "--no-ext-diff", "--no-textconv", "--unified=0", "--ignore-submodules", "main", "--"
        )
        return diff.decode()


@pytest.fixture
def repository(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Repository:
    for name in [name for name in os.environ if name.startswith("GIT_")]:
        monkeypatch.delenv(name)
    monkeypatch.setenv("GIT_CONFIG_GLOBAL", os.devnull)
    monkeypatch.setenv("GIT_CONFIG_SYSTEM", os.devnull)
    for who in ("AUTHOR", "COMMITTER"):
        monkeypatch.setenv(f"GIT_{who}_NAME", "a")
        monkeypatch.setenv(f"GIT_{who}_EMAIL", "a@b.c")
    return Repository(tmp_path)


CONFIGURATIONS = {
    "monitor": "[core]\n\tfsmonitor = PROGRAM\n",
    "filter": '[filter "odd"]\n\tclean = PROGRAM\n\tsmudge = PROGRAM\n',
    "required filter": '[filter "odd"]\n\tclean = PROGRAM\n\trequired = true\n',
    "process": '[filter "odd"]\n\tprocess = PROGRAM\n\trequired = true\n',
    "included filter": "[include]\n\tpath = more\n",
    "text conversion": '[diff "odd"]\n\ttextconv = PROGRAM\n',
    "driver": '[diff "odd"]\n\tcommand = PROGRAM\n',
    "external diff": "[diff]\n\texternal = PROGRAM\n",
    "pager": "[core]\n\tpager = PROGRAM\n[pager]\n\tdiff = PROGRAM\n\tconfig = PROGRAM\n",
    "alias": "[alias]\n\tdiff = !PROGRAM\n",
}


@pytest.mark.parametrize("text", CONFIGURATIONS.values(), ids=CONFIGURATIONS)
def test_no_program_of_the_configuration_runs(text: str, repository: Repository) -> None:
    more = repository.folder / ".git" / "more"
    more.write_text(f'[filter "odd"]\n\tclean = {repository.program}\n')
    repository.configure(text)
    diff = repository.asked()
    assert "-x = 1\n+x = 2\n" in diff
    assert not repository.marker.exists()


@pytest.mark.parametrize("name", ["monitor", "filter", "process", "included filter"])
def test_they_would_have_run(name: str, repository: Repository) -> None:
    """What git does by itself with such a configuration: the table above is not idle."""
    (repository.folder / ".git" / "more").write_text(f'[filter "odd"]\n\tclean = {repository.program}\n')
    repository.configure(CONFIGURATIONS[name])
    subprocess.run(["git", "diff", "main"], cwd=repository.folder, capture_output=True)
    assert repository.marker.exists()


def test_hooks_do_not_run(repository: Repository) -> None:
    for hook in ("post-index-change", "pre-commit", "reference-transaction"):
        shutil.copy(repository.program, repository.folder / ".git" / "hooks" / hook)
    os.utime(repository.folder / ".gitattributes", (1, 1))  # its entry in the index is out of date
    repository.asked()
    assert not repository.marker.exists()


def test_names_of_filters(repository: Repository) -> None:
    """One with a dot is switched off as any other; one that cannot be named on a command line is refused."""
    repository.write("b c.py", TEXT)
    repository.run("add", "b c.py")
    repository.write("b c.py", CHANGED)
    repository.configure('[filter "odd.x"]\n\tclean = PROGRAM\n[filter ""]\n\tclean = PROGRAM\n')
    assert "b c.py" in repository.asked()
    assert not repository.marker.exists()
    repository.configure('[filter "odd=x"]\n\tclean = PROGRAM\n')
    with pytest.raises(GitError, match="a filter with an odd name"):
        repository.asked()


def _without_objects(repository: Repository, url: str) -> None:
    """Make a partial clone of it that lacks an object: git asks for that where its configuration says."""
    blob = repository.run("rev-parse", "main:a.py").strip()
    (repository.folder / ".git" / "objects" / blob[:2] / blob[2:]).unlink()
    repository.configure(
        f"""\
[core]
    repositoryformatversion = 1
    sshCommand = PROGRAM
[protocol]
    allow = always
[protocol "ext"]
    allow = always
[extensions]
    partialClone = origin
[remote "origin"]
    promisor = true
    url = {url}
    uploadpack = PROGRAM
"""
    )


@pytest.mark.parametrize(
    "url", ["ext::PROGRAM", "ssh://127.0.0.1:1/x.git", "file://FOLDER", "https://127.0.0.1:1/x.git"]
)
def test_nothing_is_fetched(url: str, repository: Repository) -> None:
    _without_objects(repository, url.replace("FOLDER", str(repository.folder)))
    with pytest.raises(GitError):
        repository.asked()
    assert not repository.marker.exists()


@pytest.mark.parametrize("url", ["ext::PROGRAM", "ssh://127.0.0.1:1/x.git", "file://FOLDER"])
def test_it_would_have_been_fetched(url: str, repository: Repository) -> None:
    repository.program.write_text(repository.program.read_text().replace("cat\n", ""))  # or both would wait
    _without_objects(repository, url.replace("FOLDER", str(repository.folder)))
    subprocess.run(["git", "cat-file", "blob", "main:a.py"], cwd=repository.folder, capture_output=True)
    assert repository.marker.exists()


def test_a_folder_of_files_is_no_repository(repository: Repository, tmp_path: Path) -> None:
    """A bare repository may be committed as plain files, with the configuration that its author likes."""
    bare = repository.folder / "bare"
    repository.run("clone", "-q", "--bare", ".", str(bare))
    with (bare / "config").open("a") as file:
        file.write(f"[core]\n\tbare = false\n\tworktree = {repository.folder}\n\tfsmonitor = {repository.program}\n")
    try:
        top = Git(str(bare))("rev-parse", "--git-dir").decode().strip()
    except GitError as error:
        assert "bare" in str(error)
    else:
        assert Path(bare, top).resolve() != bare.resolve(), "git is older than 2.38"
    assert not repository.marker.exists()


@pytest.mark.parametrize("before", ["", ".", "./bin", "bin"])
def test_git_is_not_looked_for_here(before: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for folder in (tmp_path, tmp_path / "bin"):
        folder.mkdir(exist_ok=True)
        (folder / "git").write_text("#!/bin/sh\n")
        (folder / "git").chmod(0o755)
    monkeypatch.chdir(tmp_path)
    usual = git_program()
    monkeypatch.setenv("PATH", os.pathsep.join((before, os.environ["PATH"])))
    assert git_program() == usual
    monkeypatch.setenv("PATH", before)
    assert git_program() is None


def test_what_fails_is_told(repository: Repository, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    git = Git(str(repository.folder))
    with pytest.raises(GitError, match="gone"):
        git("cat-file", "blob", "main:gone")
    ran: Callable[..., object] = Git(str(tmp_path))
    with pytest.raises(GitError, match="not a git repository"):
        ran("rev-parse", "HEAD")
    monkeypatch.setenv("PATH", str(tmp_path / "nowhere"))
    with pytest.raises(GitError, match="git is not installed"):
        Git(str(repository.folder))
