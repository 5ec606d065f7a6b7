"""Print what the command line says beside its reports. Names and values in it may be anybody's: none is printed as it is."""

from __future__ import annotations

import click

# On several lines, and they name nothing that anybody gave. Older versions of click have no error for a command without arguments.
_OWN_WORDS = (click.MissingParameter, getattr(click.exceptions, "NoArgsIsHelpError", click.MissingParameter))


def say(message: str) -> None:
    """Tell something on standard error, in one line that names xlalint."""
    from xlalint.report.printable import printable

    click.echo(f"xlalint: {printable(message)}", err=True)


def warn(message: str) -> None:
    """Tell of something that the user may have meant otherwise."""
    say(f"warning: {message}")


def show(text: str, *, end: str = "\n") -> None:
    """Print lines that are what was asked for to standard output."""
    from xlalint.report.printable import printable_lines

    click.echo(f"{printable_lines(text)}{end}", nl=False)


def show_error(error: click.ClickException) -> None:
    """Tell why the command cannot go on, as click does."""
    from xlalint.report.printable import printable

    if isinstance(error, _OWN_WORDS):
        error.show()
        return
    message = printable(error.format_message())
    shown = (
        click.UsageError(message, error.ctx) if isinstance(error, click.UsageError) else click.ClickException(message)
    )
    shown.show()
