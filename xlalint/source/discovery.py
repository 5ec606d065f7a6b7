"""Paths that the user names → the files to check.

What is named is checked, whatever ignores it, unless `force-exclude` is set and it is excluded; what lies in a named folder is checked if
`include` means it, or it says how programs run (`xlalint.source.data_files`), and neither `exclude` nor git ignores it. Links to files are
followed, links to folders are not (as git does it), so there are no loops.
"""

from __future__ import annotations

import glob
import os
import re
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple, Protocol

from xlalint.source import data_files, gitignore
from xlalint.source.globs import Globs
from xlalint.source.repository import repository_at

if TYPE_CHECKING:
    from xlalint.config import Settings


_GIT = frozenset({".git", ".gitignore"})
CONFIGURATIONS = frozenset({"pyproject.toml", "xlalint.toml"})
_TOLD = _GIT | CONFIGURATIONS
_ENDING = re.compile(r"\*[^*?\[\]/\\]+")


class DiscoveryError(Exception):
    """A path that the user named does not exist."""


class TooManyFilesError(Exception):
    """There is more under the paths than was to be looked for."""


class SearchLimit(NamedTuple):
    """How many files a search takes, and how many entries of folders it goes through for them."""

    files: int
    entries: int


class Nearest(Protocol):
    """Finds the settings of a path. `Settings` that know what is nested answer themselves; `Configuration` looks on the way."""

    @property
    def settings(self) -> Settings:
        """Those of the run."""

    def around(self, folder: str) -> Settings:
        """Those that hold in a folder."""

    def at(self, folder: str) -> Settings | None:
        """Those of the configuration in a folder itself."""


def discover(paths: Sequence[Path], settings: Settings) -> list[Path]:
    """The files to check: absolute, sorted, each once. Raises `DiscoveryError`."""
    return walk_files(paths, settings)


def walk_files(paths: Sequence[Path], nearest: Nearest, limit: SearchLimit | None = None) -> list[Path]:
    """Find the files to check by the settings that are nearest to each. Raises `DiscoveryError`, and `TooManyFilesError` past a limit."""
    walk = _Walk(nearest, limit)
    for path in paths:
        for place in _existing(path):
            if not unwanted(place, nearest):
                walk.add(place)
    return [Path(path) for path in sorted(walk.files())]


def unwanted(place: str, nearest: Nearest) -> bool:
    """Return whether a place, by absolute path, is left alone although it is named."""
    if not nearest.settings.force_exclude:
        return False
    settings = nearest.around(os.path.dirname(place))  # noqa: PTH120
    return Globs(settings.excluded, settings.root).match(place)


def includes(path: str, settings: Settings) -> bool:
    """Return whether a file that lies in a folder that is checked would be, as far as patterns say, by the settings of the run."""
    own = settings.of(path)
    return Globs(own.include, own.root).match(path) and not Globs(own.excluded, own.root).match(path)


def _existing(path: Path) -> Iterator[str]:
    """The path, made absolute; where there is no such file, what it matches as a glob."""
    absolute = os.path.abspath(path)  # noqa: PTH100  (Path.absolute keeps "..")
    if os.path.lexists(absolute):
        yield absolute
        return
    found = sorted(glob.glob(absolute, recursive=True)) if glob.has_magic(str(path)) else []  # noqa: PTH207
    if not found:
        raise DiscoveryError(f"`{path}`: no such file or folder")
    yield from found


class _Patterns:
    """The patterns of some settings, ready to match what lies below a folder that the user named."""

    def __init__(self, settings: Settings, named: str) -> None:
        self.included = Globs(settings.include, settings.root)
        # The usual patterns, which thousands of names are held against, as plain ends of names.
        endings = tuple(pattern[1:] for pattern in settings.include if _ENDING.fullmatch(pattern))
        self.only_endings = len(endings) == len(settings.include)
        self.endings = (*endings, *data_files.ENDINGS)
        self.excluded = Globs(settings.excluded, settings.root).without(named)

    def includes(self, entry: os.DirEntry[str]) -> bool:
        """Return whether a file is one to look at."""
        if entry.name.endswith(self.endings):
            return True
        return not self.only_endings and self.included.match(entry.path)


class _Walk:
    """The walk over what was named: files found so far, folders seen, links held back until all real files are known."""

    def __init__(self, nearest: Nearest, limit: SearchLimit | None) -> None:
        self.nearest = nearest
        self.limit = limit
        self.entries = 0
        self.respects_git = nearest.settings.respect_gitignore
        self.found: set[str] = set()
        self.links: list[str] = []
        self.seen: set[str] = set()

    def files(self) -> set[str]:
        """Return the files that were found. A link to a file that was found under its own name is left out."""
        real = {os.path.realpath(path) for path in self.found} if self.links else set()
        for link in sorted(self.links):
            target = os.path.realpath(link)
            if target not in real:
                real.add(target)
                self.found.add(link)
        return self.found

    def add(self, path: str) -> None:
        """Take what the user named."""
        if not os.path.isdir(path):  # noqa: PTH112
            self.nearest.around(os.path.dirname(path))  # noqa: PTH120 - now is when configurations are read
            self.found.add(path)  # a broken link and a forbidden place too: reading them gives the reason as a finding
        elif path not in self.seen:
            self.walk(path, gitignore.above(Path(path)) if self.respects_git else [])

    def walk(self, named: str, above: list[gitignore.IgnoreFile]) -> None:
        """Take what lies below a folder that the user named."""
        todo = [(named, above, _Patterns(self.nearest.around(named), named))]
        while todo:
            folder, ignores, patterns = todo.pop()
            self.seen.add(folder)
            try:
                with os.scandir(folder) as scan:
                    entries = list(scan)
            except OSError:
                self.found.add(folder)  # reading it gives the reason as a finding
                continue
            self.count(len(entries))
            names = _TOLD.intersection([entry.name for entry in entries])
            if names and self.respects_git:
                ignores = self.ignores(folder, names, ignores, named=folder == named)
            if folder != named and not names.isdisjoint(CONFIGURATIONS):
                own = self.nearest.at(folder)
                patterns = _Patterns(own, named) if own is not None else patterns
            for entry in entries:
                is_folder = entry.is_dir(follow_symlinks=False)
                if not is_folder and not patterns.includes(entry):
                    continue
                if patterns.excluded.match_entry(entry.path, entry.name):
                    continue
                if ignores and gitignore.ignored(entry.path, ignores, folder=is_folder):
                    continue
                if is_folder:
                    todo.append((entry.path, ignores, patterns))
                else:
                    self.take(entry)
        self.count(0)

    def count(self, entries: int) -> None:
        """Note how much was gone through, and end the search past its limit."""
        self.entries += entries
        if self.limit is not None and (len(self.found) > self.limit.files or self.entries > self.limit.entries):
            raise TooManyFilesError

    def ignores(
        self, folder: str, names: frozenset[str], inherited: list[gitignore.IgnoreFile], *, named: bool
    ) -> list[gitignore.IgnoreFile]:
        """The ignore files that hold in a folder: those of the folders above and its own. A repository in another goes by its own alone."""
        if ".git" in names and not named and (repository := repository_at(Path(folder))) is not None:
            inherited = gitignore.whole(repository)
        if ".gitignore" not in names:
            return inherited
        own = gitignore.load(Path(folder, ".gitignore"), folder, named=named)
        return [*inherited, own] if own else inherited

    def take(self, entry: os.DirEntry[str]) -> None:
        """Keep a file; a link is held back until all real files are known."""
        if data_files.is_data(entry.name) and not data_files.counts(entry.path):
            return
        if entry.is_file(follow_symlinks=False):
            self.found.add(entry.path)
        elif entry.is_symlink() and os.path.isfile(entry.path):  # noqa: PTH113
            self.links.append(entry.path)
