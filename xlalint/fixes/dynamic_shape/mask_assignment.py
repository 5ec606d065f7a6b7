"""XLA205: assignment through a mask → `masked_fill_`, `torch.where`, `masked_scatter_`.

PyTorch itself makes `masked_fill_` of `x[mask] = number`: views, other names and gradients see the same. Tensors go through
`torch.where`, whose result is copied into `x` unless `x` is known to be a tensor that nothing else refers to.
"""

from __future__ import annotations

import math

import libcst as cst

from xlalint.abstract.values import Const, Host, members
from xlalint.fixes.model import NoFix, Rewrite, Site, all_of
from xlalint.fixes.toolkit import values
from xlalint.fixes.toolkit.aliasing import overlaps
from xlalint.fixes.toolkit.dataflow import definition, reads, unchanged
from xlalint.fixes.toolkit.function_source import FunctionSource, Replacement
from xlalint.fixes.toolkit.gradients import is_infinite
from xlalint.fixes.toolkit.imports import Imports
from xlalint.fixes.toolkit.indexing import (
    Aligned,
    Masked,
    align,
    base_assumption,
    mask_assumption,
    rank,
    read_masked,
    same_rank,
)
from xlalint.fixes.toolkit.operations import CASTS, MAKERS, NEW, operation
from xlalint.fixes.toolkit.ownership import owned
from xlalint.fixes.toolkit.picking import SAME_ELEMENTS, find_selection, find_selections, has_product, without_mask
from xlalint.fixes.toolkit.shapes import Types
from xlalint.fixes.toolkit.text import argument, atom, brief, call, width_of

_HALF = 65504  # the largest float16
_INT64 = ("=int64", "=long", "=torch.int64", "=torch.long")
_DEPTH = 4  # assignments that a value is followed through
_MATCHED = (cst.AddAssign, cst.SubtractAssign, cst.MultiplyAssign, cst.DivideAssign)


def assignment(site: Site) -> Rewrite | NoFix | None:
    """`x[mask] = value`."""
    scene = site.scene
    statement = scene.nearest(site.node, cst.Assign)
    if site.framework != "torch" or statement is None:
        return None
    if len(statement.targets) != 1 or statement.targets[0].target is not site.node:
        return NoFix("several things are assigned at once; assign to each alone")
    found = _target(site)
    if not isinstance(found, _Target):
        return found
    value = statement.value
    if _is_number(scene, value) or values.rank_of(scene.value(value)) == 0:
        return found.fill(statement, value)
    mask = scene.code(found.index.mask)
    alike = find_selections(scene, value, mask)
    if alike and found.index.plain:
        risks = [f"what `{mask}` leaves out is finite, or has no gradient"] if has_product(scene, value) else []
        risks += [_rank_assumption(scene, one.whole, found.index.base) for one in alike]
        return found.select(statement, without_mask(scene, value, alike), all_of(filter(None, risks)))
    return found.store(statement, value)


def rewrite_augmented(site: Site) -> Rewrite | NoFix | None:
    """`x[mask] += value`."""
    scene = site.scene
    statement = scene.nearest(site.node, cst.AugAssign)
    if site.framework != "torch" or statement is None or statement.target is not site.node:
        return None
    found = _target(site)
    if not isinstance(found, _Target):
        return found
    operator = type(statement.operator)
    if operator not in _MATCHED:
        return NoFix(
            f"`{scene.code(statement)}` may give infinities where the mask is false, and NaN gradients of them"
        )
    value = statement.value
    sign = {cst.AddAssign: "+", cst.SubtractAssign: "-", cst.MultiplyAssign: "*", cst.DivideAssign: "/"}[operator]
    number = values.is_number(scene.value(value)) and not is_infinite(scene, value)
    flat = values.rank_of(scene.value(value)) == 0
    if not number and not (flat and sign in "+-"):
        return NoFix(f"it is not known that `{scene.code(value)}` is one number for all positions")
    if number and sign == "*" and _is_zero(scene, value):
        return found.clear(statement)
    if number and sign == "/" and not _nonzero(scene, value):
        return NoFix(f"`{scene.code(value)}` may be zero, and the gradient NaN where the mask is false")
    return found.select(statement, f"{found.place.whole} {sign} {_operand(scene, value, sign)}", "")


def select_at(
    site: Site, statement: cst.Assign | cst.AugAssign, value: str, sign: str, *, by_layer: bool
) -> Rewrite | NoFix:
    """`x[mask] = rows` or, with a sign, `x[mask] += rows`, where `value` is code of all rows: those of layers have one dimension.

    What computed them may need `x` as it was for its gradient, so that `x` is bound anew and not written into.
    """
    scene = site.scene
    target = statement.target if isinstance(statement, cst.AugAssign) else statement.targets[0].target
    found = _target(site._replace(node=target))
    if not isinstance(found, _Target):
        return found or NoFix("it is not known what the mask picks")
    base, mask = scene.code(found.index.base), scene.code(found.index.mask)
    if by_layer and found.place.mask == mask:
        return NoFix(f"`{scene.code(target)}` has no dimension beside those of the mask, along which a layer computes")
    if not by_layer and "(None,)" in found.place.mask:
        return NoFix(f"the numbers of dimensions of `{base}` and `{mask}` are not known")
    wide = found.widen(rank(scene, found.index.mask))
    assumed = [f"`{brief(value)}` has the dtype of `{base}`"] if sign else []
    if wide is not found:
        assumed.append(f"`{base}` has one dimension more than `{mask}`")
    made = wide.select(statement, f"{wide.place.whole} {sign} {value}" if sign else value, all_of(assumed))
    if not made.replacements[0].text.startswith(f"{base} = "):
        return NoFix(
            f"other code may hold `{base}`, and the rows are computed of it: compute them for all, and bind the choice"
        )
    return made


class _Target:
    """Describes an assignment's target: `x[mask]`, with the mask lined up, in a statement of its own."""

    def __init__(self, site: Site, index: Masked, place: Aligned, assumption: str) -> None:
        self.scene = site.scene
        self.site = site
        self.index = index
        self.place = place
        self.assumption = assumption
        self.sure = values.is_bool(site.scene.value(index.mask))

    def fill(self, statement: cst.Assign, value: cst.BaseExpression) -> Rewrite | NoFix:
        """One number for all places."""
        scene, assumptions = self.scene, [self.assumption]
        if not values.is_number(scene.value(value)) and values.rank_of(scene.value(value)) != 0:
            assumptions.append(f"`{scene.code(value)}` is a number")
        elif _exceeds_half(scene, value) and _is_half(scene, self.index.base):
            return NoFix(f"`{scene.code(self.index.base)}` is float16, in which `{scene.code(value)}` is infinite")
        elif _exceeds_half(scene, value):
            assumptions.append(
                f"`{scene.code(self.index.base)}` is not float16, which cannot hold `{scene.code(value)}`"
            )
        text = self._call(statement, f"{self.place.whole}.masked_fill_", [self.place.mask, argument(scene, value)])
        return self._rewrite("Use `masked_fill_`", statement, text, assumptions)

    def clear(self, statement: cst.AugAssign) -> Rewrite:
        """Zero for all places."""
        text = self._call(statement, f"{self.place.whole}.masked_fill_", [self.place.mask, "0"])
        assumptions = [self.assumption]
        if values.dtype_of(self.scene.value(self.index.base)) not in ("i", "b"):
            assumptions.append(f"`{brief(self.scene.code(self.index.base))}` is finite")
        return self._rewrite("Use `masked_fill_`", statement, text, assumptions)

    def select(self, statement: cst.Assign | cst.AugAssign, value: str, risk: str) -> Rewrite:
        """A value for each place, masked or not."""
        imports = Imports(self.scene, statement)
        if overlaps(self.scene, self.index.base):
            risk = all_of(filter(None, (risk, f"no elements of `{self.scene.code(self.index.base)}` share memory")))
        chosen = [self.place.mask, value, self.place.whole]
        where = f"{imports.name('torch')}.where"
        base = self.index.base
        alone = self.place.whole == self.scene.code(base) and isinstance(base, cst.Name)
        if isinstance(base, cst.Name) and alone and owned(self.scene, statement, base.value, by_layer=True):
            if not owned(self.scene, statement, base.value):
                risk = all_of(filter(None, (risk, f"nothing else holds `{base.value}`")))
            kept = self._keeps_dtype(statement)
            alike = kept or self._may_keep_dtype(statement)
        else:
            kept = alike = False
        if isinstance(base, cst.Name) and alike:
            told = "" if kept else f"`{brief(value)}` has the dtype of `{base.value}`"
            risk = all_of(filter(None, (risk, told)))
            text = self._call(statement, f"{base.value} = {where}", chosen)
        else:
            text = self._write_copy(statement, where, chosen)
        made = self._rewrite("Use `torch.where`", statement, text, [self.assumption, risk])
        return made._replace(replacements=(*made.replacements, *imports.needed))

    def _keeps_dtype(self, statement: cst.Assign | cst.AugAssign) -> bool:
        """Return whether what is assigned surely has the target's dtype, which a choice between them then has as well."""
        if isinstance(statement, cst.AugAssign):
            return True  # what PyTorch refuses to write into the target, it refused before
        types = Types(self.scene, "torch")
        made = self._made_dtype(types, statement)
        if made in _INT64 and values.dtype_of(self.scene.value(statement.value)) in ("b", "i"):
            return True  # of whole numbers, int64 is what any other becomes beside it
        given = types.of(statement.value).dtype
        return given != "" and given in (types.of(self.index.base).dtype, made)

    def _may_keep_dtype(self, statement: cst.Assign | cst.AugAssign) -> bool:
        """Return whether nothing says that what is assigned has another kind of dtype than the target, in which it has to fit."""
        if not isinstance(statement, cst.Assign):
            return False
        types = Types(self.scene, "torch")
        own, given = types.of(self.index.base), types.of(statement.value)
        names = [self.index.base, *self.scene.descend(statement.value, cst.Name)]
        made = [one.value for name in names if isinstance(name, cst.Name) and (one := definition(self.scene, name))]
        if any(operation(self.scene, call) in CASTS for one in made for call in self.scene.descend(one, cst.Call)):
            return False
        return own.kind not in ("b", "i") and given.kind in ("", own.kind or given.kind)

    def _made_dtype(self, types: Types, statement: cst.Assign) -> str:
        """The dtype of what made the target, if its names still hold what they held: of `y = torch.zeros_like(x)` that of `x`."""
        scene, base = self.scene, self.index.base
        made = definition(scene, base) if isinstance(base, cst.Name) else None
        if made is None:
            return ""
        told = _find_told_dtype(scene, made.value)
        if told:
            return f"={told}"
        since = scene.span(made)[1]
        same = all(unchanged(scene, name, since, statement) for name in reads(scene, made.value))
        return types.of(made.value).dtype if same else ""

    def store(self, statement: cst.Assign, value: cst.BaseExpression) -> Rewrite | NoFix:
        """A tensor: one row for all positions, or one for each."""
        scene, code = self.scene, self.scene.code(value)
        if not values.is_tensor(scene.value(value), "torch"):
            return NoFix(f"it is not known whether `{code}` is a number or a tensor")
        if not self.index.plain:
            return NoFix(f"`{code}` is laid out along the true elements of the mask")
        own, total, given = rank(scene, self.index.mask), rank(scene, self.index.base), rank(scene, value)
        alone = same_rank(scene, self.index.mask, self.index.base)
        if given in (-1, 1) and _is_stored(value):
            return self.widen(own).select(statement, argument(scene, value), f"`{code}` is one row for all positions")
        if not self.sure:
            return NoFix(f"`{scene.code(self.index.mask)}` may hold positions, to which `{code}` goes")
        if _is_packed(scene, value, self.index.mask):
            return NoFix(f"`{brief(code)}` itself has as many rows as the mask has true elements: compute it for all")
        if alone and given > 0:
            return self._scatter(statement, value)
        if given < 0 or own < 0 or total < 0:
            return NoFix(f"it is not known whether `{code}` is one row for all positions or one for each")
        if given <= total - own:
            return self.select(statement, argument(scene, value), "")
        return self._scatter(statement, value)

    def widen(self, own: int) -> _Target:
        """Line the mask up for rows of one dimension: a view for any number of dimensions is not what anybody would write."""
        if "(None,)" not in self.place.mask:
            return self
        mask = f"{atom(self.scene, self.index.mask)}[{':' if own == 1 else '...'}, None]"
        return _Target(self.site, self.index, self.place._replace(mask=mask), self.assumption)

    def _scatter(self, statement: cst.Assign, value: cst.BaseExpression) -> Rewrite | NoFix:
        scene = self.scene
        picked = find_selection(scene, value)
        if picked:
            return NoFix(f"`{brief(picked)}` has another size for each mask all the same: compute it for all")
        text = self._call(statement, f"{self.place.whole}.masked_scatter_", [self.place.mask, argument(scene, value)])
        packed = f"`{scene.code(value)}` has as many rows as `{scene.code(self.index.mask)}` has true elements"
        return self._rewrite("Use `masked_scatter_`", statement, text, [self.assumption, packed])

    def _write_copy(self, statement: cst.CSTNode, where: str, chosen: list[str]) -> str:
        """Return code that copies the choice into the target, on lines of its own where it does not fit."""
        indent, width = self.scene.indent(statement), width_of(self.scene)
        line = f"{self.place.whole}.copy_({where}({', '.join(chosen)}))"
        if len(indent) + len(line) <= width and "\n" not in line:
            return line
        inner = f"{indent}    "
        return f"{self.place.whole}.copy_(\n{inner}{call(where, chosen, len(inner), inner, width=width)}\n{indent})"

    def _call(self, statement: cst.CSTNode, function: str, given: list[str]) -> str:
        indent = self.scene.indent(statement)
        return call(function, given, len(indent), indent, width=width_of(self.scene))

    def _rewrite(self, message: str, statement: cst.CSTNode, text: str, assumptions: list[str]) -> Rewrite:
        assumed = all_of(filter(None, assumptions))
        return Rewrite(message, (Replacement(*self.scene.span(statement), text),), assumed)


def _find_told_dtype(scene: FunctionSource, node: cst.BaseExpression) -> str:
    """The code of the dtype that a call is told to give a tensor of; "" without."""
    if not isinstance(node, cst.Call) or operation(scene, node) not in NEW:
        return ""
    return next(
        (scene.code(one.value) for one in node.args if one.keyword is not None and one.keyword.value == "dtype"), ""
    )


def _is_packed(scene: FunctionSource, node: cst.BaseExpression, mask: cst.BaseExpression) -> bool:
    """Return whether a value is computed here from what the mask selects: its size changes with the mask whatever is done with it."""
    code, found = scene.code(mask), [node]
    if any(
        operation(scene, one) in MAKERS and f"{code}.sum()" in scene.code(one) for one in scene.descend(node, cst.Call)
    ):
        return True
    for _ in range(_DEPTH):
        inner = [one for part in found for one in scene.descend(part, cst.Subscript)]
        if any(scene.code(element.slice) == code for one in inner for element in one.slice):
            return True
        names = [name for part in found for name in scene.descend(part, cst.Name)]
        found = [made.value for made in (definition(scene, name) for name in names) if made is not None]
    return False


def _rank_assumption(scene: FunctionSource, whole: cst.BaseExpression, base: cst.BaseExpression) -> str:
    """Return what is assumed where a tensor is chosen from as a whole: broadcasting lines its last dimensions up, a mask its first ones."""
    types = Types(scene, "torch")
    own, target = types.of(whole), types.of(base)
    alike = own.shape == target.shape != "" or own.rank == target.rank >= 0
    if scene.code(whole) == scene.code(base) or alike or same_rank(scene, whole, base):
        return ""
    return f"`{scene.code(whole)}` has as many dimensions as `{scene.code(base)}`"


def _target(site: Site) -> _Target | NoFix | None:
    scene = site.scene
    index = read_masked(scene, site.node)
    if index is None:
        return None
    of_base, of_mask = base_assumption(scene, index.base, "torch"), mask_assumption(scene, index.mask, "torch")
    if isinstance(of_base, NoFix):
        return of_base
    if isinstance(of_mask, NoFix):
        return of_mask
    place = align(scene, index)
    if isinstance(place, NoFix):
        return place
    return _Target(site, index, place, all_of(filter(None, (of_base, of_mask, place.assumes))))


def _is_number(scene: FunctionSource, node: cst.BaseExpression) -> bool:
    """Return whether a value is a number, or is named as numbers are: a constant or an entry of a configuration."""
    value = scene.value(node)
    if values.is_number(value):
        return True
    if values.tensors_only(value) or not isinstance(node, (cst.Name, cst.Attribute)):
        return False
    name = node.value if isinstance(node, cst.Name) else node.attr.value
    holder = scene.code(node.value) if isinstance(node, cst.Attribute) else ""
    known = [one for one in members(value) if type(one) not in (Const, Host)]
    return not any(type(one).__name__ == "Tensor" for one in known) and (
        name.isupper() or holder.rpartition(".")[2].endswith("config") or name.endswith(("_id", "_index", "_value"))
    )


def _is_stored(node: cst.BaseExpression) -> bool:
    """Return whether a tensor is a parameter or buffer, perhaps cast. Its size does not depend on the mask."""
    while isinstance(node, cst.Call) and isinstance(node.func, cst.Attribute) and node.func.attr.value in SAME_ELEMENTS:
        node = node.func.value
    holder = node
    while isinstance(holder, cst.Attribute):
        holder = holder.value
    return holder is not node and isinstance(holder, cst.Name) and holder.value == "self"


def _exceeds_half(scene: FunctionSource, node: cst.BaseExpression) -> bool:
    """Return whether float16 may be unable to hold a number: `masked_fill_` refuses it, an assignment makes it infinite."""
    for member in members(scene.value(node)):
        if type(member) is Const:
            if isinstance(member.value, (int, float)) and _HALF < abs(member.value) < math.inf:
                return True
        elif type(member) is Host and member.type == "float" and not _is_limit(scene, node):
            return True
    return False


def _is_half(scene: FunctionSource, node: cst.BaseExpression) -> bool:
    """Return whether a tensor was made as one of float16, perhaps several assignments ago."""
    types = Types(scene, "torch")
    for _ in range(_DEPTH):
        if types.of(node).dtype in ("=half", "=torch.half", "=torch.float16"):
            return True
        made = definition(scene, node) if isinstance(node, cst.Name) else None
        if made is None:
            return False
        node = made.value
    return False


def _is_limit(scene: FunctionSource, node: cst.BaseExpression) -> bool:
    """Return whether a number is `torch.finfo(x.dtype).min`, or infinite."""
    code = scene.code(node)
    return ("finfo(" in code and code.endswith((".min", ".max", ".eps", ".tiny"))) or is_infinite(scene, node)


def _nonzero(scene: FunctionSource, node: cst.BaseExpression) -> bool:
    return all(type(member) is Const and bool(member.value) for member in members(scene.value(node)))


def _is_zero(scene: FunctionSource, node: cst.BaseExpression) -> bool:
    return all(type(member) is Const and member.value == 0 for member in members(scene.value(node)))


def _operand(scene: FunctionSource, node: cst.BaseExpression, sign: str) -> str:
    """A number or 0-d tensor at the right of an operator."""
    if sign == "+" and isinstance(node, cst.BinaryOperation) and isinstance(node.operator, (cst.Multiply, cst.Divide)):
        return scene.code(node)
    if sign in "*/" and isinstance(node, cst.UnaryOperation) and isinstance(node.expression, (cst.Integer, cst.Float)):
        return scene.code(node)
    return atom(scene, node)
