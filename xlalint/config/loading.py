"""Find the configuration file, check every key of it and of the command line, and make `Settings` of both.

What configuration files below say is `xlalint.config.tree`'s part.
"""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from difflib import get_close_matches
from pathlib import Path
from types import MappingProxyType, ModuleType
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
_SELECTORS = ("select", "extend_select", "ignore", "fixable", "unfixable", "per_file_ignores")
# Patterns of paths, which start at the folder of the file that has them.
_PATTERNS = ("include", "exclude", "extend_exclude")
_BY_PATTERN = ("per_file_ignores", "per_file_target", "per_file_device")
_ADDED = ("extend_exclude", "extend_rules")
_WILD = re.compile(r"[*?\[]")


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
    settings = settings_from(table, told if _says(table, file, "python") else _with_python(told, paths, file), file)
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
    """Where a configuration table stands, for messages: its file, or what it is `named`, and the rows of its keys as far as they shall be
    told."""

    file: Path | None = None
    rows: Mapping[str, int] = MappingProxyType({})
    named: str = ""

    def of(self, key: str) -> str:
        """Where a key stands, by its name in kebab-case."""
        row = f":{self.rows[key]}" if key in self.rows else ""
        place = f"{self.file}{row}" if self.file else self.named
        return f"{place}: `{key}`" if place else f"`{key}`"


def settings_from(
    table: Mapping[str, object],
    options: Mapping[str, object],
    file: Path | None = None,
    *,
    origin: Origin | None = None,
    rules: Sequence[str] = (),
) -> Settings:
    """Check a configuration table (keys in kebab-case) and options (in snake_case), and put the options over the table, and the table over
    what it extends.

    `origin` is the table's, for messages; `rules` are places of rules that may be named besides those that table and options extend.
    """
    extends: list[str] = []
    in_file = _values_of(table, origin or Origin(file), file, extends, rules)
    if "extend" in options:
        raise ConfigError("`extend`: only a configuration file can extend another")
    given = {key: _value(key, value, f"--{_kebab(key)}") for key, value in options.items()}
    _make_absolute(given, Path.cwd())
    _check_python(given, "--python")
    extra = (*rules, *in_file.get("extend_rules", ()), *given.get("extend_rules", ()))
    _resolve(given, extra, lambda key: f"--{_kebab(key)}")
    merged = {**in_file, **given, **merged_selection(in_file, given)}
    merged["extend_exclude"] = (*in_file.get("extend_exclude", ()), *given.get("extend_exclude", ()))
    root = file.parent if file else Path.cwd()
    return Settings(root=str(root), config_file=str(file) if file else None, extends=tuple(extends), **merged)


def _values_of(
    table: Mapping[str, object], origin: Origin, file: Path | None, extends: list[str], rules: Sequence[str] = ()
) -> dict[str, Any]:
    """The checked values of a table, over those of the file that it extends; `extends` takes down the files that were read for it."""
    values = _check({key.replace("-", "_"): value for key, value in table.items()}, table, origin)
    named = values.pop("extend", None)
    base = _values_extended(named, file, origin, extends, rules) if named is not None else {}
    _make_absolute(values, file.parent if file else Path.cwd())
    _check_python(values, origin.of("python"))
    _resolve(
        values,
        (*rules, *base.get("extend_rules", ()), *values.get("extend_rules", ())),
        lambda key: origin.of(_kebab(key)),
    )
    if not base:
        return values
    merged = {**base, **values, **merged_selection(base, values)}
    merged |= {key: (*base.get(key, ()), *values.get(key, ())) for key in _ADDED if key in merged}
    # The first pattern that matches counts: those of the file itself come before those that it extends.
    return merged | {key: (*values.get(key, ()), *base.get(key, ())) for key in _BY_PATTERN if key in merged}


def _values_extended(
    named: str, file: Path | None, origin: Origin, extends: list[str], rules: Sequence[str]
) -> dict[str, Any]:
    """The values of a file that `extend` names; its patterns mean what they mean in its own folder."""
    if file is None:
        raise ConfigError(f"{origin.of('extend')}: only a configuration file can extend another")
    other = Path(_path(file.parent, named))
    if str(other) in (str(file), *extends):
        raise ConfigError(f"{origin.of('extend')}: `{named}` leads back to where it began")
    extends.append(str(other))
    try:
        table = _table(other, read_config(other))
    except ConfigError as error:
        raise ConfigError(f"{origin.of('extend')}: {error}") from error
    values = _values_of(table, Origin(other), other, extends, rules)
    return anchor(values, str(other.parent))


def _says(table: Mapping[str, object], file: Path, key: str) -> bool:
    """Return whether a table, or a file that it extends, has a key. Files that cannot be extended are told of where they are read."""
    seen = {str(file)}
    while key not in table and isinstance(named := table.get("extend"), str):
        file = Path(_path(file.parent, named))
        if str(file) in seen:
            return False
        seen.add(str(file))
        try:
            table = _table(file, read_config(file))
        except ConfigError:
            return False
    return key in table


def anchor(values: Mapping[str, Any], root: str) -> dict[str, Any]:
    """Have the patterns of paths among some values mean the same in every folder: paths in them start at `root`."""
    made = dict(values)
    for key in _PATTERNS:
        patterns = made.get(key)
        if isinstance(patterns, (list, tuple)):
            made[key] = tuple(
                _anchor_pattern(pattern, root) if isinstance(pattern, str) else pattern for pattern in patterns
            )
    for key in _BY_PATTERN:
        told = made.get(key)
        if isinstance(told, Mapping):
            made[key] = {_anchor_pattern(str(pattern), root): what for pattern, what in told.items()}
        elif told is not None:
            made[key] = tuple((_anchor_pattern(pattern, root), what) for pattern, what in told)
    return made


def _anchor_pattern(pattern: str, root: str) -> str:
    wanted = "" if not pattern.startswith("!") else "!"
    path = pattern.removeprefix("!").replace("\\", "/").removeprefix("./")
    if "/" not in path.rstrip("/") or Path(path).is_absolute():
        return pattern
    escaped = _WILD.sub(r"[\g<0>]", root.replace("\\", "/").rstrip("/"))
    return f"{wanted}{escaped}/{path}"


def read_inline(text: str) -> dict[str, object]:
    """Read `KEY = VALUE` as a configuration file has it: options, in snake_case. Raises `ConfigError`."""
    try:
        table = _toml().loads(text)
    except ValueError as error:
        raise ConfigError(f"--config `{text}`: neither a file nor `KEY = VALUE` in TOML: {error}") from error
    tool = table.get("tool")
    own = tool.get("xlalint", table) if isinstance(tool, dict) else table  # as it is written in pyproject.toml
    if "extend" in own:
        raise ConfigError(f"--config `{text}`: only a configuration file can extend another")
    origin = Origin(named="--config")
    told = {key.replace("-", "_"): value for key, value in own.items()}
    _check(told, own, origin)
    return told


def _resolve(values: dict[str, Any], extra: tuple[str, ...], where: Callable[[str], str]) -> None:
    """Replace the words that select rules by prefixes of codes."""
    for key in _SELECTORS:
        if key in values:
            values[key] = resolve(values[key], extra, where(key))


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
    try:
        document = _toml().loads(raw.decode("utf-8-sig"))
    except ValueError as error:  # of the encoding, or of TOML
        raise ConfigError(f"{file}: not a TOML file: {error}") from error
    if file.name != "pyproject.toml" and "tool" not in document:
        return dict(document)
    tool = document.get("tool", {})
    table: Any = tool.get("xlalint", {}) if isinstance(tool, dict) else {}
    if not isinstance(table, dict):
        raise ConfigError(f"{file}: `tool.xlalint` must be a table")
    return table


def _toml() -> ModuleType:
    """The reader of TOML, which takes some milliseconds to import."""
    if sys.version_info >= (3, 11):
        import tomllib
    else:
        import tomli as tomllib
    return tomllib


def _check(told: Mapping[str, object], written: Iterable[str], origin: Origin) -> dict[str, Any]:
    known = [_kebab(key) for key in OPTIONS]
    for key in written:
        if key not in known:
            near = get_close_matches(key, known, n=1, cutoff=0.65)
            hint = f"; did you mean `{near[0]}`?" if near else ""
            raise ConfigError(f"{origin.of(key)}: unknown key{hint}")
    return {key: _value(key, value, origin.of(_kebab(key))) for key, value in told.items()}


def _value(key: str, value: object, where: str) -> Any:
    try:
        return OPTIONS[key](value)
    except OptionError as error:
        raise ConfigError(f"{where}: {error}") from error


def _make_absolute(values: dict[str, Any], base: Path) -> None:
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
