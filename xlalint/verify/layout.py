"""How the results of two programs lie in memory: may a later write into one reach what it did not reach before?"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import NamedTuple

from xlalint.verify.backends import Content

NOT_CONTIGUOUS = "not contiguous"
SHARES = "in the memory of "
LEAF = "a leaf that wants gradients"
NUMPY = "an array of NumPy"
HOST = "an array of NumPy, which nothing traces"
"""In JAX and TensorFlow. A result that was one and is none any more is what a rewrite for a compiler makes."""


class Layouts(NamedTuple):
    """The layouts of two programs' results on one draw."""

    before: Content
    after: Content


def worse(pair: Layouts) -> str:
    """In what a layout differs such that code after it may go wrong, "" for nothing: a result that now shares memory, or has gaps."""
    new = [part for part in pair.after.parts if part not in pair.before.parts]
    return "; ".join(f"{path or 'it'} is {text}" for path, text in new)


def find_lost(pairs: Sequence[Layouts]) -> tuple[list[str], list[str]]:
    """Find which results share memory with something, or are NumPy's, before and not after: on all draws, so that callers may rely on it,
    and on some.
    """
    shared = [{part for part in pair.before.parts if part[1] == NUMPY or part[1].startswith(SHARES)} for pair in pairs]
    gone = [own - set(pair.after.parts) for own, pair in zip(shared, pairs, strict=True)]
    always = set.intersection(*shared) if shared else set()
    every = {part for part in always if all(part in one for one in gone)}
    some = set().union(*gone) - every if gone else set()
    return _words(every), _words(some)


def find_compacted(pairs: Iterable[Layouts]) -> list[str]:
    """Find which results have gaps, or another order of their dimensions in memory, before and not after: what asks for it is rare."""
    gone = {part for pair in pairs for part in pair.before.parts if part not in pair.after.parts}
    return [f"{path or 'it'} is contiguous, and was not" for path, text in sorted(gone) if text == NOT_CONTIGUOUS]


def _words(parts: set[tuple[str, str]]) -> list[str]:
    return [f"{path or 'it'} is no longer {text}" for path, text in sorted(parts)]
