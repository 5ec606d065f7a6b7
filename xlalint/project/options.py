"""What an analysis takes from the settings."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from xlalint.api_tables.lookup import Apis, api_table
from xlalint.program.hints import NOTHING_TAUGHT, TARGETS, UserHints
from xlalint.rules import Policies, policies

if TYPE_CHECKING:
    from xlalint.config import Settings

_TORCH_TARGETS = ("torch_xla", "torch_tpu", "torch_compile")


class AnalysisOptions(NamedTuple):
    """The API tables and the rules' policies, the targets that tables may ask for, the user's `roots`, and what the user says of names and
    of where code runs."""

    apis: Apis
    policies: Policies
    targets: tuple[str, ...] = TARGETS
    roots: tuple[str, ...] = ()
    hints: UserHints = NOTHING_TAUGHT

    @classmethod
    def from_settings(cls, settings: Settings) -> AnalysisOptions:
        """Read the options from the settings of a program."""
        apis = api_table(tuple(Path(table) for table in tables_of(settings)))
        known = policies(tuple(Path(page) for page in settings.extend_rules))
        return cls(apis, known, _targets(settings), settings.roots, _hints(settings))


def tables_of(settings: Settings) -> list[str]:
    """The user's own API tables, by path."""
    return [place for place in settings.extend_rules if _holds_tables(Path(place))]


def _holds_tables(place: Path) -> bool:
    return place.suffix == ".toml" or (place.is_dir() and any(place.glob("**/*.toml")))


def _targets(settings: Settings) -> tuple[str, ...]:
    """The target of each framework."""
    torch = settings.target if settings.target in _TORCH_TARGETS else "torch_xla"
    return (torch, "tf", "jax")


def _hints(settings: Settings) -> UserHints:
    """The hints of the settings, and of those that are nested in them."""
    below = {nested.root: _hints(nested) for nested in settings.nested}
    return UserHints(settings.static, settings.tensor, settings.target or "", _targets(settings), below)
