"""Inputs for the examples of rule pages: `# xlalint: inputs(x="f32[8,16]", mask="bool[8]", lens="i64[4] 1..6", n=4)`.

A string stands for an array: dtype, shape and, for integers, the inclusive range of its values. Other literals are
passed as they are. Shapes stay the same from step to step and values change, as the batches of a training run do.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from typing import Any

import numpy as np

STEPS = 8
WARM_UP = 2  # steps in which compilations are expected: the first sees new code, the second new state
_ARRAY = re.compile(r"(?P<dtype>bool|[fiu]\d+)\[(?P<shape>[\d, ]*)\](?: (?P<low>-?\d+)\.\.(?P<high>-?\d+))?")
_MARK = re.compile(
    r"^# xlalint: (?P<call>inputs\(.*\))\n(?:@.*\n(?:[ )].*\n)*)*(?P<kind>class|(?:async )?def) (?P<name>\w+)",
    re.MULTILINE,
)
_DTYPES = {
    "f16": "float16",
    "f32": "float32",
    "f64": "float64",
    "i8": "int8",
    "i32": "int32",
    "i64": "int64",
    "u8": "uint8",
}

# Per step, after two ordinary ones come the edges: a mask that selects nothing, one that selects everything.
_MASK_SHARES = (0.5, 0.3, 0.7, 0.0, 1.0, 0.5, 0.2, 0.9)
_SHIFTS = (0.8, -0.8, 0.6, -0.5, 1.2, -0.9, 0.4, -0.7)
_REACHES = (0.5, 1.0, 0.3, 0.8, 0.0, 0.6, 1.0, 0.4)


def marked(code: str) -> tuple[str, dict[str, Any]]:
    """The name that an example asks to run and the inputs it asks for."""
    match = _MARK.search(code)
    if match is None:
        raise ValueError("no `# xlalint: inputs(...)` above a function or class")
    call = ast.parse(match["call"], mode="eval").body
    assert isinstance(call, ast.Call) and not call.args
    return match["name"], {str(keyword.arg): ast.literal_eval(keyword.value) for keyword in call.keywords}


def step_inputs(wanted: dict[str, Any], step: int) -> dict[str, Any]:
    """The inputs of one step, by name; the same for every run of the same example."""
    rng = np.random.default_rng(1000 + step)
    return {name: _value(spec, step, rng) for name, spec in wanted.items()}


def edges(wanted: dict[str, Any]) -> Iterator[tuple[str, dict[str, Any]]]:
    """All inputs on which a program and its repair are compared: those of the steps ("step"), and by name what is at the edge of them.

    "nan" has NaN and infinities where a mask says False, and here and there; "zeros" only zeros; "ties" the same values often; "single" and
    "empty" one element, and none, along the dimension with which the first array begins.
    """
    for step in range(STEPS):
        yield "step", step_inputs(wanted, step)
    for step in range(3):
        yield "nan", _with_nan(step_inputs(wanted, step), step)
    yield (
        "zeros",
        {name: np.asarray(value * 0) if _is_float(value) else value for name, value in step_inputs(wanted, 0).items()},
    )
    yield (
        "ties",
        {
            name: np.asarray(np.round(value)) if _is_float(value) else value
            for name, value in step_inputs(wanted, 1).items()
        },
    )
    for step in (0, 3, 4):
        yield "single", step_inputs(_resized(wanted, 1), step)
    yield "empty", step_inputs(_resized(wanted, 0), 0)


def _is_float(value: Any) -> bool:
    return isinstance(value, np.ndarray) and value.dtype.kind == "f"


def _with_nan(values: dict[str, Any], step: int) -> dict[str, Any]:
    """NaN, inf and -inf by turns where a mask of the same leading shape is False; in step 2 anywhere."""
    rng = np.random.default_rng(step)
    masks = [value for value in values.values() if isinstance(value, np.ndarray) and value.dtype.kind == "b"]
    result = dict(values)
    for name, value in values.items():
        if _is_float(value):
            out = np.zeros(value.shape, bool)
            for mask in masks:
                if mask.shape == value.shape[: mask.ndim]:
                    out |= ~mask.reshape(mask.shape + (1,) * (value.ndim - mask.ndim))
            if step == 2 or not out.any():
                out = rng.random(value.shape) < 0.2
            result[name] = np.where(out, rng.choice([np.nan, np.inf, -np.inf], value.shape), value).astype(value.dtype)
    return result


def _resized(wanted: dict[str, Any], size: int) -> dict[str, Any]:
    """The inputs with another size for every dimension that is as long as the first one of the first array."""
    shapes = [match["shape"] for spec in wanted.values() if isinstance(spec, str) and (match := _ARRAY.fullmatch(spec))]
    first = next((shape.split(",")[0].strip() for shape in shapes if shape), None)
    if first is None:
        return wanted

    def resize(spec: Any) -> Any:
        match = _ARRAY.fullmatch(spec) if isinstance(spec, str) else None
        if match is None:
            return spec
        sizes = (str(size) if one.strip() == first else one for one in match["shape"].split(","))
        return f"{spec[: match.start('shape')]}{','.join(sizes)}{spec[match.end('shape') :]}"

    return {name: resize(spec) for name, spec in wanted.items()}


def _value(spec: Any, step: int, rng: np.random.Generator) -> Any:
    match = _ARRAY.fullmatch(spec) if isinstance(spec, str) else None
    if match is None:
        return spec
    shape = tuple(int(size) for size in match["shape"].replace(" ", "").split(",") if size)
    dtype = match["dtype"]
    if dtype == "bool":
        return _mask(shape, step, rng)
    if dtype[0] in "iu":
        return _integers(shape, int(match["low"] or 0), int(match["high"] or 3), step, rng).astype(_DTYPES[dtype])
    return np.asarray(rng.standard_normal(shape) + _SHIFTS[step], dtype=_DTYPES[dtype])


def _mask(shape: tuple[int, ...], step: int, rng: np.random.Generator) -> Any:
    share = _MASK_SHARES[step]
    if not shape:
        return np.asarray(step % 3 == 0)
    size = int(np.prod(shape))
    mask = np.zeros(size, dtype=bool)
    mask[rng.permutation(size)[: round(share * size)]] = True
    return mask.reshape(shape)


def _integers(shape: tuple[int, ...], low: int, high: int, step: int, rng: np.random.Generator) -> Any:
    if not shape:
        return np.asarray(low + (step * 2 + step // 4) % (high - low + 1))
    reach = low + round((high - low) * _REACHES[step])
    values = rng.integers(low, reach + 1, shape)
    if not values.size:
        return values
    values.reshape(-1)[-1] = reach  # the largest value changes with the step, and with it every shape made from it
    return values
