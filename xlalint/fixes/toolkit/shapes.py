"""Decides whether two expressions surely have one shape and one dtype, so that `where` gives what the chosen one gave.

A shape and a dtype are told by a term: the variable that has it ("as `x` has"), or a word for what is known outright. Two terms that are
equal are the same; two that are not may be the same all the same, unless rank or kind of dtype tell them apart. All expressions that are
compared are looked at where one point of the program is; names that are assigned on the way are made known by `Types.assign`.
"""

from __future__ import annotations

import re
from typing import NamedTuple
from weakref import WeakKeyDictionary

import libcst as cst

from xlalint.abstract.values import (
    Const,
    Host,
    kind_of_number,
    members,
)
from xlalint.fixes.toolkit import values
from xlalint.fixes.toolkit.autocast import WIDENED, autocasts
from xlalint.fixes.toolkit.function_source import FunctionSource
from xlalint.fixes.toolkit.operations import (
    AS_FIRST,
    AS_FIRST_IF_FLOAT,
    AS_FIRST_OF_NUMBERS,
    BOOLEAN,
    CASTS,
    JOINED,
    REDUCTIONS,
    RESIZING,
    TO_BOOL,
    arguments_of,
    operation,
)

SCALAR = "()"
_RESIZED = "!"  # begins the term of a shape that is not that of the variables that it names
BOOL = "=bool"
_ORDER = "bifc"  # the kinds of dtypes, each of which can hold the earlier ones


class Type(NamedTuple):
    """Describes what is known of an expression's type.

    `shape` is `SCALAR` for no dimensions, else the name of the variable that has this shape; `dtype` is the name of the variable that has
    this dtype, or "=" and what the program calls it; each is "" where nothing is known. `kind` is the dtype's ("b", "i", "f", "c"), `rank`
    the number of dimensions, -1 for any. `number` marks Python numbers, which take the dtype of what they meet.
    """

    shape: str = ""
    dtype: str = ""
    kind: str = ""
    rank: int = -1
    number: bool = False


class Types:
    """The types of expressions at one point of a scene's function."""

    def __init__(self, scene: FunctionSource, framework: str) -> None:
        self._scene = scene
        self._framework = framework
        self._assigned: dict[str, Type] = {}
        self._known: dict[cst.BaseExpression, Type] = {}

    def assign(self, name: str, value: cst.BaseExpression) -> None:
        """From here on a name stands for the value of an expression that was just computed."""
        made = self.of(value)
        own = f"{name}@{self._scene.span(value)[0]}"  # as no variable outside is called
        self._assigned[name] = made._replace(shape=made.shape or own, dtype=made.dtype or own)
        self._known.clear()

    def of(self, node: cst.BaseExpression) -> Type:
        """Infer the type of an expression."""
        known = self._known.get(node)
        if known is None:
            known = self._known[node] = self._infer(node)
        return known

    def _infer(self, node: cst.BaseExpression) -> Type:
        found = self._structural(node)
        value = self._scene.value(node)
        kind = found.kind or values.dtype_of(value)
        rank = found.rank if found.rank >= 0 else values.rank_of(value)
        shape = SCALAR if rank == 0 else found.shape
        if found.dtype and self._is_widened(node):
            found = found._replace(dtype="")
        return found._replace(
            kind=kind, rank=rank, shape=shape, dtype=BOOL if kind == "b" and not found.number else found.dtype
        )

    def _is_widened(self, node: cst.BaseExpression) -> bool:
        """Return whether autocast may give an operation another dtype than its operands have."""
        if isinstance(node, cst.BinaryOperation):
            named = isinstance(node.operator, cst.Power)
        else:
            named = isinstance(node, cst.Call) and operation(self._scene, node) in WIDENED
        return named and self._framework == "torch" and autocasts(self._scene, node)

    def same(self, first: cst.BaseExpression, second: cst.BaseExpression) -> bool:
        """Return whether two expressions surely have the same shape and dtype."""
        return alike(self.of(first), self.of(second))

    # ------------------------------------------------------------------------------------------------ by form

    def _structural(self, node: cst.BaseExpression) -> Type:
        value = self._scene.value(node)
        if values.is_number(value):
            return Type(SCALAR, kind=_number_kind(self._scene, node), rank=0, number=True)
        if isinstance(node, (cst.Name, cst.Attribute)):
            return self._variable(node)
        if isinstance(node, cst.UnaryOperation) and not isinstance(node.operator, cst.Not):
            return self.of(node.expression)
        if isinstance(node, cst.BinaryOperation):
            return self._binary(node)
        if isinstance(node, cst.Comparison) and len(node.comparisons) == 1:
            return _boolean(self._broadcast(self.of(node.left), self.of(node.comparisons[0].comparator)))
        if isinstance(node, cst.Call):
            return self._call(node)
        if isinstance(node, cst.Subscript):
            return self._resize(node, [node.value])
        return Type()

    def _resize(self, node: cst.BaseExpression, sources: list[cst.BaseExpression]) -> Type:
        """Return a type whose shape differs from that of any of its sources and of anything of their shape; its dtype is theirs."""
        types = [self.of(one) for one in sources]
        shapes = "|".join(one.shape for one in types)
        dtypes, kinds = {one.dtype for one in types}, {one.kind for one in types}
        start, _ = self._scene.span(node)
        return Type(
            f"{_RESIZED}{shapes}@{start}",
            dtypes.pop() if len(dtypes) == 1 else "",
            kinds.pop() if len(kinds) == 1 else "",
        )

    def _variable(self, node: cst.Name | cst.Attribute) -> Type:
        name = self._scene.code(node)
        if name in self._assigned:
            return self._assigned[name]
        if not values.is_tensor(self._scene.value(node), self._framework) or not _is_path(node):
            return Type()
        value = self._scene.value(node)
        kind = values.dtype_of(value) or ("f" if _tested_float(self._scene, node, name) else "")
        return Type(name, name, kind, values.rank_of(value))

    def _binary(self, node: cst.BinaryOperation) -> Type:
        if isinstance(node.operator, cst.MatrixMultiply):
            return Type()
        left, right = self.of(node.left), self.of(node.right)
        if isinstance(node.operator, cst.Divide) and "f" not in (left.kind, right.kind):
            return self._broadcast(left, right)._replace(dtype="", kind="")
        if left.kind == right.kind == "b" and not isinstance(node.operator, (cst.BitAnd, cst.BitOr, cst.BitXor)):
            return self._broadcast(left, right)._replace(dtype="", kind="")
        return self._broadcast(left, right)

    def _broadcast(self, a: Type, b: Type) -> Type:
        """The type of an elementwise operation on two values."""
        if a.number or b.number:
            tensor, number = (b, a) if a.number else (a, b)
            fits = tensor.kind and number.kind and _ORDER.index(number.kind) <= _ORDER.index(tensor.kind)
            return tensor if fits else tensor._replace(dtype="", kind="")
        dtype = a.dtype if a.dtype == b.dtype or self._framework == "tensorflow" else ""
        kind = a.kind if a.kind == b.kind else ""
        if a.shape == b.shape:
            return Type(a.shape, dtype, kind, a.rank)
        if SCALAR in (a.shape, b.shape):
            whole, scalar = (b, a) if a.shape == SCALAR else (a, b)
            # torch lets what has dimensions decide among dtypes of one kind.
            decides = self._framework == "torch" and whole.rank > 0 and bool(kind)
            return Type(whole.shape, whole.dtype if decides else dtype, kind, max(whole.rank, scalar.rank))
        return Type("", dtype, kind, max(a.rank, b.rank) if min(a.rank, b.rank) >= 0 else -1)

    def _call(self, node: cst.Call) -> Type:
        name = operation(self._scene, node)
        operands = arguments_of(self._scene, node)
        if not name or not operands or any(arg.star for arg in node.args):
            return Type()
        first = self.of(operands[0])
        named = {arg.keyword.value: arg.value for arg in node.args if arg.keyword is not None}
        if "dtype" in named or "out" in named:
            return Type(first.shape if name in AS_FIRST else "", rank=first.rank if name in AS_FIRST else -1)
        others = [self.of(one) for one in (*operands[1:], *named.values())]
        if name in RESIZING:
            sources = [operands[0]]
            if isinstance(operands[0], (cst.Tuple, cst.List)):
                sources = [one.value for one in operands[0].elements]
            return self._resize(node, sources) if sources else Type()
        if name in CASTS:
            return self._cast(name, first, [*operands[1:], *named.values()])
        if name in AS_FIRST or (name in AS_FIRST_IF_FLOAT and first.kind == "f"):
            return first
        if name in AS_FIRST_OF_NUMBERS:
            result = first
            for other in others:
                result = self._broadcast(result, other)
            return result if first.kind in ("i", "f") else result._replace(dtype="", kind="")
        if name == "masked_fill":
            return first if others and others[0].shape in (SCALAR, first.shape) else first._replace(shape="", rank=-1)
        if name in BOOLEAN:
            return _boolean(first)
        if name in JOINED and others:
            return self._broadcast(first, others[0])
        if name == "where" and len(others) == 2:
            return self._type_selection(first, *others)
        if name in REDUCTIONS:
            return self._type_reduction(name, node, first)
        return Type()

    def _type_selection(self, condition: Type, first: Type, second: Type) -> Type:
        made = self._broadcast(first, second)
        if condition.shape == SCALAR or condition.shape == made.shape:
            return made
        return made._replace(shape="", rank=-1)

    def _type_reduction(self, name: str, node: cst.Call, first: Type) -> Type:
        if values.rank_of(self._scene.value(node)) != 0:
            return Type()
        if name in TO_BOOL:
            return Type(SCALAR, BOOL, "b", 0)
        return Type(SCALAR, first.dtype if first.kind == "f" else "", first.kind if first.kind == "f" else "", 0)

    def _cast(self, name: str, first: Type, given: list[cst.BaseExpression]) -> Type:
        kind = CASTS[name]
        if kind:
            return first._replace(dtype=f"={name}" if kind != "b" else BOOL, kind=kind)
        if len(given) != 1:
            return first._replace(dtype="", kind="")
        target = given[0]
        if (
            isinstance(target, cst.Attribute)
            and target.attr.value == "dtype"
            and isinstance(target.value, (cst.Name, cst.Attribute))
        ):
            source = self.of(target.value)
            return first._replace(dtype=source.dtype, kind=source.kind)
        return first._replace(dtype=f"={self._scene.code(target)}", kind="")


def _tested_float(scene: FunctionSource, node: cst.CSTNode, name: str) -> bool:
    """Return whether an `if` around a variable has found its dtype to be floating."""
    tests = _dtype_tests(scene)
    if not tests:
        return False
    at, _ = scene.span(node)
    for holder in scene.above(node):
        test = tests.get(holder)
        if test is None or not isinstance(holder, cst.If):
            continue
        if scene.span(holder.body)[0] <= at <= scene.span(holder.body)[1] and _FLOAT_TEST.search(
            test.replace(f"{name}.dtype", "$")
        ):
            bound = scene.descend(holder.body, cst.AssignTarget)
            return all(scene.code(one.target) != name or scene.span(one)[0] > at for one in bound)
    return False


_tests_known: WeakKeyDictionary[FunctionSource, dict[cst.CSTNode, str]] = WeakKeyDictionary()


def _dtype_tests(scene: FunctionSource) -> dict[cst.CSTNode, str]:
    """The tests of a scene's `if` statements that ask for a dtype and all of which holds in their bodies; worked out once."""
    tests = _tests_known.get(scene)
    if tests is None:
        tests = _tests_known[scene] = {}
        for node in scene.descend(scene.root, cst.If):
            test = scene.code(node.test)
            if ".dtype" in test and " or " not in _conditions_of(test := re.sub(r"\s+", " ", test)):
                tests[node] = test
    return tests


# What is left of `x.dtype == torch.float16` when "$" stands for `x.dtype`.
_FLOAT_TEST = re.compile(r"(?:^|and )\(?\$ (?:==|is) torch\.(?:bfloat16|float16|float32|float64|half)\b\)?(?: and |$)")


def _conditions_of(test: str) -> str:
    """A condition without what stands in parentheses."""
    while (shorter := re.sub(r"\([^()]*\)", "", test)) != test:
        test = shorter
    return test


def alike(a: Type, b: Type) -> bool:
    """Return whether two types are surely the same. A number fits a type without dimensions whose dtype holds it."""
    if a.number and b.number:
        return a.kind == b.kind != ""
    if a.number or b.number:
        return False
    return bool(a.shape) and a.shape == b.shape and bool(a.dtype) and a.dtype == b.dtype


def holds(tensor: Type, other: Type) -> bool:
    """Return whether a choice between a tensor and something else surely has the tensor's shape and dtype."""
    if other.number and not tensor.number:
        return bool(other.kind and tensor.kind) and _ORDER.index(other.kind) <= _ORDER.index(tensor.kind)
    return alike(tensor, other)


def apart(a: Type, b: Type) -> str:
    """Name what surely differs between two types: "rank", "shape" or "dtype"; "" if nothing does."""
    if a.rank >= 0 and b.rank >= 0 and a.rank != b.rank and not (a.number or b.number):
        return "rank"
    if _is_resized(a.shape, b.shape) or _is_resized(b.shape, a.shape):
        return "shape"
    if a.kind and b.kind and a.kind != b.kind and not (a.number or b.number):
        return "dtype"
    return ""


def _is_resized(shape: str, other: str) -> bool:
    """Return whether a shape is that of a resized value whose own shape was the other."""
    return shape.startswith(_RESIZED) and bool(other) and other in shape[1:].partition("@")[0].split("|")


def _boolean(like: Type) -> Type:
    return like._replace(dtype=BOOL, kind="b", number=False)


def _number_kind(scene: FunctionSource, node: cst.BaseExpression) -> str:
    """The kind of a Python number, the widest that it may be."""
    kinds = set()
    for member in members(scene.value(node)):
        if type(member) in (Const, Host):
            kinds.add(kind_of_number(member))
    return max(kinds, key=_ORDER.index) if kinds else ""


def _is_path(node: cst.CSTNode) -> bool:
    """Return whether an expression is a name or attributes of one."""
    while isinstance(node, cst.Attribute):
        node = node.value
    return isinstance(node, cst.Name)
