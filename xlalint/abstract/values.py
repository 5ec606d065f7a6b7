"""The abstract values: what the analysis believes a Python value is.

Values are interned: two equal values are one object, so that comparing, hashing and memoising them costs a pointer. Make
them only through the functions of this module (`tensor`, `host`, `sequence`, …), never through the classes.
"""

from __future__ import annotations

from hashlib import blake2b
from typing import TYPE_CHECKING, Any, Final, TypeVar

if TYPE_CHECKING:
    from collections.abc import Iterable
    from collections.abc import Mapping as AnyMapping

    from xlalint.program.linker import ClassInfo, FunctionInfo, ModuleInfo

ARRAYS: Final = "numpy"
"""The library whose arrays live in host memory: the one that Python's data model knows, by `__array__` and `__index__`."""

MAX_ITEMS: Final = 24
MAX_DEPTH: Final = 5
MAX_MEMBERS: Final = 5
_MOST_FIELDS: Final = 32
_LONGEST_PREFIX: Final = 6


class Value:
    """Base of all abstract values. `depth` is the height of the nested structure, kept under `MAX_DEPTH`; `order` is by what the members of
    a union are sorted (`order_of`), "" until it is asked for."""

    __slots__ = ("depth", "order")
    depth: int
    order: str


class Unknown(Value):
    """The top of the lattice: any value. Nothing is ever reported of it."""

    __slots__ = ()


class Never(Value):
    """The bottom: no value (unreachable, or not computed yet)."""

    __slots__ = ()


class Const(Value):
    """A host value that is known: None, a bool, a number or a string."""

    __slots__ = ("value",)
    value: bool | int | float | str | None


class Host(Value):
    """A host value of a Python type ("int", "float", "bool", "str", "tuple", "dtype", "device", "" for any).

    `origin` says where it came from: "python", "shape" (of a tensor), "data" (read from a tensor's elements), "drawn" (by the host,
    at random), "counted" (from step to step), "turn" (the same, while only the loop that takes the steps knows it), "due" (a flag that a
    guard sets at every n-th step).
    """

    __slots__ = ("origin", "type")
    type: str
    origin: str


class Tensor(Value):
    """An array of a framework, by its name in the registry, or one of the host (`ARRAYS`).

    `dtype` is "b", "i", "f", "c" or "" (not known); `rank` is -1 where not known. `place` is "cpu" for what is known to
    stay in host memory, `NO_GRADIENT` for what keeps its value where gradients are followed, else "". `sure` is false where
    the value was taken for a tensor by how it is used only.
    `static` marks tensors whose value is known while tracing (`tf.shape(x)` of a static shape).
    """

    __slots__ = ("dtype", "framework", "place", "rank", "static", "sure")
    framework: str
    dtype: str
    rank: int
    place: str
    sure: bool
    static: bool


class Sequence(Value):
    """A list, tuple, set, iterator ("iter"), dict view, `nn.ModuleList` ("modules") or `nn.Sequential` ("chain").

    `items` are the elements where their number is known, else None; `prefix` are then the leading ones that are known all the same
    (an output tuple to which a branch appends). `element` is the join of all.
    """

    __slots__ = ("element", "items", "kind", "prefix")
    kind: str
    items: tuple[Value, ...] | None
    prefix: tuple[Value, ...]
    element: Value


class Mapping(Value):
    """A dict: the values of known string keys, and the join of all others (`rest`)."""

    __slots__ = ("items", "rest")
    items: tuple[tuple[str, Value], ...]
    rest: Value


class AllocationSite:
    """The call that made a value, where it matters for what is done with the value later: a place as `PendingHazard` has it, in a
    function or (-1) at module level."""

    __slots__ = ("at", "function", "module", "statement", "subject", "sure")

    def __init__(self, module: int, function: int, at: int, statement: int, subject: str, sure: bool) -> None:
        self.module = module
        self.function = function
        self.at = at
        self.statement = statement
        self.subject = subject
        self.sure = sure


class Instance(Value):
    """An instance of a class of the program. `fields` are attributes known of this very instance (dataclass outputs), `made` is where it
    was made, if that matters."""

    __slots__ = ("fields", "klass", "made")
    klass: ClassInfo
    fields: tuple[tuple[str, Value], ...]
    made: AllocationSite | None


class LibraryInstance(Value):
    """An instance of a library class, by its dotted name; `made` as of `Instance`, `place` as that of the tensors which it holds."""

    __slots__ = ("made", "name", "place")
    name: str
    made: AllocationSite | None
    place: str


class LibrarySymbol(Value):
    """A library's module, class, function or value, by its dotted name."""

    __slots__ = ("name",)
    name: str


class Method(Value):
    """A library method bound to a value."""

    __slots__ = ("name", "receiver")
    receiver: Value
    name: str


class Function(Value):
    """A function of the program; `receiver` is bound to its first parameter; `closure` holds the free names' values."""

    __slots__ = ("closure", "info", "receiver")
    info: FunctionInfo
    receiver: Value | None
    closure: tuple[tuple[str, Value], ...]


class Class(Value):
    """A class of the program."""

    __slots__ = ("info",)
    info: ClassInfo


class Module(Value):
    """A module of the program."""

    __slots__ = ("info",)
    info: ModuleInfo


class Partial(Value):
    """`functools.partial`: a callable with its first arguments and some keywords bound."""

    __slots__ = ("args", "func", "keywords")
    func: Value
    args: tuple[Value, ...]
    keywords: tuple[tuple[str, Value], ...]


class Answer(Value):
    """A callable of which only what it returns is known."""

    __slots__ = ("value",)
    value: Value


class Super(Value):
    """`super()` in a method of `klass`, for `receiver`."""

    __slots__ = ("klass", "receiver")
    klass: ClassInfo
    receiver: Value


class Union(Value):
    """A join of values of different kinds: a tensor or None, an int or a tensor. `members` are sorted by `order_of`."""

    __slots__ = ("members",)
    members: tuple[Value, ...]


_interned: Final[dict[Any, Any]] = {}
_lasting: Final[dict[Any, Any]] = {}


def begin() -> None:
    """Forget all values but the constants of the modules: those of another program speak of its classes and functions."""
    if not _lasting:
        _lasting.update(_interned)
    _interned.clear()
    _interned.update(_lasting)


_V = TypeVar("_V", bound=Value)


def _leaf(cls: type[_V]) -> _V:
    value = cls()
    value.depth = 0
    value.order = ""
    return value


UNKNOWN: Final[Unknown] = _leaf(Unknown)
NEVER: Final[Never] = _leaf(Never)


def _make(cls: type[_V], key: Any, depth: int, fields: dict[str, Any]) -> _V:
    value = cls()
    value.depth = depth
    value.order = ""
    for name, field in fields.items():
        setattr(value, name, field)
    _interned[key] = value
    return value


def constant(value: bool | int | float | str | None) -> Const:
    """The known host value."""
    key = (Const, type(value), value if type(value) is not float else repr(value))  # 0.0 == -0.0, nan != nan
    found: Const | None = _interned.get(key)
    return found if found is not None else _make(Const, key, 0, {"value": value})


def host(type: str = "", origin: str = "python") -> Host:  # noqa: A002 - what Python calls it
    """A host value of that Python type."""
    key = (Host, type, origin)
    found: Host | None = _interned.get(key)
    return found if found is not None else _make(Host, key, 0, {"type": type, "origin": origin})


def tensor(
    framework: str, dtype: str = "", rank: int = -1, place: str = "", sure: bool = True, static: bool = False
) -> Tensor:
    """An array of the framework."""
    key = (Tensor, framework, dtype, rank, place, sure, static)
    found: Tensor | None = _interned.get(key)
    if found is not None:
        return found
    fields = {"framework": framework, "dtype": dtype, "rank": rank, "place": place, "sure": sure, "static": static}
    return _make(Tensor, key, 0, fields)


def _depth(values: Iterable[Value]) -> int:
    return 1 + max((value.depth for value in values), default=0)


def sequence(kind: str, items: tuple[Value, ...] | None, element: Value, prefix: tuple[Value, ...] = ()) -> Value:
    """A sequence; too long or too deep ones forget their items, then themselves."""
    if items is not None and len(items) > MAX_ITEMS:
        items = None
    prefix = prefix[:_LONGEST_PREFIX]
    key = (Sequence, kind, items, element, prefix)
    found: Value | None = _interned.get(key)
    if found is not None:
        return found
    depth = _depth((element, *(items or prefix)))
    if depth > MAX_DEPTH:
        return UNKNOWN if items is None else sequence(kind, None, UNKNOWN)
    return _make(Sequence, key, depth, {"kind": kind, "items": items, "element": element, "prefix": prefix})


def mapping(items: tuple[tuple[str, Value], ...], rest: Value = NEVER) -> Value:
    """A dict with known keys, sorted by key."""
    key = (Mapping, items, rest)
    found: Value | None = _interned.get(key)
    if found is not None:
        return found
    depth = _depth((rest, *(value for _, value in items)))
    if depth > MAX_DEPTH:
        return mapping((), UNKNOWN)
    return _make(Mapping, key, depth, {"items": items, "rest": rest})


def record_fields(values: AnyMapping[str, Value]) -> tuple[tuple[str, Value], ...]:
    """The fields of a record in the order of their names; of one with many no more than these are kept apart."""
    return tuple(sorted(values.items(), key=lambda item: item[0]))[:_MOST_FIELDS]


def instance(klass: ClassInfo, fields: tuple[tuple[str, Value], ...] = (), made: AllocationSite | None = None) -> Value:
    """An instance of a class of the program."""
    key = (Instance, klass, fields, made)
    found: Value | None = _interned.get(key)
    if found is not None:
        return found
    depth = _depth(value for _, value in fields) if fields else 0
    if depth > MAX_DEPTH:
        return instance(klass)
    return _make(Instance, key, depth, {"klass": klass, "fields": fields, "made": made})


def foreign(name: str, made: AllocationSite | None = None, place: str = "") -> LibraryInstance:
    """An instance of the library class `name`."""
    key = (LibraryInstance, name, made, place)
    found: LibraryInstance | None = _interned.get(key)
    return found if found is not None else _make(LibraryInstance, key, 0, {"name": name, "made": made, "place": place})


def allocation_site(module: int, function: int, at: int, statement: int, subject: str, sure: bool) -> AllocationSite:
    """Return the call at a place, by which values are told apart."""
    key = (AllocationSite, module, function, at, sure)
    found: AllocationSite | None = _interned.get(key)
    if found is None:
        found = _interned[key] = AllocationSite(module, function, at, statement, subject, sure)
    return found


def external(name: str) -> LibrarySymbol:
    """The library's thing of that dotted name."""
    key = (LibrarySymbol, name)
    found: LibrarySymbol | None = _interned.get(key)
    return found if found is not None else _make(LibrarySymbol, key, 0, {"name": name})


UPDATED: Final = "at[]"
"""The name of the method that stands for some elements of a tensor, in a functional update of these (`x.at[i]`)."""


def method(receiver: Value, name: str) -> Method:
    """A library method bound to a receiver."""
    key = (Method, receiver, name)
    found: Method | None = _interned.get(key)
    return found if found is not None else _make(Method, key, receiver.depth, {"receiver": receiver, "name": name})


def function(info: FunctionInfo, receiver: Value | None = None, closure: tuple[tuple[str, Value], ...] = ()) -> Value:
    """A function of the program, perhaps bound."""
    key = (Function, info, receiver, closure)
    found: Value | None = _interned.get(key)
    if found is not None:
        return found
    depth = _depth([value for _, value in closure] + ([receiver] if receiver is not None else []))
    if depth > MAX_DEPTH + 2:
        return UNKNOWN if not closure else function(info, receiver)
    return _make(Function, key, depth, {"info": info, "receiver": receiver, "closure": closure})


def class_value(info: ClassInfo) -> Class:
    """A class of the program."""
    key = (Class, info)
    found: Class | None = _interned.get(key)
    return found if found is not None else _make(Class, key, 0, {"info": info})


def module_value(info: ModuleInfo) -> Module:
    """A module of the program."""
    key = (Module, info)
    found: Module | None = _interned.get(key)
    return found if found is not None else _make(Module, key, 0, {"info": info})


def partial(func: Value, args: tuple[Value, ...], keywords: tuple[tuple[str, Value], ...]) -> Value:
    """A callable with some of its arguments bound."""
    key = (Partial, func, args, keywords)
    found: Value | None = _interned.get(key)
    if found is not None:
        return found
    depth = _depth([func, *args, *(value for _, value in keywords)])
    if depth > MAX_DEPTH + 2:
        return UNKNOWN
    return _make(Partial, key, depth, {"func": func, "args": args, "keywords": keywords})


def answer(value: Value) -> Value:
    """A callable that returns `value` whatever it is called with."""
    key = (Answer, value)
    found: Value | None = _interned.get(key)
    if found is not None:
        return found
    return UNKNOWN if value.depth > MAX_DEPTH + 1 else _make(Answer, key, value.depth + 1, {"value": value})


def super_value(klass: ClassInfo, receiver: Value) -> Super:
    """`super()` seen from `klass`."""
    key = (Super, klass, receiver)
    found: Super | None = _interned.get(key)
    return found if found is not None else _make(Super, key, 0, {"klass": klass, "receiver": receiver})


def union(members: tuple[Value, ...]) -> Value:
    """The union of members that were made different in kind by `join`; see there."""
    key = (Union, frozenset(members))
    found: Value | None = _interned.get(key)
    if found is not None:
        return found
    ordered = tuple(sorted(members, key=order_of))
    return _make(Union, key, max(member.depth for member in members), {"members": ordered})


NUMBER_KINDS: Final = {"bool": "b", "int": "i", "float": "f", "complex": "c"}
"""The dtype kind that each type of Python's numbers has as a tensor."""

DISCRETE: Final = frozenset(("b", "i"))
"""Kinds of values that have no derivative."""

NO_GRADIENT: Final = "no gradient"
"""In `Tensor.place`: no gradient flows through it. What is computed with other tensors has no such mark."""


def kind_of_number(value: Value) -> str:
    """The dtype kind that a number of the host has as a tensor; "" of other values, and where the type is not known."""
    if type(value) is Const:
        return NUMBER_KINDS.get(type(value.value).__name__, "")
    return NUMBER_KINDS.get(value.type, "") if type(value) is Host else ""


# The tensors of a union come first, those of a device before NumPy's; what is not known comes last.
_KINDS: Final[dict[type[Value], str]] = {
    kind: chr(ord("b") + place)
    for place, kind in enumerate(
        (
            Const,
            Host,
            Sequence,
            Mapping,
            Instance,
            LibraryInstance,
            LibrarySymbol,
            Method,
            Function,
            Class,
            Module,
            Partial,
            Answer,
            Super,
            Union,
            Never,
            Unknown,
        )
    )
}
_frameworks: Final[list[str]] = [
    ""
]  # one text of all names: where a name stands in it says which tensor of a union is foremost
_LONGEST_ORDER: Final = 64


def rank_frameworks(names: Iterable[str]) -> None:
    """Set the order of tensors in unions: those of the first framework come first, arrays of the host last."""
    _frameworks[0] = " ".join([*names, ARRAYS])


def order_of(value: Value) -> str:
    """By what the value is sorted among others: what it is made of, whoever made it and when."""
    if not value.order:
        order = _spell(value)
        if len(order) > _LONGEST_ORDER:  # told by a digest from here on, else nested values grow without bound
            order = order[:1] + blake2b(order.encode("utf-8", "surrogatepass"), digest_size=16).hexdigest()
        value.order = order
    return value.order


def _spell(value: Value) -> str:
    if isinstance(value, Tensor):
        first = _frameworks[0].find(value.framework)
        facts = (value.framework, value.dtype, str(value.rank), value.place, str(value.sure), str(value.static))
        return f"a{first:02}" + ",".join(facts)
    return _KINDS[type(value)] + _content(value)


def _content(value: Value) -> str:
    """Spell what tells a value from others of its kind.

    Two values that differ are never spelled alike.
    """
    if isinstance(value, Const):
        return f"{type(value.value).__name__},{value.value!r}"
    if isinstance(value, Host):
        return f"{value.type},{value.origin}"
    if isinstance(value, Sequence):
        items = "" if value.items is None else order_of_all(value.items)
        return f"{value.kind},{value.items is None},{items},{order_of(value.element)},{order_of_all(value.prefix)}"
    if isinstance(value, Mapping):
        return f"{order_of_pairs(value.items)},{order_of(value.rest)}"
    if isinstance(value, Instance):
        return f"{place_of(value.klass)},{order_of_pairs(value.fields)},{_spell_place(value.made)}"
    if isinstance(value, LibraryInstance):
        return f"{value.name},{_spell_place(value.made)},{value.place}"
    if isinstance(value, LibrarySymbol):
        return value.name
    if isinstance(value, Union):
        return order_of_all(value.members)
    return _content_of_callable(value)


def _content_of_callable(value: Value) -> str:
    """`_content` of what can be called, and of modules."""
    if isinstance(value, Method):
        return f"{value.name},{order_of(value.receiver)}"
    if isinstance(value, Function):
        receiver = order_of(value.receiver) if value.receiver is not None else ""
        return f"{place_of(value.info)},{receiver},{order_of_pairs(value.closure)}"
    if isinstance(value, Class):
        return place_of(value.info)
    if isinstance(value, Module):
        return f"{value.info.index:08}"
    if isinstance(value, Partial):
        return f"{order_of(value.func)},{order_of_all(value.args)},{order_of_pairs(value.keywords)}"
    if isinstance(value, Answer):
        return order_of(value.value)
    if isinstance(value, Super):
        return f"{place_of(value.klass)},{order_of(value.receiver)}"
    return ""


def place_of(info: ClassInfo | FunctionInfo) -> str:
    """Where a class or a function stands in the program: sorted, the order of the program."""
    return f"{info.module.index:08}:{info.index:08}"


def _spell_place(made: AllocationSite | None) -> str:
    return "" if made is None else f"{made.module}:{made.function}:{made.at}:{made.sure}"


def order_of_all(values: Iterable[Value]) -> str:
    """`order_of` of several values in their order."""
    return "(" + " ".join([order_of(value) for value in values]) + ")"


def order_of_pairs(pairs: Iterable[tuple[str, Value]]) -> str:
    """`order_of` of named values."""
    return "(" + " ".join([f"{name!r}={order_of(value)}" for name, value in pairs]) + ")"


NONE: Final = constant(None)
TRUE: Final = constant(True)
FALSE: Final = constant(False)
HOST: Final = host()
INT: Final = host("int")
FLOAT: Final = host("float")
BOOL: Final = host("bool")
DRAWN_BOOL: Final = host("bool", "drawn")
DUE: Final = host("bool", "due")
STR: Final = host("str")


def members(value: Value) -> tuple[Value, ...]:
    """The alternatives of a value: those of a union, or itself."""
    return value.members if type(value) is Union else (value,)


def field(fields: tuple[tuple[str, Value], ...], name: str) -> Value | None:
    """The value of `name` in a tuple of pairs."""
    for key, value in fields:
        if key == name:
            return value
    return None


def is_none(value: Value) -> bool | None:
    """Return whether the value is None, or None when that is not known."""
    if value is NONE:
        return True
    if type(value) is Union:
        return None if any(m is NONE or m is UNKNOWN for m in value.members) else False
    return None if value is UNKNOWN or value is NEVER else False


def tensors(value: Value, depth: int = 3) -> Iterable[Tensor]:
    """The device tensors that a value is or holds, shallow first."""
    kind = type(value)
    if kind is Tensor:
        if value.framework != ARRAYS:  # type: ignore[attr-defined]
            yield value  # type: ignore[misc]
    elif depth == 0:
        return
    elif kind is Union:
        for member in value.members:  # type: ignore[attr-defined]
            yield from tensors(member, depth)
    elif kind is Sequence:
        yield from tensors(value.element, depth - 1)  # type: ignore[attr-defined]
    elif kind is Mapping:
        for _, item in value.items:  # type: ignore[attr-defined]
            yield from tensors(item, depth - 1)
        yield from tensors(value.rest, depth - 1)  # type: ignore[attr-defined]


def is_leaf(value: Tensor) -> bool:
    """Return whether nothing is known of what is taken for a tensor: it may be a structure of some."""
    return not (value.sure or value.dtype or value.rank >= 0 or value.static)


def only_tensor(value: Value) -> Tensor | None:
    """The tensor among a value's alternatives (their join when there are several), or None."""
    kind = type(value)
    if kind is Tensor:
        return value  # type: ignore[return-value]
    if kind is Union:
        for member in value.members:  # type: ignore[attr-defined]
            if type(member) is Tensor:
                return member
    return None
