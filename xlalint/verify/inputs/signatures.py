"""Inputs that a signature declares: jaxtyping annotations, and `tf.TensorSpec`s in `input_signature`.

    def attend(q: Float[Array, "batch heads dim"], mask: Bool[Array, "batch"]) -> ...
    @tf.function(input_signature=[tf.TensorSpec([None, 8], tf.float32)])

They are read, not imported: names of dimensions become named dimensions, an unknown size a dimension named after its place.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from typing import NamedTuple, Union

from xlalint.verify.inputs.marks import Definition
from xlalint.verify.inputs.spec import DTYPES, usual_range
from xlalint.verify.model import ArraySpec, Spec, Specs

# jaxtyping's names; its umbrella names stand for what frameworks make by default.
_JAXTYPING = {
    **dict.fromkeys(("Float", "Float32", "Num", "Inexact", "Real", "Shaped"), "f32"),
    "Float16": "f16",
    "BFloat16": "bf16",
    "Float64": "f64",
    "Bool": "bool",
    "UInt8": "u8",
    "UInt": "u8",
    "Int8": "i8",
    "Int16": "i16",
    "Int32": "i32",
    "Int64": "i64",
    "Complex": "c64",
    "Complex64": "c64",
}
_INTEGERS = ("Int", "Integer")
_NUMPY = {numpy: own for own, numpy in DTYPES.items()} | {"half": "f16", "double": "f64"}
_DIMENSION = re.compile(r"[#?]*(?:(?P<size>\d+)|(?P<name>[A-Za-z]\w*)(?:=(?P<given>\d+))?|(?P<any>_\w*))")
_BATCH = "batch"


class Signature(NamedTuple):
    """Holds the inputs that a signature declares, and the other parameters without a default, with the reason why nothing is known of
    each.

    `parameters` are all that a caller can give, in order; `open`: any others too, by `*args` or `**kwargs`.
    """

    specs: Specs
    unknown: dict[str, str]
    parameters: tuple[str, ...] = ()
    open: bool = True


class _UnreadableError(ValueError):
    """An annotation that declares an array, but not one that can be drawn."""


def signature_of(node: Definition) -> Signature:
    """Read the inputs that a function or method declares; of a class, those of the method by which its instances are called."""
    if isinstance(node, ast.ClassDef):
        called = {one.name: one for one in node.body if isinstance(one, (ast.FunctionDef, ast.AsyncFunctionDef))}
        found = next((called[name] for name in ("forward", "call", "__call__") if name in called), None)
        return Signature(Specs({}), {}) if found is None else signature_of(found)
    arguments: dict[str, Spec] = {}
    sizes: dict[str, int] = {}
    unknown: dict[str, str] = {}
    declared = dict(_tensor_specs(node))
    for parameter, optional in _parameters(node):
        name = parameter.arg
        try:
            spec = declared.get(name) or _read_annotation(parameter, sizes)
        except _UnreadableError as error:
            unknown[name] = str(error)
            continue
        if spec is not None:
            arguments[name] = spec
        elif not optional:
            unknown[name] = "nothing says what it is"
    return Signature(
        Specs(arguments, sizes),
        unknown,
        tuple(parameter.arg for parameter, _ in _parameters(node)),
        node.args.vararg is not None or node.args.kwarg is not None,
    )


def _parameters(node: ast.FunctionDef | ast.AsyncFunctionDef) -> Iterator[tuple[ast.arg, bool]]:
    """The parameters that a caller gives, and whether each has a default."""
    told = node.args
    positional = [*told.posonlyargs, *told.args]
    given = [False] * (len(positional) - len(told.defaults)) + [True] * len(told.defaults)
    pairs = list(zip(positional, given, strict=True))
    static = any(isinstance(one, ast.Name) and one.id == "staticmethod" for one in node.decorator_list)
    if pairs and not static and pairs[0][0].arg in ("self", "cls"):
        del pairs[0]
    yield from pairs
    yield from zip(told.kwonlyargs, (one is not None for one in told.kw_defaults), strict=True)


def _read_annotation(parameter: ast.arg, sizes: dict[str, int]) -> Spec | None:
    """The array that a parameter's annotation declares as jaxtyping writes it; None for any other annotation."""
    annotation = parameter.annotation
    if isinstance(annotation, ast.Constant) and isinstance(annotation.value, str):
        annotation = _parse(annotation.value)
    if not isinstance(annotation, ast.Subscript) or not isinstance(annotation.slice, ast.Tuple):
        return None
    kind, parts = _last_name(annotation.value), annotation.slice.elts
    if len(parts) != 2 or not isinstance(parts[1], ast.Constant) or not isinstance(parts[1].value, str):
        return None
    if kind in _INTEGERS:
        dtype = "i64" if _last_name(parts[0]) == "Tensor" else "i32"
    elif kind in _JAXTYPING:
        dtype = _JAXTYPING[kind]
    else:
        return None
    shape = tuple(_dimension(part, parameter.arg, place, sizes) for place, part in enumerate(parts[1].value.split()))
    return ArraySpec(dtype, shape, *usual_range(dtype))


def _dimension(part: str, parameter: str, place: int, sizes: dict[str, int]) -> Union[int, str]:
    if "*" in part or part == "...":
        raise _UnreadableError(f"`{part}` stands for any number of dimensions: write its shape")
    match = _DIMENSION.fullmatch(part)
    if match is None:
        raise _UnreadableError(f"`{part}` is computed: write its shape")
    if match["size"]:
        return int(match["size"])
    if match["any"]:
        return f"{parameter}{place}"
    if match["given"]:
        sizes.setdefault(match["name"], int(match["given"]))
    return str(match["name"])


def _tensor_specs(node: ast.FunctionDef | ast.AsyncFunctionDef) -> Iterator[tuple[str, Spec]]:
    """The `tf.TensorSpec`s of an `input_signature`, by parameter."""
    for decorator in node.decorator_list:
        for keyword in decorator.keywords if isinstance(decorator, ast.Call) else ():
            if keyword.arg == "input_signature" and isinstance(keyword.value, (ast.List, ast.Tuple)):
                for (parameter, _), spec in zip(_parameters(node), keyword.value.elts, strict=False):
                    if (read := _tensor_spec(spec, parameter.arg)) is not None:
                        yield parameter.arg, read


def _tensor_spec(node: ast.expr, parameter: str) -> Spec | None:
    if not isinstance(node, ast.Call) or _last_name(node.func) != "TensorSpec":
        return None
    told = {**dict(zip(("shape", "dtype"), node.args, strict=False)), **{k.arg or "": k.value for k in node.keywords}}
    dtype = told.get("dtype")
    name = dtype.value if isinstance(dtype, ast.Constant) else _last_name(dtype)
    own = "f32" if dtype is None else _NUMPY.get(str(name))
    shape = told.get("shape")
    if own is None or not isinstance(shape, (ast.List, ast.Tuple)):
        return None
    sizes: list[Union[int, str]] = []
    for place, size in enumerate(shape.elts):
        value = size.value if isinstance(size, ast.Constant) else ...
        if value is not None and type(value) is not int:
            return None
        # Unknown first dimensions are taken for the batch, the same one in all arrays.
        sizes.append(value if type(value) is int else f"{parameter}{place}" if place else _BATCH)
    return ArraySpec(own, tuple(sizes), *usual_range(own))


def _parse(text: str) -> ast.expr | None:
    try:
        return ast.parse(text, mode="eval").body
    except (SyntaxError, ValueError):
        return None


def _last_name(node: ast.expr | None) -> str:
    return node.attr if isinstance(node, ast.Attribute) else node.id if isinstance(node, ast.Name) else ""
