"""`xlalint run SCRIPT ARGS...`: a training script, watched; what it compiled and read, by line, beside what was predicted of it."""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from xlalint.cli import CLEAN, FAILED, FINDINGS
from xlalint.cli.programs import find_program, no_project
from xlalint.cli.saying import say
from xlalint.cli.settings import cache_of, collect_settings, cores, rule_options, running_options

if TYPE_CHECKING:
    from xlalint.diagnostics.finding import Finding
    from xlalint.verify.joined import Joined
    from xlalint.verify.recording import Recording

_WARM_UP = 2
_KILLED = 128  # what a shell adds to the number of the signal


@click.command("run", context_settings={"allow_interspersed_args": False})
@click.option("-m", "--module", is_flag=True, help="SCRIPT is the name of a module, as after `python -m`.")
@click.option(
    "--warmup",
    type=click.IntRange(min=0),
    default=_WARM_UP,
    show_default=True,
    metavar="N",
    help="Steps of each kind (training, evaluation, …) in which compiling is expected.",
)
@click.option(
    "--max-compiles", type=click.IntRange(min=0), metavar="N", help="Exit with 1 if more is compiled after the warm-up."
)
@click.option(
    "--max-syncs",
    type=click.IntRange(min=0),
    metavar="N",
    help="Exit with 1 if the host reads more values after the warm-up.",
)
@click.option(
    "--report",
    type=click.Path(path_type=Path, dir_okay=False),
    metavar="FILE.html",
    help="Write a page: the timeline, the cost by line, the source with both.",
)
@click.option(
    "--output-format",
    type=click.Choice(("text", "json")),
    default="text",
    show_default=True,
    help="Text goes to standard error; JSON is the last line of standard output.",
)
@click.option(
    "--output-file",
    type=click.Path(path_type=Path, dir_okay=False),
    metavar="FILE",
    help="Write the text or JSON there.",
)
@click.option(
    "--project",
    "paths",
    multiple=True,
    type=click.Path(path_type=Path),
    metavar="PATH",
    help="A file or folder to check with the script (default: the program that it belongs to).",
)
@no_project
@rule_options
@running_options
@click.argument("script")
@click.argument("arguments", nargs=-1, type=click.UNPROCESSED)
def command(script: str, arguments: tuple[str, ...], **options: Any) -> int:
    """Run a training script, and say what XLA compiled after the warm-up, what the host read, and what fell back to it, by line of source
    with the time lost; beside what `xlalint check` says of the same code.

    The script runs as `python SCRIPT ARGUMENTS...` would, with the Python that xlalint is installed in. The exit code is the script's if it
    fails, 1 if more happens than the limits allow, 2 if xlalint fails.
    """
    from xlalint.cli.output import view
    from xlalint.verify.joined import join
    from xlalint.verify.running import run_script

    if not options["module"] and not Path(script).exists():
        raise click.ClickException(f"`{script}` does not exist; for a module say `xlalint run -m {script}`")
    if options["report"]:
        from xlalint.cli.packages import require

        require("jinja2", "--report", "report")
    recording = run_script(script, arguments, module=options["module"])
    findings, failed = _findings(recording, options)
    joined = join(recording, findings, options["warmup"], view().text_of)
    name = f"-m {script}" if options["module"] else script
    _tell(joined, name, options)
    if recording.exit_code:
        return recording.exit_code if recording.exit_code > 0 else _KILLED - recording.exit_code
    return FAILED if failed else FINDINGS if _over(joined, options) else CLEAN


def _findings(recording: Recording, options: Mapping[str, Any]) -> tuple[Sequence[Finding], bool]:
    """Check the script's program; return the findings and whether the check failed somewhere."""
    from xlalint.cli.progress import Progress
    from xlalint.project import check_paths

    if not recording.main or not Path(recording.main).is_file():
        return (), False
    found = find_program((Path(recording.main),), options["paths"], options, collect_settings(options))
    settings = found.survey.settings
    with cache_of(options, settings, home=found.around.home) as cache, Progress(sys.stderr) as progress:
        jobs = settings.jobs or cores()
        report = check_paths(found.paths, settings, cache=cache, jobs=jobs, progress=progress, found=found.survey.files)
    for failure in report.failures:
        say(f"internal error: {failure}")
    return report.findings, bool(report.failures or found.survey.errors)


def _tell(joined: Joined, script: str, options: Mapping[str, Any]) -> None:
    from xlalint.cli.output import view
    from xlalint.report.run import data, text

    file = options["output_file"]
    if options["report"]:
        from xlalint.report.run import page

        _write(options["report"], page.render(joined, script, view().text_of))
    if options["output_format"] == "json":
        said = data.render(joined, script, ascii_only=view().ascii_only)
        stream = sys.stdout
    else:
        stream = sys.stderr
        said = text.render(joined, script, view(file, stream=stream))
    if file is not None:
        _write(file, said)
    else:
        sys.stdout.flush()
        stream.write(said)


def _over(joined: Joined, options: Mapping[str, Any]) -> bool:
    limits = ((options["max_compiles"], joined.counts.compilations), (options["max_syncs"], joined.counts.transfers))
    return any(limit is not None and count > limit for limit, count in limits)


def _write(file: Path, text: str) -> None:
    try:
        file.write_text(text, encoding="utf-8", errors="backslashreplace")
    except OSError as error:
        raise click.ClickException(f"`{file}`: the report cannot be written: {error.strerror}") from error
