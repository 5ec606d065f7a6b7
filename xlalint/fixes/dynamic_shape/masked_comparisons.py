"""XLA201, XLA204: a comparison of what a mask selects, of which a sum, a mean, `any` or `all` is taken → that of the whole, and the mask.

`(pred[mask] == y[mask]).sum()` counts where both hold: `((pred == y) & mask).sum()`. Bools have no gradient, and what the mask leaves out
gives a bool as well, whatever it holds.
"""

from __future__ import annotations

import libcst as cst

from xlalint.fixes.dynamic_shape import deviations
from xlalint.fixes.dynamic_shape.masked_reductions import (
    ORDER,
    MaskedReduction,
    MaskPlacement,
    as_atom,
    assume_tensors,
    find_place,
    find_reduction_of,
    is_repeatable,
    with_replaced,
)
from xlalint.fixes.model import NoFix, Rewrite, Site, all_of
from xlalint.fixes.toolkit import values
from xlalint.fixes.toolkit.function_source import FunctionSource, Replacement
from xlalint.fixes.toolkit.indexing import dropped_dimensions, rank, same_rank
from xlalint.fixes.toolkit.operations import arguments_of, is_method, operation
from xlalint.fixes.toolkit.picking import Selection, find_selections, selection, without_mask
from xlalint.fixes.toolkit.text import atom

_COMPARING = (cst.Equal, cst.GreaterThan, cst.GreaterThanEqual, cst.LessThan, cst.LessThanEqual, cst.NotEqual)
_METHODS = frozenset(("eq", "equal", "ge", "greater", "greater_equal", "gt", "le", "less", "less_equal", "lt", "ne"))


def count_where_both(site: Site) -> Rewrite | NoFix | None:
    """`(x[mask] == y[mask]).sum()` → `((x == y) & mask).sum()`; `.all()` → `((x == y) | ~mask).all()`."""
    scene, node = site.scene, site.node
    one = selection(scene, node) if isinstance(node, (cst.Subscript, cst.Call)) else None
    if one is None or site.framework not in ("torch", "jax"):
        return None
    compared = _find_comparison(scene, one)
    if compared is None:
        return None
    found = find_reduction_of(scene, compared, compared)
    if not isinstance(found, MaskedReduction):
        return found
    if found.name not in ("all", "any", "mean", "sum"):
        return None
    picked = [part for side in _sides(scene, compared) for part in find_selections(scene, side, scene.code(one.mask))]
    place = _find_place(site, picked)
    return _rewrite(site, found, place, picked) if isinstance(place, MaskPlacement) else place


def _find_comparison(scene: FunctionSource, one: Selection) -> cst.BaseExpression | None:
    """The comparison around a selection whose sides are made of selections by one mask, or of numbers and tensors without dimensions."""
    mask = scene.code(one.mask)
    for holder in scene.above(one.node):
        if isinstance(holder, (cst.BaseStatement, cst.BaseSmallStatement)):
            return None
        sides = _sides(scene, holder)
        if sides:
            fits = all(_is_scalar(scene, side) or find_selections(scene, side, mask) for side in sides)
            return holder if fits and isinstance(holder, cst.BaseExpression) else None
    return None


def _is_scalar(scene: FunctionSource, node: cst.BaseExpression) -> bool:
    value = scene.value(node)
    return values.is_number(value) or values.rank_of(value) == 0


def _sides(scene: FunctionSource, node: cst.CSTNode) -> list[cst.BaseExpression]:
    """The two sides of a comparison: `x == y`, `x.eq(y)`, `torch.eq(x, y)`; none of anything else."""
    if isinstance(node, cst.Comparison):
        target = node.comparisons[0]
        single = len(node.comparisons) == 1 and isinstance(target.operator, _COMPARING)
        return [node.left, target.comparator] if single else []
    if not isinstance(node, cst.Call) or operation(scene, node) not in _METHODS:
        return []
    given = arguments_of(scene, node)
    elementwise = operation(scene, node) != "equal" or not values.is_number(scene.value(node))
    return given if len(given) == 2 and len(node.args) == 2 - is_method(scene, node) and elementwise else []


def _find_place(site: Site, picked: list[Selection]) -> MaskPlacement | NoFix | None:
    """How the mask lines up. Where numbers of dimensions are not known, what is compared elementwise is taken to have those of the mask."""
    scene, first = site.scene, picked[0]
    own = rank(scene, first.mask)
    if any(own >= 0 and rank(scene, one.whole) not in (-1, own) for one in picked):
        return find_place(site, picked)
    if any(dropped_dimensions(scene, one.mask, one.whole) > 0 for one in picked):
        return find_place(site, picked)
    mask = scene.code(first.mask)
    place = MaskPlacement(mask, f"{atom(scene, first.mask)}.sum()", "b", is_repeatable(scene, first.mask))
    for one in picked:
        told = assume_tensors(scene, site.framework, one)
        if isinstance(told, NoFix):
            return told
        for assumed in told:
            place.assume(assumed)
        if not same_rank(scene, one.mask, one.whole):
            place.assume(f"`{mask}` has as many dimensions as `{scene.code(one.whole)}`")
    return place


def _rewrite(site: Site, found: MaskedReduction, place: MaskPlacement, picked: list[Selection]) -> Rewrite | NoFix:
    scene, mask = site.scene, place.mask
    whole = without_mask(scene, found.inner, picked)
    plain = isinstance(found.inner, cst.Call)
    both = f"{whole if plain else f'({whole})'} {'| ~' if found.name == 'all' else '& '}{as_atom(mask)}"
    alone = isinstance(scene.parent(found.inner), cst.Arg)
    text = with_replaced(scene, found, both if alone else f"({both})")
    if found.name == "mean":
        if not place.simple:
            return NoFix(f"the mask is needed twice; give `{mask}` a name")
        place.assume(ORDER)
        text = deviations.quotient(scene, found.call, f"{text} / {place.count}")
    return Rewrite("Combine the masks", (Replacement(*scene.span(found.call), text),), all_of(place.assumptions))
