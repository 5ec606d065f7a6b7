"""Reads the client's settings: the section `xlalint`, or `initializationOptions`.

Keys of the configuration file, in camelCase or as they are there, win over that file, as options of the command line do. The others are
for editors alone.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

from xlalint.config.options import OPTIONS

SECTION = "xlalint"
_CAPITAL = re.compile(r"(?<=[a-z0-9])[A-Z]")
_PATHS = ("cache_dir", "python")


class Preferences(NamedTuple):
    """`options` are settings of the analysis, `config` is the configuration file to use, `isolated` says to use none. `inlay_hints`,
    `code_lens`: show them. `unknown` are keys that mean nothing."""

    options: Mapping[str, object] = {}
    config: str | None = None
    isolated: bool = False
    inlay_hints: bool = False
    code_lens: bool = True
    unknown: tuple[str, ...] = ()


def preferences(told: object, root: Path) -> Preferences:
    """Read the client's settings, which may be anything; relative paths start at `root`."""
    if not isinstance(told, Mapping):
        return Preferences()
    told = within(told)
    options: dict[str, object] = {}
    own: dict[str, Any] = {}
    unknown: list[str] = []
    for key, value in told.items():
        name = _CAPITAL.sub(lambda match: f"_{match[0].lower()}", str(key)).replace("-", "_")
        if value is None:
            continue
        if name in OPTIONS and name != "extend":
            options[name] = str(root / Path(str(value)).expanduser()) if name in _PATHS and value != "" else value
        elif name in ("isolated", "inlay_hints", "code_lens") and isinstance(value, bool):
            own[name] = value
        elif name == "configuration" and isinstance(value, str):
            own["config"] = str(root / Path(value).expanduser()) if value else None
        else:
            unknown.append(str(key))
    return Preferences(options, **own, unknown=tuple(unknown))


def within(told: Mapping[str, Any]) -> Mapping[str, Any]:
    """The settings in what a client calls so: they themselves, or a table that has them under our name, or under `settings`."""
    for name in ("settings", SECTION):
        inner = told.get(name)
        if isinstance(inner, Mapping):
            told = inner
    return told
