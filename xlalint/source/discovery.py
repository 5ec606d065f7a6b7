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
from typing import TYPE_CHECKING

from xlalint.source import data_files, gitignore
from xlalint.source.globs import Globs

if TYPE_CHECKING:
    from xlalint.config import Settings


_ENDING = re.compile(r"\*[^*?\[\]/\\]+")


class DiscoveryError(Exception):
    """A path that the user named does not exist."""


def discover(paths: Sequence[Path], settings: Settings) -> list[Path]:
    """The files to check: absolute, sorted, each once."""
    walk = _Walk(settings)
    for path in paths:
        for place in _existing(path):
            if not unwanted(place, settings):
                walk.add(place)
    return [Path(path) for path in sorted(walk.files())]


def unwanted(place: str, settings: Settings) -> bool:
    """Whether a place, by absolute path, is left alone although it is named."""
    return settings.force_exclude and Globs(settings.excluded, settings.root).match(place)


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


class _Walk:
    """The walk over what was named: files found so far, folders seen, links held back until all real files are known."""

    def __init__(self, settings: Settings) -> None:
        self.settings = settings
        self.included = Globs(settings.include, settings.root)
        # The usual patterns, which thousands of names are held against, as plain ends of names.
        self.endings = tuple(pattern[1:] for pattern in settings.include if _ENDING.fullmatch(pattern))
        self.only_endings = len(self.endings) == len(settings.include)
        self.found: set[str] = set()
        self.links: list[str] = []
        self.seen: set[str] = set()

    def files(self) -> set[str]:
        """What was found. A link to a file that was found under its own name is left out."""
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
            self.found.add(path)  # a broken link and a forbidden place too: reading them gives the reason as a finding
        elif path not in self.seen:
            above = gitignore.above(Path(path)) if self.settings.respect_gitignore else []
            self.walk(path, above, Globs(self.settings.excluded, self.settings.root).without(path))

    def walk(self, named: str, above: list[gitignore.IgnoreFile], excluded: Globs) -> None:
        """Take what lies below a folder that the user named."""
        todo = [(named, above)]
        while todo:
            folder, inherited = todo.pop()
            self.seen.add(folder)
            try:
                with os.scandir(folder) as scan:
                    entries = list(scan)
            except OSError:
                self.found.add(folder)  # reading it gives the reason as a finding
                continue
            ignores = self.ignores(folder, entries, inherited, named=folder == named)
            for entry in entries:
                is_folder = entry.is_dir(follow_symlinks=False)
                if not is_folder and not self.includes(entry):
                    continue
                if excluded.match_entry(entry.path, entry.name):
                    continue
                if ignores and gitignore.ignored(entry.path, ignores, folder=is_folder):
                    continue
                if is_folder:
                    todo.append((entry.path, ignores))
                else:
                    self.take(entry)

    def includes(self, entry: os.DirEntry[str]) -> bool:
        """Whether a file is one to look at."""
        if entry.name.endswith((*self.endings, *data_files.ENDINGS)):
            return True
        return not self.only_endings and self.included.match(entry.path)

    def ignores(
        self, folder: str, entries: list[os.DirEntry[str]], inherited: list[gitignore.IgnoreFile], *, named: bool
    ) -> list[gitignore.IgnoreFile]:
        """The ignore files that hold in a folder: those of the folders above and its own."""
        if not self.settings.respect_gitignore or all(entry.name != ".gitignore" for entry in entries):
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
