"""XLA201, XLA204 and XLA205: rows that a mask selects, computed each by itself and put back → all rows computed, and chosen from.

`y = self.mlp(x[mask])`, `x[mask] += y`: as many rows as the mask has true elements, anew at each call. What is computed of the others is
not finite perhaps, and is left out by `torch.where`. So are elements that are computed under names of their own, and what they pick from a
table, within its range.
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
from xlalint.fixes.toolkit.gradients import without_gradient
from xlalint.fixes.toolkit.imports import Imports
from xlalint.fixes.toolkit.indexing import mask_assumption, same_rank
from xlalint.fixes.toolkit.operations import CASTS, arguments_of, is_inplace, names, operation
from xlalint.fixes.toolkit.picking import Selection, selection
from xlalint.fixes.toolkit.row_wise import ELEMENTWISE, Rows, rows_of
from xlalint.fixes.toolkit.text import argument, atom, brief, call, width_of

_ARITHMETIC = (cst.Add, cst.Divide, cst.Multiply, cst.Subtract)
# What is infinite, or has an infinite gradient, at numbers that masks keep from it.
_STEEP = names(
    "acos acosh asin atanh cosh div divide exp exp2 expm1 fmod log log10 log1p log2 logit pow reciprocal remainder rsqrt sinh sqrt tan"
)
# What may stand between rows and the statement that computes them.
_AROUND = (
    cst.Arg,
    cst.Attribute,
    cst.BinaryOperation,
    cst.Call,
    cst.Index,
    cst.Subscript,
    cst.SubscriptElement,
    cst.UnaryOperation,
)
_SIGNS = {cst.AddAssign: "+", cst.SubtractAssign: "-", cst.MultiplyAssign: "*"}


def compute_all_rows(site: Site) -> Rewrite | NoFix | None:
    """Compute all rows where some are computed and put back, in one block."""
    scene = site.scene
    if site.framework != "torch" or not isinstance(site.node, cst.Subscript):
        return None
    if not _may_be_rows(scene, site.node):
        return None
    picked = selection(scene, site.node)
    of_mask = mask_assumption(scene, picked.mask, "torch") if picked is not None else None
    if picked is None or not isinstance(of_mask, str):
        return None
    rows = _Rows(site, picked.mask, of_mask)
    if not rows.read() or not rows.sinks or not (rows.passes_layer or rows.named):
        return None
    if rows.passes_layer and rows.divides:
        return None
    return rows.rewrite()


def _may_be_rows(scene: FunctionSource, node: cst.CSTNode) -> bool:
    """Return whether a selection stands where rows are computed or put back, as its surroundings alone tell: not in a list, and not as all
    that a name is given."""
    holder = scene.parent(node)
    if isinstance(holder, cst.Assign):
        return False
    while isinstance(holder, _AROUND):
        holder = scene.parent(holder)
    return isinstance(holder, (cst.Assign, cst.AssignTarget, cst.AugAssign))


class _Sink(NamedTuple):
    """Where rows go back: the statement, and the expression of the rows."""

    statement: cst.Assign | cst.AugAssign
    value: cst.BaseExpression


class _Rows:
    """The rows that a mask selects in a block, under all their names, up to where they are put back."""

    def __init__(self, site: Site, mask: cst.BaseExpression, assumed: str) -> None:
        self._site = site
        self._scene = site.scene
        self._mask = self._scene.code(mask)
        self._masked = reads(self._scene, mask)
        self._names: set[str] = set()
        self._picked: list[Selection] = []
        self._looked_up: list[cst.Subscript] = []
        self._divisors: list[cst.BaseExpression] = []
        self._assumes = [assumed]
        self._last_use = 0
        self._torch = "torch"
        self.named = False
        self.sinks: list[_Sink] = []
        self.passes_layer = False

    @property
    def divides(self) -> bool:
        """Return whether rows are divided by rows."""
        return bool(self._divisors)

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
            else:
                self._last_use = self._scene.span(line)[0]
        seen = any(live_after(self._scene, last, name) for name in self._names)
        return not seen and not any(self._is_written(one, lines) for one in self._picked)

    def _is_written(self, picked: Selection, lines: Sequence[cst.CSTNode]) -> bool:
        """Return whether what rows are taken of is written into before its name is bound anew.

        What is computed of it may share its memory, or need it for its gradient, which sums, signs and casts do not.
        """
        scene, name = self._scene, _find_root(picked.whole)
        start, own = scene.span(picked.node)[1], {one.statement for one in self.sinks}
        bound = (scene.span(line)[1] for line in lines if name in binds(scene, line))
        put_back = (scene.span(one)[0] for one in own if name == _find_root(_find_target(one)))
        end = min((at for at in (*bound, *put_back) if at >= start), default=None)
        written = (
            at for one, at in _list_written(scene, scene.function(picked.node) or scene.root, name) if one not in own
        )
        inside = [at for at in written if start <= at and (end is None or at < end)]
        return bool(inside) and (inside[0] < self._last_use or not _is_summand(scene, picked.node))

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
        if isinstance(node.value, cst.Name) or self._select(node.value) or not self._are_rows(node.value):
            return False  # a copy of the rows would become another name of the tensor
        self._names.add(target.value)
        self.named = True
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
        if isinstance(node, cst.Subscript):
            return self._is_lookup(node)
        if isinstance(node, cst.BinaryOperation) and isinstance(node.operator, _ARITHMETIC):
            sides = [
                one for one in (node.left, node.right) if self._concerns(one) or not values.is_number(scene.value(one))
            ]
            if isinstance(node.operator, cst.Divide) and node.right in sides:
                self._divisors.append(node.right)
            return bool(sides) and all(map(self._are_rows, sides))
        return isinstance(node, cst.Call) and self._is_call_of_rows(node)

    def _is_lookup(self, node: cst.Subscript) -> bool:
        """Return whether rows are picked from a table by numbers that are rows: `table[numbers]`."""
        scene, index = self._scene, node.slice[0].slice
        if (
            len(node.slice) != 1
            or not isinstance(index, cst.Index)
            or not isinstance(node.value, (cst.Attribute, cst.Name))
        ):
            return False
        if self._concerns(node.value) or not values.is_tensor(scene.value(node.value), "torch"):
            return False
        if any(scene.descend(index, cst.Subscript)) or values.dtype_of(scene.value(index.value)) not in ("i", ""):
            return False
        self._looked_up.append(node)
        self._assumes.append(f"`{brief(scene.code(index.value))}` is not negative where `{self._mask}` is true")
        return self._are_rows(index.value)

    def _is_call_of_rows(self, node: cst.Call) -> bool:
        scene, name = self._scene, operation(self._scene, node)
        if not name:
            return self._is_layer(node)
        first, *others = arguments_of(scene, node)
        beside = [*others, *(arg.value for arg in node.args if arg.keyword is not None)]
        if name not in ELEMENTWISE or is_inplace(scene, node) or any(map(self._concerns, beside)):
            return False
        if name in _STEEP and not without_gradient(scene, node):
            return False  # what a mask keeps from a logarithm has no finite gradient
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
        imports = Imports(self._scene, self.sinks[0].statement)
        self._torch = imports.name("torch")
        put_back = [one.value for one in self.sinks]
        replacements = [
            Replacement(*self._extent(node), self._text_of(node))
            for node in self._list_outermost(self._scene.root)
            if not any(value is node or self._scene.holds(value, node) for value in put_back)
        ]
        if not self.passes_layer:
            self._assumes += [self._tell_dimensions(one) for one in self._picked]
        for sink in self.sinks:
            made = self._choose(sink)
            if isinstance(made, NoFix):
                return made
            replacements += made.replacements
            self._assumes += [made.assumes, self._tell_gradient(sink)]
        return Rewrite(
            "Compute all rows, and use `torch.where`",
            tuple(dict.fromkeys((*replacements, *imports.needed))),
            all_of(self._assumes),
        )

    def _choose(self, sink: _Sink) -> Rewrite | NoFix:
        scene, value = self._scene, self._write_whole(sink.value)
        if isinstance(sink.statement, cst.AugAssign) or not isinstance(_find_target(sink.statement), cst.Name):
            sign = _SIGNS[type(sink.statement.operator)] if isinstance(sink.statement, cst.AugAssign) else ""
            return select_at(self._site, sink.statement, value, sign, by_layer=self.passes_layer)
        scatter = sink.statement.value
        assert isinstance(scatter, cst.Call)
        imports = Imports(scene, sink.statement)
        indent, (whole, *_) = scene.indent(sink.statement), arguments_of(scene, scatter)
        column = len(indent) + len(scene.code(sink.statement.targets[0].target)) + 3
        chosen = [argument(scene, scatter.args[0].value), value, scene.code(whole)]
        text = call(f"{imports.name('torch')}.where", chosen, column, indent, width=width_of(scene))
        return Rewrite("", (Replacement(*scene.span(scatter), text), *imports.needed))

    def _write_whole(self, node: cst.BaseExpression, but: cst.CSTNode | None = None) -> str:
        """An expression of rows, of the whole tensors."""
        (start, end), text = self._scene.span(node), self._scene.document.text
        pieces: list[str] = []
        for one in self._list_outermost(node, but):
            first, last = self._extent(one)
            pieces += [text[start:first], self._text_of(one)]
            start = last
        return "".join([*pieces, text[start:end]]).replace("\r\n", "\n")

    def _list_outermost(self, node: cst.CSTNode, but: cst.CSTNode | None = None) -> list[cst.BaseExpression]:
        """List what is written anew in a node, in order; what such an expression holds is written with it."""
        scene = self._scene
        numbers = [one.slice[0].slice.value for one in self._looked_up if isinstance(one.slice[0].slice, cst.Index)]
        found = [one for one in (*(pick.node for pick in self._picked), *numbers, *self._divisors) if one is not but]
        inside = [one for one in found if one is node or scene.holds(node, one)]
        outer = [one for one in inside if not any(scene.holds(other, one) for other in inside)]
        return sorted(outer, key=scene.span)

    def _extent(self, node: cst.BaseExpression) -> tuple[int, int]:
        return self._scene.whole(node) if node in self._divisors else self._scene.span(node)

    def _text_of(self, node: cst.BaseExpression) -> str:
        """A selection as the whole tensor, a number within its table's range, or a divisor that is 1 where the mask is false."""
        scene = self._scene
        for picked in self._picked:
            if picked.node is node:
                return scene.code(picked.whole)
        if node in self._divisors:
            return f"{self._torch}.where({self._mask}, {self._write_whole(node, node)}, 1)"
        table = scene.parent(scene.parent(scene.parent(node)))
        assert isinstance(table, cst.Subscript)
        return f"{atom(scene, node)}.clamp(0, {scene.code(table.value)}.shape[0] - 1)"

    def _tell_dimensions(self, picked: Selection) -> str:
        """Tell what is assumed where elements are computed with others: a shorter mask lines up with the first dimensions."""
        if same_rank(self._scene, picked.mask, picked.whole):
            return ""
        return f"`{self._scene.code(picked.whole)}` has as many dimensions as `{self._mask}`"

    def _tell_gradient(self, sink: _Sink) -> str:
        return f"`{brief(self._scene.code(sink.value))}` and its gradient are finite where `{self._mask}` is false"


def _is_summand(scene: FunctionSource, node: cst.BaseExpression) -> bool:
    """Return whether an expression is added, subtracted or cast."""
    holder = scene.parent(node)
    if isinstance(holder, cst.BinaryOperation):
        return isinstance(holder.operator, (cst.Add, cst.Subtract))
    return isinstance(holder, cst.UnaryOperation) or (isinstance(holder, cst.Attribute) and holder.attr.value in CASTS)


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
