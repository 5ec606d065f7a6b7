"""`xlalint check`: options → settings → the pipeline → report and exit code."""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from xlalint.cli import CLEAN, FAILED, FINDINGS
from xlalint.cli.settings import cache_of, cores, given, rule_options, running_options

if TYPE_CHECKING:
    from xlalint.config import Settings
    from xlalint.project import Report

STDIN = "-"
_FORMATS = ("full", "concise", "json")


@click.command("check")
@click.argument("paths", nargs=-1, type=click.Path(path_type=Path))
@rule_options
@click.option("--output-format", type=click.Choice(_FORMATS), default="full", show_default=True)
@click.option("--output-file", type=click.Path(path_type=Path, dir_okay=False), help="Write the report here.")
@click.option("--statistics", is_flag=True, help="Show how often each rule was found.")
@click.option("--exit-zero", is_flag=True, help="Exit with 0 also when something was found.")
@click.option("--stdin-filename", metavar="PATH", help="What to call the text from standard input.")
@click.option("--show-files", is_flag=True, help="Show the files that would be checked, and stop.")
@click.option("--show-settings", is_flag=True, help="Show the settings, and stop.")
@running_options
def command(paths: tuple[Path, ...], **options: Any) -> int:
    """Find tensor values that reach the host program, in files and folders (default: here; `-`: standard input)."""
    from xlalint.config import load_settings

    from_stdin = _reads_stdin(paths, options["stdin_filename"])
    if from_stdin:
        paths = (Path(options["stdin_filename"] or STDIN),)
    paths = paths or (Path(),)
    settings = load_settings(paths, config=options["config"], isolated=options["isolated"], options=given(options))
    if options["show_settings"]:
        return _show_settings(settings)
    if options["show_files"]:
        return _show_files(paths, settings)
    if from_stdin:
        return _check_stdin(options, settings)
    return _check_paths(paths, options, settings)


def _reads_stdin(paths: tuple[Path, ...], stdin_filename: str | None) -> bool:
    if Path(STDIN) not in paths:
        return stdin_filename is not None and not paths
    if len(paths) > 1:
        raise click.UsageError("`-` (standard input) cannot be checked together with other paths")
    return True


def _show_settings(settings: Settings) -> int:
    from xlalint.cli.output import settings_text

    click.echo(settings_text(settings), nl=False)
    return CLEAN


def _show_files(paths: tuple[Path, ...], settings: Settings) -> int:
    from xlalint.source.discovery import discover

    for path in discover(paths, settings):
        click.echo(str(path))
    return CLEAN


def _check_paths(paths: tuple[Path, ...], options: Mapping[str, Any], settings: Settings) -> int:
    from xlalint.cli.progress import Progress
    from xlalint.project import check_paths

    with cache_of(options, settings) as cache, Progress(sys.stderr) as progress:
        report = check_paths(paths, settings, cache=cache, jobs=settings.jobs or cores(), progress=progress)
        warning = cache.warning
    if warning:
        _warn(warning)
    if not report.files:
        _warn("no Python files found under the given paths")
    return _tell(report, options, {})


def _check_stdin(options: Mapping[str, Any], settings: Settings) -> int:
    from xlalint.project import check_text
    from xlalint.source.model import SourceError
    from xlalint.source.reading import decode

    given = options["stdin_filename"]
    filename = os.path.abspath(given) if given else STDIN  # noqa: PTH100
    try:
        text = decode(sys.stdin.buffer.read())
    except SourceError as error:
        click.echo(f"xlalint: standard input: {error.message}", err=True)
        return FAILED
    return _tell(check_text(text, filename, settings), options, {filename: text})


def _tell(report: Report, options: Mapping[str, Any], texts: Mapping[str, str]) -> int:
    """Print or write the report, and say how it went."""
    from xlalint.cli.output import publish

    publish(
        report.findings,
        report.files,
        options["output_format"],
        options["output_file"],
        texts,
        counts=options["statistics"],
    )
    for failure in report.failures:
        click.echo(f"xlalint: internal error: {failure}", err=True)
    if report.failures:
        return FAILED
    return FINDINGS if report.findings and not options["exit_zero"] else CLEAN


def _warn(message: str) -> None:
    click.echo(f"xlalint: warning: {message}", err=True)
