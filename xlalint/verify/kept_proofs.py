"""Proofs of earlier runs, in the cache and in a log that may be committed: a fix whose proof would be the same is not run again.

A proof is found by its content: the file's text with and without the fix, the texts of all modules that the file leads to in its project,
what is declared of inputs, the versions of Python, xlalint and the frameworks, and what the environment says of how, and on which devices,
those compute. What a program reads while it runs (weights, data) is not part of it.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterable, Mapping
from functools import cache
from hashlib import blake2b
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

from xlalint import __version__
from xlalint.diagnostics.finding import Coverage, Proof
from xlalint.project.packing import Decoder, encode
from xlalint.source.model import SourceError
from xlalint.source.reading import read_bytes
from xlalint.verify import environment, proofs

if TYPE_CHECKING:
    from xlalint.cache import Cache

FORMAT = 1
_PROVER = 3  # raise it where the same code would get another verdict
_PACKAGES: Mapping[str, tuple[str, ...]] = {
    "torch_xla": ("torch", "torch_xla"),
    "torch_tpu": ("torch", "torch_tpu"),
    "torch_compile": ("torch",),
    "torch_export": ("torch",),
    "tensorflow": ("tensorflow", "tensorflow-cpu", "keras"),
    "jax": ("jax", "jaxlib", "flax"),
}
_VARIABLES = (  # under which the same program computes something else, or elsewhere
    "CUDA_VISIBLE_DEVICES",
    "JAX_DEFAULT_DTYPE_BITS",
    "JAX_DEFAULT_MATMUL_PRECISION",
    "JAX_DISABLE_JIT",
    "JAX_ENABLE_X64",
    "JAX_NUMPY_DTYPE_PROMOTION",
    "JAX_NUMPY_RANK_PROMOTION",
    "JAX_PLATFORMS",
    "KERAS_BACKEND",
    "PJRT_DEVICE",
    "TF_USE_LEGACY_KERAS",
    "XLA_DOWNCAST_BF16",
    "XLA_FLAGS",
    "XLA_USE_BF16",
)


class LogError(Exception):
    """A proof log that cannot be read or written, or that says something else than was found."""


class LoggedProof(msgspec.Struct, frozen=True, omit_defaults=True):
    """A proof in a log: `key` is its content's, `file` is relative to the log, `row` was the finding's, `versions` what it ran on."""

    key: str
    file: str
    row: int
    code: str
    backend: str
    versions: str
    verdict: str
    reason: str = ""
    counterexample: str = ""
    coverage: Coverage | None = None


class LogContent(msgspec.Struct, frozen=True):
    """A log as it is written."""

    format: int
    proofs: tuple[LoggedProof, ...]


class KeptProofs:
    """Proofs by key: those of a cache, and those of a log. With `anew` none is taken from either, and what a log says is compared.

    Raises: LogError where the log cannot be read.
    """

    def __init__(self, cache: Cache | None = None, log: Path | None = None, *, anew: bool = False) -> None:
        self._cache = cache
        self._path = log
        self._anew = anew
        self._logged = {one.key: one for one in _read(log)} if log is not None else {}
        self._made: dict[str, LoggedProof] = {}

    def find(self, keys: Iterable[str]) -> dict[str, Proof]:
        """The proofs that are kept under some keys."""
        if self._anew:
            return {}
        wanted = list(keys)
        found = {key: _proof_of(self._logged[key]) for key in wanted if key in self._logged}
        if self._cache is not None:
            blobs = self._cache.parts(f"proof-{key}" for key in wanted if key not in found)
            kept = ((name.removeprefix("proof-"), _decoder.decode_or_none(blob)) for name, blob in blobs.items())
            found |= {key: proof for key, proof in kept if proof is not None}
        return found

    def keep(self, key: str, proof: Proof) -> None:
        """Keep a proof for later runs, unless it only tells that this run came to nothing."""
        if self._cache is not None and is_lasting(proof.verdict, proof.reason):
            self._cache.put_parts([(f"proof-{key}", encode(proof))])

    def note(self, key: str, path: str, row: int, code: str, backend: str, proof: Proof) -> None:
        """Enter the proof of a fix in the log, in place of what an earlier run noted of it."""
        if self._path is None:
            return
        file = os.path.relpath(path, self._path.absolute().parent)
        told = proof.verdict, proof.reason, proof.counterexample, proof.coverage
        self._made[key] = LoggedProof(key, Path(file).as_posix(), row, code, backend, versions_of(backend), *told)

    def disagreements(self) -> list[str]:
        """Return a line for each proof of this run that the log holds otherwise."""
        pairs = ((self._logged[key], made) for key, made in self._made.items() if key in self._logged)
        return [
            f"{old.file}:{old.row} {old.code}: the log says {old.verdict}, this run {new.verdict} ({new.reason})"
            for old, new in pairs
            if old.verdict != new.verdict
        ]

    def write(self) -> None:
        """Write the log: what this run noted, and what it says of files that this run had no fix for.

        Raises: LogError.
        """
        if self._path is None:
            return
        files = {one.file for one in self._made.values()}
        others = (one for one in self._logged.values() if one.file not in files)
        entries = sorted([*others, *self._made.values()], key=lambda one: (one.file, one.row, one.code, one.key))
        text = msgspec.json.format(msgspec.json.encode(LogContent(FORMAT, tuple(entries))), indent=2) + b"\n"
        try:
            if not self._path.exists() or self._path.read_bytes() != text:
                self._path.write_bytes(text)
        except OSError as error:
            raise LogError(f"`{self._path}` cannot be written: {error.strerror}") from error


def is_lasting(verdict: str, reason: str) -> bool:
    """Return whether a verdict says more than that a run came to nothing."""
    return verdict != "unverified" or not reason.startswith((proofs.NO_TIME, proofs.NO_PROCESS))


_decoder: Decoder[Proof] = Decoder(Proof)


def _read(path: Path) -> tuple[LoggedProof, ...]:
    try:
        raw = read_bytes(str(path))
    except SourceError as error:
        if not os.path.lexists(path):
            return ()
        raise LogError(f"`{path}` cannot be read: {error.message}") from error
    try:
        log = msgspec.json.decode(raw, type=LogContent)
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise LogError(f"`{path}` is no proof log: {error}") from error
    if log.format != FORMAT:
        raise LogError(f"`{path}` has format {log.format}, this xlalint reads {FORMAT}")
    return log.proofs


def _proof_of(logged: LoggedProof) -> Proof:
    shown = {"verdict": logged.verdict, "reason": logged.reason, "counterexample": logged.counterexample}
    return msgspec.structs.replace(msgspec.convert(shown, Proof), coverage=logged.coverage)


@cache
def versions_of(backend: str) -> str:
    """The versions that a backend's verdicts depend on, as text."""
    found = [f"python {sys.version_info.major}.{sys.version_info.minor}", f"xlalint {__version__}"]
    for name in (*_PACKAGES.get(backend, ()), "numpy"):
        try:
            found.append(f"{name} {version(name)}")
        except PackageNotFoundError:
            continue
    return ", ".join(found)


def has_versions(backend: str) -> bool:
    """Return whether it is known which packages a backend's verdicts depend on: not of one that a user made."""
    return backend in _PACKAGES


def key_of(parts: Iterable[str], backend: str) -> str:
    """The key of a proof by what it depends on, beside the versions and the environment."""
    state = blake2b(f"{_PROVER}\0{versions_of(backend)}".encode(), digest_size=16)
    known = {**(environment.for_jax() if backend == "jax" else {}), **os.environ}
    for name in _VARIABLES:
        if name in known:
            state.update(f"\0{name}={known[name]}".encode("utf-8", "surrogateescape"))
    for part in parts:
        state.update(b"\0" + part.encode("utf-8", "surrogateescape"))
    return state.hexdigest()
