"""Two targets, one of which is to do what the other does: a job for a child process, and its result."""

from __future__ import annotations

import msgspec

from xlalint.verify.inputs import fill_sizes, merge_specs
from xlalint.verify.isolation import LIMITS, Limits
from xlalint.verify.model import Specs, Subject
from xlalint.verify.proofs import Shown, prove_all
from xlalint.verify.requests import Job, Way
from xlalint.verify.targets import Target, TargetError


def prove_target(new: Target, old: Target, limits: Limits = LIMITS) -> Shown:
    """Return the verdict on a target that takes the place of another, on the inputs that one of them declares, else on inferred ones.

    Raises: TargetError where they run on different backends; as `proofs.prove_all` does.
    """
    if new.backend != old.backend:
        raise TargetError(f"`{new.subject.name}` runs on {new.backend} and `{old.subject.name}` on {old.backend}")
    return prove_all([_job(new, old)], new.backend, limits)[0]


def _job(new: Target, old: Target) -> Job:
    """The comparison as a job: all lines of the one are held against all lines of the other."""
    pairs, candidates = _pairs(new, old)
    return Job(0, (Way(pairs, tuple(map(fill_sizes, candidates)), old.rows, new.rows),))


def _pairs(new: Target, old: Target) -> tuple[tuple[tuple[Subject, Subject], ...], tuple[Specs, ...]]:
    """The subjects before and after, and the inputs to try: what one of the targets declares counts for both."""
    if old.guesses is not None and new.guesses is not None:
        both = zip(old.guesses.subjects, new.guesses.subjects, strict=False)
        return tuple(_alike(one, other) for one, other in both), old.guesses.candidates
    declared = [one.specs for one in (old, new) if one.guesses is None]
    return (_alike(old.subject, new.subject),), (merge_specs(declared),)


def _alike(old: Subject, new: Subject) -> tuple[Subject, Subject]:
    """Two subjects that are made in the same way, where only one of them says how."""
    factory = old.factory or new.factory
    return (
        msgspec.structs.replace(old, factory=factory),
        msgspec.structs.replace(new, factory=new.factory or factory),
    )
