"""Bytes on disk → `SourceFile`: encodings, byte order marks, notebooks, module names.

Plain UTF-8 takes the fast path: one decode and three searches that run at memory speed.
"""

from __future__ import annotations

import codecs
import os
import re
from collections.abc import Sequence
from functools import lru_cache
from hashlib import blake2b
from pathlib import Path

from xlalint.source.data_files import data_name, is_data
from xlalint.source.files import MOST_BYTES, TooLargeError, read_file, shown_name, shown_size
from xlalint.source.model import TOO_LARGE, SourceError, SourceFile

_NOTEBOOK = ".ipynb"

# PEP 263: the first line, or the second after a blank line or a comment.
_CODING = re.compile(rb"(?:[ \t\f]*(?:#[^\r\n]*)?(?:\r\n?|\n))?[ \t\f]*#[^\r\n]*?coding[:=][ \t]*([-\w.]+)")
_UTF8_NAMES = frozenset({"utf-8", "utf8", "utf-8-sig", "u8", "utf", "ascii", "us-ascii"})
# What Python's tokenizer knows by the first characters of a name, so that `latin-1-unix` is Latin-1: PEP 263, for Emacs' sake.
_LATIN_1_NAMES = ("latin-1", "iso-8859-1")
_LATIN_1_STARTS = ("latin-1-", "iso-8859-1-", "iso-latin-1-")
_NAME_KNOWN_BY = 12
# For names of hosts: to decode a file takes a time that grows with the square of its size. `undefined` decodes nothing.
_NO_SOURCE_CODE = frozenset({"idna", "punycode", "undefined"})
_UTF16_MARKS = (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)


def read_source(path: str | Path) -> SourceFile:
    """Read and decode one file; `SourceError` says why that is not possible."""
    return from_bytes(path, read_bytes(path))


def read_bytes(path: str | Path, limit: int = MOST_BYTES) -> bytes:
    """The file's bytes.

    Raises `SourceError`: XLA002 when the system refuses, also for a file that is gone by now, and for what is no regular file; XLA004 for
    one of more than `limit` bytes.
    """
    try:
        return read_file(path, limit)
    except TooLargeError as error:
        raise too_large(error.size, limit) from error
    except (OSError, ValueError) as error:
        reason = (error.strerror if isinstance(error, OSError) else None) or str(error)
        raise SourceError("XLA002", f"the file cannot be read: {reason}") from error


def too_large(size: int, limit: int) -> SourceError:
    """Make the error for a file of more bytes than `max-file-size` allows."""
    return SourceError(TOO_LARGE, f"its {shown_size(size)} are more than `max-file-size` allows ({shown_size(limit)})")


def digest_of_large(error: SourceError) -> str:
    """The content hash of a file that was not read since it is `too_large`."""
    return digest(error.message.encode())


def from_bytes(path: str | Path, raw: bytes) -> SourceFile:
    """Decode bytes that were read from `path`."""
    if is_notebook(path):
        return _notebook(path, decode_json(raw), digest(raw))
    return _source(path, decode(raw), digest(raw))


def from_text(path: str | Path, text: str) -> SourceFile:
    """Text that stands for the file `path`, from standard input or an editor's buffer; it need not exist on disk."""
    text = text.removeprefix("\ufeff")
    if is_notebook(path):
        return _notebook(path, text, digest(_utf8(text)))
    _refuse_nulls(text)
    return _source(path, text, digest(_utf8(text)))


def text_of(path: str | Path, raw: bytes) -> str:
    """The text that all stages speak of: of a notebook the module that its cells make."""
    return from_bytes(path, raw).text if is_notebook(path) else decode(raw)


def content_of(path: str | Path, raw: bytes, text: str, edits: Sequence[tuple[int, int, str]]) -> bytes:
    """The file's bytes with edits made in its `text`, as `text_of` gives it: in order, from one offset to another, none overlapping.

    Raises `SourceError` XLA002 where that would change more of the file.
    """
    if is_notebook(path):
        from xlalint.source.notebooks import rewrite

        mark = codecs.BOM_UTF8 if raw.startswith(codecs.BOM_UTF8) else b""
        return mark + rewrite(decode_json(raw), edits).encode()
    pieces: list[str] = []
    done = 0
    for start, end, content in edits:
        pieces += (text[done:start], content)
        done = end
    return encode("".join([*pieces, text[done:]]), raw)


def is_notebook(path: str | Path) -> bool:
    """Return whether a file is read as a notebook: its name says so."""
    return str(path).endswith(_NOTEBOOK)


def digest(raw: bytes) -> str:
    """The content hash by which units are cached."""
    return blake2b(raw, digest_size=16).hexdigest()


def decode(raw: bytes) -> str:
    """The text of a Python file, without byte order mark and with its line endings as they are."""
    if raw.startswith(_UTF16_MARKS):
        raise SourceError("XLA002", "the file is UTF-16, which Python does not read: save it as UTF-8")
    marked = raw.startswith(codecs.BOM_UTF8)
    body = raw[len(codecs.BOM_UTF8) :] if marked else raw
    encoding = _coding(body)
    if marked and encoding != "utf-8":
        raise SourceError("XLA002", f"the file begins with the UTF-8 byte order mark and declares `{encoding}`")
    text = _decode(body, encoding)
    _refuse_nulls(text)
    return text


def decode_json(raw: bytes) -> str:
    """The text of a notebook's file, without byte order mark."""
    if raw.startswith(_UTF16_MARKS):
        raise SourceError("XLA002", "the notebook is UTF-16: save it as UTF-8")
    body = raw.removeprefix(codecs.BOM_UTF8)
    try:
        return body.decode()
    except UnicodeDecodeError as error:
        row, column = _place(_lenient(body[: error.start], "utf-8"))
        raise SourceError(
            "XLA002", f"byte 0x{body[error.start]:02x} is not UTF-8, as notebooks are", row, column
        ) from error


def encode(text: str, raw: bytes) -> bytes:
    """A changed text as the bytes of the file that `raw` was read from: its byte order mark and encoding kept.

    Raises `SourceError` XLA002 where that encoding would change more than the text did, or would no longer be declared.
    """
    mark = codecs.BOM_UTF8 if raw.startswith(codecs.BOM_UTF8) else b""
    encoding = _coding(raw[len(mark) :])
    try:
        faithful = mark + decode(raw).encode(encoding) == raw
        changed = mark + text.encode(encoding)
    except UnicodeEncodeError as error:
        raise SourceError("XLA002", f"{encoding.upper()} has no `{text[error.start]}`") from error
    if not faithful:
        raise SourceError("XLA002", f"{encoding.upper()} writes its characters in more than one way")
    if decode(changed) != text:
        raise SourceError("XLA002", "its encoding would no longer be declared")
    return changed


def as_bytes(text: str) -> bytes:
    """The bytes of a file that reads as this text: in the encoding that it declares, if that has all of its characters."""
    plain = text.encode("utf-8", "surrogatepass")
    encoding = _coding(plain)
    if encoding != "utf-8":
        try:
            written = text.encode(encoding)
            return written if decode(written) == text else plain
        except (LookupError, SourceError, ValueError):
            pass
    return plain


def module_name(path: str | Path) -> tuple[str, bool]:
    """The dotted name an importer would use, and whether the file is a package's `__init__`.

    Packages are folders with an `__init__.py`, and the folders in them, which Python imports without one too (PEP 420).
    """
    folder, name = os.path.split(path)  # a fifth of the time of pathlib, for each of thousands of files
    stem, ending = os.path.splitext(name)  # noqa: PTH122
    package = _package(folder or ".")
    if name.endswith(_NOTEBOOK):  # nothing imports it: its name must be no module's
        stem = stem.replace(".", "_") + _NOTEBOOK
    elif is_data(name):
        stem = data_name(stem, ending)
    if not stem.isascii():  # no `import` can spell a name that is not UTF-8
        stem = shown_name(stem)
    if stem == "__init__":
        return package or shown_name(Path(folder).name), True
    return f"{package}.{stem}" if package else stem, False


_packages: dict[str, str] = {}


def _package(folder: str) -> str:
    """The dotted name of the package that a folder is, or ""."""
    if folder in _packages:
        return _packages[folder]
    # No recursion: a tree may be deeper than Python's stack. The outermost package decides, so the way goes up and then down again.
    way = [Path(folder)]
    while way[-1].name and str(way[-1]) not in _packages:
        way.append(way[-1].parent)
    outer = _packages.get(str(way[-1]), "")
    for here in reversed(way[:-1]):
        name = shown_name(here.name)
        if outer:
            outer = f"{outer}.{name}"
        elif (here / "__init__.py").is_file():
            outer = name
        _packages[str(here)] = outer
    _packages[folder] = outer
    return outer


def forget_packages() -> None:
    """Look anew which folders are packages when the next module is named: that may have changed."""
    _packages.clear()


def _source(path: str | Path, text: str, content: str) -> SourceFile:
    module, is_package = module_name(path)
    return SourceFile(path=str(path), module=module, is_package=is_package, text=text, digest=content)


def _notebook(path: str | Path, text: str, content: str) -> SourceFile:
    from xlalint.source.notebooks import read_notebook

    found = read_notebook(text)
    module, _ = module_name(path)
    return SourceFile(str(path), module, False, found.text, content, found.cells, found.problems)


def _coding(body: bytes) -> str:
    match = _CODING.match(body, 0, 1024) if b"coding" in body[:1024] else None
    if match is None:
        return "utf-8"
    name = match[1].decode("ascii", "replace").lower().replace("_", "-")
    start = name[:_NAME_KNOWN_BY]
    if name in _UTF8_NAMES or start.startswith("utf-8-"):
        return "utf-8"
    if name not in _LATIN_1_NAMES and f"{start}-".startswith(_LATIN_1_STARTS):
        return "latin-1"
    return name


@lru_cache(maxsize=64)
def _check_encoding(encoding: str) -> None:
    """Raise `SourceError` for an encoding that no source code has: one of no text, or one in which its declaration reads otherwise."""
    declaration = f"# coding: {encoding}\n"
    try:
        own = codecs.lookup(encoding).name
        fits = own not in _NO_SOURCE_CODE and declaration.encode().decode(encoding) == declaration
    except UnicodeError:
        fits = False
    except (LookupError, ValueError) as error:
        raise SourceError("XLA002", f"the file declares an encoding that Python does not read: `{encoding}`") from error
    if not fits:
        raise SourceError(
            "XLA002", f"the file declares `{encoding}`, which is not an encoding of source code: save it as UTF-8"
        )


def _decode(body: bytes, encoding: str) -> str:
    if encoding != "utf-8":
        _check_encoding(encoding)
    try:
        text = body.decode(encoding)
    except UnicodeDecodeError as error:
        hint = ": declare its encoding (PEP 263) or save it as UTF-8" if encoding == "utf-8" else ""
        row, column = _place(_lenient(body[: error.start], encoding))
        message = f"byte 0x{body[error.start]:02x} is not {encoding.upper()}{hint}"
        raise SourceError("XLA002", message, row, column) from error
    except (LookupError, ValueError) as error:
        raise SourceError("XLA002", f"the file declares an encoding that Python does not read: `{encoding}`") from error
    if encoding != "utf-8":
        _utf8(text)
    return text


def _lenient(body: bytes, encoding: str) -> str:
    """The text before a byte that has no meaning, for its row and column."""
    try:
        return body.decode(encoding, "replace")
    except ValueError:  # codecs that know no replacement
        return body.decode("latin-1")


def _utf8(text: str) -> bytes:
    """Byte offsets count in UTF-8, so text must have such a form: lone surrogates (from `utf-7`, say) have none."""
    try:
        return text.encode()
    except UnicodeEncodeError as error:
        row, column = _place(text[: error.start])
        raise SourceError(
            "XLA002", "the file decodes to a lone surrogate, which is not a character", row, column
        ) from error


def _refuse_nulls(text: str) -> None:
    if "\0" in text:
        row, column = _place(text[: text.index("\0")])
        raise SourceError("XLA001", "source code cannot contain null bytes", row, column)


def _place(before: str) -> tuple[int, int]:
    """Row and column (from 1) of the character that follows `before`."""
    lines = re.split(r"\r\n?|\n", before)
    return len(lines), len(lines[-1]) + 1
