"""Notebooks: the code cells of an `.ipynb` file as one module, and a changed module as the file with nothing else changed.

The module is the cells in order, each masked to plain Python of the same shape (`xlalint.source.magics`) and followed by an empty line, so
that what is put behind a cell's last statement differs from what is put in front of the next cell's first. Rows and offsets of the module
are what all stages speak of; only what people and programs are shown counts within cells.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterable, Sequence
from functools import lru_cache
from itertools import takewhile
from typing import Any, NamedTuple

from xlalint.source.magics import mask_magics, switches_language
from xlalint.source.model import Cell, Problem, SourceError, place_in
from xlalint.source.notebook_json import (
    Document,
    JsonCell,
    Literals,
    escape_alike,
    literals,
    read_document,
    write_source,
)
from xlalint.source.syntax import parse

_INDENTED = "if True:\n"  # what stands above a cell all of whose code is indented
_LINE_END = re.compile(r"\r\n|\n|\r")
_PYTHON = re.compile(r"[ic]?python\d*|(?:\w+_)?pyspark\d*", re.IGNORECASE)
_OTHERS = re.compile(
    r"(?:ir|r|irkernel|julia|scala|almond|spark|javascript|typescript|deno|bash|sql|csharp|fsharp|powershell|pwsh|\.net|cpp|c\+\+|xcpp|rust|"
    r"evcxr|go|gonb|gophernotes|java|ijava|kotlin|ruby|iruby|haskell|ihaskell|octave|matlab|stata|sas|perl|lua|ocaml|clojure|maxima|"
    r"coconut|sagemath|xonsh|wolfram)[^a-z]*\d*(?:[-_. ].*)?",
    re.IGNORECASE,
)

Edit = tuple[int, int, str]
"""Replace the characters from one offset to another by a text."""


class PythonCell(NamedTuple):
    """A code cell in the module: from `block` on its lines, from `start` on its characters; `hidden` are those that are masked."""

    json: JsonCell
    block: int
    start: int
    end: int
    hidden: tuple[tuple[int, int], ...]
    fixed_lines: bool


class Notebook(NamedTuple):
    """A notebook that was read. `text` is the module; `problems` are of cells that are left out of it."""

    document: Document
    text: str
    cells: tuple[Cell, ...]
    problems: tuple[Problem, ...]
    python: tuple[PythonCell, ...]

    def place(self, row: int) -> tuple[int, int]:
        """The cell and the row in it that a row of the module is."""
        return place_in(self.cells, row)

    def row(self, number: int, row: int) -> int | None:
        """The row of the module that a row of a cell is; None where the cell has no such row of Python."""
        cell = next((cell for cell in self.cells if cell.number == number), None)
        return cell.first + row - 1 if cell is not None and 1 <= row <= cell.rows else None

    def sources(self) -> dict[int, str]:
        """The code cells as they are, by number."""
        return {cell.number: cell.source for cell in self.document.cells if cell.kind == "code"}


@lru_cache(maxsize=4)
def read_notebook(text: str) -> Notebook:
    """Read the JSON of a notebook. Raises `SourceError`, mostly XLA001."""
    document = read_document(text)
    cells: list[JsonCell] = []
    if _is_python(document.metadata):
        cells = [cell for cell in document.cells if cell.kind == "code" and _cell_is_python(cell)]
    blocks = [block for block in map(_block, cells) if block is not None]
    problems: tuple[Problem, ...] = ()
    if not _stands(blocks):
        broken = {n: problem for n, block in enumerate(blocks) if (problem := _problem(block)) is not None}
        blocks = [_blank(block) if n in broken else block for n, block in enumerate(blocks)]
        firsts = _firsts(blocks)
        problems = tuple(
            problem._replace(row=firsts[n] + problem.row - 1)
            for n, problem in broken.items()
            if not switches_language(blocks[n].cell.source)
        )
    return _laid_out(document, blocks, problems)


# ----------------------------------------------------------------------------------------------------------- language


def _is_python(metadata: dict[str, Any]) -> bool:
    """Return whether a notebook's kernel runs Python. One that does not say is taken to."""
    told = _member(metadata, "language_info"), _member(metadata, "kernelspec")
    languages = [told[0].get("name"), told[1].get("language")]
    if named := [name for name in languages if isinstance(name, str) and name]:
        return all(map(_PYTHON.fullmatch, named))
    kernel = told[1].get("name")
    return not isinstance(kernel, str) or _OTHERS.fullmatch(kernel) is None


def _cell_is_python(cell: JsonCell) -> bool:
    """Return whether a code cell is in the notebook's language, where several may be in one."""
    told = [cell.language, _member(cell.metadata, "vscode").get("languageId")]
    told += [_member(cell.metadata, key).get("language") for key in ("dotnet_interactive", "polyglot_notebook")]
    return all(_PYTHON.fullmatch(name) for name in told if isinstance(name, str) and name)


def _member(metadata: dict[str, Any], key: str) -> dict[str, Any]:
    value = metadata.get(key)
    return value if isinstance(value, dict) else {}


# ------------------------------------------------------------------------------------------------------------- module


class _Block(NamedTuple):
    """A cell as part of the module."""

    cell: JsonCell
    header: str
    text: str
    hidden: tuple[tuple[int, int], ...]
    fixed_lines: bool

    @property
    def whole(self) -> str:
        ended = not self.text or self.text.endswith(("\n", "\r"))
        return self.header + self.text + ("\n" if ended else "\n\n")


def _block(cell: JsonCell) -> _Block | None:
    found = mask_magics(cell.source)
    if found is None:
        return None
    return _Block(cell, _INDENTED if found.indented else "", found.text, found.hidden, found.prompted)


def _blank(block: _Block) -> _Block:
    """The block of a cell that is no Python: nothing, at the same places."""
    text = re.sub(r"[^\r\n]", " ", block.text)
    return block._replace(header="", text=text, hidden=((0, len(text)),))


def _stands(blocks: Sequence[_Block]) -> bool:
    """Return whether each cell is Python by itself: no statement begins in one and ends in another."""
    try:
        tree = parse("".join(block.whole for block in blocks))
    except SourceError:
        return False
    starts = [
        first - len(_LINE_END.findall(block.header)) for first, block in zip(_firsts(blocks), blocks, strict=True)
    ]
    for statement in tree.body:
        decorated = getattr(statement, "decorator_list", ())
        first = min([statement.lineno, *(node.lineno for node in decorated)])
        if bisect_right(starts, first) != bisect_right(starts, statement.end_lineno or first):
            return False
    return True


def _problem(block: _Block) -> Problem | None:
    """Return what keeps a cell from being Python, at its own row."""
    try:
        parse(block.whole)
    except SourceError as error:
        row = max(error.row - len(_LINE_END.findall(block.header)), 1)
        lines = _LINE_END.split(block.text)
        if row <= len(lines):
            return Problem(error.code, error.message, row, error.column)
        return Problem(error.code, error.message, len(lines), len(lines[-1]) + 1)  # what is missing, is so at its end
    return None


def _firsts(blocks: Sequence[_Block]) -> list[int]:
    """The row of the module on which each cell's own first row is."""
    row = 1
    firsts: list[int] = []
    for block in blocks:
        firsts.append(row + len(_LINE_END.findall(block.header)))
        row += len(_LINE_END.findall(block.whole))
    return firsts


def _laid_out(document: Document, blocks: Sequence[_Block], problems: tuple[Problem, ...]) -> Notebook:
    cells: list[Cell] = []
    python: list[PythonCell] = []
    at = 0
    for first, block in zip(_firsts(blocks), blocks, strict=True):
        rows = len(_LINE_END.findall(block.text)) + 1
        cells.append(Cell(block.cell.number, first, rows))
        start = at + len(block.header)
        hidden = tuple((start + a, start + b) for a, b in block.hidden)
        end = at + len(block.whole)
        python.append(PythonCell(block.cell, at, start, end, hidden, block.fixed_lines))
        at = end
    text = "".join(block.whole for block in blocks)
    return Notebook(document, text, tuple(cells), problems, tuple(python))


# ------------------------------------------------------------------------------------------------------------ writing


def rewrite(text: str, edits: Iterable[Edit]) -> str:
    """Return the JSON of a notebook with edits of the module made in its cells, in order and none overlapping another.

    Raises `SourceError` XLA002 for edits of what the module does not show as it is.
    """
    notebook = read_notebook(text)
    wanted: dict[int, list[Edit]] = {}
    for edit in edits:
        for index, own in _within(notebook, _trim(notebook.text, edit)):
            wanted.setdefault(index, []).append(own)
    pieces: list[str] = []
    done = 0
    for index, local in sorted(wanted.items()):
        cell = notebook.python[index].json
        pieces += (text[done : cell.start], _cell_with(text, cell, local))
        done = cell.end
    return "".join([*pieces, text[done:]])


def _trim(text: str, edit: Edit) -> Edit:
    """An edit without what it leaves as it is."""
    start, end, content = edit
    same = sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], zip(text[start:end], content, strict=False)))
    start, content = start + same, content[same:]
    pairs = zip(reversed(text[start:end]), reversed(content), strict=False)
    same = sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], pairs))
    return start, end - same, content[: len(content) - same]


def _within(notebook: Notebook, edit: Edit) -> Iterable[tuple[int, Edit]]:
    """An edit of the module as edits of cells, each with the cell's index: what it puts is put into the first."""
    start, end, content = edit
    first = bisect_right([cell.block for cell in notebook.python], start) - 1
    for index in range(max(first, 0), len(notebook.python)):
        cell = notebook.python[index]
        if index > first and cell.block >= end:
            break
        a, b = (min(max(offset, cell.start), cell.end) for offset in (start, end))
        if a == b and not content:
            continue
        if cell.fixed_lines:
            raise SourceError("XLA002", f"cell {cell.json.number} was pasted with its prompts")
        if any(a < hidden[1] and hidden[0] < b for hidden in cell.hidden):
            raise SourceError("XLA002", f"it would change a magic or a shell command of cell {cell.json.number}")
        yield index, (a - cell.start, b - cell.start, content)
        content = ""


def _cell_with(text: str, cell: JsonCell, edits: Sequence[Edit]) -> str:
    """The JSON of a cell's source after edits of it, which may count a line end behind its last line."""
    old = literals(text, cell)
    newline = "\r\n" if "\r\n" in cell.source else "\n"
    strings = [list(string) for string in old.strings] or [[]]
    ended = cell.source.endswith(("\n", "\r"))
    if not ended:
        strings[-1].append("\\n")
    place = _Places(strings)
    for start, end, content in reversed(edits):
        content = re.sub(r"\r\n|\n", newline, content)
        place.replace(start, end, escape_alike(content, text))
    if not ended:
        _strip_line_end(strings)
    if _by_line(old):
        strings = list(_lines(character for string in strings for character in string))
    elif old.is_list:
        strings = [new for n, new in enumerate(strings) if new or (n < len(old.strings) and not old.strings[n])]
    return write_source(strings, old, text)


class _Places:
    """The strings of a source while they are changed from the end on."""

    def __init__(self, strings: list[list[str]]) -> None:
        self.strings = strings
        self.starts = [0]
        for string in strings[:-1]:
            self.starts.append(self.starts[-1] + len(string))

    def replace(self, start: int, end: int, new: list[str]) -> None:
        index = bisect_right(self.starts, start) - 1
        for n in range(index, len(self.strings)):
            string, base = self.strings[n], self.starts[n]
            a, b = max(start - base, 0), max(end - base, 0)
            if n > index and b == 0:
                break
            string[a:b] = new if n == index else []


def _strip_line_end(strings: list[list[str]]) -> None:
    """Take away the last line end, if the source ends in one."""
    for string in reversed(strings):
        if string:
            if _is_line_feed(string[-1]):
                string.pop()
                if string and string[-1] == "\\r":
                    string.pop()
            return


def _by_line(old: Literals) -> bool:
    """Return whether a source is a list of lines, as Jupyter writes it."""
    feeds = [[n for n, character in enumerate(string) if _is_line_feed(character)] for string in old.strings]
    whole = all(found == [len(string) - 1] for found, string in zip(feeds[:-1], old.strings, strict=False))
    return old.is_list and whole and all(old.strings) and (not feeds or feeds[-1] in ([], [len(old.strings[-1]) - 1]))


def _lines(characters: Iterable[str]) -> Iterable[list[str]]:
    line: list[str] = []
    for character in characters:
        line.append(character)
        if _is_line_feed(character):
            yield line
            line = []
    if line:
        yield line


def _is_line_feed(character: str) -> bool:
    return character == "\\n" or character.lower() == "\\u000a"
