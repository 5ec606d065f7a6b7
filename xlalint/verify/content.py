"""Values taken apart: what holds what, by path, and the arrays, numbers and texts in it. Any two values compare by that.

    Out(loss=tensor, aux=(1, "a"))  →  parts (("", "Out"), (".aux", "tuple of 2"))
                                       items .loss: tensor, .aux[0]: 1, .aux[1]: "a"

Knows no framework: a backend says what an array is, and what its own containers hold.
"""

from __future__ import annotations

import contextvars
import enum
import functools
import itertools
import random
import types
from collections import deque
from collections.abc import Callable, Iterator, Mapping
from typing import Any, NamedTuple

import numpy as np

from xlalint.verify.inputs.containers import Batches

_MOST = 20_000  # parts and items; what holds more is not looked at further
_DRAINED = 4_096  # items that a generator gives
_TEXTS = (str, bytes, bytearray, type(None))
_NUMBERS = (bool, int, float, complex)
_CODE = (type, types.ModuleType, types.BuiltinFunctionType)


class Kinds(NamedTuple):
    """Says what a framework's values are.

    `is_array`: of what is compared by its elements. `held_by`: the name of a container of its own, and what is in it by name, or None.
    `enters`: whether the attributes of an object are looked at. `named`: what sets an array apart from others of its elements, "" for none.
    `drains`: whether iterators are drained; else, of one that a program goes on with, it is told how far it is.
    """

    is_array: Callable[[Any], bool]
    held_by: Callable[[Any], tuple[str, Mapping[str, Any]] | None] = lambda value: None
    enters: Callable[[Any], bool] = lambda value: True
    named: Callable[[Any], str] = lambda value: ""
    drains: bool = True


class Anatomy(NamedTuple):
    """A value taken apart: its containers by path, in order; paths and values of the items in them; what nothing can be told of."""

    parts: tuple[tuple[str, str], ...]
    paths: tuple[str, ...]
    items: tuple[Any, ...]
    opaque: tuple[str, ...]


def take_apart(value: Any, kinds: Kinds) -> Anatomy:
    """Take a value apart. An iterator is drained by it, so that this is done once."""
    found = _Dissection(kinds)
    found.visit(value, "")
    return Anatomy(tuple(found.parts), tuple(found.paths), tuple(found.items), tuple(found.opaque))


class _Dissection:
    def __init__(self, kinds: Kinds) -> None:
        self.parts: list[tuple[str, str]] = []
        self.paths: list[str] = []
        self.items: list[Any] = []
        self.opaque: list[str] = []
        self._kinds = kinds
        self._known: dict[int, str] = {}
        self._kept: list[Any] = []  # an object that is gone would give its identity to another

    def visit(self, value: Any, path: str) -> None:
        if isinstance(value, enum.Enum):
            self._item(path, f"{type(value).__name__}.{value.name}")
        elif isinstance(value, (*_TEXTS, *_NUMBERS, np.generic)):
            self._item(path, value)
        elif self._kinds.is_array(value):
            if name := self._kinds.named(value):
                self.parts.append((path, name))
            self._item(path, value)
        elif len(self.parts) + len(self.items) > _MOST:
            self.opaque.append(f"{path or 'it'}: more than {_MOST} values")
        elif id(value) in self._known:
            self.parts.append((path, f"the same object as {self._known[id(value)] or 'the whole'}"))
        else:
            self._known[id(value)] = path
            self._kept.append(value)
            self._container(value, path)

    def _item(self, path: str, value: Any) -> None:
        self.paths.append(path)
        self.items.append(value)

    def _container(self, value: Any, path: str) -> None:
        name = type(value).__qualname__
        held = self._kinds.held_by(value)
        if held is not None:
            self.parts.append((path, held[0]))
            self._visit_all((f"{path}.{key}", one) for key, one in held[1].items())
        elif isinstance(value, Mapping):
            keys = [_key_text(key) for key in value]
            self.parts.append((path, f"{name} of {', '.join(keys)}"))
            self._visit_all((f"{path}[{key}]", one) for key, one in zip(keys, value.values(), strict=True))
        elif isinstance(value, (list, tuple, deque)):
            most = f", at most {value.maxlen}" if isinstance(value, deque) and value.maxlen is not None else ""
            self.parts.append((path, f"{name} of {len(value)}{most}"))
            self._visit_all((f"{path}[{n}]", one) for n, one in enumerate(value))
        elif isinstance(value, (set, frozenset)):
            self.parts.append((path, f"{name} of {len(value)}"))
            self._set(value, path)
        elif isinstance(value, Batches):
            self.parts.append((path, f"iterator, {value.taken} of {len(value.items)} taken"))
            self._visit_all((f"{path}[{n}]", one) for n, one in enumerate(value.items))
        elif (states := _states_of(value)) is not None:
            self.parts.append((path, name))
            self._visit_all((f"{path}.{key}", one) for key, one in states.items())
        elif isinstance(value, Iterator) and not hasattr(value, "fileno") and not self._kinds.drains:
            self._iterator(value, path, name)
        elif isinstance(value, Iterator) and not hasattr(value, "fileno"):
            drained = list(itertools.islice(value, _DRAINED))
            self.parts.append((path, f"{name} of {len(drained)}"))
            self._visit_all((f"{path}[{n}]", one) for n, one in enumerate(drained))
        else:
            self._object(value, path, name)

    def _iterator(self, value: Any, path: str, name: str) -> None:
        """Tell how far an iterator is, and leave it there: a generator by its frame, one of Python's own by what a copy is made from."""
        if isinstance(value, types.GeneratorType):
            frame = value.gi_frame
            held = {"line": frame.f_lineno, "at": frame.f_lasti, **frame.f_locals} if frame is not None else {}
        elif type(value).__module__ in ("builtins", "itertools", "collections"):
            _, arguments, *more = value.__reduce__()
            held = {str(n): one for n, one in enumerate([*arguments, *more])}
        else:
            self._object(value, path, name)
            return
        self.parts.append((path, name))
        self._visit_all((f"{path}.{key}", one) for key, one in held.items())

    def _visit_all(self, inner: Iterator[tuple[str, Any]]) -> None:
        for path, one in inner:
            self.visit(one, path)

    def _set(self, value: Any, path: str) -> None:
        """The members of a set, which have no order: numbers and texts by their values."""
        plain = [one for one in value if isinstance(one, (*_TEXTS, *_NUMBERS))]
        if len(plain) < len(value):
            self.opaque.append(f"{path or 'it'}: a {type(value).__name__} of other things than numbers and texts")
        plain.sort(key=lambda one: (isinstance(one, _NUMBERS), repr(one)))
        self._visit_all((f"{path}{{{n}}}", one) for n, one in enumerate(plain))

    def _object(self, value: Any, path: str, name: str) -> None:
        attributes = _attributes(value)
        if isinstance(value, _CODE):
            self._item(path, getattr(value, "__qualname__", getattr(value, "__name__", name)))
        elif isinstance(value, types.MethodType):
            self.parts.append((path, f"method {value.__func__.__qualname__}"))
            self.visit(value.__self__, f"{path}.__self__")
        elif isinstance(value, types.FunctionType):
            self._function(value, path)
        elif isinstance(value, functools.partial):
            self.parts.append((path, name))
            inner = {"func": value.func, "args": value.args, "keywords": value.keywords}
            self._visit_all((f"{path}.{key}", one) for key, one in inner.items())
        elif attributes is not None and self._kinds.enters(value):
            self.parts.append((path, name))
            self._visit_all((f"{path}.{key}", one) for key, one in attributes.items())
        elif " at 0x" not in (text := _text(value)):
            self._item(path, text)
        else:
            self.opaque.append(f"{path or 'it'}: a `{name}`")

    def _function(self, value: types.FunctionType, path: str) -> None:
        """A function by its code and what it closes over."""
        code = value.__code__
        self.parts.append((path, f"function {code.co_code.hex()} {code.co_names} {_constants(code)}"))
        for name, cell in zip(code.co_freevars, value.__closure__ or (), strict=True):
            try:
                self.visit(cell.cell_contents, f"{path}.{name}")
            except ValueError:  # not bound yet
                continue


def _states_of(value: Any) -> dict[str, Any] | None:
    """Return what is in an object of Python's or NumPy's that is told by no attribute; None for others."""
    if isinstance(value, contextvars.ContextVar):
        unset: list[None] = []
        held = value.get(unset)
        return {} if held is unset else {"value": held}
    if isinstance(value, random.Random):
        return {"state": hash(value.getstate())}
    if isinstance(value, np.random.Generator):
        return {"state": value.bit_generator.state}
    if isinstance(value, np.random.RandomState):
        return {"state": value.get_state(legacy=False)}
    return None


def _constants(code: types.CodeType) -> tuple[str, ...]:
    return tuple(repr(one) for one in code.co_consts if not isinstance(one, types.CodeType))


def _key_text(key: Any) -> str:
    return _text(key).partition(" at 0x")[0]


def _text(value: Any) -> str:
    try:
        return repr(value)
    except Exception:  # noqa: BLE001 (the user's own `__repr__`)
        return f"{type(value).__name__} at 0x"


def _attributes(value: Any) -> dict[str, Any] | None:
    """The attributes of an object, in the order in which they were set; None for one that has none of its own."""
    found = dict(vars(value)) if hasattr(value, "__dict__") else None
    slots = [name for one in type(value).__mro__ for name in _slots(one)]
    for name in slots:
        if hasattr(value, name):
            found = {**(found or {}), name: getattr(value, name)}
    return found


def _slots(one: type) -> tuple[str, ...]:
    if one.__module__ == "builtins":
        return ()
    told = one.__dict__.get("__slots__", ())
    names = (told,) if isinstance(told, str) else tuple(told)
    return tuple(name for name in names if name not in ("__dict__", "__weakref__"))
