"""Plain values for a program's inputs and results, shared by the backends."""

from __future__ import annotations

import ast
import hashlib
import random
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import msgspec
import numpy as np
from msgspec import structs

from xlalint.verify.ambient import read_settings
from xlalint.verify.backends import Content, Leaf
from xlalint.verify.content import Anatomy
from xlalint.verify.held import ToLeaves
from xlalint.verify.inputs.containers import Build, builder, nest
from xlalint.verify.inputs.draws import dtype_of
from xlalint.verify.inputs.functions import function_of
from xlalint.verify.layout import HOST
from xlalint.verify.model import ArraySpec, Event, NamedFunction, Place, Spec, Specs, Step
from xlalint.verify.tpu import REFUSED

Arguments = tuple[tuple[Any, ...], dict[str, Any]]
PLAIN = builder({})


class Gradients(NamedTuple):
    """The gradients of a call, and the outputs that they come from; or why the framework cannot differentiate."""

    ends: tuple[int, ...] = ()
    leaves: Sequence[Leaf] = ()
    refused: str = ""


def split(values: Mapping[str, Any], build: Build = PLAIN) -> Arguments:
    """Arguments as a call takes them: those named by numbers are positional, those of a container together."""
    return order(nest(values, build))


def order(values: Mapping[str, Any]) -> Arguments:
    """Put whole arguments in order: those named by numbers are positional."""
    positional = sorted((name for name in values if name.isdigit()), key=int)
    return tuple(values[name] for name in positional), {k: v for k, v in values.items() if not k.isdigit()}


def cotangent(position: int, shape: tuple[int, ...]) -> Any:
    """The gradient that comes back to the output at a position: one that no two elements share."""
    return np.random.default_rng(position).uniform(0.5, 1.5, shape)


def leaves(values: Iterable[Any], to_array: Callable[[Any], Any] = np.asarray) -> list[Leaf]:
    """Flattened values as arrays with the names of their dtypes."""
    return [_leaf(value, to_array) for value in values]


def _leaf(value: Any, to_array: Callable[[Any], Any]) -> Leaf:
    if isinstance(value, (bool, int, float, complex)) and not isinstance(value, np.generic):
        return "python", np.asarray(value)
    if value is None or isinstance(value, (str, bytes)):
        return "none", np.asarray(str(value))
    array = np.asarray(to_array(value))
    if array.dtype == object:
        return "none", np.asarray(type(value).__name__)
    return str(array.dtype), array


def content_of(anatomy: Anatomy, to_leaves: ToLeaves) -> Content:
    """Make arrays of what a value holds."""
    return Content(to_leaves(anatomy.items), anatomy.paths, anatomy.parts, anatomy.opaque)


def host_arrays(anatomy: Anatomy) -> Content:
    """Tell which results are NumPy's, by path."""
    pairs = zip(anatomy.paths, anatomy.items, strict=True)
    return Content(parts=[(path, HOST) for path, one in pairs if isinstance(one, (np.ndarray, np.generic))])


def fill_places(step: Step, defined: Place | None) -> Step:
    """Return the step with a place for what no line of the user's caused: its own call, where the subject is defined."""
    events = tuple(structs.replace(one, place=defined) if one.place is None else one for one in step.events)
    return structs.replace(step, events=events)


def generators(*others: Leaf) -> Content:
    """The states of Python's and NumPy's generators, and of `others`."""
    state: Any = np.random.get_state()
    return Content([*others, *leaves([hash(random.getstate()) % 2**62, int(state[1].sum()), int(state[2])])])


def settings() -> Content:
    """Tell what holds for the whole process."""
    held = read_settings()
    return Content(leaves(held.values()), tuple(held))


def without_values(whole: Specs, framework: str, array: Callable[[tuple[int, ...], Any], Any]) -> dict[str, Any]:
    """The inputs of a call by their names, where `array(shape, dtype)` has the shape of one and no values."""

    def make(spec: Spec) -> Any:
        if isinstance(spec, ArraySpec):
            return array(
                tuple(whole.sizes[one] if isinstance(one, str) else one for one in spec.shape), dtype_of(spec.dtype)
            )
        return function_of(spec.name, framework) if isinstance(spec, NamedFunction) else ast.literal_eval(spec.text)

    return {name: make(spec) for name, spec in whole.arguments.items()}


def too_large(needed: int, ceiling: int) -> str:
    """Say why a program is not run that needs more bytes than are allowed."""
    return f"it needs {needed / (1 << 30):.3g} GiB, and {ceiling / (1 << 30):.3g} are allowed"


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

    def refuse(self, event: Event) -> None:
        """Say why a program that runs here cannot be written: an error, or a "host-sync" where it calls the host while it runs."""
        self.write_named(msgspec.json.encode(event), REFUSED)

    def write(self, code: bytes) -> Path | None:
        """The new file of a program, None for one that was written before."""
        return self.write_named(code, ".mlir")

    def write_named(self, code: bytes, suffix: str) -> Path | None:
        """The new file of a content, None for one that was written before."""
        digest = hashlib.sha256(code).hexdigest()
        if self._folder is None or not self.wanted or digest in self._seen:
            return None
        self._seen.add(digest)
        file = self._folder / f"{self._name}-{len(self._seen):02}{suffix}"
        file.write_bytes(code)
        return file
