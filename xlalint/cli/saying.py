"""Print what the command line says beside its reports. Names and values in it may be anybody's: none is printed as it is."""

from __future__ import annotations

import os
from collections.abc import Callable
from difflib import get_close_matches
from enum import IntEnum
from typing import TYPE_CHECKING, Any, TextIO, TypeVar

import click

if TYPE_CHECKING:
    from xlalint.project.stages import Stages

_Command = TypeVar("_Command", bound=Callable[..., Any])
# On several lines, and they name nothing that anybody gave. Older versions of click have no error for a command without arguments.
_OWN_WORDS = (click.MissingParameter, getattr(click.exceptions, "NoArgsIsHelpError", click.MissingParameter))


class Verbosity(IntEnum):
    """How much is said beside what was asked for."""

    SILENT = -2
    QUIET = -1
    USUAL = 0
    VERBOSE = 1


_KEY = "xlalint.verbosity"


def verbosity() -> Verbosity:
    """Return how much the command that runs now shall say."""
    context = click.get_current_context(silent=True)
    found: Verbosity = context.meta.get(_KEY, Verbosity.USUAL) if context is not None else Verbosity.USUAL
    return found


def colour_on(stream: TextIO) -> bool:
    """Return whether what goes to a stream has colours: as `--color` says, else as the stream and the environment do."""
    from xlalint.report.view import wants_colour

    context = click.get_current_context(silent=True)
    chosen = context.color if context is not None else None
    return wants_colour(stream, os.environ) if chosen is None else chosen


def _choose_verbosity(context: click.Context, parameter: click.Parameter, given: bool) -> None:
    if not given:
        return
    if _KEY in context.meta:
        raise click.UsageError("`--quiet`, `--silent` and `--verbose` exclude each other")
    context.meta[_KEY] = Verbosity[(parameter.name or "").upper()]


def _choose_colour(context: click.Context, parameter: click.Parameter, given: str) -> None:
    context.color = {"always": True, "never": False}.get(given)


color_option = click.option(
    "--color",
    type=click.Choice(("auto", "always", "never")),
    default="auto",
    show_default=True,
    expose_value=False,
    is_eager=True,
    callback=_choose_colour,
    help="Use colours; `auto`: on a terminal, unless NO_COLOR or FORCE_COLOR say otherwise.",
)
_VERBOSITIES = {
    "quiet": ("-q", "Report findings, and nothing else."),
    "silent": ("-s", "Print nothing but errors of xlalint itself; the exit code tells."),
    "verbose": ("-v", "Tell on standard error what is done, and how long it takes."),
}


def verbosity_options(command: _Command) -> _Command:
    """Add the options that say how much is told, and in which colours."""
    command = color_option(command)
    for name, (letter, help_text) in reversed(_VERBOSITIES.items()):
        add = click.option(
            letter,
            f"--{name}",
            is_flag=True,
            expose_value=False,
            is_eager=True,
            callback=_choose_verbosity,
            help=help_text,
        )
        command = add(command)
    return command


def say(message: str) -> None:
    """Tell something on standard error, in one line that names xlalint."""
    from xlalint.report.printable import printable

    click.echo(f"xlalint: {printable(message)}", err=True)


def note(message: str) -> None:
    """Tell of something that was decided, unless nothing but findings is wanted."""
    if verbosity() >= Verbosity.USUAL:
        say(message)


def warn(message: str) -> None:
    """Tell of something that the user may have meant otherwise, unless nothing but findings is wanted."""
    note(f"warning: {message}")


def tell_stage(name: str, seconds: float) -> None:
    """Tell how long a stage of the work took."""
    say(f"{seconds:8.3f} s  {name}")


def stages() -> Stages | None:
    """Return what times the stages of the work and tells of them, with `--verbose`."""
    if verbosity() is not Verbosity.VERBOSE:
        return None
    from xlalint.project.stages import Stages

    return Stages(tell_stage)


def show(text: str, *, end: str = "\n") -> None:
    """Print lines that are what was asked for to standard output."""
    from xlalint.report.printable import printable_lines

    click.echo(f"{printable_lines(text)}{end}", nl=False)


def show_error(error: click.ClickException) -> None:
    """Tell why the command cannot go on, as click does."""
    from xlalint.report.printable import printable

    if isinstance(error, click.NoSuchOption):  # click suggests `--silent` for `--line-length`
        named = {one.lstrip("-"): one for one in error.possibilities or ()}
        near = get_close_matches(error.option_name.lstrip("-"), named, cutoff=0.7)
        error = click.NoSuchOption(error.option_name, error.message, [named[one] for one in near], error.ctx)
    if isinstance(error, _OWN_WORDS):
        error.show()
        return
    message = printable(error.format_message())
    shown = (
        click.UsageError(message, error.ctx) if isinstance(error, click.UsageError) else click.ClickException(message)
    )
    shown.show()
