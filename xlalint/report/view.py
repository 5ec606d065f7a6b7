"""How a reader looks at a report: from which folder, with or without colours, and how to get at the text of a file."""

from __future__ import annotations

import os
import unicodedata
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, NamedTuple, TextIO

from xlalint.baseline.identity import Texts
from xlalint.diagnostics.finding import Location
from xlalint.report.printable import printable_path

if TYPE_CHECKING:
    from xlalint.diagnostics.finding import ConfidenceName, Finding, TraceStep
    from xlalint.report.order import Order
    from xlalint.rules import Rule

_CODES = {"bold": "1", "dim": "2", "red": "31", "green": "32", "yellow": "33", "blue": "34", "cyan": "36"}
SEVERITY_STYLE = {"error": ("bold", "red"), "warning": ("bold", "yellow"), "info": ("bold", "cyan")}


class Within(NamedTuple):
    """The program that the files of a report were judged within: the folders that were found around them (none where the user named it),
    the number of files that were named, and of all that were read."""

    folders: tuple[str, ...]
    named: int
    files: int


class Checked(NamedTuple):
    """Holds what a report says of a run beside its findings: the number of files, internal errors, a line each, the rules that were
    looked for, by code, the number of further findings that a baseline knows, where code trains that nothing judged: path and row; and
    the program around the files, where they are not all of it; the targets that were chosen, and by what (`Report`).
    """

    files: int = 0
    failures: tuple[str, ...] = ()
    rules: Callable[[], Mapping[str, Rule]] = dict
    known: int = 0
    unjudged: tuple[tuple[str, int], ...] = ()
    within: Within | None = None
    targets: tuple[tuple[str, str], ...] = ()


class View(NamedTuple):
    """`folder` is what paths are shown relative to; `text_of` gives a file's text, None where it cannot be read; `cells_of` the cells of
    a notebook, by number; `json_place` where in a notebook's file a place in one of its cells is; `unsafe_fixes` says whether these count
    as fixes; `checkout` is the folder of the repository, which forges have paths relative to; `analysis` is what a forge that asks for it
    shall call this one. `order` is that of the findings; `usual_confidence` is what most of them have, which goes without saying.
    `show_copies` says that findings in copies of one function are shown one by one. Prose is broken at words to fit `columns`, if that is
    not 0. `links` says that the terminal opens addresses (OSC 8).
    """

    folder: str
    colour: bool
    text_of: Callable[[str], str | None]
    ascii_only: bool = False
    unsafe_fixes: bool = False
    cells_of: Callable[[str], Mapping[int, str]] = lambda _: {}
    json_place: Callable[[str, int, Location], Location] = lambda _, __, place: place
    checkout: str = ""
    analysis: str = ""
    checked: Checked = Checked()
    order: Order = "file"
    usual_confidence: ConfidenceName = "certain"
    show_copies: bool = False
    columns: int = 0
    links: bool = False

    @property
    def base(self) -> str:
        """The folder that paths are relative to for those who have the repository."""
        return self.checkout or self.folder

    @staticmethod
    def public(url: str) -> bool:
        """Return whether other machines can open an address."""
        return url.startswith(("https://", "http://"))

    @property
    def texts(self) -> Texts:
        """How to get at the texts that rows count in."""
        return Texts(self.text_of, self.cells_of)

    def in_file(self, filename: str, cell: int | None, place: Location) -> Location:
        """A place as programs have it that know files only by their lines: of a notebook, in its JSON."""
        return place if cell is None else self.json_place(filename, cell, place)

    def step_row(self, step: TraceStep) -> int:
        """The row of a link of a trace in its file."""
        return self.in_file(step.filename, step.cell, Location(step.row, 1)).row

    def paint(self, text: str, *styles: str) -> str:
        """The text in some styles, if there are colours."""
        if not self.colour or not text:
            return text
        return f"\x1b[{';'.join(_CODES[style] for style in styles)}m{text}\x1b[0m"

    def link(self, text: str, address: str) -> str:
        """The text, which opens an address where the terminal can do that."""
        if not self.links or not address or not address.isascii() or not address.isprintable():
            return text
        return f"\x1b]8;;{address}\x1b\\{text}\x1b]8;;\x1b\\"

    def relative(self, filename: str) -> str:
        """The path from the folder, where that is shorter than climbing up."""
        return filename.removeprefix(self.folder.rstrip(os.sep) + os.sep)

    def path(self, filename: str) -> str:
        """The path as shown."""
        return printable_path(self.relative(filename))

    def place(self, finding: Finding) -> str:
        """`path:row:column`, with the cell of a notebook."""
        return f"{self.path(finding.filename)}:{self.within(finding)}"

    def within(self, finding: Finding) -> str:
        """`row:column`, with the cell of a notebook."""
        return f"{self.row(finding)}:{finding.location.column}"

    def row(self, finding: Finding) -> str:
        """`row`, with the cell of a notebook."""
        cell = f"cell {finding.cell}:" if finding.cell is not None else ""
        return f"{cell}{finding.location.row}"

    def mark(self, finding: Finding) -> str:
        """Return the mark, in front of the message, of a finding that `--fix` would mend."""
        return f"[{self.paint('*', 'cyan')}] " if finding.fixable(unsafe=self.unsafe_fixes) else ""


def wants_colour(stream: TextIO, environ: Mapping[str, str]) -> bool:
    """https://force-color.org over https://no-color.org over what the stream is."""
    forced = environ.get("FORCE_COLOR")
    if forced:
        return forced != "0"
    return not environ.get("NO_COLOR") and environ.get("TERM") != "dumb" and stream.isatty()


def width(text: str) -> int:
    """How many terminal columns the text takes."""
    return len(text) if text.isascii() else sum(map(_columns, text))


def _columns(character: str) -> int:
    if unicodedata.category(character) in ("Mn", "Me", "Cf"):
        return 0
    return 2 if unicodedata.east_asian_width(character) in "WF" else 1
