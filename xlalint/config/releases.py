"""Tell for which release of PyTorch code is judged: the one that the settings name, or that an installation of the project gets."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Literal, get_args

from xlalint.config.requirements import admits

TargetVersion = Literal[
    "torch2.6",
    "torch2.7",
    "torch2.8",
    "torch2.9",
    "torch2.10",
    "torch2.11",
    "torch2.12",
    "torch2.13",
    "torch2.14",
    "torch2.15",
]
_PACKAGE = "torch"
_MEASURED = (2, 14)
"""The newest release of which is known what it does."""
_OLDEST = 0


def release_of(target_version: str | None, requirements: Iterable[str]) -> tuple[int, ...]:
    """Return the release as numbers: that of the settings, else the newest that the project's requirements admit."""
    if target_version is not None:
        return _numbers(target_version)
    told = [one[len(_PACKAGE) :] for one in requirements if _is_of_torch(one)]
    major, newest = _MEASURED
    minors = range(newest, _OLDEST - 1, -1)
    return next(((major, minor) for minor in minors if all(admits(one, (major, minor)) for one in told)), _MEASURED)


def _is_of_torch(requirement: str) -> bool:
    return requirement.startswith(_PACKAGE) and requirement[len(_PACKAGE) :][:1] in "=~!<>"


def _numbers(target_version: str) -> tuple[int, ...]:
    return tuple(int(part) for part in target_version[len(_PACKAGE) :].split("."))


TARGET_VERSIONS: tuple[str, ...] = get_args(TargetVersion)

__all__ = ["TARGET_VERSIONS", "TargetVersion", "release_of"]
