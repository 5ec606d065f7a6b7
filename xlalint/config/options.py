"""The keys of the configuration, each with the check that its value has to pass."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from difflib import get_close_matches
from typing import Any, NamedTuple, get_args

from xlalint.config.releases import TargetVersion
from xlalint.config.settings import Backend, Confidence, Device, Target, VerifyEntry
from xlalint.source.files import MOST_BYTES, shown_size

_UNITS = {"": 1, "b": 1, "k": 10**3, "m": 10**6, "g": 10**9, "kb": 10**3, "mb": 10**6, "gb": 10**9}
_UNITS |= {"kib": 2**10, "mib": 2**20, "gib": 2**30}
_SIZE = re.compile(rf"([0-9]{{1,12}}(?:\.[0-9]{{1,6}})?)\s*({'|'.join(sorted(_UNITS, reverse=True))})", re.IGNORECASE)


class OptionError(ValueError):
    """A value of the wrong type, or a word that is none of the known ones."""


def _strings(value: object) -> tuple[str, ...]:
    if not isinstance(value, (list, tuple)) or not all(isinstance(item, str) for item in value):
        raise OptionError(f"must be a list of strings, not {_show(value)}")
    return tuple(value)


def _string(value: object) -> str:
    if not isinstance(value, str):
        raise OptionError(f"must be a string, not {_show(value)}")
    return value


def _flag(value: object) -> bool:
    if not isinstance(value, bool):
        raise OptionError(f"must be true or false, not {_show(value)}")
    return value


def _count(value: object, what: str = "a whole number from 0 (one per core)") -> int:
    if not isinstance(value, int) or isinstance(value, bool) or value < 0:
        raise OptionError(f"must be {what}, not {_show(value)}")
    return value


def _size(value: object) -> int:
    """A number of bytes, or a text as `5MB`."""
    written = _SIZE.fullmatch(value.strip()) if isinstance(value, str) else None
    if written is not None:
        size = int(float(written[1]) * _UNITS[written[2].lower()])
    elif isinstance(value, int) and not isinstance(value, bool):
        size = value
    else:
        raise OptionError(f'must be a number of bytes or a size as "5MB", not {_show(value)}')
    if not 0 < size <= MOST_BYTES:
        raise OptionError(f"must be from 1 byte to {shown_size(MOST_BYTES)}, not {_show(value)}")
    return size


def _per_file(value: object) -> tuple[tuple[str, tuple[str, ...]], ...]:
    if not isinstance(value, Mapping):
        raise OptionError(f"must be a table from patterns to lists of codes, not {_show(value)}")
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


def _words_by_pattern(literal: object) -> Callable[[object], tuple[tuple[str, str], ...]]:
    check = _one_of(literal)

    def each(value: object) -> tuple[tuple[str, str], ...]:
        if not isinstance(value, Mapping):
            raise OptionError(
                f"must be a table from patterns to words ({', '.join(get_args(literal))}), not {_show(value)}"
            )
        return tuple((str(pattern), check(word)) for pattern, word in value.items())

    return each


def _entries(value: object) -> tuple[VerifyEntry, ...]:
    if not isinstance(value, (list, tuple)) or not all(isinstance(item, Mapping) for item in value):
        raise OptionError(f"must be tables, [[tool.xlalint.verify]], not {_show(value)}")
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


def _show(value: object) -> str:
    text = {True: "true", False: "false"}.get(value, repr(value)) if isinstance(value, bool) else repr(value)
    return text if len(text) <= 60 else text[:57] + "..."


class Option(NamedTuple):
    """A key of the configuration: the check that its value has to pass, the JSON schema of such values, and what it is for."""

    check: Callable[[object], Any]
    schema: Mapping[str, Any]
    help: str

    def __call__(self, value: object) -> Any:
        """The value as settings have it; raises `OptionError`."""
        return self.check(value)


_SIZE_SCHEMA = r"^\s*[0-9]+(\.[0-9]+)?\s*([kKmMgG]?[bB]?|[kKmMgG][iI][bB])\s*$"
_STRING = {"type": "string"}
_STRINGS = {"type": "array", "items": _STRING}
_FLAG = {"type": "boolean"}
_COUNT = {"type": "integer", "minimum": 0}
_PER_FILE = {"type": "object", "additionalProperties": _STRINGS}


def _words(literal: object) -> dict[str, Any]:
    return {"enum": list(get_args(literal))}


def _by_pattern(literal: object) -> dict[str, Any]:
    return {"type": "object", "additionalProperties": _words(literal)}


_ENTRY: dict[str, Option] = {
    "target": Option(_string, _STRING, "What to run: `path/file.py:fn`, `path/file.py:Class` or `pkg.mod:fn`."),
    "inputs": Option(
        _inputs,
        {"anyOf": [_STRING, {"type": "object"}]},
        "Its inputs: a table from parameters to specifications, or the text of a mark.",
    ),
    "factory": Option(_string, _STRING, "Makes the instance of a class: `Model(dim=8)` or `pkg.mod:make`."),
    "backend": Option(_one_of(Backend), _words(Backend), "What it is run on; by default what the file imports."),
    "max-compiles": Option(
        lambda value: _count(value, "a whole number from 0"), _COUNT, "How many compilations are allowed in all steps."
    ),
    "as-written": Option(_flag, _FLAG, "Whether only what the code compiles itself is compiled."),
}

OPTIONS: dict[str, Option] = {
    "extend": Option(
        _string,
        _STRING,
        "A configuration file that this one extends: what it says holds where this one says nothing else.",
    ),
    "select": Option(_strings, _STRINGS, "Rules to look for: codes, prefixes of codes, names, or `ALL`."),
    "extend_select": Option(_strings, _STRINGS, "Rules to look for in addition to those selected."),
    "ignore": Option(_strings, _STRINGS, "Rules to leave out."),
    "per_file_ignores": Option(_per_file, _PER_FILE, "Rules to leave out in the files that a pattern matches."),
    "target": Option(
        _one_of(Target),
        _words(Target),
        "How the code reaches XLA; by default what the code and its requirements show, else the usual way of its framework.",
    ),
    "device": Option(_one_of(Device), _words(Device), "The kind of device."),
    "target_version": Option(
        _one_of(TargetVersion),
        _words(TargetVersion),
        "The release of PyTorch for which code is judged; by default the newest that the project's requirements admit.",
    ),
    "per_file_target": Option(
        _words_by_pattern(Target),
        _by_pattern(Target),
        "The target of the files that a pattern matches; the first one counts.",
    ),
    "per_file_device": Option(
        _words_by_pattern(Device),
        _by_pattern(Device),
        "The device of the files that a pattern matches; the first one counts.",
    ),
    "min_confidence": Option(_one_of(Confidence), _words(Confidence), "How certain a finding must be to be reported."),
    "show_info": Option(_flag, _FLAG, "Report findings of severity `info` too."),
    "ignore_noqa": Option(_flag, _FLAG, "Report what comments silence, too."),
    "fixable": Option(
        _strings, _STRINGS, "Rules whose findings may be fixed: codes, prefixes of codes, names, or `ALL`."
    ),
    "unfixable": Option(_strings, _STRINGS, "Rules whose findings are not to be fixed."),
    "unsafe_fixes": Option(_flag, _FLAG, "Take fixes that may change a result, too."),
    "include": Option(_strings, _STRINGS, "Patterns of the files that are checked in folders."),
    "exclude": Option(_strings, _STRINGS, "Patterns of files and folders that are excluded."),
    "extend_exclude": Option(_strings, _STRINGS, "Patterns of more files and folders that are excluded."),
    "force_exclude": Option(
        _flag, _FLAG, "Exclude files even if they are named on the command line, as hooks name them."
    ),
    "respect_gitignore": Option(_flag, _FLAG, "Skip what git ignores."),
    "roots": Option(
        _strings, _STRINGS, "Dotted globs of functions that are traced although nothing in the code shows it."
    ),
    "static": Option(_strings, _STRINGS, "Dotted globs of names that are host values."),
    "tensor": Option(_strings, _STRINGS, "Dotted globs of names that are tensors."),
    "extend_rules": Option(_strings, _STRINGS, "Folders or files with rule pages and API tables of your own."),
    "cache_dir": Option(_string, _STRING, "Where results are kept."),
    "python": Option(
        _string, _STRING, "The environment or interpreter whose installed packages are followed; an empty string: none."
    ),
    "jobs": Option(_count, _COUNT, "How many processes are used; 0 is one per core."),
    "verify": Option(
        _entries,
        {
            "type": "array",
            "items": {
                "type": "object",
                "properties": {key: {**one.schema, "description": one.help} for key, one in _ENTRY.items()},
                "required": ["target"],
                "additionalProperties": False,
            },
        },
        "What `xlalint verify` runs if no target is given.",
    ),
    "max_file_size": Option(
        _size,
        {"anyOf": [{"type": "integer", "minimum": 1}, {"type": "string", "pattern": _SIZE_SCHEMA}]},
        'Files larger than this are not read, and reported as XLA004: a number of bytes, or a text as "5MB".',
    ),
    "baseline": Option(_string, _STRING, "The file with the findings that are not reported."),
}
