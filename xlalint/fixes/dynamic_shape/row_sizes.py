"""XLA206: sizes that a loop takes from rows of a tensor, number by number → all numbers, read once: `for h, w in sizes.tolist()`.

Each number that becomes a size waits for the device by itself. That sizes follow from values stays: the graph is another for other numbers.
Followed are the rows and all that is computed of them, up to where they are sizes; what else is made of one keeps the tensor.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import NamedTuple, Union

import libcst as cst

from xlalint.abstract.values import NONE, Tensor, members
from xlalint.fixes.model import Rewrite, Site, all_of
from xlalint.fixes.toolkit import values
from xlalint.fixes.toolkit.dataflow import bindings, definition, live_after, unpacking, uses
from xlalint.fixes.toolkit.function_source import FunctionSource, Replacement
from xlalint.fixes.toolkit.operations import arguments_of, is_method, names, operation

# What takes numbers as sizes, behind the tensor that it works on if it is one of these.
_OF_TENSOR = names(
    "broadcast_to expand interpolate narrow new_empty new_ones new_zeros pad repeat reshape split tile unflatten view"
)
_OF_SIZES = names("arange empty ones zeros")
_OF_NUMBERS = ("builtins.int", "builtins.max", "builtins.min")
_ARITHMETIC = (cst.Add, cst.FloorDivide, cst.Modulo, cst.Multiply, cst.Subtract)
_COMPREHENSIONS = (cst.DictComp, cst.GeneratorExp, cst.ListComp, cst.SetComp)
_SIDE_BY_SIDE = ("builtins.zip", "builtins.enumerate")
_MOST_DIMENSIONS = 2
# What callers may give in place of a tensor, by a parameter's annotation.
_OTHERS = re.compile(r"(?i)\b(?:any|iterable|list|ndarray|sequence|tuple)\b").search
_TESTS = (cst.If, cst.IfExp, cst.While)


_Loop = Union[cst.For, cst.CompFor]


class _Rows(NamedTuple):
    """A tensor over which a loop goes, and what the loop binds its rows to."""

    tensor: cst.Name
    target: cst.BaseExpression


def read_once(site: Site) -> Rewrite | None:
    """`for h, w in sizes: y.view(h, w)` → `for h, w in sizes.tolist(): y.view(h, w)`."""
    scene = site.scene
    function = scene.function(site.node)
    if site.framework != "torch" or function is None:
        return None
    for loop in scene.descend(function.body, cst.For, cst.CompFor):
        assert isinstance(loop, (cst.For, cst.CompFor))
        found = tuple(_find_rows(scene, function, loop)) if scene.function(loop) is function else ()
        for rows in filter(None, dict.fromkeys((found, *((one,) for one in found)))):
            flow = _Numbers(scene, function, loop, rows)
            if flow.only_sizes() and flow.reaches(site.node):
                return _rewrite(scene, flow)
    return None


def _rewrite(scene: FunctionSource, flow: _Numbers) -> Rewrite:
    assumed: list[str] = []
    edits: list[Replacement] = []
    for one in flow.rows:
        name, value = one.tensor.value, scene.value(one.tensor)
        if values.rank_of(value) < 0:
            assumed.append(f"`{name}` has {('one dimension', 'two dimensions')[flow.find_depth(one)]}")
        if values.dtype_of(value) != "i":
            assumed.append(f"`{name}` holds whole numbers")
        end = scene.whole(one.tensor)[1]
        edits.append(Replacement(end, end, ".tolist()"))
    return Rewrite("Read the numbers once", tuple(edits), all_of([*assumed, "nobody needs the numbers as tensors"]))


def _find_rows(scene: FunctionSource, function: cst.FunctionDef, loop: _Loop) -> Iterator[_Rows]:
    """The tensors with names that a loop goes over, also side by side in `zip` or counted by `enumerate`."""
    others = {
        param.name.value
        for param in scene.descend(function.params, cst.Param)
        if param.annotation is not None and _OTHERS(scene.code(param.annotation.annotation))
    }
    for over, target in _pair(scene, loop.iter, loop.target):
        if not isinstance(over, cst.Name) or over.value in others or bindings(scene, loop.target, over.value):
            continue
        # No loop goes over None.
        if values.are_on_device([one for one in members(scene.value(over)) if one is not NONE]):
            yield _Rows(over, target)


def _pair(
    scene: FunctionSource, over: cst.BaseExpression, target: cst.BaseExpression
) -> Iterator[tuple[cst.BaseExpression, cst.BaseExpression]]:
    """Yield each thing that a loop goes over, and the target that its elements are bound to."""
    called = values.callee(scene.value(over.func)) if isinstance(over, cst.Call) else ""
    if not isinstance(over, cst.Call) or called not in _SIDE_BY_SIDE:
        yield over, target
        return
    given = [arg.value for arg in over.args if arg.keyword is None and not arg.star]
    bound = [one.value for one in target.elements] if isinstance(target, cst.Tuple) else []
    if called == "builtins.enumerate":
        given, bound = given[:1], bound[1:]
    if len(given) == len(bound):
        for inner, name in zip(given, bound, strict=True):
            yield from _pair(scene, inner, name)


def _find_scope(scene: FunctionSource, loop: _Loop) -> cst.CSTNode:
    """Where the names that a loop binds are read: its body, or its comprehension."""
    return loop.body if isinstance(loop, cst.For) else scene.nearest(loop, *_COMPREHENSIONS) or loop


class _Numbers:
    """Follows all that a loop makes of a tensor's rows: numbers (of depth 0), rows of them (1), lists of rows (2)."""

    def __init__(self, scene: FunctionSource, function: cst.FunctionDef, loop: _Loop, rows: tuple[_Rows, ...]) -> None:
        self._scene = scene
        self._function = function
        self._scope = _find_scope(scene, loop)
        self._followed: dict[cst.CSTNode, int] = {}
        self._operands: list[cst.BaseExpression] = []
        self.rows = rows

    def find_depth(self, rows: _Rows) -> int:
        """Return whether a row is a number or holds numbers, by what is known of the tensor, else by how the row is used; -1 for more."""
        rank = values.rank_of(self._scene.value(rows.tensor))
        if rank >= 0:
            return rank - 1 if rank <= _MOST_DIMENSIONS else -1
        target = rows.target
        read = self._list_uses(self._scope, target) if isinstance(target, cst.Name) else []
        return int(isinstance(target, cst.Tuple) or any(map(self._is_taken_apart, read)))

    def _is_taken_apart(self, row: cst.Name) -> bool:
        holder = self._scene.parent(row)
        if isinstance(holder, cst.Assign):
            return isinstance(holder.targets[0].target, cst.Tuple)
        return isinstance(holder, cst.Subscript) and holder.value is row

    def only_sizes(self) -> bool:
        """Return whether all that is made of the rows are sizes."""
        depths = [self.find_depth(one) for one in self.rows]
        return (
            min(depths) >= 0
            and all(self._bind(one.target, depth, self._scope) for one, depth in zip(self.rows, depths, strict=True))
            and all(one in self._followed or self._is_number(one) for one in self._operands)
        )

    def _is_number(self, node: cst.BaseExpression) -> bool:
        return not any(type(one) is Tensor for one in members(self._scene.value(node)))

    def reaches(self, node: cst.CSTNode) -> bool:
        """Return whether a node is among what is made of the rows, or holds some of it."""
        return node in self._followed or any(self._scene.holds(node, one) for one in self._followed)

    def _list_uses(self, scope: cst.CSTNode, name: cst.Name) -> list[cst.Name]:
        """The reads of a name in a scope, but for those of comprehensions in it that bind a name like it themselves."""
        return [one for one in uses(self._scene, scope, name.value) if not self._is_bound_within(scope, one)]

    def _is_bound_within(self, scope: cst.CSTNode, use: cst.Name) -> bool:
        for around in self._scene.above(use):
            if around is scope:
                return False
            if isinstance(around, _COMPREHENSIONS) and bindings(self._scene, around.for_in, use.value):
                return True
        return False

    def _bind(self, target: cst.BaseExpression, depth: int, scope: cst.CSTNode) -> bool:
        """Follow what a loop binds, in its body."""
        scene = self._scene
        if isinstance(target, cst.Tuple):
            return depth > 0 and all(self._bind(one.value, depth - 1, scope) for one in target.elements)
        if not isinstance(target, cst.Name):
            return False
        if isinstance(scope, cst.IndentedBlock):
            loop = scene.parent(scope)
            behind = isinstance(loop, cst.For) and live_after(scene, loop, target.value)
            if behind or bindings(scene, scope, target.value):
                return False
        return all(self._follow(use, depth) for use in self._list_uses(scope, target))

    def _follow(self, node: cst.BaseExpression, depth: int) -> bool:
        """Follow a value to what is made of it; False where that is something else than numbers."""
        if node in self._followed:
            return self._followed[node] == depth
        self._followed[node] = depth
        holder = self._scene.parent(node)
        if isinstance(holder, cst.Subscript) and holder.value is node:
            return depth > 0 and self._is_element(holder) and self._follow(holder, depth - 1)
        if isinstance(holder, cst.BinaryOperation):
            self._operands += [holder.left, holder.right]
            return depth == 0 and isinstance(holder.operator, _ARITHMETIC) and self._follow(holder, 0)
        if isinstance(holder, cst.Element):
            around = self._scene.parent(holder)
            self._operands += (
                [one.value for one in around.elements] if isinstance(around, (cst.List, cst.Tuple)) else []
            )
            return isinstance(around, (cst.List, cst.Tuple)) and self._follow(around, depth + 1)
        if isinstance(holder, (cst.GeneratorExp, cst.ListComp)) and holder.elt is node:
            return self._follow(holder, depth + 1)
        if isinstance(holder, cst.Comparison):
            return depth == 0 and isinstance(self._scene.parent(holder), _TESTS)
        if isinstance(holder, cst.Slice):
            return depth == 0
        if isinstance(holder, cst.Arg):
            return self._follow_argument(holder, depth)
        if isinstance(holder, (cst.For, cst.CompFor)) and holder.iter is node:
            return depth > 0 and self._iterate(holder, node, depth)
        return isinstance(holder, cst.Assign) and self._assign(holder, depth)

    def _is_element(self, node: cst.Subscript) -> bool:
        return all(isinstance(one.slice, cst.Index) and self._is_number(one.slice.value) for one in node.slice)

    def _follow_argument(self, arg: cst.Arg, depth: int) -> bool:
        scene = self._scene
        call = scene.parent(arg)
        if not isinstance(call, cst.Call) or arg.star:
            return False
        called, name = values.callee(scene.value(call.func)), operation(scene, call)
        if called in _OF_NUMBERS and depth == 0:
            self._operands += [one.value for one in call.args]
            return self._follow(call, 0)
        if called in _SIDE_BY_SIDE:
            loop = scene.parent(call)
            return depth > 0 and isinstance(loop, (cst.For, cst.CompFor)) and self._iterate(loop, arg.value, depth)
        if called == "builtins.range" or name in _OF_SIZES:
            return depth < 2
        given = arguments_of(scene, call)
        return name in _OF_TENSOR and depth < 2 and not (given and given[0] is arg.value and not is_method(scene, call))

    def _iterate(self, loop: _Loop, over: cst.BaseExpression, depth: int) -> bool:
        found = [target for one, target in _pair(self._scene, loop.iter, loop.target) if one is over]
        return len(found) == 1 and self._bind(found[0], depth - 1, _find_scope(self._scene, loop))

    def _assign(self, assign: cst.Assign, depth: int) -> bool:
        """Follow the names that an assignment binds, to where they surely have this value."""
        if len(assign.targets) != 1:
            return False
        target = assign.targets[0].target
        parts = [one.value for one in target.elements] if isinstance(target, cst.Tuple) else [target]
        inner = depth - isinstance(target, cst.Tuple)
        return inner >= 0 and all(
            isinstance(part, cst.Name) and self._follow_name(assign, part, inner) for part in parts
        )

    def _follow_name(self, assign: cst.Assign, name: cst.Name, depth: int) -> bool:
        scene = self._scene
        repeated = scene.nearest(scene.parent(assign), cst.For, cst.While) is not None
        for use in self._list_uses(self._function.body, name):
            bound = definition(scene, use) or unpacking(scene, use)
            if bound is assign and not self._follow(use, depth):
                return False
            if bound is None and (repeated or scene.span(use)[0] > scene.span(assign)[1]):
                return False
        return True
