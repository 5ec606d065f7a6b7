"""Narrow a run's findings to those that no baseline knows, and those on rows that changed."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence, Set
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click

from xlalint.cli.programs import no_project
from xlalint.cli.saying import Verbosity, say, verbosity

if TYPE_CHECKING:
    from collections import Counter

    from xlalint.baseline.changed import Changes
    from xlalint.baseline.identity import Identity, Texts
    from xlalint.baseline.recorded import Baseline
    from xlalint.config import Settings
    from xlalint.diagnostics.finding import Finding
    from xlalint.project import Report

_Command = TypeVar("_Command", bound=Callable[..., Any])

_OPTIONS = (
    click.option(
        "--project",
        multiple=True,
        type=click.Path(path_type=Path),
        metavar="PATH",
        help="A file or folder of the program that the paths belong to: it is analysed too, and only the paths are reported "
        "(default for files: the repository, distribution or package around them).",
    ),
    no_project,
    click.option(
        "--baseline",
        type=click.Path(path_type=Path, dir_okay=False),
        metavar="FILE",
        help="Report only findings that are not in this file (`xlalint baseline update` writes it).",
    ),
    click.option("--no-baseline", is_flag=True, help="Also report what is in the configured baseline."),
    click.option(
        "--diff-base",
        metavar="REV",
        help="Report only findings on lines changed since HEAD diverged from this git revision; untracked files count as changed.",
    ),
)


def narrowing_options(command: _Command) -> _Command:
    """Add the options that narrow what is reported."""
    for option in reversed(_OPTIONS):
        command = option(command)
    return command


class Narrowing:
    """Takes of some findings those that are reported; `contents` are files as they are taken to be, whatever is on the disk."""

    def __init__(
        self,
        baseline: Baseline | None,
        changes: Changes | None,
        read: Callable[[str], bytes],
        within: Set[str] | None = None,
    ) -> None:
        self._baseline = baseline
        self._within = within
        self._changes = changes
        self._read = read
        self.known = 0
        self.gone: Counter[Identity] | None = None

    @property
    def narrows(self) -> bool:
        """Return whether anything may be left out."""
        return self._baseline is not None or self._changes is not None or self._within is not None

    def __call__(self, findings: Sequence[Finding], contents: Mapping[str, bytes]) -> list[Finding]:
        found = [finding for finding in findings if self._within is None or finding.filename in self._within]
        if self._baseline is not None:
            found = self._new(self._baseline, found, contents)
        if self._changes is not None:
            found = [finding for finding in found if self._changes.touch(finding, contents)]
        return found

    def report(self, report: Report, contents: Mapping[str, bytes]) -> Report:
        """A report of what is left."""
        if not self.narrows:
            return report
        import msgspec

        unjudged = [place for place in report.unjudged if self._within is None or place[0] in self._within]
        return msgspec.structs.replace(report, findings=self(report.findings, contents), unjudged=unjudged)

    def warn(self, paths: Sequence[Path], settings: Settings) -> None:
        """Say what the baseline holds that was looked for and is no longer found."""
        if self._baseline is None or not self.gone or verbosity() < Verbosity.USUAL:
            return
        checked = checked_by(paths, settings)
        gone = sum(
            number
            for identity, number in self.gone.items()
            if settings.of(path := self._baseline.path(identity)).enabled(identity.code)
            and (checked(path) or not Path(path).exists())
        )
        if gone:
            what = "1 finding is" if gone == 1 else f"{gone:,} findings are"
            command = f"xlalint baseline update --baseline {_show(self._baseline.file)}"
            say(f"{what} in the baseline and no longer found: `{command}` removes what was fixed")

    def _new(self, baseline: Baseline, findings: list[Finding], contents: Mapping[str, bytes]) -> list[Finding]:
        from xlalint.report import Cells

        def read(path: str) -> bytes:
            return contents[path] if path in contents else self._read(path)

        compared = baseline.compare(Cells(read).locate(findings), texts_of(read))
        self.gone = compared.gone
        self.known = compared.new.count(False)
        return [finding for finding, new in zip(findings, compared.new, strict=True) if new]


def narrowing(
    options: Mapping[str, Any],
    settings: Settings,
    paths: Sequence[Path],
    read: Callable[[str], bytes],
    within: Set[str] | None = None,
) -> Narrowing:
    """Return the narrowing that options and settings ask for, to the files `within` a set, if one is given. One that cannot be used ends
    the command first."""
    if options["baseline"] and options["no_baseline"]:
        raise click.UsageError("`--baseline` and `--no-baseline` exclude each other")
    baseline = changes = None
    if settings.baseline and not options["no_baseline"]:
        from xlalint.baseline.recorded import read as read_baseline

        baseline = read_baseline(Path(settings.baseline))
    if options["diff_base"]:
        from xlalint.baseline.changed import Changes

        changes = Changes(options["diff_base"], _folder(paths))
    return Narrowing(baseline, changes, read, within)


def given_baseline(options: Mapping[str, Any]) -> dict[str, object]:
    """The baseline that was named, as settings have it."""
    return {"baseline": str(options["baseline"])} if options["baseline"] else {}


def checked_by(paths: Sequence[Path], settings: Settings) -> Callable[[str], bool]:
    """Return whether a file, by absolute path, is checked under some paths."""
    from xlalint.source.discovery import discover

    checked = {os.path.realpath(path) for path in discover(paths, settings)}
    return lambda path: os.path.realpath(path) in checked


def texts_of(read: Callable[[str], bytes]) -> Texts:
    """The texts of files as far as they can be read."""
    from xlalint.baseline.identity import Texts
    from xlalint.report import cells_of
    from xlalint.source.model import SourceError
    from xlalint.source.reading import decode

    def text_of(path: str) -> str | None:
        try:
            return decode(read(path))
        except SourceError:
            return None

    def cells(path: str) -> Mapping[int, str]:
        try:
            return cells_of(path, read(path))
        except SourceError:
            return {}

    return Texts(text_of, cells)


def _folder(paths: Sequence[Path]) -> str:
    """A folder that all paths have in common."""
    common = os.path.commonpath([os.path.abspath(path) for path in paths])  # noqa: PTH100
    while not os.path.isdir(common):  # noqa: PTH112
        common = os.path.dirname(common)  # noqa: PTH120
    return common


def _show(file: Path) -> str:
    return os.path.relpath(file)
