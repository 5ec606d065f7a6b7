"""XLA208, XLA301, XLA302: loops that pick from each row by an index of its own → one index of all rows.

`out[i] = x[i, idx[i]]` and `torch.stack([x[i, idx[i]] for i in range(len(x))])` are `x[torch.arange(len(x)), idx]`: an index by tensors
copies as `stack` does, takes negative places alike, and hands gradients to where they came from.
"""

from __future__ import annotations

from typing import NamedTuple, Union

import libcst as cst

from xlalint.abstract.values import Const
from xlalint.fixes.dynamic_shape.slices import is_ellipsis
from xlalint.fixes.model import NoFix, Rewrite, Site, all_of
from xlalint.fixes.toolkit import values
from xlalint.fixes.toolkit.dataflow import binds, definition, live_after, reads, uses
from xlalint.fixes.toolkit.function_source import FunctionSource, Replacement
from xlalint.fixes.toolkit.imports import Imports
from xlalint.fixes.toolkit.removal import end_of
from xlalint.fixes.toolkit.row_counts import has_rows, made_by, row_counts, take_first
from xlalint.fixes.toolkit.text import atom, bare_extent

_Turns = Union[cst.For, cst.CompFor]


class _Picked(NamedTuple):
    """`x[i, idx[i], :]`, told for all turns: the tensor, its index with `{}` for the numbers of the rows, and the indices of all rows."""

    whole: cst.BaseExpression
    parts: str
    places: cst.BaseExpression


def index_all_rows(site: Site) -> Rewrite | NoFix | None:
    """The loop around a finding as one index of all rows."""
    scene = site.scene
    around = scene.nearest(site.node, cst.For, cst.ListComp)
    if site.framework != "torch":
        return None
    if isinstance(around, cst.ListComp):
        return _rewrite_comprehension(site, around)
    return _rewrite_loop(site, around) if isinstance(around, cst.For) else None


def _rewrite_comprehension(site: Site, node: cst.ListComp) -> Rewrite | NoFix | None:
    """`torch.stack([x[i, idx[i]] for i in range(n)])`."""
    scene, turns = site.scene, node.for_in
    stack = _stack_of(scene, node)
    if stack is None or turns.ifs or turns.inner_for_in is not None or turns.asynchronous is not None:
        return None
    found = _Rows(scene, turns, {}).read_iteration(node.elt)
    if not isinstance(found, tuple):
        return found
    picked, count, assumed = found
    imports = Imports(scene, stack)
    text = _text(scene, picked, count, imports)
    edits = (Replacement(*bare_extent(scene, stack), text), *imports.needed)
    return Rewrite("Index all rows at once", edits, all_of(assumed))


def _rewrite_loop(site: Site, loop: cst.For) -> Rewrite | NoFix | None:
    """`out[i] = x[i, idx[i]]`, `rows.append(x[i, idx[i]])`."""
    scene = site.scene
    if loop.orelse is not None or loop.asynchronous is not None:
        return None
    *first, last = loop.body.body or (loop,)
    given = {name: value for line in first for name, value in _read_assignment(scene, line)}
    if len(given) != len(first) or not isinstance(last, cst.SimpleStatementLine) or len(last.body) != 1:
        return None
    if any(live_after(scene, loop, name) for name in binds(scene, loop)):
        return None
    rows = _Rows(scene, loop, given)
    one = last.body[0]
    if isinstance(one, cst.Assign) and len(one.targets) == 1:
        return _rewrite_store(site, loop, one, rows)
    return _rewrite_append(site, loop, one.value, rows) if isinstance(one, cst.Expr) else None


def _read_assignment(scene: FunctionSource, line: cst.CSTNode) -> list[tuple[str, cst.BaseExpression]]:
    """The name and value of a line `j = idx[i]`."""
    one = line.body[0] if isinstance(line, cst.SimpleStatementLine) and len(line.body) == 1 else None
    if not isinstance(one, cst.Assign) or len(one.targets) != 1 or not isinstance(one.targets[0].target, cst.Name):
        return []
    return [(one.targets[0].target.value, one.value)]


def _rewrite_store(site: Site, loop: cst.For, one: cst.Assign, rows: _Rows) -> Rewrite | NoFix | None:
    scene, target = site.scene, one.targets[0].target
    if not isinstance(target, cst.Subscript) or not rows.is_row(target) or len(target.slice) != 1:
        return None
    if site.node is target:
        return None  # the rows are copied into host memory: all at once they still are
    found = rows.read_iteration(one.value)
    if not isinstance(found, tuple):
        return found
    picked, count, assumed = found
    out = target.value
    if not isinstance(out, cst.Name) or not values.is_tensor(scene.value(out), "torch"):
        return NoFix(f"it is not known that `{scene.code(out)}` is a tensor in every call")
    if scene.code(out) in (scene.code(picked.whole), scene.code(picked.places)):
        return NoFix(f"`{scene.code(out)}` is both read and written in the loop")
    imports = Imports(scene, loop)
    part = ":" if has_rows(scene, out, count) else take_first(count)
    text = f"{out.value}[{part}] = {_text(scene, picked, count, imports)}"
    if values.rank_of(scene.value(out)) != values.rank_of(scene.value(one.value)) + 1:
        assumed.append(f"a row of `{out.value}` has the shape of `{scene.code(one.value)}`")
    if made_by(scene, out) is None:
        assumed.append(f"`{out.value}` shares no memory with `{scene.code(picked.whole)}`")
    return Rewrite(
        "Index all rows at once",
        (Replacement(scene.span(loop)[0], end_of(scene, loop), text), *imports.needed),
        all_of(assumed),
    )


def _rewrite_append(site: Site, loop: cst.For, call: cst.BaseExpression, rows: _Rows) -> Rewrite | NoFix | None:
    scene = site.scene
    if not isinstance(call, cst.Call) or not isinstance(call.func, cst.Attribute) or len(call.args) != 1:
        return None
    listed, function = call.func.value, scene.function(loop)
    if call.func.attr.value != "append" or not isinstance(listed, cst.Name) or function is None:
        return None
    found = rows.read_iteration(call.args[0].value)
    if not isinstance(found, tuple):
        return found
    picked, count, assumed = found
    made = definition(scene, listed)
    later = [use for use in uses(scene, function, listed.value) if use is not listed]
    stack = _stack_of(scene, later[0]) if len(later) == 1 else None
    if made is None or scene.code(made.value) not in ("[]", "list()") or stack is None:
        return NoFix(
            f"`{listed.value}` is used for more than stacking: index all rows at once, `x[torch.arange(n), idx]`"
        )
    siblings, index = scene.siblings(loop)
    following = siblings[index + 1] if index + 1 < len(siblings) else None
    line = scene.statement(made)
    if following is not scene.statement(stack) or len([*_all_names(scene, function, listed.value)]) != 3:
        return NoFix(f"`{listed.value}` is stacked elsewhere: index all rows at once, `x[torch.arange(n), idx]`")
    imports = Imports(scene, stack)
    text = _text(scene, picked, count, imports)
    edits = [Replacement(*scene.lines(line), ""), Replacement(*scene.lines(loop), "")]
    edits.append(Replacement(*bare_extent(scene, stack), text))
    return Rewrite("Index all rows at once", (*edits, *imports.needed), all_of(assumed))


def _all_names(scene: FunctionSource, function: cst.FunctionDef, name: str) -> list[cst.Name]:
    return [one for one in scene.descend(function, cst.Name) if one.value == name]


def _stack_of(scene: FunctionSource, node: cst.BaseExpression) -> cst.Call | None:
    """The call of `torch.stack` along the first dimension that takes an expression."""
    arg = scene.parent(node)
    call = scene.parent(arg) if isinstance(arg, cst.Arg) else None
    if not isinstance(call, cst.Call) or call.args[0] is not arg or arg.keyword is not None or arg.star:
        return None
    if values.callee(scene.value(call.func)) != "torch.stack" or len(call.args) > 2:
        return None
    along = [scene.code(one.value) for one in call.args[1:] if one.keyword is None or one.keyword.value == "dim"]
    return call if len(along) == len(call.args) - 1 and along in ([], ["0"]) else None


def _text(scene: FunctionSource, picked: _Picked, count: str, imports: Imports) -> str:
    whole = atom(scene, picked.whole)
    every = f"{imports.name('torch')}.arange({count}, device={whole}.device)"
    return f"{whole}[{picked.parts.format(every)}]"


class _Rows:
    """A loop over rows: which names count them, are one, or are an element of a vector with one for each."""

    def __init__(self, scene: FunctionSource, turns: _Turns, given: dict[str, cst.BaseExpression]) -> None:
        self._scene = scene
        self._given = given
        self._number = ""
        self._elements: dict[str, cst.BaseExpression] = {}
        self._count = ""
        self._bound = binds(scene, turns.target) | set(given)
        self._head(turns)

    def _head(self, turns: _Turns) -> None:
        """`i in range(n)`, `i, k in enumerate(idx)`, `row, k in zip(x, idx)`."""
        call = turns.iter
        name = values.callee(self._scene.value(call.func)) if isinstance(call, cst.Call) else ""
        given = (
            [arg.value for arg in call.args if arg.keyword is None and not arg.star]
            if isinstance(call, cst.Call)
            else []
        )
        if not isinstance(call, cst.Call) or len(given) != len(call.args):
            return
        targets = (
            [one.value for one in turns.target.elements] if isinstance(turns.target, cst.Tuple) else [turns.target]
        )
        if not all(isinstance(one, cst.Name) for one in targets):
            return
        named = [one.value for one in targets if isinstance(one, cst.Name)]
        if name == "builtins.range" and len(given) == len(named) == 1:
            if not self._varies(given[0]) and not any(self._scene.descend(given[0], cst.NamedExpr)):
                self._number, self._count = named[0], self._scene.code(given[0])
        elif name == "builtins.enumerate" and len(given) == 1 and len(named) == 2:
            self._number = named[0]
            self._elements[named[1]] = self._vector_of(given[0])
            self._count = f"{atom(self._scene, self._elements[named[1]])}.shape[0]"
        elif name == "builtins.zip" and len(given) == len(named):
            self._elements = {one: self._vector_of(value) for one, value in zip(named, given, strict=True)}
            self._count = f"{atom(self._scene, next(iter(self._elements.values())))}.shape[0]"

    def _vector_of(self, node: cst.BaseExpression) -> cst.BaseExpression:
        """`idx` of `idx.tolist()`."""
        if isinstance(node, cst.Call) and isinstance(node.func, cst.Attribute) and not node.args:
            return node.func.value if node.func.attr.value == "tolist" else node
        return node

    def read_iteration(self, node: cst.BaseExpression) -> tuple[_Picked, str, list[str]] | NoFix | None:
        """Read what a turn picks, how many turns there are, and what is assumed."""
        scene = self._scene
        row = self._row(node)
        if row is None or not self._count:
            return None
        whole, parts = row
        places: cst.BaseExpression | None = None
        texts = ["{}"]
        for part in parts:
            if isinstance(part, cst.Slice) or is_ellipsis(part):
                if reads(scene, part) & self._bound:
                    return None
                texts.append(scene.code(part).replace("{", "{{").replace("}", "}}"))
                continue
            assert isinstance(part, cst.Index)
            found = self._places(part.value)
            if found is None or places is not None:
                return None
            places, text = found
            texts.append(text)
        if places is None:
            return None
        for one in (whole, places):
            if not values.is_tensor(scene.value(one), "torch"):
                return NoFix(f"`{scene.code(one)}` is not a tensor in every call")
        if values.dtype_of(scene.value(places)) not in ("i", ""):
            return NoFix(f"`{scene.code(places)}` holds no integers")
        return _Picked(whole, ", ".join(texts), places), self._count, self._assumptions(whole, places)

    def _assumptions(self, whole: cst.BaseExpression, places: cst.BaseExpression) -> list[str]:
        scene, code = self._scene, self._scene.code(places)
        assumed = [f"`{code}` holds integers on the device of `{scene.code(whole)}`, within it"]
        if values.rank_of(scene.value(places)) != 1:
            assumed.append(f"`{code}` has one dimension")
        if self._count not in row_counts(code):
            assumed.append(f"`{code}` has one element for each iteration")
        return assumed

    def is_row(self, node: cst.BaseExpression) -> bool:
        """Return whether an expression is `x[i]`, or more of that row."""
        if not isinstance(node, cst.Subscript) or self._varies(node.value) or not self._number:
            return False
        first = node.slice[0].slice
        return isinstance(first, cst.Index) and self._scene.code(first.value) == self._number

    def _row(self, node: cst.BaseExpression) -> tuple[cst.BaseExpression, list[cst.BaseSlice]] | None:
        """The tensor of whose row an expression is a part, and the index of that part."""
        if isinstance(node, cst.Name) and node.value in self._elements:
            return self._elements[node.value], []
        if isinstance(node, cst.Name) and node.value in self._given:
            return self._row(self._given[node.value])
        if not isinstance(node, cst.Subscript):
            return None
        parts = [element.slice for element in node.slice]
        if self.is_row(node):
            return (node.value, parts[1:]) if _is_variable(node.value) else None
        inner = self._row(node.value)
        if inner is None or inner[1] or not _is_variable(inner[0]):
            return None
        return inner[0], parts

    def _places(self, node: cst.BaseExpression) -> tuple[cst.BaseExpression, str] | None:
        """The vector of whose element for the turn an index is made, and the code that makes all rows' indices of it."""
        scene = self._scene
        if isinstance(node, cst.Name) and node.value in self._given:
            return self._places(self._given[node.value])
        if isinstance(node, cst.Name) and node.value in self._elements:
            vector = self._elements[node.value]
            return (vector, scene.code(vector)) if _is_variable(vector) else None
        if self.is_row(node) and isinstance(node, cst.Subscript) and len(node.slice) == 1:
            return (node.value, scene.code(node.value)) if _is_variable(node.value) else None
        if isinstance(node, cst.Call):
            return self._read(node)
        if isinstance(node, cst.BinaryOperation) and isinstance(node.operator, (cst.Add, cst.Subtract)):
            number = scene.value(node.right)
            inner = self._places(node.left)
            if inner is None or type(number) is not Const or type(number.value) is not int:
                return None
            return inner[0], f"{inner[1]} {'+' if isinstance(node.operator, cst.Add) else '-'} {scene.code(node.right)}"
        return None

    def _read(self, node: cst.Call) -> tuple[cst.BaseExpression, str] | None:
        """`idx[i].item()`, `int(idx[i])`."""
        if isinstance(node.func, cst.Attribute) and node.func.attr.value == "item" and not node.args:
            return self._places(node.func.value)
        called = values.callee(self._scene.value(node.func)) == "builtins.int" and len(node.args) == 1
        return self._places(node.args[0].value) if called else None

    def _varies(self, node: cst.BaseExpression) -> bool:
        return bool(reads(self._scene, node) & self._bound)


def _is_variable(node: cst.BaseExpression) -> bool:
    """Return whether an expression is a name, or an attribute of one, which is the same in all turns."""
    while isinstance(node, cst.Attribute):
        node = node.value
    return isinstance(node, cst.Name)
