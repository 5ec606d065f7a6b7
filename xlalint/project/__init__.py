"""The pipeline over a set of files: discover → lower → link → interpret → check, cached and in parallel.

Stages are imported when they are first needed: a run that finds its result in the cache loads none of them.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence, Set
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING

from xlalint.project.report import Report

if TYPE_CHECKING:
    from collections import Counter
    from concurrent.futures import Executor

    from xlalint.cache import Cache
    from xlalint.config import Settings
    from xlalint.project.rewriting import Memory
    from xlalint.project.stages import Stages

__all__ = ["Report", "check_paths", "check_text"]


def check_paths(
    paths: Sequence[Path],
    settings: Settings,
    *,
    cache: Cache | None = None,
    jobs: int = 1,
    progress: Callable[[int, int], None] | None = None,
    contents: Mapping[str, bytes] = MappingProxyType({}),
    fixes: Memory | None = None,
    executor: Executor | None = None,
    troubles: Counter[str] | None = None,
    found: Sequence[Path] | None = None,
    wanted: Set[str] | None = None,
    stages: Stages | None = None,
) -> Report:
    """Check all Python files under the paths as one program. `found` are these files, where `Configuration.survey` gave them; only those
    that are `wanted`, by absolute path, are reported on.

    `jobs` is the number of processes; `progress` is called with the number of files done and of all files; `contents` holds
    what files shall be read as, by absolute path; with `fixes`, which remembers them, findings have their fixes. With an
    `executor` of any kind files are lowered by it, and what it does not give is lowered here: `troubles` counts why.
    `stages` times the work.

    Raises `DiscoveryError` for a path that does not exist, `RuleError` and `TableError` for rules of the user that cannot be used.
    """
    from xlalint.project.pipeline import Run

    run = Run(
        settings, cache, jobs, progress, contents, fixes=fixes, executor=executor, troubles=troubles, stages=stages
    )
    return run.check(paths, found, wanted)


def check_text(text: str, filename: str, settings: Settings, *, fixes: Memory | None = None) -> Report:
    """Check one text by itself, as the file `filename` (which need not exist)."""
    from xlalint.project.pipeline import check_one

    return check_one(text, filename, settings, fixes=fixes)
