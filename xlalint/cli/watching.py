"""`check --watch`: checks again whenever something changed.

Each check is a process of its own, which says what the command says by hand; what did not change comes from the cache.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import click

from xlalint import interrupts
from xlalint.cli import FAILED
from xlalint.cli.packages import require
from xlalint.cli.saying import say
from xlalint.config.loading import OWN_FILE
from xlalint.processes import isolated_command
from xlalint.source.data_files import counts, is_data
from xlalint.source.globs import Globs

if TYPE_CHECKING:
    from xlalint.config import Settings

OPTION = "--watch"
_CONFIGURATIONS = (OWN_FILE, "pyproject.toml")
_NAMED = 3


def watch(paths: Sequence[Path], settings: Settings, arguments: Sequence[str]) -> int:
    """Run `xlalint` with the arguments, less `--watch`, now and after each change, until an interrupt; the exit code is the last one's."""
    require("watchfiles", OPTION, "watch")
    command = isolated_command("xlalint.start", *_once(arguments))
    status: int | None = None
    try:
        for changed in _changes(paths, settings):
            if sys.stdout.isatty():
                click.clear()
            if changed:
                say(f"{_show(changed)} changed: checking again")
            status = _check(command)
            say("watching for changes; Ctrl-C ends")
    except KeyboardInterrupt:
        if status is None or not interrupts.interrupted_only():
            raise
        say("ended")
    return FAILED if status is None else status


def _once(arguments: Sequence[str]) -> Iterator[str]:
    """The arguments without the option."""
    options = True
    for argument in arguments:
        options = options and argument != "--"
        if not options or argument != OPTION:
            yield argument


def _check(command: Sequence[str]) -> int:
    """Run a check to its end. An interrupt is meant for both: the check ends first, and says nothing more."""
    with subprocess.Popen(command, stdin=subprocess.DEVNULL) as child:
        try:
            code = child.wait()
        except KeyboardInterrupt:
            child.send_signal(signal.SIGINT)
            child.wait()
            raise
    return code if code >= 0 else FAILED


def _changes(paths: Sequence[Path], settings: Settings) -> Iterator[list[str]]:
    """Nothing at first; then the files that count and changed, each time some did."""
    from watchfiles import watch as watched

    counts = _Relevant(paths, settings)
    changes = watched(
        *counts.places,
        watch_filter=lambda _, path: counts(path),
        recursive=counts.recursive,
        rust_timeout=500,
        yield_on_timeout=True,
        ignore_permission_denied=True,
    )
    next(changes)  # from here on what changes is seen, also during a check
    yield []
    for batch in changes:
        if batch:
            yield sorted({path for _, path in batch})


class _Relevant:
    """A filter of changed files: a configuration, a baseline, a rule page, or one that is checked. `places` are what is watched."""

    def __init__(self, paths: Sequence[Path], settings: Settings) -> None:
        named = [os.path.abspath(path) for path in paths]  # noqa: PTH100
        folders = [path for path in named if os.path.isdir(path)]  # noqa: PTH112
        self.recursive = bool(folders)
        self._files = {path for path in named if path not in folders}
        self._folders = tuple(folder.rstrip(os.sep) + os.sep for folder in folders)
        self._told = tuple(
            filter(
                None,
                (
                    settings.baseline,
                    *(file for one in (settings, *settings.nested) for file in (one.config_file, *one.extends)),
                ),
            )
        )
        self._rules = settings.extend_rules
        self._settings = settings
        # Editors put a new file in the place of an old one, which only a watch on its folder sees.
        places = [*folders, *map(os.path.dirname, (*self._files, *self._told)), *self._rules]
        self.places = _outermost(place for place in places if os.path.exists(place))  # noqa: PTH110

    def __call__(self, path: str) -> bool:
        if path in self._files or path in self._told or any(path.startswith(place) for place in self._rules):
            return True
        if not path.startswith(self._folders):
            return False
        if os.path.basename(path) in _CONFIGURATIONS:  # noqa: PTH119
            return True
        own = self._settings.of(path)
        included = Globs(own.include, own.root).match(path) or _is_folder(path) or _is_data(path)
        return included and not Globs(own.excluded, own.root).match(path)


def _is_data(path: str) -> bool:
    """Return whether a path is a file of data that says how programs run, or may have been one."""
    return is_data(path) and (counts(path) or not os.path.lexists(path))


def _is_folder(path: str) -> bool:
    """Return whether a path is, or may have been, a folder: changes in a folder that comes or goes are not always reported."""
    if os.path.lexists(path):
        return os.path.isdir(path)  # noqa: PTH112
    return "." not in os.path.basename(path)  # noqa: PTH119


def _outermost(places: Iterable[str]) -> list[str]:
    """The places that lie in none of the others."""
    found: list[str] = []
    for place in sorted(set(places)):
        if not any(place.startswith(other.rstrip(os.sep) + os.sep) for other in found):
            found.append(place)
    return found


def _show(changed: Sequence[str]) -> str:
    names = [os.path.relpath(path) for path in changed[:_NAMED]]
    more = len(changed) - len(names)
    return ", ".join(names) + (f" and {more:,} more" if more else "")
