"""XLA201: the last selected element of each row, `x[mask, :].view(batch, -1, width)[:, -1, :]` → one gather by position.

Encoder-decoder models classify by their last end-of-sequence token in this way. The view holds only where every row selects equally many
elements; what checks that goes.
"""

from __future__ import annotations

import re
from typing import NamedTuple

import libcst as cst

from xlalint.abstract.values import UNKNOWN, Tensor, members
from xlalint.fixes.control_flow.validators import only_checks
from xlalint.fixes.model import NoFix, Rewrite, Site, all_of
from xlalint.fixes.toolkit import values
from xlalint.fixes.toolkit.dataflow import binds, reads, uses
from xlalint.fixes.toolkit.function_source import FunctionSource, Replacement
from xlalint.fixes.toolkit.imports import Imports
from xlalint.fixes.toolkit.removal import taken_out
from xlalint.fixes.toolkit.text import atom

_BATCH = re.compile(r"(?:b|bs|bsz|batch|batch_size)$").match
_LAST = re.compile(r"\[:, ?-1(?:, ?(?::|\.\.\.))?,?\]$").search


class _Chain(NamedTuple):
    """`rows` is the view's last element of each row, `view` the call that makes the rows."""

    rows: cst.Subscript
    view: cst.Call


def last_of_each_row(site: Site) -> Rewrite | NoFix | None:
    """Gather the last selected element of each row."""
    scene, picked = site.scene, site.node
    if site.framework != "torch" or not isinstance(picked, cst.Subscript):
        return None
    parts = [scene.code(element).rstrip(", ") for element in picked.slice]
    if parts[1:] not in ([], [":"], ["..."]) or not _may_be_tensor(scene, picked):
        return None
    mask = picked.slice[0].slice
    if not isinstance(mask, cst.Index) or not isinstance(mask.value, (cst.Name, cst.Attribute)):
        return None
    chain = _chain(scene, picked)
    if chain is not None:
        return _rewrite(scene, picked, mask.value, chain, [])
    return _by_name(scene, picked, mask.value)


def _may_be_tensor(scene: FunctionSource, picked: cst.Subscript) -> bool:
    """Return whether nothing that is known of what is indexed is anything but a tensor of torch: an output of a model is not known.

    By two indices at once no list is indexed, nor a method: what a model gives at a place may seem to be one of these, but is not.
    """
    found = members(scene.value(picked.value))
    if any(type(one) is Tensor and one.framework != "torch" for one in found):
        return False
    if len(picked.slice) > 1:
        return any(type(one) is Tensor or one is UNKNOWN for one in found)
    return all(type(one) is Tensor or one is UNKNOWN for one in found)


def _by_name(scene: FunctionSource, picked: cst.Subscript, mask: cst.BaseExpression) -> Rewrite | NoFix | None:
    """`selected = x[mask, :]`, which is viewed once, and checked perhaps."""
    assign = scene.parent(picked)
    function = scene.function(picked)
    if not isinstance(assign, cst.Assign) or len(assign.targets) != 1 or function is None:
        return None
    name = assign.targets[0].target
    if not isinstance(name, cst.Name):
        return None
    chains: list[_Chain] = []
    checks: list[cst.BaseStatement] = [scene.statement(assign)]
    for use in uses(scene, function, name.value):
        chain = _chain(scene, use)
        line = scene.statement(use)
        if chain is not None:
            chains.append(chain)
        elif isinstance(line, cst.SimpleStatementLine) and _is_check(scene, line):
            checks.append(line)
        else:
            return None
    if len(chains) != 1 or name.value in {bound for line in checks[1:] for bound in binds(scene, line)}:
        return None
    return _rewrite(scene, picked, mask, chains[0], list(dict.fromkeys(checks)))


def _is_check(scene: FunctionSource, line: cst.SimpleStatementLine) -> bool:
    called = line.body[0].value if len(line.body) == 1 and isinstance(line.body[0], cst.Expr) else None
    return isinstance(called, cst.Call) and only_checks(scene, called)


def _chain(scene: FunctionSource, selected: cst.BaseExpression) -> _Chain | None:
    """`selected.view(batch, -1, …)[:, -1, :]` around an expression."""
    method = scene.parent(selected)
    if not isinstance(method, cst.Attribute) or method.attr.value not in ("view", "reshape"):
        return None
    view = scene.parent(method)
    rows = scene.parent(view)
    if not isinstance(view, cst.Call) or view.func is not method or not isinstance(rows, cst.Subscript):
        return None
    sizes = [scene.code(arg.value) for arg in view.args]
    code = "".join(scene.code(rows).split())
    if len(sizes) != 3 or sizes[1] != "-1" or rows.value is not view or not _LAST(code):
        return None
    batch = sizes[0].replace(" ", "")
    return _Chain(rows, view) if _BATCH(batch) or batch.endswith((".size(0)", ".shape[0]")) else None


def _rewrite(
    scene: FunctionSource, picked: cst.Subscript, mask: cst.BaseExpression, chain: _Chain, gone: list[cst.BaseStatement]
) -> Rewrite | NoFix:
    statement = scene.statement(chain.rows)
    names = {scene.code(mask).partition(".")[0], scene.code(picked.value).partition(".")[0]}
    start, end = scene.span(picked)[1], scene.span(statement)[0]
    function = scene.function(picked)
    between = [] if function is None else [*scene.descend(function.body, cst.SimpleStatementLine)]
    if any(start < scene.span(one)[0] < end and binds(scene, one) & names for one in between):
        return NoFix("the mask or what it indexes changes before the rows are viewed: gather the rows there")
    imports = Imports(scene, statement)
    torch, last = imports.name("torch"), scene.fresh("last")
    code, whole, indent = atom(scene, mask), atom(scene, picked.value), scene.indent(statement)
    places = f"{torch}.arange({code}.shape[1], device={code}.device)"
    line = f"{last} = ({code} * {places}).argmax(1)\n{indent}"
    rows = f"{whole}[{torch}.arange({whole}.shape[0], device={whole}.device), {last}]"
    at = scene.span(statement)[0]
    kept = (
        names | reads(scene, mask) | reads(scene, picked.value) | {name for one in gone for name in binds(scene, one)}
    )
    removed = [one for dead in gone for one in taken_out(scene, dead, kept)]
    made = (*removed, Replacement(at, at, line), Replacement(*scene.span(chain.rows), rows), *imports.needed)
    assumes = [f"`{scene.code(mask)}` has two dimensions and selects equally many elements in each row, at least one"]
    if not values.is_tensor(scene.value(picked.value), "torch"):
        assumes.append(f"`{scene.code(picked.value)}` is a tensor")
    return Rewrite("Gather the last selected element of each row", made, all_of(assumes))
