"""Imports lead down: from a stage to what it is built on. `layers.json` has the order, the lowest first.

The exceptions in `imports.json` are debts, each group with what would settle it: a new one fails, and so does one that is listed and gone.
See CONTRIBUTING.md, "Structure tests".
"""

from __future__ import annotations

from itertools import chain

import pytest

from .ratchets import beside_the_seam, circle, layers, upward
from .tree import circles, folder_of, imports, load, modules, packages

TABLE = load("imports.json")
EXCEPTIONS = list(chain.from_iterable(group["imports"] for group in TABLE["exceptions"]))


FRAMEWORKS = {"flax", "jax", "jaxlib", "keras", "libtpu", "numpy", "tensorflow", "torch", "torch_xla"}
HOMES = {  # packages that only some folders may import, and why
    **{
        framework: {"verify"} for framework in FRAMEWORKS
    },  # what is checked is never run, and frameworks take seconds to import
    "libcst": {"diagnostics", "fixes", "source"},  # it takes fifteen times as long as `ast` to read a file
    "pygls": {"server"},
    "lsprotocol": {"server"},
    "mcp": {"agents"},
    "rich": {"cli", "report", "verify"},
    "click": {"cli"},
}


def test_every_folder_has_its_layer() -> None:
    listed = list(chain.from_iterable(load("layers.json")))
    assert len(listed) == len(set(listed))
    assert sorted({*map(folder_of, modules())} - set(listed)) == []
    assert sorted(set(listed) - {*map(folder_of, modules()), *modules()}) == []


def test_imports_lead_down() -> None:
    found = upward(imports(), layers())
    assert sorted(set(found) - set(EXCEPTIONS)) == [], "these lead up or sideways: move what is imported further down"


def test_the_engine_imports_no_framework() -> None:
    """What frameworks say reaches the engine as objects: only the roots ask the registry for them."""
    found = beside_the_seam()
    assert sorted(set(found) - set(TABLE["beside the seam"])) == []
    assert sorted(set(TABLE["beside the seam"]) - set(found)) == [], "gone: run `python -m tests.structure.ratchets`"


def test_no_exception_is_stale() -> None:
    found = upward(imports(), layers())
    assert sorted(set(EXCEPTIONS) - set(found)) == [], "gone: run `python -m tests.structure.ratchets`"
    assert len(EXCEPTIONS) == len(set(EXCEPTIONS))


def test_every_exception_says_why() -> None:
    assert [group["imports"] for group in TABLE["exceptions"] if len(group["why"]) < 20] == []


@pytest.mark.parametrize("package", sorted(HOMES))
def test_package_is_imported_only_where_it_may_be(package: str) -> None:
    users = [module for module in modules() if package in packages(module)]
    assert [module for module in users if folder_of(module) not in HOMES[package]] == []


def test_no_circle_of_imports_at_run_time() -> None:
    """What is imported at the top of modules makes no circle, so that any module can be imported first."""
    assert circles(tuple(edge for edge in imports() if not edge.typing_only and not edge.deferred)) == []


def test_the_largest_circle() -> None:
    """Imports for type checkers, and those in functions, tie modules together as well: to know one is to know the others.

    An abstract interpreter evaluates expressions in calls and calls in expressions. Nothing else has to go round.
    """
    assert len(TABLE["circle"]) <= 16
    assert {folder_of(module) for module in TABLE["circle"]} == {"interpreter"}
    assert sorted(set(circle()) - set(TABLE["circle"])) == [], "now part of the largest circle of imports"
    assert sorted(set(TABLE["circle"]) - set(circle())) == [], "gone: run `python -m tests.structure.ratchets`"
