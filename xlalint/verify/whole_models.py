"""Models whose parts were rewritten: a class whose instances are called, with all that it uses of its file."""

from __future__ import annotations

import ast
from collections.abc import Collection, Iterator, Mapping
from typing import NamedTuple, Union

from xlalint.verify.targets import CALLED

_Top = Union[ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef]


class RewrittenModel(NamedTuple):
    """The method by which a model is called, and the rewritten functions that it may reach, by qualified names."""

    called: str
    functions: frozenset[str]


def models_of(tree: ast.Module, rewritten: Collection[str]) -> Iterator[RewrittenModel]:
    """Find the models of a file that use more rewritten functions than the one by which they are called; not those that others use."""
    tops: dict[str, _Top] = {
        one.name: one for one in tree.body if isinstance(one, (ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef))
    }
    uses = {
        name: {one.id for one in ast.walk(node) if isinstance(one, ast.Name)} & tops.keys()
        for name, node in tops.items()
    }
    called = {name: method for name, node in tops.items() if (method := _find_calling_method(node))}
    reached = {name: _reach(name, uses) for name in called}
    inner = {other for name in called for other in reached[name] if other != name}
    for name, method in called.items():
        own = frozenset(one for one in rewritten if one.partition(".")[0] in reached[name])
        if name not in inner and own - {method}:
            yield RewrittenModel(method, own)


def _find_calling_method(node: _Top) -> str:
    """The qualified name of the method by which the instances of a class are called, "" where there is none."""
    names = (
        {one.name for one in node.body if isinstance(one, ast.FunctionDef)} if isinstance(node, ast.ClassDef) else ()
    )
    return next((f"{node.name}.{one}" for one in CALLED if one in names), "")


def _reach(name: str, uses: Mapping[str, Collection[str]]) -> set[str]:
    found, waiting = {name}, [name]
    while waiting:
        new = set(uses[waiting.pop()]) - found
        found |= new
        waiting += new
    return found
