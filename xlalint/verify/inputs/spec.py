"""Inputs as people write them: `x="f32[8,128]", mask="bool[B,8]", lens="i64[B=4] 1..6", n=4`.

A string that names a dtype and a shape stands for an array: a dimension is a size, a name, or a name with its size (`B=8`); integers may
have an inclusive range. `[]` is a scalar. A dict, list or tuple may hold arrays; so may a call of a class of the program's own,
`batch=Batch(x="f32[8]")`, and of `iter`, which gives an iterator. A name of `functions` is a function. Any other literal is passed
as it is.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable, Mapping
from difflib import get_close_matches
from typing import Union

from xlalint.verify.inputs.conditions import ConditionError, check_condition, is_condition
from xlalint.verify.inputs.containers import ITERATOR, Made, access_of, flatten, holds_array, nest, root_of, write
from xlalint.verify.inputs.functions import NAMED, named_by
from xlalint.verify.model import ArraySpec, Literally, NamedFunction, Spec, Specs

DTYPES = {
    "bool": "bool",
    "f16": "float16",
    "bf16": "bfloat16",
    "f32": "float32",
    "f64": "float64",
    "i8": "int8",
    "i16": "int16",
    "i32": "int32",
    "i64": "int64",
    "u8": "uint8",
    "c64": "complex64",
}
"""The dtypes by their names here, with their names in NumPy."""

STEPS = 8
WARM_UP = 2  # steps in which compilations are expected: the first sees new code, the second new state

# Sizes of named dimensions that nobody gave one: small, and no two alike, so that a shape tells which is which.
SIZES = (8, 6, 5, 7, 9, 10, 11, 12, 13, 14, 15, 16)

_ALIASES = {
    **{numpy: own for own, numpy in DTYPES.items()},
    "half": "f16",
    "float": "f32",
    "double": "f64",
    "short": "i16",
    "int": "i32",
    "long": "i64",
    "complex": "c64",
    "b": "bool",
    "b1": "bool",
    "pred": "bool",
    "mask": "bool",
    "byte": "u8",
    "ui8": "u8",
    "s32": "i32",
    "s64": "i64",
}
_ARRAY = re.compile(r"\s*(?P<dtype>\w+)\s*\[(?P<shape>[^\[\]]*)\]\s*(?:(?P<low>-?\d+)\s*\.\.\s*(?P<high>-?\d+)\s*)?")
_DIMENSION = re.compile(r"(?P<size>\d+)|(?P<name>[A-Za-z_]\w*)(?:\s*=\s*(?P<given>\d+))?")
_EXAMPLE = '"f32[8,128]", "bool[8]", "i64[4] 1..6", "f32[B=8,64]", "f32[]"'
_LARGEST = 1 << 31
_CLASS = re.compile(r"[A-Za-z_]\w*(?:\.[A-Za-z_]\w*)*")
_CALL = re.compile(r"\s*[A-Za-z_][\w.]*\(")
_REQUIRES = "requires"

Sizes = dict[str, int]


class SpecError(ValueError):
    """Inputs that cannot be read; the message is one line: what is wrong, and the nearest right form."""


def spec_of(value: object) -> tuple[Spec, Sizes]:
    """The spec that a written value stands for, and the sizes that it gives to named dimensions."""
    if isinstance(value, NamedFunction):
        return value, {}
    if isinstance(value, str) and ("[" in value or "]" in value):
        return _array(value)
    return Literally(repr(value)), {}


def specs_of(values: Mapping[str, object]) -> Specs:
    """The specs of written values by argument; two that give a name different sizes are an error. Comparisons as `requires` are no
    argument, but a condition on the others.
    """
    arguments: dict[str, Spec] = {}
    sizes: Sizes = {}
    given = dict(values)
    requires: tuple[str, ...] = ()
    if is_condition(given.get(_REQUIRES)):
        requires = (str(given.pop(_REQUIRES)),)
    for name, value in given.items():
        try:
            for path, one in flatten(name, _read_text(value)):
                arguments[path], known = spec_of(one)
                for dimension, size in known.items():
                    if sizes.setdefault(dimension, size) != size:
                        raise SpecError(f"`{dimension}` is {sizes[dimension]} in one place and {size} in another")
        except ValueError as error:
            raise SpecError(f"input `{name}`: {error}") from None
    try:
        for text in requires:
            check_condition(text, {access_of(path): one for path, one in arguments.items()})
    except ConditionError as error:
        raise SpecError(f"`{_REQUIRES}`: {error}") from None
    return Specs(arguments, sizes, requires)


def parse_inputs(text: str) -> Specs:
    """The specs in the text between the parentheses of `inputs(...)`."""
    try:
        call = ast.parse(f"inputs({text}\n)", mode="eval").body
    except (SyntaxError, ValueError) as error:
        said = error.msg if isinstance(error, SyntaxError) else str(error)
        raise SpecError(f'`inputs({text})` is not Python: {said}; write it like inputs(x="f32[8,128]", n=4)') from None
    if not isinstance(call, ast.Call) or not isinstance(call.func, ast.Name):
        raise SpecError(f'`inputs({text})` is not one call; write it like inputs(x="f32[8,128]", n=4)')
    values: dict[str, object] = {str(number): _literal(str(number), node) for number, node in enumerate(call.args)}
    for keyword in call.keywords:
        if keyword.arg is None:
            raise SpecError("`**` has no place in inputs(...): write each argument by its name")
        values[keyword.arg] = _literal(keyword.arg, keyword.value)
    return specs_of(values)


def merge_specs(specs: Iterable[Specs]) -> Specs:
    """Lay specs over one another: an argument, or a size, is what the first that has it says; all conditions hold."""
    arguments: dict[str, Spec] = {}
    sizes: Sizes = {}
    requires: tuple[str, ...] = ()
    for one in specs:
        requires = tuple(dict.fromkeys((*requires, *one.requires)))
        known = {root_of(path) for path in arguments}
        own = {path: spec for path, spec in one.arguments.items() if path in arguments or root_of(path) not in known}
        arguments = {**own, **arguments}
        sizes = {**one.sizes, **sizes}
    return Specs(arguments, sizes, requires)


def fill_sizes(specs: Specs) -> Specs:
    """Return the specs with a size for every named dimension: those without one get small ones, no two alike."""
    named = dict.fromkeys(
        dimension
        for spec in specs.arguments.values()
        if isinstance(spec, ArraySpec)
        for dimension in spec.shape
        if isinstance(dimension, str)
    )
    taken = set(specs.sizes.values())
    free = iter([size for size in SIZES if size not in taken] + list(range(SIZES[-1] + 1, SIZES[-1] + 1 + len(named))))
    sizes = {name: specs.sizes[name] if name in specs.sizes else next(free) for name in named}
    return Specs(specs.arguments, sizes, specs.requires)


def sizes_of(specs: Specs, step: int, vary: tuple[str, ...]) -> dict[str, int]:
    """The sizes of named dimensions in a step, where those of `vary` change after the warm-up: each by turns takes its next size."""
    sizes = fill_sizes(specs).sizes
    for turn in range(step - WARM_UP + 1 if vary else 0):
        sizes[vary[turn % len(vary)]] += 1
    return sizes


def usual_range(dtype: str) -> tuple[int, int]:
    """The smallest and the largest integer of an array that is declared without a range: few, as of classes, but all that 8 bits hold, as
    images and quantized numbers do.
    """
    return {"u8": (0, 255), "i8": (-128, 127)}.get(dtype, (0, 3))


def format_spec(spec: Spec, sizes: Mapping[str, int] | None = None) -> str:
    """Write a spec as users do; with `sizes`, names are replaced by them."""
    if isinstance(spec, NamedFunction):
        return spec.name
    if isinstance(spec, Literally):
        return spec.text
    known = sizes or {}
    shape = ",".join(str(known.get(size, size) if isinstance(size, str) else size) for size in spec.shape)
    bounds = (
        f" {spec.low}..{spec.high}"
        if spec.dtype[0] in "iu" and (spec.low, spec.high) != usual_range(spec.dtype)
        else ""
    )
    return f'"{spec.dtype}[{shape}]{bounds}"'


def format_inputs(specs: Specs) -> str:
    """Write inputs as users do, between the parentheses of `inputs(...)`; names of dimensions are replaced by their sizes."""
    texts = nest({name: format_spec(spec, specs.sizes) for name, spec in specs.arguments.items()})
    written = [write(one) if name.isdigit() else f"{name}={write(one)}" for name, one in texts.items()]
    return ", ".join([*written, *([f"{_REQUIRES}={' and '.join(specs.requires)!r}"] if specs.requires else [])])


def _literal(name: str, node: ast.expr) -> object:
    try:
        return _read(node)
    except (ValueError, TypeError, SyntaxError, RecursionError):
        text = ast.unparse(node)
        if isinstance(node, (ast.Name, ast.Attribute)):
            raise SpecError(
                f"input `{name}`: `{text}` is not a function that is known here ({', '.join(sorted(NAMED))})"
            ) from None
        hint = f'"{text}"' if "[" in text else '"f32[8,128]" for an array, or a number, a string, True, None'
        raise SpecError(f"input `{name}`: `{text}` is not a literal; write {hint}") from None


def _read(node: ast.expr) -> object:
    """Read a literal whose parts may be calls and names of functions.

    Raises: as `ast.literal_eval` does.
    """
    if isinstance(node, ast.Dict) and all(node.keys):
        return {ast.literal_eval(key): _read(one) for key, one in zip(node.keys, node.values, strict=True) if key}
    if isinstance(node, (ast.List, ast.Tuple)):
        return (list if isinstance(node, ast.List) else tuple)(map(_read, node.elts))
    if isinstance(node, ast.Name) and node.id in NAMED:
        return NamedFunction(node.id)
    if isinstance(node, ast.Attribute) and (known := named_by(ast.unparse(node))) is not None:
        return NamedFunction(known)
    if isinstance(node, ast.Call) and isinstance(node.func, (ast.Name, ast.Attribute)):
        return _read_call(node, ast.unparse(node.func))
    return ast.literal_eval(node)


def _read_call(node: ast.Call, name: str) -> Made:
    given = node.args
    if name == ITERATOR and len(given) == 1 and isinstance(given[0], (ast.List, ast.Tuple)):
        given = given[0].elts
    elif name == ITERATOR or any(one.arg is None for one in node.keywords) or not _CLASS.fullmatch(name):
        raise ValueError(name)
    arguments = {str(number): _read(one) for number, one in enumerate(given)}
    made = Made(name, {**arguments, **{one.arg: _read(one.value) for one in node.keywords if one.arg is not None}})
    # A class may hold anything; a function that is given no array makes one that never varies.
    if name != ITERATOR and not name.rpartition(".")[2][0].isupper() and not holds_array(made.arguments):
        raise ValueError(name)
    return made


def _read_text(value: object) -> object:
    """A text that has a call in it, as TOML holds one, as what it stands for; other values as they are."""
    if isinstance(value, dict):
        return {key: _read_text(one) for key, one in value.items()}
    if isinstance(value, list):
        return list(map(_read_text, value))
    if not (isinstance(value, str) and "[" in value and _CALL.match(value)):
        return value
    try:
        return _read(ast.parse(value.strip(), mode="eval").body)
    except (ValueError, TypeError, SyntaxError, RecursionError):
        return value


def _array(text: str) -> tuple[ArraySpec, Sizes]:
    match = _ARRAY.fullmatch(text)
    if match is None:
        raise SpecError(f"`{text}` is not an array; write it like {_EXAMPLE}")
    dtype = match["dtype"]
    if dtype not in DTYPES:
        near = _ALIASES.get(dtype.lower()) or next(
            iter(get_close_matches(dtype.lower(), DTYPES, n=1, cutoff=0.4)), None
        )
        raise SpecError(f"unknown dtype `{dtype}`; {f'write `{near}`' if near else 'one of'} ({', '.join(DTYPES)})")
    shape, sizes = _shape(match["shape"], text)
    low, high = (int(match["low"]), int(match["high"])) if match["low"] is not None else usual_range(dtype)
    if low > high:
        raise SpecError(f"`{text}`: the range {low}..{high} is empty; write {high}..{low}")
    return ArraySpec(dtype, shape, low, high), sizes


def _shape(text: str, whole: str) -> tuple[tuple[Union[int, str], ...], Sizes]:
    shape: list[Union[int, str]] = []
    sizes: Sizes = {}
    for part in text.split(",") if text.strip() else []:
        match = _DIMENSION.fullmatch(part.strip())
        if match is None:
            raise SpecError(f"`{whole}`: `{part.strip()}` is not a dimension; write a size, a name, or both: 8, B, B=8")
        size = match["size"] or match["given"]
        if size is not None and int(size) > _LARGEST:
            raise SpecError(f"`{whole}`: {size} is too large for a dimension")
        if match["name"] is None:
            shape.append(int(match["size"]))
            continue
        shape.append(match["name"])
        if size is not None and sizes.setdefault(match["name"], int(size)) != int(size):
            raise SpecError(f"`{whole}`: `{match['name']}` has two sizes")
    return tuple(shape), sizes
