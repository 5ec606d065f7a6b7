"""The command line. A command's module is imported when it is asked for, so that `xlalint --version` is quick."""

from __future__ import annotations

import errno
import os
import sys
from collections.abc import Sequence
from contextlib import suppress
from difflib import get_close_matches
from importlib import import_module
from typing import Any, NoReturn, TextIO

import click

from xlalint import __version__, interrupts

CLEAN, FINDINGS, FAILED = 0, 1, 2
_COMMANDS = (
    "check",
    "verify",
    "run",
    "explain",
    "server",
    "rule",
    "rules",
    "config",
    "init",
    "doctor",
    "baseline",
    "mcp",
    "clean",
)
_DEBUG = "XLALINT_DEBUG"
_ELSEWHERE = {"help": "--help", "version": "--version", "linter": "rules"}  # what Ruff has as commands
_ALIKE = 0.7  # of two words, one of which is the other with a slip
_FULL = (errno.ENOSPC, errno.EIO, errno.EFBIG)


class _Interrupted(BaseException):
    """Ctrl-C or the like, past click, which would say something of its own."""


class _Commands(click.Group):
    """The commands, each `command` of the module of its name."""

    def invoke(self, ctx: click.Context) -> Any:
        try:
            return super().invoke(ctx)
        except KeyboardInterrupt as error:
            raise _Interrupted from error

    def list_commands(self, ctx: click.Context) -> list[str]:  # noqa: ARG002
        return list(_COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:  # noqa: ARG002
        if cmd_name not in _COMMANDS:
            return None
        command = import_module(f"xlalint.cli.{cmd_name}").command
        assert isinstance(command, click.Command)
        return command

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        if args and args[0] not in _COMMANDS and not args[0].startswith("-"):
            ctx.fail(f"unknown command `{args[0]}`; {_hint(args[0])}")
        return super().resolve_command(ctx, args)


def _hint(word: str) -> str:
    """Say what a word that is no command may have been meant for: what is checked, an option, or a command."""
    if os.path.exists(word):  # noqa: PTH110 (pathlib takes some milliseconds to import)
        return f"did you mean `xlalint check {word}`?"
    near = get_close_matches(word, _COMMANDS, n=1, cutoff=_ALIKE)
    meant = _ELSEWHERE.get(word) or (near[0] if near else "")
    return f"did you mean `{meant}`?" if meant else f"one of {', '.join(_COMMANDS)}"


@click.group(cls=_Commands, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(__version__, "-V", "--version", prog_name="xlalint", message="%(prog)s %(version)s")
def commands() -> None:
    """Find Python code that XLA cannot compile well: PyTorch, TensorFlow, Keras and JAX on TPUs and their like."""


def main(argv: Sequence[str] | None = None) -> int:
    """Run a command; its exit code is 0 when nothing was found, 1 when something was, 2 when xlalint itself failed, and what shells make of
    a signal (130: Ctrl-C) when one ended it."""
    before = interrupts.heed()
    try:
        return _main(argv)
    finally:
        interrupts.unheed(before)


def _main(argv: Sequence[str] | None) -> int:
    _replace_closed_streams()
    for stream in (sys.stdout, sys.stderr):
        _tolerate(stream)
    arguments = list(sys.argv[1:] if argv is None else argv)
    try:
        status = commands.main(arguments, prog_name="xlalint", standalone_mode=False, obj=tuple(arguments))
        sys.stdout.flush()
    except click.ClickException as error:
        from xlalint.cli.saying import show_error

        show_error(error)
        return FAILED
    except (click.Abort, KeyboardInterrupt, _Interrupted):
        with interrupts.tell():
            _report_failure(interrupts.reason())
        return interrupts.exit_code()
    except BrokenPipeError:
        return _unread()
    except Exception as error:  # noqa: BLE001  (the last resort: no traceback for users)
        return _report_failure(_explain(error))
    return status if isinstance(status, int) else CLEAN


def run() -> NoReturn:
    """`main` as a process: it ends at once, as mypy does, for to free a large program's trees one by one takes most of a second."""
    interrupts.heed()
    try:
        status = main()
        for stream in (sys.stdout, sys.stderr):
            with suppress(OSError, ValueError):  # whoever read it has gone, or closed it
                stream.flush()
    except KeyboardInterrupt:
        interrupts.leave()
    os._exit(status)


def _replace_closed_streams() -> None:
    """Have nothing in the place of standard streams that whoever started this has closed: the next file to be opened would get their
    number, and what is printed.
    """
    for number, name in enumerate(("stdin", "stdout", "stderr")):
        if getattr(sys, name) is None:
            with suppress(OSError):
                while os.open(os.devnull, os.O_RDWR) < number:
                    pass
            setattr(sys, name, open(os.devnull, "w" if number else "r", encoding="utf-8"))  # noqa: PTH123, SIM115


def _tolerate(stream: TextIO) -> None:
    """Print what the stream's encoding lacks as escapes rather than fail."""
    reconfigure = getattr(stream, "reconfigure", None)
    if reconfigure is not None:
        reconfigure(errors="backslashreplace")


def _report_failure(message: str) -> int:
    from xlalint.cli.saying import say

    say(message)
    return FAILED


def _unread() -> int:
    """Whoever read standard output has gone: nothing more can be said, also not at exit."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    return FAILED


def _explain(error: Exception) -> str:
    from xlalint.api_tables.loading import TableError
    from xlalint.baseline.changed import RevisionError
    from xlalint.baseline.recorded import BaselineError
    from xlalint.config import ConfigError
    from xlalint.explain.place import PlaceError
    from xlalint.project.workers import WorkerError
    from xlalint.rules import RuleError, UnknownRuleError
    from xlalint.source.discovery import DiscoveryError

    if os.environ.get(_DEBUG):
        raise error
    told = (
        BaselineError,
        ConfigError,
        DiscoveryError,
        PlaceError,
        RevisionError,
        RuleError,
        TableError,
        UnknownRuleError,
        WorkerError,
    )
    if isinstance(error, told):
        return str(error)
    if isinstance(error, OSError) and error.errno in _FULL and error.filename is None:
        return f"the output cannot be written: {error.strerror}"
    return f"internal error: {type(error).__name__}: {error} (set {_DEBUG}=1 to see where)"
