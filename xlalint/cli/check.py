"""`xlalint check`: options → settings → the pipeline → report and exit code."""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, TextIO

import click

from xlalint.cli import CLEAN, FAILED
from xlalint.cli.fixing import (
    add_noqa,
    fix_options,
    fixed_by,
    memory_of,
    only_fixes,
    show_diff,
    status,
    wants_fixes,
    write_files,
    write_text,
)
from xlalint.cli.proving import Proving, proving
from xlalint.cli.settings import cache_of, cores, given, rule_options, running_options

if TYPE_CHECKING:
    from xlalint.checks.finding import Finding
    from xlalint.config import Settings
    from xlalint.project import Report
    from xlalint.project.rewriting import Memory
    from xlalint.rules import Rule

STDIN = "-"
_FORMATS = (  # those of `xlalint.report`, which takes longer to import than to name
    "full",
    "concise",
    "json",
    "json-lines",
    "sarif",
    "github",
    "gitlab",
    "junit",
    "rdjson",
    "markdown",
    "html",
)
_COUNTED = ("full", "concise", "json")


@click.command("check")
@click.argument("paths", nargs=-1, type=click.Path(path_type=Path))
@rule_options
@fix_options
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

    if options["add_noqa"] and (wants_fixes(options) or Path(STDIN) in paths):
        raise click.UsageError("`--add-noqa` works on files, and by itself: fix first, then silence what is left")
    from_stdin = _reads_stdin(paths, options["stdin_filename"])
    if from_stdin:
        paths = (Path(options["stdin_filename"] or STDIN),)
    _check_format(options)
    if options["diff"] and options["output_file"]:
        raise click.UsageError("a diff goes to standard output: give `--diff` without `--output-file`")
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
    from xlalint.source.reading import read_bytes

    with cache_of(options, settings, rounds=wants_fixes(options)) as cache, Progress(sys.stderr) as progress:

        def check(contents: Mapping[str, bytes], memory: Memory | None) -> Report:
            jobs = settings.jobs or cores()
            return check_paths(
                paths,
                settings,
                cache=cache,
                jobs=jobs,
                progress=progress,
                contents=contents,
                fixes=memory,
            )

        with proving(options, settings) as proofs:
            fixed = fixed_by(check, read_bytes, options, proofs.accept) if wants_fixes(options) else None
            report = fixed.report if fixed else proofs.shown(check({}, memory_of(options)), read_bytes)
        warning = cache.warning
    if warning:
        _warn(warning)
    if not report.files:
        _warn("no Python files found under the given paths")
    if options["add_noqa"]:
        return FAILED if report.failures or not add_noqa(report, settings) else CLEAN
    if fixed is None:
        return _tell(report, settings, options, {}, proofs=proofs)
    if options["diff"]:
        show_diff(fixed)
        return _tell(report, settings, options, {}, fixed.findings, proofs=proofs)
    unwritten = write_files(fixed, settings)
    for path, reason in unwritten.items():
        click.echo(f"xlalint: `{path}` is not fixed: {reason}", err=True)
    done = [finding for finding in fixed.findings if finding.filename not in unwritten]
    return _tell(report, settings, options, {}, done, failed=bool(unwritten), proofs=proofs)


def _check_stdin(options: Mapping[str, Any], settings: Settings) -> int:
    from xlalint.project import check_text
    from xlalint.source.model import SourceError
    from xlalint.source.reading import decode, decode_json, is_notebook

    given = options["stdin_filename"]
    filename = os.path.abspath(given) if given else STDIN  # noqa: PTH100
    raw = sys.stdin.buffer.read()
    read = decode_json if is_notebook(filename) else decode
    try:
        text = read(raw)
    except SourceError as error:
        click.echo(f"xlalint: standard input: {error.message}", err=True)
        return FAILED
    if not wants_fixes(options):
        with proving(options, settings) as proofs:
            report = proofs.shown(check_text(text, filename, settings, fixes=memory_of(options)), lambda _: raw)
        return _tell(report, settings, options, {filename: text}, proofs=proofs)

    def check(contents: Mapping[str, bytes], memory: Memory) -> Report:
        return check_text(read(contents.get(filename, raw)), filename, settings, fixes=memory)

    with proving(options, settings) as proofs:
        fixed = fixed_by(check, lambda _: raw, options, proofs.accept)
    if options["diff"]:
        show_diff(fixed)
    else:
        write_text(fixed, filename, raw)
    left = read(fixed.files[filename].after) if filename in fixed.files else text
    return _tell(fixed.report, settings, options, {filename: left}, fixed.findings, stream=sys.stderr, proofs=proofs)


def _tell(
    report: Report,
    settings: Settings,
    options: Mapping[str, Any],
    texts: Mapping[str, str],
    fixed: Sequence[Finding] = (),
    *,
    failed: bool = False,
    stream: TextIO | None = None,
    proofs: Proving | None = None,
) -> int:
    """Print or write the report, and say how it went. `stream` is standard output unless fixed text went there."""
    from xlalint.cli.output import publish, publish_fixes
    from xlalint.report import FOR_PEOPLE, Checked

    for_people = options["output_format"] in FOR_PEOPLE
    if wants_fixes(options) and for_people:
        where = sys.stderr if options["diff"] else stream or sys.stdout
        publish_fixes(fixed, options, where)
    if proofs is not None and for_people:
        proofs.tell(sys.stderr if options["diff"] else stream or sys.stdout)
    if not only_fixes(options):
        checked = Checked(report.files, tuple(report.failures), lambda: _rules(settings))
        publish(report.findings, checked, options, texts, stream or sys.stdout)
    for failure in report.failures:
        click.echo(f"xlalint: internal error: {failure}", err=True)
    return status(bool(report.findings), bool(fixed), failed or bool(report.failures), options)


def _rules(settings: Settings) -> Mapping[str, Rule]:
    """The rules that were looked for, for formats that tell of them."""
    from xlalint.rules import rules

    return rules(tuple(map(Path, settings.extend_rules)))


def _check_format(options: Mapping[str, Any]) -> None:
    """See to it that the report can be made before anything is checked for it."""
    form = options["output_format"]
    if options["statistics"] and form not in _COUNTED:
        raise click.UsageError(f"`--statistics` can be had as {', '.join(_COUNTED)}, not as {form}")
    if form == "html":
        from xlalint.cli.packages import require

        require("jinja2", "--output-format html", "report")


def _warn(message: str) -> None:
    click.echo(f"xlalint: warning: {message}", err=True)
