"""A run for people: a line for each line of source that cost something, under what was predicted of it."""

from __future__ import annotations

import shutil
from collections.abc import Sequence
from io import StringIO

from rich.console import Console
from rich.table import Table
from rich.text import Text

from xlalint.diagnostics.finding import Finding
from xlalint.report.printable import printable
from xlalint.report.run import codes, duration, how_it_went, reasons, what_it_cost
from xlalint.report.view import View
from xlalint.verify.joined import Joined, Line
from xlalint.verify.seen import plural, shorten_path, within

_STYLES = {
    "compilation": "red",
    "host-sync": "yellow",
    "fallback": "magenta",
    "graph-break": "cyan",
    "error": "bold red",
}
_CAUSES = 3  # that are shown of a line
_MOST = 20  # lines of a section


def render(joined: Joined, script: str, view: View) -> str:
    """The whole report, ending in a newline."""
    written = StringIO()
    width = max(shutil.get_terminal_size((120, 24)).columns, 60)
    console = Console(
        file=written,
        width=width,
        force_terminal=view.colour,
        color_system="standard" if view.colour else None,
        highlight=False,
    )
    console.print(Text(printable(how_it_went(joined, script)), style="bold"), Text(what_it_cost(joined)), sep="\n")
    _write_observed(console, "Predicted and observed", joined.predicted)
    _write_observed(console, "Observed only: the analysis missed these", joined.observed_only)
    _write_predicted(console, joined.predicted_only)
    return "".join(f"{line.rstrip()}\n" for line in written.getvalue().splitlines())


def _write_observed(console: Console, title: str, lines: Sequence[Line]) -> None:
    if not lines:
        return
    table = _section(console, title, 4)
    for line in lines[:_MOST]:
        what = Text(printable("; ".join(reasons(line, _CAUSES))))
        if line.findings:
            what.append(f"\n{codes(line.findings)}", style="dim")
        count = Text(plural(line.count, line.kind), style=_STYLES.get(line.kind, ""))
        seconds = duration(line.seconds) if line.seconds >= 0.0005 else ""
        table.add_row(_place(line), count, Text(seconds), what)
    console.print(table)
    _rest(console, len(lines))


def _write_predicted(console: Console, findings: Sequence[Finding]) -> None:
    if not findings:
        return
    table = _section(console, "Predicted only: nothing of it was seen in this run", 3)
    for finding in findings[:_MOST]:
        place = Text(f"{printable(shorten_path(finding.filename))}:{finding.location.row}", style="bold")
        table.add_row(place, Text(f"{finding.code} {finding.name}"), Text(printable(finding.message)))
    console.print(table)
    _rest(console, len(findings))


def _section(console: Console, title: str, columns: int) -> Table:
    console.print(Text(f"\n{title}", style="bold"))
    table = Table(box=None, show_header=False, padding=(0, 2, 0, 0), pad_edge=False)
    table.add_column(overflow="fold")
    for _ in range(columns - 2):
        table.add_column(no_wrap=True)
    table.add_column(overflow="fold", ratio=1)
    return table


def _rest(console: Console, count: int) -> None:
    if count > _MOST:
        console.print(Text(f"and {count - _MOST:,} more"))


def _place(line: Line) -> Text:
    if not line.place.file:
        return Text("no line reported", style="dim")
    text = Text(f"{printable(shorten_path(line.place.file))}:{line.place.line}", style="bold")
    return text.append(printable(within(line.place)), style="dim")
