"""Holds what an analysis takes from the settings."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from msgspec import structs

from xlalint.api_tables.lookup import Apis, api_table
from xlalint.config.releases import release_of
from xlalint.frameworks.registry import ROWS, tables
from xlalint.program.hints import NOTHING_TAUGHT, UserHints
from xlalint.rules import Policies, policies

if TYPE_CHECKING:
    from xlalint.config import Settings


class AnalysisOptions(NamedTuple):
    """The API tables and the rules' policies, the targets that tables may ask for, the user's `roots`, and what the user says of names and
    of where code runs."""

    apis: Apis
    policies: Policies
    targets: tuple[str, ...]
    roots: tuple[str, ...] = ()
    hints: UserHints = NOTHING_TAUGHT

    @classmethod
    def from_settings(cls, settings: Settings) -> AnalysisOptions:
        """Read the options from the settings of a program."""
        apis = api_table(tuple(Path(table) for table in tables_of(settings)))
        known = policies(tuple(Path(page) for page in settings.extend_rules))
        return cls(apis, known, _targets(settings), settings.roots, _hints(settings))


def tables_of(settings: Settings) -> list[str]:
    """List the API tables besides those under `rules/apis`, by path: the frameworks' and, last, the user's."""
    return [*map(str, tables()), *(place for place in settings.extend_rules if _holds_tables(Path(place)))]


def _holds_tables(place: Path) -> bool:
    return place.suffix == ".toml" or (place.is_dir() and any(place.glob("**/*.toml")))


def _targets(settings: Settings) -> tuple[str, ...]:
    """The target of each framework."""
    usual = (settings.target if settings.target in row.targets else row.targets[0] for row in ROWS)
    return tuple(dict.fromkeys(usual))


def _hints(settings: Settings) -> UserHints:
    """The hints of the settings, and of those that are nested in them."""
    below = {nested.root: _hints(nested) for nested in settings.nested}
    made = UserHints(
        settings.static,
        settings.tensor,
        settings.target or "",
        _targets(settings),
        below,
        settings.requirements,
        release_of(settings.target_version, settings.requirements),
    )
    if settings.per_file_target:
        own = structs.replace(settings, nested=())
        made.choose_by_file(partial(_hints_of_file, own))
    return made


def _hints_of_file(settings: Settings, path: str) -> UserHints | None:
    """The hints for a file that has a target of its own."""
    found = settings.of(path)
    return _hints(found) if found.target != settings.target else None
