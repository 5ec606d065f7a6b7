"""Modules that are compiled: `hatch_build.COMPILED` names them by path, which moves do not change by themselves."""

from __future__ import annotations

import ast
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


def hook() -> dict[str, Any]:
    """The hook's functions and constants."""
    body = [
        node
        for node in tree_of_hook().body
        if not isinstance(node, ast.ClassDef)
        and getattr(node, "module", "") != "hatchling.builders.hooks.plugin.interface"
    ]
    space: dict[str, Any] = {}
    exec(compile(ast.Module(body, []), "hatch_build.py", "exec"), space)
    return space


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
    assert hook()["wants_compiled"](environment) is compiles


def test_is_listed_once() -> None:
    assert len(compiled()) == len(set(compiled()))


def test_what_is_compiled_for_releases_alone_is_compiled_there() -> None:
    assert set(listed("SELDOM")) < set(compiled())


@pytest.mark.parametrize(
    ("sources", "changing"),
    [
        pytest.param(["x = 1\n"], ["x"], id="limit"),
        pytest.param(["x = {}\n"], [], id="table"),
        pytest.param(["x: dict[str, int] = {}\n"], [], id="annotated"),
        pytest.param(["x = {}\nx = {}\n"], ["x"], id="twice"),
        pytest.param(["x = {}\nx |= y\n"], ["x"], id="counted"),
        pytest.param(["x = {}\ndef f():\n    global x\n    x = {}\n"], ["x"], id="global"),
        pytest.param(["x = {}\ndef f():\n    x = 2\n    x = 3\n"], [], id="local"),
        pytest.param(["for x in y:\n    pass\n"], ["x"], id="loop"),
        pytest.param(["def f():\n    pass\nf = g(f)\n"], ["f"], id="function"),
        pytest.param(["try:\n    import x\nexcept ImportError:\n    x = None\n"], ["x"], id="perhaps"),
        pytest.param(["x = {}\n", "x = {}\n"], [], id="two-modules"),
    ],
)
def test_which_names_change(sources: list[str], changing: list[str]) -> None:
    assert hook()["find_changing"](sources) == set(changing)


LOOKUP = """r1 = CPyStatic_loops___globals;
r2 = CPyStatics[7]; /* '{name}' */
r3 = CPyDict_GetItem(r1, r2);
"""
LOOKUP_IN_MODULE = """if (unlikely(r3 == NULL)) {
CPy_AddTraceback("loops.py", "f", 9, CPyStatic_loops___globals);
goto CPyL4;
}
r4 = CPyStatics[8]; /* 'Call' */
r5 = CPyObject_GetAttr(r3, r4);
"""
FIELD = "r6 = CPyStatics[9]; /* 'at' */\nr7 = CPyObject_GetAttr(cpy_r_node, r6);\n"
ANY_FIELD = "r8 = CPyObject_GetAttr(cpy_r_node, cpy_r_name);\n"


def test_lookups_are_kept() -> None:
    code = (
        "#include <init.c>\n\n"
        + LOOKUP.format(name="ir")
        + LOOKUP_IN_MODULE
        + LOOKUP.format(name="changes")
        + FIELD
        + ANY_FIELD
    )
    kept = hook()["keep_lookups"](code, frozenset(["changes"]))
    assert "if (kept_names[0] == NULL) kept_names[0] = CPyObject_GetAttr(r3, r4);\nr5 = kept_names[0];\n" in kept
    assert "if (kept_names[1] == NULL) kept_names[1] = CPyDict_GetItem(r1, r2);\nr3 = kept_names[1];\n" in kept
    assert LOOKUP.format(name="changes") in kept
    assert "r7 = get_field(cpy_r_node, r6, &field_places[0]);" in kept
    assert ANY_FIELD in kept
    assert kept.index("static PyObject *kept_names") < kept.index("r1 = ")


def test_fields_alone_are_read_by_their_place() -> None:
    kept = hook()["keep_lookups"]("#include <init.c>\n\n" + FIELD, frozenset())
    assert kept.index("static inline PyObject *get_field") < kept.index("r7 = get_field(")


def test_code_without_lookups_is_left() -> None:
    assert hook()["keep_lookups"]("#include <Python.h>\n\nint x;\n", frozenset()) == "#include <Python.h>\n\nint x;\n"
