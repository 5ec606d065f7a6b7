"""Static arguments with which a compiled function only computes: it is compiled for each value, and need not be were they traced.

Measured with JAX 0.10.2: `jax.jit(lambda x, n: x * n, static_argnums=1)` is compiled for each `n`, and once where `n` is traced. Of
`x * n[0]` the same holds for a tuple; a list and an array cannot be hashed, and the call fails.
"""

from __future__ import annotations

from collections.abc import Iterator
from enum import Enum
from typing import TYPE_CHECKING, Final

from xlalint.abstract.values import Tensor
from xlalint.interpreter.loop_names import targets_of
from xlalint.lowering import ir

if TYPE_CHECKING:
    from xlalint.interpreter.annotations import Annotations
    from xlalint.program.linker import FunctionInfo, ModuleInfo

# Not powers: of a static exponent XLA makes multiplications.
_ARITHMETIC: Final = frozenset(("+", "-", "*", "/"))


class Operand(Enum):
    """Parts of a parameter that take part in arithmetic: itself, or entries of it."""

    ITSELF = "itself"
    ENTRIES = "entries"


def find_operand(info: FunctionInfo, name: str, arrays: frozenset[str]) -> Operand | None:
    """Return how a function computes with a parameter, where that is all that it does with it: the other operands are `arrays`, parameters
    too. None where it does anything else, or may in a function within."""
    if any(one.outer == info.index for one in info.module.unit.functions):
        return None
    mentions = sum(1 for one in ir.walk(info.body) if isinstance(one, ir.Name) and one.id == name)
    operands = [found for one in ir.walk(info.body) for found in _operands_of(one, name, arrays)]
    return operands[0] if len(operands) == mentions and len(set(operands)) == 1 else None


def _operands_of(node: object, name: str, arrays: frozenset[str]) -> Iterator[Operand]:
    if not isinstance(node, ir.Bin) or node.op not in _ARITHMETIC:
        return
    for side, other in ((node.left, node.right), (node.right, node.left)):
        if not _is_array(other, arrays):
            continue
        if _is_name(side, name):
            yield Operand.ITSELF
        elif isinstance(side, ir.Sub) and _is_name(side.value, name) and isinstance(side.index, ir.Const):
            yield Operand.ENTRIES


def _is_name(node: ir.Node, name: str) -> bool:
    return isinstance(node, ir.Name) and node.id == name


def _is_array(node: ir.Node, arrays: frozenset[str]) -> bool:
    """Return whether an expression is an array among these, or what arithmetic makes of one."""
    if isinstance(node, ir.Name):
        return node.id in arrays
    if isinstance(node, ir.Unary):
        return _is_array(node.value, arrays)
    return isinstance(node, ir.Bin) and (_is_array(node.left, arrays) or _is_array(node.right, arrays))


def find_declared(info: FunctionInfo, annotations: Annotations, framework: str) -> frozenset[str]:
    """Return the parameters that are declared arrays of a framework's, where no statement gives them another value."""
    targets = (target for one in ir.walk_statements(info.body) for target in targets_of(one))
    bound = {one.id for target in targets for one in ir.walk(target) if isinstance(one, ir.Name)}
    declared = [(param.name, annotations.value(info.module, param.annotation)) for param in info.params]
    arrays = [name for name, value in declared if type(value) is Tensor and value.framework == framework]
    return frozenset(arrays) - bound


def is_called(module: ModuleInfo, name: str) -> bool:
    """Return whether anything in a module calls something of this name: who calls it says how many values there are."""
    return name in module.unit.calls or any(name in one.calls for one in module.unit.functions)


__all__ = ["Operand", "find_declared", "find_operand", "is_called"]
