"""A choice between two values as a `where`: its text, and on what its being the same as the branch depends."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from typing import NamedTuple

import libcst as cst

from xlalint.abstract.values import NONE, Value, members
from xlalint.fixes.model import NoFix
from xlalint.fixes.toolkit import values
from xlalint.fixes.toolkit.aliasing import Original, copy_shows
from xlalint.fixes.toolkit.bindings import made_before
from xlalint.fixes.toolkit.choices import (
    differ_in_size,
    find_overflow,
    find_spoilt,
    find_tested_operand,
    takes_other_size,
)
from xlalint.fixes.toolkit.conditions import Condition, module_of
from xlalint.fixes.toolkit.dataflow import definition_at, reads, unchanged, uses
from xlalint.fixes.toolkit.divisors import (
    exchange_divisor,
    find_compared,
    find_divisors,
    with_safe_divisor,
    write_product,
    write_quotient,
)
from xlalint.fixes.toolkit.function_source import FunctionSource
from xlalint.fixes.toolkit.gradients import FLAT, Slope, Slopes, without_gradient
from xlalint.fixes.toolkit.imports import Imports
from xlalint.fixes.toolkit.operations import arguments_of, operation
from xlalint.fixes.toolkit.shapes import Type, Types, alike, apart
from xlalint.fixes.toolkit.text import argument, brief

_DEPTH = 3  # assignments that a condition is followed through
_WORDS = re.compile(r"\b[A-Za-z_]\w*").findall


class Side(NamedTuple):
    """One of the values that are chosen between: its code, what the analysis knows of it, its type, and where its gradient goes."""

    text: str
    value: Value
    type: Type
    slope: Slope


def side_of(scene: FunctionSource, node: cst.BaseExpression, types: Types, slopes: Slopes) -> Side:
    """The side that an expression is."""
    return Side(argument(scene, node), scene.value(node), types.of(node), slopes.of(node))


def keep_value(name: str, value: Value) -> Side:
    """The side on which a variable keeps its value."""
    if values.is_number(value):
        return Side(name, value, Type("()", "", "", 0, number=True), FLAT)
    kind, rank = values.dtype_of(value), values.rank_of(value)
    shape = "()" if rank == 0 else name
    slope = FLAT if kind in ("b", "i") else Slope(frozenset((name,)))
    return Side(name, value, Type(shape, "=bool" if kind == "b" else name, kind, rank), slope)


class Chooser:
    """Writes `where` for one rewrite, and gathers what that assumes."""

    def __init__(self, scene: FunctionSource, node: cst.CSTNode, framework: str) -> None:
        self._scene = scene
        self._node = node
        self._framework = framework
        self.imports = Imports(scene, node)
        self.assumes: list[str] = []
        self.learns = not without_gradient(scene, node)
        self.tested = ""  # the condition, where a name stands for it in the choice

    @property
    def function(self) -> str:
        """Return the function to call: "torch.where"."""
        module = module_of(self._framework)
        bound = {(one.module, one.name) for one in self._scene.document.unit.imports}
        if module == "tensorflow" and ("keras", "") in bound and ("tensorflow", "") not in bound:
            return f"{self.imports.name('keras')}.ops.where"
        return f"{self.imports.name(module)}.where"

    def assume(self, texts: Iterable[str]) -> None:
        """Note what has to hold for the result to be the same."""
        self.assumes += [text for text in texts if text not in self.assumes]

    def copy(self, statement: cst.CSTNode, result: Original, originals: Iterable[Original]) -> None:
        """Assume that nobody sees that what a statement gives is a copy of what it gave so far."""
        if self._framework == "torch":
            self.assume(copy_shows(self._scene, statement, result, originals))

    def choose(self, asked: Condition, taken: Side, other: Side) -> list[str] | NoFix:
        """The arguments of the `where` that is `taken` where the branch's condition holds."""
        for side in (taken, other):
            why = self.unfit(side)
            if why:
                return NoFix(why)
        if self._framework == "torch" and {taken.text, other.text} == {"True", "False"}:
            return NoFix("it answers yes or no, by which a condition waits for the device all the same")
        differs = apart(taken.type, other.type)
        if differs:
            return NoFix(f"`{_short(taken)}` and `{_short(other)}` differ in {differs}")
        texts = taken.text, other.text
        if differ_in_size(*texts) or takes_other_size(*texts) or takes_other_size(*texts[::-1]):
            return NoFix(
                f"`{_short(taken)}` and `{_short(other)}` differ in size: keep one size, and mask what is not needed"
            )
        spoilt = self._find_spoilt(asked, taken, other)
        if spoilt:
            return NoFix(f"where `{spoilt}` is not finite, its gradient would be NaN even if it is not chosen")
        operand = self._find_tested_operand(asked, taken, other)
        if operand:
            return NoFix(
                f"where `{operand}` is not finite, gradients of what is computed with it are NaN even if it is not chosen"
            )
        steep = self._find_overflow(asked, taken, other)
        if steep:
            return NoFix(
                f"`{brief(steep)}` overflows where it is not chosen, and its gradient is NaN there: clamp what it is given, or use"
                " a function that is stable"
            )
        self._compare(taken, other)
        self._shape(asked, taken, other)
        self._gradients(taken, other)
        first, second = (other, taken) if asked.turned else (taken, other)
        return [
            asked.text,
            self.divide_safely(asked, first.text, chosen=True),
            self.divide_safely(asked, second.text, chosen=False),
        ]

    def _find_spoilt(self, asked: Condition, taken: Side, other: Side) -> str:
        """The variable, computed here, whose gradient is NaN where it is not chosen, as that is where it is NaN itself; "" without."""
        if not self.learns or self._framework == "jax":
            return ""
        codes = [asked.text, self.tested, *map(self._code_of, sorted(asked.names))]
        found = find_spoilt(codes, taken.slope.into, other.slope.into)
        return found if found and definition_at(self._scene, found, self._scene.statement(self._node)) else ""

    def _find_tested_operand(self, asked: Condition, taken: Side, other: Side) -> str:
        """The variable that a condition tests for NaN and with which a side computes what others take gradients of; "" without."""
        if not self.learns:
            return ""
        codes = [asked.text, self.tested, *map(self._code_of, sorted(asked.names))]
        found = (find_tested_operand(codes, side.text, side.slope.into) for side in (taken, other))
        return next(filter(None, found), "")

    def _find_overflow(self, asked: Condition, taken: Side, other: Side) -> str:
        """The exponential that a condition keeps from large numbers, if a gradient goes through it; "" without."""
        if not self.learns:
            return ""
        codes = [asked.text, self.tested]
        sides = (side.text for side in (taken, other) if side.slope != FLAT)
        return next(filter(None, (find_overflow(codes, text) for text in sides)), "")

    def divide_safely(self, asked: Condition, text: str, *, chosen: bool) -> str:
        """Code that is chosen where the tensor of a condition is true, or, not `chosen`, where it is not, without its divisions by what is
        zero elsewhere."""
        if self._framework == "tensorflow":
            return text
        names = set(asked.names) | find_divisors(text)
        made = {name: code for name in sorted(names) if (code := self._code_of(name))}
        counted = self._clamp_counts(text)
        given = self.tested or asked.text, self.function
        if counted != text and with_safe_divisor(counted, *given, taken=chosen, made=made) == counted:
            return counted
        text = with_safe_divisor(text, *given, taken=chosen, made=made)
        for divisor in sorted(self._list_compared(asked)):
            safe = f"{divisor}, 1" if chosen else f"1, {divisor}"
            text = exchange_divisor(text, divisor, f"{self.function}({asked.text}, {safe})")
        return text

    def _clamp_counts(self, text: str) -> str:
        """Code whose divisions by counts of true values are by 1 at least: `total / n.clamp(min=1)` for an `n` that is `mask.sum()`."""
        scene, statement = self._scene, self._scene.statement(self._node)
        for name in sorted(find_divisors(text)) if self._framework == "torch" else ():
            made = definition_at(scene, name, statement)
            call = made.value if isinstance(made, cst.Assign) else None
            if not isinstance(call, cst.Call) or operation(scene, call) not in ("sum", "count_nonzero"):
                continue
            if values.is_bool(scene.value(arguments_of(scene, call)[0])):
                text = exchange_divisor(text, name, f"{name}.clamp(min=1)")
        return text

    def _list_compared(self, asked: Condition) -> set[str]:
        """The code of what is compared to zero to make the names that a condition reads: of `d != 0` for `k`, where it is `k.any()`."""
        found: set[str] = set()
        names = set(asked.names)
        for _ in range(_DEPTH):
            codes = [code for name in sorted(names) if (code := self._code_of(name))]
            found = found.union(*map(find_compared, codes))
            names = set(_WORDS(" ".join(codes)))
        return found

    def factor(self, asked: Condition, taken: Side, other: Side) -> str:
        """The choice between a value and its quotient or product, as one that divides or multiplies by one where the value stays; ""
        for another choice, and for a product that takes no gradient where `where` chooses the value.
        """
        first, second = (other, taken) if asked.turned else (taken, other)
        if self._framework == "tensorflow" or first.type.number or second.type.number:
            return ""
        quotient = write_quotient(asked.text, first.text, second.text, self.function)
        if quotient or (taken.slope.tame and other.slope.tame) or not self.learns:
            return quotient
        return write_product(asked.text, first.text, second.text, self.function)

    def _code_of(self, name: str) -> str:
        """The code that a name was bound to in front of the choice, if it would give the same there; "" else."""
        scene, statement = self._scene, self._scene.statement(self._node)
        made = definition_at(scene, name, statement)
        if not isinstance(made, cst.Assign):
            return ""
        since = scene.span(made)[1]
        same = all(unchanged(scene, read, since, statement) for read in reads(scene, made.value))
        return scene.code(made.value) if same else ""

    def unfit(self, side: Side) -> str:
        """Why a value cannot be one of those that are chosen between, "" if it can."""
        if side.value is NONE or any(member is NONE for member in members(side.value)):
            return f"`{_short(side)}` may be None on one side: use a tensor there that changes nothing"
        if values.is_tensor(side.value, self._framework) or values.is_number(side.value):
            return ""
        return f"it is not known that `{_short(side)}` is a tensor in every call"

    def _compare(self, taken: Side, other: Side) -> None:
        if taken.type.number and other.type.number:
            return
        if taken.type.number or other.type.number:
            number, tensor = (taken, other) if taken.type.number else (other, taken)
            self.assume([f"`{_short(number)}` may become a tensor of the shape and dtype of `{_short(tensor)}`"])
        elif not alike(taken.type, other.type):
            self.assume([f"`{_short(taken)}` and `{_short(other)}` have the same shape and dtype"])

    def _shape(self, asked: Condition, taken: Side, other: Side) -> None:
        ranks = [side.type.rank for side in (taken, other) if not side.type.number]
        if asked.rank != 0 and not (0 < asked.rank <= min(ranks, default=0)):
            self.assume([f"`{brief(asked.text)}` has no dimensions"])

    def _gradients(self, taken: Side, other: Side) -> None:
        if not self.learns:
            self.assume(kept_gradients(self._scene, self._node, [taken, other]))
            return
        if taken.slope == other.slope and taken.slope.tame:
            return
        wild = [one for one in (taken, other) if not one.slope.tame]
        if not wild:
            wild = [one for one, two in ((taken, other), (other, taken)) if one.slope.into - two.slope.into]
        for side in wild:
            self.assume([unchosen_gradient(_short(side), self._framework)])


def unchosen_gradient(code: str, framework: str) -> str:
    """Return what is assumed of a value into which a gradient goes even where it is not chosen, which is then made of zeros."""
    zeros = "" if framework == "jax" else ", and may be zero in place of None"
    return f"the gradient of `{code}` is finite where it is not chosen{zeros}"


def kept_gradients(scene: FunctionSource, node: cst.CSTNode, sides: Iterable[Side]) -> list[str]:
    """List what must hold under `no_grad`, where a variable keeps its gradient and what is computed from it has none."""
    statement = scene.statement(node)
    names = [side.text for side in sides if side.text in side.slope.into]
    return [f"`{name}` needs no gradient" for name in names if not made_before(scene, statement, name)]


def _short(side: Side) -> str:
    return brief(side.text)


def number_as_tensor(framework: str, sides: Iterable[Side] = ()) -> str:
    """Return what is assumed where a choice between Python numbers becomes a tensor. TensorFlow's do not take the dtype of what they
    meet.
    """
    whole = {side.type.kind for side in sides} == {"i"}
    kind = f"a tensor of {'int32' if whole else 'float32'}" if framework == "tensorflow" else "a tensor"
    return f"{kind} works where this was a Python number"


def assigned_name(scene: FunctionSource, node: cst.BaseExpression) -> str:
    """The name that an expression's value is assigned to, "" if it goes elsewhere."""
    holder = scene.parent(node)
    if isinstance(holder, cst.Assign) and len(holder.targets) == 1 and isinstance(holder.targets[0].target, cst.Name):
        return holder.targets[0].target.value
    return ""


def host_use(scene: FunctionSource, statement: cst.CSTNode, name: str) -> str:
    """How a name is used behind a statement in a way that a tensor cannot be used for instead of a number; "" if it is not."""
    for use in _later(scene, statement, name):
        if not _fits_tensor(scene, use):
            return scene.code(scene.statement(use)).split("\n")[0]
    return ""


def _fits_tensor(scene: FunctionSource, use: cst.Name) -> bool:
    holder = scene.parent(use)
    if isinstance(holder, (cst.BinaryOperation, cst.UnaryOperation, cst.AugAssign)):
        return not (isinstance(holder, cst.UnaryOperation) and isinstance(holder.operator, cst.Not))
    if isinstance(holder, (cst.Return, cst.Assign)):
        return True
    if isinstance(holder, cst.Arg):
        call = scene.parent(holder)
        return isinstance(call, cst.Call) and bool(operation(scene, call))
    return isinstance(holder, cst.Attribute)


def _later(scene: FunctionSource, statement: cst.CSTNode, name: str) -> Iterator[cst.Name]:
    """The reads of a name that may run after a statement: behind it, and before it in a loop around both."""
    start, end = scene.span(statement)
    loop = scene.nearest(scene.parent(statement), cst.For, cst.While)
    first = scene.span(loop)[0] if loop is not None else end
    for use in uses(scene, scene.function(statement) or scene.root, name):
        at = scene.span(use)[0]
        if at >= end or first <= at < start:
            yield use
