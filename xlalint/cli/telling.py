"""Report the results of `xlalint check`, and choose its exit code."""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, TextIO

import click

from xlalint.cli.fixing import only_fixes, status, wants_fixes
from xlalint.cli.narrowing import Narrowing
from xlalint.cli.proving import Proving
from xlalint.cli.saying import say

if TYPE_CHECKING:
    from xlalint.config import Settings
    from xlalint.diagnostics.finding import Finding
    from xlalint.project import Report
    from xlalint.report.view import Within
    from xlalint.rules import Rule

_COUNTED = ("full", "concise", "json")


class Telling:
    """How reports are told: as the options have it, with what is known of fixes that were run and of findings that were left out."""

    def __init__(
        self,
        options: Mapping[str, Any],
        settings: Settings,
        narrowed: Narrowing,
        proofs: Proving,
        within: Within | None = None,
    ) -> None:
        self._within = within
        self._options = options
        self._settings = settings
        self._narrowed = narrowed
        self._proofs = proofs

    def tell(
        self,
        report: Report,
        fixed: Sequence[Finding] = (),
        *,
        texts: Mapping[str, str] = MappingProxyType({}),
        failed: bool = False,
        stream: TextIO | None = None,
    ) -> int:
        """Print or write a report, and say how it went. `stream` is standard output unless fixed text went there; `texts` are those of
        files that are not read from the disk.
        """
        from xlalint.cli.output import publish, publish_fixes
        from xlalint.report import FOR_PEOPLE, Checked

        options = self._options
        stream = stream or sys.stdout
        aside = sys.stderr if options["diff"] else stream
        if options["output_format"] in FOR_PEOPLE:
            if wants_fixes(options):
                publish_fixes(fixed, options, aside)
            self._proofs.tell(aside)
        if not only_fixes(options):
            checked = Checked(
                self._within.named if self._within is not None and report.files else report.files,
                tuple(report.failures),
                self._rules,
                self._narrowed.known,
                tuple(report.unjudged),
                self._within,
                tuple(report.targets),
            )
            publish(report.findings, checked, options, texts, stream, limit=self._settings.max_file_size)
        for failure in report.failures:
            say(f"internal error: {failure}")
        return status(bool(report.findings), bool(fixed), failed or bool(report.failures), options)

    def _rules(self) -> Mapping[str, Rule]:
        """The rules that were looked for, for formats that tell of them."""
        from xlalint.rules import rules

        return rules(tuple(map(Path, self._settings.extend_rules)))


def check_format(options: Mapping[str, Any]) -> None:
    """See to it that the report can be made before anything is checked for it."""
    form = options["output_format"]
    if options["statistics"] and form not in _COUNTED:
        raise click.UsageError(f"`--statistics` has the formats {', '.join(_COUNTED)}, not {form}")
    if options["sort"]:
        from xlalint.report import FOR_PEOPLE

        if form not in FOR_PEOPLE:
            raise click.UsageError(f"`--sort` has the formats {', '.join(FOR_PEOPLE)}, not {form}")
    if form == "html":
        from xlalint.cli.packages import require

        require("jinja2", "--output-format html", "report")
