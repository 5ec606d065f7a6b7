"""The rows that changed since a revision, as git has it: since the commit from which HEAD and the revision went separate ways.

What is not tracked is new. Of a notebook the rows of its cells are compared: outputs and counts of executions are no changes.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterator, Mapping
from difflib import SequenceMatcher
from functools import cached_property
from typing import TYPE_CHECKING, NamedTuple

from xlalint.baseline.recorded import NEVER_KNOWN
from xlalint.source.files import read_file
from xlalint.source.git import Git, GitError
from xlalint.source.model import SourceError
from xlalint.source.reading import is_notebook, text_of

if TYPE_CHECKING:
    from xlalint.diagnostics.finding import Finding

Rows = frozenset[int] | None
"""Rows of a file that changed; None stands for all of them."""

_HUNK = re.compile(rb"@@ -\d+(?:,(\d+))? \+(\d+)(?:,(\d+))? @@")
_ESCAPE = re.compile(rb"\\([abfnrtv\\\"]|[0-7]{3})")
_ESCAPES = {b"a": 7, b"b": 8, b"f": 12, b"n": 10, b"r": 13, b"t": 9, b"v": 11, b"\\": 92, b'"': 34}
_LINE_END = re.compile(r"\r\n?|\n")
_SUBMODULE = b"160000"


class RevisionError(Exception):
    """A revision that nothing can be compared with; the message says why."""


class _Diff(NamedTuple):
    """A file that changed: what it was called, and the rows that are new."""

    before: str
    rows: frozenset[int]


class Changes:
    """Changes in the repository around a folder since a revision. Raises `RevisionError` if it does not exist."""

    def __init__(self, revision: str, folder: str) -> None:
        if revision.startswith("-"):
            raise RevisionError(f"--diff-base: `{revision}` is not a revision")
        try:
            self._run = Git(folder)
        except GitError as error:
            raise RevisionError(f"--diff-base: {error}") from error
        try:
            self._top = _line(self._git("rev-parse", "--show-toplevel"))
        except RevisionError as error:
            raise RevisionError(f"--diff-base: `{folder}` is not in a git repository ({error})") from error
        try:
            commit = _line(self._git("rev-parse", "--verify", "--quiet", "--end-of-options", f"{revision}^{{commit}}"))
        except RevisionError as error:
            raise RevisionError(f"--diff-base: git knows no commit `{revision}`; fetch it first") from error
        try:
            self._base = _line(self._git("merge-base", commit, "HEAD"))
        except RevisionError as error:
            raise RevisionError(
                f"--diff-base: HEAD and `{revision}` have no commit in common here; a shallow clone has to be deepened (`git fetch "
                "--unshallow`, in CI a fetch depth of 0)"
            ) from error

    def touch(self, finding: Finding, contents: Mapping[str, bytes]) -> bool:
        """Return whether a finding (its place in the module of a notebook) is on rows that changed. `contents` are files as they count,
        whatever is on the disk. What keeps a file from being checked is so wherever in it something changed.
        """
        rows = self._rows_of(finding.filename, contents)
        if rows is None:
            return True
        if finding.code in NEVER_KNOWN:
            return bool(rows)
        return not rows.isdisjoint(range(finding.location.row, finding.end_location.row + 1))

    # ------------------------------------------------------------------------------------------------------- rows

    def _rows_of(self, filename: str, contents: Mapping[str, bytes]) -> Rows:
        key = filename, contents.get(filename)
        if key not in self._known:
            self._known[key] = self._worked_out(*key)
        return self._known[key]

    @cached_property
    def _known(self) -> dict[tuple[str, bytes | None], Rows]:
        return {}

    def _worked_out(self, filename: str, content: bytes | None) -> Rows:
        rows = self._on_disk(filename)
        if content is None or rows is None:
            return rows
        before, after = _text(filename, lambda: read_file(filename)), _text(filename, lambda: content)
        return None if before is None or after is None else _carry(before, after, rows)

    def _on_disk(self, filename: str) -> Rows:
        path = os.path.relpath(os.path.realpath(filename), os.path.realpath(self._top)).replace(os.sep, "/")
        if path in self._diffs:
            diff = self._diffs[path]
            return self._cells(filename, diff) if is_notebook(filename) else diff.rows
        tracked, submodules = self._tracked
        inside = path in tracked or any(path.startswith(f"{folder}/") for folder in submodules)
        return frozenset() if inside else None

    def _cells(self, filename: str, diff: _Diff) -> Rows:
        before = _text(filename, lambda: self._git("cat-file", "blob", f"{self._base}:{diff.before}"))
        after = _text(filename, lambda: read_file(filename))
        return None if before is None or after is None else _carry(before, after, frozenset())

    # -------------------------------------------------------------------------------------------------------- git

    @cached_property
    def _diffs(self) -> dict[str, _Diff]:
        options = (
            "--no-color",
            "--no-ext-diff",
            "--no-textconv",
            "--find-renames",
            "--unified=0",
            "--ignore-submodules",
        )
        prefixes = ("--src-prefix=a/", "--dst-prefix=b/")
        return dict(_parse(self._git("diff", *options, *prefixes, self._base, "--", top=True)))

    @cached_property
    def _tracked(self) -> tuple[set[str], list[str]]:
        """The files that git tracks, and the submodules, whose files it does not look into."""
        files, submodules = set(), []
        for entry in self._git("ls-files", "--stage", "-z", top=True).split(b"\0"):
            told, _, path = entry.partition(b"\t")
            if told.startswith(_SUBMODULE):
                submodules.append(os.fsdecode(path))
            else:
                files.add(os.fsdecode(path))
        return files, submodules

    def _git(self, *arguments: str, top: bool = False) -> bytes:
        try:
            return self._run(*arguments, folder=self._top if top else "")
        except GitError as error:
            raise RevisionError(str(error)) from error


def _line(output: bytes) -> str:
    return os.fsdecode(output).rstrip("\r\n")


def _text(filename: str, read: Callable[[], bytes]) -> str | None:
    try:
        return text_of(filename, read())
    except (SourceError, RevisionError, OSError):
        return None


def _carry(before: str, after: str, rows: frozenset[int]) -> frozenset[int]:
    """The rows of a text that differ from an earlier one, and those in which the earlier one had changed already."""
    old, new = _LINE_END.split(before), _LINE_END.split(after)
    found = set(range(1, len(new) + 1))
    for a, b, size in SequenceMatcher(None, old, new, autojunk=False).get_matching_blocks():
        found -= {b + n + 1 for n in range(size) if a + n + 1 not in rows}
    return frozenset(found)


def _parse(diff: bytes) -> Iterator[tuple[str, _Diff]]:
    """The files of a diff without context. Lines are counted: what a line holds may look like a heading."""
    lines = iter(diff.split(b"\n"))
    before = after = ""
    rows: set[int] = set()
    for line in lines:
        if line.startswith(b"diff --git "):
            if after:
                yield after, _Diff(before, frozenset(rows))
            before = after = ""
            rows = set()
        elif line.startswith(b"--- "):
            before = _name(line[4:])
        elif line.startswith(b"+++ "):
            after = _name(line[4:])
        elif match := _HUNK.match(line):
            removed, start, added = (int(group) if group is not None else 1 for group in match.groups())
            rows |= set(range(start, start + added))
            left = removed + added
            while left:
                left -= not next(lines).startswith(b"\\")
    if after:
        yield after, _Diff(before, frozenset(rows))


def _name(text: bytes) -> str:
    """A file's name as a diff has it: with a prefix, in quotes if it is odd, and a tab behind it if there are blanks in it."""
    text = text.removesuffix(b"\t")
    if text.startswith(b'"'):
        text = _ESCAPE.sub(lambda m: bytes([_ESCAPES[m[1]] if m[1] in _ESCAPES else int(m[1], 8)]), text[1:-1])
    return "" if text == b"/dev/null" else os.fsdecode(text[2:])
