"""Inputs that nobody declared: candidates in the order of how likely the function runs on them, for a search that tries them.

A parameter's alternatives come from what the analysis believes it to be, from how the text uses it, and from its name; a candidate chooses
one of each. Dimensions have names that parameters share, with sizes that are all different, so that a wrong axis shows; only where nothing
runs so, all are the same.
"""

from __future__ import annotations

import ast
import heapq
import itertools
from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple, Union

from xlalint.verify.inputs.believed import Kind
from xlalint.verify.inputs.conditions import ascends
from xlalint.verify.inputs.functions import DEVICE
from xlalint.verify.inputs.usage import Use, uses
from xlalint.verify.model import ArraySpec, Literally, NamedFunction, Spec, Specs

MOST = 500  # candidates

Alternative = Union[Spec, None]
"""None leaves a parameter out."""

_INTEGERS = ("id", "label", "index", "indices", "idx", "length", "len", "token", "position", "target", "count", "step")
_CALLED = {1: ("identity", "relu", "mean"), 2: ("add", "maximum")}
_DTYPES_GIVEN = {"dtype": ("float32", "int64"), "dtype:f": ("float32",), "dtype:i": ("int64",)}
_FEATURES = ("weight", "scale", "gamma", "beta", "bias")
_SIZES = ({"B": 4, "S": 6, "D": 8}, {"B": 8, "S": 8, "D": 8}, {"B": 4, "S": 4, "D": 16})


class Parameter(NamedTuple):
    """Something a value is needed for; `default` where it can be left out."""

    name: str
    kind: Kind = Kind()
    use: Use = Use()
    default: ast.expr | None = None
    keyword: bool = True


class Inference(NamedTuple):
    """Candidates, or why there are none."""

    candidates: tuple[Specs, ...]
    reason: str = ""


def infer(parameters: Sequence[Parameter], framework: str, features: Sequence[int] = ()) -> Inference:
    """Infer candidates for some parameters; `features` are sizes that the code mentions (`nn.Linear(16, 4)`)."""
    choices: list[list[Alternative]] = []
    parameters = [item for one in parameters for item in _items(one)]
    for one in parameters:
        found = alternatives(one, framework)
        if not found:
            what = one.use.refused or f"{one.kind.text or 'a value'} of type `{one.kind.dtype or 'unknown'}`"
            return Inference((), f"nothing can be drawn for `{one.name}`: it is {what}")
        choices.append(found)
    names = [one.name for one in parameters]
    ascending = {one.name for one in parameters if one.use.ascends}
    spans = {one.use.spans for one in parameters if one.use.spans}
    sizes = [
        *({**_SIZES[0], "D": size} for size in spans),
        *_SIZES[:1],
        *({**_SIZES[0], "D": size} for size in features if 0 < size <= 4096 and size != 8),
        *_SIZES[1:],
    ]
    made = []
    for turn, chosen in _order(choices, sizes):
        given = {name: spec for name, spec in zip(names, chosen, strict=True) if spec is not None}
        used = {dimension for spec in given.values() for dimension in getattr(spec, "shape", ())}
        requires = tuple(
            ascends(name)
            for name, spec in given.items()
            if name in ascending and isinstance(spec, ArraySpec) and spec.shape
        )
        specs = Specs(given, {name: size for name, size in turn.items() if name in used}, requires)
        if specs not in made:
            made.append(specs)
        if len(made) == MOST:
            break
    return Inference(tuple(made))


def parameters_of(node: ast.FunctionDef | ast.AsyncFunctionDef, kinds: Mapping[str, Kind]) -> list[Parameter]:
    """The parameters that a caller gives, with what is known of them."""
    told = node.args
    positional = [*told.posonlyargs, *told.args]
    defaults: list[ast.expr | None] = [None] * (len(positional) - len(told.defaults)) + list(told.defaults)
    static = any(isinstance(one, ast.Name) and one.id == "staticmethod" for one in node.decorator_list)
    pairs = list(zip(positional, defaults, strict=True))
    if pairs and not static and pairs[0][0].arg in ("self", "cls"):
        del pairs[0]
    pairs += zip(told.kwonlyargs, told.kw_defaults, strict=True)
    used = uses(node.body, [one.arg for one, _ in pairs])
    for one, _ in pairs:
        used[one.arg].texts += tuple(_read_options(one.annotation))
    return [
        Parameter(one.arg, _read_annotation(one.annotation) or kinds.get(one.arg, Kind()), used[one.arg], default)
        for one, default in pairs
    ]


def _read_annotation(annotation: ast.expr | None) -> Kind | None:
    """Read an annotation with a plain host type."""
    text = ast.unparse(annotation) if annotation is not None else ""
    if text.rpartition(".")[2] == "dtype":
        return Kind("host", "dtype")
    if text in ("torch.device", "device"):
        return Kind("host", "device")
    return Kind("host", text) if text in ("int", "float", "bool", "str") else None


def _read_options(annotation: ast.expr | None) -> Iterator[str]:
    """The texts of `Literal["a", "b"]`."""
    for node in ast.walk(annotation) if annotation is not None else ():
        if isinstance(node, ast.Subscript) and ast.unparse(node.value).rpartition(".")[2] == "Literal":
            for inner in ast.walk(node.slice):
                if isinstance(inner, ast.Constant) and isinstance(inner.value, str):
                    yield inner.value


def _items(one: Parameter) -> list[Parameter]:
    """A parameter; where it is a mapping whose keys the text names, one for each of them."""
    keys = [key for key in one.use.keys if not set("{}") & set(key)]
    if one.use.refused != "a mapping" or not keys or one.default is not None or one.kind.what == "tensor":
        return [one]
    return [Parameter(f"{one.name}{{{key}}}") for key in keys]


def alternatives(one: Parameter, framework: str) -> list[Alternative]:
    """List what can be given for a parameter, the likeliest first; none if nothing can."""
    left_out: list[Alternative] = [None] if one.default is not None else []
    none: list[Alternative] = [Literally("None")] if one.kind.optional and not left_out else []
    if one.kind.what == "tensor":
        return [*_arrays(one, framework), *left_out, *none]
    if one.use.refused:
        return [*left_out, *none, *_of_other_kind(one)]
    if left_out and not (isinstance(one.default, ast.Constant) and one.default.value is None):
        return [*left_out, *_other_options(one)]
    if one.use.texts:
        return [*left_out, *none, *(Literally(repr(text)) for text in one.use.texts)]
    if one.kind[:2] == ("host", "str") and one.use.spoken == one.use.loads:  # no path, say, that something is done with
        return [*left_out, *none, Literally(repr("a"))]
    if one.kind.what == "constant":
        return [*left_out, Literally(one.kind.text)]
    if one.kind.what == "host" and one.kind.dtype.partition(":")[0] == "dtype":
        return [*left_out, *(NamedFunction(name) for name in _DTYPES_GIVEN.get(one.kind.dtype, ())), *none]
    if one.kind.what == "host" and one.kind.dtype.partition(":")[0] == "device":
        return [*left_out, NamedFunction(DEVICE), *none]
    if one.kind.what == "host" or one.use.counts:
        return [*left_out, *_host(one), *none]
    return [*_arrays(one, framework), *left_out, *none, Literally("2")]


def _of_other_kind(one: Parameter) -> list[Alternative]:
    """A function that is called, and a list that grows."""
    if one.use.called > 0 and one.use.refused == "a function":
        return [NamedFunction(name) for name in _CALLED.get(one.use.called, ())]
    return [Literally("[]")] if one.use.grows and one.use.refused == "a list" else []


def _other_options(one: Parameter) -> list[Alternative]:
    """List what else than its default an option may be, as far as the text tells: it may lead to other lines."""
    default = one.default.value if isinstance(one.default, ast.Constant) else None
    if isinstance(default, bool):
        return [Literally(repr(not default))]
    return [Literally(repr(text)) for text in one.use.texts if isinstance(default, str) and text != default]


def _host(one: Parameter) -> list[Alternative]:
    texts = {"bool": ("True", "False"), "float": ("0.5", "2.0"), "int": ("2", "4", "1", "0"), "": ("2", "4", "1")}
    kind = "int" if one.use.counts else one.kind.dtype
    return [Literally(text) for text in texts.get(kind, ())]


def _arrays(one: Parameter, framework: str) -> list[Alternative]:
    """Arrays of the dtypes and shapes that come into question; a dtype that is less likely comes after the shapes of the likelier."""
    dtypes = _dtypes(one, framework)
    shapes = _shapes(one, dtypes[0])
    return [_array(dtype, shape, one) for dtype in dtypes for shape in shapes]


def _array(dtype: str, shape: tuple[str, ...], one: Parameter) -> ArraySpec:
    low, high = 0, 3
    if dtype[0] == "i":
        low = 1 if "len" in one.name.lower() else 0
        low, high = min([low, *one.use.numbers]), max([high, *(number + 1 for number in one.use.numbers)])
    return ArraySpec(dtype, shape, low, high)


def _dtypes(one: Parameter, framework: str) -> list[str]:
    integer = "i32" if framework == "jax" else "i64"
    known = {"b": "bool", "i": integer, "f": "f32", "c": "c64"}.get(one.kind.dtype)
    if known is not None:
        return [known]
    name = one.name.lower().rstrip("}").rpartition("{")[2]
    if "mask" in name or name.startswith(("is_", "has_")):
        return ["bool", integer, "f32"]
    words = name.split("_")
    if one.use.indexes or one.use.numbers or any(word.rstrip("s") in _INTEGERS or word in _INTEGERS for word in words):
        return [integer, "bool", "f32"] if not one.use.indexes else ["bool", integer]
    return ["f32", integer, "bool"]


def _shapes(one: Parameter, dtype: str) -> list[tuple[str, ...]]:
    rank, least = one.kind.rank, one.use.least
    exact = rank if rank >= 0 else one.use.rank
    ranks = [exact] if exact >= 0 else [one for one in (2, 3, 1, 4, 0) if one >= least] or [least]
    if exact < 0 and dtype != "f32":
        ranks.sort(key=lambda one: (2, 1, 3, 4, 0).index(one) if one < 5 else one)
    features = any(word in one.name.lower() for word in _FEATURES)
    return [shape for rank in ranks for shape in _of_rank(rank, floating=dtype == "f32", features=features)]


def _of_rank(rank: int, *, floating: bool, features: bool) -> list[tuple[str, ...]]:
    if rank == 0:
        return [()]
    if rank == 1:
        return [("D",), ("B",), ("S",)] if features else [("B",), ("S",), ("D",)]
    if rank == 2:
        return [("B", "D"), ("B", "S"), ("D", "D"), ("S", "D")] if floating else [("B", "S"), ("B", "D")]
    if rank == 3:
        return [("B", "S", "D"), ("B", "D", "S")]
    return [("B", *("D", "S", "S", "S", "S")[: rank - 1]), ("B", *("D", "S", "D", "D")[: rank - 1])][
        : 2 if rank == 4 else 1
    ]


def _order(
    choices: Sequence[Sequence[Alternative]], sizes: Sequence[Mapping[str, int]]
) -> Iterator[tuple[Mapping[str, int], tuple[Alternative, ...]]]:
    """Ways to choose one of each, those with the likeliest ones first, by turns for each of the sizes, of which the first counts most."""
    ways = [_best_first(choices) for _ in sizes]
    for turn in itertools.count():
        done = True
        for number, way in enumerate(ways):
            for chosen in itertools.islice(way, 24 if not number and not turn else 8):
                done = False
                yield sizes[number], chosen
        if done:
            return


def _best_first(choices: Sequence[Sequence[Alternative]]) -> Iterator[tuple[Alternative, ...]]:
    """All ways to choose one of each, by the sum of the places of those chosen."""
    start = (0,) * len(choices)
    heap, known = [(0, start)], {start}
    while heap:
        total, places = heapq.heappop(heap)
        yield tuple(choices[n][place] for n, place in enumerate(places))
        for n, place in enumerate(places):
            following = (*places[:n], place + 1, *places[n + 1 :])
            if place + 1 < len(choices[n]) and following not in known:
                known.add(following)
                heapq.heappush(heap, (total + 1, following))
