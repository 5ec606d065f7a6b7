"""The program of what a command was given: what is read for it, what of that is reported, and what is said of both."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence, Set
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from xlalint.cli.saying import warn
from xlalint.cli.settings import tell_survey

if TYPE_CHECKING:
    from xlalint.config import ProgramSurvey
    from xlalint.config.surroundings import ProgramFolder
    from xlalint.report.view import Within

no_project = click.option(
    "--no-project", is_flag=True, help="Judge the files by themselves, without the program around them."
)


def find_program(
    paths: Sequence[Path],
    project: Sequence[Path],
    options: Mapping[str, Any],
    told: Mapping[str, object],
    *,
    saved: bool = True,
) -> ProgramSurvey:
    """Find the program: what is named with what `project` names, else with what is found around files. What its configurations say to no
    purpose, and that it is too large to be read unasked, is told.

    Paths that are not `saved` need not exist.
    """
    from xlalint.config import ProgramSurvey, load_configuration, survey_program

    if project and options["no_project"]:
        raise click.UsageError("`--project` and `--no-project` exclude each other")
    given: dict[str, Any] = {"config": options["config"].file, "isolated": options["isolated"], "options": told}
    if project or options["no_project"]:
        program = (*(paths if saved else ()), *project)
        configuration = load_configuration((*paths, *project), **given)
        found = ProgramSurvey(configuration, configuration.survey(program), program)
    else:
        found = survey_program(paths, saved=saved, here=Path.cwd(), **given)
    for candidate in found.around.too_large:
        if candidate.marked or not found.around.folders:
            warn(_describe_refused(candidate, found))
    tell_survey(found.survey)
    return found


def wanted_files(paths: Sequence[Path], project: Sequence[Path], found: ProgramSurvey) -> Set[str] | None:
    """Return the files to report on, by absolute path; None where they are all of the program."""
    if not project and not found.around.folders:
        return None
    from xlalint.source.discovery import discover

    return frozenset(map(str, discover(paths, found.survey.settings)))


def within(found: ProgramSurvey, wanted: Set[str] | None) -> Within | None:
    """Return what a report says of the program around the files that it is of, None where that is the program."""
    from xlalint.report.view import Within

    if wanted is None or len(wanted) == len(found.survey.files):
        return None
    return Within(tuple(map(str, found.around.folders)), len(wanted), len(found.survey.files))


def _describe_refused(candidate: ProgramFolder, found: ProgramSurvey) -> str:
    shown, limit = shorten(candidate.folder), candidate.limit
    within = f"within `{shorten(found.around.folders[0])}`" if found.around.folders else "by themselves"
    much = f"more than {limit.files:,} to check, or {limit.entries:,} in all"
    return f"`{shown}` holds too many files to be read unasked ({much}): files are judged {within}; `--project {shown}` reads it"


def shorten(folder: Path) -> str:
    """A folder as it can be typed."""
    path = os.path.relpath(folder)
    return str(folder) if path.startswith(os.path.join(os.pardir, os.pardir)) else path  # noqa: PTH118
