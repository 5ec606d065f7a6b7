"""Abstract values in words."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from xlalint.abstract.values import (
    NEVER,
    NONE,
    UNKNOWN,
    Answer,
    Class,
    Const,
    Function,
    Host,
    Instance,
    LibraryInstance,
    LibrarySymbol,
    Mapping,
    Method,
    Module,
    Partial,
    Sequence,
    Super,
    Tensor,
    Union,
    Value,
)
from xlalint.api_tables.returns import Return
from xlalint.explain.model import Kind, KindName
from xlalint.interpreter.interpreter import Interpreter

_DTYPES = {"b": "bool", "i": "int", "f": "float", "c": "complex"}
_FRAMEWORKS = {"torch": "torch", "tensorflow": "TensorFlow", "jax": "JAX", "numpy": "NumPy"}
_ORIGINS = {
    "shape": "shape",
    "data": "read from a tensor",
    "drawn": "drawn at random",
    "counted": "another one in each step",
    "turn": "another one in each step",
}
_SEQUENCES = {"modules": "ModuleList", "chain": "Sequential", "iter": "iterable"}
_DEPTH = 2
_LONGEST = 4


class Wording:
    """Says what values are; knows classes by the interpreter's tables."""

    def __init__(self, interpreter: Interpreter) -> None:
        self._interpreter = interpreter

    def kind(self, value: Value) -> Kind:
        """Describe a value, in words and in parts."""
        text = self.text(value)
        if isinstance(value, Tensor):
            return Kind(
                "array" if value.framework == "numpy" else "tensor",
                text,
                value.framework,
                _DTYPES.get(value.dtype),
                value.rank if value.rank >= 0 else None,
                value.sure,
            )
        if isinstance(value, Host):
            return Kind("host", text, origin=value.origin)
        return Kind(self._name(value), text)

    def describe_alternatives(self, alternatives: list[Value], value: Value) -> Kind:
        """Describe a value by its alternatives in several calls, which their join may have forgotten."""
        if value is not UNKNOWN or UNKNOWN in alternatives:
            return self.kind(value)
        told = list(dict.fromkeys(self.text(one) for one in alternatives))
        more = f" or {len(told) - _LONGEST} more" if len(told) > _LONGEST else ""
        return Kind("union", " or ".join(told[:_LONGEST]) + more)

    def _name(self, value: Value) -> KindName:
        if value is NONE:
            return "none"
        if isinstance(value, Instance):
            kind = self._interpreter.tables.kind(value.klass)
            return "module" if kind in ("module", "container") else "config" if kind == "config" else "object"
        if isinstance(value, LibraryInstance):
            spec = self._interpreter.apis.klass(value.name)
            base = spec.base if spec is not None else ""
            return "module" if base in ("module", "container") else "config" if base == "config" else "object"
        if isinstance(value, LibrarySymbol):
            return "callable" if self._interpreter.apis.function(value.name) is not None else "namespace"
        return _NAMES.get(type(value), "unknown")

    def text(self, value: Value, depth: int = _DEPTH) -> str:
        """A value in words; nested ones are cut at a depth."""
        teller = _TELLERS.get(type(value))
        return teller(self, value, depth) if teller is not None else "unknown"

    # ------------------------------------------------------------------------------------------------ the kinds

    def tensor(self, value: Tensor, _: int) -> str:
        numpy = value.framework == "numpy"
        dtype = f"[{_DTYPES[value.dtype]}]" if value.dtype in _DTYPES else ""
        rank = f", rank {value.rank}" if value.rank >= 0 else ""
        said = f"{'array' if numpy else 'tensor'}{dtype}{rank}, {_FRAMEWORKS.get(value.framework, value.framework)}"
        if numpy:
            return f"{said} (on the host)"
        if value.place == "cpu":
            said += " (in host memory)"
        if value.static:
            said += " (known while tracing)"
        return said if value.sure else f"{said} (not sure)"

    def const(self, value: Const, _: int) -> str:
        return "None" if value.value is None else f"host value {value.value!r}"

    def host(self, value: Host, _: int) -> str:
        if value.type.startswith("dtype"):
            return f"host value (dtype{': ' + _DTYPES[value.type[6:]] if value.type[6:] in _DTYPES else ''})"
        if value.type.startswith("device"):
            return "host value (device)"
        told = _ORIGINS.get(value.origin, "")
        return f"host value{f' {value.type}' if value.type else ''}{f' ({told})' if told else ''}"

    def sequence(self, value: Sequence, depth: int) -> str:
        if value.kind == "slice":
            return "slice"
        named = value.kind.startswith("named:")
        kind = "named tuple" if named else _SEQUENCES.get(value.kind, value.kind)
        if depth == 0:
            return kind
        if value.items is not None and (value.kind == "tuple" or named) and len(value.items) <= _LONGEST:
            names = value.kind[6:].split(",") if named else []
            parts = [self.text(item, depth - 1) for item in value.items]
            told = [f"{n}: {p}" for n, p in zip(names, parts, strict=False)] if named else parts
            return f"{kind} ({'; '.join(told)})" if value.items else f"empty {kind}"
        if value.items == ():
            return f"empty {kind}"
        count = f"{len(value.items)} " if value.items is not None else ""
        return f"{kind} of {count}{self.text(value.element, depth - 1)}" if value.element is not NEVER else kind

    def mapping(self, value: Mapping, depth: int) -> str:
        if depth == 0 or (not value.items and value.rest is NEVER):
            return "dict"
        shown = [f"{key}: {self.text(item, depth - 1)}" for key, item in value.items[:_LONGEST]]
        if len(value.items) > _LONGEST:
            shown.append(f"{len(value.items) - _LONGEST} more")
        if value.rest is not NEVER:
            shown.append(f"other: {self.text(value.rest, depth - 1)}")
        return f"dict {{{'; '.join(shown)}}}" if value.items else f"dict of {self.text(value.rest, depth - 1)}"

    def object(self, value: Instance, _: int) -> str:
        kind = self._interpreter.tables.kind(value.klass)
        return f"{kind if kind not in ('', 'object') else 'object'} {value.klass.name}"

    def foreign(self, value: LibraryInstance, _: int) -> str:
        spec = self._interpreter.apis.klass(value.name)
        return f"{spec.base if spec is not None and spec.base else 'object'} {value.name}"

    def external(self, value: LibrarySymbol, _: int) -> str:
        apis, name = self._interpreter.apis, value.name
        if name.startswith("builtins."):
            return f"builtin {name[9:]}"
        if apis.klass(name) is not None or apis.type(name) is not None:
            return f"class {name}"
        return f"{'function' if apis.function(name) is not None else 'library name'} {name}"

    def method(self, value: Method, depth: int) -> str:
        return f"method {value.name} of {self.text(value.receiver, max(depth - 1, 0))}"

    def union(self, value: Union, depth: int) -> str:
        told = [self.text(member, depth) for member in value.members]
        return " or ".join(dict.fromkeys(told))


_NAMES: dict[type[Value], KindName] = {
    Const: "host",
    Sequence: "sequence",
    Mapping: "mapping",
    Function: "callable",
    Method: "callable",
    Partial: "callable",
    Answer: "callable",
    Class: "callable",
    Super: "object",
    Module: "namespace",
    Union: "union",
    type(NEVER): "never",
}
_TELLERS: dict[type[Value], Callable[[Wording, Any, int], str]] = {
    Tensor: Wording.tensor,
    Const: Wording.const,
    Host: Wording.host,
    Sequence: Wording.sequence,
    Mapping: Wording.mapping,
    Instance: Wording.object,
    LibraryInstance: Wording.foreign,
    LibrarySymbol: Wording.external,
    Method: Wording.method,
    Union: Wording.union,
    Function: lambda _, value, __: f"function {value.info.ir.qualname}",
    Class: lambda _, value, __: f"class {value.info.ir.qualname}",
    Module: lambda _, value, __: f"module {value.info.name}",
    Partial: lambda wording, value, depth: f"partial of {wording.text(value.func, depth)}",
    Answer: lambda wording, value, depth: f"function that returns {wording.text(value.value, depth)}",
    Super: lambda _, value, __: f"super() of {value.klass.name}",
    type(NEVER): lambda _, __, ___: "no value (does not return)",
    type(UNKNOWN): lambda _, __, ___: "unknown",
}


def format_return(what: Return) -> str:
    """Write a return as API tables do."""
    source = f"={what.dtype_from}{':' if what.dtype else ''}" if what.dtype_from else ""
    rank = (
        f",#{what.rank_from}" if what.rank_from else f",{what.rank}" if what.rank >= 0 and what.kind != "scalar" else ""
    )
    inside = f"{source}{what.dtype}{rank}"
    if what.kind == "const":
        inside = repr(what.value)
    said = f"{what.kind}[{inside}]" if inside else what.kind
    if what.items:
        parts = [format_return(item) for item in what.items]
        if what.names:
            parts = [f"{name}:{part}" for name, part in zip(what.names, parts, strict=True)]
        return f"{said}({', '.join(parts)}{'*' if what.many else ''})"
    return f"{said}({', '.join(what.names)})" if what.names else said


__all__ = ["Wording", "format_return"]
