"""The git repository around a folder: where its own files lie, and which file `core.excludesFile` names.

Nothing is executed: git's configuration is read as text, and only from regular files of a sensible size, so that a configuration that came
with a repository can neither run anything nor keep a check waiting.
"""

from __future__ import annotations

import os
import re
import stat
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import NamedTuple

from xlalint.source import files

_DEEPEST = 10  # files that include each other, as git has it
_POINTER = "gitdir:"
_SYSTEM = "/etc/gitconfig"
_SECTION = re.compile(r'\[\s*([\w.-]+)(?:\s+"((?:[^"\\\n]|\\.)*)")?\s*\]')
_KEY = re.compile(r"([A-Za-z][\w-]*)[ \t]*(=)?[ \t]*")
_ESCAPED = re.compile(r"\\(.)")
_ESCAPES = {"n": "\n", "t": "\t", "b": "\b", '"': '"', "\\": "\\"}
_TRUE = {"true", "yes", "on", "1", ""}


class Repository(NamedTuple):
    """A git repository with a work tree.

    `top` is the folder that holds `.git`. `folder` is where that leads: the repository's own, or that of one work tree or submodule.
    `common` is what the work trees of one repository share. Both are None where `.git` leads nowhere.
    """

    top: Path
    folder: Path | None
    common: Path | None

    @property
    def exclude(self) -> Path | None:
        """`info/exclude`, which holds in this repository alone."""
        return self.common / "info" / "exclude" if self.common is not None else None


def repository_at(top: Path) -> Repository | None:
    """The repository whose work tree begins at a folder; None where there is no `.git`."""
    git = top / ".git"
    try:
        mode = git.stat().st_mode
    except OSError:
        return None
    if stat.S_ISDIR(mode):
        return Repository(top, git, git)
    # A work tree added to a repository, or a submodule: a file that names the folder.
    text = read_text(git) or ""
    if not text.startswith(_POINTER):
        return Repository(top, None, None)
    folder = top / text[len(_POINTER) :].strip("\r\n").strip(" ")
    if not folder.is_dir():
        return Repository(top, None, None)
    shared = (read_text(folder / "commondir") or "").rstrip("\r\n")
    return Repository(top, folder, folder / shared if shared else folder)


def repository_around(folder: Path) -> Repository | None:
    """The innermost repository whose work tree holds a folder."""
    return next((found for place in (folder, *folder.parents) if (found := repository_at(place)) is not None), None)


def excludes_file(repository: Repository, variables: Mapping[str, str]) -> Path | None:
    """The file of `core.excludesFile`, or the one that git takes where nothing names one; it need not exist."""
    home = variables.get("HOME", "")
    named: str | None = None
    for key, value in _Reader(repository, home).all(variables):
        if key == "core.excludesfile":
            named = value
    if named is not None:
        place = _expand(named, home)
        return repository.top / place if place else None
    place = _xdg(variables, home)
    return Path(place, "ignore") if place else None


def read_text(path: Path) -> str | None:
    """A small text; None where it is no regular file, too large, or cannot be read."""
    try:
        return files.read_text(path, errors="replace")
    except (OSError, ValueError):
        return None


def entries(text: str) -> Iterator[tuple[str, str]]:
    """The (key, value) pairs of a configuration, in order: `section.key` or `section.subsection.key`, all but the subsection in lower case.

    A key without a value is true, "". What is no configuration ends it.
    """
    section, at = "", 0
    text = text.replace("\r\n", "\n")
    while at < len(text):
        if text[at].isspace():
            at += 1
        elif text[at] in "#;":
            at = _line_end(text, at)
        elif text[at] == "[":
            match = _SECTION.match(text, at)
            if match is None:
                return
            name = match[1].lower()
            section = name if match[2] is None else name + "." + _ESCAPED.sub(r"\1", match[2])
            at = match.end()
        else:
            match = _KEY.match(text, at)
            if match is None or not section:
                return
            value, at = _value(text, match.end()) if match[2] else ("", _line_end(text, match.end()))
            if value is None:
                return
            yield f"{section}.{match[1].lower()}", value


def _line_end(text: str, at: int) -> int:
    end = text.find("\n", at)
    return len(text) if end < 0 else end


def _value(text: str, at: int) -> tuple[str | None, int]:
    """The value that begins at a place, and where it ends; None for one that is malformed."""
    found: list[str] = []
    kept = 0  # how much of it is no white space before a comment or the end of the line
    quoted = False
    while at < len(text) and text[at] != "\n":
        char = text[at]
        at += 1
        if char == "\\":
            after = text[at : at + 1]
            at += 1
            if after in ("\n", ""):
                continue
            if after not in _ESCAPES:
                return None, at
            found.append(_ESCAPES[after])
            kept = len(found)
        elif char == '"':
            quoted = not quoted
            kept = len(found)
        elif char in "#;" and not quoted:
            at = _line_end(text, at)
        else:
            found.append(char)
            if quoted or char not in " \t":
                kept = len(found)
    return (None if quoted else "".join(found[:kept])), at


class _Reader:
    """Reads the configuration files that hold in a repository, what they include at its place."""

    def __init__(self, repository: Repository, home: str) -> None:
        self._repository = repository
        self._home = home

    def all(self, variables: Mapping[str, str]) -> Iterator[tuple[str, str]]:
        """All entries, the weakest first: the system's, the user's, the repository's, the work tree's, the environment's."""
        if variables.get("GIT_CONFIG_NOSYSTEM", "false").lower() not in _TRUE:
            yield from self._file(Path(variables.get("GIT_CONFIG_SYSTEM", _SYSTEM)))
        if "GIT_CONFIG_GLOBAL" in variables:
            yield from self._file(Path(variables["GIT_CONFIG_GLOBAL"]))
        else:
            if place := _xdg(variables, self._home):
                yield from self._file(Path(place, "config"))
            if self._home:
                yield from self._file(Path(self._home, ".gitconfig"))
        if self._repository.common is not None and self._repository.folder is not None:
            own = False
            for key, value in self._file(self._repository.common / "config"):
                own = value.lower() in _TRUE if key == "extensions.worktreeconfig" else own
                yield key, value
            if own:
                yield from self._file(self._repository.folder / "config.worktree")
        count = variables.get("GIT_CONFIG_COUNT", "")
        for number in range(int(count) if count.isdecimal() and len(count) < 4 else 0):
            yield variables.get(f"GIT_CONFIG_KEY_{number}", "").lower(), variables.get(f"GIT_CONFIG_VALUE_{number}", "")

    def _file(self, file: Path, depth: int = 0) -> Iterator[tuple[str, str]]:
        text = read_text(file) if depth <= _DEEPEST else None
        for key, value in entries(text or ""):
            yield key, value
            if key == "include.path" or (key.startswith("includeif.") and key.endswith(".path")):
                place = _expand(value, self._home)
                if place and (key == "include.path" or self._holds(key[len("includeif.") : -len(".path")], file)):
                    yield from self._file(file.parent / place, depth + 1)

    def _holds(self, condition: str, file: Path) -> bool:
        """Return whether the condition of an `includeIf` is that the repository lies where a pattern says, and it does."""
        kind, _, pattern = condition.partition(":")
        if kind not in ("gitdir", "gitdir/i") or self._repository.folder is None:
            return False
        from xlalint.source.globs import compile_glob

        if pattern.startswith("./"):
            pattern = f"{file.parent.resolve().as_posix()}/{pattern[2:]}"
        pattern = _expand(pattern, self._home) or ""
        pattern = pattern if pattern.startswith("/") else f"**/{pattern}"
        pattern = f"{pattern}**" if pattern.endswith("/") else pattern
        places = {self._repository.folder.as_posix(), self._repository.folder.resolve().as_posix()}
        if kind == "gitdir/i":
            pattern, places = pattern.lower(), {place.lower() for place in places}
        regex = compile_glob(pattern)
        return any((match := regex.fullmatch(place)) is not None and match[1] is None for place in places)


def _xdg(variables: Mapping[str, str], home: str) -> str:
    """The folder of the user's git files; "" where there is none."""
    if place := variables.get("XDG_CONFIG_HOME"):
        return f"{place}/git"
    return f"{home}/.config/git" if home else ""


def _expand(value: str, home: str) -> str | None:
    """A path as git reads it; None where it cannot be known."""
    value = value.removeprefix(":(optional)")
    if value == "~" or value.startswith("~/"):
        return home + value[1:] if home else None
    if value.startswith("~"):
        expanded = os.path.expanduser(value)  # noqa: PTH111 - another user's home, or the same again
        return None if expanded == value else expanded
    return None if value.startswith("%(prefix)") or "\0" in value else value
