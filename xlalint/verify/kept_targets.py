"""Keeps in the cache what running targets showed: one whose code, inputs and versions are as they were is not run again.

As of proofs of fixes, what a program reads while it runs (weights, data) is no part of that.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, TypeVar

from msgspec import Struct

from xlalint.project.packing import Decoder, encode
from xlalint.source.reading import decode, read_bytes
from xlalint.verify.import_digests import ImportDigests
from xlalint.verify.kept_proofs import has_versions, key_of, versions_of
from xlalint.verify.model import Observation, Specs, Subject, TpuProgram, Verdict
from xlalint.verify.targets import Target, split_target

if TYPE_CHECKING:
    from xlalint.cache import Cache


class SeenTarget(Struct, frozen=True):
    """Records a target's run: what was run, on which inputs, and what the TPUs' compiler made of its programs."""

    subject: Subject
    specs: Specs
    observation: Observation
    tpu: tuple[TpuProgram, ...] = ()


class SeenVerdict(Struct, frozen=True):
    """Records the verdict on two targets, and the seconds that it took."""

    verdict: Verdict
    seconds: float = 0.0


_Kept = TypeVar("_Kept", SeenTarget, SeenVerdict)


class KeptTargets:
    """Results by the content of the targets that they were of."""

    def __init__(self, cache: Cache) -> None:
        self._cache = cache
        self._imports = ImportDigests()

    def key(self, targets: Sequence[Target], *given: object) -> str:
        """The key of what is found of some targets, where these things were asked of them. It is "" on a backend of the user's own: nobody
        knows what its answers rest on.

        Raises: SourceError where a file cannot be read any more.
        """
        backend = targets[0].backend
        if not has_versions(backend):
            return ""
        parts = [repr(given), versions_of("jax")]  # the TPUs' compiler is jaxlib's, whatever made the program
        for target in targets:
            subject = target.subject
            text = subject.text if subject.text is not None else decode(read_bytes(subject.file))
            guesses = tuple(target.guesses) if target.guesses is not None else ()
            made_by = f"\nimport {module}" if (module := split_target(subject.factory)[0]) else ""
            digest = self._imports.digest(subject.file, text + made_by)
            parts += [repr((subject, target.specs, guesses, target.rows)), text, digest]
        return key_of(parts, backend)

    def find(self, key: str, kind: type[_Kept]) -> _Kept | None:
        """Return the result that is kept under a key."""
        name = f"target-{key}"
        kept: Decoder[_Kept] = Decoder(kind)
        return kept.decode_or_none(self._cache.parts([name]).get(name)) if key else None

    def keep(self, key: str, value: SeenTarget | SeenVerdict) -> None:
        """Keep something under a key for later runs."""
        if key:
            self._cache.put_parts([(f"target-{key}", encode(value))])
