"""The inputs on which two programs are compared, by kind: those of ordinary steps, and those at which programs break.

What code compares with is told by `Hints`: draws lie at these numbers, beside them, and past them. Only the child process imports this
module.
"""

from __future__ import annotations

import ast
import itertools
import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from types import MappingProxyType
from typing import Any, NamedTuple

import numpy as np

from xlalint.verify.inputs.conditions import meet
from xlalint.verify.inputs.draws import Values, draw, is_floating, resize
from xlalint.verify.inputs.spec import DTYPES, STEPS, fill_sizes, parse_inputs
from xlalint.verify.model import ArraySpec, Spec, Specs

_MOST_CONSTANTS = 8
_MOST_ELEMENTS = 400_000
_LARGE = 600
_LONGER = 11  # a size that no input is declared with by chance
_FAR = 300.0
_MOST_COMBINATIONS = 36
_MOST_BEYOND = 1 << 27  # more may be a size of what a function makes, and take all memory
_APART = 3  # floating arguments that take turns at a constant


class Hints(NamedTuple):
    """Holds what the code of two programs says about inputs: numbers that values, and sizes, are compared with; other values of parameters
    that have a default, by name, as Python text.
    """

    constants: tuple[float, ...] = ()
    sizes: tuple[int, ...] = ()
    options: Mapping[str, tuple[str, ...]] = MappingProxyType({})


NOTHING = Hints()
Drawn = Iterator[Values]


def basic_edges(specs: Specs) -> Iterator[tuple[str, Values]]:
    """The few draws for programs that are compiled for each: those of the steps ("step"), and by name what is at the edge of them.

    "nan" has NaN and infinities where a mask says False, and here and there; "zeros" only zeros, of both signs; "ties" the same values
    often; "single" and "empty" one element, and none, along the dimension with which the first array begins.
    """
    for kind in ("step", "nan", "zeros", "ties", "single", "empty"):
        for values in _draws(_KINDS[kind], specs, NOTHING):
            yield kind, values


def edges(specs: Specs, hints: Hints = NOTHING) -> Iterator[tuple[str, Values]]:
    """All draws, by kind."""
    for kind, make in (*_KINDS.items(), *_MORE_KINDS.items()):
        for values in _draws(make, specs, hints):
            yield kind, values


def _draws(make: Callable[[Specs, Hints], Drawn], specs: Specs, hints: Hints) -> Drawn:
    """The draws of a kind, moved to where the conditions on inputs hold; without those that cannot be."""
    for values in make(specs, hints):
        valid = meet(values, specs.requires) if specs.requires else values
        if valid is not None:
            yield valid


def example(
    inputs: str, edge: str = "step", number: int = 0, constants: tuple[float, ...] = (), sizes: tuple[int, ...] = ()
) -> Values:
    """The inputs that a counterexample names: the `number`th of an edge."""
    make = {**_KINDS, **_MORE_KINDS}[edge]
    return list(_draws(make, parse_inputs(inputs), Hints(constants, sizes)))[number]


def _step(specs: Specs, hints: Hints) -> Drawn:
    for step in range(STEPS):
        yield draw(specs, step)


def _nan(specs: Specs, hints: Hints) -> Drawn:
    for step in range(3):
        yield _with_nan(draw(specs, step), step)


def _odd(specs: Specs, hints: Hints) -> Drawn:
    """One element that is not finite: the last, and the first that masks of the same leading shape select."""
    for number, odd in enumerate((np.nan, np.inf, -np.inf)):
        values = draw(specs, number)
        yield _map(values, lambda value, odd=odd: _put(value, -1, odd))  # type: ignore[misc]
        masks = [value for value in values.values() if _kind(value) == "b" and value.any()]
        if masks:
            yield _map(values, lambda value, odd=odd, masks=masks: _put(value, _first_selected(value, masks), odd))  # type: ignore[misc]


def _infinite(specs: Specs, hints: Hints) -> Drawn:
    """Nothing but infinities of one sign, which no number that stands for infinity equals."""
    for number, odd in enumerate((np.inf, -np.inf)):
        yield _map(draw(specs, number + 1), lambda value, odd=odd: np.full_like(value, odd))  # type: ignore[misc]


def _first_selected(value: Any, masks: Sequence[Any]) -> int:
    fitting = (one for one in masks if one.shape == value.shape[: one.ndim])
    mask = next(fitting, None)
    return 0 if mask is None else int(np.argmax(mask.reshape(-1))) * (value.size // mask.size)


def _zeros(specs: Specs, hints: Hints) -> Drawn:
    yield _map(draw(specs, 0), lambda value: np.asarray(value * 0))


def _signed_zeros(specs: Specs, hints: Hints) -> Drawn:
    """Zeros of one sign."""
    for zero in (0.0, -0.0):
        yield _map(draw(specs, 1), lambda value, zero=zero: np.full_like(value, zero))  # type: ignore[misc]


def _ties(specs: Specs, hints: Hints) -> Drawn:
    yield _map(draw(specs, 1), lambda value: np.asarray(np.round(value)))


def _single(specs: Specs, hints: Hints) -> Drawn:
    for step in (0, 3, 4):
        yield draw(resize(specs, 1), step)


def _empty(specs: Specs, hints: Hints) -> Drawn:
    yield draw(resize(specs, 0), 0)


def _constants(specs: Specs, hints: Hints) -> Drawn:
    """At each number that the code compares with, and at its neighbours: all elements, one, the largest, the smallest, some."""
    names = [name for name, value in draw(specs, 0).items() if is_floating(value)]
    turns = [names, *([one] for one in names)] if 1 < len(names) <= _APART else [names] if names else []
    for constant in hints.constants[:_MOST_CONSTANTS]:
        for turn in turns:
            for number, change in enumerate(_AROUND):
                made = draw(specs, number % STEPS)
                yield {k: change(v, constant) if k in turn else v for k, v in made.items()}
    yield from _whole_constants(specs, hints)


def _whole_constants(specs: Specs, hints: Hints) -> Drawn:
    """The same of integers, as far as they may have these values."""
    ranges = {k: s for k, s in specs.arguments.items() if isinstance(s, ArraySpec) and s.dtype[0] in "iu"}
    near = sorted({round(c) + d for c in hints.constants for d in (-1, 0, 1) if math.isfinite(c)}) if ranges else []
    for constant in near[: 2 * _MOST_CONSTANTS]:
        inside = [name for name, spec in ranges.items() if spec.low <= constant <= spec.high]
        if inside:
            made = draw(specs, 0)
            yield {k: np.full_like(v, constant) if k in inside else v for k, v in made.items()}


def _near(value: Any, constant: float, up: bool) -> float:
    """The next number of an array's dtype."""
    own = value.dtype.type(constant)
    if value.dtype.name == "bfloat16":
        return float(constant) + (1 if up else -1) * max(abs(float(constant)) * 2**-7, 1e-30)
    return float(np.nextafter(own, value.dtype.type(np.inf if up else -np.inf)))


_AROUND: tuple[Callable[[Any, float], Any], ...] = (
    lambda value, c: np.full_like(value, c),
    lambda value, c: np.full_like(value, _near(value, c, up=True)),
    lambda value, c: np.full_like(value, _near(value, c, up=False)),
    lambda value, c: _put(np.zeros_like(value), 0, c),
    lambda value, c: _put(np.minimum(value, np.asarray(c, value.dtype)), -1, c),
    lambda value, c: _put(np.maximum(value, np.asarray(c, value.dtype)), -1, c),
    lambda value, c: _cycle(value, (c, _near(value, c, up=True), _near(value, c, up=False), -c, c + 1, 2 * c, c - 1)),
)


def _cycle(value: Any, numbers: tuple[float, ...]) -> Any:
    return np.resize(np.asarray(numbers, np.float64), value.shape).astype(value.dtype)


def _put(value: Any, position: int, number: float) -> Any:
    made = np.array(value)
    if made.size:
        made.reshape(-1)[position] = number
    return made


def _magnitudes(specs: Specs, hints: Hints) -> Drawn:
    """Small, tiny and large values; those of one sign; sorted ones."""
    for number, scale in enumerate((1e-3, 1e-6, 1e4)):
        yield _scale(draw(specs, number), scale)
    yield _map(draw(specs, 5), np.abs)
    yield _map(draw(specs, 6), lambda value: -np.abs(value))
    yield _map(draw(specs, 7), lambda value: np.sort(value.reshape(-1)).reshape(value.shape))


def _offset(specs: Specs, hints: Hints) -> Drawn:
    """Large values that are close together, as pixels and times are: a difference of their squares, say, is what rounding left of it."""
    yield _map(draw(specs, 3), lambda value: np.asarray(_FAR + value / 2).astype(value.dtype))


def _growing(specs: Specs, hints: Hints) -> Drawn:
    """Other sizes from call to call: a table that one call made may be too short for the next."""
    usual = fill_sizes(specs)
    for number, size in enumerate((3, 2 * _LONGER, _LONGER)):
        other = resize(specs, size)
        if sum(_elements(spec, other.sizes) for spec in other.arguments.values()) > _MOST_ELEMENTS or other == usual:
            return
        yield draw(other, number)


def _denormal(specs: Specs, hints: Hints) -> Drawn:
    """Numbers that are smaller than the smallest normal one, which devices take for zeros."""
    yield _scale(draw(specs, 2), 1e-41)


def _scale(values: Values, scale: float) -> Values:
    return _map(values, lambda value: np.asarray(value * scale).astype(value.dtype))


def _alike(specs: Specs, hints: Hints) -> Drawn:
    """Arguments that are the same, and nearly so: what compares them within a tolerance says another thing than what compares them."""
    floats = [name for name, value in draw(specs, 0).items() if is_floating(value) and value.dtype.kind != "c"]
    if len(floats) <= 1:
        return
    for step, off in enumerate((0.0, 1e-6, 1e-4)):
        values = draw(specs, step)
        first = values[floats[0]].astype(np.float64)
        others = {
            name: np.resize(first * (1 + off), values[name].shape).astype(values[name].dtype) for name in floats[1:]
        }
        yield {**values, **others}


def _masks(specs: Specs, hints: Hints) -> Drawn:
    """Masks with whole rows, and whole columns, of one value."""
    for number in range(4):
        values = draw(specs, number)
        masks = {name: one for name, one in values.items() if _kind(one) == "b" and one.ndim}
        if not masks:
            return
        axis = number // 2
        rows = {name: _alternating(one.shape, min(axis, one.ndim - 1), number % 2) for name, one in masks.items()}
        yield {**values, **rows}


def _alternating(shape: tuple[int, ...], axis: int, first: int) -> Any:
    line = (np.arange(shape[axis]) % 2 == first).reshape([-1 if n == axis else 1 for n in range(len(shape))])
    return np.broadcast_to(line, shape).copy()


def _integers(specs: Specs, hints: Hints) -> Drawn:
    """Integers that are all the smallest, all the largest, by turns, ascending, descending."""
    whole = {k: s for k, s in specs.arguments.items() if isinstance(s, ArraySpec) and s.dtype[0] in "iu"}
    yield from _combinations(specs, {k: s for k, s in whole.items() if not s.shape})
    ranges = {k: s for k, s in whole.items() if s.shape}
    for number, form in enumerate(_FORMS if ranges else ()):
        values = draw(specs, number)
        yield {k: form(v, ranges[k].low, ranges[k].high) if k in ranges else v for k, v in values.items()}


def _combinations(specs: Specs, scalars: Mapping[str, ArraySpec]) -> Drawn:
    """All that scalars can be together, where that is few; else their ends."""
    all_of = [range(one.low, one.high + 1) for one in scalars.values()]
    few = math.prod(map(len, all_of)) <= _MOST_COMBINATIONS
    choices = all_of if few else [(one.low, one.high) for one in scalars.values()]
    chosen = itertools.islice(itertools.product(*choices), _MOST_COMBINATIONS)
    for number, numbers in enumerate(chosen if scalars else ()):
        values = draw(specs, number % STEPS)
        given = zip(scalars, numbers, strict=True)
        yield {**values, **{name: np.asarray(one, values[name].dtype) for name, one in given}}


_FORMS: tuple[Callable[[Any, int, int], Any], ...] = (
    lambda value, low, high: np.full_like(value, low),
    lambda value, low, high: np.full_like(value, high),
    lambda value, low, high: np.resize(np.asarray([low, high]), value.shape).astype(value.dtype),
    lambda value, low, high: np.sort(value.reshape(-1)).reshape(value.shape),
    lambda value, low, high: np.sort(value.reshape(-1))[::-1].reshape(value.shape).copy(),
)


def _beyond(specs: Specs, hints: Hints) -> Drawn:
    """Integers outside of the range that is declared: negative ones, large ones, the largest of small dtypes."""
    names = {k: s for k, s in specs.arguments.items() if isinstance(s, ArraySpec) and s.dtype[0] in "iu"}
    if not names:
        return
    for number, pick in enumerate(_OUTSIDE):
        values = draw(specs, number)
        yield {k: pick(v, np.iinfo(v.dtype)) if k in names else v for k, v in values.items()}


_OUTSIDE: tuple[Callable[[Any, Any], Any], ...] = (
    lambda value, info: -value if info.min else value,
    lambda value, info: value + np.asarray(min(info.max - int(value.max(initial=0)), 1 << 25), value.dtype),
    lambda value, info: np.full_like(value, min(info.max, _MOST_BEYOND)),
)


def _sizes(specs: Specs, hints: Hints) -> Drawn:
    """Sizes that the code compares with, those beside them, and a large one, as far as that is affordable."""
    wanted = dict.fromkeys((*(size + d for size in hints.sizes for d in (0, 1)), _LARGE))
    for size in wanted:
        other = resize(specs, size)
        elements = sum(_elements(spec, other.sizes) for spec in other.arguments.values())
        if size > 1 and elements <= _MOST_ELEMENTS and other != fill_sizes(specs):
            yield draw(other, 0)
            yield _map(draw(other, 1), _ramp)


def _ramp(value: Any) -> Any:
    """Values that are negative in front and larger behind: a part of them says other things than all."""
    return (np.abs(value) * np.linspace(-1, 2, value.size).reshape(value.shape)).astype(value.dtype)


def _elements(spec: Spec, sizes: Mapping[str, int]) -> int:
    if not isinstance(spec, ArraySpec):
        return 0
    return math.prod(sizes[one] if isinstance(one, str) else one for one in spec.shape)


def _of_dtype(dtype: str) -> Callable[[Specs, Hints], Drawn]:
    """Arguments that are declared as f32 in another dtype."""

    def make(specs: Specs, hints: Hints) -> Drawn:
        whole = fill_sizes(specs)
        if any(isinstance(one, ArraySpec) and one.dtype == "f32" for one in whole.arguments.values()):
            other = Specs(
                {name: _cast(one, dtype) for name, one in whole.arguments.items()}, whole.sizes, whole.requires
            )
            for step in (0, 1):
                yield draw(other, step)

    return make


def _cast(spec: Spec, dtype: str) -> Spec:
    if not isinstance(spec, ArraySpec) or spec.dtype != "f32":
        return spec
    return ArraySpec(dtype, spec.shape, spec.low, spec.high)


def _options(specs: Specs, hints: Hints) -> Drawn:
    """Other values for parameters that have a default."""
    for name, texts in hints.options.items():
        for text in texts:
            for step in (0, 1):
                yield {**draw(specs, step), name: ast.literal_eval(text)}


_KINDS: Mapping[str, Callable[[Specs, Hints], Drawn]] = MappingProxyType(
    {"step": _step, "nan": _nan, "zeros": _zeros, "ties": _ties, "single": _single, "empty": _empty}
)
GROWING = "growing"
"""The draws that count as a row of calls of one instance, also where the two programs' graphs are the same for each size."""
_MORE_KINDS: Mapping[str, Callable[[Specs, Hints], Drawn]] = MappingProxyType(
    {
        "constants": _constants,
        "options": _options,
        "alike": _alike,
        "masks": _masks,
        "integers": _integers,
        "signed zeros": _signed_zeros,
        "not finite": _odd,
        "infinite": _infinite,
        "magnitudes": _magnitudes,
        "far from zero": _offset,
        "denormal": _denormal,
        "bf16": _of_dtype("bf16"),
        "f16": _of_dtype("f16"),
        "sizes": _sizes,
        GROWING: _growing,
        "beyond the range": _beyond,
    }
)
LARGEST = _LARGE
DTYPE_KINDS = tuple(kind for kind in _MORE_KINDS if kind in DTYPES)
CANCELLING = "alike"
"""The draws whose arguments may cancel one another, so that a result is what rounding leaves of its terms."""
WITHOUT_GRADIENTS = (CANCELLING, "infinite", "far from zero")
"""The draws of which only values count: a gradient there is that of what rounding left, or of ties with what stands for infinity."""
OUTSIDE = ("beyond the range", "denormal", "f16")
"""The kinds of draws that the declared inputs exclude, or no TPU computes with: a difference there is told, and refutes nothing."""


def _map(values: Values, change: Callable[[Any], Any]) -> Values:
    return {name: change(value) if is_floating(value) else value for name, value in values.items()}


def _kind(value: Any) -> str:
    return str(value.dtype.kind) if isinstance(value, np.ndarray) else ""


def _with_nan(values: Values, step: int) -> Values:
    """NaN, inf and -inf by turns where a mask of the same leading shape is False; in step 2 anywhere."""
    rng = np.random.default_rng(step)
    masks = [value for value in values.values() if _kind(value) == "b"]
    result = dict(values)
    for name, value in values.items():
        if is_floating(value):
            out = np.zeros(value.shape, bool)
            for mask in masks:
                if mask.shape == value.shape[: mask.ndim]:
                    out |= ~mask.reshape(mask.shape + (1,) * (value.ndim - mask.ndim))
            if step == 2 or not out.any():
                out = rng.random(value.shape) < 0.2
            odd = rng.choice([np.nan, np.inf, -np.inf], value.shape).astype(value.dtype)
            result[name] = np.where(out, odd, value)
    return result
