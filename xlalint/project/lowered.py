"""Lowering of one file from disk, as worker processes do it: read, parse, lower, and read the comments."""

from __future__ import annotations

import gc
import re
import sys
import threading
from collections.abc import Callable, Sequence

import msgspec

from xlalint import __version__
from xlalint.lowering import VERSION, lower
from xlalint.lowering.data import lower_data
from xlalint.lowering.ir import Unit
from xlalint.source.data_files import is_data
from xlalint.source.environment import ModuleFile
from xlalint.source.model import Problem, SourceError, SourceFile
from xlalint.source.reading import decode, digest, from_bytes, read_bytes
from xlalint.source.suppressions import Suppressions, suppressions_of
from xlalint.source.syntax import parse

_RECURSION_LIMIT = 6000


class Lowered(msgspec.Struct, frozen=True, array_like=True):
    """One file after lowering: its unit, or the reason why there is none.

    `error` is (code, message, row, column) of what keeps the file from being read; `failure` is an internal error. `problems` are those of
    a notebook's cells that are left out of the unit.
    """

    path: str
    digest: str
    unit: Unit | None = None
    suppressions: Suppressions = Suppressions()
    error: tuple[str, str, int, int] | None = None
    failure: str = ""
    problems: tuple[Problem, ...] = ()


class Parcel(msgspec.Struct, frozen=True, array_like=True):
    """Sources on their way to another machine, and what they are to be lowered by."""

    versions: tuple[str, ...]
    sources: list[SourceFile]


class VersionError(Exception):
    """A worker would lower otherwise than this xlalint does."""


_VERSIONS = (__version__, str(VERSION), f"Python {sys.version_info[0]}.{sys.version_info[1]}")
_one_at_a_time = threading.Lock()  # the recursion limit is the process's own, and so is the interpreter
_parcel_decoder = msgspec.msgpack.Decoder(Parcel)
_decoder = msgspec.msgpack.Decoder(Lowered)
_encoder = msgspec.msgpack.Encoder()


def decode_lowered(blob: bytes) -> Lowered | None:
    """The file of a cached blob; None when it is foreign."""
    try:
        return _decoder.decode(blob)
    except msgspec.MsgspecError:
        return None


def lower_paths(paths: list[str]) -> list[bytes]:
    """Lower files, each to an encoded `Lowered`, in order."""
    enabled = gc.isenabled()
    gc.disable()
    try:
        return [_encoder.encode(lower_path(path)) for path in paths]
    finally:
        if enabled:
            gc.enable()


def lower_content(path: str, raw: bytes) -> bytes:
    """Lower bytes that stand for the file at `path` to an encoded `Lowered`."""
    return _encoder.encode(lower_bytes(path, raw))


def lower_bytes(path: str, raw: bytes) -> Lowered:
    """Lower bytes that stand for the file at `path`; never raises for what is in them."""
    return _lower(path, lambda _: raw)


def packed(paths: Sequence[str]) -> tuple[list[bytes], bytes]:
    """Files read here, to be lowered elsewhere; those that cannot be read are lowered as far as they ever will be."""
    unread: list[bytes] = []
    sources: list[SourceFile] = []
    for path in paths:
        try:
            sources.append(from_bytes(path, read_bytes(path)))
        except SourceError as error:
            unread.append(_encoder.encode(_unread(path, error)))
    return unread, _encoder.encode(Parcel(_VERSIONS, sources))


def lower_parcel(blob: bytes) -> list[bytes]:
    """Lower the files of an encoded `Parcel`, each to an encoded `Lowered`, in order: what a worker on another machine does, which has no
    files of ours, and perhaps another xlalint, which is a `VersionError`.
    """
    parcel = _parcel_decoder.decode(blob)
    if parcel.versions != _VERSIONS:
        raise VersionError(f"a worker has xlalint {' '.join(_VERSIONS)}, this is {' '.join(parcel.versions)}")
    with _one_at_a_time:
        return [_encoder.encode(lower_source(source)) for source in parcel.sources]


def lower_path(path: str) -> Lowered:
    """Lower the file at `path`; never raises for what is in the file."""
    return _lower(path, read_bytes)


def _lower(path: str, read: Callable[[str], bytes]) -> Lowered:
    try:
        return lower_source(from_bytes(path, read(path)))
    except SourceError as error:
        return _unread(path, error)


def _unread(path: str, error: SourceError) -> Lowered:
    return Lowered(path, "", error=(error.code, error.message, error.row, error.column))


def lower_installed(batch: tuple[Sequence[ModuleFile], bytes]) -> list[bytes]:
    """Lower modules of installed packages, each to an encoded `Lowered`, in order; given with a pattern: the import of a framework."""
    files, imports = batch
    pattern = re.compile(imports)
    return [_encoder.encode(_lower_installed(file, pattern)) for file in files]


def _lower_installed(file: ModuleFile, imports: re.Pattern[bytes]) -> Lowered:
    """Lower an installed module.

    There is no unit of one that cannot be read, which is not the user's to mend, nor of one that imports no framework and is no
    package: it makes no tensors, and its names are its own.
    """
    content = ""
    try:
        raw = read_bytes(file.path)
        content = digest(raw)
        if not file.is_package and imports.search(raw) is None:
            return Lowered(file.path, content)
        source = SourceFile(file.path, file.module, file.is_package, decode(raw), content)
    except SourceError:
        return Lowered(file.path, content)
    return Lowered(file.path, content, lower_source(source).unit)


def _lowered(source: SourceFile, comments: Suppressions) -> Unit:
    return lower(source, parse(source.text), comments.taught)


def lower_source(source: SourceFile) -> Lowered:
    """Lower a file that was read."""
    limit = sys.getrecursionlimit()
    sys.setrecursionlimit(max(limit, _RECURSION_LIMIT))
    try:
        comments = suppressions_of(source)
        unit = lower_data(source) if is_data(source.path) else _lowered(source, comments)
        return Lowered(source.path, source.digest, unit, comments, problems=source.problems)
    except SourceError as error:
        return Lowered(source.path, source.digest, error=(error.code, error.message, error.row, error.column))
    except Exception as error:  # noqa: BLE001 - an internal error names the file and lets the others go on
        return Lowered(source.path, source.digest, failure=f"{source.path}: {type(error).__name__}: {error}")
    finally:
        sys.setrecursionlimit(limit)
