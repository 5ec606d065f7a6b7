"""`check --fix` and its like: options → fixed files or diffs, and what is said of them."""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click

from xlalint.cli import CLEAN, FAILED, FINDINGS
from xlalint.cli.saying import Verbosity, say, verbosity, warn

if TYPE_CHECKING:
    from xlalint.config import Settings
    from xlalint.project import Report
    from xlalint.project.fixing import Accept, Check, Choose, Fixed
    from xlalint.project.rewriting import Memory

_Command = TypeVar("_Command", bound=Callable[..., Any])
_MODES = ("fix", "fix_only", "diff")
_READING = ("XLA001", "XLA002", "XLA003", "XLA004")  # no comment silences a file that cannot be read, or a comment

_OPTIONS = (
    click.option("--fix", is_flag=True, help="Apply the safe fixes, and report what is left."),
    click.option(
        "--unsafe-fixes/--no-unsafe-fixes", default=None, help="Also take the fixes that may change a result."
    ),
    click.option("--fixable", multiple=True, metavar="RULES", help="Rules whose findings may be fixed (default: all)."),
    click.option("--unfixable", multiple=True, metavar="RULES", help="Rules whose findings are not to be fixed."),
    click.option("--fix-only", is_flag=True, help="Apply fixes and report nothing else (implies --fix)."),
    click.option("--diff", is_flag=True, help="Show what the fixes would change, and write nothing."),
    click.option(
        "--show-fixes",
        is_flag=True,
        help="List what was fixed; without fixing, show each finding's fix or why it has none.",
    ),
    click.option(
        "--verify",
        is_flag=True,
        help="Run every fix before it is applied, as `xlalint verify` does, and take those proven.",
    ),
    click.option("--allow-unverified", is_flag=True, help="With --verify: also take fixes that could not be run."),
    click.option(
        "--time-budget",
        type=click.FloatRange(min=0, min_open=True),
        metavar="SECONDS",
        help="With --verify: what is not run within this time is unverified.",
    ),
    click.option(
        "--log",
        type=click.Path(dir_okay=False, path_type=Path),
        metavar="FILE",
        help="With --verify: take proofs from this JSON file, and write to it what this run proved. With --no-cache all are made anew, "
        "and compared with those of the file.",
    ),
    click.option("--exit-non-zero-on-fix", is_flag=True, help="Exit with 1 even if everything found was fixed."),
    click.option(
        "--add-ignore",
        "--add-noqa",
        "add_ignore",
        is_flag=True,
        help="Silence all findings with `# xlalint: ignore[CODE]` comments, and report nothing.",
    ),
    click.option("--reason", metavar="TEXT", help="With --add-ignore: why, at the end of each new comment."),
)


def fix_options(command: _Command) -> _Command:
    """Add the options that say which fixes are applied and shown."""
    for option in reversed(_OPTIONS):
        command = option(command)
    return command


def wants_fixes(options: Mapping[str, Any]) -> bool:
    """Return whether fixes are to be made, in files or for show."""
    return any(options[mode] for mode in _MODES)


def memory_of(options: Mapping[str, Any]) -> Memory | None:
    """Return a memory if the check has to find fixes without applying them, else None."""
    if not (options["show_fixes"] or options["verify"]):
        return None
    from xlalint.project.rewriting import Memory

    return Memory()


def only_fixes(options: Mapping[str, Any]) -> bool:
    """Return whether findings are not to be reported."""
    return bool(options["diff"] or options["fix_only"])


def fixed_by(
    check: Check, read: Callable[[str], bytes], options: Mapping[str, Any], accept: Accept | None, choose: Choose | None
) -> Fixed:
    """Apply the fixes of what is chosen (None: of all) that `accept` takes to the program that `check` checks; nothing is
    written.
    """
    from xlalint.project.fixing import fix

    fixed = fix(check, read, unsafe=options["unsafe_fixes"], accept=accept, choose=choose)
    for trouble in fixed.troubles:
        warn(trouble)
    return fixed


def show_diff(fixed: Fixed) -> None:
    """The fixes as a patch, to standard output."""
    from xlalint.cli.output import view
    from xlalint.report import cells_of
    from xlalint.report.diff import cell_diff, diff, patch
    from xlalint.source.reading import decode, is_notebook

    if verbosity() is Verbosity.SILENT:
        return
    looked = view()
    for path, (before, after) in fixed.files.items():
        if is_notebook(path):
            sys.stdout.write(cell_diff(path, cells_of(path, before), cells_of(path, after), looked))
        elif looked.colour:
            sys.stdout.write(diff(path, decode(before), decode(after), looked))
        else:
            write_bytes(patch(path, before, after, looked))


def write_files(fixed: Fixed, settings: Settings) -> dict[str, str]:
    """Write the files that were fixed; the reasons why some were not, by path."""
    from xlalint.fixes.toolkit.writing import WriteError, write

    unwritten: dict[str, str] = {}
    for path, (before, after) in fixed.files.items():
        try:
            write(path, before, after, settings.root)
        except WriteError as error:
            unwritten[path] = str(error)
    return unwritten


def add_ignore(report: Report, settings: Settings, reason: str = "") -> bool:
    """Silence the findings of a report by comments in their files, which give a reason, and say how many; whether all could be written."""
    from itertools import groupby

    from xlalint.fixes.ignore_comments import silencing
    from xlalint.fixes.toolkit.writing import WriteError, write
    from xlalint.source.model import SourceError
    from xlalint.source.reading import content_of, read_bytes, text_of

    done = failed = beyond = 0
    for path, group in groupby(report.findings, key=lambda finding: finding.filename):
        found = list(group)
        own = [finding for finding in found if finding.code not in _READING]
        beyond += len(found) - len(own)
        try:
            before = read_bytes(path)
            text = text_of(path, before)
            write(path, before, content_of(path, before, text, silencing(text, own, reason)), settings.root)
            done += len(own)
        except (SourceError, WriteError) as error:
            failed += 1
            say(f"`{path}` is left as it was: {error}")
    if verbosity() >= Verbosity.USUAL:
        click.echo(f"Silenced {done:,} finding{'' if done == 1 else 's'}.")
    if beyond and verbosity() >= Verbosity.USUAL:
        what = "files that cannot be read, and comments that silence nothing"
        click.echo(f"{beyond:,} more cannot be silenced by a comment: {what}.")
    return not failed


def write_text(fixed: Fixed, filename: str, raw: bytes) -> None:
    """Standard input with its fixes, to standard output, byte for byte."""
    write_bytes(fixed.files[filename].after if filename in fixed.files else raw)


def write_bytes(content: bytes) -> None:
    """Write to standard output, whatever its encoding is."""
    sys.stdout.flush()
    sys.stdout.buffer.write(content)
    sys.stdout.buffer.flush()


def status(found: bool, fixed: bool, failed: bool, options: Mapping[str, Any]) -> int:
    """The exit code, as Ruff has it: with --diff 1 where something would change, with --fix where something is left."""
    if failed:
        return FAILED
    if options["exit_zero"]:
        return CLEAN
    told = fixed and (options["diff"] or options["exit_non_zero_on_fix"])
    return FINDINGS if told or (found and not only_fixes(options)) else CLEAN
