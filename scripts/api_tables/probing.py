"""Calling functions with small arguments, chosen by their parameters' names, to see what they return."""

from __future__ import annotations

import contextlib
import inspect
from collections.abc import Callable, Iterator, Mapping
from typing import Any

from api_tables.relations import MISSING, Array, Sample

SHAPES = {1: (4,), 2: (4, 4), 3: (2, 4, 4), 4: (2, 4, 4, 4)}
# a parameter of this name is given this value; None leaves the whole call out
KNOWN: dict[str, Any] = {
    "axis": 0, "axes": (0,), "dim": 0, "dimension": 0, "axis1": 0, "axis2": 1, "source": 0, "destination": 0,
    "shape": (2, 3), "newshape": (16,), "size": (2, 3), "new_sizes": (2, 4, 4), "num": 3, "num_classes": 5, "depth": 5, "n": 3, "k": 2,
    "N": 3, "M": 3, "m": 3, "reps": 2, "repeats": 2, "multiples": (1, 1), "shift": 1, "shifts": 1, "indices_or_sections": 2, "perm": (1, 0),
    "paddings": ((0, 1), (0, 1)), "pad_width": 1, "subscripts": "ij,jk->ik", "equation": "ij,jk->ik", "num_or_size_splits": 2,
    "start": 0, "stop": 3, "limit": 3, "dtype": None, "name": None, "decimals": 1, "ord": 2, "deg": 2, "rank": 1,
    "num_segments": 3, "sizes": (2, 2), "begin": (0, 0), "permutation": (1, 0), "dimensions": (0,), "operand_dtype": None,
}  # fmt: skip
TENSOR_LISTS = frozenset({"arrays", "tup", "tensors", "values", "operands", "seq", "inputs_list"})


def signature(function: Any) -> tuple[tuple[str, ...], tuple[str, ...], bool]:
    """Positional parameters (`*name` for varargs), those that must be given, and whether a signature is known."""
    if isinstance(getattr(function, "nin", None), int):  # numpy-like ufuncs hide their parameters
        names = ("x1", "x2", "x3")[: function.nin] if function.nin > 1 else ("x",)
        return names, names, True
    try:
        parameters = inspect.signature(function).parameters.values()
    except (TypeError, ValueError):
        return (), (), False
    positional, required = [], []
    for p in parameters:
        if p.kind is p.VAR_POSITIONAL:
            positional.append("*" + p.name)
        elif p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD):
            positional.append(p.name)
            if p.default is p.empty:
                required.append(p.name)
    return tuple(positional), tuple(required), True


def observe(
    function: Callable[..., Any],
    make: Callable[[str, int], Any],
    run: Callable[[Callable[..., Any], list[Any], Mapping[str, Any]], Any],
    dim: str = "axis",
    keepdim: str = "keepdims",
) -> Iterator[Sample]:
    """What the function returns for tensors of several ranks and dtypes; `run` calls it and abstracts the result."""
    positional, required, known = signature(function)
    if not known or len(required) > 5:
        return
    required = required or tuple(p for p in positional[:1] if p.startswith("*"))
    for dtype in "fib":
        for rank in SHAPES:
            plan = _plan(required, dtype, rank, make)
            if plan is None:
                return
            arguments, inputs = plan
            for extra in _variations(positional, function, dim, keepdim):
                try:
                    result = run(function, arguments, extra)
                except Exception:  # noqa: BLE001 (the function does not take such arguments)
                    continue
                axis = extra.get(dim, MISSING)
                yield Sample(tuple(inputs), result, axis, bool(extra.get(keepdim, False)))


def _plan(
    required: tuple[str, ...], dtype: str, rank: int, make: Callable[[str, int], Any]
) -> tuple[list[Any], list[Array]] | None:
    arguments: list[Any] = []
    inputs: list[Array] = []
    for name in required:
        plain = name.lstrip("*")
        if plain in KNOWN:
            if KNOWN[plain] is None:
                return None
            arguments.append(KNOWN[plain])
        elif plain in TENSOR_LISTS:
            arguments.append([make(dtype, rank), make(dtype, rank)])
            inputs += [Array(dtype, rank)] * 2
        elif plain in ("indices", "ids", "segment_ids", "index"):
            arguments.append(make("i", rank))
            inputs.append(Array("i", rank))
        elif plain in ("key", "seed"):
            arguments.append(make("key", 0))
        else:
            arguments.append(make(dtype, rank))
            inputs.append(Array(dtype, rank))
    return arguments, inputs


def _variations(positional: tuple[str, ...], function: Any, dim: str, keepdim: str) -> list[dict[str, Any]]:
    names = set(positional)
    with contextlib.suppress(TypeError, ValueError):
        names |= set(inspect.signature(function).parameters)
    if dim in names and keepdim in names:
        return [{}, {dim: 0}, {dim: -1, keepdim: True}, {dim: (0, 1)}]
    return [{}]
