"""Lowering: one source file → one `Unit`, by itself, with no knowledge of other files or of any framework."""

from __future__ import annotations

import ast
from collections.abc import Mapping

from xlalint.lowering.ir import Unit, encode_body
from xlalint.lowering.lower import Lowerer
from xlalint.source.model import SourceFile

__all__ = ["Unit", "lower"]

VERSION = 2
"""Version of the representation: part of every cache key of lowered units."""


def lower(source: SourceFile, tree: ast.Module, taught: Mapping[int, str] | None = None) -> Unit:
    """Lower a parsed file.

    `taught` maps rows to "static" or "tensor" where a comment teaches the analysis.
    """
    lowerer = Lowerer(source.text.encode("utf-8", "surrogatepass"), taught or {})
    try:
        body = encode_body(lowerer.block(tree.body))
    except RecursionError:
        body = encode_body(())
    for scope in reversed(lowerer.functions):
        scope.pass_free_names()
    functions = tuple(scope.build() for scope in lowerer.functions)
    classes = tuple(klass for klass in lowerer.classes if klass is not None)
    assigned = sorted(lowerer.module.bound - lowerer.defs.keys() - {b.local for b in lowerer.imports})
    return Unit(
        source.path,
        source.module,
        source.is_package,
        source.digest,
        tuple(lowerer.imports),
        functions,
        classes,
        lowerer.defs,
        tuple(assigned),
        tuple(sorted(lowerer.module.calls)),
        body,
    )
