"""Explaining: what the analysis believes at one place of one file, why, and what became of the hazards there.

    FILE:LINE[:COL] ──place──▶ Site ──replay (watched)──▶ Scope ──origins, tracing, verdicts, questions──▶ Explanation ──text | JSON

The answer is data (`xlalint.explain.model`); `xlalint.explain.text` puts it in words.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from xlalint.explain.model import Explanation
from xlalint.explain.place import PlaceError, parse_place

if TYPE_CHECKING:
    from xlalint.cache import Cache
    from xlalint.config import Settings
    from xlalint.explain.place import Place
    from xlalint.project.session import Session

__all__ = ["Explanation", "PlaceError", "explain", "explain_in", "parse_place", "program_paths"]


def program_paths(file: Path, settings: Settings) -> tuple[Path, ...]:
    """The program that a file belongs to: its configuration's folder, the package that holds it, the working directory, or its folder."""
    absolute = Path(os.path.abspath(file))  # noqa: PTH100
    if settings.config_file is not None and absolute.is_relative_to(settings.root):
        return (Path(settings.root),)
    package = None
    for folder in absolute.parents:
        if not (folder / "__init__.py").is_file():
            break
        package = folder
    if package is not None:
        return (package,)
    here = Path.cwd()
    return (here,) if absolute.is_relative_to(here) else (absolute.parent,)


def explain(
    place: str,
    paths: Sequence[Path],
    settings: Settings,
    *,
    cache: Cache | None = None,
    jobs: int = 1,
    progress: Callable[[int, int], None] | None = None,
    whole: bool = False,
) -> Explanation:
    """Explain a place in the program that the paths make.

    `whole` analyses all of a large program, not just what matters for the place. Raises `PlaceError` for a place that has no code,
    and what `xlalint.project.check_paths` raises.
    """
    from xlalint.explain.answer import Explainer

    return Explainer(paths, settings, cache, jobs, progress, whole).explain(parse_place(place))


def explain_in(session: Session, place: Place) -> Explanation:
    """Explain a place in a program that stays in memory; rows of notebooks are those of the module. Raises `PlaceError`."""
    from xlalint.explain.answer import Explainer

    with session.lend_program() as loaded:
        return Explainer(session.paths, session.settings, loaded=loaded).explain(place)
