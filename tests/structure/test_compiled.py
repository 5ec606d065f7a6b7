"""Modules that are compiled: `hatch_build.COMPILED` names them by path, which moves do not change by themselves."""

from __future__ import annotations

import ast

import pytest

from .tree import ROOT, modules, tree_of


def compiled() -> list[str]:
    """Read the list without importing the hook, which needs hatchling."""
    for node in ast.parse((ROOT / "hatch_build.py").read_text(encoding="utf-8")).body:
        if isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) == "COMPILED":
            listed: list[str] = list(ast.literal_eval(node.value))
            return listed
    raise AssertionError("hatch_build.py has no COMPILED")


@pytest.mark.parametrize("path", compiled())
def test_is_there(path: str) -> None:
    assert path in modules()


@pytest.mark.parametrize("path", [path for path in compiled() if path in modules()])
def test_defines_no_message_struct(path: str) -> None:
    """msgspec makes a class's fields from what its body says when it runs, which a compiled class does not keep."""
    classes = (node for node in ast.walk(tree_of(path)) if isinstance(node, ast.ClassDef))
    assert [c.name for c in classes if any(ast.unparse(b).endswith("Struct") for b in c.bases)] == []


def test_is_listed_once() -> None:
    assert len(compiled()) == len(set(compiled()))
