"""Runs git on a repository that somebody else may have written, so that nothing which its configuration names is run.

A repository's `.git/config` may name programs: a monitor of files, hooks, filters that a file passes on its way into git, tools that show
differences, transports that fetch what is missing. All of these are off. Filters are, too, where the user's own configuration has them (Git
LFS): a file of that kind is compared as it is.
"""

from __future__ import annotations

import os
import subprocess
from collections.abc import Iterator
from functools import cached_property

_SAFE = (
    "core.fsmonitor=false",
    f"core.hooksPath={os.devnull}",
    "safe.bareRepository=explicit",  # a folder of files that looks like a repository is none
    "submodule.recurse=false",
)
# Nothing is written, asked or fetched: an object that a partial clone lacks would come through a program that its configuration names.
_VARIABLES = {
    "GIT_OPTIONAL_LOCKS": "0",
    "GIT_ALLOW_PROTOCOL": "",
    "GIT_NO_LAZY_FETCH": "1",
    "GIT_TERMINAL_PROMPT": "0",
}
_FILTER = "filter."
_NO_KEY = 1  # how `git config` ends where no key matches


class GitError(Exception):
    """Git did not do what it was asked; the message is its own."""


class Git:
    """Git, run in one folder. Only commands that read are for it. Raises: GitError where git is not installed."""

    def __init__(self, folder: str) -> None:
        self.folder = folder
        program = git_program()
        if program is None:
            raise GitError("git is not installed")
        self._program = program

    def __call__(self, *arguments: str, folder: str = "") -> bytes:
        """Run a command, in another folder of the same repository if one is given; return its output. Raises: GitError."""
        return self._run(*self._unfiltered, *arguments, folder=folder)

    @cached_property
    def _unfiltered(self) -> tuple[str, ...]:
        """The settings that take the programs out of each filter that the configuration has."""
        told = []
        for name in sorted(self._filters()):
            if "=" in name:  # git would take what stands before it for the name
                raise GitError(f"its configuration has a filter with an odd name: {_FILTER}{name}")
            told += [f"{_FILTER}{name}.{key}" for key in ("clean=", "smudge=", "process=", "required=false")]
        return tuple(word for setting in told for word in ("-c", setting))

    def _filters(self) -> Iterator[str]:
        listed = self._run("config", "--null", "--name-only", "--get-regexp", r"^filter\.", fine=_NO_KEY)
        for key in filter(None, listed.split(b"\0")):
            yield os.fsdecode(key)[len(_FILTER) :].rpartition(".")[0]

    def _run(self, *arguments: str, folder: str = "", fine: int = 0) -> bytes:
        settings = [word for setting in _SAFE for word in ("-c", setting)]
        command = [self._program, "--no-pager", "-C", folder or self.folder, *settings, *arguments]
        try:
            done = subprocess.run(
                command,
                stdin=subprocess.DEVNULL,
                capture_output=True,
                check=False,
                env={**os.environ, **_VARIABLES},
            )
        except OSError as error:
            raise GitError(f"git cannot be run: {error.strerror}") from error
        if done.returncode not in (0, fine):
            raise GitError(done.stderr.decode("utf-8", "replace").strip() or "git failed")
        return done.stdout


def git_program() -> str | None:
    """Where git is, None where it is not installed. Folders on `PATH` that are relative count for nothing: they lie in what is checked."""
    name = "git.exe" if os.name == "nt" else "git"
    for folder in os.get_exec_path():
        file = os.path.join(folder, name)  # noqa: PTH118
        if os.path.isabs(folder) and os.path.isfile(file) and os.access(file, os.X_OK):  # noqa: PTH113, PTH117
            return file
    return None
