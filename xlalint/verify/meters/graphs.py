"""Finds the lines that made a graph which torch_xla had not compiled before, by comparing the graphs that XLA writes.

XLA writes what it compiles into the folder of `--xla_dump_to`, if `XLA_FLAGS` had that when the device was first used; the text
tells the instructions' values, shapes and the innermost Python line. Steps that compile nothing pay nothing for it.
"""

from __future__ import annotations

import difflib
import re
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple

from xlalint.verify.environment import own_graphs
from xlalint.verify.model import Place
from xlalint.verify.places import is_users

_WRITTEN = re.compile(r"module_(?P<number>\d+)\..*before_optimizations\.txt")
_ENTRY = re.compile(r"^ENTRY [^\n]*\{\n(?P<body>.*?)^\}", re.DOTALL | re.MULTILINE)
_INSTRUCTION = re.compile(
    r"^ +(?P<root>ROOT )?%(?P<name>[\w.-]+) = (?P<shape>\(.*?\)|\S+) (?P<code>[\w-]+)\((?P<operands>.*?)\)"
    r"(?P<attributes>.*?)(?:, metadata=\{(?P<metadata>.*)\})?$",
    re.MULTILINE,
)
_NUMBER = re.compile(r"(?<==%[A-Za-z])(?P<name>[\w-]*)\.\d+")  # of another computation: `to_apply=%AddComputation.6`
_LAYOUT = re.compile(r"\{[\d,]*\}")
_MOST = 64  # graphs that are kept to compare with: the latest
_GIVEN = (
    "constant",
    "xla::device_data",
)  # what operations are given: it changes with them, and may stand anywhere before them
_NEAR = 8  # instructions from the first one that changed, among which the line is looked for

LineOf = Callable[[str], "Place | None"]
"""The user's line that ran an operation of this name, if it was one line; where an instruction's own line is the framework's."""


class Instruction(NamedTuple):
    """One instruction: `what` it computes, without the names of values, and the place of its Python line ("" for a file: none)."""

    what: str
    operation: str  # as PyTorch calls it
    shape: str
    place: Place | None


class GraphLog:
    """The folder that XLA writes graphs into; what was read is removed from it, with what else it wrote about them."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._known: dict[tuple[str, ...], list[Instruction]] = {}

    @classmethod
    def from_environment(cls) -> GraphLog | None:
        """The log, if there is a folder that was set up for xlalint."""
        folder = own_graphs()
        return cls(folder) if folder else None

    def skip(self) -> None:
        """Treat the graphs that were written so far as known."""
        for _ in self._new():
            pass

    def explain_change(self, line_of: LineOf) -> tuple[str, Place | None]:
        """Tell how the newest graph differs from the one most like it, and on which line; "" for the first one, or if that is not known."""
        told: tuple[str, Place | None] = ("", None)
        for known, graph in self._new():
            told = difference(most_like(graph, known), graph, line_of)
        return told

    def _new(self) -> Iterator[tuple[list[list[Instruction]], list[Instruction]]]:
        """Each graph that was written since, if it is new, with those that were known before it."""
        for text in self._texts():
            graph = instructions(text)
            key = tuple(one.what for one in graph)
            if key not in self._known:
                yield list(self._known.values()), graph
                self._known[key] = graph
                if len(self._known) > _MOST:
                    del self._known[next(iter(self._known))]

    def _texts(self) -> list[str]:
        """The graphs that were written since, in order, as text."""
        with suppress(OSError):
            files = list(self._folder.iterdir())
            written = sorted((int(match["number"]), file) for file in files if (match := _WRITTEN.match(file.name)))
            texts = [file.read_text(encoding="utf-8", errors="replace") for _, file in written]
            for file in files:
                file.unlink()
            return texts
        return []


def instructions(text: str) -> list[Instruction]:
    """The instructions of a graph's entry computation, in order."""
    entry = _ENTRY.search(text)
    found = _INSTRUCTION.finditer(entry["body"]) if entry else ()
    return [_instruction(match) for match in found if not (match["code"] == "tuple" and match["root"])]


def _instruction(match: re.Match[str]) -> Instruction:
    metadata = match["metadata"] or ""
    file, line = re.search(r'source_file="([^"]*)"', metadata), re.search(r"source_line=(\d+)", metadata)
    place = Place(file[1], int(line[1])) if file and line and is_users(file[1]) else None
    code, shape = match["code"], _LAYOUT.sub("", match["shape"])
    literal = match["operands"] if code == "constant" else ""
    operation = re.search(r'op_type="([^"]*)"', metadata)
    named = operation[1].replace("__", "::", 1) if operation and code != "constant" else code
    attributes = _NUMBER.sub(r"\g<name>", match["attributes"])
    return Instruction(f"{code} {shape} {literal}{attributes}", named, shape, place)


def most_like(graph: list[Instruction], known: list[list[Instruction]]) -> list[Instruction]:
    """Of the known graphs, the one that shares most of its instructions, the newest of several; empty if none has half its operations."""
    wanted, operations = {one.what for one in graph}, {one.operation for one in graph}

    def likeness(other: list[Instruction]) -> int:
        return 2 * len(wanted & {one.what for one in other}) - abs(len(other) - len(graph))

    alike = [other for other in known if 2 * len(operations & {one.operation for one in other}) >= len(operations)]
    return max(reversed(alike), key=likeness, default=[])


def difference(before: list[Instruction], after: list[Instruction], line_of: LineOf) -> tuple[str, Place | None]:
    """The first operation that differs, in words, and its line, or that of what it is for; "" if nothing is alike."""
    matcher = difflib.SequenceMatcher(None, [one.what for one in before], [one.what for one in after], autojunk=False)
    changes = [change for change in matcher.get_opcodes() if before and change[0] != "equal"]
    new = [
        (before[low + n] if low + n < high else None, start + n)
        for _, low, high, start, stop in changes
        for n in range(stop - start)
    ]
    computed = [(old, n) for old, n in new if after[n].operation not in _GIVEN]
    gone = [one for _, low, high, _, _ in changes for one in before[low:high] if one.operation not in _GIVEN]
    if gone and not computed:
        return f"{gone[0].operation} {gone[0].shape} is not computed", gone[0].place
    old, first = next(iter(computed or new), (None, -1))
    return ("", None) if first < 0 else (_words(old, after[first]), _line(after, first, line_of))


def _line(graph: list[Instruction], first: int, line_of: LineOf) -> Place | None:
    """The line of an instruction; where that is the framework's, the one line of an operation that is near and has none in the graph."""
    placed = {(one.operation, one.place.line) for one in graph if one.place}
    for one in graph[first : first + _NEAR]:
        place = one.place if one.operation not in _GIVEN or one is graph[first] else None
        if place is None and (ran := line_of(one.operation)) and (one.operation, ran.line) not in placed:
            place = ran
        if place is not None:
            return place
    return None


def _words(old: Instruction | None, new: Instruction) -> str:
    if old is None:
        return f"{new.operation} {new.shape} is new"
    if old.operation == new.operation:
        return (
            f"{new.operation}: {new.shape} was {old.shape}"
            if old.shape != new.shape
            else f"{new.operation}: {_only(old, new)}"
        )
    return f"{new.operation} {new.shape} where {old.operation} {old.shape} was"


def _only(old: Instruction, new: Instruction) -> str:
    """Name the difference between two instructions of one shape: a constant, or an attribute."""
    return f"{new.what.partition(new.shape)[2].strip(' ,')} was {old.what.partition(old.shape)[2].strip(' ,')}"
