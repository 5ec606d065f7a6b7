"""Finds what a program holds from one call to the next, and what a call changed of it: attributes of its instance, globals, closures."""

from __future__ import annotations

import inspect
import sys
import types
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from hashlib import blake2b
from typing import Any, NamedTuple

from xlalint.verify.backends import Content, Leaf
from xlalint.verify.content import Anatomy, Kinds, take_apart
from xlalint.verify.inputs.containers import Batches
from xlalint.verify.places import is_users

_METHODS = ("forward", "call", "train_step", "__call__")  # of torch, of Keras, of flax and equinox
_CODE = (
    types.ModuleType,
    types.FunctionType,
    types.BuiltinFunctionType,
    types.MethodType,
    classmethod,
    staticmethod,
    property,
)

ToLeaves = Callable[[Iterable[Any]], list[Leaf]]


class HeldSnapshot(NamedTuple):
    """Holds what there was at one moment, taken apart, and a digest of each item."""

    anatomy: Anatomy
    leaves: Sequence[Leaf]
    digests: Mapping[str, bytes]


def snapshot(held: Mapping[str, Any], kinds: Kinds, to_leaves: ToLeaves) -> HeldSnapshot:
    """Remember what is held now."""
    anatomy = take_apart(held, kinds)
    leaves = to_leaves(anatomy.items)
    return HeldSnapshot(
        anatomy, leaves, {path: _digest(leaf) for path, leaf in zip(anatomy.paths, leaves, strict=True)}
    )


def changes(before: HeldSnapshot, after: HeldSnapshot) -> Content:
    """Find what a call changed: items that are other or new, containers that hold more, less or other things."""
    moved = [n for n, path in enumerate(after.anatomy.paths) if before.digests.get(path) != after.digests[path]]
    gone = [path for path in before.digests if path not in after.digests]
    known = set(before.anatomy.parts)
    parts = [part for part in after.anatomy.parts if part not in known and part[0] != ""]
    return Content(
        [after.leaves[n] for n in moved],
        [after.anatomy.paths[n] for n in moved],
        [*parts, *((path, "gone") for path in gone)],
        after.anatomy.opaque,
    )


def held_by(call: Any, own: Mapping[str, Any] | None = None) -> dict[str, Any]:
    """Find what a program holds, by name. `own` takes the place of its instance's attributes, where the backend knows better."""
    owner = getattr(call, "__self__", call)
    found: dict[str, Any] = {}
    if own is not None:
        found["self"] = dict(own)
    elif not isinstance(owner, (*_CODE, type)) and is_of_users(owner):
        found["self"] = owner
    function = _function_of(call)
    if function is not None:
        found["function"] = {name: one for name, one in vars(function).items() if _is_data(name, one)}
        found["closure"] = dict(_closed_over(function))
        found["defaults"] = dict(_defaults_of(function))
        found["globals"] = {name: value for name, value in function.__globals__.items() if _is_data(name, value)}
        found["functions"] = dict(_kept_by_functions(function))
        found["classes"] = dict(_class_attributes(function))
    return found


def can_change(value: Any) -> bool:
    """Return whether a function can change an argument, where arrays cannot be written into."""
    return isinstance(value, (dict, list, Batches)) or is_of_users(value)


def is_of_users(value: Any) -> bool:
    """Return whether an object's class is the user's."""
    module = sys.modules.get(type(value).__module__)
    file = getattr(module, "__file__", None)
    return type(value).__module__ != "builtins" and (file is None or is_users(file))


def _function_of(call: Any) -> types.FunctionType | None:
    """The function of the user's that is called."""
    for one in (getattr(call, "python_function", call), *(getattr(type(call), name, None) for name in _METHODS)):
        function = inspect.unwrap(getattr(one, "__func__", one)) if callable(one) else None
        if isinstance(function, types.FunctionType) and is_users(function.__code__.co_filename):
            return function
    return None


def _closed_over(function: types.FunctionType) -> Iterator[tuple[str, Any]]:
    for name, cell in zip(function.__code__.co_freevars, function.__closure__ or (), strict=True):
        try:
            value = cell.cell_contents
        except ValueError:  # not bound yet
            continue
        if _is_data(name, value):
            yield name, value


def _defaults_of(function: types.FunctionType) -> Iterator[tuple[str, Any]]:
    """The defaults of a function's parameters that a call can change."""
    names = function.__code__.co_varnames[: function.__code__.co_argcount]
    defaults = function.__defaults__ or ()
    last = zip(names[len(names) - len(defaults) :], defaults, strict=True)
    for name, value in (*last, *(function.__kwdefaults__ or {}).items()):
        if not isinstance(value, _NEVER_CHANGED) and _is_data(name, value):
            yield name, value


_NEVER_CHANGED = (bool, int, float, complex, str, bytes, tuple, frozenset, type(None))


def _kept_by_functions(function: types.FunctionType) -> Iterator[tuple[str, Any]]:
    """Find what the other functions of a function's module keep from call to call: in closures, defaults and attributes of their own."""
    for name, value in function.__globals__.items():
        if (
            isinstance(value, types.FunctionType)
            and value is not function
            and value.__globals__ is function.__globals__
        ):
            kept = {**dict(_closed_over(value)), **dict(_defaults_of(value))}
            kept.update((key, one) for key, one in vars(value).items() if _is_data(key, one))
            if kept:
                yield name, kept


def _class_attributes(function: types.FunctionType) -> Iterator[tuple[str, Any]]:
    """The data attributes of the classes that a function's module defines."""
    module = function.__globals__.get("__name__")
    for name, value in function.__globals__.items():
        if isinstance(value, type) and value.__module__ == module:
            yield name, {key: one for key, one in vars(value).items() if _is_data(key, one)}


def _is_data(name: str, value: Any) -> bool:
    return not name.startswith("__") and not isinstance(value, (*_CODE, type)) and type(value).__name__ != "_abc_data"


def _digest(leaf: Leaf) -> bytes:
    kind, array = leaf
    state = blake2b(f"{kind} {array.shape} {array.dtype}".encode(), digest_size=16)
    state.update(array.tobytes())
    return state.digest()
