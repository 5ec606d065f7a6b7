"""Comments that speak to xlalint: what they silence, what they teach, and which of them are of no use.

| comment | silences |
| --- | --- |
| `# noqa`, `# noqa: XLA101, XLA2` | findings of its statement (codes of other tools are theirs) |
| `# xlalint: ignore`, `# xlalint: ignore[XLA101, tensor-if]` | the same; on a line of its own: of the statement below |
| `# xlalint: ignore-file`, `# xlalint: ignore-file[XLA1]` | findings of the whole file |
| `# xlalint: noqa`, `# xlalint: noqa: XLA1` | the whole file on a line of its own, else its statement |

`# xlalint: static` and `# xlalint: tensor` silence nothing: they teach the analysis what a value is.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from difflib import get_close_matches
from typing import Literal, Protocol, TypeVar

import msgspec

from xlalint.source.comments import Comment, comments

Scope = Literal["statement", "file"]
Taught = Literal["static", "tensor"]

_WORDS = ("noqa", "NOQA", "NoQA", "NoQa", "Noqa", "xlalint")
_DIRECTIVE = re.compile(
    r"#\s*(?:xlalint:\s*(?P<verb>[a-z][a-z-]*)(?P<bracket>\s*\[(?P<inside>[^\]#]*)\])?(?P<own>\s*:\s*)?"
    r"|(?:noqa|NOQA|NoQA|NoQa|Noqa)\b(?P<colon>\s*:\s*)?)"
)
_CODE = re.compile(r"[A-Za-z]+[0-9]+\b")
_BRACKETED = re.compile(r"[^\s,]+")
_SEPARATOR = re.compile(r"[\s,]+")
_LETTERS = re.compile(r"[A-Z]+")
_VERBS = ("ignore", "ignore-file", "noqa", "static", "tensor")
# Errors of reading: after one of them nothing else was looked for, so nothing can be called unused.
_UNREAD = ("XLA001", "XLA002")
_ITSELF = "XLA003"


class Directive(msgspec.Struct, frozen=True, array_like=True):
    """One comment that silences findings.

    It holds for findings that cover `row`, and for findings that touch rows `first` to `last` (its statement) when `row` is the first
    or last of these. `start` to `end` are its columns in row `at` (from 1, end exclusive). `words` are the codes, prefixes and names it
    lists, with their columns; `blanket` says that it lists none and means every rule. `shared` says that other tools read it too.
    `cut` is where its removal begins: with the blanks before it, if nothing follows. `whole` says that the line holds nothing else.
    """

    scope: Scope
    row: int
    first: int
    last: int
    at: int
    start: int
    end: int
    cut: int
    blanket: bool
    shared: bool
    whole: bool
    text: str
    words: tuple[tuple[str, int, int], ...] = ()


class Suppressions(msgspec.Struct, frozen=True, array_like=True):
    """What the comments of one file say. `taught` maps rows to what the values named there are taken for.

    `misspelt` are comments with an unknown verb that is close to a known one: (row, column, end column, verb, nearest).
    """

    directives: tuple[Directive, ...] = ()
    taught: dict[int, Taught] = {}
    misspelt: tuple[tuple[int, int, int, str, str], ...] = ()

    def __bool__(self) -> bool:
        return bool(self.directives or self.taught or self.misspelt)


class Unused(msgspec.Struct, frozen=True):
    """A suppression, or a part of one, that silences nothing: becomes an XLA003 finding.

    Rows and columns count from 1, ends are exclusive. The safe fix, if there is one (`fix` is then its message), replaces the text
    between (`row`, `cut`) and (`cut_row`, `cut_end`) by `content`.
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


class Placed(Protocol):
    """What `apply` needs to know of a finding."""

    @property
    def code(self) -> str: ...
    @property
    def location(self) -> Place: ...
    @property
    def end_location(self) -> Place: ...


class Place(Protocol):
    """A row of a text, from 1."""

    @property
    def row(self) -> int: ...


Found = TypeVar("Found", bound=Placed)


def suppressions(text: str) -> Suppressions:
    """Read the comments of a file. A file that does not mention xlalint or noqa costs six substring searches."""
    if not any(word in text for word in _WORDS):
        return Suppressions()
    directives: list[Directive] = []
    taught: dict[int, Taught] = {}
    misspelt: list[tuple[int, int, int, str, str]] = []
    for comment in comments(text, _DIRECTIVE):
        for match, end in _parts(comment):
            verb = match["verb"] or "noqa"
            if verb in ("static", "tensor"):
                taught[comment.covers] = "static" if verb == "static" else "tensor"
            elif verb in _VERBS:
                directives.append(_directive(comment, match, end))
            elif nearest := get_close_matches(verb, _VERBS, n=1, cutoff=0.75):
                column = comment.column + match.start()
                misspelt.append((comment.row, column, column + len(match[0]), verb, nearest[0]))
    return Suppressions(tuple(directives), taught, tuple(misspelt))


def apply(
    findings: Iterable[Found],
    given: Suppressions,
    names: Mapping[str, str],
    judged: Callable[[str], bool] = lambda _: True,
) -> tuple[list[Found], list[Unused]]:
    """Split the findings of one file: those that no comment silences, and what comments silence in vain.

    `names` maps every known code to its rule's name. `judged` says for a code whether its rule was looked for in this run; only then
    can its suppression be called unused. Give all findings, before confidence and severity filter them.
    """
    kept: list[Found] = []
    used: set[tuple[int, str]] = set()
    unread = False
    for finding in findings:
        unread |= finding.code in _UNREAD
        silencing = list(_silencing(finding, given.directives, names))
        used.update(silencing)
        if not silencing:
            kept.append(finding)
    if unread:
        return kept, []
    return kept, list(_unused(given, used, names, judged))


def _parts(comment: Comment) -> Iterator[tuple[re.Match[str], int]]:
    """The directives of one comment, each with where it ends: at the next `#`, so that its reason goes with it."""
    for match in _DIRECTIVE.finditer(comment.text):
        following = comment.text.find("#", match.end())
        yield match, len(comment.text) if following < 0 else following


def _directive(comment: Comment, match: re.Match[str], end: int) -> Directive:
    verb = match["verb"] or "noqa"
    listed, words = _words(comment, match, end)
    to_file = verb == "ignore-file" or (verb == "noqa" and match["verb"] is not None and comment.alone)
    plain_noqa = match["verb"] is None
    # flake8 and its heirs read a plain noqa for its own line only, wherever it stands.
    row = comment.row if plain_noqa else comment.covers
    return Directive(
        scope="file" if to_file else "statement",
        row=row,
        first=row if plain_noqa and comment.alone else comment.first,
        last=row if plain_noqa and comment.alone else comment.last,
        at=comment.row,
        start=comment.column + match.start(),
        end=comment.column + end,
        cut=comment.column + _cut(comment, match, end),
        blanket=not listed,
        shared=plain_noqa,
        whole=comment.alone and match.start() == 0 and end == len(comment.text),
        text=comment.text[match.start() : max(match.end(), words[-1][2] - comment.column if words else 0)].strip(),
        words=words,
    )


def _cut(comment: Comment, match: re.Match[str], end: int) -> int:
    """Where in the comment to begin removing a directive, so that no blanks are left at the line's end."""
    if end < len(comment.text):
        return match.start()
    return len(comment.text[: match.start()].rstrip()) if match.start() else -comment.blanks


def _words(comment: Comment, match: re.Match[str], end: int) -> tuple[bool, tuple[tuple[str, int, int], ...]]:
    """Whether the directive lists anything, and the words it lists with their columns."""
    if match["bracket"] is not None:
        listed, spans = True, [m.span() for m in _BRACKETED.finditer(comment.text, *match.span("inside"))]
    else:
        spans = list(_codes(comment.text, match.end(), end)) if match["colon"] or match["own"] else []
        # After a noqa, a colon and words that are no codes list nothing (as Ruff has it); after our own verbs they are a reason.
        listed = bool(spans or match["colon"])
    return listed, tuple((comment.text[a:b], comment.column + a, comment.column + b) for a, b in spans)


def _codes(text: str, start: int, end: int) -> Iterator[tuple[int, int]]:
    """Codes separated by commas or blanks; the first word that is none begins the reason."""
    while match := _CODE.match(text, start, end):
        yield match.span()
        separator = _SEPARATOR.match(text, match.end(), end)
        if separator is None:
            return
        start = separator.end()


def _silencing(finding: Placed, directives: Sequence[Directive], names: Mapping[str, str]) -> Iterator[tuple[int, str]]:
    """Which directive, and which of its words ("" for a blanket one), silences the finding."""
    for i, directive in enumerate(directives):
        if not _covers(directive, finding.location.row, finding.end_location.row):
            continue
        if directive.blanket:
            yield i, ""
        for word, _, _ in directive.words:
            if _means(word, finding.code, names):
                yield i, word


def _covers(directive: Directive, row: int, end_row: int) -> bool:
    if directive.scope == "file" or row <= directive.row <= end_row:
        return True
    at_edge = directive.row in (directive.first, directive.last)
    return at_edge and row <= directive.last and directive.first <= end_row


def _means(word: str, code: str, names: Mapping[str, str]) -> bool:
    """Whether a code, a prefix of codes with all of their letters, or a name means the rule `code`."""
    return (code.startswith(word.upper()) and len(word) >= len(_letters(code))) or names.get(code) == word.lower()


def _letters(code: str) -> str:
    match = _LETTERS.match(code)
    return match[0] if match else ""


def _unused(
    given: Suppressions, used: set[tuple[int, str]], names: Mapping[str, str], judged: Callable[[str], bool]
) -> Iterator[Unused]:
    if not judged(_ITSELF):
        return
    for i, directive in enumerate(given.directives):
        if any(_means(word, _ITSELF, names) for word, _, _ in directive.words):
            continue
        if directive.blanket:
            if not directive.shared and (i, "") not in used and any(judged(code) for code in names):
                yield _removal(directive, f"`{directive.text}` suppresses nothing")
            continue
        if (idle := _idle(directive, i, used, names, judged)) is not None:
            yield idle
    for row, column, end_column, verb, nearest in given.misspelt:
        yield Unused(f"unknown directive `xlalint: {verb}`; did you mean `{nearest}`?", row, column, end_column)


def _idle(
    directive: Directive, i: int, used: set[tuple[int, str]], names: Mapping[str, str], judged: Callable[[str], bool]
) -> Unused | None:
    """The part of a directive's list that silences nothing, if any."""
    idle: list[tuple[str, int, int]] = []
    reasons: list[str] = []
    for entry in directive.words:
        meant = [code for code in names if _means(entry[0], code, names)]
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
    return _shortened(directive, idle, message.replace("suppresses nothing", "is partly unused", 1))


def _foreign(word: str, directive: Directive, names: Mapping[str, str]) -> bool:
    """Whether a word of a `# noqa` belongs to another tool: its letters are those of no rule here."""
    return directive.shared and _letters(word.upper()) not in set(map(_letters, names))


def _unknown(word: str, names: Mapping[str, str]) -> str:
    nearest = get_close_matches(word.upper(), names, n=1) or get_close_matches(word.lower(), names.values(), n=1)
    return f"unknown rule `{word}`" + (f", did you mean `{nearest[0]}`?" if nearest else "")


def _removal(directive: Directive, message: str) -> Unused:
    at = directive.at
    if directive.whole:
        return Unused(message, at, directive.start, directive.end, "Remove the line", 1, at + 1, 1)
    return Unused(message, at, directive.start, directive.end, "Remove the comment", directive.cut, at, directive.end)


def _shortened(directive: Directive, idle: Sequence[tuple[str, int, int]], message: str) -> Unused:
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
