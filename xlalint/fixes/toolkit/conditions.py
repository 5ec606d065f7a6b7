"""A condition in which a tensor is asked for its truth: what of it the host knows, and what of it becomes the condition of a `where`."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import NamedTuple, Union
from weakref import WeakKeyDictionary

import libcst as cst

from xlalint.abstract.values import Const, Host, Tensor, Value, members
from xlalint.fixes.model import NoFix
from xlalint.fixes.toolkit import values
from xlalint.fixes.toolkit.chained_comparisons import (
    assumed_of_chain,
    is_chain,
    list_operands,
    pairs_of,
    refusal_of_chain,
)
from xlalint.fixes.toolkit.function_source import FunctionSource
from xlalint.fixes.toolkit.imports import Imports
from xlalint.fixes.toolkit.speculation import speculate
from xlalint.fixes.toolkit.text import atom

Holder = Union[cst.If, cst.IfExp, cst.While, cst.Assert, cst.CompIf]

names_size = re.compile(r"(?:^|_)(?:dims?|ndim|resolutions?|shapes?|sizes?)$").search
"""Tells whether a word names a size, which the host knows, whatever it is annotated as."""

_MODULES = {"torch": "torch", "tensorflow": "tensorflow", "jax": "jax.numpy"}


class Condition(NamedTuple):
    """`static` is what stays a condition of Python's ("" for nothing), `text` the tensor that the rest is, `tensors` its operands.

    `turned` says that the branch is taken where the tensor is false. `rank` is the tensor's, -1 where it is not known.
    """

    static: str
    text: str
    tensors: tuple[cst.BaseExpression, ...]
    turned: bool
    rank: int
    assumes: tuple[str, ...]

    @property
    def names(self) -> set[str]:
        """The names that the tensor is computed of."""
        return {name.value for node in self.tensors for name in _names(node)}


def holder_of(scene: FunctionSource, node: cst.CSTNode) -> Holder | None:
    """The `if`, conditional expression, `assert` or the like that tests the truth of a node, as a whole or as a part of it."""
    known: dict[cst.CSTNode, Holder | None] = _holders.setdefault(scene, {})
    passed: list[cst.CSTNode] = []
    while node not in known:
        passed.append(node)
        holder = scene.parent(node)
        if isinstance(holder, (cst.If, cst.IfExp, cst.While, cst.Assert, cst.CompIf)):
            known[node] = holder if holder.test is node else None
        elif isinstance(holder, cst.BooleanOperation) or (
            isinstance(holder, cst.UnaryOperation) and isinstance(holder.operator, cst.Not)
        ):
            node = holder
        else:
            known[node] = None
    known.update((one, known[node]) for one in passed)
    return known[node]


_holders: WeakKeyDictionary[FunctionSource, dict[cst.CSTNode, Holder | None]] = WeakKeyDictionary()
"""What was found of a scene: a chain of `and` is as deep as it is long, and each of its operands asks."""


def module_of(framework: str) -> str:
    """The module whose `where` chooses among a framework's tensors."""
    return _MODULES[framework]


def condition(scene: FunctionSource, test: cst.BaseExpression, framework: str, imports: Imports) -> Condition | NoFix:
    """Take apart a condition on a tensor, or return why that cannot be done."""
    module = imports.find_name("tensorflow") if framework == "tensorflow" else ""  # the only one that its text may name
    if module is None:
        return _condition(scene, test, framework, imports)
    known = _known.setdefault(scene, {})
    found = known.get((test, framework, module))
    if found is None:
        found = known[test, framework, module] = _condition(scene, test, framework, imports)
    return found


_known: WeakKeyDictionary[FunctionSource, dict[tuple[cst.BaseExpression, str, str], Union[Condition, NoFix]]] = (
    WeakKeyDictionary()
)
"""What was worked out of a scene: each operand of a condition asks for all of it."""


def _condition(scene: FunctionSource, test: cst.BaseExpression, framework: str, imports: Imports) -> Condition | NoFix:
    turned = False
    while isinstance(test, cst.UnaryOperation) and isinstance(test.operator, cst.Not):
        turned = not turned
        test = test.expression
    static: list[str] = []
    assumes: list[str] = []
    if isinstance(test, cst.BooleanOperation) and isinstance(test.operator, cst.And) and not turned:
        operands = list(_operands(test, cst.And))
        hosts = [one for one in operands if not holds_tensor(scene, one)]
        late = hosts[_leading(operands, hosts) :]
        found = speculate(scene, late, framework)
        if found.barrier:
            return NoFix(found.barrier)
        assumes += [f"`{risk}` cannot fail" for risk in found.risks]
        static = [conjunct(scene, one) for one in hosts]
        tensors = [one for one in operands if one not in hosts]
        if len(tensors) == 1 and isinstance(tensors[0], cst.UnaryOperation):
            inner = condition(scene, tensors[0], framework, imports)
            if isinstance(inner, NoFix):
                return inner
            return inner._replace(static=_join(static, inner.static), assumes=(*assumes, *inner.assumes))
        return _of_tensors(scene, tensors, cst.And, framework, imports, False, _join(static), assumes)
    if isinstance(test, cst.BooleanOperation):
        kind = type(test.operator)
        operands = list(_operands(test, kind))
        if not all(holds_tensor(scene, one) for one in operands):
            return NoFix(
                "a part of the condition is not a tensor, and decides alone in some calls: test it first, in an `if` of its own"
            )
        return _of_tensors(scene, operands, kind, framework, imports, turned, "", assumes)
    return _of_tensors(scene, [test], cst.And, framework, imports, turned, "", assumes)


def _of_tensors(
    scene: FunctionSource,
    operands: list[cst.BaseExpression],
    joint: type[cst.BaseBooleanOp],
    framework: str,
    imports: Imports,
    turned: bool,
    static: str,
    assumes: list[str],
) -> Condition | NoFix:
    found = speculate(scene, operands[1:], framework)
    if found.barrier:
        return NoFix(found.barrier)
    assumes = assumes + [f"`{risk}` can be computed at any time" for risk in found.risks]
    texts = []
    ranks = []
    for one in operands:
        made = _as_bool(scene, one, framework, alone=len(operands) == 1, imports=imports)
        if isinstance(made, NoFix):
            return made
        for chain in scene.descend(one, cst.Comparison):
            assumes += assumed_of_chain(scene, chain, framework) if is_chain(chain) else []
        texts.append(made[0])
        ranks.append(made[1])
    symbol = " & " if issubclass(joint, cst.And) else " | "
    rank = max(ranks) if min(ranks) >= 0 else -1
    return Condition(static, symbol.join(texts), tuple(operands), turned, rank, tuple(assumes))


def _as_bool(
    scene: FunctionSource, node: cst.BaseExpression, framework: str, *, alone: bool, imports: Imports
) -> tuple[str, int] | NoFix:
    """An operand of a condition as a tensor of bools, fit for `&` unless it stands alone, and its rank."""
    if isinstance(node, cst.UnaryOperation) and isinstance(node.operator, cst.Not):
        inner = _as_bool(scene, node.expression, framework, alone=False, imports=imports)
        return inner if isinstance(inner, NoFix) else (f"~{inner[0]}", inner[1])
    if isinstance(node, cst.BooleanOperation):
        kind = type(node.operator)
        made = [_as_bool(scene, one, framework, alone=False, imports=imports) for one in _operands(node, kind)]
        for one in made:
            if isinstance(one, NoFix):
                return one
        pairs = [one for one in made if not isinstance(one, NoFix)]
        text = (" & " if issubclass(kind, cst.And) else " | ").join(text for text, _ in pairs)
        return (text if alone else f"({text})", max(rank for _, rank in pairs))
    if isinstance(node, cst.Comparison) and is_chain(node) and holds_tensor(scene, node):
        refused = refusal_of_chain(scene, node, framework)
        if refused:
            return NoFix(refused)
        text = " & ".join(pairs_of(scene, node))
        ranks = [
            0 if values.is_number(scene.value(one)) else values.rank_of(scene.value(one)) for one in list_operands(node)
        ]
        return text if alone else f"({text})", max(ranks) if min(ranks) >= 0 else -1
    size = _find_size(scene, node)
    if size:
        return NoFix(f"`{size}` may be a size, which the host knows: keep it as a number")
    value = scene.value(node)
    if not values.is_tensor(value, framework):
        if framework == "torch" or not _is_either(value, framework):
            if not alone and not holds_tensor(scene, node) and _is_bool(value):
                return NoFix(
                    f"the host knows `{scene.code(node)}`, and a tensor decides as well: test it in an `if` of its own"
                )
            return NoFix(f"it is not known that `{scene.code(node)}` is a tensor in every call")
        return (scene.code(node) if alone else atom(scene, node)), -1
    kind_of_dtype = values.dtype_of(value)
    code = scene.code(node) if alone else atom(scene, node)
    if kind_of_dtype == "b":
        return code, values.rank_of(value)
    if kind_of_dtype in ("i", "f", "c"):
        text = f"{atom(scene, node)} != 0"
        return text if alone else f"({text})", values.rank_of(value)
    if framework == "torch":
        return f"{atom(scene, node)}.bool()", values.rank_of(value)
    if framework == "tensorflow":
        name = imports.name("tensorflow")
        return f"{name}.cast({scene.code(node)}, {name}.bool)", values.rank_of(value)
    text = f"{atom(scene, node)} != 0"
    return text if alone else f"({text})", values.rank_of(value)


def _find_size(scene: FunctionSource, node: cst.BaseExpression) -> str:
    """The tensor that a comparison compares, if it is named like a size; "" without."""
    if not isinstance(node, cst.Comparison):
        return ""
    for one in list_operands(node):
        word = one.attr.value if isinstance(one, cst.Attribute) else one.value if isinstance(one, cst.Name) else ""
        if names_size(word) and holds_tensor(scene, one):
            return scene.code(one)
    return ""


def _is_either(value: Value, framework: str) -> bool:
    """Return whether a value is a tensor of bools or a Python bool. `where` of JAX and of TensorFlow takes both."""
    return bool(members(value)) and all(
        (type(member) is Tensor and member.framework == framework and member.dtype == "b")
        or (type(member) is Host and member.type == "bool")
        or (type(member) is Const and type(member.value) is bool)
        for member in members(value)
    )


def _is_bool(value: Value) -> bool:
    """Return whether a value is a Python bool."""
    return bool(members(value)) and all(
        (type(member) is Host and member.type == "bool") or (type(member) is Const and type(member.value) is bool)
        for member in members(value)
    )


def holds_tensor(scene: FunctionSource, node: cst.BaseExpression) -> bool:
    """Return whether a part of a condition tests the truth of something that may be a tensor."""
    if isinstance(node, cst.BooleanOperation):
        return holds_tensor(scene, node.left) or holds_tensor(scene, node.right)
    if isinstance(node, cst.UnaryOperation) and isinstance(node.operator, cst.Not):
        return holds_tensor(scene, node.expression)
    return any(type(member) is Tensor for member in members(scene.value(node)))


def find_undecided(scene: FunctionSource, node: cst.BaseExpression, framework: str) -> str:
    """The code of a part of a condition that asks for a tensor's truth in some calls, and for that of something else in others; or ""."""
    if isinstance(node, cst.BooleanOperation):
        return find_undecided(scene, node.left, framework) or find_undecided(scene, node.right, framework)
    if isinstance(node, cst.UnaryOperation) and isinstance(node.operator, cst.Not):
        return find_undecided(scene, node.expression, framework)
    if not holds_tensor(scene, node) or values.is_tensor(scene.value(node), framework):
        return ""
    return scene.code(node)


def _operands(node: cst.BaseExpression, kind: type[cst.BaseBooleanOp]) -> Iterator[cst.BaseExpression]:
    if isinstance(node, cst.BooleanOperation) and isinstance(node.operator, kind):
        yield from _operands(node.left, kind)
        yield from _operands(node.right, kind)
    else:
        yield node


def _leading(operands: list[cst.BaseExpression], hosts: list[cst.BaseExpression]) -> int:
    """How many of the operands that the host knows come before all tensors."""
    count = 0
    while count < len(hosts) and operands[count] is hosts[count]:
        count += 1
    return count


def conjunct(scene: FunctionSource, node: cst.BaseExpression) -> str:
    """An expression's code as a part of `… and …`, in parentheses where it binds looser."""
    code = scene.code(node)
    return f"({code})" if isinstance(node, (cst.BooleanOperation, cst.IfExp, cst.Lambda, cst.NamedExpr)) else code


def _join(parts: list[str], *more: str) -> str:
    return " and ".join(part for part in (*parts, *more) if part)


def _names(node: cst.CSTNode) -> Iterator[cst.Name]:
    if isinstance(node, cst.Name):
        yield node
    for child in node.children:
        yield from _names(child)
