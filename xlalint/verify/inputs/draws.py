"""Values for inputs, step by step: NumPy arrays, the same in every run.

Values change from step to step, as the batches of a training run do; shapes only where the caller gives other sizes. Only the child process
imports this module.
"""

from __future__ import annotations

import ast
from collections.abc import Mapping
from typing import Any

import numpy as np

from xlalint.verify.inputs.conditions import meet
from xlalint.verify.inputs.spec import DTYPES, fill_sizes
from xlalint.verify.model import ArraySpec, Literally, NamedFunction, Spec, Specs

# Per step, after two ordinary ones come the edges: a mask that selects nothing, one that selects everything. Further steps begin anew.
_MASK_SHARES = (0.5, 0.3, 0.7, 0.0, 1.0, 0.5, 0.2, 0.9)
_SHIFTS = (0.8, -0.8, 0.6, -0.5, 1.2, -0.9, 0.4, -0.7)
_REACHES = (0.5, 1.0, 0.3, 0.8, 0.0, 0.6, 1.0, 0.4)

Values = dict[str, Any]


def draw(specs: Specs, step: int, sizes: Mapping[str, int] | None = None) -> Values:
    """The inputs of one step, by name; `sizes` of named dimensions win over those of the specs."""
    whole = fill_sizes(specs)
    known = {**whole.sizes, **(sizes or {})}
    rng = np.random.default_rng(1000 + step)
    values = {name: _value(spec, step, rng, known) for name, spec in whole.arguments.items()}
    return (meet(values, specs.requires) or values) if specs.requires else values


def resize(specs: Specs, size: int) -> Specs:
    """Resize the dimension with which the first array begins, and all that are as long and have no name."""
    whole = fill_sizes(specs)
    first = next((one.shape[0] for one in whole.arguments.values() if isinstance(one, ArraySpec) and one.shape), None)
    if first is None:
        return whole
    if isinstance(first, str):
        return Specs(whole.arguments, {**whole.sizes, first: size}, whole.requires)

    def other(spec: Spec) -> Spec:
        if not isinstance(spec, ArraySpec):
            return spec
        return ArraySpec(spec.dtype, tuple(size if one == first else one for one in spec.shape), spec.low, spec.high)

    return Specs({name: other(spec) for name, spec in whole.arguments.items()}, whole.sizes, whole.requires)


def is_floating(value: Any) -> bool:
    """Return whether a value is an array of real or complex numbers."""
    return isinstance(value, np.ndarray) and (value.dtype.kind in "fc" or value.dtype.name == "bfloat16")


def _value(spec: Spec, step: int, rng: np.random.Generator, sizes: Mapping[str, int]) -> Any:
    if isinstance(spec, NamedFunction):
        return spec
    if isinstance(spec, Literally):
        return ast.literal_eval(spec.text)
    shape = tuple(sizes[size] if isinstance(size, str) else size for size in spec.shape)
    if spec.dtype == "bool":
        return _mask(shape, step, rng)
    if spec.dtype[0] in "iu":
        return _integers(shape, spec, step, rng).astype(DTYPES[spec.dtype])
    values = rng.standard_normal(shape) + _SHIFTS[step % len(_SHIFTS)]
    if spec.dtype[0] == "c":
        values = values + 1j * rng.standard_normal(shape)
    return np.asarray(values, dtype=dtype_of(spec.dtype))


def dtype_of(name: str) -> Any:
    """The NumPy dtype of a name."""
    if name == "bf16":
        import ml_dtypes

        return ml_dtypes.bfloat16
    return np.dtype(DTYPES[name])


def _mask(shape: tuple[int, ...], step: int, rng: np.random.Generator) -> Any:
    share = _MASK_SHARES[step % len(_MASK_SHARES)]
    if not shape:
        return np.asarray(step % 3 == 0)
    size = int(np.prod(shape))
    mask: Any = np.zeros(size, dtype=bool)
    mask[rng.permutation(size)[: round(share * size)]] = True
    return mask.reshape(shape)


def _integers(shape: tuple[int, ...], spec: ArraySpec, step: int, rng: np.random.Generator) -> Any:
    low, high = spec.low, spec.high
    if not shape:
        return np.asarray(low + (step * 2 + step // 4) % (high - low + 1))
    reach = low + round((high - low) * _REACHES[step % len(_REACHES)])
    values = rng.integers(low, reach + 1, shape)
    if not values.size:
        return values
    values.reshape(-1)[-1] = reach  # the largest value changes with the step, and with it every shape made from it
    return values
