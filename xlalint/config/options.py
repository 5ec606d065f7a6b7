"""The keys of the configuration, each with the check that its value has to pass."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from difflib import get_close_matches
from typing import Any, get_args

from xlalint.config.settings import Backend, Confidence, Device, Target, VerifyEntry


class OptionError(ValueError):
    """A value of the wrong type, or a word that is none of the known ones."""


def _strings(value: object) -> tuple[str, ...]:
    if not isinstance(value, (list, tuple)) or not all(isinstance(item, str) for item in value):
        raise OptionError(f"must be a list of strings, not {_shown(value)}")
    return tuple(value)


def _string(value: object) -> str:
    if not isinstance(value, str):
        raise OptionError(f"must be a string, not {_shown(value)}")
    return value


def _flag(value: object) -> bool:
    if not isinstance(value, bool):
        raise OptionError(f"must be true or false, not {_shown(value)}")
    return value


def _count(value: object, what: str = "a whole number from 0 (one per core)") -> int:
    if not isinstance(value, int) or isinstance(value, bool) or value < 0:
        raise OptionError(f"must be {what}, not {_shown(value)}")
    return value


def _per_file(value: object) -> tuple[tuple[str, tuple[str, ...]], ...]:
    if not isinstance(value, Mapping):
        raise OptionError(f"must be a table from patterns to lists of codes, not {_shown(value)}")
    return tuple((str(pattern), _strings(codes)) for pattern, codes in value.items())


def _one_of(literal: object) -> Callable[[object], str]:
    words = get_args(literal)

    def check(value: object) -> str:
        word = _string(value)
        if word not in words:
            near = get_close_matches(word, words, n=1, cutoff=0.4)
            hint = f"; did you mean `{near[0]}`?" if near else ""
            raise OptionError(f"unknown value `{word}`{hint} (one of {', '.join(words)})")
        return word

    return check


def _entries(value: object) -> tuple[VerifyEntry, ...]:
    if not isinstance(value, (list, tuple)) or not all(isinstance(item, Mapping) for item in value):
        raise OptionError(f"must be tables, [[tool.xlalint.verify]], not {_shown(value)}")
    return tuple(_entry(table, number) for number, table in enumerate(value, 1))


def _entry(table: Mapping[str, object], number: int) -> VerifyEntry:
    """One `[[tool.xlalint.verify]]`; `inputs` may be a table, or the text that a mark has between its parentheses."""
    told: dict[str, Any] = {}
    for key, value in table.items():
        if key not in _ENTRY:
            near = get_close_matches(key, _ENTRY, n=1, cutoff=0.5)
            hint = f"; did you mean `{near[0]}`?" if near else f" (one of {', '.join(_ENTRY)})"
            raise OptionError(f"entry {number}: unknown key `{key}`{hint}")
        try:
            told[key.replace("-", "_")] = _ENTRY[key](value)
        except OptionError as error:
            raise OptionError(f"entry {number}: `{key}` {error}") from error
    if not told.get("target"):
        raise OptionError(f'entry {number} has no `target`; write target = "path/file.py:fn" or "pkg.mod:fn"')
    return VerifyEntry(**told)


def _inputs(value: object) -> str:
    if not isinstance(value, Mapping):
        return _string(value)
    return ", ".join(f"{name}={given!r}" for name, given in value.items())


def _shown(value: object) -> str:
    text = {True: "true", False: "false"}.get(value, repr(value)) if isinstance(value, bool) else repr(value)
    return text if len(text) <= 60 else text[:57] + "..."


_ENTRY: dict[str, Callable[[object], Any]] = {
    "target": _string,
    "inputs": _inputs,
    "factory": _string,
    "backend": _one_of(Backend),
    "max-compiles": lambda value: _count(value, "a whole number from 0"),
}

OPTIONS: dict[str, Callable[[object], Any]] = {
    "select": _strings,
    "extend_select": _strings,
    "ignore": _strings,
    "per_file_ignores": _per_file,
    "target": _one_of(Target),
    "device": _one_of(Device),
    "min_confidence": _one_of(Confidence),
    "show_info": _flag,
    "include": _strings,
    "exclude": _strings,
    "extend_exclude": _strings,
    "respect_gitignore": _flag,
    "roots": _strings,
    "static": _strings,
    "tensor": _strings,
    "extend_rules": _strings,
    "cache_dir": _string,
    "python": _string,
    "jobs": _count,
    "verify": _entries,
    "baseline": _string,
}
