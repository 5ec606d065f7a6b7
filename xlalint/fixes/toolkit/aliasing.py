"""Decides whether anyone can see that a tensor became a copy: what may share its memory, who writes into that, what leaves the function.

`y = f(x) if c else x` gives `x` itself where the condition does not hold, `torch.where(c, f(x), x)` always gives a tensor of its own. That
shows where somebody writes into one of the two in place and somebody else reads the other one afterwards.

Everything here errs on the side of "it may": an operation that is not known to give a tensor of its own may give its operand or a view of
it, a function that is not known may write into what it is given, and so may the caller into what is returned.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator
from enum import IntEnum
from typing import NamedTuple, Union
from weakref import WeakKeyDictionary

import libcst as cst

from xlalint.abstract.values import UNKNOWN, LibraryInstance, Tensor, members
from xlalint.fixes.toolkit import values
from xlalint.fixes.toolkit.dataflow import binds, live_after, reads, reads_after, uses
from xlalint.fixes.toolkit.function_source import FunctionSource
from xlalint.fixes.toolkit.occurrences import occurrences
from xlalint.fixes.toolkit.operations import arguments_of, is_inplace, is_method, makes_new, operation
from xlalint.fixes.toolkit.ownership import owned
from xlalint.fixes.toolkit.text import brief


class Fate(IntEnum):
    """The most that may happen to a tensor, and to views of it, where code goes on."""

    READ = 0
    """It is read in the function, and gone at its end."""
    RETURNED = 1
    """It is returned: the caller may write into it."""
    GIVEN = 2
    """It is stored, or passed to code that may write into it."""
    WRITTEN = 3
    """It is written into."""


Original = Union[cst.BaseExpression, str]
"""A value that a name, or an expression, was so far: an expression, or the name of a variable that kept what it held."""

# Attributes of tensors that are no tensors, and those that share memory.
_PLAIN = frozenset(
    ("device", "dtype", "is_cuda", "itemsize", "layout", "names", "nbytes", "ndim", "requires_grad", "shape")
)
# Builtins that keep nothing of what they are given.
_READING = frozenset(
    f"builtins.{name}"
    for name in (
        "bool",
        "float",
        "format",
        "hash",
        "id",
        "int",
        "isinstance",
        "len",
        "print",
        "range",
        "repr",
        "str",
        "type",
    )
)
# Methods of tensors that give no tensor.
_ASKING = frozenset(
    ("backward", "dim", "element_size", "get_device", "is_contiguous", "item", "numel", "size", "stride", "tolist")
)


def copy_shows(
    scene: FunctionSource, statement: cst.CSTNode, result: Original, originals: Iterable[Original]
) -> list[str]:
    """List what must hold for nobody to see that a result is a copy; nothing where nobody can.

    `result` is a name that a statement binds, or an expression in it, `originals` what it was so far, one or the other.
    """
    memory = _Memory(scene)
    names: set[str] = set()
    outside = False
    for one in originals:
        found = {one} if isinstance(one, str) else memory.find_sources(one)
        place = statement if isinstance(one, str) else scene.statement(one)
        outside |= "" in found or any(not owned(scene, place, name) for name in found if name)
        names |= found - {""}
    own = result if isinstance(result, str) else ""
    others = sorted(name for name in memory.find_sharing(names) - {own} if memory.is_live(statement, name))
    if not outside and not others:
        return []
    fate = memory.fate_of_name(statement, own) if own else memory.fate_of(result)  # type: ignore[arg-type]
    told = f"`{own}`" if own else f"what `{brief(scene.code(result))}` gives"  # type: ignore[arg-type]
    if fate is Fate.WRITTEN:
        return [f"nothing else holds the tensor {told}, which is changed in place afterwards"]
    if fate is Fate.RETURNED:
        return ["no caller changes what is returned in place"]
    if fate is Fate.GIVEN:
        return [f"what takes {told} does not change it in place"]
    written = [name for name in others if memory.fate_of_name(statement, name) in (Fate.GIVEN, Fate.WRITTEN)]
    if not written and outside:
        # What functions give, and what comes from outside, may share memory too: that counts where it is surely written into.
        found = memory.find_sharing({*names, ""}, wide=True) - {own, ""}
        tensors = (
            name for name in found if "." in name or (_holds_tensors(scene, name) and not owned(scene, statement, name))
        )
        written = sorted(name for name in tensors if memory.fate_of_name(statement, name) is Fate.WRITTEN)
    return [f"`{name}` is not changed in place afterwards" for name in written[:1]]


def is_written(scene: FunctionSource, statement: cst.CSTNode, name: str) -> bool:
    """Return whether, after a statement, something is written in place into what a variable holds then."""
    return _Memory(scene).fate_of_name(statement, name) is Fate.WRITTEN


_EXPANDING = frozenset(("as_strided", "broadcast_tensors", "broadcast_to", "expand", "expand_as", "meshgrid"))


def overlaps(scene: FunctionSource, node: cst.BaseExpression) -> bool:
    """Return whether elements of a tensor may lie in one place, because the function widened it: torch copies nothing into such."""
    memory = _Memory(scene)
    names = memory.find_sharing(memory.find_sources(node) - {""})
    made = [value for targets, value in _find_assignments(scene) for target in targets if binds(scene, target) & names]
    return any(operation(scene, call) in _EXPANDING for one in (node, *made) for call in scene.descend(one, cst.Call))


class _Memory:
    """Tells what may share memory in one scene, and what happens to it."""

    def __init__(self, scene: FunctionSource) -> None:
        self._scene = scene
        self._seen: set[tuple[cst.CSTNode, str]] = set()

    # ------------------------------------------------------------------------------------------- where it comes from

    def find_sources(self, node: cst.BaseExpression) -> set[str]:
        """Return the names of variables whose tensors an expression may give, or views of them; "" stands for all that is no variable."""
        scene = self._scene
        if values.is_number(scene.value(node)):
            return set()
        if isinstance(node, cst.Name):
            return {node.value}
        if isinstance(node, cst.Attribute):
            return (
                self.find_sources(node.value)
                if values.is_tensor(scene.value(node.value), "torch")
                else {"", scene.code(node)}
            )
        if isinstance(node, cst.Subscript):
            return self.find_sources(node.value)
        if isinstance(node, cst.UnaryOperation):
            return self.find_sources(node.expression) if isinstance(node.operator, cst.Plus) else set()
        if isinstance(node, (cst.Comparison, cst.BaseNumber, cst.BaseString)):
            return set()
        if isinstance(node, cst.BinaryOperation):
            return set() if values.tensors_only(scene.value(node)) else {""}
        if isinstance(node, cst.IfExp):
            return self.find_sources(node.body) | self.find_sources(node.orelse)
        if isinstance(node, cst.NamedExpr):
            return self.find_sources(node.value)
        if isinstance(node, cst.Call):
            return self._find_sources_of_call(node)
        return {""}

    def _find_sources_of_call(self, node: cst.Call) -> set[str]:
        if makes_new(self._scene, node):
            return set()
        if not operation(self._scene, node):
            return {""}
        found: set[str] = set()
        for operand in arguments_of(self._scene, node):
            found |= self.find_sources(operand)
        return found | {""} if any(arg.star for arg in node.args) else found

    def find_sharing(self, names: set[str], *, wide: bool = False) -> set[str]:
        """Return the variables and attributes of the scene that may share memory with some, wherever they are bound, these among them.

        `wide` counts what a function that is not known may give of its arguments, and takes all that comes from outside for one memory.
        """
        tables = _sharing(self._scene, self)
        found = set(names)
        todo = list(found)
        while todo:
            name = todo.pop()
            linked = tables.direct[name] | tables.wide[name] if wide else tables.direct[name]
            todo += linked - found
            found |= linked
        return found

    # --------------------------------------------------------------------------------------------- where it goes

    def is_live(self, statement: cst.CSTNode, name: str) -> bool:
        """Return whether a variable, or an attribute, may be read after a statement."""
        return (
            bool(self._attributes_after(statement, name)) if "." in name else live_after(self._scene, statement, name)
        )

    def _attributes_after(self, statement: cst.CSTNode, path: str) -> list[cst.Attribute]:
        scene = self._scene
        loop = scene.nearest(scene.parent(statement), cst.For, cst.While)
        since = scene.extent(statement)[1] if loop is None else scene.extent(loop)[0]
        found = scene.descend(scene.function(statement) or scene.root, cst.Attribute)
        return [one for one in found if scene.extent(one)[0] >= since and scene.code(one) == path]

    def fate_of_name(self, statement: cst.CSTNode, name: str) -> Fate:
        """Return what may happen, after a statement, to what a variable, or an attribute, holds then."""
        if "." in name:
            return self._most(self._attributes_after(statement, name))
        if (statement, name) in self._seen:
            return Fate.READ
        self._seen.add((statement, name))
        function = self._scene.function(statement) or self._scene.root
        if occurrences(self._scene).read_by_nested(function, name):
            return Fate.GIVEN
        return self._most(reads_after(self._scene, statement, name))

    def _most(self, found: Iterable[cst.BaseExpression]) -> Fate:
        return max(map(self.fate_of, found), default=Fate.READ)

    def fate_of(self, node: cst.CSTNode) -> Fate:
        """Return what may happen to an expression's value."""
        scene = self._scene
        holder = scene.parent(node)
        if isinstance(holder, cst.Attribute) and holder.value is node:
            return self._of_attribute(holder)
        if isinstance(holder, cst.Subscript) and holder.value is node:
            if isinstance(scene.parent(holder), (cst.AssignTarget, cst.AugAssign, cst.Del)):
                return Fate.WRITTEN
            return self.fate_of(holder)
        if isinstance(holder, cst.AugAssign):
            return Fate.WRITTEN if holder.target is node else self._of_operand(holder.target)
        if isinstance(holder, cst.Arg):
            return self._of_argument(holder)
        if isinstance(holder, (cst.Return, cst.Yield)):
            return Fate.RETURNED
        if isinstance(holder, (cst.Assign, cst.AnnAssign)):
            targets = [one.target for one in holder.targets] if isinstance(holder, cst.Assign) else [holder.target]
            return max(self._of_target(holder, target) for target in targets)
        if isinstance(holder, cst.For) and holder.iter is node:
            names = binds(scene, holder.target)
            return max((self._most(uses(scene, holder.body, name)) for name in names), default=Fate.READ)
        if isinstance(holder, cst.NamedExpr) and holder.value is node:
            return max(self._of_target(holder, holder.target), self.fate_of(holder))
        return self._of_other(node, holder)

    def _of_other(self, node: cst.CSTNode, holder: cst.CSTNode) -> Fate:
        if isinstance(holder, cst.IfExp):
            return Fate.READ if holder.test is node else self.fate_of(holder)
        if isinstance(holder, (cst.BooleanOperation, cst.Tuple, cst.List, cst.Element)):
            return self.fate_of(holder)
        if isinstance(holder, cst.BinaryOperation):
            return self._of_operand(holder.right if holder.left is node else holder.left)
        if isinstance(holder, cst.UnaryOperation):
            return self.fate_of(holder) if isinstance(holder.operator, cst.Plus) else Fate.READ
        reading = (cst.Comparison, cst.ComparisonTarget, cst.Index, cst.Slice, cst.If, cst.While, cst.Assert, cst.Expr)
        return Fate.READ if isinstance(holder, (*reading, cst.FormattedStringExpression)) else Fate.GIVEN

    def _of_operand(self, other: cst.BaseExpression) -> Fate:
        """An operand beside another one: lists of tensors are joined by the same operators."""
        value = self._scene.value(other)
        return Fate.READ if values.tensors_only(value) or values.is_number(value) else Fate.GIVEN

    def _of_attribute(self, holder: cst.Attribute) -> Fate:
        scene, name = self._scene, holder.attr.value
        call = scene.parent(holder)
        if not (isinstance(call, cst.Call) and call.func is holder):
            if isinstance(call, (cst.AssignTarget, cst.AugAssign)):
                return Fate.WRITTEN
            return Fate.READ if name in _PLAIN else self.fate_of(holder)
        if not is_method(scene, call):
            return Fate.GIVEN
        if is_inplace(scene, call):
            return Fate.WRITTEN
        if makes_new(scene, call) or name in _ASKING:
            return Fate.READ
        return self.fate_of(call) if operation(scene, call) else Fate.GIVEN

    def _of_argument(self, arg: cst.Arg) -> Fate:
        scene = self._scene
        call = scene.parent(arg)
        if not isinstance(call, cst.Call):
            return Fate.GIVEN
        if values.callee(scene.value(call.func)) in _READING:
            return Fate.READ
        if isinstance(scene.value(call.func), LibraryInstance):
            return Fate.READ if makes_new(scene, call) else Fate.GIVEN
        if not operation(scene, call) or arg.star:
            return Fate.GIVEN
        if is_inplace(scene, call) or (arg.keyword is not None and arg.keyword.value == "out"):
            return Fate.WRITTEN
        return Fate.READ if makes_new(scene, call) else self.fate_of(call)

    def _of_target(self, holder: cst.CSTNode, target: cst.BaseExpression) -> Fate:
        """A value that is assigned to a name, to several by their order, or to what lasts."""
        if not isinstance(target, (cst.Name, cst.Tuple, cst.List)):
            return Fate.GIVEN
        statement = self._scene.statement(holder)
        names = binds(self._scene, target) or {name.value for name in self._scene.descend(target, cst.Name)}
        return max((self.fate_of_name(statement, name) for name in names), default=Fate.READ)


class _Links(NamedTuple):
    """Maps variables to those that share memory by some assignment; `wide` to all those that nothing rules out, "" to the outside."""

    direct: defaultdict[str, set[str]]
    wide: defaultdict[str, set[str]]


_known: WeakKeyDictionary[FunctionSource, _Links] = WeakKeyDictionary()


def _sharing(scene: FunctionSource, memory: _Memory) -> _Links:
    """The links of a scene, worked out once."""
    links = _known.get(scene)
    if links is None:
        links = _known[scene] = _Links(defaultdict(set), defaultdict(set))
        for param in scene.descend(scene.root, cst.Param):
            _link(links.wide, {param.name.value, ""})
        for targets, value in _find_assignments(scene):
            bound = {name for target in targets for name in _find_holders(scene, target)}
            given = memory.find_sources(value)
            if isinstance(value, _HOLDERS):
                given = {name.value for name in scene.descend(value, cst.Name)}
            _link(links.direct, bound | given - {""})
            if "" in given:
                _link(links.wide, bound | {"", *_find_tensors(scene, value)})
    return links


# What holds the tensors of its elements.
_HOLDERS = (cst.Tuple, cst.List, cst.Set, cst.Dict, cst.ListComp, cst.DictComp, cst.GeneratorExp)


def _link(table: defaultdict[str, set[str]], names: set[str]) -> None:
    for name in names:
        table[name] |= names - {name}


def _find_holders(scene: FunctionSource, target: cst.BaseExpression) -> set[str]:
    """The names that a target binds, or the attribute that it is; of `table[key]` the table."""
    while isinstance(target, cst.Subscript):
        target = target.value
    if isinstance(target, cst.Attribute):
        return {scene.code(target)}
    return {target.value} if isinstance(target, cst.Name) else binds(scene, target)


def _find_tensors(scene: FunctionSource, node: cst.BaseExpression) -> set[str]:
    """The variables of which an expression is made that may hold tensors."""
    return {name for name in reads(scene, node) if _holds_tensors(scene, name)}


def _holds_tensors(scene: FunctionSource, name: str) -> bool:
    """Return whether a variable may hold a tensor somewhere."""
    found = (scene.value(use) for use in uses(scene, scene.root, name))
    return any(value is UNKNOWN or any(type(one) is Tensor for one in members(value)) for value in found)


def _find_assignments(scene: FunctionSource) -> Iterator[tuple[list[cst.BaseExpression], cst.BaseExpression]]:
    for one in scene.descend(scene.root, cst.Assign):
        yield [target.target for target in one.targets], one.value
    for annotated in scene.descend(scene.root, cst.AnnAssign):
        if annotated.value is not None:
            yield [annotated.target], annotated.value
    for loop in scene.descend(scene.root, cst.For):
        yield [loop.target], loop.iter
    for walrus in scene.descend(scene.root, cst.NamedExpr):
        yield [walrus.target], walrus.value
