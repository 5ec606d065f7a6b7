"""`xlalint check`: options → settings → the pipeline → report and exit code."""

from __future__ import annotations

import os
import sys
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, ExitStack, contextmanager, nullcontext
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from xlalint.cli import CLEAN, FAILED
from xlalint.cli.fixing import (
    add_ignore,
    fix_options,
    fixed_by,
    memory_of,
    show_diff,
    wants_fixes,
    write_files,
    write_text,
)
from xlalint.cli.narrowing import given_baseline, narrowing, narrowing_options
from xlalint.cli.programs import find_program, wanted_files, within
from xlalint.cli.proving import proving
from xlalint.cli.saying import Verbosity, say, show, stages, verbosity, verbosity_options, warn
from xlalint.cli.settings import cache_of, collect_settings, cores, rule_options, running_options
from xlalint.cli.telling import Telling, check_format

if TYPE_CHECKING:
    from concurrent.futures import Executor

    from xlalint.cache import Cache
    from xlalint.config import ProgramSurvey, Survey
    from xlalint.diagnostics.finding import Finding
    from xlalint.project import Report
    from xlalint.project.rewriting import Memory

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


@click.command("check")
@click.argument("paths", nargs=-1, type=click.Path(path_type=Path))
@rule_options
@fix_options
@narrowing_options
@click.option("--output-format", type=click.Choice(_FORMATS), default="full", show_default=True)
@click.option("--output-file", "-o", type=click.Path(path_type=Path, dir_okay=False), help="Write the report here.")
@click.option(
    "--sort",
    type=click.Choice(("file", "cost")),
    help="The order of findings in text: by place, or what costs most first (default: cost in full and markdown, file in concise).",
)
@click.option("--show-copies", is_flag=True, help="In full, show findings in copies of one function one by one.")
@click.option("--statistics", is_flag=True, help="Show how often each rule was found.")
@click.option("--exit-zero", "-e", is_flag=True, help="Exit with 0 even if something was found.")
@click.option("--stdin-filename", metavar="PATH", help="The file name to use for standard input.")
@click.option(
    "--executor",
    metavar="ADDRESS",
    help="Read files' code on a cluster: dask://HOST:PORT or ray://HOST:PORT (needs xlalint[dask] or xlalint[ray]).",
)
@click.option("--watch", "-w", is_flag=True, help="Check again whenever a file changes (needs xlalint[watch]).")
@click.option("--show-files", is_flag=True, help="Show the files that would be checked, and stop.")
@click.option("--show-settings", is_flag=True, help="Show the settings, and stop.")
@running_options
@verbosity_options
def command(paths: tuple[Path, ...], **options: Any) -> int:
    """Find tensor values that reach the host program, in files and folders (default: here; `-`: standard input)."""

    _no_files(click.get_current_context().obj)
    if options["add_ignore"] and (wants_fixes(options) or Path(STDIN) in paths):
        raise click.UsageError("`--add-ignore` works on files, and on its own: fix first, then silence what is left")
    if options["reason"] is not None and not options["add_ignore"]:
        raise click.UsageError("`--reason` needs `--add-ignore`")
    if options["reason"] and ("#" in options["reason"] or len(options["reason"].splitlines()) > 1):
        raise click.UsageError("`--reason` is one line of a comment, without `#`")
    from_stdin = _reads_stdin(paths, options["stdin_filename"])
    if from_stdin and options["project"] and not options["stdin_filename"]:
        raise click.UsageError(
            "standard input is checked on its own: `--project` needs its place in the program, `--stdin-filename`"
        )
    if from_stdin:
        paths = (Path(options["stdin_filename"] or STDIN),)
    check_format(options)
    if options["diff"] and options["output_file"]:
        raise click.UsageError("a diff goes to standard output: use `--diff` without `--output-file`")
    paths = paths or (Path(),)
    told = collect_settings(options) | given_baseline(options)
    if options["stdin_filename"] is None and from_stdin:
        options["no_project"] = True
    timed = stages()
    with timed("configuration and files") if timed is not None else nullcontext():
        found = _find_program(paths, options, told, saved=not from_stdin)
    if verbosity() is Verbosity.VERBOSE:
        _describe_program(found)
    options["unsafe_fixes"] = found.survey.settings.unsafe_fixes
    if options["show_settings"]:
        return _show_settings(found)
    if options["watch"]:
        if from_stdin:
            raise click.UsageError("`--watch` works on files")
        from xlalint.cli.watching import watch

        return watch(found.paths, found.survey.settings, click.get_current_context().obj)
    if from_stdin:
        return _check_stdin(options, found)
    if options["show_files"]:
        return _show_files(found.configuration.survey(paths))
    if found.survey.errors and (wants_fixes(options) or options["add_ignore"]):
        say("no file is changed until the configuration is fixed")
        return FAILED
    return _check_paths(paths, options, found)


def _find_program(
    paths: tuple[Path, ...], options: Mapping[str, Any], told: Mapping[str, object], *, saved: bool
) -> ProgramSurvey:
    """Find the program; settings are shown, and changes waited for, also where no path exists yet."""
    from xlalint.config import ProgramSurvey, Survey, load_configuration
    from xlalint.source.discovery import DiscoveryError

    try:
        return find_program(paths, options["project"], options, told, saved=saved)
    except DiscoveryError:
        if not (options["show_settings"] or options["watch"]):
            raise
    program = (*paths, *options["project"])
    configuration = load_configuration(
        program, config=options["config"].file, isolated=options["isolated"], options=told
    )
    return ProgramSurvey(configuration, Survey([], configuration.settings), program)


def _no_files(arguments: Sequence[str]) -> None:
    """See to it that no option is the name of a file, which a commit hook or a glob of the shell has put there, and nobody meant."""
    for argument in arguments:
        if argument == "--":
            return
        if argument.startswith("-") and argument != STDIN and os.path.lexists(argument):
            raise click.UsageError(
                f"`{argument}` is an option and the name of a file here: write `./{argument}` for the file, or rename it"
            )


def _reads_stdin(paths: tuple[Path, ...], stdin_filename: str | None) -> bool:
    if Path(STDIN) not in paths:
        return stdin_filename is not None and not paths
    if len(paths) > 1:
        raise click.UsageError("`-` (standard input) cannot be checked together with other paths")
    return True


def _describe_program(found: ProgramSurvey) -> None:
    """Tell what is checked, by which configuration."""
    from xlalint.cli.programs import shorten

    settings = found.survey.settings
    say(f"configuration: {settings.config_file or 'none'}")
    for file in settings.extends:
        say(f"    extends {file}")
    for nested in settings.nested:
        say(f"    nested: {nested.config_file}")
    say(
        f"program: {', '.join(map(shorten, found.around.folders)) or 'what is named'}, {len(found.survey.files):,} to check"
    )
    say(f"packages: {settings.python or 'none'}")


def _show_settings(found: ProgramSurvey) -> int:
    from xlalint.cli.output import settings_text

    show(settings_text(found.survey.settings, found.around.folders), end="")
    return CLEAN


def _show_files(survey: Survey) -> int:
    from xlalint.report.printable import printable

    for path in survey.files:
        show(printable(str(path)))
    return FAILED if survey.errors else CLEAN


def _check_paths(paths: tuple[Path, ...], options: Mapping[str, Any], found: ProgramSurvey) -> int:
    from xlalint.cli.progress import Progress
    from xlalint.project import check_paths
    from xlalint.source.reading import read_bytes

    survey = found.survey
    settings = survey.settings
    read = partial(read_bytes, limit=settings.max_file_size)
    wanted = wanted_files(paths, options["project"], found)
    narrowed = narrowing(options, settings, paths, read, wanted)
    troubles: Counter[str] = Counter()
    with (
        _program_cache(options, found) as cache,
        _executor(options) as executor,
        Progress(sys.stderr) as progress,
    ):

        def check(contents: Mapping[str, bytes], memory: Memory | None) -> Report:
            jobs = settings.jobs or cores()
            return check_paths(
                found.paths,
                settings,
                cache=cache,
                jobs=jobs,
                progress=progress,
                contents=contents,
                fixes=memory,
                executor=executor,
                troubles=troubles,
                found=survey.files,
                wanted=wanted,
                stages=stages(),
            )

        with proving(options, settings, cache) as proofs:
            if wants_fixes(options):
                fixed = fixed_by(check, read, options, proofs.accept, narrowed if narrowed.narrows else None)
                report = narrowed.report(fixed.report, {path: one.after for path, one in fixed.files.items()})
            else:
                fixed = None
                report = proofs.attach_proofs(narrowed.report(check({}, memory_of(options)), {}), read)
        warning = cache.warning
    if warning:
        warn(warning)
    for trouble, number in troubles.most_common():
        warn(
            f"{number:,} part{'' if number == 1 else 's'} of the work {'was' if number == 1 else 'were'} done on this machine: {trouble}"
        )
    if not report.files:
        warn("no Python files found under the given paths")
    narrowed.warn(paths, settings)
    if options["add_ignore"]:
        return FAILED if report.failures or not add_ignore(report, settings, options["reason"] or "") else CLEAN
    telling = Telling(options, settings, narrowed, proofs, within(found, wanted))
    if fixed is None:
        return telling.tell(report, failed=bool(survey.errors))
    if options["diff"]:
        show_diff(fixed)
        return telling.tell(report, fixed.findings)
    unwritten = write_files(fixed, settings)
    for path, reason in unwritten.items():
        say(f"`{path}` is not fixed: {reason}")
    done = [finding for finding in fixed.findings if finding.filename not in unwritten]
    return telling.tell(report, done, failed=bool(unwritten))


def _program_cache(options: Mapping[str, Any], found: ProgramSurvey) -> AbstractContextManager[Cache]:
    """Open the cache that is the program's."""
    return cache_of(options, found.survey.settings, rounds=wants_fixes(options), home=found.around.home)


@contextmanager
def _executor(options: Mapping[str, Any]) -> Iterator[Executor | None]:
    """Open the executor that lowers files, if that is not this machine."""
    if not options["executor"]:
        yield None
        return
    from xlalint.project.executors import ClusterError, connect

    with ExitStack() as stack:
        try:
            executor = stack.enter_context(connect(options["executor"]))
        except ClusterError as error:
            raise click.ClickException(str(error)) from error
        yield executor


def _check_stdin(options: Mapping[str, Any], found: ProgramSurvey) -> int:
    from xlalint.cli.progress import Progress
    from xlalint.project import check_paths, check_text
    from xlalint.project.report import Report
    from xlalint.source.discovery import unwanted
    from xlalint.source.model import SourceError
    from xlalint.source.reading import decode, decode_json, is_notebook, read_bytes

    settings = found.survey.settings
    given = options["stdin_filename"]
    filename = os.path.abspath(given) if given else STDIN  # noqa: PTH100
    raw = sys.stdin.buffer.read()
    decoded = decode_json if is_notebook(filename) else decode
    try:
        text = decoded(raw)
    except SourceError as error:
        say(f"standard input: {error.message}")
        return FAILED

    def read(path: str) -> bytes:
        return raw if path == filename else read_bytes(path, settings.max_file_size)

    left_alone = unwanted(filename, settings)
    files = sorted({*found.survey.files, Path(filename)})
    wanted = frozenset((filename,)) if len(files) > 1 else None
    narrowed = narrowing(options, settings, (Path(filename),), read, wanted)
    given_text = {filename: raw}
    with (
        _program_cache(options, found) if wanted is not None else nullcontext() as cache,
        proving(options, settings, cache) as proofs,
        Progress(sys.stderr) as progress,
    ):

        def check(contents: Mapping[str, bytes], memory: Memory | None) -> Report:
            if left_alone:
                return Report(files=0, findings=[], failures=[])
            if wanted is None:
                return check_text(decoded(contents.get(filename, raw)), filename, settings, fixes=memory)
            return check_paths(
                found.paths,
                settings,
                cache=cache,
                jobs=settings.jobs or cores(),
                progress=progress,
                contents={**given_text, **contents},
                fixes=memory,
                found=files,
                wanted=wanted,
                stages=stages(),
            )

        telling = Telling(options, settings, narrowed, proofs, within(found, wanted))
        if not wants_fixes(options):
            report = narrowed.report(check({}, memory_of(options)), given_text)
            return telling.tell(proofs.attach_proofs(report, read), texts={filename: text})

        def choose(found: Sequence[Finding], made: Mapping[str, bytes]) -> list[Finding]:
            return narrowed(found, {**given_text, **made})

        fixed = fixed_by(check, read, options, proofs.accept, choose if narrowed.narrows else None)
    if options["diff"]:
        show_diff(fixed)
    else:
        write_text(fixed, filename, raw)
    left = fixed.files[filename].after if filename in fixed.files else raw
    report = narrowed.report(fixed.report, {filename: left})
    return telling.tell(report, fixed.findings, texts={filename: decoded(left)}, stream=sys.stderr)
