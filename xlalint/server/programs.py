"""A workspace folder, or a file that lies in none, as a program: its configuration, its cache, its session, and when it is read.

new ──▶ warming (nothing in the cache: a first check in another process) ──▶ ready
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from pathlib import Path

import msgspec

from xlalint.cache import FOLDER, Cache
from xlalint.config import ConfigError, Settings, load_settings
from xlalint.project.analysis import Pulse
from xlalint.project.pipeline import Run
from xlalint.project.report import Report
from xlalint.project.session import Session
from xlalint.rules import RuleError
from xlalint.semantics.api_tables import TableError
from xlalint.server.preferences import Preferences
from xlalint.server.warming import Warming
from xlalint.source.discovery import discover
from xlalint.source.globs import Globs

_LARGE = 150  # files not in the cache: about a second of work
UNUSABLE = (ConfigError, RuleError, TableError)


class Program:
    """One program. `root` is the folder, or the file; `trouble` says why its configuration is not used."""

    def __init__(
        self, root: Path, preferences: Preferences, *, cached: bool = True, pulse: Pulse | None = None
    ) -> None:
        self.root = root
        self.preferences = preferences
        self.trouble = ""
        self.settings = self._settings()
        self.paths = [root] if root.exists() else []
        self.session: Session | None = None
        self.warming: Warming | None = None
        self._cached = cached and root.is_dir()
        self._pulse = pulse
        self._cache: Cache | None = None

    def _settings(self) -> Settings:
        given = self.preferences
        config = Path(given.config) if given.config else None
        try:
            found = load_settings([self.root], config=config, isolated=given.isolated, options=given.options)
        except UNUSABLE as error:
            self.trouble = str(error)
            found = load_settings([self.root], isolated=True)
        if found.config_file is None:  # an editor's working directory means nothing
            folder = self.root if self.root.is_dir() else self.root.parent
            found = msgspec.structs.replace(found, root=str(folder))
        return found

    @property
    def cache(self) -> Cache | None:
        if self._cache is None and self._cached:
            self._cache = Cache(Path(self.settings.cache_dir or Path(self.settings.root, FOLDER)))
        return self._cache

    def holds(self, path: str) -> bool:
        """Whether a file lies in the folder."""
        return Path(path).is_relative_to(self.root)

    def wants(self, path: str) -> bool:
        """Whether a file is one of the program's, or would be if it were saved."""
        if self.session is not None and self.session.holds(path):
            return True
        if os.path.exists(path):  # noqa: PTH110
            return path in map(str, discover(self.paths, self.settings))
        included = Globs(self.settings.include, self.settings.root)
        return included.match(path) and not Globs(self.settings.excluded, self.settings.root).match(path)

    def known(self, contents: Mapping[str, bytes]) -> Report | None:
        """What an earlier check of these very texts said."""
        if self.cache is None:
            return None
        files = sorted({*map(str, discover(self.paths, self.settings)), *contents})
        return Run(self.settings, self.cache, 1, None, contents).known(files)

    def begin(self) -> None:
        """Warm the cache, where that saves time."""
        if self.cache is None or self.cache.folder is None or self.cache.warning or not self.paths:
            return
        files = [str(path) for path in discover(self.paths, self.settings)]
        if Run(self.settings, self.cache, 1, None).missing(files) >= _LARGE:
            jobs = self.settings.jobs or os.cpu_count() or 1
            self.warming = Warming(self.paths, self.settings, self.cache.folder, jobs)

    def load(self, contents: Mapping[str, bytes], progress: Callable[[int, int], None] | None = None) -> Session:
        """Read the program."""
        self.warming = None
        try:
            session = Session(self.paths, self.settings, self.cache, pulse=self._pulse)
        except UNUSABLE as error:
            self.trouble = str(error)
            self.settings = load_settings([self.root], isolated=True)
            session = Session(self.paths, self.settings, self.cache, pulse=self._pulse)
        session.load(contents, progress)
        self.session = session
        return session

    def close(self) -> None:
        """Keep what was worked out, and let go of everything."""
        if self.warming is not None:
            self.warming.end()
        if self.session is not None:
            self.session.keep()
        if self._cache is not None:
            self._cache.close()
        self.session = self._cache = None
