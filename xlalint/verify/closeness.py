"""Are two lists of values the same? Integers, truth values and texts exactly; floats to a few units in the last place, and beyond that only
as far as the first program's own results move when its inputs do so by one unit.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import Any

import numpy as np

from xlalint.verify.backends import Content, Leaf

_UNITS = 4  # in the last place, for arithmetic in another order that no draw shows
_UNITS_OF_WIDEST = 16  # of the largest element in float64, of which no wider dtype tells what is rounding
_NOISE = 2  # times what was measured: of few runs, and only of the inputs
_MOST = {
    "float64": 1e-9,
    "complex128": 1e-9,
    "float16": 4e-3,
    "bfloat16": 3e-2,
}  # of the largest element: noise is never more
_MOST_OTHER = 2e-5
_WIDER = {
    "float32": ("float64", 1e-10),
    "complex64": ("complex128", 1e-10),
    "bfloat16": ("float32", 1e-5),
    "float16": ("float32", 1e-5),
}
_COARSE = {"bfloat16": 1 << 16}  # units in its last place, of those of the float32 that holds it
_ALIKE = {"b": "b", "i": "iu", "u": "iu", "f": "f", "c": "c"}  # kinds of arrays that a Python number may stand for

Noise = Sequence[Any]
"""For each leaf, how far its elements may be off for what was measured; None where nothing was."""


def differ(
    one: Content,
    other: Content,
    *,
    exact: bool = False,
    noise: Noise | None = None,
    signs: bool = True,
    terms: int = 0,
    chosen: Collection[int] = (),
) -> str:
    """Why two values are not the same, "" where they are: their containers, then what is in them."""
    named = all(content.paths or not content.leaves for content in (one, other))
    if list(one.parts) != list(other.parts) or (named and list(one.paths) != list(other.paths)):
        return _containers(one, other)
    return difference(
        one.leaves, other.leaves, exact=exact, noise=noise, paths=one.paths, signs=signs, terms=terms, chosen=chosen
    )


def signs_differ(one: Content, other: Content) -> bool:
    """Return whether zeros of two values have other signs at some place."""
    pairs = ((a, b) for (_, a), (_, b) in zip(one.leaves, other.leaves, strict=False))
    return any(
        a.dtype.kind == b.dtype.kind == "f"
        and a.shape == b.shape
        and bool(((a == 0) & (b == 0) & (np.signbit(a) != np.signbit(b))).any())
        for a, b in pairs
    )


def is_chosen_from(leaf: Leaf, arrays: Sequence[Any]) -> bool:
    """Return whether each element of a float array is one of those of some arrays, as of a maximum, and of no sum."""
    array = _plain(leaf[1])
    if array.dtype.kind != "f" or not array.size:
        return False
    given = [_plain(one).reshape(-1) for one in arrays if one.dtype.kind == "f" or one.dtype.name == "bfloat16"]
    return bool(given) and bool(np.isin(array, np.concatenate(given)).all())


def _containers(one: Content, other: Content) -> str:
    parts, others = dict(one.parts), dict(other.parts)
    for path in dict.fromkeys((*parts, *others)):
        if parts.get(path) != others.get(path):
            sides = (_side(path, own, content) for own, content in ((parts, one), (others, other)))
            return f"{path.lstrip('.') or 'it'} is {' against '.join(sides)}"
    missing = [path for path in one.paths if path not in set(other.paths)]
    new = [path for path in other.paths if path not in set(one.paths)]
    return (
        "; ".join(
            [
                *(f"{path.lstrip('.')} only before" for path in missing[:2]),
                *(f"{path.lstrip('.')} only after" for path in new[:2]),
            ]
        )
        or "the same values in another order"
    )


def _side(path: str, parts: dict[str, str], content: Content) -> str:
    if path in parts:
        return parts[path]
    found = next((leaf for own, leaf in zip(content.paths, content.leaves, strict=False) if own == path), None)
    return "nothing" if found is None else f"{found[0]} {found[1].shape}" if found[0] != "none" else str(found[1])


def difference(
    one: Sequence[Leaf],
    other: Sequence[Leaf],
    *,
    exact: bool = False,
    noise: Noise | None = None,
    loose: float = 0.0,
    paths: Sequence[str] = (),
    signs: bool = True,
    terms: int = 0,
    chosen: Collection[int] = (),
) -> str:
    """Why two lists of values are not the same, "" where they are: an array of no dimensions is as good as a Python number of its kind.

    Args:
        one, other: the values.
        exact: to the last bit.
        noise: how far the first ones moved by themselves.
        loose: a part of the largest element that they may differ by: for compiled arithmetic.
        paths: of the values, for words.
        signs: whether zeros have signs.
        terms: what has fewer elements than this is made of sums, whose zeros have none.
        chosen: positions of those that are made of no sums all the same.
    """
    if len(one) != len(other):
        return f"{len(one)} values against {len(other)}"
    for n, ((kind, a), (other_kind, b)) in enumerate(zip(one, other, strict=True)):
        where = f"{paths[n].lstrip('.')} " if n < len(paths) and paths[n] else ""
        moved = noise[n] if noise is not None and n < len(noise) else None
        signed = signs and (b.size >= terms or n in chosen)
        why = _leaf((kind, a), (other_kind, b), exact=exact, moved=moved, loose=loose, signs=signed)
        if why:
            return where + why
    return ""


def _leaf(one: Leaf, other: Leaf, *, exact: bool, moved: Any, loose: float, signs: bool) -> str:
    (kind, a), (other_kind, b) = one, other
    if "none" in (kind, other_kind):
        return "" if kind == other_kind and str(a) == str(b) else f"{a} against {b}"
    if (kind != other_kind and (exact or not _stands_for(one, other))) or _other_number(one, other):
        return f"dtype {_name(one)} against {_name(other)}"
    if a.shape != b.shape:
        return f"shape {a.shape} against {b.shape}"
    close = _close(one, other, exact=exact, moved=moved, loose=loose, signs=signs)
    if close.all():
        return ""
    where = np.argwhere(~close)[:4]
    at = ", ".join(str(tuple(map(int, index))) for index in where)
    shown = [", ".join(_number(array[tuple(index)]) for index in where) for array in (a, b)]
    return f"at {at}: {shown[0]} against {shown[1]}" if a.shape else f"{shown[0]} against {shown[1]}"


def _number(value: Any) -> str:
    return str(value)


def _name(leaf: Leaf) -> str:
    return f"Python {leaf[1].dtype.name.rstrip('0123456789')}" if leaf[0] == "python" else leaf[0]


def _stands_for(one: Leaf, other: Leaf) -> bool:
    """Return whether an array stands for a Python number of its kind: what reads no more gives it. A number has no dtype to give others."""
    return one[0] == "python" and _plain(other[1]).dtype.kind in _ALIKE.get(one[1].dtype.kind, "")


def _other_number(one: Leaf, other: Leaf) -> bool:
    """Return whether two Python numbers are of different types."""
    return one[0] == other[0] == "python" and one[1].dtype.kind != other[1].dtype.kind


def _plain(array: Any) -> Any:
    return array.astype("float32") if array.dtype.name == "bfloat16" else array


def _close(one: Leaf, other: Leaf, *, exact: bool, moved: Any, loose: float, signs: bool) -> Any:
    """Tell which elements are the same."""
    a, b = _plain(one[1]), _plain(other[1])
    if a.dtype.kind not in "fc" or b.dtype.kind not in "fc":
        return np.asarray(a == b)
    if a.dtype.kind == "c":
        parts = [(part(a), part(b)) for part in (np.real, np.imag)]
        same = [_near(x, y, _units(x, y, one[0], other[0]), exact, moved, loose, False) for x, y in parts]
        return same[0] & same[1]
    return _near(a, b, _units(a, b, one[0], other[0]), exact, moved, loose, signs)


def _terms(elements: int, size: int) -> float:
    return float(max(1.0, elements / max(size, 1)) ** 0.5)


def _units(a: Any, b: Any, kind: str, other: str) -> Any:
    """A unit in the last place of each element, of the coarser dtype."""
    with np.errstate(all="ignore"):
        units = [np.spacing(np.abs(x)).astype(np.float64) * _COARSE.get(name, 1) for x, name in ((a, kind), (b, other))]
    return np.maximum(*units)


def _near(a: Any, b: Any, units: Any, exact: bool, moved: Any, loose: float, signs: bool) -> Any:
    with np.errstate(all="ignore"):
        same = (a == b) | (np.isnan(a) & np.isnan(b))
        if signs:
            same &= (a != 0) | (b != 0) | (np.signbit(a) == np.signbit(b))
        if exact:
            return np.asarray(same)
        finite = np.isfinite(a) & np.isfinite(b)
        largest = np.abs(a, where=finite, out=np.zeros(a.shape)).max(initial=0.0)
        # No device that XLA compiles for computes with numbers that are smaller than this: they are zeros there.
        least = max(float(np.finfo(x.dtype).tiny) for x in (a, b))
        allowed = _UNITS * units + loose * largest + least
        if moved is not None and np.shape(moved) == a.shape:
            allowed = allowed + moved
        apart = np.abs(a.astype(np.float64) - b.astype(np.float64))
        # Both zero and of other signs is a difference in sign alone, which no tolerance takes away.
        either = (a != 0) | (b != 0) if signs else np.ones(a.shape, bool)
        return np.asarray(same | (finite & either & (apart <= allowed)))


def movement(
    one: Sequence[Leaf],
    apart: Sequence[Sequence[Leaf]],
    joint: Sequence[Sequence[Leaf]],
    elements: int,
    dtypes: Sequence[str],
) -> Noise:
    """How far the elements of values moved in other runs: all together in those `apart`, each of which moved one input, at most in those
    that moved all. None where they have another shape, or are no floats.

    Where the inputs have more `elements` than a value, its elements are taken for sums of them, whose rounding adds up term by term. At a
    jump a result moves as far as it jumps, which says nothing of rounding: it counts up to a part of the largest element that depends on
    the coarsest of its dtype and the `dtypes` of the inputs.
    """
    found: list[Any] = []
    for n, (kind, array) in enumerate(one):
        plain = _plain(array)
        moved = [_apart(plain, _plain(run[n][1]) if n < len(run) else None) for run in (*apart, *joint)]
        if any(one is None for one in moved) or not moved:
            found.append(None)
            continue
        most = [*([np.sum(moved[: len(apart)], axis=0)] if apart else []), *moved[len(apart) :]]
        share = max(_MOST.get(name, _MOST_OTHER) for name in (kind, *dtypes))
        whole = np.abs(plain, where=np.isfinite(plain), out=np.zeros(plain.shape)).max(initial=0.0)
        off = np.nan_to_num(_NOISE * np.max(most, axis=0) * _terms(elements, plain.size), nan=0.0, posinf=0.0)
        off = np.minimum(off, share * whole)
        found.append(np.maximum(off, _UNITS_OF_WIDEST * np.spacing(whole)) if kind == "float64" else off)
    return found


def allow_rounding(
    noise: Noise, one: Sequence[Leaf], wide: Sequence[Leaf], other: Sequence[Leaf], dtypes: Sequence[str]
) -> Noise:
    """How far values may be off if two programs give the same in a wider dtype: then what they give in their own differs by rounding.

    Args:
        noise: how far the first program's values, `one`, moved.
        wide, other: what the two programs gave for inputs of a wider dtype.
        dtypes: of the inputs.
    """
    found = list(noise) if len(noise) == len(one) else [None] * len(one)
    if not len(one) == len(wide) == len(other):
        return found
    for n, (kind, array) in enumerate(one):
        wider, loose = _WIDER.get(kind, ("", 0.0))
        if wide[n][0] != wider or difference([wide[n]], [other[n]], loose=loose, signs=False):
            continue
        whole = np.abs(_plain(array), where=np.isfinite(_plain(array)), out=np.zeros(array.shape)).max(initial=0.0)
        share = max(_MOST.get(name, _MOST_OTHER) for name in (kind, *dtypes))
        least = np.full(array.shape, share * whole)
        found[n] = least if found[n] is None else np.maximum(found[n], least)
    return found


def changes(one: Sequence[Leaf], other: Sequence[Leaf], scales: Sequence[float]) -> Any:
    """Return how far the elements of two lists of values are from one another, by the scale of each, 1 for what is no float; None where
    they are not of one form.
    """
    if [(kind, np.shape(array)) for kind, array in one] != [(kind, np.shape(array)) for kind, array in other]:
        return None
    found = [np.zeros(1)]
    for (kind, a), (_, b), scale in zip(one, other, scales, strict=False):
        if kind == "none" or _plain(a).dtype.kind not in "fc":
            found.append(np.atleast_1d(a != b).astype(np.float64).reshape(-1))
            continue
        x, y = (_plain(array).reshape(-1) for array in (a, b))
        with np.errstate(all="ignore"):
            finite = np.isfinite(x) & np.isfinite(y)
            odd = ~finite & (x != y) & ~(np.isnan(x) & np.isnan(y))
            apart = np.where(finite, np.abs(x - y), 0.0)
        found.append(np.where(odd, 1.0, apart / scale if scale else apart))
    return np.concatenate(found)


def largest_of(leaf: Leaf) -> float:
    """Return the largest finite element of a float array, 0 where there is none."""
    array = _plain(leaf[1])
    if array.dtype.kind != "f":
        return 0.0
    return float(np.abs(array, where=np.isfinite(array), out=np.zeros(array.shape)).max(initial=0.0))


def allow_cancelling(noise: Noise, one: Sequence[Leaf], scales: Sequence[float]) -> Noise:
    """How far values may be off whose terms cancel: by rounding of the scale that they have elsewhere, if that is known."""
    if not len(noise) == len(one) == len(scales):
        return noise
    found = list(noise)
    for n, (kind, array) in enumerate(one):
        plain = _plain(array)
        if plain.dtype.kind == "f":
            unit = 2.0**-8 if kind == "bfloat16" else float(np.finfo(plain.dtype).eps)
            least = np.full(plain.shape, 2 * _UNITS * unit * scales[n])
            found[n] = least if found[n] is None else np.maximum(found[n], least)
    return found


def _apart(one: Any, other: Any) -> Any:
    """How far two arrays of floats are from one another, None where they cannot be compared."""
    if other is None or one.dtype.kind != "f" or other.dtype.kind != "f" or one.shape != other.shape:
        return None
    with np.errstate(all="ignore"):
        return np.abs(other.astype(np.float64) - one.astype(np.float64))
