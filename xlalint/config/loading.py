"""Find the configuration file, check every key of it and of the command line, and make `Settings` of both.

What configuration files below say is `xlalint.config.tree`'s part.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterable, Mapping, Sequence
from difflib import get_close_matches
from pathlib import Path
from types import MappingProxyType
from typing import Any, NamedTuple

from msgspec import structs

from xlalint.config.options import OPTIONS, OptionError
from xlalint.config.requirements import find_requirements
from xlalint.config.selectors import merged_selection, resolve
from xlalint.config.settings import ConfigError, Settings, VerifyEntry
from xlalint.source.environment import environment_of, installed_packages
from xlalint.source.files import MOST_TEXT, read_file

OWN_FILE = "xlalint.toml"
PROJECT_FILE = "pyproject.toml"
_PATHS = ("extend_rules",)
_SELECTIONS = ("select", "extend_select", "ignore")


def load_settings(
    paths: Sequence[Path] = (),
    *,
    config: Path | None = None,
    isolated: bool = False,
    options: Mapping[str, object] | None = None,
) -> Settings:
    """The settings for checking `paths`: the nearest configuration file, with `options` of the command line over it.

    `options` has keys as Settings names them, and only those that were given. Where nothing says which `python` the code runs on, the
    active environment is taken, or the project's own. What lies below the folder of that file may have configurations of its own
    (`load_configuration`).
    """
    told = dict(options or {})
    if isolated:
        if config is not None:
            raise ConfigError("--isolated and --config exclude each other")
        return _with_requirements(settings_from({}, _with_python(told, paths, None)), paths)
    found = _find_given(config) if config is not None else find_config(paths)
    if found is None:
        return _with_requirements(settings_from({}, _with_python(told, paths, None)), paths)
    file, table = found
    settings = settings_from(table, told if "python" in table else _with_python(told, paths, file), file)
    return _with_requirements(settings, paths)


def _with_requirements(settings: Settings, paths: Sequence[Path]) -> Settings:
    """The settings, with what the project of the paths asks for."""
    found = find_requirements(common_of(paths))
    return structs.replace(settings, requirements=found) if found else settings


def _with_python(options: dict[str, object], paths: Sequence[Path], file: Path | None) -> dict[str, object]:
    """The options, with the environment that the project is seen to run in where they name none."""
    if "python" in options:
        return options
    project = file.parent if file is not None else _project(paths)
    found = environment_of(project, os.environ)
    return {**options, "python": found} if found is not None else options


class Origin(NamedTuple):
    """Where a configuration table stands, for messages: its file, and the rows of its keys as far as they shall be told."""

    file: Path | None = None
    rows: Mapping[str, int] = MappingProxyType({})

    def of(self, key: str) -> str:
        """Where a key stands, by its name in kebab-case."""
        row = f":{self.rows[key]}" if key in self.rows else ""
        return f"{self.file}{row}: `{key}`" if self.file else f"`{key}`"


def settings_from(
    table: Mapping[str, object],
    options: Mapping[str, object],
    file: Path | None = None,
    *,
    origin: Origin | None = None,
    rules: Sequence[str] = (),
) -> Settings:
    """Check a configuration table (keys in kebab-case) and options (in snake_case), and put the options over the table.

    `origin` is the table's, for messages; `rules` are places of rules that may be named besides those that table and options extend.
    """
    origin = origin or Origin(file)
    in_file = _check({key.replace("-", "_"): value for key, value in table.items()}, table, origin)
    given = {key: _value(key, value, f"--{_kebab(key)}") for key, value in options.items()}
    root = file.parent if file else Path.cwd()
    _absolute(in_file, root)
    _absolute(given, Path.cwd())
    for values, where in ((in_file, origin.of("python")), (given, "--python")):
        _check_python(values, where)
    extra = (*rules, *in_file.get("extend_rules", ()), *given.get("extend_rules", ()))
    for key in (*_SELECTIONS, "per_file_ignores"):
        for values, where in ((in_file, origin.of(_kebab(key))), (given, f"--{_kebab(key)}")):
            if key in values:
                values[key] = resolve(values[key], extra, where)
    merged = {**in_file, **given, **merged_selection(in_file, given)}
    merged["extend_exclude"] = (*in_file.get("extend_exclude", ()), *given.get("extend_exclude", ()))
    return Settings(root=str(root), config_file=str(file) if file else None, **merged)


def find_config(paths: Sequence[Path]) -> tuple[Path, dict[str, Any]] | None:
    """The configuration file nearest to what the paths have in common, else to the working directory."""
    cwd = Path.cwd()
    common = common_of(paths)
    seen: set[Path] = set()
    for folder in (common, *common.parents, cwd, *cwd.parents):
        if folder not in seen and (found := config_in(folder)) is not None:
            return found
        seen.add(folder)
    return None


def _project(paths: Sequence[Path]) -> Path | None:
    """The nearest folder around what the paths have in common that holds a `pyproject.toml`; None where none does."""
    common = common_of(paths)
    return next((folder for folder in (common, *common.parents) if (folder / "pyproject.toml").is_file()), None)


def common_of(paths: Sequence[Path]) -> Path:
    """Return the common parent of the paths; the working directory if there is none."""
    places = [Path(os.path.abspath(path)) for path in paths] or [Path.cwd()]  # noqa: PTH100
    try:
        return Path(os.path.commonpath(places))
    except ValueError:  # different drives
        return Path.cwd()


def config_in(folder: Path) -> tuple[Path, dict[str, Any]] | None:
    """The configuration file in a folder, with its table; None where there is none."""
    own = folder / OWN_FILE
    if own.is_file():
        return own, _table(own, read_config(own))
    project = folder / PROJECT_FILE
    if project.is_file():
        raw = read_config(project)
        # Foreign projects' files, valid or not, are not our concern; and parsing takes longer than a search.
        if b"xlalint" in raw and (table := _table(project, raw)):
            return project, table
    return None


def _find_given(config: Path) -> tuple[Path, dict[str, Any]]:
    file = Path(os.path.abspath(config))  # noqa: PTH100
    return file, _table(file, read_config(file))


def read_config(file: Path) -> bytes:
    """The content of a configuration file. Raises `ConfigError`."""
    try:
        return read_file(file, MOST_TEXT)
    except OSError as error:
        raise ConfigError(f"{file}: the configuration cannot be read: {error.strerror}") from error


def _table(file: Path, raw: bytes) -> dict[str, Any]:
    """The settings in a file: `[tool.xlalint]`, or all of a file that has no `[tool]`."""
    if sys.version_info >= (3, 11):
        import tomllib
    else:
        import tomli as tomllib
    try:
        document = tomllib.loads(raw.decode("utf-8-sig"))
    except (UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
        raise ConfigError(f"{file}: not a TOML file: {error}") from error
    if file.name != "pyproject.toml" and "tool" not in document:
        return document
    tool = document.get("tool", {})
    table = tool.get("xlalint", {}) if isinstance(tool, dict) else {}
    if not isinstance(table, dict):
        raise ConfigError(f"{file}: `tool.xlalint` must be a table")
    return table


def _check(told: Mapping[str, object], written: Iterable[str], origin: Origin) -> dict[str, Any]:
    known = [_kebab(key) for key in OPTIONS]
    for key in written:
        if key not in known:
            near = get_close_matches(key, known, n=1, cutoff=0.5)
            hint = f"; did you mean `{near[0]}`?" if near else ""
            raise ConfigError(f"{origin.of(key)}: unknown key{hint}")
    return {key: _value(key, value, origin.of(_kebab(key))) for key, value in told.items()}


def _value(key: str, value: object, where: str) -> Any:
    try:
        return OPTIONS[key](value)
    except OptionError as error:
        raise ConfigError(f"{where}: {error}") from error


def _absolute(values: dict[str, Any], base: Path) -> None:
    for key in _PATHS:
        if key in values:
            values[key] = tuple(_path(base, value) for value in values[key])
    for key in ("cache_dir", "baseline"):
        if key in values:
            values[key] = _path(base, values[key])
    if "verify" in values:
        values["verify"] = tuple(_entry(base, entry) for entry in values["verify"])
    if values.get("python"):
        values["python"] = _path(base, values["python"])


def _entry(base: Path, entry: VerifyEntry) -> VerifyEntry:
    """An entry with an absolute file, where its target is in a file and not in a module."""
    file, found, name = entry.target.partition(".py")
    return structs.replace(entry, target=f"{_path(base, f'{file}.py')}{name}") if found else entry


def _check_python(values: dict[str, Any], where: str) -> None:
    """See to it that a `python` that somebody named has packages; an empty one stands for none."""
    if values.get("python") == "":
        values["python"] = None
    elif "python" in values and installed_packages(values["python"]) is None:
        raise ConfigError(f"{where}: neither an interpreter nor an environment with packages: {values['python']}")


def _path(base: Path, value: str) -> str:
    return os.path.abspath(base / Path(value).expanduser())  # noqa: PTH100


def _kebab(key: str) -> str:
    return key.replace("_", "-")
