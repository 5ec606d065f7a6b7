"""Load the results of earlier runs under the same settings: outcomes of modules, findings of files."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from hashlib import blake2b
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from xlalint.cache import Cache


class ResultCache:
    """A view of the cache for one state of the settings."""

    def __init__(self, cache: Cache, fingerprint: str) -> None:
        self._cache = cache
        self._fingerprint = fingerprint

    def outcomes(self, program: str, paths: Iterable[str]) -> dict[str, bytes]:
        """The encoded outcomes of modules, by path, in a program of the same modules (`program` is their digest)."""
        keys = {self._key("outcome", program, path): path for path in paths}
        return {keys[key]: blob for key, blob in self._cache.parts(keys).items()}

    def put_outcomes(self, program: str, blobs: Mapping[str, bytes]) -> None:
        """Keep outcomes of modules, by path."""
        self._cache.put_parts((self._key("outcome", program, path), blob) for path, blob in blobs.items())

    def findings(self, files: Mapping[str, str]) -> dict[str, bytes]:
        """The encoded findings of files, by path; `files` maps a path to the digest of its text and its hazards."""
        keys = {self._key("findings", digest, path): path for path, digest in files.items()}
        return {keys[key]: blob for key, blob in self._cache.parts(keys).items()}

    def put_findings(self, rows: Iterable[tuple[str, str, bytes]]) -> None:
        """Keep (path, digest, findings)."""
        self._cache.put_parts((self._key("findings", digest, path), blob) for path, digest, blob in rows)

    def _key(self, kind: str, digest: str, path: str) -> str:
        text = f"{self._fingerprint}\0{kind}\0{digest}\0{path}"
        return blake2b(text.encode("utf-8", "surrogateescape"), digest_size=16).hexdigest()
