"""Modules that are compiled: `hatch_build.COMPILED` names them by path, which moves do not change by themselves."""

from __future__ import annotations

import ast
from collections.abc import Mapping
from typing import Any

import pytest

from .tree import ROOT, modules, tree_of


def tree_of_hook() -> ast.Module:
    """The hook is not imported: that needs hatchling."""
    return ast.parse((ROOT / "hatch_build.py").read_text(encoding="utf-8"))


def listed(name: str) -> list[str]:
    """Read a list."""
    for node in tree_of_hook().body:
        if isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) == name:
            value = node.value.args[0] if isinstance(node.value, ast.Call) else node.value
            paths: list[str] = list(ast.literal_eval(value))
            return paths
    raise AssertionError(f"hatch_build.py has no {name}")


def compiled() -> list[str]:
    return [*listed("OFTEN"), *listed("SELDOM")]


@pytest.mark.parametrize("path", compiled())
def test_is_there(path: str) -> None:
    assert path in modules()


@pytest.mark.parametrize("path", [path for path in compiled() if path in modules()])
def test_defines_no_message_struct(path: str) -> None:
    """msgspec makes a class's fields from what its body says when it runs, which a compiled class does not keep."""
    classes = (node for node in ast.walk(tree_of(path)) if isinstance(node, ast.ClassDef))
    assert [c.name for c in classes if any(ast.unparse(b).endswith("Struct") for b in c.bases)] == []


@pytest.mark.parametrize(
    ("environment", "compiles"),
    [
        pytest.param({"XLALINT_PURE": "1"}, False, id="asked-not-to"),
        pytest.param({"PRE_COMMIT": "1"}, False, id="hook"),
        pytest.param({}, True, id="usual"),
        pytest.param({"PRE_COMMIT": "1", "XLALINT_COMPILED": "1"}, True, id="hook-asked-to"),
    ],
)
def test_where_compiling_pays(environment: dict[str, str], compiles: bool) -> None:
    (function,) = (node for node in tree_of_hook().body if getattr(node, "name", "") == "wants_compiled")
    space: dict[str, Any] = {"Mapping": Mapping}
    exec(compile(ast.Module([function], []), "hatch_build.py", "exec"), space)
    assert space["wants_compiled"](environment) is compiles


def test_is_listed_once() -> None:
    assert len(compiled()) == len(set(compiled()))


def test_what_is_compiled_for_releases_alone_is_compiled_there() -> None:
    assert set(listed("SELDOM")) < set(compiled())
