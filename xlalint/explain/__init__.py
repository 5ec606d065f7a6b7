"""Explaining: what the analysis believes at one place of one file, why, and what became of the hazards there.

    FILE:LINE[:COL] ──place──▶ Site ──replay (watched)──▶ Scope ──origins, tracing, verdicts, questions──▶ Explanation ──text | JSON

The answer is data (`xlalint.explain.model`); `xlalint.explain.text` puts it in words.
"""

from __future__ import annotations

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

__all__ = ["Explanation", "PlaceError", "explain", "explain_in", "parse_place"]


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
