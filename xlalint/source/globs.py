"""Glob patterns as `exclude` and `per-file-ignores` take them.

A pattern without a slash means files and folders of that name at any depth; one with a slash is a path from the project's root (or an
absolute one). `*`, `?` and `[...]` stay within one name, `**` spans folders. A folder means what it holds.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from functools import lru_cache

_WILD = re.compile(r"[/\\*?\[]")


class Globs:
    """A set of patterns, ready to match absolute paths. Patterns without wildcards and slashes cost one set look-up."""

    def __init__(self, patterns: Iterable[str], root: str) -> None:
        self._root = root.replace("\\", "/").rstrip("/") + "/"
        patterns = [pattern.rstrip("/\\") for pattern in patterns if pattern.strip("/\\")]
        self._names = {pattern for pattern in patterns if not _WILD.search(pattern)}
        self._regexes = [compile_glob(pattern) for pattern in patterns if _WILD.search(pattern)]

    def without(self, folder: str) -> Globs:
        """These patterns for a folder that the user named: less those with wildcards that mean it, one above it or all in it."""
        forms = [form + end for form in self._forms(folder) for end in ("", "/", "/\x01.py")]
        self._regexes = [regex for regex in self._regexes if not any(map(regex.fullmatch, forms))]
        return self

    def match_entry(self, path: str, name: str) -> bool:
        """Return whether this very file or folder is meant, whatever holds for the folders above it."""
        if name in self._names:
            return True
        if not self._regexes:
            return False
        forms = self._forms(path)
        return any(m[1] is None for regex in self._regexes for form in forms if (m := regex.fullmatch(form)))

    def match(self, path: str) -> bool:
        """Return whether the file is meant, by itself or through a folder below the root."""
        inside = path.replace("\\", "/").removeprefix(self._root)
        if not self._names.isdisjoint(inside.split("/")):
            return True
        return any(regex.fullmatch(form) for regex in self._regexes for form in self._forms(path))

    def _forms(self, path: str) -> tuple[str, ...]:
        path = path.replace("\\", "/")
        return (path, path[len(self._root) :]) if path.startswith(self._root) else (path,)


@lru_cache(maxsize=1024)
def compile_glob(pattern: str) -> re.Pattern[str]:
    """Return the regular expression for a pattern; its only group is what lies below a folder that the pattern means."""
    pattern = pattern.replace("\\", "/").removeprefix("./").rstrip("/")
    anywhere = "" if "/" in pattern else "(?:.*/)?"
    return re.compile(f"{anywhere}{_translate(pattern)}(/.*)?", re.DOTALL)


def _translate(pattern: str) -> str:
    parts: list[str] = []
    rest = pattern
    while rest:
        if match := re.match(r"(?:^|(?<=/))\*\*/", rest):
            parts.append("(?:.*/)?")
        elif match := re.match(r"\*\*+", rest):
            parts.append(".*")
        elif match := re.match(r"\*", rest):
            parts.append("[^/]*")
        elif match := re.match(r"\?", rest):
            parts.append("[^/]")
        elif match := re.match(r"\[(!?)([^\]/]+)\]", rest):
            parts.append(_bracket(match[2], negated=bool(match[1])))
        else:
            match = re.match(r".", rest, re.DOTALL)
            assert match is not None
            parts.append(re.escape(match[0]))
        rest = rest[match.end() :]
    return "".join(parts)


def _bracket(inside: str, negated: bool) -> str:
    """A bracket expression; one whose range runs backwards ("[z-a]") matches nothing, as in shells."""
    text = f"[{'^/' if negated else ''}{_escape(inside)}]"
    try:
        re.compile(text)
    except re.error:
        return "(?!)"
    return text


def _escape(inside: str) -> str:
    """The inside of a bracket expression: a hyphen keeps its meaning, the rest has none."""
    return re.sub(r"([\\\[^&~|])", r"\\\1", inside)
