"""Comments that speak to xlalint: what they silence, what they teach, and which of them are of no use.

| comment | silences |
| --- | --- |
| `# noqa`, `# noqa: XLA101, XLA2` | findings of its statement (codes of other tools are theirs) |
| `# xlalint: ignore`, `# xlalint: ignore[XLA101, tensor-if]` | the same; on a line of its own: of the statement below |
| `# xlalint: ignore-file`, `# xlalint: ignore-file[XLA1]` | findings of the whole file |
| `# xlalint: noqa`, `# xlalint: noqa: XLA1` | the whole file on a line of its own, else its statement |
| `# xlalint: disable=XLA101,tensor-if` … `# xlalint: enable=XLA101,tensor-if` | what begins between the two |

`# xlalint: static` and `# xlalint: tensor` silence nothing: they teach the analysis what the values are that are assigned on their line, or
its parameters; `# xlalint: static[n, m]` that only `n` and `m` are that, anywhere in its statement.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from difflib import get_close_matches
from typing import Literal

import msgspec

from xlalint.source.comments import Comment, comments

Scope = Literal["statement", "file", "range", "range-end"]
HintKind = Literal["static", "tensor"]

_WORDS = ("noqa", "NOQA", "NoQA", "NoQa", "Noqa", "xlalint")
_DIRECTIVE = re.compile(
    r"#\s*(?:xlalint:\s*(?P<verb>[a-z][a-z-]*)"
    r"(?P<bracket>\s*\[(?P<inside>[^\]#]*)\])?(?P<equals>\s*=\s*(?P<given>[\w-]+(?:\s*,\s*[\w-]+)*))?(?P<own>\s*:\s*)?"
    r"|(?:noqa|NOQA|NoQA|NoQa|Noqa)\b(?P<colon>\s*:\s*)?)"
)
_CODE = re.compile(r"[A-Za-z]+[0-9]+\b")
_BRACKETED = re.compile(r"[^\s,]+")
_SEPARATOR = re.compile(r"[\s,]+")
_VERBS = ("ignore", "ignore-file", "noqa", "static", "tensor", "disable", "enable")
_RANGES: dict[str, Scope] = {"disable": "range", "enable": "range-end"}
_LAST = 1 << 30  # past the last row of any text


class Directive(msgspec.Struct, frozen=True, array_like=True):
    """One comment that silences findings.

    It holds for findings that cover `row`, and for findings that touch rows `first` to `last` (its statement) when `row` is the first
    or last of these. `start` to `end` are its columns in row `at` (from 1, end exclusive). `words` are the codes, prefixes and names it
    lists, with their columns; `blanket` says that it lists none and means every rule. `shared` says that other tools read it too.
    `cut` is where its removal begins: with the blanks before it, if nothing follows. `whole` says that the line holds nothing else.

    One of scope "range" holds from `row` on; `ends` has the last row for each of its words (for a blanket one, one row), 0 where an
    earlier one that has the word holds already. It is `open` where no comment ends it. Of one of scope "range-end", `ends` has 0 for each
    word that it ends nothing of.
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
    ends: tuple[int, ...] = ()
    open: bool = False

    @property
    def listed(self) -> tuple[str, ...]:
        """The words; of a blanket one, the empty word."""
        return ("",) if self.blanket else tuple(word for word, _, _ in self.words)


class Teaching(msgspec.Struct, frozen=True, array_like=True):
    """One comment that says what values are.

    Where it lists `names` (with their columns) it holds for these in the rows `first` to `last` of its statement, else (None) for all in
    `row`. It stands in row `at`, in the columns `start` to `end`.
    """

    kind: HintKind
    row: int
    first: int
    last: int
    at: int
    start: int
    end: int
    text: str
    names: tuple[tuple[str, int, int], ...] | None = None


class Suppressions(msgspec.Struct, frozen=True, array_like=True):
    """Holds what the comments of one file say. `taught` says what values are taken for.

    `misspelt` are comments with an unknown verb that is close to a known one: (row, column, end column, verb, nearest). `unheeded` are
    those that teach of names which their statements do not have, known once the file is lowered: (row, column, end column, message).
    `endless` are comments that end a range which none begins, wholly or in part.
    """

    directives: tuple[Directive, ...] = ()
    taught: tuple[Teaching, ...] = ()
    misspelt: tuple[tuple[int, int, int, str, str], ...] = ()
    unheeded: tuple[tuple[int, int, int, str], ...] = ()
    endless: tuple[Directive, ...] = ()

    def __bool__(self) -> bool:
        return bool(self.directives or self.taught or self.misspelt or self.endless)


def suppressions(text: str) -> Suppressions:
    """Read the comments of a file. A file that does not mention xlalint or noqa costs six substring searches."""
    if not any(word in text for word in _WORDS):
        return Suppressions()
    directives: list[Directive] = []
    taught: list[Teaching] = []
    misspelt: list[tuple[int, int, int, str, str]] = []
    for comment in comments(text, _DIRECTIVE):
        for match, end in _parts(comment):
            verb = match["verb"] or "noqa"
            if verb in ("static", "tensor"):
                taught.append(_teaching(comment, match, "static" if verb == "static" else "tensor"))
            elif verb in _VERBS:
                directives.append(_directive(comment, match, end))
            elif nearest := get_close_matches(verb, _VERBS, n=1, cutoff=0.75):
                column = comment.column + match.start()
                misspelt.append((comment.row, column, column + len(match[0]), verb, nearest[0]))
    directives, endless = _pair(directives)
    return Suppressions(tuple(directives), tuple(taught), tuple(misspelt), endless=tuple(endless))


def _pair(directives: list[Directive]) -> tuple[list[Directive], list[Directive]]:
    """Find where ranges end: the directives with that, and the ends that end nothing, wholly or in part."""
    if all(one.scope != "range" and one.scope != "range-end" for one in directives):
        return directives, []
    ends = {i: [0] * len(one.listed) for i, one in enumerate(directives) if one.scope in ("range", "range-end")}
    begun: dict[str, tuple[int, int]] = {}
    for i, one in enumerate(directives):
        if one.scope == "range":
            for place, word in enumerate(one.listed):
                if word.lower() not in begun:
                    begun[word.lower()] = i, place
                    ends[i][place] = _LAST
        elif one.scope == "range-end":
            for place, word in enumerate(one.listed):
                for ended in list(begun) if one.blanket else [word.lower()]:
                    if ended in begun:
                        which, at = begun.pop(ended)
                        ends[which][at] = ends[i][place] = one.at
    made = [
        msgspec.structs.replace(one, ends=tuple(ends[i]), open=_LAST in ends[i]) if i in ends else one
        for i, one in enumerate(directives)
    ]
    endless = [one for one in made if one.scope == "range-end" and 0 in (one.ends or (0,))]
    return [one for one in made if one.scope != "range-end"], endless


def shift(given: Suppressions, rows: int, height: int) -> Suppressions:
    """Return the suppressions of a text, of so many rows (`height`), as part of another, below `rows` rows."""
    return Suppressions(
        tuple(
            msgspec.structs.replace(
                directive,
                row=directive.row + rows,
                first=directive.first + rows,
                last=directive.last + rows,
                at=directive.at + rows,
                ends=tuple(min(end, height) + rows if end else 0 for end in directive.ends),
            )
            for directive in given.directives
        ),
        tuple(
            msgspec.structs.replace(
                one, row=one.row + rows, first=one.first + rows, last=one.last + rows, at=one.at + rows
            )
            for one in given.taught
        ),
        tuple((row + rows, *rest) for row, *rest in given.misspelt),  # type: ignore[misc]
        endless=tuple(msgspec.structs.replace(one, at=one.at + rows) for one in given.endless),
    )


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
    scope = _RANGES.get(verb, "file" if to_file else "statement")
    if scope == "range":
        row = comment.row if comment.alone else comment.first
    return Directive(
        scope=scope,
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


def _teaching(comment: Comment, match: re.Match[str], kind: HintKind) -> Teaching:
    end = match.end()
    names: tuple[tuple[str, int, int], ...] | None = None
    if match["bracket"] is not None:
        spans = (found.span() for found in _BRACKETED.finditer(comment.text, *match.span("inside")))
        names = tuple((comment.text[a:b], comment.column + a, comment.column + b) for a, b in spans)
    elif comment.text[end:].lstrip().startswith("["):  # a list without its end: nobody meant all that is on the line
        names = ()
        end = len(comment.text)
    return Teaching(
        kind,
        comment.covers,
        comment.first,
        comment.last,
        comment.row,
        comment.column + match.start(),
        comment.column + end,
        comment.text[match.start() : end].strip(),
        names,
    )


def _cut(comment: Comment, match: re.Match[str], end: int) -> int:
    """Where in the comment to begin removing a directive, so that no blanks are left at the line's end."""
    if end < len(comment.text):
        return match.start()
    return len(comment.text[: match.start()].rstrip()) if match.start() else -comment.blanks


def _words(comment: Comment, match: re.Match[str], end: int) -> tuple[bool, tuple[tuple[str, int, int], ...]]:
    """Return whether the directive lists anything, and the words that it lists, with their columns."""
    if match["bracket"] is not None:
        listed, spans = True, [m.span() for m in _BRACKETED.finditer(comment.text, *match.span("inside"))]
    elif match["equals"] is not None:
        listed, spans = True, [m.span() for m in _BRACKETED.finditer(comment.text, *match.span("given"))]
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
