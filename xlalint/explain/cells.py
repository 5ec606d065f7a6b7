"""Places in the module of a notebook → places in its cells, in all that an explanation says."""

from __future__ import annotations

from typing import TypeVar

import msgspec

from xlalint.diagnostics.finding import Location
from xlalint.explain.model import Activation, Belief, Explanation, Origin, Question, Verdict
from xlalint.report.cells import Cells, cells_of
from xlalint.source.reading import read_bytes

_Placed = TypeVar("_Placed", Belief, Verdict, Question)
_Fact = TypeVar("_Fact", Origin, Activation)


def locate_in_cells(said: Explanation) -> Explanation:
    """Return an explanation with all rows of notebooks as rows of their cells. `row` and `cell` are the user's."""
    return _Located(said).explanation()


class _Located:
    def __init__(self, said: Explanation) -> None:
        self.said = said
        self.cells = Cells(read_bytes)

    def explanation(self) -> Explanation:
        said = self.said
        traced = msgspec.structs.replace(said.traced, trace=tuple(map(self.cells.step, said.traced.trace)))
        said = msgspec.structs.replace(
            said, traced=traced, activations=tuple(self._fact(call) for call in said.activations)
        )
        values = tuple(
            msgspec.structs.replace(self._place(belief), origins=tuple(self._fact(origin) for origin in belief.origins))
            for belief in said.values
        )
        first = self._row(said.first_row)
        return msgspec.structs.replace(
            said,
            location=self._location(said.location),
            end_location=self._location(said.end_location),
            first_row=first,
            source=self._source(first),
            values=values,
            rules=tuple(self._place(verdict) for verdict in said.rules),
            questions=tuple(self._place(question) for question in said.questions),
        )

    def _source(self, first: int) -> tuple[str, ...]:
        """The lines that are shown, as they are in the cell."""
        said = self.said
        if said.cell is None:
            return said.source
        text = cells_of(said.filename, read_bytes(said.filename)).get(said.cell, "")
        return tuple(
            text.replace("\r\n", "\n").replace("\r", "\n").split("\n")[first - 1 : first - 1 + len(said.source)]
        )

    def _row(self, row: int) -> int:
        return self.cells.place(self.said.filename, row)[1]

    def _location(self, place: Location) -> Location:
        return Location(self._row(place.row), place.column)

    def _place(self, one: _Placed) -> _Placed:
        return msgspec.structs.replace(
            one, location=self._location(one.location), end_location=self._location(one.end_location)
        )

    def _fact(self, one: _Fact) -> _Fact:
        if one.filename is None or one.row is None:
            return one
        cell, row = self.cells.place(one.filename, one.row)
        return one if cell is None else msgspec.structs.replace(one, cell=cell, row=row)
