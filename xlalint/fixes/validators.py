"""Findings in the arguments of a call that does nothing but check them: the call goes, with what was computed for it alone.

What a function of the program does is read from its own body: raise, assert, call a check of the framework's, and return nothing.
"""

from __future__ import annotations

from collections.abc import Iterable

import libcst as cst

from xlalint.fixes.assertions import dropped
from xlalint.fixes.dataflow import binds, reads, uses
from xlalint.fixes.model import Rewrite, Site
from xlalint.fixes.scene import Replacement, Scene
from xlalint.fixes.speculation import speculate
from xlalint.fixes.text import brief
from xlalint.lowering import ir
from xlalint.semantics.program import FunctionInfo
from xlalint.semantics.values import External, Function, members

# What raises where its argument is false, by the last name.
_CHECKS = frozenset(
    (
        "_assert",
        "_assert_async",
        "_check",
        "_check_index",
        "_check_tensor_all",
        "_check_tensor_all_with",
        "_check_value",
        "_check_with",
    )
)

# The same of libraries, whose bodies are not at hand.
_LIBRARY_CHECKS = frozenset(
    (
        "transformers.utils.import_utils.torch_compilable_check",
        "transformers.utils.torch_compilable_check",
    )
)


def unchecked(site: Site) -> Rewrite | None:
    """Take out the statement that is a call of a checking function, if the finding is in its arguments."""
    scene = site.scene
    line = scene.nearest(site.node, cst.SimpleStatementLine)
    if line is None or len(line.body) != 1 or not isinstance(line.body[0], cst.Expr):
        return None
    called = line.body[0].value
    if not isinstance(called, cst.Call) or not _only_checks(scene, called):
        return None
    if any(scene.descend(called, cst.NamedExpr)):
        return None
    given = [arg.value for arg in called.args]
    tested = brief(scene.code(given[0])) if given else brief(scene.code(called))
    assumes = f"`{tested}` holds, which nothing checks any more"
    if speculate(scene, given, site.framework).barrier:
        assumes += f", and computing `{tested}` changes nothing else"
    gone = [line, *_left_over(scene, line, site.framework)]
    replacements = [one for statement in gone for one in dropped(scene, statement, "").replacements]
    return Rewrite("Drop the check of values", _merged(replacements), assumes)


def _only_checks(scene: Scene, called: cst.Call) -> bool:
    """Whether all that a call does is to raise, or not."""
    return all(
        (isinstance(one, Function) and not one.info.ir.decorators and checks_only(one.info))
        or (isinstance(one, External) and one.name in _LIBRARY_CHECKS)
        for one in members(scene.value(called.func))
    )


def checks_only(info: FunctionInfo) -> bool:
    """Whether a function of the program does nothing but raise where its arguments are not as they should be."""
    if info.ir.is_generator or info.ir.is_async:
        return False
    return all(map(_harmless, info.body)) and any(map(_raises, ir.walk(info.body)))


def _harmless(node: ir.Statement) -> bool:
    """Whether a statement only decides, binds local names, or checks."""
    if isinstance(node, (ir.Raise, ir.Assert, ir.Import, ir.Define)):
        return True
    if isinstance(node, ir.Eval):
        return isinstance(node.value, (ir.Const, ir.Literal)) or _raises(node.value)
    if isinstance(node, ir.Return):
        return node.value is None or node.value == ir.Const(None)
    if isinstance(node, ir.Assign):
        return all(isinstance(target, ir.Name) for target in node.targets)
    if isinstance(node, ir.If):
        return all(map(_harmless, (*node.body, *node.orelse)))
    return False


def _raises(node: object) -> bool:
    if isinstance(node, (ir.Raise, ir.Assert)):
        return True
    return isinstance(node, ir.Call) and isinstance(node.func, ir.Attr) and node.func.name in _CHECKS


def _left_over(scene: Scene, gone: cst.SimpleStatementLine, framework: str) -> list[cst.SimpleStatementLine]:
    """The assignments whose names nothing reads once a statement is gone."""
    function = scene.function(gone)
    if function is None:
        return []
    extra: list[cst.SimpleStatementLine] = []
    lines = [*scene.descend(function.body, cst.SimpleStatementLine)]
    for line in reversed(lines[: lines.index(gone)]):
        name = _single(scene, line)
        if name is None or name not in _read_by(scene, [gone, *extra]) or len(scene.siblings(line)[0]) == 1:
            continue
        inside = {use for one in [gone, *extra] for use in uses(scene, one, name)}
        bound = [one for one in lines if name in binds(scene, one)]
        if len(bound) == 1 and inside >= set(uses(scene, function, name)) and _is_free(scene, line, framework):
            extra.append(line)
    return extra


def _read_by(scene: Scene, statements: Iterable[cst.CSTNode]) -> set[str]:
    return {name for one in statements for name in reads(scene, one)}


def _single(scene: Scene, line: cst.SimpleStatementLine) -> str | None:
    """The one name that a line assigns, where that is all that it does."""
    assign = line.body[0] if len(line.body) == 1 else None
    if not isinstance(assign, cst.Assign) or len(assign.targets) != 1:
        return None
    target = assign.targets[0].target
    return target.value if isinstance(target, cst.Name) else None


def _is_free(scene: Scene, line: cst.SimpleStatementLine, framework: str) -> bool:
    """Whether working out what a line assigns does nothing else."""
    assign = line.body[0]
    return isinstance(assign, cst.Assign) and not speculate(scene, [assign.value], framework).barrier


def _merged(replacements: Iterable[Replacement]) -> tuple[Replacement, ...]:
    """Removals in order; those that share an empty line are made one."""
    merged: list[Replacement] = []
    for one in sorted(replacements):
        if merged and one.start < merged[-1].end:
            merged[-1] = Replacement(merged[-1].start, max(one.end, merged[-1].end), merged[-1].text + one.text)
        else:
            merged.append(one)
    return tuple(merged)
