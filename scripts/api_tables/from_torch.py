"""torch's table: stubs give names, parameters and host results; the operator samples of torch's own tests give the rest."""

from __future__ import annotations

import ast
import inspect
import sys
import types
import unittest
import warnings
from collections import defaultdict
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from api_tables.relations import MISSING, Array, Group, Host, Names, Sample, relation
from api_tables.writing import Line, table

NAMESPACES = ("torch", "torch.nn.functional", "torch.linalg", "torch.fft", "torch.special", "torch.sparse")
SAMPLES_PER_DTYPE = 24
_HOST = {
    "_bool": "bool",
    "bool": "bool",
    "_int": "int",
    "int": "int",
    "_float": "float",
    "float": "float",
    "str": "str",
}
_INTERNAL = ("_", "cudnn_", "miopen_", "mkldnn_", "fbgemm_", "quantized_", "q_")
_SKIPPED = frozenset({"typename", "compile", "vmap", "cond", "while_loop", "set_printoptions", "unify_type_list"})


def generate() -> str:
    """The text of torch_generated.toml."""
    warnings.simplefilter("ignore")
    _fake_expecttest()
    import torch

    samples = _samples()
    tags = _tags()
    sections: dict[str, dict[str, Line | str]] = {"functions": {}, "methods": {}, "values": {}, "types": {}}
    stubs = _stub("_C/_VariableFunctions.pyi", None)
    functional = _stub("nn/functional.pyi", None)
    for namespace in NAMESPACES:
        module = _module(namespace)
        for name in _public(module):
            value = getattr(module, name)
            full = f"{namespace}.{name}"
            if isinstance(value, torch.dtype):
                sections["values"][full] = f"dtype[{letter(value)}]"
            elif callable(value) and not inspect.isclass(value) and name not in _SKIPPED:
                stub = (functional if namespace.endswith("functional") else stubs).get(name, [])
                key = full.removeprefix("torch.")
                line = _line(samples.get(key), stub or _python_stub(value) or _schema_stub(key), tags.get(key, ""))
                if line and name.endswith("_"):
                    line = Line("like", line.params, line.extra)
                if line:
                    sections["functions"][full] = line
    for name, overloads in _stub("_C/__init__.pyi", "TensorBase").items():
        if name.startswith("_"):
            continue
        line = _line(samples.get(f"Tensor.{name}"), overloads, tags.get(name, ""), method=True)
        if line and name.endswith("_"):
            line = Line("self", line.params, line.extra)
        if line:
            sections["methods"][name] = line
    return table("torch's functions and tensor methods", "torch", torch.__version__.split("+")[0], sections)


def _fake_expecttest() -> None:
    """torch's operator samples live beside its tests, which import a test library that is not needed here."""
    fake: Any = types.ModuleType("expecttest")
    fake.TestCase = type("TestCase", (unittest.TestCase,), {})
    sys.modules.setdefault("expecttest", fake)


def _module(name: str) -> Any:
    __import__(name)
    return sys.modules[name]


def _public(module: Any) -> list[str]:
    return sorted(n for n in dir(module) if not n.startswith(_INTERNAL) and not n.endswith("_copy"))


def letter(dtype: Any) -> str:
    """The table language's letter for a torch dtype."""
    import torch

    if dtype == torch.bool:
        return "b"
    if dtype.is_complex:
        return "c"
    return "f" if dtype.is_floating_point else "i"


# --- stubs -----------------------------------------------------------------------------------------------------------

Overload = tuple[tuple[str, ...], str]


def _stub(path: str, klass: str | None) -> dict[str, list[Overload]]:
    import torch

    tree: Any = ast.parse((Path(torch.__file__).parent / path).read_text())
    if klass:
        tree = next(n for n in tree.body if isinstance(n, ast.ClassDef) and n.name == klass)
    found: dict[str, list[Overload]] = defaultdict(list)
    for node in tree.body:
        if isinstance(node, ast.FunctionDef):
            found[node.name].append(_overload(node))
    return {name: [o for o in all_ if "self" not in o[0]] or all_ for name, all_ in found.items()}


def _overload(node: ast.FunctionDef) -> Overload:
    names = [a.arg for a in (*node.args.posonlyargs, *node.args.args) if a.arg != "self" or a.annotation]
    names = [{"from_": "from"}.get(name, name) for name in names]
    if node.args.vararg:
        names.append("*" + node.args.vararg.arg)
    named = any("EllipsisType" in ast.unparse(a.annotation) for a in node.args.args if a.annotation)
    return tuple(names) if not named else (), ast.unparse(node.returns) if node.returns else ""


def _python_stub(function: Any) -> list[Overload]:
    try:
        signature = inspect.signature(function)
    except (TypeError, ValueError):
        return []
    names = []
    for p in signature.parameters.values():
        if p.kind is p.VAR_POSITIONAL:
            names.append("*" + p.name)
        elif p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD):
            names.append(p.name)
    returns = signature.return_annotation
    text = "" if returns is signature.empty else getattr(returns, "__name__", str(returns)).replace("torch.", "")
    return [(tuple(names), text)]


def _schema_stub(key: str) -> list[Overload]:
    """linalg, fft and special are built in without stubs: their operator schemas stand in."""
    import torch

    name = "aten::" + key.removeprefix("nn.functional.")
    for prefix in ("linalg", "fft", "special"):
        name = name.replace(f"{prefix}.", f"{prefix}_")
    found = []
    for schema in torch._C._jit_get_all_schemas():
        if schema.name == name and not any(
            a.name == "dimname" or (str(a.type) == "str" and a.name == "dim") for a in schema.arguments
        ):
            names = ["input" if a.name == "self" else a.name for a in schema.arguments if not a.kwarg_only]
            types_ = ["Tensor" if str(r.type) == "Tensor" else str(r.type) for r in schema.returns]
            found.append((tuple(names), types_[0] if len(types_) == 1 else f"tuple[{', '.join(types_)}]"))
    return found


def _annotated(text: str) -> str | None:
    """The return that an annotation alone allows."""
    text = text.replace("torch.", "").replace("_C.", "")
    if text in ("Tensor", "TensorBase", "Self"):
        return "tensor"
    if text in _HOST:
        return f"host[{_HOST[text]}]"
    if text in ("tuple[Tensor, ...]", "Tuple[Tensor, ...]", "Tensor[]"):
        return "tuple(tensor*)"
    if text in ("list[Tensor]", "List[Tensor]"):
        return "list(tensor)"
    if text.startswith(("tuple[", "Tuple[")) and text.endswith("]"):
        parts = [_annotated(part.strip()) or "unknown" for part in text[6:-1].split(",")]
        return f"tuple({', '.join(parts)})"
    return {"Size": "shape", "_dtype": "dtype", "dtype": "dtype", "_device": "device", "device": "device"}.get(
        text, "none" if text == "None" else None
    )


# --- samples ---------------------------------------------------------------------------------------------------------


def _samples() -> dict[str, list[Sample]]:
    """What torch's operator samples returned, by name ("nn.functional.relu", "Tensor.abs")."""
    from torch.testing._internal.common_methods_invocations import op_db

    found: dict[str, list[Sample]] = defaultdict(list)
    for op in op_db:
        got = list(_observed(op, op.op))
        for name in (op.name, *(alias.name for alias in op.aliases)):
            found[name] += got
            if op.method_variant is not None and "." not in name:
                found[f"Tensor.{name}"] += got
    return found


def _observed(op: Any, function: Callable[..., Any]) -> Iterator[Sample]:
    import torch

    names = _positional(op.name)
    for dtype in (torch.float32, torch.int64, torch.bool, torch.complex64):
        if not op.supports_dtype(dtype, "cpu"):
            continue
        try:
            inputs = op.sample_inputs("cpu", dtype, requires_grad=False)
            for _, sample in zip(range(SAMPLES_PER_DTYPE), inputs, strict=False):
                result = function(sample.input, *sample.args, **sample.kwargs)
                bound = {**dict(zip(names, (sample.input, *sample.args), strict=False)), **sample.kwargs}
                arrays = tuple(_arrays([sample.input, *sample.args, *sample.kwargs.values()]))
                yield Sample(arrays, abstract(result), bound.get("dim", MISSING), bool(bound.get("keepdim", False)))
        except Exception:  # noqa: BLE001 (samples of a dtype that the operator refuses)
            continue


def _positional(name: str) -> tuple[str, ...]:
    stub = _schema_stub(name)
    return max((names for names, _ in stub), key=len, default=())


def _arrays(values: Any) -> Iterator[Array]:
    import torch

    for value in values:
        if isinstance(value, torch.Tensor):
            yield Array(letter(value.dtype), value.dim())
        elif isinstance(value, (list, tuple)):
            yield from _arrays(value)


def abstract(value: Any) -> Any:
    """A result as relations speak of it."""
    import torch

    if isinstance(value, torch.Tensor):
        return Array(letter(value.dtype), value.dim())
    if isinstance(value, torch.Size):
        return Host("shape")
    if isinstance(value, (tuple, list)):
        fields = _fields(value) if type(value).__module__ == "torch.return_types" else ()
        return Group("list" if isinstance(value, list) else "tuple", tuple(abstract(v) for v in value), fields)
    if isinstance(value, (bool, int, float, str)):
        return Host(f"host[{type(value).__name__}]")
    return Host("none" if value is None else "unknown")


def _fields(value: Any) -> tuple[str, ...]:
    names = [n for n in dir(type(value)) if not n.startswith(("_", "n_")) and n not in ("count", "index")]
    return tuple(next((n for n in names if getattr(value, n) is part), f"item{i}") for i, part in enumerate(value))


# --- lines -----------------------------------------------------------------------------------------------------------


def _tags() -> dict[str, str]:
    """Operators that torch itself tags as depending on data."""
    import torch

    found: dict[str, str] = {}
    for name in dir(torch.ops.aten):
        packet = getattr(torch.ops.aten, name)
        for overload in getattr(packet, "overloads", list)():
            tags = getattr(packet, overload).tags
            if torch.Tag.dynamic_output_shape in tags:
                found[name] = "XLA209"
            elif torch.Tag.data_dependent_output in tags:
                found.setdefault(name, "XLA304")
    for name, rule in list(found.items()):
        for prefix in ("linalg", "fft", "special"):
            if name.startswith(prefix + "_"):
                found[f"{prefix}.{name.removeprefix(prefix + '_')}"] = rule
    return found


def _line(samples: list[Sample] | None, stub: list[Overload], rule: str, method: bool = False) -> Line | None:
    params = max((names for names, _ in stub), key=len, default=())
    broadcasts = params == (("other",) if method else ("input", "other"))
    returns = relation(samples, Names(broadcasts=broadcasts)) if samples else None
    if returns is None:
        texts = {r for _, text in stub if (r := _annotated(text))}
        returns = texts.pop() if len(texts) == 1 else ("unknown" if stub and texts else None)
    if returns is None:
        return None
    return Line(returns, params, {"rule": rule} if rule else {})
