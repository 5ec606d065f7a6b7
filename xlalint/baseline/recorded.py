"""The baseline: findings that a project lives with for now, in a file that is read in reviews and merged by lines."""

from __future__ import annotations

import json
from collections import Counter, defaultdict
from collections.abc import Callable, Hashable, Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import msgspec

from xlalint.baseline.identity import Identity, Texts, identities, scopes
from xlalint.source.files import read_file

if TYPE_CHECKING:
    from xlalint.diagnostics.finding import Finding

NAME = "xlalint-baseline.json"
# What keeps a file from being checked must not pass for known: nobody knows what else is in it.
NEVER_KNOWN = frozenset({"XLA001", "XLA002", "XLA004"})
_VERSION = 1


class BaselineError(Exception):
    """A baseline that cannot be used; the message says which, why and what to do."""


class Entry(msgspec.Struct, frozen=True, order=True, omit_defaults=True):
    """Findings of one identity, and how many there are."""

    path: str
    code: str
    scope: str = ""
    source: str = ""
    count: int = 1


class _File(msgspec.Struct):
    version: int
    findings: list[Entry]


class Compared(NamedTuple):
    """`new` says of each finding whether it is; `gone` are identities that were recorded and not found, each as often."""

    new: list[bool]
    gone: Counter[Identity]


class Baseline:
    """The recorded findings, with paths relative to the folder of their file."""

    def __init__(self, file: Path, entries: Iterable[Entry] = ()) -> None:
        self.file = file
        self.folder = str(file.parent)
        self.known: Counter[Identity] = Counter()
        for entry in entries:
            self.known[Identity(entry.code, entry.path, entry.scope, entry.source)] += entry.count

    def identities(self, findings: Sequence[Finding], texts: Texts) -> list[Identity]:
        """The identities of some findings as this file has them."""
        return identities(findings, self.folder, texts)

    def path(self, identity: Identity) -> str:
        """The absolute path of a file that is spoken of."""
        return str(Path(self.folder, identity.path).resolve())

    def compare(self, findings: Sequence[Finding], texts: Texts) -> Compared:
        """Find which of some findings (in order, their places in cells) are new.

        Of more than were recorded of one identity the last are new. What is left of a function or a file that is there no more stands
        for the same text in another: the function was renamed, or the file moved.
        """
        left = Counter(self.known)
        found = self.identities(findings, texts)
        new = [identity.code in NEVER_KNOWN or not _taken(left, identity) for identity in found]
        existing: dict[str, set[str]] = {}

        def without_scope(identity: Identity) -> Hashable:
            if identity.path not in existing:
                existing[identity.path] = scopes(texts, self.path(identity))
            return identity._replace(scope="") if identity.scope not in existing[identity.path] else None

        def without_path(identity: Identity) -> Hashable:
            return None if Path(self.path(identity)).exists() else identity._replace(path="")

        _match(new, found, left, without_scope, lambda identity: identity._replace(scope=""))
        _match(new, found, left, without_path, lambda identity: identity._replace(path=""))
        return Compared(new, +left)

    def update(self, findings: Sequence[Finding], texts: Texts, checked: Callable[[str], bool]) -> Baseline:
        """Make the baseline of what is found now. What was recorded of existing files that were not `checked` stays."""
        now = Baseline(self.file)
        now.known.update(one for one in self.identities(findings, texts) if one.code not in NEVER_KNOWN)
        for identity, number in self.known.items():
            path = self.path(identity)
            if not checked(path) and Path(path).exists():
                now.known[identity] += number
        return now

    def render(self) -> str:
        """The file's text: an entry a line, in order."""
        entries = sorted(
            Entry(identity.path, identity.code, identity.scope, identity.source, number)
            for identity, number in self.known.items()
        )
        lines = ",\n".join(json.dumps(msgspec.to_builtins(entry), ensure_ascii=False) for entry in entries)
        return f'{{"version": {_VERSION}, "findings": [\n{lines}{chr(10) if lines else ""}]}}\n'


def read(file: Path) -> Baseline:
    """The baseline in a file."""
    try:
        raw = read_file(file)
    except FileNotFoundError as error:
        raise BaselineError(
            f"`{file}`: no such baseline; `xlalint baseline update --baseline {file}` creates it"
        ) from error
    except OSError as error:
        raise BaselineError(f"`{file}`: the baseline cannot be read: {error.strerror}") from error
    try:
        told = msgspec.json.decode(raw, type=_File)
    except (msgspec.MsgspecError, UnicodeDecodeError) as error:
        raise BaselineError(f"`{file}`: not a baseline: {error}; `xlalint baseline update` rewrites it") from error
    if told.version != _VERSION:
        raise BaselineError(f"`{file}`: a baseline of version {told.version}; this xlalint reads version {_VERSION}")
    return Baseline(file, told.findings)


def _taken(left: Counter[Identity], identity: Identity) -> bool:
    if left[identity] <= 0:
        return False
    left[identity] -= 1
    return True


def _match(
    new: list[bool],
    found: Sequence[Identity],
    left: Counter[Identity],
    recorded: Callable[[Identity], Hashable],
    key: Callable[[Identity], Hashable],
) -> None:
    """Take findings for known that have the key of an identity that is left; one whose `recorded` key is None is not to be had."""
    if not any(new) or not +left:
        return
    wanted = {key(identity) for identity, is_new in zip(found, new, strict=True) if is_new}
    spare: defaultdict[Hashable, list[Identity]] = defaultdict(list)
    for identity, number in left.items():
        if number > 0 and key(identity) in wanted and (told := recorded(identity)) is not None:
            spare[told] += [identity] * number
    for index, identity in enumerate(found):
        if new[index] and identity.code not in NEVER_KNOWN and spare[key(identity)]:
            left[spare[key(identity)].pop()] -= 1
            new[index] = False
