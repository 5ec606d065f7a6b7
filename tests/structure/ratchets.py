"""Bring the tables of the structure tests in line with the source.

    python -m tests.structure.ratchets            lower the numbers and drop the exceptions that are no longer needed
    python -m tests.structure.ratchets --accept   also raise numbers and add exceptions, for a change that cannot do without

What is added needs a reason: fill in the empty "why" of new exceptions in `imports.json`, or the tests fail.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Iterable
from typing import Any

from .tree import (
    HERE,
    Import,
    circles,
    engine,
    folder_of,
    framework_names,
    idiomatic,
    imports,
    load,
    modules,
    participles,
    rule_codes,
    shared_names,
    twins,
)

_SEAM = ("frameworks/base.py", "frameworks/loading.py", "frameworks/platforms.py", "frameworks/registry.py")


def layers() -> Callable[[str], int]:
    """Return a function that gives the layer of a module. An entry names a folder or one module, which counts first."""
    heights = {name: height for height, names in enumerate(load("layers.json")) for name in names}
    return lambda module: heights[module] if module in heights else heights[folder_of(module)]


def upward(edges: Iterable[Import], layer: Callable[[str], int]) -> list[str]:
    """List the imports that lead from a folder to another one that does not lie below it."""
    return [
        str(edge)
        for edge in edges
        if folder_of(edge.importer) != folder_of(edge.imported) and layer(edge.imported) >= layer(edge.importer)
    ]


def beside_the_seam() -> list[str]:
    """List the imports by which the engine reaches into `frameworks/`; `analysis/` may import what speaks of all of them."""
    found = [edge for edge in imports() if edge.importer in engine() and folder_of(edge.imported) == "frameworks"]
    return [str(edge) for edge in found if folder_of(edge.importer) != "analysis" or edge.imported not in _SEAM]


def circle() -> list[str]:
    """Find the largest circle of imports, those for type checkers and those in functions included.

    Checks are left out: each joins it by being registered, and none is imported by the others for that.
    """
    return [module for module in next(iter(circles(imports())), []) if "/checks/" not in module]


def measured() -> dict[str, dict[str, int]]:
    """Count what `budgets.json` limits; zeros are left out."""
    prose: dict[str, int] = {}
    named: dict[str, int] = {}
    for module in modules():
        prose[folder_of(module)] = prose.get(folder_of(module), 0) + idiomatic(module)
        named[folder_of(module)] = named.get(folder_of(module), 0) + participles(module)
    counts = {
        "rule codes in the engine": {module: rule_codes(module) for module in engine()},
        "framework names in the engine": {module: framework_names(module) for module in engine()},
        "docstrings that begin with What, Whether or Which": prose,
        "functions named by a participle": named,
        "public classes whose name another one has": shared_names(),
        "public classes that share a name within a folder": dict.fromkeys(twins(), 1),
    }
    return {title: {name: count for name, count in found.items() if count} for title, found in counts.items()}


def budgets(accept: bool) -> dict[str, dict[str, int]]:
    """Return the budgets as they should be: the counts, but none above its budget unless `accept` is given."""
    known = load("budgets.json")
    counts = measured()
    if accept:
        return counts
    return {
        title: {name: min(count, known[title][name]) for name, count in found.items() if name in known[title]}
        for title, found in counts.items()
    }


def pinned_imports(accept: bool) -> dict[str, Any]:
    """Return the table of imports without what is gone, and, if `accept` is given, with what is new."""
    table = load("imports.json")
    edges = imports()
    left = upward(edges, layers())
    known = {edge for group in table["exceptions"] for edge in group["imports"]}
    groups = [{"why": g["why"], "imports": [e for e in g["imports"] if e in left]} for g in table["exceptions"]]
    new = [edge for edge in left if edge not in known]
    if accept and new:
        groups.append({"why": "", "imports": new})
    tied = [module for module in circle() if accept or module in table["circle"]]
    reaching = [edge for edge in beside_the_seam() if accept or edge in table["beside the seam"]]
    return {"exceptions": [g for g in groups if g["imports"]], "beside the seam": reaching, "circle": tied}


def main(arguments: list[str]) -> None:
    """Write both tables."""
    accept = "--accept" in arguments
    tables: dict[str, object] = {"imports.json": pinned_imports(accept), "budgets.json": budgets(accept)}
    for name, table in tables.items():
        (HERE / name).write_text(json.dumps(table, indent=2) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main(sys.argv[1:])
