"""Decides whether a tensor without dimensions can replace a Python number that was read from it, wherever the number goes.

It does in arithmetic with tensors and numbers, and in comparisons with them. It does not where Python decides by it, counts with it,
formats it, or keeps it where it cannot be followed.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple, Union

import libcst as cst

from xlalint.abstract.values import Const, Host, Value, members
from xlalint.fixes.model import NoFix
from xlalint.fixes.toolkit import values
from xlalint.fixes.toolkit.consumers import in_test
from xlalint.fixes.toolkit.dataflow import bindings, uses
from xlalint.fixes.toolkit.function_source import FunctionSource, Replacement
from xlalint.fixes.toolkit.imports import Imports
from xlalint.fixes.toolkit.operations import names, operation


class Flow(NamedTuple):
    """Where a number goes: what must be so for a tensor to do there, what else has to be written, and whether it leaves the function.

    `carries` says that something is computed with it through which a gradient would go, which a comparison has none of. `handed` says that
    it leaves the function as it is, `summed` that it is added to a sum over the turns of a loop.
    """

    assumed: tuple[str, ...]
    edits: tuple[Replacement, ...]
    leaves: bool
    carries: bool
    handed: bool
    summed: bool = False


def flow(
    scene: FunctionSource, node: cst.BaseExpression, framework: str, imports: Imports, convert: str = "float"
) -> Union[Flow, NoFix]:
    """Follow a number that an expression gives. `convert` makes a number of a sum that is kept on the device, where it is read."""
    follower = _Follower(scene, node, framework, imports, convert)
    refused = follower.follow(node)
    if refused:
        return NoFix(refused)
    edits = tuple(dict.fromkeys(follower.edits))
    return Flow(tuple(follower.assumed), edits, follower.leaves, follower.carries, follower.handed, follower.summed)


# Functions of `math` by what NumPy-like libraries call them; all tensors have them as methods in PyTorch.
MATH = {
    **{name: name for name in names("ceil cos cosh erf exp expm1 floor isfinite isinf isnan log log10 log1p log2 sin")},
    **{name: name for name in names("sinh sqrt tan tanh")},
    "fabs": "abs",
}
_TF_MATH = names("abs cos cosh exp floor sin sinh sqrt tan tanh")  # the others are in `tf.math` only


def tensorflow_name(name: str) -> str:
    """Where TensorFlow has a function of `math`."""
    return name if name in _TF_MATH else f"math.{name}"


_COMPARING = (cst.LessThan, cst.LessThanEqual, cst.GreaterThan, cst.GreaterThanEqual, cst.Equal, cst.NotEqual)
_ARITHMETIC = (cst.Add, cst.Subtract, cst.Multiply, cst.Divide, cst.Power)
_SUMMING = (cst.AddAssign, cst.SubtractAssign)
# Operations of two tensors that take a number, or a tensor without dimensions, as their second operand.
_BINARY = names("add sub subtract mul multiply div divide true_divide pow eq ne lt le gt ge maximum minimum")
_KEPT = "`{}` keeps the number: keep the detached tensor there, and read it once, after the loop"


class _Follower:
    """Follows one number; each method says why a tensor does not do, or ""."""

    def __init__(
        self, scene: FunctionSource, start: cst.BaseExpression, framework: str, imports: Imports, convert: str
    ) -> None:
        self.scene = scene
        self._start = start
        self.framework = framework
        self.imports = imports
        self.convert = convert  # the type of the number, "" where it is not known
        self.assumed: list[str] = []
        self.edits: list[Replacement] = []
        self.leaves = False
        self.carries = False
        self.handed = False
        self.summed = False
        self.whole = convert != "float"
        self._followed: set[str] = set()

    def follow(self, node: cst.CSTNode) -> str:
        """Whoever takes the value of an expression."""
        scene = self.scene
        if in_test(scene, node):
            return "a condition needs the number on the host: rewrite the condition with tensors (XLA101)"
        holder = scene.parent(node)
        match holder:
            case cst.BinaryOperation():
                self.carries = True
                other = holder.right if holder.left is node else holder.left
                return self._operand(holder, other, isinstance(holder.operator, _ARITHMETIC))
            case cst.Comparison() | cst.ComparisonTarget():
                return self._follow_comparison(node, holder)
            case cst.UnaryOperation(operator=cst.Minus()):
                return self.follow(holder)
            case cst.Arg():
                return self._argument(holder)
            case cst.Assign():
                return self._follow_store([one.target for one in holder.targets])
            case cst.AugAssign():
                return self._follow_addition(holder)
            case cst.Return() | cst.Element() | cst.DictElement():
                return self._follow_return(node)
            case cst.Expr():
                return ""
            case cst.Index() | cst.Slice():
                return "it is an index or a size, which the host must know: gather by the tensor, or use a fixed size"
            case cst.FormattedStringExpression():
                return "it becomes text: format it where the text is read, or every n steps"
        return f"`{scene.code(holder)}` may need a number"

    # --------------------------------------------------------------------------------------------- arithmetic

    def _operand(self, holder: cst.BaseExpression, other: cst.BaseExpression, computes: bool) -> str:
        value = self.scene.value(other)
        if computes and values.is_tensor(value, self.framework):
            return ""
        if computes and _is_scalar(value):
            whole = self.whole
            self.whole = whole and not (
                isinstance(holder, cst.BinaryOperation) and isinstance(holder.operator, cst.Divide)
            )
            refused = self.follow(holder)
            self.whole = whole
            return refused
        return f"`{self.scene.code(other)}`, the other operand, is not known to be a tensor or a number"

    def _follow_comparison(self, node: cst.CSTNode, holder: cst.CSTNode) -> str:
        comparison = self.scene.parent(holder) if isinstance(holder, cst.ComparisonTarget) else holder
        assert isinstance(comparison, cst.Comparison)
        if len(comparison.comparisons) != 1:
            return "a chained comparison needs the number"
        [target] = comparison.comparisons
        other = target.comparator if comparison.left is node else comparison.left
        return self._operand(comparison, other, isinstance(target.operator, _COMPARING))

    # -------------------------------------------------------------------------------------------------- calls

    def _argument(self, arg: cst.Arg) -> str:
        scene, call = self.scene, self.scene.parent(arg)
        assert isinstance(call, cst.Call)
        name = values.callee(scene.value(call.func))
        if name == "builtins.float" and len(call.args) == 1:
            return self._follow_call(call, arg, "")
        if name == "builtins.abs":
            return self.follow(call)
        if name in ("builtins.max", "builtins.min") and len(call.args) == 2 and self._all_scalars(call, arg):
            return self._follow_bound(call, arg, name[9:])
        if name.startswith("math.") and name[5:] in MATH and len(call.args) == 1:
            return self._follow_math(call, arg, MATH[name[5:]])
        if arg.keyword is None and self._takes_both(call, call.args.index(arg)):
            self.carries = True
            return ""
        if name.rpartition(".")[2] in ("append", "extend", "add", "update") and operation(scene, call) == "":
            return _KEPT.format(scene.code(call.func).rpartition(".")[0])
        return f"`{scene.code(call.func)}` may need a number"

    def _follow_call(self, call: cst.Call, arg: cst.Arg, suffix: str) -> str:
        """`f(number)` → `number` with a suffix, that of the method which does the same."""
        start, end = self.scene.span(call)
        first, last = self.scene.whole(arg.value)
        closed = not isinstance(arg.value, _CLOSE) and not arg.value.lpar
        self.edits.append(Replacement(start, first, "(" if closed else ""))
        self.edits.append(Replacement(last, end, (")" if closed else "") + suffix))
        return self.follow(call)

    def _follow_bound(self, call: cst.Call, arg: cst.Arg, name: str) -> str:
        """`max(number, 1.0)`, of a number and one that never was a tensor."""
        other = next(one for one in call.args if one is not arg)
        if call.args[0] is other:
            self.assumed.append(f"`{self.scene.code(arg.value)}` is not NaN")
        if self.framework == "torch":
            bound = {"max": "min", "min": "max"}[name]
            return self._follow_call(call, arg, f".clamp({bound}={self.scene.code(other.value)})")
        module = self.imports.name("jax.numpy" if self.framework == "jax" else "tensorflow")
        self.edits.append(Replacement(*self.scene.span(call.func), f"{module}.{name}imum"))
        return self.follow(call)

    def _follow_math(self, call: cst.Call, arg: cst.Arg, name: str) -> str:
        """`math.sqrt(number)`."""
        if self.framework == "torch":
            return self._follow_call(call, arg, f".{name}()")
        if self.framework == "tensorflow":
            function = f"{self.imports.name('tensorflow')}.{tensorflow_name(name)}"
        else:
            function = f"{self.imports.name('jax.numpy')}.{name}"
        self.edits.append(Replacement(*self.scene.span(call.func), function))
        return self.follow(call)

    def _all_scalars(self, call: cst.Call, arg: cst.Arg) -> bool:
        others = [one for one in call.args if one is not arg]
        return all(one.keyword is None and not one.star and _is_scalar(self.scene.value(one.value)) for one in others)

    def _takes_both(self, call: cst.Call, index: int) -> bool:
        """Return whether an operation on tensors takes a tensor in place of a number."""
        name = operation(self.scene, call)
        is_method = values.callee(self.scene.value(call.func)).startswith(".")
        if name == "where":
            return index + is_method > 0 and self.framework != "tensorflow"
        if name == "masked_fill":
            return index + is_method == 2
        given = [one.value for one in call.args if one.keyword is None]
        first = call.func.value if is_method and isinstance(call.func, cst.Attribute) else given[0]
        tensors = values.is_tensor(self.scene.value(first), self.framework)
        return (
            tensors and name.removesuffix("_") in _BINARY and index + is_method == 1 and self.framework != "tensorflow"
        )

    # -------------------------------------------------------------------------------------------------- names

    def _follow_store(self, targets: Sequence[cst.BaseExpression]) -> str:
        scene = self.scene
        for target in targets:
            function = scene.function(target)
            if not isinstance(target, cst.Name) or function is None:
                return _KEPT.format(scene.code(target))
            if target.value in self._followed:
                continue
            self._followed.add(target.value)
            if any(isinstance(scene.parent(one), (cst.AugAssign, cst.NameItem)) for one in self._all(function, target)):
                return f"`{target.value}` is incremented: a tensor would be changed in place"
            for use in uses(scene, function, target.value):
                if scene.function(use) is not function:
                    return f"a function within `{function.name.value}` reads `{target.value}`"
                refused = self.follow(use)
                if refused:
                    return refused
        return ""

    def _all(self, function: cst.FunctionDef, name: cst.Name) -> list[cst.Name]:
        return [one for one in self.scene.descend(function, cst.Name) if one.value == name.value]

    def _follow_return(self, node: cst.CSTNode) -> str:
        scene = self.scene
        holders = (cst.Element, cst.Tuple, cst.List, cst.Dict, cst.DictElement)
        for holder in scene.above(node):
            if isinstance(holder, cst.Return) and self.whole:
                return "a whole number is returned, which may be a size or an index there"
            if isinstance(holder, cst.Return) and holder.value is node and not self._moves_out(holder, node):
                return "callers get a number: return the tensor, and read it where the number is needed"
            if isinstance(holder, cst.Return):
                self.leaves = self.carries = True
                self.handed = self.handed or isinstance(node, (cst.Call, cst.Name))
                self.assumed.append("the caller accepts a tensor where it got a number")
                return ""
            if not isinstance(holder, holders):
                break
        return f"`{scene.code(holder)}` may need a number"

    def _moves_out(self, line: cst.Return, node: cst.CSTNode) -> bool:
        """Return whether what a line computes was read in a loop in front of it, once for each iteration."""
        if isinstance(node, (cst.Call, cst.Comparison, cst.Name)):
            return False
        return self.scene.nearest(self._start, cst.For, cst.While) is not self.scene.nearest(line, cst.For, cst.While)

    # ------------------------------------------------------------------------------------------- accumulation

    def _follow_addition(self, statement: cst.AugAssign) -> str:
        """`total += number`: with a tensor, `total` is a tensor that is read when the number was used."""
        self.carries = True
        scene, target = self.scene, statement.target
        if values.is_tensor(scene.value(target), self.framework):
            return "" if isinstance(statement.operator, _SUMMING) else "a tensor would be changed by it in place"
        function, loop = scene.function(statement), scene.nearest(statement, cst.For, cst.While)
        if not isinstance(target, cst.Name) or not isinstance(statement.operator, _SUMMING):
            return _KEPT.format(scene.code(target))
        if function is None or loop is None or scene.function(loop) is not function:
            return _KEPT.format(target.value)
        if not all(_starts_or_adds(scene, one) for one in bindings(scene, function, target.value)):
            return f"`{target.value}` is not only summed up"
        for use in uses(scene, function, target.value):
            holder = scene.parent(use)
            if isinstance(holder, cst.AugAssign) and holder.target is use:
                continue
            refused = self._read_of_sum(use, function, loop)
            if refused:
                return refused
        self.summed = True
        self.assumed.append(f"the tensor's dtype is precise enough to sum up `{target.value}`")
        return ""

    def _read_of_sum(self, use: cst.Name, function: cst.FunctionDef, loop: cst.CSTNode) -> str:
        scene = self.scene
        if scene.function(use) is not function:
            return f"a function within `{function.name.value}` reads `{use.value}`"
        start, end = scene.span(loop)
        if start <= scene.span(use)[0] < end and not any(
            isinstance(one, cst.If) and start < scene.span(one)[0] for one in scene.above(use)
        ):
            return f"`{use.value}` is read at every step: read it every n steps"
        arg = scene.parent(use)
        call = scene.parent(arg) if isinstance(arg, cst.Arg) else None
        if isinstance(call, cst.Call) and values.callee(scene.value(call.func)) in ("builtins.float", "builtins.int"):
            return ""
        self.edits.append(Replacement(*scene.span(use), f"{'int' if self.convert == 'int' else 'float'}({use.value})"))
        return ""


_CLOSE = (cst.Name, cst.Attribute, cst.Call, cst.Subscript)


def _is_scalar(value: Value) -> bool:
    """Return whether a value is a Python number, or one that was read from a tensor."""
    return bool(members(value)) and all(
        (type(one) is Const and type(one.value) in (bool, int, float))
        or (type(one) is Host and (one.type in ("bool", "int", "float") or (one.type == "" and one.origin == "data")))
        for one in members(value)
    )


def _starts_or_adds(scene: FunctionSource, name: cst.Name) -> bool:
    """Return whether a name is bound to a literal number, or something is added to it."""
    holder = scene.parent(name)
    if isinstance(holder, cst.AssignTarget):
        assigned = scene.parent(holder)
        return isinstance(assigned, cst.Assign) and isinstance(assigned.value, (cst.Integer, cst.Float))
    return isinstance(holder, cst.AugAssign) and isinstance(holder.operator, _SUMMING)
