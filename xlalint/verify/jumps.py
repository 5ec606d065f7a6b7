"""Finds inputs at which a program's results jump, by halving the way between two draws: a threshold lies there, wherever it is written.

The text of a program tells only the numbers that it compares its inputs with as they are. A number in a table, of another file, or behind
arithmetic is found by what the program does.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np

from xlalint.verify.backends import Leaf
from xlalint.verify.closeness import changes, largest_of
from xlalint.verify.inputs.draws import Values, draw, is_floating
from xlalint.verify.model import Specs

_PIECES = 16  # of a way that are looked at first
_HALVINGS = 56
_STEEP = 12  # halvings after which what does not jump has become less by far
_JUMP = 1e-3  # of the largest element
_WIDE = 4.0  # times as far as ordinary draws lie
_MOST_TURNS = 3  # arguments that move alone
_SEEDS = 3

Evaluate = Callable[[Sequence[Values]], "list[Sequence[Leaf]]"]
"""What a program gives for some inputs, without those on which it raises."""


def list_ways(specs: Specs) -> Iterator[tuple[Values, Values]]:
    """Pairs of draws that differ in floats alone: in all, or in one argument while the others are whole numbers, with which arithmetic is
    exact.
    """
    names = [name for name, value in draw(specs, 0).items() if is_floating(value) and value.dtype.kind == "f"]
    for seed in range(_SEEDS):
        base, other = draw(specs, seed), draw(specs, seed + _SEEDS)
        for turn in names[:_MOST_TURNS] if len(names) > 1 else ():
            whole = {name: np.round(base[name]) for name in names if name != turn}
            yield (
                {**base, **whole, turn: _spread(base[turn], _WIDE)},
                {**base, **whole, turn: _spread(other[turn], -_WIDE)},
            )
        for reach in (1.0, _WIDE) if names else ():
            yield (
                {**base, **{name: _spread(base[name], reach) for name in names}},
                {**base, **{name: _spread(other[name], -reach) for name in names}},
            )


def _spread(value: Any, reach: float) -> Any:
    return np.asarray(value * reach).astype(value.dtype)


def find_jump(evaluate: Evaluate, one: Values, other: Values) -> tuple[Values, Values] | None:
    """Return two neighbours on the way between two draws between which the results jump, None if none are found, or the program raises.

    The piece of the way is taken in which some element changes more than in others, by the most, and of its halves likewise: what only
    grows does so alike in all.
    """
    at = np.linspace(0.0, 1.0, _PIECES + 1)
    found = evaluate([_between(one, other, place) for place in at])
    if len(found) <= _PIECES:
        return None
    scales = [max(map(largest_of, leaves)) for leaves in zip(*found, strict=False)]
    pieces = [changes(a, b, scales) for a, b in itertools.pairwise(found)]
    first = _find_most(pieces)
    low, high, below, above = at[first], at[first + 1], found[first], found[first + 1]
    whole = now = _height(pieces[first])
    for halving in range(_HALVINGS):
        if not now or (halving == _STEEP and now < _JUMP * whole):
            return None
        ends = _between(one, other, low), _between(one, other, high)
        if _are_neighbours(*ends):
            return ends if now > _JUMP else None
        middle = (low + high) / 2
        told = evaluate([_between(one, other, middle)])
        if not told:
            return None
        between = told[0]
        halves = changes(below, between, scales), changes(between, above, scales)
        if _find_most(halves):
            low, below, now = middle, between, _height(halves[1])
        else:
            high, above, now = middle, between, _height(halves[0])
    return None


def _find_most(pieces: Sequence[Any]) -> int:
    """Return the number of the piece in which an element changes by the most more than it does elsewhere."""
    if any(piece is None or piece.shape != pieces[0].shape for piece in pieces):
        return int(np.argmax([_height(piece) for piece in pieces]))
    return int(np.argmax((np.asarray(pieces) - np.median(pieces, axis=0)).max(axis=1)))


def _height(change: Any) -> float:
    return 1.0 if change is None else float(change.max())


def _between(one: Values, other: Values, place: float) -> Values:
    def mix(a: Any, b: Any) -> Any:
        return np.asarray(a.astype(np.float64) * (1 - place) + b.astype(np.float64) * place).astype(a.dtype)

    return {
        name: value if value is other[name] or not _moves(value) else mix(value, other[name])
        for name, value in one.items()
    }


def _moves(value: Any) -> bool:
    return is_floating(value) and value.dtype.kind == "f"


def _are_neighbours(one: Values, other: Values) -> bool:
    """Return whether no float lies between the elements of two draws."""
    pairs = ((value, other[name]) for name, value in one.items() if _moves(value))
    return all(bool((np.nextafter(a, b) == b).all()) for a, b in pairs)
