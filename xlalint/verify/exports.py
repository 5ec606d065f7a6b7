"""Names that a package gives without binding them in its `__init__.py`: it imports them when they are asked for."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

_LAZY = ("__getattr__", "sys.modules[", "lazy")


def is_lazy(text: str) -> bool:
    """Return whether the text of a package's `__init__.py` may give names that it does not bind."""
    return any(word in text for word in _LAZY)


def find_definitions(package: str, folder: Path, name: str) -> list[tuple[str, Path]]:
    """Find the modules of a package that define a class or function of a name at their top, by dotted name and file."""
    pattern = re.compile(rb"^(?:class|def|async def) %s\b" % re.escape(name.encode()), re.MULTILINE)
    return [
        (".".join((package, *file.relative_to(folder).with_suffix("").parts)).removesuffix(".__init__"), file)
        for file in _files(folder)
        if pattern.search(file.read_bytes())
    ]


def _files(folder: Path) -> Iterator[Path]:
    yield from (file for file in sorted(folder.rglob("*.py")) if file.is_file())
