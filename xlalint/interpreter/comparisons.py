"""Names that a function gives to nothing but outcomes of comparisons: masks, where tensors are compared."""

from __future__ import annotations

from collections.abc import Container, Iterator
from typing import TYPE_CHECKING

from xlalint.lowering import ir

if TYPE_CHECKING:
    from xlalint.program.linker import FunctionInfo

_ELEMENTWISE = frozenset(("==", "!=", "<", "<=", ">", ">="))
_JOINING = frozenset(("&", "|", "^"))


def names_compared(info: FunctionInfo) -> frozenset[str]:
    """Return the names whose every assignment in a function is the outcome of comparisons by value."""
    found: set[str] = set()
    others: set[str] = {param.name for param in info.params}
    for node in ir.walk(info.body):
        if isinstance(node, ir.Assign):
            alone = node.targets[0].id if len(node.targets) == 1 and isinstance(node.targets[0], ir.Name) else ""
            if alone and compares(node.value, found):
                found.add(alone)
            else:
                others.update(_list_bound(node.targets))
        elif isinstance(node, (ir.AugAssign, ir.For)):
            others.update(_list_bound((node.target,)))
    return frozenset(found - others)


def names_joined(info: FunctionInfo) -> frozenset[str]:
    """Return the names that a function joins with the outcome of a comparison, `(t == latest) & event`: they hold bools, as that does."""
    found: set[str] = set()
    for node in ir.walk(info.body):
        if isinstance(node, ir.Bin) and node.op in _JOINING:
            for side, other in ((node.left, node.right), (node.right, node.left)):
                if isinstance(side, ir.Name) and isinstance(other, ir.Compare) and compares(other, ()):
                    found.add(side.id)
    return frozenset(found)


def _list_bound(targets: tuple[ir.Node, ...]) -> Iterator[str]:
    """The names that an assignment binds."""
    for target in targets:
        if isinstance(target, ir.Name):
            yield target.id
        elif isinstance(target, ir.Display):
            yield from _list_bound(target.items)
        elif isinstance(target, ir.Star):
            yield from _list_bound((target.value,))


def compares(node: ir.Node, known: Container[str]) -> bool:
    """Return whether an expression gives the outcome of comparisons by value or of an inversion, or is a name that is `known` to."""
    if isinstance(node, ir.Name):
        return node.id in known
    if isinstance(node, ir.Compare):
        return len(node.ops) == 1 and node.ops[0] in _ELEMENTWISE
    if isinstance(node, ir.Bin):
        return node.op in _JOINING and compares(node.left, known) and compares(node.right, known)
    return isinstance(node, ir.Unary) and node.op == "~"
