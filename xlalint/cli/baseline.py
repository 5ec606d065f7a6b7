"""`xlalint baseline update`: records what is found, for a project that wants to begin with new code."""

from __future__ import annotations

import os
import sys
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from xlalint.cli import CLEAN, FAILED
from xlalint.cli.programs import find_program, no_project, wanted_files
from xlalint.cli.saying import say, show, warn
from xlalint.cli.settings import cache_of, collect_settings, cores, rule_options, running_options

if TYPE_CHECKING:
    from xlalint.baseline.recorded import Baseline


@click.group("baseline")
def command() -> None:
    """The findings that a project lives with for now, in a file that `xlalint check --baseline` reads."""


@command.command("update")
@click.argument("paths", nargs=-1, type=click.Path(path_type=Path))
@click.option(
    "--baseline",
    type=click.Path(path_type=Path, dir_okay=False),
    metavar="FILE",
    help="The file to write (default: the configured one, else xlalint-baseline.json beside the configuration).",
)
@no_project
@rule_options
@running_options
def update(paths: tuple[Path, ...], **options: Any) -> int:
    """Record what is found now under the paths (default: here). What was recorded of files elsewhere stays; what is gone goes."""
    from xlalint.baseline.recorded import NAME, NEVER_KNOWN
    from xlalint.cli.narrowing import checked_by, given_baseline, texts_of
    from xlalint.cli.progress import Progress
    from xlalint.project import check_paths
    from xlalint.report import Cells
    from xlalint.source.reading import read_bytes

    paths = paths or (Path(),)
    told = collect_settings(options) | given_baseline(options)
    found = find_program(paths, (), options, told)
    survey = found.survey
    settings = survey.settings
    wanted = wanted_files(paths, (), found)
    file = Path(settings.baseline or Path(settings.root, NAME))
    before = _before(file)
    with cache_of(options, settings, home=found.around.home) as cache, Progress(sys.stderr) as progress:
        jobs = settings.jobs or cores()
        report = check_paths(
            found.paths, settings, cache=cache, jobs=jobs, progress=progress, found=survey.files, wanted=wanted
        )
    for failure in report.failures:
        say(f"internal error: {failure}")
    if report.failures or survey.errors:
        say(f"`{file}` is left as it was")
        return FAILED
    read = partial(read_bytes, limit=settings.max_file_size)
    findings = Cells(read).locate(report.findings)
    after = before.update(findings, texts_of(read), checked_by(paths, settings))
    _write(file, after.render())
    _tell(before, after, sum(finding.code in NEVER_KNOWN for finding in findings))
    return CLEAN


def _before(file: Path) -> Baseline:
    """Read the recorded baseline, empty if it cannot be read."""
    from xlalint.baseline.recorded import Baseline, BaselineError, read

    if not file.exists():
        return Baseline(file)
    try:
        return read(file)
    except BaselineError as error:
        warn(str(error))
        return Baseline(file)


def _write(file: Path, text: str) -> None:
    """Replace the file in one step."""
    beside = file.with_name(f"{file.name}.{os.getpid()}.tmp")
    try:
        beside.write_text(text, encoding="utf-8", errors="surrogateescape", newline="\n")
        beside.replace(file)
    except OSError as error:
        beside.unlink(missing_ok=True)
        raise click.ClickException(f"`{file}`: the baseline cannot be written: {error.strerror}") from error


def _tell(before: Baseline, after: Baseline, unread: int) -> None:
    from xlalint.report.printable import printable_path

    number = after.known.total()
    added, removed = (after.known - before.known).total(), (before.known - after.known).total()
    files = len({identity.path for identity in after.known})
    what = f"{number:,} finding{'' if number == 1 else 's'} in {files:,} file{'' if files == 1 else 's'}"
    show(f"{printable_path(os.path.relpath(after.file))}: {what} ({added:,} new, {removed:,} gone).")
    if unread:
        click.echo(f"{unread:,} more cannot be recorded: a file that cannot be read may hold other findings.")
