"""The program around files that are named one by one: what is read besides them, so that a file is judged as in a check of all of it.

    file ──candidates──▶ folders, the widest first ──survey, bounded──▶ the first that is not too large, with its files and settings

A program is what a configuration of xlalint, a git repository, or the files of a distribution (`pyproject.toml`, `setup.py`) hold together.
Where nothing marks one it is the working directory or the folder that modules are imported from, if that is small, or the package. A folder
that is named is a program as it stands: nobody who names one means what lies around it.
"""

from __future__ import annotations

import glob
import os
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from itertools import takewhile
from pathlib import Path
from typing import NamedTuple

from xlalint.config.loading import config_in
from xlalint.config.settings import ConfigError
from xlalint.config.tree import Configuration, Survey, load_configuration
from xlalint.source.discovery import SearchLimit, TooManyFilesError
from xlalint.source.repository import repository_at

# Some ten seconds the first time on two cores; each time some tenths of a second.
_MARKED = SearchLimit(files=5_000, entries=250_000)
# Nothing says that what lies there belongs together: a folder of downloads, a home folder that is a repository of settings.
_UNMARKED = SearchLimit(files=300, entries=15_000)
_DISTRIBUTION = ("pyproject.toml", "setup.py", "setup.cfg")
_INSTALLED = frozenset(("site-packages", "dist-packages"))


class ProgramFolder(NamedTuple):
    """A folder that may be the program of a file, and how much is read of it unasked. `marked` says that something marks it: it is the
    folder of a configuration, a repository or a distribution."""

    folder: Path
    limit: SearchLimit
    marked: bool = False


class ProgramAround(NamedTuple):
    """The folders that are read besides what was named; `home` is the one that results may be kept in. `too_large` are those that would
    have been read, did they not go past their limits."""

    folders: tuple[Path, ...] = ()
    too_large: tuple[ProgramFolder, ...] = ()
    home: Path | None = None


class ProgramSurvey(NamedTuple):
    """The program of what was named: its configuration, its files and settings, its paths, and what of it was found around them."""

    configuration: Configuration
    survey: Survey
    paths: tuple[Path, ...]
    around: ProgramAround = ProgramAround()


def list_candidates(file: Path, here: Path | None = None) -> tuple[ProgramFolder, ...]:
    """List the folders that may be the program of a file, the widest first; the file need not exist. `here` is the user's working
    directory, where there is one."""
    file = Path(os.path.abspath(file))  # noqa: PTH100
    above = list(takewhile(lambda folder: folder.name not in _INSTALLED and folder != folder.parent, file.parents))
    top = next((folder for folder in above if repository_at(folder) is not None), None)
    above = above[: above.index(top) + 1] if top is not None else above
    configured = [folder for folder in above if _is_configured(folder)]
    widest = configured[-1] if configured else top
    within = above[: above.index(widest) + 1] if widest is not None else above
    distribution = next((one for one in within if any((one / name).is_file() for name in _DISTRIBUTION)), None)
    shared = _shared_folders()
    found = [
        ProgramFolder(folder, _UNMARKED if folder in shared else _MARKED, marked=True)
        for folder in (widest, distribution)
        if folder is not None
    ]
    package = _package(file)
    if not found:
        near = [(package or file).parent]
        if here is not None and here != package and (package or file).is_relative_to(here):
            near.append(here)
        alike = [folder for folder in near if folder in above and folder not in shared and folder.is_dir()]
        found = [ProgramFolder(folder, _UNMARKED) for folder in alike]
    if package is not None:
        found.append(ProgramFolder(package, _MARKED))
    # Of two at one place the first says how much is read.
    by_folder = {one.folder: one for one in reversed(found)}
    return tuple(sorted(by_folder.values(), key=lambda one: len(one.folder.parts)))


def survey_program(
    paths: Sequence[Path],
    *,
    config: Path | None = None,
    isolated: bool = False,
    options: Mapping[str, object] | None = None,
    saved: bool = True,
    here: Path | None = None,
    allowed: Callable[[Path], bool] = lambda _: True,
) -> ProgramSurvey:
    """Find the program that the named paths belong to, with its files and settings.

    Paths that are not `saved` need not exist, and are not among the files. `here` is the user's working directory, where there is one. Only
    folders that are `allowed` are looked into. The other arguments and the errors are those of `load_configuration`; `DiscoveryError` for a
    path that does not exist.
    """
    named = tuple(paths) if saved else ()

    def survey(folders: Sequence[Path], named: Sequence[Path], limit: SearchLimit | None) -> ProgramSurvey:
        program = (*named, *folders)
        made = load_configuration((*paths, *folders), config=config, isolated=isolated, options=options)
        return ProgramSurvey(made, made.survey(program, limit), program)

    ladders = list(
        dict.fromkeys(tuple(one for one in ladder if allowed(one.folder)) for ladder in _ladders(paths, here))
    )
    one_walk = not any(path.is_dir() for path in named)
    too_large: list[ProgramFolder] = []
    while True:
        tops = list(dict.fromkeys(ladder[0] for ladder in ladders if ladder))
        passed = None
        if len(tops) > 1 or not one_walk:  # each has a limit of its own
            passed = next((top for top in tops if _passes(partial(survey, (top.folder,), (), top.limit))), None)
        if passed is None:
            folders = tuple(top.folder for top in tops)
            try:
                found = survey(folders, named, tops[0].limit if len(tops) == 1 and one_walk else None)
            except TooManyFilesError:
                passed = tops[0]
            else:
                home = folders[0] if len(tops) == 1 and tops[0].marked else None
                return found._replace(around=ProgramAround(folders, tuple(too_large), home))
        too_large.append(passed)
        ladders = [tuple(one for one in ladder if one != passed) for ladder in ladders]


def _passes(search: Callable[[], object]) -> bool:
    """Return whether a search goes past its limit."""
    try:
        search()
    except TooManyFilesError:
        return True
    return False


def _ladders(paths: Sequence[Path], here: Path | None) -> list[tuple[ProgramFolder, ...]]:
    """The candidates of each file that is named; of files in one folder once."""
    found: dict[Path, tuple[ProgramFolder, ...]] = {}
    for path in paths:
        text = str(path)
        globbed = glob.has_magic(text) and not os.path.lexists(path)
        places = map(Path, glob.glob(text, recursive=True)) if globbed else [path]  # noqa: PTH207
        for place in places:
            folder = Path(os.path.abspath(place)).parent  # noqa: PTH100
            if not place.is_dir() and folder not in found:
                found[folder] = list_candidates(place, here)
    return list(found.values())


def _is_configured(folder: Path) -> bool:
    try:
        return config_in(folder) is not None
    except ConfigError:  # told of where it is read to be used
        return True


def _package(file: Path) -> Path | None:
    """The outermost package that holds a file; None for one that no package holds."""
    held = list(takewhile(lambda folder: (folder / "__init__.py").is_file(), file.parents))
    return held[-1] if held else None


def _shared_folders() -> set[Path]:
    """Return the folders in which everything lies: the user's home, those of temporary files, and what is above them."""
    named = (os.path.expanduser("~"), "/tmp", "/var/tmp", os.environ.get("TMPDIR", ""))  # noqa: PTH111
    places = {Path(place) for name in named if os.path.isabs(name) for place in (name, os.path.realpath(name))}  # noqa: PTH117
    return places | {above for place in places for above in place.parents}
