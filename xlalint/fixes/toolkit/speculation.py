"""Decide whether code may run where a condition kept it from running: its side effects, and whether it can fail.

`where` computes both sides. So a side must do nothing but compute, which is a barrier; and it must not fail, nor cost much, which are risks
that a fix may assume away. What becomes of gradients is told in `gradients`.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import NamedTuple
from weakref import WeakKeyDictionary

import libcst as cst

from xlalint.abstract.values import (
    Const,
    Function,
    Host,
    LibraryInstance,
    LibrarySymbol,
    Method,
    Tensor,
    Value,
    members,
)
from xlalint.fixes.toolkit import values
from xlalint.fixes.toolkit.function_source import FunctionSource
from xlalint.fixes.toolkit.operations import (
    AS_FIRST,
    AS_FIRST_IF_FLOAT,
    AS_FIRST_OF_NUMBERS,
    BOOLEAN,
    CASTS,
    JOINED,
    MAKERS,
    RANDOM,
    READS,
    SIZED,
    TO_BOOL,
    WHOLE_DIVISIONS,
    arguments_of,
    operation,
)
from xlalint.fixes.toolkit.shapes import SCALAR, Types
from xlalint.fixes.toolkit.text import brief

_TOTAL = (
    AS_FIRST
    | AS_FIRST_IF_FLOAT
    | BOOLEAN
    | frozenset(CASTS)
    | TO_BOOL
    | {"detach", "dim", "finfo", "iinfo", "mean", "numel", "reduce_mean", "reduce_sum", "size", "stop_gradient", "sum"}
)
"""Operations that give a result for whatever tensor they get."""

_BUILTINS = frozenset(
    (
        "abs",
        "bool",
        "dict",
        "float",
        "getattr",
        "hasattr",
        "int",
        "isinstance",
        "len",
        "list",
        "max",
        "min",
        "range",
        "round",
        "set",
        "str",
        "sum",
        "tuple",
        "type",
        "zip",
    )
)
# Layers that change nothing and draw nothing; what they cost is another matter.
_PURE_LAYERS = frozenset(
    (
        "Conv1d",
        "Conv2d",
        "Conv3d",
        "ConvTranspose1d",
        "ConvTranspose2d",
        "Embedding",
        "GELU",
        "GroupNorm",
        "Identity",
        "LayerNorm",
        "LeakyReLU",
        "Linear",
        "Mish",
        "RMSNorm",
        "ReLU",
        "ReLU6",
        "Sequential",
        "SiLU",
        "Sigmoid",
        "Softmax",
        "Tanh",
    )
)


class Speculation(NamedTuple):
    """Obstacles to running code unconditionally: `barrier` says what it does that must not happen, or that it is not known
    what it does; `risks` are the expressions in it that may fail or cost much where they were not meant to run."""

    barrier: str = ""
    risks: tuple[str, ...] = ()

    def __or__(self, other: Speculation) -> Speculation:
        return Speculation(self.barrier or other.barrier, self.risks + other.risks)


FREE = Speculation()
# Expressions that may do more than give a value.
ACTS = (
    cst.Await,
    cst.BinaryOperation,
    cst.BooleanOperation,
    cst.Call,
    cst.IfExp,
    cst.NamedExpr,
    cst.Subscript,
    cst.Yield,
)
_TOLD = 3  # risks that are told one by one


def speculate(
    scene: FunctionSource, nodes: Iterable[cst.CSTNode], framework: str, under: Iterable[cst.BaseExpression] = ()
) -> Speculation:
    """Find what prevents running expressions, or straight-line statements, unconditionally that ran under conditions."""
    key = framework, tuple(nodes), tuple(under)
    known = _known.setdefault(scene, {})
    found = known.get(key)
    if found is None:
        found = known[key] = _speculate(scene, key[1], framework, key[2])
    return found


_known: WeakKeyDictionary[
    FunctionSource, dict[tuple[str, tuple[cst.CSTNode, ...], tuple[cst.BaseExpression, ...]], Speculation]
] = WeakKeyDictionary()
"""What was worked out of a scene: each operand of a condition asks for all of it."""


def _speculate(
    scene: FunctionSource, nodes: Iterable[cst.CSTNode], framework: str, under: Iterable[cst.BaseExpression]
) -> Speculation:
    types = Types(scene, framework)
    tested = frozenset(name for test in under for name in _paths(scene, test))
    result = FREE
    for node in nodes:
        result |= _Walk(scene, framework, types, tested).of(node)
        for name, value in assignments(node):
            types.assign(name, value)
    risks = dict.fromkeys(result.risks)
    return Speculation(result.barrier, tuple(one for one in risks if not any(one in other != one for other in risks)))


def barrier_of(scene: FunctionSource, node: cst.CSTNode, framework: str) -> str:
    """Describe what a node does itself, apart from its children, that must not happen unconditionally; "" for nothing."""
    return _Walk(scene, framework, Types(scene, framework), frozenset()).own(node).barrier


def assume_computable(risks: Iterable[str]) -> list[str]:
    """Word the assumption of a fix that computes what may fail or cost much: one sentence, or none."""
    told = [f"`{one}`" for one in dict.fromkeys(brief(risk) for risk in risks)]
    if not told:
        return []
    most = told if len(told) <= _TOLD else [*told[: _TOLD - 1], "more"]
    return [f"{', '.join(most[:-1])}{' and ' if most[1:] else ''}{most[-1]} can be computed whatever the condition is"]


def assignments(node: cst.CSTNode) -> list[tuple[str, cst.BaseExpression]]:
    """The names that a simple statement binds to an expression each."""
    if not isinstance(node, cst.SimpleStatementLine):
        return []
    found = []
    for one in node.body:
        if isinstance(one, cst.Assign) and len(one.targets) == 1 and isinstance(one.targets[0].target, cst.Name):
            found.append((one.targets[0].target.value, one.value))
        elif isinstance(one, cst.AnnAssign) and one.value is not None and isinstance(one.target, cst.Name):
            found.append((one.target.value, one.value))
    return found


class _Walk:
    """Looks at all that runs in an expression or a statement."""

    def __init__(self, scene: FunctionSource, framework: str, types: Types, tested: frozenset[str]) -> None:
        self._scene = scene
        self._framework = framework
        self._types = types
        self._tested = tested

    def of(self, node: cst.CSTNode) -> Speculation:
        """Find what prevents running a node."""
        own = self.own(node)
        if own.barrier:
            return own
        for child in self._children(node):
            own |= self.of(child)
        return own

    def _children(self, node: cst.CSTNode) -> Iterable[cst.CSTNode]:
        if isinstance(node, cst.Lambda):
            return ()
        if isinstance(node, cst.AnnAssign):
            return () if node.value is None else (node.value,)
        return node.children

    def own(self, node: cst.CSTNode) -> Speculation:
        """Find what prevents running a node, apart from its children."""
        code = self._scene.code
        if isinstance(node, cst.Call):
            return self._call(node)
        if isinstance(node, cst.BinaryOperation):
            return self._binary(node)
        if isinstance(node, cst.Comparison):
            return self._comparison(node)
        if isinstance(node, cst.Subscript):
            return self._subscript(node)
        if isinstance(node, (cst.Yield, cst.Await, cst.NamedExpr)):
            return Speculation(f"`{code(node)}` does more than compute a value")
        if isinstance(node, (cst.IfExp, cst.BooleanOperation)) and _is_asked(self._scene, node):
            return Speculation(f"`{code(node)}` reads a tensor's value itself")
        if isinstance(node, (cst.Assign, cst.AugAssign, cst.AnnAssign)):
            return self._assignment(node)
        plain = isinstance(node, (cst.Expr, cst.Pass, cst.SimpleStatementLine))
        if plain or not isinstance(node, (cst.BaseSmallStatement, cst.BaseStatement)):
            return FREE
        return Speculation(f"the branch contains a `{_keyword(node)}`")

    def _assignment(self, node: cst.Assign | cst.AugAssign | cst.AnnAssign) -> Speculation:
        targets = [one.target for one in node.targets] if isinstance(node, cst.Assign) else [node.target]
        for target in targets:
            if isinstance(target, cst.Attribute):
                return Speculation(f"it writes `{self._scene.code(target)}`")
            if not isinstance(target, (cst.Name, cst.Tuple)):
                return Speculation(f"it writes into `{self._scene.code(target)}`")
        if isinstance(node, cst.AugAssign) and self._framework == "torch":
            return Speculation(f"`{self._scene.code(node)}` changes a tensor in place")
        return FREE

    # ------------------------------------------------------------------------------------------------- calls

    def _call(self, node: cst.Call) -> Speculation:
        callee = self._scene.value(node.func)
        name = operation(self._scene, node)
        if name:
            return self._operation(node, name)
        found = [self._callee(member, node) for member in members(callee)]
        return next((one for one in found if one.barrier), found[0] if found else FREE)

    def _operation(self, node: cst.Call, name: str) -> Speculation:
        code = self._scene.code(node)
        if name in RANDOM or ".random." in values.callee(self._scene.value(node.func)):
            return Speculation(f"`{code}` draws random numbers")
        if name in READS or (name in ("float", "int", "bool") and isinstance(node.func, cst.Name)):
            return Speculation(f"`{code}` reads a tensor on the host")
        if name.endswith("_") and not name.endswith("__"):
            return Speculation(f"`{code}` changes a tensor in place")
        if any(arg.keyword is not None and arg.keyword.value in ("inplace", "out") for arg in node.args):
            return Speculation(f"`{code}` changes a tensor in place")
        if name in SIZED and self._sized_by_tensor(node):
            return Speculation(f"the shape of `{code}` depends on a tensor's value")
        if name in WHOLE_DIVISIONS and self._divides_wholly(node, name):
            return Speculation(f"`{code}` fails where a divisor is 0")
        return FREE if self._total(node, name) else Speculation(risks=(code,))

    def _sized_by_tensor(self, node: cst.Call) -> bool:
        """Return whether a tensor stands among the sizes that an operation is told."""
        operands = [*arguments_of(self._scene, node), *(arg.value for arg in node.args if arg.keyword is not None)]
        sizes = operands if operation(self._scene, node) in MAKERS else operands[1:]
        parts = [part for one in sizes for part in _parts(one)]
        return any(self._types.of(part).rank == 0 and not self._types.of(part).number for part in parts)

    def _divides_wholly(self, node: cst.Call, name: str) -> bool:
        """Return whether a call divides whole numbers by a tensor of such, which fails where that is 0."""
        operands = arguments_of(self._scene, node)[:2]
        rounded = any(arg.keyword is not None and arg.keyword.value == "rounding_mode" for arg in node.args)
        if len(operands) < 2 or (name in ("div", "divide") and not rounded):
            return False
        kinds = [self._types.of(one) for one in operands]
        return not kinds[1].number and all(one.kind != "f" for one in kinds)

    def _total(self, node: cst.Call, name: str) -> bool:
        """Return whether an operation cannot fail and costs about as much as reading its operands."""
        if name in _TOTAL:
            return True
        operands = [*arguments_of(self._scene, node), *(arg.value for arg in node.args if arg.keyword is not None)]
        if name in AS_FIRST_OF_NUMBERS | JOINED:
            return self._fits(operands)
        if name == "masked_fill":
            return self._fits(operands[:2])
        return name == "where" and len(operands) == 3 and self._fits(operands)

    def _fits(self, operands: list[cst.BaseExpression]) -> bool:
        """Return whether operands surely broadcast: all of one shape, or without dimensions."""
        shapes = {self._types.of(one).shape for one in operands} - {SCALAR}
        return len(shapes) < 2 and "" not in shapes

    def _callee(self, callee: Value, node: cst.Call) -> Speculation:
        """Of a callee that is no operation of a framework."""
        code = self._scene.code(node)
        name = values.callee(callee)
        if type(callee) is LibrarySymbol and name.startswith(("builtins.", "math.")):
            short = name.rpartition(".")[2]
            if short == "print":
                return Speculation(f"`{code}` writes")
            if short in ("float", "int") and all(isinstance(arg.value, cst.SimpleString) for arg in node.args):
                return FREE
            return Speculation(risks=(code,)) if name.startswith("math.") or short in _BUILTINS else _unknown(code)
        if (
            type(callee) is LibraryInstance
            and callee.name.rpartition(".")[2] in _PURE_LAYERS
            and callee.name.startswith("torch.nn.")
        ):
            return Speculation(risks=(code,))
        if type(callee) is Method and all(type(one) in (Host, Const) for one in members(callee.receiver)):
            return Speculation(risks=(code,))
        if type(callee) is Function:
            return _unknown(code)
        return _unknown(code)

    # --------------------------------------------------------------------------------------------- operators

    def _binary(self, node: cst.BinaryOperation) -> Speculation:
        code = self._scene.code(node)
        left, right = self._scene.value(node.left), self._scene.value(node.right)
        divides = isinstance(node.operator, (cst.Divide, cst.FloorDivide, cst.Modulo, cst.Power))
        if isinstance(node.operator, cst.MatrixMultiply):
            return Speculation(risks=(code,))
        whole = isinstance(node.operator, (cst.FloorDivide, cst.Modulo))
        if whole and values.tensors_only(right) and "f" not in (values.dtype_of(left), values.dtype_of(right)):
            return Speculation(f"`{code}` fails where a divisor is 0")
        if divides and not _tame_divisor(left, right, node.operator):
            return Speculation(risks=(code,))
        if any(type(member) is Tensor for side in (left, right) for member in members(side)):
            return FREE if self._fits([node.left, node.right]) else Speculation(risks=(code,))
        return FREE

    def _comparison(self, node: cst.Comparison) -> Speculation:
        sides = [node.left, *(one.comparator for one in node.comparisons)]
        tensors = any(type(member) is Tensor for side in sides for member in members(self._scene.value(side)))
        return FREE if not tensors or self._fits(sides) else Speculation(risks=(self._scene.code(node),))

    def _subscript(self, node: cst.Subscript) -> Speculation:
        whole = self._scene.value(node.value)
        slices = [element.slice for element in node.slice]
        for one in slices:
            bounds = [one.lower, one.upper] if isinstance(one, cst.Slice) else []
            if any(bound is not None and _holds(self._scene.value(bound)) for bound in bounds):
                return Speculation(f"the shape of `{self._scene.code(node)}` depends on a tensor's value")
        if all(isinstance(one, cst.Slice) for one in slices) and values.is_tensor(whole, "torch"):
            limits = [
                limit for one in slices if isinstance(one, cst.Slice) for limit in (one.lower, one.upper, one.step)
            ]
            if all(limit is None or values.is_number(self._scene.value(limit)) for limit in limits):
                return FREE
        if self._framework != "jax" and any(
            isinstance(one, cst.Index) and self._is_guarded(one.value) for one in slices
        ):
            code = self._scene.code(node)
            return Speculation(f"`{code}` may be out of range where the condition does not hold: clamp the index first")
        return Speculation(risks=(self._scene.code(node),))

    def _is_guarded(self, index: cst.BaseExpression) -> bool:
        """Return whether an index is computed from what the conditions test, which may decide whether the element exists."""
        return _holds(self._scene.value(index)) and bool(self._tested & set(_paths(self._scene, index)))


def _paths(scene: FunctionSource, node: cst.CSTNode) -> Iterator[str]:
    """The names that an expression reads, but for `self`, and their attributes ("x", "x.y"), as written."""
    if isinstance(node, cst.Attribute):
        yield scene.code(node)
        yield from _paths(scene, node.value)
    elif isinstance(node, cst.Name):
        yield from () if node.value in ("cls", "self") else (node.value,)
    else:
        for child in node.children:
            yield from _paths(scene, child)


def _holds(value: Value) -> bool:
    return any(type(member) is Tensor for member in members(value))


def _parts(node: cst.BaseExpression) -> list[cst.BaseExpression]:
    """An expression, or those that a tuple or list of them holds."""
    if isinstance(node, (cst.Tuple, cst.List)):
        return [part for one in node.elements for part in _parts(one.value)]
    return [node.expression] if isinstance(node, cst.UnaryOperation) else [node]


def _unknown(code: str) -> Speculation:
    return Speculation(f"it is not known what `{code}` does")


def _tame_divisor(left: Value, right: Value, operator: cst.BaseBinaryOp) -> bool:
    """Return whether a division or power gives a result whatever the operands hold."""
    if type(right) is Const and isinstance(right.value, (int, float)):
        return right.value > 0 if isinstance(operator, cst.Power) else right.value != 0
    return values.dtype_of(right) == "f" and bool(values.tensors_only(left) or values.is_number(left))


def _is_asked(scene: FunctionSource, node: cst.IfExp | cst.BooleanOperation) -> bool:
    """Return whether Python asks for a tensor's truth in an expression."""
    asked = node.test if isinstance(node, cst.IfExp) else node.left
    return any(type(member) is Tensor for member in members(scene.value(asked)))


def _keyword(node: cst.CSTNode) -> str:
    name = type(node).__name__.lower()
    return {"simplestatementline": "statement", "functiondef": "def", "classdef": "class"}.get(name, name)
