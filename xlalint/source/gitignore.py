"""Find what git ignores: by the file of `core.excludesFile`, `info/exclude`, and the `.gitignore` files from the repository's root down."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Sequence
from itertools import groupby
from operator import itemgetter
from pathlib import Path

from xlalint.source.repository import Repository, excludes_file, read_text, repository_around

# The idiom by which a folder says of itself that git should not see it (virtual environments, caches).
_EVERYTHING = {"*", "/*", "**", "/**"}
# Stands for all Python files: only a pattern that means all of them matches such a name.
_ANY_FILE = "\x01.py"
# How pathspec begins the expression for a pattern without slashes.
_AT_ANY_DEPTH = "^(?:.+/)?"
# Slashes in an expression that stand for no folder in the pattern: the end of a folder's own path, and "any character but".
_NO_FOLDER = re.compile(r"\(\?:/\)|\[\^/\]")
_NAMED_GROUP = re.compile(r"\(\?P<\w+>")


class _Run:
    """Neighbouring patterns that say the same. Most mean a name at any depth: those are matched against the name alone, which takes
    one search for all of them, where the path takes as many as it has folders.
    """

    def __init__(self, regexes: Iterable[str]) -> None:
        names: list[str] = []
        paths: list[str] = []
        for regex in regexes:
            rest = regex.removeprefix(_AT_ANY_DEPTH)
            if rest != regex and "/" not in _NO_FOLDER.sub("", rest):
                names.append(_itself(rest))
            else:
                paths.append(_itself(regex))
        self._name = re.compile("|".join(names)) if names else None
        self._path = re.compile("|".join(paths)) if paths else None

    def matches(self, inside: str, name: str) -> bool:
        if self._name is not None and self._name.match(name):
            return True
        return self._path is not None and self._path.match(inside) is not None


def _itself(regex: str) -> str:
    """pathspec's expressions match what lies below a folder too; here each entry is asked about on the way down."""
    if regex.endswith("/"):
        return f"{regex}."
    return f"{regex}$" if regex.endswith(")") else regex


class IgnoreFile:
    """The patterns of one ignore file, which speak of what lies below `base`; `runs` go from the last to the first."""

    def __init__(self, base: str, patterns: Iterable[tuple[bool, str]]) -> None:
        self.base = base
        self.patterns = tuple(patterns)
        runs: Iterable[tuple[bool, Iterable[tuple[bool, str]]]] = groupby(reversed(self.patterns), key=itemgetter(0))
        self.runs = [(said, _Run(regex for _, regex in run)) for said, run in runs]

    def verdict(self, path: str, *, folder: bool) -> bool | None:
        """True: ignored; False: expressly not; None: nothing said. The last pattern that matches decides."""
        inside = path[len(self.base) :].replace("\\", "/")
        name = inside.rpartition("/")[2]
        end = "/" if folder else ""
        for said, run in self.runs:
            if run.matches(inside + end, name + end):
                return said
        return None

    def without(self, folder: str) -> IgnoreFile:
        """These patterns, less those by which the folder, one above it, or all Python files in it are ignored."""
        names = folder[len(self.base) :].replace("\\", "/").split("/")
        above = ["/".join(names[: i + 1]) for i in range(len(names))]
        inside = [self.base + path for path in above]
        any_file = f"{folder}/{_ANY_FILE}"
        if not any(self.verdict(path, folder=True) for path in inside) and not self.verdict(any_file, folder=False):
            return self
        told = (f"{above[-1]}/", f"{above[-1]}/{_ANY_FILE}")
        return IgnoreFile(
            self.base, [p for p in self.patterns if not (p[0] and any(re.match(p[1], path) for path in told))]
        )


def ignored(path: str, files: Sequence[IgnoreFile], *, folder: bool) -> bool:
    """Return whether git would ignore the entry; `files` go from the outermost to the innermost, which decides first."""
    for file in reversed(files):
        if (verdict := file.verdict(path, folder=folder)) is not None:
            return verdict
    return False


def load(path: Path, base: str, *, named: bool = False) -> IgnoreFile | None:
    """Read one ignore file; None if it says nothing or cannot be read.

    In a folder that the user `named`, a file that only says "ignore everything here" is overruled.
    """
    text = read_text(path)
    said = [line for line in (text or "").splitlines() if line.strip() and not line.startswith("#")]
    if not said or (named and {line.strip() for line in said} <= _EVERYTHING):
        return None
    # Not at the top: most folders have no ignore file, and the import takes as long as finding 1,500 files.
    from pathspec import GitIgnoreSpec

    spec = GitIgnoreSpec.from_lines(said)
    patterns = [
        (p.include, _NAMED_GROUP.sub("(?:", p.regex.pattern))
        for p in spec.patterns
        if p.include is not None and p.regex
    ]
    return IgnoreFile(base.rstrip("/\\") + "/", patterns)


def above(folder: Path) -> list[IgnoreFile]:
    """The ignore files of the enclosing git repository that speak of what lies in `folder`, outermost first.

    The user named `folder`, so patterns that would ignore the folder itself are overruled.
    """
    repository = repository_around(folder)
    if repository is None:
        return []
    root = repository.top
    between = [p for p in folder.parents if p == root or root in p.parents]
    inside = [file for p in reversed(between) if (file := load(p / ".gitignore", str(p)))]
    return [file.without(str(folder)) for file in (*whole(repository), *inside)]


def whole(repository: Repository) -> list[IgnoreFile]:
    """The ignore files that hold in all of a repository and lie outside of its work tree, the weakest first."""
    files = (excludes_file(repository, os.environ), repository.exclude)
    return [said for file in files if file is not None and (said := load(file, str(repository.top)))]
