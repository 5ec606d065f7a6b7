"""The frameworks, in order. Adding one is a folder with a `framework.py`, and a row here.

A row is all that is known of a framework until code is interpreted: reading settings and pages imports no framework.
"""

from __future__ import annotations

from functools import cache
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from xlalint.frameworks.base import Framework


class Row(NamedTuple):
    """One framework.

    `title` is what users call it. `folder` is the package whose module `framework` holds the `Framework`. Its `*.toml` are API tables,
    besides those under `rules/apis`. `targets` are how its code reaches XLA, the usual one first. `rewritten`: the rewriters know its
    operations.
    """

    name: str
    title: str
    folder: str
    targets: tuple[str, ...]
    rewritten: bool = True


ROWS: list[Row] = [
    Row("torch", "PyTorch", "xlalint.frameworks.torch", ("torch_tpu", "torch_xla", "torch_compile")),
    Row("tensorflow", "TensorFlow", "xlalint.frameworks.tensorflow", ("tf",)),
    Row("jax", "JAX", "xlalint.frameworks.jax", ("jax",)),
]


def row_of(name: str) -> Row:
    """Return the row of a framework."""
    return next(row for row in ROWS if row.name == name)


def names() -> tuple[str, ...]:
    """List the names of the frameworks, in order."""
    return tuple(row.name for row in ROWS)


def tables() -> list[Path]:
    """List the API tables that lie in the folders of frameworks, without importing them."""
    found: list[Path] = []
    for row in ROWS:
        spec = find_spec(row.folder)
        for place in (spec.submodule_search_locations or ()) if spec is not None else ():
            found += sorted(Path(place).glob("*.toml"))
    return found


def frameworks() -> tuple[Framework, ...]:
    """Import the frameworks, in order."""
    return _frameworks(tuple(ROWS))


@cache
def _frameworks(rows: tuple[Row, ...]) -> tuple[Framework, ...]:
    return tuple(import_module(f"{row.folder}.framework").FRAMEWORK for row in rows)
