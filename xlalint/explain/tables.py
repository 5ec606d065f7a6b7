"""Where an API table says what it says: the file and line of an entry."""

from __future__ import annotations

import re
from collections.abc import Iterable
from functools import cache
from pathlib import Path
from typing import NamedTuple

from xlalint.rules import rules_folder
from xlalint.source.files import read_text

_SECTION = re.compile(r"^\[(\w+)\]")
_FRAMEWORK = re.compile(r'^framework\s*=\s*"(\w*)"')
_KEY = re.compile(r'^(?:"([^"]+)"|([\w-]+))\s*=')


class TablePlace(NamedTuple):
    """A line of a table: how the file is called among the tables, its path, and the row."""

    name: str
    path: str
    row: int


class Tables:
    """The shipped tables and the user's own, read as text: of an entry that several have, the last one counts, as for the analysis."""

    def __init__(self, extra: Iterable[str] = ()) -> None:
        self._extra = tuple(extra)

    def find(self, section: str, key: str, framework: str = "") -> TablePlace | None:
        """The entry of a section ("functions", "methods", "classes", …); methods and attributes are those of one framework."""
        return _index(self._extra).get((section, framework if section in _PER_FRAMEWORK else "", key))


_PER_FRAMEWORK = ("methods", "attributes")


@cache
def _index(extra: tuple[str, ...]) -> dict[tuple[str, str, str], TablePlace]:
    shipped = sorted((rules_folder() / "apis").glob("*.toml"), key=lambda path: ("_generated" not in path.name, path))
    own = [
        found for place in map(Path, extra) for found in ([place] if place.is_file() else sorted(place.rglob("*.toml")))
    ]
    index: dict[tuple[str, str, str], TablePlace] = {}
    for path in [*shipped, *(path for path in own if path.suffix == ".toml")]:
        name = f"rules/apis/{path.name}" if path in shipped else str(path)
        _read(path, name, index)
    return index


def _read(path: Path, name: str, index: dict[tuple[str, str, str], TablePlace]) -> None:
    section = framework = ""
    for row, line in enumerate(read_text(path).splitlines(), 1):
        if found := _SECTION.match(line):
            section = found[1]
        elif found := _FRAMEWORK.match(line):
            framework = found[1]
        elif section and (found := _KEY.match(line)):
            key = (section, framework if section in _PER_FRAMEWORK else "", found[1] or found[2])
            index[key] = TablePlace(name, str(path), row)
