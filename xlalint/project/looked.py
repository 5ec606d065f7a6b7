"""Fingerprint of an installed-package search, used to reuse its result."""

from __future__ import annotations

import os
from hashlib import blake2b

import msgspec

from xlalint.project.packing import Decoder, encode

_GONE = -1


class SearchFingerprint(msgspec.Struct, frozen=True, array_like=True):
    """The dependencies of a search: folders with their time of change, and files with time, size and content."""

    folders: list[tuple[str, int]]
    files: list[tuple[str, int, int, str]]

    def unchanged(self) -> bool:
        """Return whether a search would find the same now."""
        return all(stat_of(path)[0] == time for path, time in self.folders) and all(
            stat_of(path) == (time, size) for path, time, size, _ in self.files
        )

    def digest(self) -> str:
        """Digest the files and their texts."""
        state = blake2b(digest_size=16)
        for path, _, _, content in self.files:
            state.update(f"\0{path}\0{content}".encode("utf-8", "surrogateescape"))
        return state.hexdigest()


_decoder: Decoder[SearchFingerprint] = Decoder(SearchFingerprint)
NOTHING = SearchFingerprint([], [])


def encode_looked(looked: SearchFingerprint) -> bytes:
    """The form in which it is cached."""
    return encode(looked)


def decode_looked(blob: bytes) -> SearchFingerprint | None:
    """Decode a cached fingerprint; None if it is foreign."""
    return _decoder.decode_or_none(blob)


def stat_of(path: str) -> tuple[int, int]:
    """Time of change and size."""
    try:
        told = os.stat(path)  # noqa: PTH116 - see `Run._read_known`
    except OSError:
        return _GONE, 0
    return told.st_mtime_ns, told.st_size
