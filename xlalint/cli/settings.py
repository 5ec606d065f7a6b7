"""The options that `check` and `explain` share, and the settings that they give."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar

import click

from xlalint.cli.saying import say, warn

if TYPE_CHECKING:
    from click.shell_completion import CompletionItem

    from xlalint.cache import Cache
    from xlalint.config import Configuration, Settings, Survey

_Command = TypeVar("_Command", bound=Callable[..., Any])
_LISTS = ("select", "ignore", "extend_select", "fixable", "unfixable", "include", "exclude", "extend_exclude")
_PLAIN = (
    "target",
    "target_version",
    "device",
    "min_confidence",
    "show_info",
    "force_exclude",
    "respect_gitignore",
    "cache_dir",
    "python",
    "jobs",
    "max_file_size",
    "ignore_noqa",
    "unsafe_fixes",
)


class GivenConfig(NamedTuple):
    """Holds the values of `--config`: the file to use, if one is named, and settings that go over it, in snake_case."""

    file: Path | None = None
    inline: Mapping[str, object] = MappingProxyType({})


def read_config_option(context: click.Context, parameter: click.Parameter, values: tuple[str, ...]) -> GivenConfig:
    """Tell files from settings among the values of `--config`. Raises `ConfigError`."""
    from xlalint.config.loading import read_inline

    file: Path | None = None
    inline: dict[str, object] = {}
    for value in values:
        if "=" in value and not os.path.lexists(value):
            inline |= read_inline(value)
        elif file is not None:
            raise click.UsageError(
                f"`--config` names two files, `{file}` and `{value}`: one is used, and may extend the other"
            )
        else:
            file = Path(value)
    return GivenConfig(file, inline)


def complete_rules(context: click.Context, parameter: click.Parameter, incomplete: str) -> list[CompletionItem]:
    """Complete the last of some codes and names, separated by commas."""
    from click.shell_completion import CompletionItem

    from xlalint.rules import rules

    before, comma, word = incomplete.rpartition(",")
    words = {name: rule.summary for rule in rules().values() for name in (rule.code, rule.name)} | {"ALL": "every rule"}
    wanted = word.lower()
    return [
        CompletionItem(before + comma + name, help=summary)
        for name, summary in words.items()
        if name.lower().startswith(wanted)
    ]


def _complete_words(key: str) -> Callable[[click.Context, click.Parameter, str], list[str]]:
    """Complete the words that a key of the configuration may have."""

    def complete(context: click.Context, parameter: click.Parameter, incomplete: str) -> list[str]:
        from xlalint.config.options import OPTIONS

        return [word for word in OPTIONS[key].schema["enum"] if word.startswith(incomplete)]

    return complete


config_option = click.option(
    "--config",
    multiple=True,
    metavar="FILE | KEY=VALUE",
    callback=read_config_option,
    help="The configuration file to use, or a setting, in TOML, that goes over the file's; repeatable.",
)

_OPTIONS = (
    click.option(
        "--select",
        multiple=True,
        metavar="RULES",
        shell_complete=complete_rules,
        help="Rules to look for: codes, prefixes or names, separated by commas.",
    ),
    click.option("--ignore", multiple=True, metavar="RULES", shell_complete=complete_rules, help="Rules to leave out."),
    click.option(
        "--extend-select", multiple=True, metavar="RULES", shell_complete=complete_rules, help="More rules to look for."
    ),
    click.option("--per-file-ignores", multiple=True, metavar="PATTERN:RULE", help="Rules to leave out in some files."),
    click.option(
        "--per-file-target",
        multiple=True,
        metavar="PATTERN:TARGET",
        help="The target of the files that a pattern matches; the first one counts.",
    ),
    click.option(
        "--per-file-device",
        multiple=True,
        metavar="PATTERN:DEVICE",
        help="The device of the files that a pattern matches; the first one counts.",
    ),
    click.option("--ignore-noqa", is_flag=True, default=None, help="Report what comments silence, too."),
    click.option(
        "--target",
        metavar="TARGET",
        shell_complete=_complete_words("target"),
        help="torch_xla, torch_tpu, torch_compile, tf or jax.",
    ),
    click.option(
        "--target-version",
        metavar="RELEASE",
        shell_complete=_complete_words("target_version"),
        help="The release of PyTorch that code is judged for: torch2.6 to torch2.15.",
    ),
    click.option("--device", metavar="DEVICE", shell_complete=_complete_words("device"), help="tpu, gpu or cpu."),
    click.option(
        "--min-confidence",
        metavar="LEVEL",
        shell_complete=_complete_words("min_confidence"),
        help="certain, likely (the default) or possible.",
    ),
    click.option("--show-info/--no-show-info", default=None, help="Show findings of severity `info` too."),
)
_CACHE = (
    click.option("--no-cache", "-n", is_flag=True, help="Do not read or write the cache."),
    click.option("--cache-dir", metavar="DIR", envvar="XLALINT_CACHE_DIR", help="Where to keep results."),
)
_RUNNING = (
    click.option("-j", "--jobs", type=click.IntRange(min=0), metavar="N", help="Processes to use; 0 is one per core."),
    *_CACHE,
    click.option(
        "--python",
        metavar="PATH",
        help="The interpreter or environment whose installed packages are followed (default: the active environment, else the "
        'project\'s .venv); "" for none.',
    ),
    config_option,
    click.option("--isolated", is_flag=True, help="Use no configuration file."),
    click.option(
        "--include", multiple=True, metavar="PATTERNS", help="Files to check in folders (default: *.py, *.ipynb)."
    ),
    click.option("--exclude", multiple=True, metavar="PATTERNS", help="Files and folders to exclude."),
    click.option("--extend-exclude", multiple=True, metavar="PATTERNS", help="More files and folders to exclude."),
    click.option(
        "--force-exclude/--no-force-exclude",
        default=None,
        help="Exclude files even if they are named on the command line, as commit hooks name them.",
    ),
    click.option("--max-file-size", metavar="SIZE", help="Do not read larger files, and report them (default: 5MB)."),
    click.option("--respect-gitignore/--no-respect-gitignore", default=None, help="Skip what git ignores."),
)


def rule_options(command: _Command) -> _Command:
    """Add the options that say what to look for, and how it is judged."""
    for option in reversed(_OPTIONS):
        command = option(command)
    return command


def cache_options(command: _Command) -> _Command:
    """Add the options for the cache alone."""
    for option in reversed(_CACHE):
        command = option(command)
    return command


def running_options(command: _Command) -> _Command:
    """Add the options for files, configuration and cache."""
    for option in reversed(_RUNNING):
        command = option(command)
    return command


def collect_settings(options: Mapping[str, Any]) -> dict[str, object]:
    """Collect the options that speak of settings and were given; what `--config` says has less weight than an option of its own."""
    told: dict[str, object] = dict(options["config"].inline)
    told |= {key: options[key] for key in _PLAIN if options.get(key) is not None}
    told |= {key: _split(options[key]) for key in _LISTS if options.get(key)}
    for key in ("per_file_target", "per_file_device"):
        if options[key]:
            told[key] = _by_pattern(_split(options[key]), key)
    if options["per_file_ignores"]:
        told["per_file_ignores"] = _per_file(_split(options["per_file_ignores"]))
    return told


def survey_files(configuration: Configuration, paths: Sequence[Path]) -> Survey:
    """Find the files under the paths with their settings; what nested configurations say to no purpose, or cannot say, is told."""
    survey = configuration.survey(paths)
    tell_survey(survey)
    return survey


def tell_survey(survey: Survey) -> None:
    """Tell what nested configurations say to no purpose, or cannot say."""
    for warning in survey.warnings:
        warn(warning)
    for error in survey.errors:
        say(f"{error} (this configuration is not used)")


@contextmanager
def cache_of(
    options: Mapping[str, Any], settings: Settings, *, rounds: bool = False, home: Path | None = None
) -> Iterator[Cache]:
    """The cache that a run uses. A run of several `rounds` that may leave nothing behind has one of its own for as long as it takes.

    Where no configuration says where the program begins, results are kept in its `home`, so that they serve from every folder.
    """
    from xlalint.cache import FOLDER, Cache

    if not options["no_cache"]:
        found = home is not None and settings.config_file is None and os.access(home, os.W_OK)
        root = str(home) if found else settings.root
        with Cache(Path(settings.cache_dir or Path(root, FOLDER)), root) as cache:
            yield cache
    elif rounds:
        with TemporaryDirectory(prefix="xlalint-") as folder, Cache(Path(folder)) as cache:
            cache.warning = None
            yield cache
    else:
        yield Cache(None)


def cores() -> int:
    """How many cores this process may use."""
    affinity = getattr(os, "sched_getaffinity", None)
    return len(affinity(0)) if affinity else os.cpu_count() or 1


def _split(values: tuple[str, ...]) -> list[str]:
    return [word.strip() for value in values for word in value.split(",") if word.strip()]


def _by_pattern(entries: list[str], key: str) -> dict[str, str]:
    """`train/*:jax` entries."""
    found: dict[str, str] = {}
    for entry in entries:
        pattern, _, word = entry.rpartition(":")
        if not pattern or not word:
            name = key.replace("_", "-")
            raise click.BadParameter(
                f"`{entry}` is not PATTERN:{name.rpartition('-')[2].upper()}", param_hint=f"--{name}"
            )
        found[pattern] = word
    return found


def _per_file(entries: list[str]) -> dict[str, list[str]]:
    """`tests/*:XLA1` entries; one without a colon gives another rule to the pattern before it."""
    found: dict[str, list[str]] = {}
    pattern = ""
    for entry in entries:
        before, colon, code = entry.rpartition(":")
        pattern = before if colon else pattern
        if not pattern or not code:
            raise click.BadParameter(f"`{entry}` is not PATTERN:RULE", param_hint="--per-file-ignores")
        found.setdefault(pattern, []).append(code)
    return found
