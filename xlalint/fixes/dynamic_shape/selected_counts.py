"""XLA201, XLA204: a selection of which only the size is asked, `x[mask].shape[0]`, `x[mask].numel()` → the number of true values.

A selection has a row for each true value of the mask, and in each row what the mask leaves of the dimensions.
"""

from __future__ import annotations

import libcst as cst

from xlalint.fixes.dynamic_shape.counts import Count, as_number, number, present, size_of, stays
from xlalint.fixes.model import NoFix, Rewrite, Site, all_of
from xlalint.fixes.toolkit.consumers import in_test
from xlalint.fixes.toolkit.dataflow import definition, uses
from xlalint.fixes.toolkit.function_source import FunctionSource, Replacement
from xlalint.fixes.toolkit.indexing import base_assumption, mask_assumption, rank, same_rank
from xlalint.fixes.toolkit.occurrences import occurrences
from xlalint.fixes.toolkit.picking import Selection, selection
from xlalint.fixes.toolkit.text import atom, brief


def count_in_mask(site: Site) -> Rewrite | NoFix | None:
    """`len(x[mask])` → `mask.sum()`, `x[mask].numel() > 0` → `mask.any()`."""
    scene = site.scene
    one = selection(scene, site.node) if isinstance(site.node, (cst.Subscript, cst.Call)) else None
    if one is None:
        return None
    place, removed = _read_once(scene, one.node)
    size = size_of(scene, site.framework, place, "vector")
    if size is None:
        return None
    if removed is not None and not stays(scene, one.mask, size):
        return NoFix(f"what `{scene.code(one.mask)}` is computed from changes before its true values are counted")
    if removed is None and _is_selected_anyway(site, one):
        return NoFix(f"`{brief(scene.code(one.node))}` is selected beside it all the same: rewrite that first")
    assumed = _list_assumptions(site, one)
    if isinstance(assumed, NoFix):
        return assumed
    made = _rewrite(site, one, size)
    if isinstance(made, NoFix):
        return made
    edits = made.replacements if removed is None else (*made.replacements, Replacement(*scene.lines(removed), ""))
    return made._replace(replacements=edits, assumes=all_of(filter(None, [*assumed, made.assumes])))


def _read_once(scene: FunctionSource, node: cst.BaseExpression) -> tuple[cst.BaseExpression, cst.BaseStatement | None]:
    """The only read of the name that a selection is given, and the statement that gives it; else the selection itself."""
    assign, function = scene.parent(node), scene.function(node)
    if not isinstance(assign, cst.Assign) or len(assign.targets) != 1 or function is None:
        return node, None
    target = assign.targets[0].target
    if not isinstance(target, cst.Name):
        return node, None
    line = scene.statement(assign)
    if len(occurrences(scene).find_named(function, target.value)) != 2 or len(scene.siblings(line)[0]) < 2:
        return node, None
    found = [use for use in uses(scene, function, target.value) if definition(scene, use) is assign]
    if len(found) != 1:
        return node, None
    return found[0], line


def _is_selected_anyway(site: Site, one: Selection) -> bool:
    """Return whether what runs along with a selection selects the same, and for more than its size."""
    scene, code = site.scene, site.scene.code(one.node)
    function = scene.function(one.node)
    blocks = _list_blocks(scene, one.node)
    for other in scene.descend(function, type(one.node)) if function is not None else ():
        if other is one.node or scene.code(other) != code or isinstance(scene.parent(other), cst.AssignTarget):
            continue
        if _list_blocks(scene, other) <= blocks and size_of(scene, site.framework, other, "vector") is None:
            return True
    return False


def _list_blocks(scene: FunctionSource, node: cst.CSTNode) -> set[cst.CSTNode]:
    """The blocks around a node, each of which may not run."""
    return {one for one in scene.above(node) if isinstance(one, cst.BaseSuite)}


def _list_assumptions(site: Site, one: Selection) -> list[str] | NoFix:
    """List what must hold for the number to be that of the mask's true values."""
    scene = site.scene
    takes_bools = isinstance(one.node, cst.Call)
    found = [base_assumption(scene, one.whole, site.framework)]
    if not takes_bools:
        found.append(mask_assumption(scene, one.mask, site.framework))
    assumed = []
    for told in found:
        if isinstance(told, NoFix):
            return told
        assumed.append(told)
    if one.broadcasts and not same_rank(scene, one.mask, one.whole):
        assumed.append(f"`{scene.code(one.mask)}` has the shape of `{scene.code(one.whole)}`")
    return assumed


def _rewrite(site: Site, one: Selection, size: cst.BaseExpression) -> Rewrite | NoFix:
    scene = site.scene
    count = Count(size, one.mask)
    by_rows = not _counts_elements(size) or one.broadcasts or same_rank(scene, one.mask, one.whole)
    asked = present(site, count)
    if isinstance(asked, Rewrite) and not by_rows:
        some = f"a row of `{scene.code(one.whole)}` has elements"
        return asked._replace(assumes=all_of(filter(None, [some, asked.assumes])))
    if asked is not None:
        return asked
    if in_test(scene, size):
        return NoFix("a condition that depends on the number waits for the device, whatever its form")
    made = number(site, count)
    if isinstance(made, NoFix) or one.broadcasts or not _counts_elements(size) or same_rank(scene, one.mask, one.whole):
        return made
    own = rank(scene, one.mask)
    if own < 0 or site.framework != "torch":
        return NoFix(f"how many elements a row of `{scene.code(one.node)}` has is not known")
    if isinstance(as_number(site, size), NoFix) or made.replacements[0][:2] != scene.span(size):
        return NoFix(f"multiply `{scene.code(one.mask)}.sum()` by the number of elements of a row")
    factor = f"{atom(scene, one.whole)}.shape[{own}:].numel()"
    first = made.replacements[0]
    text = f"{first.text} * {factor}"
    alone = isinstance(scene.parent(size), (cst.Assign, cst.Return, cst.Arg))
    return made._replace(replacements=(first._replace(text=text if alone else f"({text})"), *made.replacements[1:]))


def _counts_elements(size: cst.BaseExpression) -> bool:
    """Return whether a size covers all dimensions, not just the first."""
    return (
        isinstance(size, cst.Call)
        and isinstance(size.func, cst.Attribute)
        and size.func.attr.value in ("nelement", "numel")
    )
