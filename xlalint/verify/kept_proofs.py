"""Proofs of earlier runs, in the cache and in a log that may be committed: a fix whose proof would be the same is not run again.

A proof is found by its content: the file's text with and without the fix, the texts of all modules that the file leads to in its project,
what is declared of inputs, and the versions of Python, xlalint and the frameworks. What a program reads while it runs (weights, data) is
not part of it.
"""

from __future__ import annotations

import ast
import os
import sys
from collections.abc import Iterable, Iterator, Mapping
from functools import cache
from hashlib import blake2b
from importlib.metadata import PackageNotFoundError, version
from importlib.util import resolve_name
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

from xlalint import __version__
from xlalint.diagnostics.finding import Coverage, Proof
from xlalint.project.packing import Decoder, encode
from xlalint.source.model import SourceError
from xlalint.source.reading import read_bytes
from xlalint.source.syntax import parse
from xlalint.verify import proofs
from xlalint.verify.modules import name_and_root

if TYPE_CHECKING:
    from xlalint.cache import Cache

FORMAT = 1
_PROVER = 1  # raise it where the same code would get another verdict
_PACKAGES: Mapping[str, tuple[str, ...]] = {
    "torch_xla": ("torch", "torch_xla"),
    "torch_tpu": ("torch", "torch_tpu"),
    "torch_compile": ("torch",),
    "tensorflow": ("tensorflow", "tensorflow-cpu", "keras"),
    "jax": ("jax", "jaxlib", "flax"),
}


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
        lasting = proof.verdict != "unverified" or not proof.reason.startswith((proofs.NO_TIME, proofs.NO_PROCESS))
        if self._cache is not None and lasting:
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


class ImportDigests:
    """The digests of what files lead to in their projects."""

    def __init__(self) -> None:
        self._imports: dict[str, tuple[bytes, tuple[str, ...]]] = {}
        self._known: dict[tuple[str, str], str] = {}

    def digest(self, path: str, text: str) -> str:
        """Digest the modules that a file with this text imports, directly or through others, from the folder of its package."""
        if (path, text) not in self._known:
            self._known[path, text] = self._work_out(path, text)
        return self._known[path, text]

    def _work_out(self, path: str, text: str) -> str:
        name, root = name_and_root(Path(path))
        state = blake2b(name.encode("utf-8", "surrogateescape"), digest_size=16)
        seen: set[str] = {os.path.abspath(path)}  # noqa: PTH100
        todo = list(_find_imports(text, path, root))
        contents: dict[str, bytes] = {}
        while todo:
            file = todo.pop()
            if file not in seen:
                seen.add(file)
                contents[file], following = self._read(file, root)
                todo += following
        for file in sorted(contents):
            state.update(os.path.relpath(file, root).encode("utf-8", "surrogateescape") + b"\0" + contents[file])
        return state.hexdigest()

    def _read(self, file: str, root: str) -> tuple[bytes, tuple[str, ...]]:
        if file not in self._imports:
            try:
                raw = read_bytes(file)
                text = raw.decode("utf-8", "replace")
            except SourceError:
                raw, text = b"", ""
            self._imports[file] = blake2b(raw, digest_size=16).digest(), tuple(_find_imports(text, file, root))
        return self._imports[file]


def _find_imports(text: str, path: str, root: str) -> Iterator[str]:
    """The files under a root that a text's imports name, the packages around them included."""
    try:
        tree = parse(text)
    except SourceError:
        return
    package = ".".join(Path(os.path.relpath(path, root)).parent.parts)
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            for alias in node.names:
                yield from _files_of(root, alias.name.split("."))
        elif isinstance(node, ast.ImportFrom):
            try:
                module = resolve_name("." * node.level + (node.module or ""), package)
            except ImportError:  # from above the outermost package
                continue
            for alias in node.names:
                yield from _files_of(root, [*module.split("."), alias.name])


def _files_of(root: str, names: list[str]) -> Iterator[str]:
    folder = root
    for name in names:
        module = os.path.join(folder, f"{name}.py")  # noqa: PTH118
        folder = os.path.join(folder, name)  # noqa: PTH118
        inside = os.path.join(folder, "__init__.py")  # noqa: PTH118
        if os.path.isfile(inside):  # noqa: PTH113
            yield inside
        elif os.path.isfile(module):  # noqa: PTH113
            yield module
            return
        elif not os.path.isdir(folder):  # noqa: PTH112
            return


def key_of(parts: Iterable[str], backend: str) -> str:
    """The key of a proof by what it depends on, beside the versions."""
    state = blake2b(f"{_PROVER}\0{versions_of(backend)}".encode(), digest_size=16)
    for part in parts:
        state.update(b"\0" + part.encode("utf-8", "surrogateescape"))
    return state.hexdigest()
