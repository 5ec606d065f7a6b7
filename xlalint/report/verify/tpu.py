"""Prints the programs that the TPU's compiler made of a target, for people: memory, the padding of tiles, and what does not compile."""

from __future__ import annotations

import io
from collections.abc import Iterator, Sequence
from pathlib import Path

from rich.console import Console
from rich.table import Table

from xlalint.report.printable import printable
from xlalint.report.view import View
from xlalint.verify.isolation import size_text
from xlalint.verify.model import Padding, TpuProgram

_WASTEFUL = 3  # arrays named per program
_NOTABLE = 0.25  # the share of an array's memory that is filled up, from which on it is named
_WIDTH = 140


def render(programs: Sequence[TpuProgram], view: View) -> str:
    """A table of programs and generations, and the arrays that tiles fill up most."""
    names = {file: str(number) for number, file in enumerate(dict.fromkeys(one.file for one in programs))}
    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0), header_style="")
    for column in ("tpu", "program", "arguments", "output", "temporaries", "code", "padding", "compiled in"):
        table.add_column(column, justify="right", no_wrap=True)
    for one in programs:
        sizes = [size_text(size) for size in (one.arguments, one.outputs, one.temporaries, one.code)]
        cells = ["", "", "", "", "error", ""] if one.error else [*sizes, _padding(one), f"{one.seconds:.2f} s"]
        table.add_row(one.generation, names[one.file], *cells)
    told = io.StringIO()
    Console(file=told, width=_WIDTH, force_terminal=view.colour, no_color=not view.colour, highlight=False).print(table)
    lines = [f"  {line.rstrip()}" for line in told.getvalue().splitlines()]
    return "\n".join([*lines, *_wasteful(programs, names, view)])


def _padding(one: TpuProgram) -> str:
    return "unknown" if one.padding is None else size_text(sum(array.waste for array in one.padding))


def _wasteful(programs: Sequence[TpuProgram], names: dict[str, str], view: View) -> Iterator[str]:
    """The arrays that waste most, once each: generations mostly have the same tiles."""
    seen: set[tuple[str, str, str]] = set()
    for one in programs:
        notable = [array for array in one.padding or () if array.share >= _NOTABLE]
        for array in notable[:_WASTEFUL]:
            key = (one.file, array.array, array.what)
            if key not in seen:
                seen.add(key)
                yield f"  {view.paint('padding', 'yellow')}  {printable(_array(array, names[one.file], view))}"


def _array(array: Padding, program: str, view: View) -> str:
    at = f" at {view.path(array.place.file)}:{array.place.line}" if array.place is not None else ""
    made = f" {Path(array.what).name}" if array.what else ""
    return (
        f"program {program}: {array.role} {array.array}{array.layout}{made} takes {size_text(array.padded)} for"
        f" {size_text(array.bytes)}{at}"
    )
