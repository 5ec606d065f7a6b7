"""A workspace folder, or a file that lies in none, as a program: its configuration, its cache, its session, and when it is read.

new ──▶ warming (nothing in the cache: a first check in another process) ──▶ ready
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from pathlib import Path

import msgspec

from xlalint.api_tables.loading import TableError
from xlalint.cache import FOLDER, Cache
from xlalint.config import (
    ConfigError,
    Configuration,
    Settings,
    Survey,
    load_configuration,
    load_settings,
    survey_program,
)
from xlalint.config.surroundings import list_candidates
from xlalint.project.analysis import Pulse
from xlalint.project.pipeline import Run
from xlalint.project.report import Report
from xlalint.project.session import Session
from xlalint.rules import RuleError
from xlalint.server.preferences import Preferences
from xlalint.server.warming import Warming
from xlalint.source.discovery import discover, includes

_LARGE = 150  # files not in the cache: about a second of work
UNUSABLE = (ConfigError, RuleError, TableError)


def find_root(place: Path, preferences: Preferences) -> Path | None:
    """Return the folder of the program around a file, which need not exist, as `xlalint check` finds it; None where there is none."""
    if not place.is_absolute():  # a text that was never saved
        return None
    config = Path(preferences.config) if preferences.config else None
    try:
        found = survey_program(
            (place,), config=config, isolated=preferences.isolated, options=preferences.options, saved=False
        )
    except UNUSABLE:
        folders = [one.folder for one in list_candidates(place)]
    else:
        folders = list(found.around.folders)
    return folders[0] if folders else None


class Program:
    """One program. `root` is the folder, or the file; `folders` are those of the workspace that it was opened for. `trouble` says why its
    configuration is not used. One that is `loose` is a document that no program is found around: a file, or nothing that is on the disk.

    Configurations of folders below are read when it is first asked which files there are; `below` is what was said of them.
    """

    def __init__(
        self, root: Path, preferences: Preferences, *, loose: bool = False, pulse: Pulse | None = None
    ) -> None:
        self.root = root
        self.folders: set[str] = set()
        self.preferences = preferences
        self.trouble = ""
        self.below: Survey | None = None
        self._configuration: Configuration | None = None
        self.settings = self._settings()
        self.session: Session | None = None
        self.warming: Warming | None = None
        self._loose = loose
        self._cached = not loose and root.is_dir()
        self._pulse = pulse
        self._cache: Cache | None = None

    def _settings(self) -> Settings:
        given = self.preferences
        config = Path(given.config) if given.config else None
        try:
            self._configuration = load_configuration(
                [self.root], config=config, isolated=given.isolated, options=given.options
            )
            found = self._configuration.settings
        except UNUSABLE as error:
            self.trouble = str(error)
            found = load_settings([self.root], isolated=True)
        if found.config_file is None:  # an editor's working directory means nothing
            folder = self.root if self.root.is_dir() else self.root.parent
            found = msgspec.structs.replace(found, root=str(folder))
            if self._configuration is not None:
                self._configuration.settings = found
        return found

    def files(self) -> list[str]:
        """The program's files, by path."""
        if self._configuration is None:
            return [str(path) for path in discover(self.paths, self.settings)]
        survey = self._configuration.survey(self.paths)
        self._configuration = None
        self.settings = msgspec.structs.replace(self.settings, nested=survey.settings.nested)
        self.below = survey
        return [str(path) for path in survey.files]

    @property
    def paths(self) -> list[Path]:
        """List the paths that exist now: folders are deleted, and come again, while a server has them open."""
        there = self.root.is_file() if self._loose else self.root.exists()
        return [self.root] if there else []

    @property
    def cache(self) -> Cache | None:
        if self._cache is None and self._cached:
            folder = Path(self.settings.cache_dir or Path(self.settings.root, FOLDER))
            self._cache = Cache(folder, self.settings.root)
        return self._cache

    def holds(self, path: str) -> bool:
        """Return whether a file lies in the folder."""
        return Path(path).is_relative_to(self.root)

    def extends(self, path: str) -> bool:
        """Return whether a configuration of the program takes something from a file."""
        return any(path in one.extends for one in (self.settings, *self.settings.nested))

    def shows(self, path: str) -> bool:
        """Return whether a file is one of those that the user looks at, opened or not."""
        return any(Path(path).is_relative_to(folder) for folder in self.folders)

    def wants(self, path: str) -> bool:
        """Return whether a file is part of the program, or would be if it were saved."""
        if self.session is not None and self.session.holds(path):
            return True
        if os.path.exists(path) and not self._is_linked(path):  # noqa: PTH110
            return path in self.files()
        return includes(path, self.settings)

    def _is_linked(self, path: str) -> bool:
        """Return whether a link leads from the folder to a file, which `discover` then does not come to."""
        return os.path.realpath(path) != os.path.join(os.path.realpath(self.root), os.path.relpath(path, self.root))  # noqa: PTH118

    def recall(self, contents: Mapping[str, bytes]) -> Report | None:
        """Return the result of an earlier check of the same texts."""
        if self.cache is None:
            return None
        files = sorted({*self.files(), *contents})
        return Run(self.settings, self.cache, 1, None, contents).recall(files)

    def begin(self) -> None:
        """Warm the cache, where that saves time."""
        if self.cache is None or self.cache.folder is None or self.cache.warning or not self.paths:
            return
        files = self.files()
        if Run(self.settings, self.cache, 1, None).missing(files) >= _LARGE:
            jobs = self.settings.jobs or os.cpu_count() or 1
            self.warming = Warming(self.paths, self.settings, self.cache.folder, jobs)

    def load(self, contents: Mapping[str, bytes], progress: Callable[[int, int], None] | None = None) -> Session:
        """Read the program."""
        self.warming = None
        if self._configuration is not None:
            self.files()
        try:
            session = self._new_session()
        except UNUSABLE as error:
            self.trouble = str(error)
            self.settings = load_settings([self.root], isolated=True)
            self.below = None
            session = self._new_session()
        session.load(contents, progress)
        self.session = session
        return session

    def _new_session(self) -> Session:
        places = [] if self._loose and not self.paths else [self.root]
        return Session(places, self.settings, self.cache, pulse=self._pulse)

    def close(self) -> None:
        """Keep what was worked out, and let go of everything."""
        if self.warming is not None:
            self.warming.end()
        if self.session is not None:
            self.session.keep()
        if self._cache is not None:
            self._cache.close()
        self.session = self._cache = None
