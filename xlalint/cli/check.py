"""`xlalint check`: options → settings → the pipeline → report and exit code."""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from xlalint.cli import CLEAN, FAILED, FINDINGS

if TYPE_CHECKING:
    from xlalint.cache import Cache
    from xlalint.config import Settings
    from xlalint.project import Report

STDIN = "-"
_FORMATS = ("full", "concise", "json")
_LISTS = ("select", "ignore", "extend_select", "exclude", "extend_exclude")
_PLAIN = ("target", "device", "min_confidence", "show_info", "respect_gitignore", "cache_dir", "jobs")


@click.command("check")
@click.argument("paths", nargs=-1, type=click.Path(path_type=Path))
@click.option(
    "--select", multiple=True, metavar="RULES", help="Rules to look for: codes, prefixes or names, by commas."
)
@click.option("--ignore", multiple=True, metavar="RULES", help="Rules to leave out.")
@click.option("--extend-select", multiple=True, metavar="RULES", help="Rules to look for besides.")
@click.option("--per-file-ignores", multiple=True, metavar="PATTERN:RULE", help="Rules to leave out in some files.")
@click.option("--target", metavar="TARGET", help="torch_xla, torch_tpu, torch_compile, tf or jax.")
@click.option("--device", metavar="DEVICE", help="tpu, gpu or cpu.")
@click.option("--min-confidence", metavar="LEVEL", help="certain, likely (the default) or possible.")
@click.option("--show-info/--no-show-info", default=None, help="Show findings of severity `info` too.")
@click.option("--output-format", type=click.Choice(_FORMATS), default="full", show_default=True)
@click.option("--output-file", type=click.Path(path_type=Path, dir_okay=False), help="Write the report here.")
@click.option("--statistics", is_flag=True, help="Show how often each rule was found.")
@click.option("--exit-zero", is_flag=True, help="Exit with 0 also when something was found.")
@click.option("-j", "--jobs", type=click.IntRange(min=0), metavar="N", help="Processes to use; 0 is one per core.")
@click.option("--stdin-filename", metavar="PATH", help="What to call the text from standard input.")
@click.option("--show-files", is_flag=True, help="Show the files that would be checked, and stop.")
@click.option("--show-settings", is_flag=True, help="Show the settings, and stop.")
@click.option("--no-cache", is_flag=True, help="Keep and use nothing from other runs.")
@click.option("--cache-dir", metavar="DIR", envvar="XLALINT_CACHE_DIR", help="Where to keep results.")
@click.option("--config", type=click.Path(path_type=Path, dir_okay=False), help="The configuration file to use.")
@click.option("--isolated", is_flag=True, help="Use no configuration file.")
@click.option("--exclude", multiple=True, metavar="PATTERNS", help="Files and folders to leave alone.")
@click.option("--extend-exclude", multiple=True, metavar="PATTERNS", help="More files and folders to leave alone.")
@click.option("--respect-gitignore/--no-respect-gitignore", default=None, help="Leave alone what git ignores.")
def command(paths: tuple[Path, ...], **options: Any) -> int:
    """Find tensor values that reach the host program, in files and folders (default: here; `-`: standard input)."""
    from xlalint.config import load_settings

    from_stdin = _reads_stdin(paths, options["stdin_filename"])
    if from_stdin:
        paths = (Path(options["stdin_filename"] or STDIN),)
    paths = paths or (Path(),)
    settings = load_settings(paths, config=options["config"], isolated=options["isolated"], options=_given(options))
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


def _given(options: Mapping[str, Any]) -> dict[str, object]:
    """The options that speak of settings and were given."""
    told: dict[str, object] = {key: options[key] for key in _PLAIN if options[key] is not None}
    told |= {key: _split(options[key]) for key in _LISTS if options[key]}
    if options["per_file_ignores"]:
        told["per_file_ignores"] = _per_file(_split(options["per_file_ignores"]))
    return told


def _split(values: tuple[str, ...]) -> list[str]:
    return [word.strip() for value in values for word in value.split(",") if word.strip()]


def _per_file(entries: list[str]) -> dict[str, list[str]]:
    """`tests/*:XLA1` entries; one without a colon gives another rule to the pattern before it."""
    found: dict[str, list[str]] = {}
    pattern = ""
    for entry in entries:
        before, colon, code = entry.rpartition(":")
        pattern = before if colon else pattern
        if not pattern or not code:
            raise click.BadParameter(f"`{entry}` is not PATTERN:RULE", param_hint="--per-file-ignores")
        found.setdefault(pattern, []).append(code)
    return found


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

    with _cache(options, settings) as cache, Progress(sys.stderr) as progress:
        report = check_paths(paths, settings, cache=cache, jobs=settings.jobs or _cores(), progress=progress)
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


def _cache(options: Mapping[str, Any], settings: Settings) -> Cache:
    from xlalint.cache import FOLDER, Cache

    if options["no_cache"]:
        return Cache(None)
    return Cache(Path(settings.cache_dir or Path(settings.root, FOLDER)))


def _cores() -> int:
    """How many cores this process may use."""
    affinity = getattr(os, "sched_getaffinity", None)
    return len(affinity(0)) if affinity else os.cpu_count() or 1


def _warn(message: str) -> None:
    click.echo(f"xlalint: warning: {message}", err=True)
