"""Reads what the TPU's compiler tells in text: the layouts of a compiled HLO module, and the lines that an error names.

The form is that of `HloModule.to_string()` of jaxlib 0.10 and libtpu 0.0.51; what is not understood is left out.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Mapping
from typing import Literal, NamedTuple

from xlalint.verify.model import Padding, Place
from xlalint.verify.places import is_users

_BITS = {
    **dict.fromkeys(("s4", "u4"), 4),
    **dict.fromkeys(("pred", "s8", "u8"), 8),
    **dict.fromkeys(("bf16", "f16", "s16", "u16"), 16),
    **dict.fromkeys(("f32", "s32", "u32"), 32),
    **dict.fromkeys(("f64", "s64", "u64", "c64"), 64),
    "c128": 128,
}
_ARRAY = re.compile(
    r"(?P<dtype>[a-z]+\d*(?:e\dm\d\w*)?)\[(?P<shape>[\d,<=]*)\]"
    r"\{(?P<order>[\d,]*)(?::(?P<tiles>T\((?P<tile>[\d,]+)\)[^{}]*?))?(?P<space>S\(\d+\))?\}"
)
_INSTRUCTION = re.compile(
    r"^  (?P<root>ROOT )?%?(?P<name>[\w.\-]+) = (?P<type>\(.*?\)|\S+) (?P<opcode>[\w\-]+)\(", re.MULTILINE
)
_METADATA = re.compile(r"metadata=\{(?P<held>[^{}]*)\}")
_QUOTED = re.compile(r'op_name="(?P<name>(?:[^"\\]|\\.)*)"')
_SOURCE = re.compile(r'source_file="(?P<file>[^"]+)"(?:.*?source_line=(?P<line>\d+))?')
_FRAME = re.compile(r"stack_frame_id=(?P<frame>\d+)")
_SUSPECTED = re.compile(r"^ *(?P<file>\S[^\n:]*):(?P<line>\d+)(?::\d+)? \[(?P<function>[^\]\n]*)\]", re.MULTILINE)
LOCATED = re.compile(r'loc\("(?P<name>[^"]+)"')
_OPERAND = re.compile(r"%([\w.\-]+)")
_NO_BUFFER = frozenset(("parameter", "bitcast", "get-tuple-element", "tuple", "constant", "iota"))
Role = Literal["argument", "output", "temporary"]
Lines = Mapping[str, Place]
"""The user's line of each operation by its name, where the framework has lines but does not write them into StableHLO."""


class Tables(NamedTuple):
    """The tables of files, functions and stack frames in front of a module."""

    files: Mapping[int, str]
    functions: Mapping[int, str]
    locations: Mapping[int, tuple[int, int, int]]
    frames: Mapping[int, tuple[int, int]]

    def place(self, frame: int) -> Place | None:
        """The innermost line of the user of a stack frame. A frame's parent is written one too high: 1 stands for none."""
        seen = set()
        while frame in self.frames and frame not in seen:
            seen.add(frame)
            location, parent = self.frames[frame]
            file, function, line = self.locations.get(location, (0, 0, 0))
            if is_users(self.files.get(file, "<unknown>")):
                return Place(self.files[file], line, self.functions.get(function, ""))
            frame = parent - 1
        return None


def padding(text: str, lines: Lines, least: int = 1) -> tuple[Padding, ...]:
    """The arrays of a compiled module that tiling makes larger by `least` bytes or more, the most wasteful first.

    Of the entry computation: arguments, outputs, and what its operations leave in HBM for others. Scalars are not told.
    """
    tables = _tables(text)
    entry = list(_instructions(text))
    returned = _find_returned(entry)
    found = [
        one
        for match, line in entry
        if (role := _role(match, returned)) is not None
        for one in _find_padded(match, line, role, tables, lines)
        if one.waste >= least
    ]
    return tuple(sorted(found, key=lambda one: -one.waste))


def _instructions(text: str) -> Iterator[tuple[re.Match[str], str]]:
    entry = text.find("\nENTRY ")
    if entry < 0:
        return
    end = text.find("\n}", entry)
    for line in text[entry + 1 : end].splitlines():
        match = _INSTRUCTION.match(line)
        if match is not None:
            yield match, line


def _find_returned(entry: list[tuple[re.Match[str], str]]) -> set[str]:
    """The instructions whose values the module returns: the root, or what the root makes a tuple of."""
    for match, line in entry:
        if match["root"]:
            operands = line[match.end() :].partition(")")[0]
            return set(_OPERAND.findall(operands)) if match["opcode"] == "tuple" else {match["name"]}
    return set()


def _role(match: re.Match[str], returned: set[str]) -> Role | None:
    if match["opcode"] == "parameter":
        return "argument"
    if match["name"] in returned:
        return "output"
    # The parts of an asynchronous copy into the chip's own memory are none of HBM.
    none = match["opcode"] in _NO_BUFFER or match["opcode"].endswith(("-start", "-done"))
    return None if none else "temporary"


def _find_padded(match: re.Match[str], line: str, role: Role, tables: Tables, lines: Lines) -> Iterator[Padding]:
    metadata = _METADATA.search(line)
    held = metadata["held"] if metadata else ""
    named = _QUOTED.search(held)
    what = named["name"].replace("\\", "") if named else match["opcode"]
    for array in _ARRAY.finditer(match["type"]):
        sizes = _sizes(array)
        if sizes is not None and not array["space"]:
            layout = array[0][array[0].index("{") :]
            shown = f"{array['dtype']}[{array['shape']}]"
            yield Padding(shown, layout, role, *sizes, what, place_of(held, tables, lines))


def _sizes(array: re.Match[str]) -> tuple[int, int] | None:
    """Return the bytes of an array's elements, and the bytes that it takes in whole tiles; None for a scalar or an unknown dtype.

    A tile's last number lies along the dimension that is first in the order, the one before it along the second, and so on. Tiles within
    the tile, as bf16 has them, divide it.
    """
    bits = _BITS.get(array["dtype"])
    shape = [int(size.lstrip("<=")) for size in array["shape"].split(",") if size]
    if bits is None or not shape:
        return None
    order = [int(one) for one in array["order"].split(",") if one]
    whole = list(shape)
    for tile, dimension in zip(reversed((array["tile"] or "1").split(",")), order, strict=False):
        whole[dimension] = -(-shape[dimension] // int(tile)) * int(tile)
    return math.prod(shape) * bits // 8, math.prod(whole) * bits // 8


def place_of(metadata: str, tables: Tables, lines: Lines) -> Place | None:
    """The user's line that metadata names: by its stack frame, its source line, or the name of the operation."""
    if (frame := _FRAME.search(metadata)) and (place := tables.place(int(frame["frame"]))):
        return place
    if (source := _SOURCE.search(metadata)) and source["line"] and is_users(source["file"]):
        return Place(source["file"], int(source["line"]))
    named = _QUOTED.search(metadata)
    return by_name(named["name"], lines) if named else None


def by_name(name: str, lines: Lines) -> Place | None:
    """By the operation's name, or that of the operation it was made for: XLA adds parts before and behind."""
    parts = name.split("/")
    spans = ((a, b) for a in range(len(parts)) for b in range(len(parts), a, -1))
    return next((lines[key] for a, b in spans if (key := "/".join(parts[a:b])) in lines), None)


def find_blamed_line(message: str, lines: Lines) -> Place | None:
    """Find the user's line that an error of the compiler belongs to, where it tells one."""
    for match in _SUSPECTED.finditer(message):
        if is_users(match["file"]):
            return Place(match["file"], int(match["line"]), match["function"])
    metadata = _METADATA.search(message)
    if metadata and (place := place_of(metadata["held"], Tables({}, {}, {}, {}), lines)):
        return place
    located = (by_name(match["name"], lines) for match in LOCATED.finditer(message))
    return next((place for place in located if place is not None), None)


def _tables(text: str) -> Tables:
    head = text[: text.find("\nENTRY ")]
    files, functions = (_strings(_section(head, title)) for title in ("FileNames", "FunctionNames"))
    locations, frames = (_numbers(_section(head, title)) for title in ("FileLocations", "StackFrames"))
    return Tables(
        files,
        functions,
        {n: (one.get("file_name_id", 0), one.get("function_name_id", 0), one.get("line", 0)) for n, one in locations},
        {n: (one.get("file_location_id", 0), one.get("parent_frame_id", 0)) for n, one in frames},
    )


def _strings(section: str) -> dict[int, str]:
    return {int(match[1]): match[2] for match in re.finditer(r'^(\d+) "(.*)"$', section, re.MULTILINE)}


def _numbers(section: str) -> list[tuple[int, dict[str, int]]]:
    rows = re.finditer(r"^(\d+) \{(.*)\}$", section, re.MULTILINE)
    return [(int(row[1]), {k: int(v) for k, v in re.findall(r"(\w+)=(\d+)", row[2])}) for row in rows]


def _section(head: str, title: str) -> str:
    _, found, rest = head.partition(f"\n{title}\n")
    return rest.split("\n\n", 1)[0] if found else ""
