"""Lowering: one source file → one `Unit`, by itself, with no knowledge of other files or of any framework."""

from __future__ import annotations

import ast

from xlalint.lowering.digests import interface, with_digests
from xlalint.lowering.ir import Unit
from xlalint.lowering.lessons import Lessons
from xlalint.lowering.lower import Lowerer, encode_statements
from xlalint.source.model import SourceFile

__all__ = ["Unit", "lower"]

VERSION = 22
"""Version of the representation: part of every cache key of lowered units."""


def lower(source: SourceFile, tree: ast.Module, lessons: Lessons | None = None) -> Unit:
    """Lower a parsed file.

    `lessons` are what comments teach the analysis of its names.
    """
    lowerer = Lowerer(source.text.encode("utf-8", "surrogatepass"), lessons)
    statements, starts = lowerer.definitions(tree.body, outermost=True)
    body = encode_statements(statements)
    for scope in reversed(lowerer.functions):
        scope.pass_free_names()
    functions = with_digests([scope.build() for scope in lowerer.functions])
    classes = tuple(klass for klass in lowerer.classes if klass is not None)
    assigned = tuple(sorted(lowerer.module.bound - lowerer.defs.keys() - {b.local for b in lowerer.imports}))
    calls = tuple(sorted(lowerer.module.calls))
    rebound, configured = tuple(sorted(lowerer.rebound)), tuple(sorted(lowerer.configured))
    return Unit(
        source.path,
        source.module,
        source.is_package,
        source.digest,
        tuple(lowerer.imports),
        functions,
        classes,
        lowerer.defs,
        assigned,
        calls,
        body,
        starts,
        interface(
            lowerer.imports,
            functions,
            classes,
            lowerer.defs,
            assigned,
            calls,
            body,
            rebound,
            configured,
            lowerer.searched,
        ),
        rebound,
        configured,
        lowerer.searched,
    )
