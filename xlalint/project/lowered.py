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
from xlalint.lowering.lessons import Lessons
from xlalint.program.failures import describe_failure
from xlalint.project.packing import Decoder, encode
from xlalint.source.data_files import is_data
from xlalint.source.environment import ModuleFile
from xlalint.source.files import MOST_BYTES
from xlalint.source.model import TOO_LARGE, Problem, SourceError, SourceFile
from xlalint.source.reading import decode, digest, digest_of_large, from_bytes, read_bytes, too_large
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
_parcel_decoder: Decoder[Parcel] = Decoder(Parcel)
_decoder: Decoder[Lowered] = Decoder(Lowered)


def decode_lowered(blob: bytes) -> Lowered | None:
    """The file of a cached blob; None when it is foreign."""
    return _decoder.decode_or_none(blob)


def lower_paths(paths: list[str], limit: int = MOST_BYTES) -> list[bytes]:
    """Lower files, each to an encoded `Lowered`, in order; those of more than `limit` bytes are not read."""
    enabled = gc.isenabled()
    gc.disable()
    try:
        return [encode(lower_path(path, limit)) for path in paths]
    finally:
        if enabled:
            gc.enable()


def lower_content(path: str, raw: bytes, limit: int = MOST_BYTES) -> bytes:
    """Lower bytes that stand for the file at `path` to an encoded `Lowered`."""
    return encode(lower_bytes(path, raw, limit))


def lower_bytes(path: str, raw: bytes, limit: int = MOST_BYTES) -> Lowered:
    """Lower bytes that stand for the file at `path`; never raises for what is in them. More than `limit` are not looked at."""
    if len(raw) > limit:
        return unread(path, too_large(len(raw), limit))
    return _lower(path, lambda _: raw)


def pack_files(paths: Sequence[str], limit: int = MOST_BYTES) -> tuple[list[bytes], bytes]:
    """Read files that are to be lowered elsewhere; those that cannot be read are lowered as far as they ever will be."""
    left: list[bytes] = []
    sources: list[SourceFile] = []
    for path in paths:
        try:
            sources.append(from_bytes(path, read_bytes(path, limit)))
        except SourceError as error:
            left.append(encode(unread(path, error)))
    return left, encode(Parcel(_VERSIONS, sources))


def lower_parcel(blob: bytes) -> list[bytes]:
    """Lower the files of an encoded `Parcel`, each to an encoded `Lowered`, in order: what a worker on another machine does, which has no
    files of ours, and perhaps another xlalint, which is a `VersionError`.
    """
    parcel = _parcel_decoder.decode(blob)
    if parcel.versions != _VERSIONS:
        raise VersionError(f"a worker has xlalint {' '.join(_VERSIONS)}, this is {' '.join(parcel.versions)}")
    with _one_at_a_time:
        return [encode(lower_source(source)) for source in parcel.sources]


def lower_path(path: str, limit: int = MOST_BYTES) -> Lowered:
    """Lower the file at `path`; never raises for what is in the file."""
    return _lower(path, lambda path: read_bytes(path, limit))


def _lower(path: str, read: Callable[[str], bytes]) -> Lowered:
    try:
        return lower_source(from_bytes(path, read(path)))
    except SourceError as error:
        return unread(path, error)


def unread(path: str, error: SourceError) -> Lowered:
    """A file that was not read. All that a run says of one that is too large is how large, so that stands for its content."""
    content = digest_of_large(error) if error.code == TOO_LARGE else ""
    return Lowered(path, content, error=(error.code, error.message, error.row, error.column))


def lower_installed(batch: tuple[Sequence[ModuleFile], bytes], limit: int = MOST_BYTES) -> list[bytes]:
    """Lower modules of installed packages, each to an encoded `Lowered`, in order; given with a pattern: the import of a framework."""
    files, imports = batch
    pattern = re.compile(imports)
    return [encode(_lower_installed(file, pattern, limit)) for file in files]


def _lower_installed(file: ModuleFile, imports: re.Pattern[bytes], limit: int) -> Lowered:
    """Lower an installed module.

    There is no unit of one that cannot be read, which is not the user's to mend, nor of one that imports no framework and is no
    package: it makes no tensors, and its names are its own.
    """
    content = ""
    try:
        raw = read_bytes(file.path, limit)
        content = digest(raw)
        if not file.is_package and imports.search(raw) is None:
            return Lowered(file.path, content)
        source = SourceFile(file.path, file.module, file.is_package, decode(raw), content)
    except SourceError:
        return Lowered(file.path, content)
    return Lowered(file.path, content, lower_source(source).unit)


def _lower_file(source: SourceFile, comments: Suppressions) -> tuple[Unit, Suppressions]:
    """Return the unit of a file, and its comments with those that teach nothing."""
    if not comments.taught:
        return lower(source, parse(source.text)), comments
    lessons = Lessons(comments.taught)
    unit = lower(source, parse(source.text), lessons)
    return unit, msgspec.structs.replace(comments, unheeded=tuple(lessons.list_unheeded()))


def lower_source(source: SourceFile) -> Lowered:
    """Lower a file that was read."""
    limit = sys.getrecursionlimit()
    sys.setrecursionlimit(max(limit, _RECURSION_LIMIT))
    try:
        comments = suppressions_of(source)
        unit, comments = (lower_data(source), comments) if is_data(source.path) else _lower_file(source, comments)
        return Lowered(source.path, source.digest, unit, comments, problems=source.problems)
    except SourceError as error:
        return Lowered(source.path, source.digest, error=(error.code, error.message, error.row, error.column))
    except Exception as error:  # noqa: BLE001 - an internal error names the file and lets the others go on
        return Lowered(source.path, source.digest, failure=describe_failure(source.path, error))
    finally:
        sys.setrecursionlimit(limit)
