"""Text to syntax tree, whatever supported Python runs xlalint: newer syntax is read on older Pythons too."""

from __future__ import annotations

import ast
import re
import sys
import warnings

from xlalint.source.model import SourceError

# What Python 3.11 to 3.14 added: type parameters, `type` statements, f-strings that nest freely, t-strings,
# `except*`, `except A, B`, and stars in an index or an annotation. Only a text with one of these is worth a second parse.
_NEWER = re.compile(
    r"""(?mx)
    \b(?:def|class)\s+\w+\s*\[ | ^\s*type\s+\w | \b(?:[rR]?[fFtT]|[fFtT][rR])['"]
    | \bexcept\b(?:\s*\* | [^:\n(]*,) | [\[,:]\s*\*
    """
)
_NESTED = re.compile(r"(?:(?:[-+~(\[{]|\bnot\b|\blambda\s*:)\s*){200}")
_PYTHON_2 = re.compile(
    r"""(?mx)
    ^\s*(?:print|exec)\s+["'\w%] | ^\s*print\s*>> | ^\s*except\s[^:\n]*,\s*\w+\s*: | ^\s*raise\s+\w+\s*,
    | <> | \bur['"] | [\s(=,]0[0-7]+\b | \d[lL]\b | `[^`\n]+`
    """
)
_TOO_DEEP = "nested too deeply to be parsed"


def parse(text: str) -> ast.Module:
    """Return the tree of `text`, with the row and byte column of every node as in `text`.

    Raises `SourceError` (XLA001) if the text is Python of no version up to 3.14. Text that the running Python can
    read costs no more than `ast.parse`.
    """
    try:
        return _ast_parse(text)
    except SyntaxError as error:
        problem = error
    except (RecursionError, MemoryError):
        raise SourceError("XLA001", _TOO_DEEP) from None
    except ValueError as error:  # null bytes before 3.11.4, lone surrogates, numbers of more than 4,300 digits
        raise SourceError("XLA001", str(error)) from None
    if sys.version_info < (3, 14) and _NEWER.search(text) and not _NESTED.search(text):
        try:
            tree = _parse_newer(text)
        except SyntaxError as error:
            # What the running Python stumbles over may be newer syntax; the fault is then further down.
            problem = error if (error.lineno or 0) > (problem.lineno or 0) else problem
        else:
            if tree is not None:
                return tree
    raise _source_error(problem, text) from None


def _ast_parse(text: str) -> ast.Module:
    """Parse with the running Python; the warnings of the linted code are not ours to print.

    Python looks up the faulty line in the file that it is told, to count the column in characters. The text may be another one than
    that of the file: it is told none.
    """
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return ast.parse(text, "")


def _parse_newer(text: str) -> ast.Module | None:
    """Parse as the newest Python by way of an older spelling; None if that cannot be had."""
    from xlalint.source.backport import backport, restore_strings

    older = backport(text)
    if older is None:
        return None
    try:
        return restore_strings(_ast_parse(older.text), older.strings)
    except (RecursionError, MemoryError):
        return None


def _source_error(error: SyntaxError, text: str) -> SourceError:
    row = max(error.lineno or 1, 1)
    line = re.split(r"\r\n|\r|\n", text)[row - 1 : row]
    message = error.msg or "invalid syntax"
    if line and _PYTHON_2.search(line[0]):
        message = f"Python 2 syntax: {message}"
    return SourceError("XLA001", message, row, max(error.offset or 1, 1))
