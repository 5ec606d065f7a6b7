"""XLA206: a loop that takes the mean, or the deviation, of the first elements of each row → one masked sum for all rows.

Speech models pool over time in this way: each row of a batch has a length of its own, and the loop slices by it.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import libcst as cst

from xlalint.fixes.dynamic_shape.prefixes import loop_around
from xlalint.fixes.dynamic_shape.slices import cut_of
from xlalint.fixes.model import NoFix, Rewrite, Site, all_of
from xlalint.fixes.toolkit import values
from xlalint.fixes.toolkit.dataflow import live_after
from xlalint.fixes.toolkit.function_source import FunctionSource, Replacement
from xlalint.fixes.toolkit.imports import Imports
from xlalint.fixes.toolkit.operations import operation
from xlalint.fixes.toolkit.text import atom

_KINDS = frozenset(("mean", "std", "var"))
_MOST = 3  # statistics that one loop gathers


class _Statistic(NamedTuple):
    """`kept.append(whole[row, :length].mean(dim=0))`."""

    kept: str
    kind: str
    whole: cst.BaseExpression


class _Pooling(NamedTuple):
    """The lines from the first empty list to the last `torch.stack`, and what is gathered in between."""

    first: cst.CSTNode
    last: cst.CSTNode
    lengths: cst.BaseExpression
    statistics: list[_Statistic]


def pool_rows(site: Site) -> Rewrite | NoFix | None:
    """`kept.append(x[i, :n].mean(dim=0))` in a loop → `torch.where(within[..., None], x, 0).sum(1) / within.sum(1, keepdim=True)`."""
    scene = site.scene
    if site.framework != "torch" or not isinstance(site.node, cst.Subscript):
        return None
    loop = scene.nearest(site.node, cst.For)
    found = _read_pooling(scene, loop) if loop is not None else None
    if found is None:
        return None
    whole = found.statistics[0].whole
    if values.rank_of(scene.value(whole)) not in (-1, 3) or not values.is_tensor(scene.value(whole), "torch"):
        return NoFix(f"`{scene.code(whole)}` is not known to be a tensor of rows of vectors")
    return _rewrite(site, found, whole)


def _read_pooling(scene: FunctionSource, loop: cst.For) -> _Pooling | None:
    """A loop that appends statistics of each row's beginning to lists which are empty before, and stacked behind."""
    header = loop_around(scene, loop)
    if header is None or header.length is None or header.lengths is None:
        return None
    if not values.is_tensor(scene.value(header.lengths), "torch") or values.rank_of(scene.value(header.lengths)) > 1:
        return None
    lines = list(loop.body.body)
    statistics = [one for line in lines if (one := _read_statistic(scene, line, header.row, header.length)) is not None]
    names = [one.kept for one in statistics]
    alike = len({scene.code(one.whole) for one in statistics}) == 1 and len(set(names)) == len(names)
    if not 0 < len(lines) == len(statistics) <= _MOST or not alike:
        return None
    siblings, index = scene.siblings(loop)
    before, behind = siblings[max(index - len(names), 0) : index], siblings[index + 1 : index + 1 + len(names)]
    if sorted(_list_empty(scene, before)) != sorted(names) or sorted(_list_stacked(scene, behind)) != sorted(names):
        return None
    if any(live_after(scene, loop, one.value) for one in (header.row, header.length)):
        return None
    return _Pooling(before[0], behind[-1], header.lengths, statistics)


def _read_statistic(scene: FunctionSource, line: cst.CSTNode, row: cst.Name, length: cst.Name) -> _Statistic | None:
    alone = line.body[0] if isinstance(line, cst.SimpleStatementLine) and len(line.body) == 1 else None
    append = alone.value if isinstance(alone, cst.Expr) else None
    if not isinstance(append, cst.Call) or not isinstance(append.func, cst.Attribute) or len(append.args) != 1:
        return None
    kept, taken = append.func.value, append.args[0].value
    if append.func.attr.value != "append" or not isinstance(kept, cst.Name) or not isinstance(taken, cst.Call):
        return None
    if not isinstance(taken.func, cst.Attribute) or taken.func.attr.value not in _KINDS or len(taken.args) != 1:
        return None
    axis = scene.code(taken.args[0]).replace(" ", "")
    cut = cut_of(scene, taken.func.value)
    if axis not in ("0", "dim=0", "axis=0") or cut is None or cut.lower is not None or cut.upper is None or cut.after:
        return None
    rows = [scene.code(one) for one in cut.before]
    if rows != [row.value] or scene.code(cut.upper) != length.value or not isinstance(cut.whole, cst.Name):
        return None
    return _Statistic(kept.value, taken.func.attr.value, cut.whole)


def _read_assignment(line: cst.CSTNode) -> tuple[str, cst.BaseExpression] | None:
    """The name that a line alone assigns to, and what."""
    one = line.body[0] if isinstance(line, cst.SimpleStatementLine) and len(line.body) == 1 else None
    if not isinstance(one, cst.Assign) or len(one.targets) != 1 or not isinstance(one.targets[0].target, cst.Name):
        return None
    return one.targets[0].target.value, one.value


def _list_empty(scene: FunctionSource, lines: Sequence[cst.CSTNode]) -> list[str]:
    """The names that lines bind to empty lists."""
    found = [_read_assignment(line) for line in lines]
    return [one[0] for one in found if one is not None and scene.code(one[1]) in ("[]", "list()")]


def _list_stacked(scene: FunctionSource, lines: Sequence[cst.CSTNode]) -> list[str]:
    """The names whose lists lines replace by their stacks."""
    names: list[str] = []
    for line in lines:
        found = _read_assignment(line)
        if found is None or not isinstance(found[1], cst.Call) or operation(scene, found[1]) != "stack":
            continue
        given = [scene.code(arg).replace(" ", "") for arg in found[1].args]
        if given in ([found[0]], [found[0], "dim=0"], [found[0], "0"]):
            names.append(found[0])
    return names


def _rewrite(site: Site, found: _Pooling, whole: cst.BaseExpression) -> Rewrite:
    scene = site.scene
    imports = Imports(scene, found.first)
    torch, x, n = imports.name("torch"), scene.code(whole), atom(scene, found.lengths)
    within, count = scene.fresh("within"), scene.fresh("count")
    lines = [
        f"{within} = {torch}.arange({x}.shape[1], device={x}.device) < {n}[:, None]",
        f"{count} = {within}.sum(1, keepdim=True)",  # of a length beyond the end, a slice leaves what there is
    ]
    means = [one.kept for one in found.statistics if one.kind == "mean"]
    mean = means[0] if means else scene.fresh("mean")
    lines.append(f"{mean} = {torch}.where({within}[..., None], {x}, 0).sum(1) / {count}")
    for one in found.statistics:
        if one.kind != "mean":
            spread = f"{torch}.where({within}[..., None], {x} - {mean}[:, None], 0).square().sum(1) / ({count} - 1)"
            lines.append(f"{one.kept} = ({spread}).sqrt()" if one.kind == "std" else f"{one.kept} = {spread}")
    indent = scene.indent(found.first)
    extent = scene.span(found.first)[0], scene.span(found.last)[1]
    text = f"\n{indent}".join(lines)
    code = scene.code(found.lengths)
    assumed = [
        f"`{code}` has a length for each row of `{x}`, none of them negative, and is on its device",
        *([] if values.rank_of(scene.value(whole)) == 3 else [f"`{x}` has three dimensions"]),
        f"`{x}` is finite beyond the lengths, and rounding in another order does not matter",
        *(["no gradient is taken of a deviation of 0"] if any(one.kind == "std" for one in found.statistics) else []),
    ]
    edit = Replacement(*_without_newline(scene, extent), text)
    return Rewrite("Pool all rows at once", (edit, *imports.needed), all_of(assumed))


def _without_newline(scene: FunctionSource, extent: tuple[int, int]) -> tuple[int, int]:
    start, end = extent
    return start, start + len(scene.document.text[start:end].rstrip())
