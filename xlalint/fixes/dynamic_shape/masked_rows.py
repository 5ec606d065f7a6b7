"""XLA201, XLA204 and XLA205: rows that a mask selects, computed each by itself and put back → all rows computed, and chosen from.

`y = self.mlp(x[mask])`, `x[mask] += y`: as many rows as the mask has true elements, anew at each call. What is computed of the others is
not finite perhaps, and is left out by `torch.where`.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

import libcst as cst

from xlalint.fixes.dynamic_shape.mask_assignment import select_at
from xlalint.fixes.model import NoFix, Rewrite, Site, all_of
from xlalint.fixes.toolkit import values
from xlalint.fixes.toolkit.dataflow import binds, live_after, reads
from xlalint.fixes.toolkit.function_source import FunctionSource, Replacement
from xlalint.fixes.toolkit.imports import Imports
from xlalint.fixes.toolkit.operations import arguments_of, is_inplace, operation
from xlalint.fixes.toolkit.picking import Selection, selection
from xlalint.fixes.toolkit.row_wise import ELEMENTWISE, Rows, rows_of
from xlalint.fixes.toolkit.text import argument, brief, call, width_of

_SIGNS = {cst.AddAssign: "+", cst.SubtractAssign: "-", cst.MultiplyAssign: "*"}


def compute_all_rows(site: Site) -> Rewrite | NoFix | None:
    """Compute all rows where some are computed and put back, in one block."""
    scene = site.scene
    if site.framework != "torch" or not isinstance(site.node, cst.Subscript):
        return None
    picked = selection(scene, site.node)
    if picked is None or not values.is_bool(scene.value(picked.mask)):
        return None
    rows = _Rows(site, picked.mask)
    if not rows.read() or not rows.sinks or not rows.passes_layer:
        return None
    return rows.rewrite()


class _Sink(NamedTuple):
    """Where rows go back: the statement, and the expression of the rows."""

    statement: cst.Assign | cst.AugAssign
    value: cst.BaseExpression


class _Rows:
    """The rows that a mask selects in a block, under all their names, up to where they are put back."""

    def __init__(self, site: Site, mask: cst.BaseExpression) -> None:
        self._site = site
        self._scene = site.scene
        self._mask = self._scene.code(mask)
        self._masked = reads(self._scene, mask)
        self._names: set[str] = set()
        self._picked: list[Selection] = []
        self._assumes: list[str] = []
        self.sinks: list[_Sink] = []
        self.passes_layer = False

    def read(self) -> bool:
        """Read the block of the finding; return whether all that is done with the rows is known, and each is computed by itself."""
        lines, _ = self._scene.siblings(self._scene.statement(self._site.node))
        last = lines[-1]
        for line in lines:
            if not self._concerns(line):
                bound, simple = binds(self._scene, line), isinstance(line, cst.SimpleStatementLine)
                if (self._picked and self._masked & bound) or (self._names & bound and not simple):
                    return False
                self._names -= bound
            elif not isinstance(line, cst.SimpleStatementLine) or len(line.body) != 1 or not self._take(line.body[0]):
                return False
        seen = any(live_after(self._scene, last, name) for name in self._names)
        return not seen and not any(self._is_written(one, lines) for one in self._picked)

    def _is_written(self, picked: Selection, lines: Sequence[cst.CSTNode]) -> bool:
        """Return whether what rows are taken of is written into before its name is bound anew: a layer may need it for its gradient."""
        scene, name = self._scene, _find_root(picked.whole)
        start, own = scene.span(picked.node)[1], {one.statement for one in self.sinks}
        bound = (scene.span(line)[0] for line in lines if name in binds(scene, line))
        put_back = (scene.span(one)[0] for one in own if name == _find_root(_find_target(one)))
        end = min((at for at in (*bound, *put_back) if at >= start), default=None)
        written = (
            at for one, at in _list_written(scene, scene.function(picked.node) or scene.root, name) if one not in own
        )
        return any(start <= at and (end is None or at < end) for at in written)

    def _concerns(self, line: cst.CSTNode) -> bool:
        """Return whether a statement reads the rows, or selects some."""
        if self._names & reads(self._scene, line):
            return True
        return any(self._select(one) for one in self._scene.descend(line, cst.Subscript))

    def _select(self, node: cst.CSTNode) -> Selection | None:
        found = selection(self._scene, node)
        return found if found is not None and self._scene.code(found.mask) == self._mask else None

    def _take(self, node: cst.BaseSmallStatement) -> bool:
        if isinstance(node, cst.AugAssign) and self._select(node.target):
            return type(node.operator) in _SIGNS and self._put_back(node, node.value)
        if not isinstance(node, cst.Assign) or len(node.targets) != 1:
            return False
        target = node.targets[0].target
        if self._select(target):
            return self._put_back(node, node.value)
        if not isinstance(target, cst.Name):
            return False
        scattered = self._read_scatter(node.value)
        if scattered is not None:
            return self._put_back(node, scattered)
        if isinstance(node.value, (cst.Subscript, cst.Name)) or not self._are_rows(node.value):
            return False  # a copy of the rows would become another name of the tensor
        self._names.add(target.value)
        return True

    def _put_back(self, statement: cst.Assign | cst.AugAssign, value: cst.BaseExpression) -> bool:
        self.sinks.append(_Sink(statement, value))
        return self._are_rows(value)

    def _read_scatter(self, node: cst.BaseExpression) -> cst.BaseExpression | None:
        """The rows that `x.masked_scatter(mask.unsqueeze(-1), rows)` puts into their places; None for another expression."""
        if not isinstance(node, cst.Call) or operation(self._scene, node) != "masked_scatter" or len(node.args) != 2:
            return None
        widened, rows = (arg.value for arg in node.args)
        mask = (self._mask, f"({self._mask})")
        forms = [f"{one}{more}" for one in mask for more in (".unsqueeze(-1)", "[..., None]")]
        return rows if self._scene.code(widened) in forms and not any(arg.keyword for arg in node.args) else None

    def _are_rows(self, node: cst.BaseExpression) -> bool:
        """Return whether an expression has a row for each selected one, computed of this one alone."""
        scene = self._scene
        picked = self._select(node)
        if picked is not None:
            self._picked.append(picked)
            return not isinstance(picked.whole, cst.Call)
        if isinstance(node, cst.Name):
            return node.value in self._names
        if isinstance(node, cst.UnaryOperation) and isinstance(node.operator, cst.Minus):
            return self._are_rows(node.expression)
        if isinstance(node, cst.BinaryOperation) and isinstance(node.operator, (cst.Add, cst.Subtract, cst.Multiply)):
            sides = [
                one for one in (node.left, node.right) if self._concerns(one) or not values.is_number(scene.value(one))
            ]
            return bool(sides) and all(map(self._are_rows, sides))
        return isinstance(node, cst.Call) and self._is_call_of_rows(node)

    def _is_call_of_rows(self, node: cst.Call) -> bool:
        scene, name = self._scene, operation(self._scene, node)
        if not name:
            return self._is_layer(node)
        first, *others = arguments_of(scene, node)
        beside = [*others, *(arg.value for arg in node.args if arg.keyword is not None)]
        if name not in ELEMENTWISE or is_inplace(scene, node) or any(map(self._concerns, beside)):
            return False
        return self._are_rows(first)

    def _is_layer(self, node: cst.Call) -> bool:
        rows = rows_of(self._scene.value(node.func))
        if rows is Rows.JOINED or len(node.args) != 1 or node.args[0].star:
            return False
        if rows is Rows.ASSUMED:
            self._assumes.append(f"`{self._scene.code(node.func)}` computes each row by itself")
        self.passes_layer = True
        return self._are_rows(node.args[0].value)

    # ---------------------------------------------------------------------------------------------- writing

    def rewrite(self) -> Rewrite | NoFix:
        """Put the whole tensors in the place of the rows, and choose where they are put back."""
        scene, put_back = self._scene, [one.value for one in self.sinks]
        replacements = [
            Replacement(*scene.span(one.node), scene.code(one.whole))
            for one in self._picked
            if not any(value is one.node or scene.holds(value, one.node) for value in put_back)
        ]
        for sink in self.sinks:
            made = self._choose(sink)
            if isinstance(made, NoFix):
                return made
            replacements += made.replacements
            self._assumes += [made.assumes, self._tell_gradient(sink)]
        return Rewrite(
            "Compute all rows, and use `torch.where`", tuple(dict.fromkeys(replacements)), all_of(self._assumes)
        )

    def _choose(self, sink: _Sink) -> Rewrite | NoFix:
        scene, value = self._scene, self._write_whole(sink.value)
        if isinstance(sink.statement, cst.AugAssign) or not isinstance(_find_target(sink.statement), cst.Name):
            sign = _SIGNS[type(sink.statement.operator)] if isinstance(sink.statement, cst.AugAssign) else ""
            return select_at(self._site, sink.statement, value, sign)
        scatter = sink.statement.value
        assert isinstance(scatter, cst.Call)
        imports = Imports(scene, sink.statement)
        indent, (whole, *_) = scene.indent(sink.statement), arguments_of(scene, scatter)
        column = len(indent) + len(scene.code(sink.statement.targets[0].target)) + 3
        chosen = [argument(scene, scatter.args[0].value), value, scene.code(whole)]
        text = call(f"{imports.name('torch')}.where", chosen, column, indent, width=width_of(scene))
        return Rewrite("", (Replacement(*scene.span(scatter), text), *imports.needed))

    def _write_whole(self, node: cst.BaseExpression) -> str:
        """An expression of rows, of the whole tensors."""
        start, end = self._scene.span(node)
        text, at, pieces = self._scene.document.text, start, []
        for one in sorted(self._picked, key=lambda one: self._scene.span(one.node)):
            first, last = self._scene.span(one.node)
            if start <= first < end:
                pieces += [text[at:first], self._scene.code(one.whole)]
                at = last
        return "".join([*pieces, text[at:end]]).replace("\r\n", "\n")

    def _tell_gradient(self, sink: _Sink) -> str:
        return f"`{brief(self._scene.code(sink.value))}` and its gradient are finite where `{self._mask}` is false"


def _find_target(statement: cst.Assign | cst.AugAssign) -> cst.BaseExpression:
    return statement.target if isinstance(statement, cst.AugAssign) else statement.targets[0].target


def _find_root(node: cst.BaseExpression) -> str:
    """The name that an expression's attributes and elements belong to; "" without."""
    while isinstance(node, (cst.Attribute, cst.Subscript)):
        node = node.value
    return node.value if isinstance(node, cst.Name) else ""


def _list_written(scene: FunctionSource, function: cst.CSTNode, name: str) -> Iterator[tuple[cst.CSTNode, int]]:
    """Yield what writes into the tensor of a name, and where."""
    for one in scene.descend(function, cst.Assign, cst.AugAssign, cst.Call):
        if isinstance(one, cst.Call):
            written = is_inplace(scene, one) and name in map(_find_root, arguments_of(scene, one)[:1])
        else:
            assert isinstance(one, (cst.Assign, cst.AugAssign))
            target = _find_target(one)
            element = isinstance(one, cst.AugAssign) or isinstance(target, cst.Subscript)
            written = element and _find_root(target) == name
        if written:
            yield one, scene.span(one)[0]
