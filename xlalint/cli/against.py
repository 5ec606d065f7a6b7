"""`xlalint verify NEW --against OLD`: whether one target does what another does, or what it did at an earlier revision."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from xlalint.cli import CLEAN, FAILED, FINDINGS

if TYPE_CHECKING:
    from xlalint.config import Settings
    from xlalint.report.verify.compared import TargetComparison
    from xlalint.verify.isolation import Limits
    from xlalint.verify.kept_targets import KeptTargets
    from xlalint.verify.targets import Target, Told


def compare_targets(
    new: str, told: Told, settings: Settings, options: Mapping[str, Any], limits: Limits, kept: KeptTargets
) -> TargetComparison:
    """Compare a target with the one that `--against` or `--against-rev` names; what cannot be run says why."""
    from xlalint.report.verify.compared import TargetComparison
    from xlalint.source.git import GitError
    from xlalint.source.model import SourceError
    from xlalint.verify.against import prove_target
    from xlalint.verify.backends import MissingPackageError
    from xlalint.verify.inputs import SpecError
    from xlalint.verify.isolation import IsolationError
    from xlalint.verify.kept_proofs import is_lasting
    from xlalint.verify.kept_targets import SeenVerdict
    from xlalint.verify.observing import CannotRunError
    from xlalint.verify.targets import TargetError, target_of

    against = options["against"] or f"{new} at {options['against_rev']}"
    try:
        targets = target_of(new, settings.verify, told), _find_other(new, told, settings, options)
        key = kept.key(targets, limits)
        known = kept.find(key, SeenVerdict)
        seen = known or SeenVerdict(*prove_target(*targets, limits))
        if known is None and is_lasting(seen.verdict.kind, seen.verdict.reason):
            kept.keep(key, seen)
    except (
        TargetError,
        SpecError,
        GitError,
        SourceError,
        MissingPackageError,
        CannotRunError,
        IsolationError,
    ) as error:
        return TargetComparison(new, against, failure=str(error))
    place, backend = targets[0].place, targets[0].backend
    return TargetComparison(new, against, place, backend, seen.verdict, round(seen.seconds, 3), kept=known is not None)


def _find_other(new: str, told: Told, settings: Settings, options: Mapping[str, Any]) -> Target:
    """The target to compare with."""
    from xlalint.verify.targets import earlier_target, target_of

    if options["against"]:
        return target_of(options["against"], settings.verify, told)
    return earlier_target(new, lambda file: _read_at(options["against_rev"], file), settings.verify, told)


def _read_at(revision: str, file: str) -> bytes:
    """A file's content at a revision of its repository. Raises: GitError."""
    from xlalint.source.git import Git

    path = Path(file).resolve()
    return Git(str(path.parent))("show", "--no-textconv", f"{revision}:./{os.fsdecode(path.name)}")


def status_of(compared: TargetComparison) -> int:
    """The exit code: the same, refuted, or not known."""
    if compared.verdict is None or compared.verdict.kind == "unverified":
        return FAILED
    return CLEAN if compared.verdict.kind == "proven" else FINDINGS
