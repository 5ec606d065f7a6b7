"""Plain values for a program's inputs and results, shared by the backends."""

from __future__ import annotations

import hashlib
import inspect
import random
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from msgspec import structs

from xlalint.verify.backends import Leaf
from xlalint.verify.model import Place, Step
from xlalint.verify.places import is_users

Arguments = tuple[tuple[Any, ...], dict[str, Any]]


class Gradients(NamedTuple):
    """The gradients of a call, and the outputs that they come from; or why the framework cannot differentiate."""

    ends: tuple[int, ...] = ()
    leaves: Sequence[Leaf] = ()
    refused: str = ""


def split(values: Mapping[str, Any]) -> Arguments:
    """Arguments as a call takes them: those named by numbers are positional."""
    positional = sorted((name for name in values if name.isdigit()), key=int)
    return tuple(values[name] for name in positional), {k: v for k, v in values.items() if not k.isdigit()}


def cotangent(position: int, shape: tuple[int, ...]) -> Any:
    """The gradient that comes back to the output at a position: one that no two elements share."""
    return np.random.default_rng(position).uniform(0.5, 1.5, shape)


def leaves(values: Iterable[Any], to_array: Callable[[Any], Any] = np.asarray) -> list[Leaf]:
    """Flattened values as arrays with the names of their dtypes."""
    return [_leaf(value, to_array) for value in values]


def _leaf(value: Any, to_array: Callable[[Any], Any]) -> Leaf:
    if isinstance(value, (bool, int, float, complex)):
        return "python", np.asarray(value)
    if value is None or isinstance(value, (str, bytes)):
        return "none", np.asarray(str(value))
    array = np.asarray(to_array(value))
    if array.dtype == object:
        return "none", np.asarray(type(value).__name__)
    return str(array.dtype), array


def flatten(value: Any) -> Iterator[Any]:
    """Yield the values that a result holds, in order: dicts by key, lists, tuples, and objects that have fields."""
    if isinstance(value, Mapping):
        for key in sorted(value, key=str):
            yield from flatten(value[key])
    elif isinstance(value, (list, tuple)):
        for item in value:
            yield from flatten(item)
    else:
        yield value


_METHODS = ("forward", "call", "train_step", "__call__")  # of torch, of Keras, of flax and equinox


def globals_of(call: Any, *kinds: type) -> dict[str, Any]:
    """The public globals of the module that a program is of, as far as they are lists, dicts, numbers or of the framework's `kinds`."""
    for one in (getattr(call, "python_function", call), *(getattr(type(call), name, None) for name in _METHODS)):
        function = inspect.unwrap(getattr(one, "__func__", one)) if callable(one) else None
        code = getattr(function, "__code__", None)
        if code is not None and is_users(code.co_filename):
            shared = function.__globals__.items()  # type: ignore[union-attr]
            return {f"global {k}": v for k, v in shared if not k.startswith("_") and _is_kept(v, kinds)}
    return {}


def _is_kept(value: Any, kinds: tuple[type, ...]) -> bool:
    return type(value) in (list, dict, int, float) or isinstance(value, kinds)


def fill_places(step: Step, defined: Place | None) -> Step:
    """Return the step with a place for what no line of the user's caused: its own call, where the subject is defined."""
    events = tuple(structs.replace(one, place=defined) if one.place is None else one for one in step.events)
    return structs.replace(step, events=events)


def generators() -> list[Leaf]:
    """The states of Python's and NumPy's generators."""
    state: Any = np.random.get_state()
    return leaves([hash(random.getstate()) % 2**62, int(state[1].sum()), int(state[2])])


class Programs:
    """StableHLO files in a folder, one for each program that differs, `<name>-01.mlir` and so on; a folder of "" takes none."""

    def __init__(self, folder: str, name: str, most: int = 16) -> None:
        self._folder = Path(folder) if folder else None
        self._name = name
        self._most = most
        self._seen: set[str] = set()

    @property
    def wanted(self) -> bool:
        return self._folder is not None and len(self._seen) < self._most

    def write(self, code: bytes) -> Path | None:
        """The new file of a program, None for one that was written before."""
        digest = hashlib.sha256(code).hexdigest()
        if self._folder is None or not self.wanted or digest in self._seen:
            return None
        self._seen.add(digest)
        file = self._folder / f"{self._name}-{len(self._seen):02}.mlir"
        file.write_bytes(code)
        return file
