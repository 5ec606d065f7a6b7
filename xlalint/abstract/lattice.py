"""The order of abstract values: `join` (least upper bound, bounded in height) and truth."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from xlalint.abstract import values as interned
from xlalint.abstract.values import (
    ARRAYS,
    FALSE,
    MAX_MEMBERS,
    NEVER,
    NONE,
    TRUE,
    UNKNOWN,
    Class,
    Const,
    Function,
    Host,
    Instance,
    LibraryInstance,
    LibrarySymbol,
    Mapping,
    Module,
    Sequence,
    Tensor,
    Union,
    Value,
    foreign,
    host,
    instance,
    mapping,
    members,
    sequence,
    tensor,
    tensors,
    union,
)

if TYPE_CHECKING:
    from collections.abc import Iterable

    from xlalint.program.linker import ClassInfo

# The most subclasses of a base that stands for all of them.
MAX_FAMILY: Final = 32

_joined: Final[dict[tuple[Value, Value], Value]] = {}
_begun: Final[list[int]] = [0]
_asked: Final[list[int]] = [0]  # how often a join looked at the classes of the program: whoever asks for it reads them


def begin() -> None:
    """Start an analysis that knows no values of earlier ones, nor works with what they keep."""
    interned.begin()
    _joined.clear()
    _begun[0] += 1


def count_begun() -> int:
    """Count the analyses that were begun: values are of use to the last one alone."""
    return _begun[0]


def join(a: Value, b: Value) -> Value:
    """The least value of the lattice that covers both."""
    if a is b or b is NEVER:
        return a
    if a is NEVER:
        return b
    key = (a, b)
    found = _joined.get(key)
    if found is None:
        asked = _asked[0]
        found = _join(a, b)
        if _asked[0] == asked:
            _joined[key] = found
    return found


def join_all(values: Iterable[Value]) -> Value:
    """The join of any number of values; `NEVER` for none."""
    result: Value = NEVER
    for value in values:
        result = join(result, value)
    return result


def widen(value: Value) -> Value:
    """One of few values that cover it: what kind of thing it is, without constants, items, fields, dtypes and allocation sites.

    Flags and None stay: they choose what a function does.
    """
    if type(value) is Const:
        return value if value.value is None or type(value.value) is bool else host(type(value.value).__name__)
    if type(value) is Tensor:
        return tensor(value.framework, "", -1, value.place, value.sure, value.static)
    if type(value) is Union:
        return join_all([widen(member) for member in value.members])
    if type(value) is Sequence:
        inner = value.element if value.items is None else join_all(value.items)
        return sequence(value.kind, None, UNKNOWN if _is_nested(inner) else widen(inner))
    if type(value) is Mapping:
        return mapping((), UNKNOWN)
    if type(value) is Instance:
        return instance(value.klass)
    if type(value) is LibraryInstance:
        return foreign(value.name)
    return value


def _is_nested(value: Value) -> bool:
    return any(type(member) is Sequence or type(member) is Mapping for member in members(value))


def _join(a: Value, b: Value) -> Value:
    if type(a) is Union or type(b) is Union:
        result: tuple[Value, ...] = members(a)
        for value in members(b):
            result = _add(result, value)
        return _union(result)
    merged = _merge(a, b)
    return merged if merged is not None else _union((a, b))


def _add(alternatives: tuple[Value, ...], value: Value) -> tuple[Value, ...]:
    """The alternatives with one more, merged with the one of its kind."""
    if value in alternatives:
        return alternatives
    for position, other in enumerate(alternatives):
        merged = _merge(other, value)
        if merged is not None:
            return (*alternatives[:position], merged, *alternatives[position + 1 :])
    return (*alternatives, value)


def _union(alternatives: tuple[Value, ...]) -> Value:
    if len(alternatives) == 1:
        return alternatives[0]
    if len(alternatives) > MAX_MEMBERS:
        alternatives = _by_base(alternatives)
    if len(alternatives) > MAX_MEMBERS:
        kept = tuple(v for v in alternatives if type(v) is Tensor or v is NONE)
        if not kept:
            return UNKNOWN
        alternatives = (*kept, UNKNOWN)
    return union(alternatives)


def _by_base(alternatives: tuple[Value, ...]) -> tuple[Value, ...]:
    """The alternatives with instances of classes that share a base of the program taken together as the base's."""
    merged: list[Value] = []
    for value in alternatives:
        for position, other in enumerate(merged):
            if type(value) is Instance and type(other) is Instance:
                base = _find_shared_base(other.klass, value.klass)
                if base is not None:
                    merged[position] = instance(base, _merge_fields(other.fields, value.fields))
                    break
        else:
            merged.append(value)
    return tuple(merged)


def _find_shared_base(a: ClassInfo, b: ClassInfo) -> ClassInfo | None:
    """The nearest class of the program that both are, unless so much of the program is one that it says nothing."""
    _asked[0] += 1
    for klass in a.mro:
        if not isinstance(klass, str) and klass in b.mro:
            return klass if len(klass.subclasses) <= MAX_FAMILY else None
    return None


def _merge(a: Value, b: Value) -> Value | None:
    """The join of two values of one kind, or None when only a union covers both."""
    kind, other = type(a), type(b)
    if kind is Tensor and other is Tensor:
        return _merge_tensors(a, b)  # type: ignore[arg-type]
    if (kind is Const or kind is Host) and (other is Const or other is Host):
        if a is NONE or b is NONE:
            return None
        return host(_join_types(a, b), _join_origins(a, b))
    if kind is not other:
        return None
    if kind is Sequence:
        return _merge_sequences(a, b)  # type: ignore[arg-type]
    if kind is Mapping:
        return _merge_mappings(a, b)  # type: ignore[arg-type]
    if kind is Instance and a.klass is b.klass:  # type: ignore[attr-defined]
        return _merge_objects(a, b)  # type: ignore[arg-type]
    if kind is LibraryInstance and a.place != b.place and a.name == b.name and a.made is b.made:  # type: ignore[attr-defined]
        return foreign(a.name, a.made)  # type: ignore[attr-defined]
    return None


def _merge_tensors(a: Tensor, b: Tensor) -> Value | None:
    if a.framework != b.framework:
        return None
    return tensor(
        a.framework,
        a.dtype if a.dtype == b.dtype else "",
        a.rank if a.rank == b.rank else -1,
        a.place if a.place == b.place else "",
        a.sure and b.sure,
        a.static and b.static,
    )


def _host_type(value: Value) -> str:
    if type(value) is Const:
        return type(value.value).__name__
    return value.type if type(value) is Host else ""


def _join_types(a: Value, b: Value) -> str:
    first, second = _host_type(a), _host_type(b)
    if first == second:
        return first
    kinds = {first, second}
    if "device" in kinds and kinds <= {"device", "device:cpu", "str", "int"}:
        return "device"
    return "float" if kinds == {"int", "float"} else ""


def _join_origins(a: Value, b: Value) -> str:
    origins = {v.origin for v in (a, b) if type(v) is Host}
    for origin in ("data", "drawn", "counted", "turn", "shape"):
        if origin in origins:
            return origin
    return "due" if origins == {"due"} and all(type(v) is Host or v is FALSE for v in (a, b)) else "python"


def _merge_sequences(a: Sequence, b: Sequence) -> Value | None:
    if a.kind != b.kind:
        if {a.kind, b.kind} <= {"list", "tuple", "set", "frozenset", "iter"}:
            return sequence("iter", None, join(a.element, b.element))
        return None
    if a.items is not None and b.items is not None and len(a.items) == len(b.items):
        items = tuple([join(x, y) for x, y in zip(a.items, b.items, strict=True)])
        return sequence(a.kind, items, join_all(items))
    ahead = [join(x, y) for x, y in zip(leading(a), leading(b), strict=False)] if a.kind == "tuple" else []
    return sequence(a.kind, None, join(a.element, b.element), tuple(ahead))


def leading(value: Sequence) -> tuple[Value, ...]:
    """The first elements of a sequence, as many as are known."""
    return value.items if value.items is not None else value.prefix


def _merge_mappings(a: Mapping, b: Mapping) -> Value:
    """Join two dicts: what one has under a key, the other may have among what is not told apart. Which of its tensors that is, if any,
    nothing says."""
    known, other = dict(a.items), dict(b.items)
    rest_of_a, rest_of_b = _unless_tensors(a.rest), _unless_tensors(b.rest)
    items = [(key, join(known.get(key, rest_of_a), other.get(key, rest_of_b))) for key in {**known, **other}]
    return mapping(tuple(sorted(items)), join(a.rest, b.rest))


def _unless_tensors(value: Value) -> Value:
    return UNKNOWN if any(tensors(value)) else value


def _merge_objects(a: Instance, b: Instance) -> Value:
    return instance(a.klass, _merge_fields(a.fields, b.fields))


def _merge_fields(a: tuple[tuple[str, Value], ...], b: tuple[tuple[str, Value], ...]) -> tuple[tuple[str, Value], ...]:
    fields = dict(a)
    for name, value in b:
        fields[name] = join(fields.get(name, NEVER), value)
    return tuple(sorted(fields.items(), key=lambda item: item[0]))


def truth(value: Value) -> bool | None:
    """Return what `bool(value)` gives, or None where that is not known without running."""
    kind = type(value)
    if kind is Const:
        return bool(value.value)  # type: ignore[attr-defined]
    if kind in (Function, Class, Module):
        return True
    if kind is LibrarySymbol:
        return True if _names_class(value.name) else None  # type: ignore[attr-defined]
    if kind is Instance:
        return None if value.klass.defines_truth() else True  # type: ignore[attr-defined]
    if kind is Sequence and value.kind == "tuple" and value.items is not None:  # type: ignore[attr-defined]
        return bool(value.items)  # type: ignore[attr-defined]
    if kind is Union:
        truths = {truth(member) for member in value.members}  # type: ignore[attr-defined]
        return truths.pop() if len(truths) == 1 else None
    return None


_LOWER_CASE_CLASSES: Final = frozenset(
    (
        f"{ARRAYS}.ndarray",
        *(
            f"builtins.{kind.__name__}"
            for kind in (bool, bytes, complex, dict, float, int, list, object, set, str, tuple, type)
        ),
    )
)


def _names_class(name: str) -> bool:
    """Return whether the name of a library's thing is one of a class, spelled in CapWords as PEP 8 has it.

    A class is always true.
    """
    last = name.rpartition(".")[2]
    capitals = last[:1].isupper() and not last.isupper() and "_" not in last
    return capitals or name in _LOWER_CASE_CLASSES


def boolean(value: bool | None) -> Value:
    """The host value of a test: a known bool, or any."""
    if value is None:
        return host("bool")
    return TRUE if value else FALSE


def without_none(value: Value) -> Value:
    """The value, known not to be None."""
    if type(value) is Union:
        return join_all(member for member in value.members if member is not NONE)
    return value


def when_truth(value: Value, wanted: bool) -> Value:
    """The alternatives of a value that can be true (or false); the value itself when none can."""
    if type(value) is Union:
        kept = [member for member in value.members if truth(member) is not (not wanted)]
        return join_all(kept) if kept else value
    return value
