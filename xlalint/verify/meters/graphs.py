"""Which of a program's lines made a graph that torch_xla had not compiled before: its graphs, as it writes them, one compared with another.

torch_xla appends every graph that it runs to `XLA_SAVE_TENSORS_FILE`.0, if that was set when it was imported; with
`XLA_SAVE_TENSORS_FMT=hlo` the instructions tell their values, shapes and the innermost Python line.
"""

from __future__ import annotations

import difflib
import os
import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import NamedTuple

from xlalint.verify.model import Place
from xlalint.verify.places import is_users

_GRAPH = re.compile(r"## BEGIN_GRAPH\n(?P<text>.*?)\n## END_GRAPH", re.DOTALL)
_ENTRY = re.compile(r"^ENTRY [^\n]*\{\n(?P<body>.*?)^\}", re.DOTALL | re.MULTILINE)
_INSTRUCTION = re.compile(
    r"^ +(?P<root>ROOT )?%(?P<name>[\w.-]+) = (?P<shape>\(.*?\)|\S+) (?P<code>[\w-]+)\((?P<operands>.*?)\)"
    r"(?P<attributes>.*?)(?:, metadata=\{(?P<metadata>.*)\})?$",
    re.MULTILINE,
)
_LAYOUT = re.compile(r"\{[\d,]*\}")
_MOST = 64  # graphs that are kept to compare with: the latest
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
    """The file that torch_xla appends graphs to, read as it grows."""

    def __init__(self, file: Path) -> None:
        self._file = file
        self._read = 0
        self._known: dict[tuple[str, ...], list[Instruction]] = {}

    @classmethod
    def from_environment(cls) -> GraphLog | None:
        """The log, if there is one whose instructions tell what changed."""
        file = os.environ.get("XLA_SAVE_TENSORS_FILE", "")
        return cls(Path(f"{file}.0")) if file and os.environ.get("XLA_SAVE_TENSORS_FMT") == "hlo" else None

    def skip(self) -> None:
        """What was written so far are graphs that are known."""
        for _ in self._new():
            pass

    def changed(self, line_of: LineOf) -> tuple[str, Place | None]:
        """In what the newest graph differs from the one most like it, and on which line; "" for the first one, or if it cannot be told."""
        told: tuple[str, Place | None] = ("", None)
        for known, graph in self._new():
            told = difference(most_like(graph, known), graph, line_of)
        return told

    def _new(self) -> Iterator[tuple[list[list[Instruction]], list[Instruction]]]:
        """Each graph that was written since, if it is new, with those that were known before it."""
        try:
            with self._file.open(encoding="utf-8", errors="replace") as file:
                file.seek(self._read)
                text = file.read()
                self._read = file.tell()
        except OSError:
            return
        for match in _GRAPH.finditer(text):
            graph = instructions(match["text"])
            key = tuple(one.what for one in graph)
            if key not in self._known:
                yield list(self._known.values()), graph
                self._known[key] = graph
                if len(self._known) > _MOST:
                    del self._known[next(iter(self._known))]


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
    return Instruction(f"{code} {shape} {literal}{match['attributes']}", named, shape, place)


def most_like(graph: list[Instruction], known: list[list[Instruction]]) -> list[Instruction]:
    """Of the known graphs, the one that shares most of its instructions, the newest of several; empty if none shares half of them."""
    wanted = {one.what for one in graph}

    def shared(other: list[Instruction]) -> int:
        return len(wanted & {one.what for one in other})

    best = max(reversed(known), key=lambda other: 2 * shared(other) - abs(len(other) - len(graph)), default=[])
    return best if 2 * shared(best) >= len(wanted) else []


def difference(before: list[Instruction], after: list[Instruction], line_of: LineOf) -> tuple[str, Place | None]:
    """The first instruction that differs, in words, and its line, or that of what it is for; "" if nothing is alike."""
    matcher = difflib.SequenceMatcher(None, [one.what for one in before], [one.what for one in after], autojunk=False)
    changes = (change for change in matcher.get_opcodes() if before and change[0] != "equal")
    for tag, low, _, start, _ in changes:
        if tag == "delete":
            return f"{before[low].operation} {before[low].shape} is not computed", _line(before[low:], line_of)
        return _words(before[low] if tag == "replace" else None, after[start]), _line(after[start:], line_of)
    return "", None


def _line(instructions: list[Instruction], line_of: LineOf) -> Place | None:
    computed = [one for one in instructions if one.operation != "xla::device_data"]
    return next((place for one in computed[:_NEAR] if (place := one.place or line_of(one.operation))), None)


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
    """What differs in two instructions of one shape: a constant, or an attribute."""
    return f"{new.what.partition(new.shape)[2].strip(' ,')} was {old.what.partition(old.shape)[2].strip(' ,')}"
