"""Where the nodes of a libcst tree stand in its text, found by writing its code and counting."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

import libcst as cst

# Private, and unchanged for years: the public position providers take six times as long as is needed here.
from libcst._nodes.internal import CodegenState

from xlalint.source.concrete import with_deep_stack


class Counter(CodegenState):
    """Writes the code of a tree and keeps only how much there is of it. `length` counts code points."""

    def __init__(self, module: cst.Module) -> None:
        super().__init__(default_indent=module.default_indent, default_newline=module.default_newline)
        self.length = 0

    def add_token(self, value: str) -> None:
        self.length += len(value)

    def add_indent_tokens(self) -> None:
        self.length += sum(map(len, self.indent_tokens))

    def pop_trailing_newline(self) -> None:
        """Nothing comes after it."""


CounterType = TypeVar("CounterType", bound=Counter)


def laid_out(module: cst.Module, make: Callable[[cst.Module], CounterType]) -> CounterType:
    """Walk a tree with a counter made by `make`, and return the counter."""
    counter = make(module)
    try:
        module._codegen(counter)
    except RecursionError:  # a chain of some 250 operators
        counter = make(module)
        with_deep_stack(lambda: module._codegen(counter))
    return counter
