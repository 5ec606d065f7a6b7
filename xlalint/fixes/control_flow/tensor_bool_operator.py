"""XLA104: `and`, `or`, `not` and chained comparisons of tensors → operators that compute with them."""

from __future__ import annotations

from typing import NamedTuple

import libcst as cst

from xlalint.abstract.values import Const, Host, Tensor, Value, members
from xlalint.fixes.model import NoFix, Rewrite, Site, all_of
from xlalint.fixes.toolkit import values
from xlalint.fixes.toolkit.aliasing import copy_shows
from xlalint.fixes.toolkit.chained_comparisons import (
    assumed_of_chain,
    is_chain,
    list_operands,
    pairs_of,
    refusal_of_chain,
)
from xlalint.fixes.toolkit.consumers import Consumer, consumers, in_test
from xlalint.fixes.toolkit.function_source import FunctionSource, Replacement
from xlalint.fixes.toolkit.imports import Imports
from xlalint.fixes.toolkit.selection import assigned_name
from xlalint.fixes.toolkit.shapes import SCALAR, Types
from xlalint.fixes.toolkit.speculation import speculate
from xlalint.fixes.toolkit.text import argument, atom, bare_extent, stands_alone

_NUMPY_LIKE = {"torch": "torch", "jax": "jax.numpy"}
_WHOLE_CONDITION = "a condition reads the result: rewrite the condition as a whole (XLA101)"


def chained_comparison(site: Site) -> Rewrite | NoFix | None:
    """`low < x < high` → `(low < x) & (x < high)`, which gives the same bools."""
    scene, node = site.scene, site.node
    if not isinstance(node, cst.Comparison) or not is_chain(node):
        return None
    if in_test(scene, node):
        return NoFix(_WHOLE_CONDITION)
    if _outermost(scene, node) is not None:
        return None
    refused = refusal_of_chain(scene, node, site.framework)
    if refused:
        return NoFix(refused)
    between = f"\n{scene.indent(node)}& " if node.lpar and "\n" in scene.code(node) else " & "
    text = between.join(pairs_of(scene, node))
    if not stands_alone(scene, node):
        text = f"({text})"
    assumed = list(assumed_of_chain(scene, node, site.framework))
    return Rewrite("Use `&` between the comparisons", (Replacement(*scene.span(node), text),), all_of(assumed))


# ---------------------------------------------------------------------------------------------- and, or, not


class _Flattened(NamedTuple):
    """The operands of a chain of `and`, or of `or`, and the operators between them."""

    operands: list[cst.BaseExpression]
    operators: list[cst.BaseBooleanOp]


def bool_operator(site: Site) -> Rewrite | NoFix | None:
    """`a and b`, `a or b`, `not a` → `&`, `|`, `~`, or the framework's functions where that is how its code is written."""
    scene = site.scene
    if not isinstance(site.node, cst.BaseExpression):
        return None
    whole = _outermost(scene, site.node)
    if whole is None:
        return None
    if in_test(scene, whole):
        return NoFix(_WHOLE_CONDITION)
    if any(scene.descend(whole, cst.Comment)) and site.framework == "tensorflow":
        return NoFix(
            "there is a comment inside the expression: write it with `tf.logical_and`, `logical_or`, `logical_not`"
        )
    made = _Operators(site)
    refused = made.refusal(whole)
    if refused:
        return NoFix(refused)
    refused = _refused_by_consumers(scene, whole)
    if refused:
        return NoFix(refused)
    text = made.text(whole)
    closely = _is_not(whole) and isinstance(scene.parent(whole), cst.BinaryOperation)
    extent = bare_extent(scene, whole) if closely else scene.span(whole)
    used = ", ".join(f"`{one}`" for one in dict.fromkeys(made.used))
    if site.framework == "torch":
        result = assigned_name(scene, whole) or whole
        made.assumed += copy_shows(scene, scene.statement(whole), result, _leaves(whole))
    return Rewrite(f"Use {used}", (Replacement(*extent, text), *made.imports.needed), all_of(made.assumed))


def _outermost(scene: FunctionSource, node: cst.BaseExpression) -> cst.BaseExpression | None:
    """The largest expression of `and`, `or` and `not` around an operand."""
    found = None
    for holder in scene.above(node):
        if not isinstance(holder, cst.BooleanOperation) and not _is_not(holder):
            break
        found = holder
    return found  # type: ignore[return-value]


def _is_not(node: cst.CSTNode) -> bool:
    return isinstance(node, cst.UnaryOperation) and isinstance(node.operator, cst.Not)


def _gives_bool(node: cst.BaseExpression) -> bool:
    """Return whether an expression may give what `not` gave: `and` and `or` give an operand."""
    if isinstance(node, cst.BooleanOperation):
        return _gives_bool(node.left) or _gives_bool(node.right)
    return _is_not(node)


def _refused_by_consumers(scene: FunctionSource, whole: cst.BaseExpression) -> str:
    """Why no tensor may stand where a Python bool did: `not` gives one, `and` and `or` give an operand."""
    if not _gives_bool(whole):
        return ""
    takers = consumers(scene, whole)
    if Consumer.STORED_TEST in takers:
        return "a condition reads the result by its name: rewrite that condition as well (XLA101)"
    if Consumer.OTHER in takers:
        return "`not` gives a Python bool, which the code that uses it may need: write `~` if a tensor works too"
    return ""


class _Operators:
    """Writes one expression with operators on tensors, and gathers what that assumes."""

    def __init__(self, site: Site) -> None:
        self.scene = site.scene
        self.framework = site.framework
        self.imports = Imports(site.scene, site.node)
        self.assumed: list[str] = []
        self.used: list[str] = []

    # ------------------------------------------------------------------------------------------ conditions

    def refusal(self, node: cst.BaseExpression) -> str:
        """Why an expression cannot be computed with tensors, a line; "" if it can."""
        if _is_not(node):
            assert isinstance(node, cst.UnaryOperation)
            return self.refusal(node.expression) or self._refusal_of_negation(node.expression)
        if not isinstance(node, cst.BooleanOperation):
            return self._refusal_of_operand(node)
        _, rest, _ = self._parts(node)
        for index, operand in enumerate(rest):
            refused = self.refusal(operand)
            if refused:
                return refused
            barrier = speculate(self.scene, _leaves(operand), self.framework).barrier if index else ""
            if barrier:
                return f"{barrier}, and the operands before it decide whether that happens"
        return ""

    def _refusal_of_negation(self, node: cst.BaseExpression) -> str:
        """`~True` is -2: what `~` takes must be a tensor, whatever came before."""
        return (
            ""
            if self._is_tensor(node)
            else f"`{self.scene.code(node)}` may be a Python bool, which `~` turns into a number"
        )

    def _is_tensor(self, node: cst.BaseExpression) -> bool:
        """Return whether the replacement of an expression is a tensor in every call."""
        if isinstance(node, cst.BooleanOperation):
            lead, rest, _ = self._parts(node)
            return not lead and any(map(self._is_tensor, rest))
        if isinstance(node, cst.UnaryOperation) and isinstance(node.operator, cst.Not):
            return self._is_tensor(node.expression)
        return values.is_tensor(self.scene.value(node), self.framework)

    def _refusal_of_operand(self, node: cst.BaseExpression) -> str:
        code, value = self.scene.code(node), self.scene.value(node)
        if isinstance(node, cst.Comparison) and self._is_chain_of_tensors(node):
            return refusal_of_chain(self.scene, node, self.framework)
        if self._is_flag(value):
            return ""
        if not values.is_tensor(value, self.framework):
            held = [one for one in members(value) if type(one) is Tensor]
            if not held:
                return (
                    f"`{code}` is not a tensor, and may be the result: write `… is not None` or `… if … else …` instead"
                )
            return f"`{code}` is not a tensor in every call"
        if values.dtype_of(value) not in ("b", ""):
            return f"`{code}` is not a tensor of bools, and the result is one of the operands: compare it with 0, or use `where`"
        return ""

    def _is_flag(self, value: Value) -> bool:
        """Return whether a value is a Python bool or a tensor of bools. `&` and `|` take both in any mixture."""
        return bool(members(value)) and all(
            (type(one) is Const and type(one.value) is bool)
            or (type(one) is Host and one.type == "bool")
            or (type(one) is Tensor and one.framework == self.framework and one.dtype == "b")
            for one in members(value)
        )

    # --------------------------------------------------------------------------------------------- writing

    def text(self, node: cst.BaseExpression) -> str:
        """An expression's new code, without parentheses around it; what is not an operator is left as it was, comments too."""
        if self.framework == "tensorflow" and not self._has_static_lead(node):
            return self._tensorflow(node)
        if isinstance(node, cst.BooleanOperation):
            return self._junction(node)
        if _is_not(node):
            assert isinstance(node, cst.UnaryOperation)
            return self._negation(node.expression)
        return self._leaf(node)

    def _leaf(self, node: cst.BaseExpression) -> str:
        """An operand that is none of `and`, `or`, `not`."""
        if not isinstance(node, cst.Comparison) or not self._is_chain_of_tensors(node):
            return self.scene.code(node)
        self.used.append("&")
        self.assumed += assumed_of_chain(self.scene, node, self.framework)
        return " & ".join(pairs_of(self.scene, node))

    def _is_chain_of_tensors(self, node: cst.Comparison) -> bool:
        return is_chain(node) and any(values.tensors_only(self.scene.value(one)) for one in list_operands(node))

    def _has_static_lead(self, node: cst.BaseExpression) -> bool:
        return isinstance(node, cst.BooleanOperation) and bool(self._parts(node)[0])

    def _junction(self, node: cst.BooleanOperation) -> str:
        lead, rest, operators = self._parts(node)
        before = self._between(self.scene.span(node)[0], self.scene.whole(rest[0])[0])
        if len(rest) == 1:
            return before + self._whole(rest[0])
        self._note(rest)
        plain = not any(map(_compound, rest))
        if plain and len(rest) == 2 and not all(self._is_flag(self.scene.value(one)) for one in rest):
            return before + self._by_function(rest, operators[0])
        text = self._by_operator(rest, operators, "&" if isinstance(node.operator, cst.And) else "|")
        return f"{before}({text})" if lead else text

    def _by_operator(self, rest: list[cst.BaseExpression], operators: list[cst.BaseBooleanOp], sign: str) -> str:
        self.used.append(sign)
        text = self._operand(rest[0])
        for left, operator, right in zip(rest, operators, rest[1:], strict=False):
            start, end = self.scene.span(operator)
            text += self._between(self.scene.whole(left)[1], start) + sign
            text += self._between(end, self.scene.whole(right)[0]) + self._operand(right)
        return text

    def _by_function(self, rest: list[cst.BaseExpression], operator: cst.BaseBooleanOp) -> str:
        """`torch.logical_and(a, b)`, where `&` would be bitwise."""
        short = "logical_and" if isinstance(operator, cst.And) else "logical_or"
        name = f"{self.imports.name(_NUMPY_LIKE[self.framework])}.{short}"
        self.used.append(name)
        return f"{name}({', '.join(argument(self.scene, one) for one in rest)})"

    def _negation(self, inner: cst.BaseExpression) -> str:
        if not _compound(inner) and self._shape(inner) != SCALAR:
            self.assumed.append(f"`{self.scene.code(inner)}` has no dimensions")
        if _compound(inner) or self._is_flag(self.scene.value(inner)):
            self.used.append("~")
            return f"~{self._operand(inner)}"
        name = f"{self.imports.name(_NUMPY_LIKE[self.framework])}.logical_not"
        self.used.append(name)
        return f"{name}({argument(self.scene, inner)})"

    def _operand(self, node: cst.BaseExpression) -> str:
        """An operand as one of `&`, `|` and `~`."""
        text = self._whole(node)
        return text if node.lpar or self._is_atom(node) else f"({text})"

    def _whole(self, node: cst.BaseExpression) -> str:
        """An expression's new code with the parentheses that stand around it."""
        (start, end), (first, last) = self.scene.span(node), self.scene.whole(node)
        return self._between(first, start) + self.text(node) + self._between(end, last)

    def _between(self, start: int, end: int) -> str:
        return self.scene.document.text[start:end].replace("\r\n", "\n")

    def _tensorflow(self, node: cst.BaseExpression) -> str:
        """`tf.logical_and(a, b)` and the like, as TensorFlow's own code is written."""
        tf = self.imports.name("tensorflow")
        if _is_not(node):
            assert isinstance(node, cst.UnaryOperation)
            if not _compound(node.expression):
                self._note([node.expression])
            self.used.append(f"{tf}.logical_not")
            return f"{tf}.logical_not({self._tensorflow(node.expression)})"
        if not isinstance(node, cst.BooleanOperation):
            return argument(self.scene, node) if not is_chain(node) else self._leaf(node)
        _, rest, _ = self._parts(node)
        self._note(rest)
        name = f"{tf}.logical_and" if isinstance(node.operator, cst.And) else f"{tf}.logical_or"
        self.used.append(name)
        text = self._tensorflow(rest[0])
        for operand in rest[1:]:
            text = f"{name}({text}, {self._tensorflow(operand)})"
        return text

    def _note(self, rest: list[cst.BaseExpression]) -> None:
        """Note what must hold for the operands to be combined."""
        for operand in rest:
            if not _compound(operand) and not self._is_flag(self.scene.value(operand)):
                self.assumed.append(f"`{self.scene.code(operand)}` holds bools")
        for operand in rest[1:]:
            found = speculate(self.scene, _leaves(operand), self.framework)
            self.assumed += [f"`{code}` can always be computed" for code in found.risks]
        shapes = {self._shape(leaf) for operand in rest for leaf in _leaves(operand)}
        if len(shapes) > 1 or "" in shapes:
            self.assumed.append("the operands have one shape")

    def _shape(self, node: cst.BaseExpression) -> str:
        """The shape of an operand, as `Types` tells it."""
        types = Types(self.scene, self.framework)
        if isinstance(node, cst.Comparison) and is_chain(node):
            shapes = {types.of(one).shape for one in list_operands(node)} - {SCALAR}
            return "" if len(shapes) > 1 else shapes.pop() if shapes else SCALAR
        if all(_is_single(one) for one in members(self.scene.value(node))):
            return SCALAR
        return types.of(node).shape

    # ------------------------------------------------------------------------------------------------ parts

    def _parts(
        self, node: cst.BooleanOperation
    ) -> tuple[list[cst.BaseExpression], list[cst.BaseExpression], list[cst.BaseBooleanOp]]:
        """The leading operands that hold no tensor, the others, and the operators between the others."""
        flat = _flatten(node)
        lead = 0
        while lead < len(flat.operands) - 1 and not self._holds_tensor(flat.operands[lead]):
            lead += 1
        return flat.operands[:lead], flat.operands[lead:], flat.operators[lead:]

    def _holds_tensor(self, node: cst.BaseExpression) -> bool:
        if isinstance(node, cst.BooleanOperation):
            return any(map(self._holds_tensor, (node.left, node.right)))
        if _is_not(node):
            assert isinstance(node, cst.UnaryOperation)
            return self._holds_tensor(node.expression)
        return any(type(one) is Tensor for one in members(self.scene.value(node)))

    def _is_atom(self, node: cst.BaseExpression) -> bool:
        if _compound(node):
            return _is_not(node)
        return atom(self.scene, node) == self.scene.code(node)


def _is_single(value: Value) -> bool:
    """Return whether a value is one number, on the host or in a tensor without dimensions."""
    return value.rank == 0 if type(value) is Tensor else values.is_number(value)


def _compound(node: cst.BaseExpression) -> bool:
    return isinstance(node, cst.BooleanOperation) or _is_not(node)


def _leaves(node: cst.BaseExpression) -> list[cst.BaseExpression]:
    """List the operands that `and`, `or` and `not` join, however deep."""
    if isinstance(node, cst.BooleanOperation):
        return _leaves(node.left) + _leaves(node.right)
    if isinstance(node, cst.UnaryOperation) and isinstance(node.operator, cst.Not):
        return _leaves(node.expression)
    return [node]


def _flatten(node: cst.BooleanOperation) -> _Flattened:
    """`a and b and c` as its three operands; those in parentheses are operands as they are."""
    operands: list[cst.BaseExpression] = []
    operators: list[cst.BaseBooleanOp] = []

    def visit(one: cst.BaseExpression) -> None:
        same = isinstance(one, cst.BooleanOperation) and type(one.operator) is type(node.operator)
        if isinstance(one, cst.BooleanOperation) and same and (one is node or not one.lpar):
            visit(one.left)
            operators.append(one.operator)
            visit(one.right)
        else:
            operands.append(one)

    visit(node)
    return _Flattened(operands, operators)
