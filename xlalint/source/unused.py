"""Suppressions that silence nothing, wholly or in part, and the edit that removes just that."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from difflib import get_close_matches

import msgspec

from xlalint.source.directives import Directive, Suppressions

_LETTERS = re.compile(r"[A-Z]+")
_ITSELF = "XLA003"


class Unused(msgspec.Struct, frozen=True):
    """A suppression, or a part of one, that silences nothing: becomes an XLA003 finding.

    Rows and columns count from 1, ends are exclusive. The safe fix, if there is one (`fix` is then its message), replaces the text
    between (`row`, `cut`) and (`cut_row`, `cut_end`) by `content`; `no_fix` says why there is none.
    """

    message: str
    row: int
    column: int
    end_column: int
    fix: str = ""
    cut: int = 0
    cut_row: int = 0
    cut_end: int = 0
    content: str = ""
    no_fix: str = ""


def find_unused(
    given: Suppressions, used: set[tuple[int, str]], names: Mapping[str, str], judged: Callable[[str], bool]
) -> Iterator[Unused]:
    if not judged(_ITSELF):
        return
    gone: set[int] = set()  # directives that go whole: nobody need end them
    for i, directive in enumerate(given.directives):
        if any(means(word, _ITSELF, names) for word, _, _ in directive.words):
            continue
        if directive.blanket:
            if not directive.shared and (i, "") not in used and any(judged(code) for code in names):
                gone.add(i)
                yield _removal(directive, f"`{directive.text}` suppresses nothing")
            continue
        if (idle := _idle(directive, i, used, names, judged)) is not None:
            if not idle.content:
                gone.add(i)
            yield idle
    for i, directive in enumerate(given.directives):
        if directive.open and i not in gone:
            message = f"nothing ends `{directive.text}`: it holds to the end"
            yield Unused(
                message, directive.at, directive.start, directive.end, no_fix="only its author knows where it shall end"
            )
    for directive in given.endless:
        yield _endless(directive)
    for row, column, end_column, verb, nearest in given.misspelt:
        message = f"unknown directive `xlalint: {verb}`; did you mean `{nearest}`?"
        yield Unused(message, row, column, end_column, no_fix="only its author knows which directive was meant")
    for row, column, end_column, message in given.unheeded:
        yield Unused(message, row, column, end_column, no_fix="only its author knows which name was meant")


def _idle(
    directive: Directive, i: int, used: set[tuple[int, str]], names: Mapping[str, str], judged: Callable[[str], bool]
) -> Unused | None:
    """The part of a directive's list that silences nothing, if any."""
    idle: list[tuple[str, int, int]] = []
    reasons: list[str] = []
    for entry in directive.words:
        meant = [code for code in names if means(entry[0], code, names)]
        if not meant and not _foreign(entry[0], directive, names):
            reasons.append(_unknown(entry[0], names))
        elif not meant or (i, entry[0]) in used or not all(map(judged, meant)):
            continue
        else:
            reasons.append(f"no `{entry[0]}` here")
        idle.append(entry)
    if not idle and directive.words:
        return None
    message = f"`{directive.text}` suppresses nothing: {', '.join(reasons) or 'it names no rule'}"
    if len(idle) == len(directive.words):
        return None if directive.shared and not idle else _removal(directive, message)
    return _shorten(directive, idle, message.replace("suppresses nothing", "is partly unused", 1))


def _endless(directive: Directive) -> Unused:
    """A comment that ends a range, or a part of one, that no comment above begins."""
    idle = [entry for entry, end in zip(directive.words, directive.ends, strict=False) if not end]
    message = f"`{directive.text}` ends nothing that a `disable` above it begins"
    if len(idle) == len(directive.words):
        return _removal(directive, message)
    return _shorten(directive, idle, f"{message}: {', '.join(word for word, _, _ in idle)}")


def _foreign(word: str, directive: Directive, names: Mapping[str, str]) -> bool:
    """Return whether a word of a `# noqa` belongs to another tool: no rule here has its letters."""
    return directive.shared and _letters(word.upper()) not in set(map(_letters, names))


def _unknown(word: str, names: Mapping[str, str]) -> str:
    nearest = get_close_matches(word.upper(), names, n=1) or get_close_matches(word.lower(), names.values(), n=1)
    return f"unknown rule `{word}`" + (f", did you mean `{nearest[0]}`?" if nearest else "")


def _removal(directive: Directive, message: str) -> Unused:
    at = directive.at
    if directive.whole:
        return Unused(message, at, directive.start, directive.end, "Remove the line", 1, at + 1, 1)
    return Unused(message, at, directive.start, directive.end, "Remove the comment", directive.cut, at, directive.end)


def _shorten(directive: Directive, idle: Sequence[tuple[str, int, int]], message: str) -> Unused:
    left = [entry for entry in directive.words if entry not in idle]
    return Unused(
        message,
        directive.at,
        idle[0][1],
        idle[-1][2],
        f"Remove {', '.join(f'`{word}`' for word, _, _ in idle)}",
        directive.words[0][1],
        directive.at,
        directive.words[-1][2],
        ", ".join(word for word, _, _ in left),
    )


def means(word: str, code: str, names: Mapping[str, str]) -> bool:
    """Return whether a code, a prefix of codes with all of their letters, or a name means the rule `code`."""
    return (code.startswith(word.upper()) and len(word) >= len(_letters(code))) or names.get(code) == word.lower()


def _letters(code: str) -> str:
    match = _LETTERS.match(code)
    return match[0] if match else ""
