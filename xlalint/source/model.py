"""The source file: bytes on disk, decoded once, with what later stages need to speak of places in it."""

from __future__ import annotations

import msgspec


class SourceFile(msgspec.Struct, frozen=True):
    """One Python file (or notebook, as one module) that was read and decoded.

    `path` is absolute, as findings print it. `module` is the dotted module name as an importer would write it
    ("pkg.mod"; "pkg" for `pkg/__init__.py`), `is_package` is true for `__init__` files. `text` is the decoded text without BOM, with
    line endings as on disk. Byte offsets everywhere in xlalint index `text.encode()`. `digest` is a hash of the raw bytes.
    """

    path: str
    module: str
    is_package: bool
    text: str
    digest: str


class SourceError(Exception):
    """A file that cannot be read, decoded or parsed: becomes an XLA001 or XLA002 finding at `row`, `column`."""

    def __init__(self, code: str, message: str, row: int = 1, column: int = 1) -> None:
        super().__init__(message)
        self.code = code
        self.message = message
        self.row = row
        self.column = column
