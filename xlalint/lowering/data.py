"""A file of data as a unit: a module whose body assigns to each key what the file says of it."""

from __future__ import annotations

from xlalint.lowering import ir
from xlalint.lowering.digests import interface
from xlalint.source.data_files import Entry, read_entries
from xlalint.source.model import SourceFile


def lower_data(source: SourceFile) -> ir.Unit:
    """Lower a file of data."""
    entries = read_entries(source.text, source.path)
    places = _Places(source.text)
    body = ir.encode_body(tuple(_make_assignment(entry, places) for entry in entries))
    assigned = tuple(sorted({entry.key for entry in entries}))
    return ir.Unit(
        source.path,
        source.module,
        False,
        source.digest,
        (),
        (),
        (),
        {},
        assigned,
        (),
        body,
        (),
        interface((), (), (), {}, assigned, (), body),
    )


class _Places:
    """Extents in characters as the byte extents of the representation."""

    def __init__(self, text: str) -> None:
        self._text = "" if text.isascii() else text

    def at(self, extent: tuple[int, int]) -> int:
        start, end = (len(self._text[:place].encode()) if self._text else place for place in extent)
        return start << 32 | end


def _make_assignment(entry: Entry, places: _Places) -> ir.Assign:
    return ir.Assign((ir.Name(entry.key, places.at(entry.key_extent)),), _node(entry, places), places.at(entry.extent))


def _node(entry: Entry, places: _Places) -> ir.Node:
    if not isinstance(entry.value, tuple):
        return ir.Const(entry.value)
    keys = tuple(ir.Name(inner.key, places.at(inner.key_extent)) for inner in entry.value)
    return ir.DictDisplay(keys, tuple(_node(inner, places) for inner in entry.value), places.at(entry.extent))
