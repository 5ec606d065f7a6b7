"""From what calls returned to a return of the table language: the simplest one that every sample bears out."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

MISSING = object()
_ORDER = "bifc"


@dataclass(frozen=True)
class Array:
    """A tensor as tables speak of it: dtype letter and rank."""

    dtype: str
    rank: int


@dataclass(frozen=True)
class Group:
    """A list, tuple or dict of results; `fields` are the names of a named tuple's parts."""

    kind: str
    parts: tuple[Any, ...]
    fields: tuple[str, ...] = ()


@dataclass(frozen=True)
class Host:
    """A result that is no tensor, as a return of the table language."""

    text: str


@dataclass(frozen=True)
class Sample:
    """One call: its tensor arguments in order, its `dim`/`axis` and `keepdim` arguments, and its result."""

    inputs: tuple[Array, ...]
    result: Any
    dim: Any = MISSING
    keepdim: bool = False


@dataclass(frozen=True)
class Names:
    """What a framework calls the reduced dimension, and whether the function is known to broadcast two operands."""

    dim: str = "dim"
    keepdim: str = "keepdim"
    broadcasts: bool = False


DEFAULT = Names()


def relation(samples: Sequence[Sample], names: Names = DEFAULT) -> str | None:
    """The return that all samples bear out, or None when their results have different structures.

    Complex arguments are left out where there are others: few programs have them, and `abs` would lose its dtype.
    """
    samples = [s for s in samples if s.inputs or not isinstance(s.result, Array)] or list(samples)
    samples = [s for s in samples if not any(a.dtype == "c" for a in s.inputs)] or samples
    if not samples:
        return None
    kinds = {type(s.result) for s in samples}
    if len(kinds) != 1:
        return None
    first = samples[0].result
    if isinstance(first, Host):
        texts = {s.result.text for s in samples}
        return texts.pop() if len(texts) == 1 else "host"
    if isinstance(first, Group):
        return _group(samples, names)
    return _array(samples, names)


def _group(samples: Sequence[Sample], names: Names) -> str | None:
    groups = [s.result for s in samples]
    first = groups[0]
    if any(g.kind != first.kind for g in groups):
        return None
    same_length = len({len(g.parts) for g in groups}) == 1
    if first.kind == "tuple" and same_length and len(first.parts) <= 6 and (first.fields or len(first.parts) > 1):
        parts = [relation([_part(s, i) for s in samples], names) or "unknown" for i in range(len(first.parts))]
        if first.fields:
            parts = [f"{name}:{part}" for name, part in zip(first.fields, parts, strict=True)]
        return f"tuple({', '.join(parts)})"
    flat = [_part(s, i) for s in samples for i in range(len(s.result.parts))]
    inner = relation(flat, names) or "unknown"
    return f"tuple({inner}*)" if first.kind == "tuple" else f"{first.kind}({inner})"


def _part(sample: Sample, index: int) -> Sample:
    return Sample(sample.inputs, sample.result.parts[index], sample.dim, sample.keepdim)


def _array(samples: Sequence[Sample], names: Names) -> str:
    dtype = _dtype(samples)
    ranks = [s.result.rank for s in samples]
    with_inputs = all(s.inputs for s in samples)
    known = dtype not in ("same", "?")
    bracket = f"[{dtype}]" if known else ""
    if with_inputs and dtype != "?":
        if all(s.result.rank == s.inputs[0].rank for s in samples) and _enough_dtypes(samples, dtype):
            return f"like{bracket}" if not names.broadcasts else f"promote{bracket}"
        if all(s.result.rank == max(a.rank for a in s.inputs) for s in samples):
            return f"promote{bracket}"
        if any(s.dim is not MISSING for s in samples) and all(s.result.rank == _reduced(s) for s in samples):
            return f"reduce{bracket}({names.dim}, {names.keepdim})"
    letter = {"same": "=*" if with_inputs else "?"}.get(dtype, dtype)
    varied = len({a.rank for s in samples for a in s.inputs[:1]}) > 1 or not with_inputs
    if len(set(ranks)) == 1 and (ranks[0] == 0 or (varied and len(samples) > 1)):
        return f"scalar{bracket}" if ranks[0] == 0 and dtype != "?" and with_inputs else f"tensor[{letter},{ranks[0]}]"
    return "tensor" if letter == "?" else f"tensor[{letter}]"


def _enough_dtypes(samples: Sequence[Sample], dtype: str) -> bool:
    """`like` takes the first argument's dtype: with other dtypes among the arguments, the first must be the result's."""
    return dtype != "same" or all(s.result.dtype == s.inputs[0].dtype for s in samples)


def _dtype(samples: Sequence[Sample]) -> str:
    found: set[str] = {s.result.dtype for s in samples}
    if all(s.inputs for s in samples):
        if all(s.result.dtype == s.inputs[0].dtype for s in samples):
            return "same"
        if all(s.result.dtype == promoted(s.inputs) for s in samples):
            return "same"
        if all(s.result.dtype == _counted(promoted(s.inputs)) for s in samples):
            return "n"
    if len(found) == 1:
        return found.pop()
    return "f" if found == {"f", "c"} else "?"


def _counted(dtype: str) -> str:
    return "i" if dtype == "b" else dtype


def promoted(arrays: Iterable[Array]) -> str:
    """The wider of the dtypes."""
    return max((a.dtype for a in arrays), key=_ORDER.index)


def _reduced(sample: Sample) -> int:
    rank = sample.inputs[0].rank
    if sample.dim is MISSING or sample.dim is None or sample.dim == () or sample.dim == []:
        return rank if sample.keepdim else 0
    count = len(sample.dim) if isinstance(sample.dim, (tuple, list)) else 1
    return rank if sample.keepdim else max(rank - count, 0)
