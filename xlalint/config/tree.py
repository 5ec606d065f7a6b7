"""The configurations of one program: the one of the run, and those of folders below, which hold for the files that they are nearest to.

    load_configuration(paths) ──▶ Configuration ──survey(paths)──▶ Survey: the files, and `Settings` that know all that is nested

Configurations do not inherit: a nested one says all that concerns its files, over the defaults, and the command line's options go over it
as over the one of the run. What concerns the whole program is the run's alone (`PROGRAM_KEYS`).
"""

from __future__ import annotations

import os
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

from msgspec import structs

from xlalint.config.loading import Origin, anchor, common_of, config_in, load_settings, read_config, settings_from
from xlalint.config.settings import PROGRAM_KEYS, ConfigError, Settings
from xlalint.source.discovery import SearchLimit, walk_files

_HEADER = re.compile(r"\s*\[\[?\s*([^\]]+?)\s*\]")
_KEY = re.compile(r"""\s*(?:"([^"]+)"|'([^']+)'|([\w-]+))\s*[=.]""")
_TABLE = "tool.xlalint"
_ROW = re.compile(r"\(at line (\d+), column \d+\)$")


class Survey(NamedTuple):
    """The files and settings of a program. `settings` are the run's, with what is nested; `files` are absolute, sorted, each once.

    `warnings` say which nested keys mean nothing, `errors` which nested configurations cannot be used: there the one around them holds.
    """

    files: list[Path]
    settings: Settings
    warnings: tuple[str, ...] = ()
    errors: tuple[str, ...] = ()


class Configuration:
    """The configuration of a run. Those of folders below are read when they are met; `nested` says whether they are at all."""

    def __init__(
        self, settings: Settings, paths: Sequence[Path], options: Mapping[str, object], *, nested: bool
    ) -> None:
        self.settings = settings
        self._options = anchor({k: v for k, v in options.items() if k not in PROGRAM_KEYS}, settings.root)
        self._nested = nested
        common = common_of(paths)
        # Configurations here and above were looked for: the nearest is the run's.
        top = next(folder for folder in (common, *common.parents) if folder.is_dir() or folder == folder.parent)
        self._below = str(top).rstrip(os.sep) + os.sep
        self._at: dict[str, Settings | None] = {}
        self._around: dict[str, Settings] = {}
        self._warnings: dict[str, str] = {}
        self._errors: dict[str, str] = {}

    def survey(self, paths: Sequence[Path], limit: SearchLimit | None = None) -> Survey:
        """Find the files under the paths, each by the configuration that is nearest to it. Raises `DiscoveryError`, and past a limit
        `TooManyFilesError`."""
        files = walk_files(paths, self, limit)
        found = sorted((one for one in self._at.values() if one is not None), key=lambda one: one.root)
        settings = structs.replace(self.settings, nested=tuple(found)) if found else self.settings
        warnings, errors = ([told[folder] for folder in sorted(told)] for told in (self._warnings, self._errors))
        return Survey(files, settings, tuple(warnings), tuple(errors))

    def around(self, folder: str) -> Settings:
        """The settings that hold in a folder: of the nearest configuration in it or above."""
        if not self._nested or not folder.startswith(self._below):
            return self.settings
        found = self._around.get(folder)
        if found is None:
            found = self._around[folder] = self.at(folder) or self.around(os.path.dirname(folder))  # noqa: PTH120
        return found

    def at(self, folder: str) -> Settings | None:
        """Return the settings of the usable configuration in this very folder, or None."""
        if not self._nested or not folder.startswith(self._below):
            return None
        if folder not in self._at:
            try:
                self._at[folder] = self._read(folder)
            except ConfigError as error:
                self._at[folder] = None
                self._errors[folder] = _place(str(error))
        return self._at[folder]

    def _read(self, folder: str) -> Settings | None:
        found = config_in(Path(folder))
        if found is None:
            return None
        file, table = found
        if str(file) == self.settings.config_file:  # that of the working directory, which is not above all paths
            return self.settings
        program = {key: getattr(self.settings, key) for key in PROGRAM_KEYS}
        rows = rows_of_keys(read_config(file).decode("utf-8-sig"))
        beside = [key for key in table if key.replace("-", "_") in PROGRAM_KEYS]
        if beside:
            self._warnings[folder] = self._warning(Origin(file, rows), beside)
        own = {key: value for key, value in table.items() if key not in beside}
        made = settings_from(own, self._options, file, origin=Origin(file, rows), rules=self.settings.extend_rules)
        return structs.replace(made, **program)

    def _warning(self, origin: Origin, keys: Sequence[str]) -> str:
        others = "".join(f", `{key}`" for key in keys[1:])
        run = self.settings.config_file
        where = f"`{run}`" if run is not None else "the command line or the configuration of the run"
        means = "is" if len(keys) == 1 else "are"
        return f"{origin.of(keys[0])}{others} {means} for the whole program, and read from {where} only"


def load_configuration(
    paths: Sequence[Path] = (),
    *,
    config: Path | None = None,
    isolated: bool = False,
    options: Mapping[str, object] | None = None,
) -> Configuration:
    """The configuration for checking `paths`. Arguments and errors are those of `load_settings`.

    A file that is named by `config` holds for all files, and without any (`isolated`) the defaults do: nothing nested is looked for.
    """
    settings = load_settings(paths, config=config, isolated=isolated, options=options)
    return Configuration(settings, paths, options or {}, nested=config is None and not isolated)


def rows_of_keys(text: str) -> dict[str, int]:
    """The rows, from 1, of the keys of xlalint in a TOML file: of its own file's top, or of `[tool.xlalint]`.

    It reads line by line: a line of a string of many lines that looks like a key may be taken for one that comes later.
    """
    rows: dict[str, int] = {}
    table = ""
    for row, line in enumerate(text.splitlines(), 1):
        header, key = _HEADER.match(line), _KEY.match(line)
        name = ""
        if header is not None:
            table = re.sub(r"[\s\"']", "", header[1])
            inside = table.removeprefix(f"{_TABLE}.") if table.startswith(f"{_TABLE}.") else table
            name = inside.partition(".")[0] if inside != _TABLE else ""
        elif key is not None and table in ("", _TABLE):
            name = key[1] or key[2] or key[3]
        if name:
            rows.setdefault(name, row)
    return rows


def _place(message: str) -> str:
    """The message of a parser's error with its row behind the file, as other messages have it."""
    row = _ROW.search(message)
    return message.replace(": not a TOML file", f":{row[1]}: not a TOML file", 1) if row is not None else message
