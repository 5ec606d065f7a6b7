"""Statements taken out, and what goes with them."""

from __future__ import annotations

from collections.abc import Collection, Iterable

import libcst as cst

from xlalint.fixes.toolkit.dataflow import binds, live_after, reads, uses
from xlalint.fixes.toolkit.function_source import FunctionSource, Replacement
from xlalint.fixes.toolkit.operations import names, operation
from xlalint.fixes.toolkit.speculation import speculate


def taken_out(
    scene: FunctionSource, statement: cst.BaseStatement, keep: Collection[str] = ()
) -> tuple[Replacement, ...]:
    """A statement taken out with the comments above it and what is assigned for it alone, but for names to `keep`; `pass` is left
    where the block would be empty, and an `if`, `else` or `for` that would be left with nothing to do goes too."""
    gone = [statement, *_left_over(scene, statement, keep)]
    return _merge(_without(scene, one, gone) for one in gone)


def _without(
    scene: FunctionSource, statement: cst.BaseStatement, gone: Collection[cst.BaseStatement] = ()
) -> Replacement:
    """A statement taken out; with the last one of a block of which all are `gone`, what the block leaves."""
    siblings = scene.siblings(statement)[0]
    if any(one is not statement and one not in gone for one in siblings) or siblings[-1] is not statement:
        return Replacement(*scene.lines(statement), "")
    around = scene.parent(scene.parent(statement))
    if isinstance(around, cst.Else):
        start, end = scene.span(around)[0], scene.whole(around)[1]
        return Replacement(scene.document.text.rfind("\n", 0, start) + 1, end, "")
    if isinstance(around, (cst.If, cst.For)) and _is_idle(scene, around):
        return _without(scene, around, gone)
    return Replacement(scene.span(statement)[0], end_of(scene, statement), "pass")


def _is_idle(scene: FunctionSource, node: cst.If | cst.For) -> bool:
    """Return whether an `if` or a loop does nothing besides its block."""
    if node.orelse is not None or isinstance(scene.parent(node), cst.If):
        return False
    if isinstance(node, cst.If):
        return not speculate(scene, [node.test], "").barrier
    live = any(live_after(scene, node, name) for name in binds(scene, node.target))
    return not live and node.asynchronous is None and not speculate(scene, [node.iter], "").barrier


def end_of(scene: FunctionSource, statement: cst.CSTNode) -> int:
    """Where a statement's own text ends, without its line end."""
    start, end = scene.span(statement)
    return start + len(scene.document.text[start:end].rstrip())


def _left_over(scene: FunctionSource, gone: cst.BaseStatement, keep: Collection[str]) -> list[cst.SimpleStatementLine]:
    """The assignments whose names nothing reads once a statement is gone."""
    function = scene.function(gone)
    if function is None:
        return []
    extra: list[cst.SimpleStatementLine] = []
    lines = [*scene.descend(function.body, cst.SimpleStatementLine)]
    for line in reversed([one for one in lines if scene.span(one)[0] < scene.span(gone)[0]]):
        name = _single(scene, line)
        if (
            name is None
            or name in keep
            or name not in _read_by(scene, [gone, *extra])
            or len(scene.siblings(line)[0]) == 1
        ):
            continue
        inside = {use for one in [gone, *extra] for use in uses(scene, one, name)}
        bound = [one for one in lines if name in binds(scene, one)]
        if len(bound) == 1 and inside >= set(uses(scene, function, name)) and _is_free(scene, line):
            extra.append(line)
    return extra


def _read_by(scene: FunctionSource, statements: Iterable[cst.CSTNode]) -> set[str]:
    return {name for one in statements for name in reads(scene, one)}


def _single(scene: FunctionSource, line: cst.SimpleStatementLine) -> str | None:
    """The one name that a line assigns, where that is all that it does."""
    assign = line.body[0] if len(line.body) == 1 else None
    if not isinstance(assign, cst.Assign) or len(assign.targets) != 1:
        return None
    target = assign.targets[0].target
    return target.value if isinstance(target, cst.Name) else None


def _is_free(scene: FunctionSource, line: cst.SimpleStatementLine) -> bool:
    """Return whether computing what a line assigns has no effect."""
    assign = line.body[0]
    if not isinstance(assign, cst.Assign):
        return False
    return not speculate(scene, [assign.value], "").barrier or _only_gives(scene, assign.value)


def _only_gives(scene: FunctionSource, node: cst.CSTNode) -> bool:
    """Return whether an expression consists of names, operators, and methods without effects, whatever their receivers."""
    if isinstance(node, cst.Call):
        named = node.func.attr.value if isinstance(node.func, cst.Attribute) else ""
        known = operation(scene, node) or named
        if known not in _GIVING:
            return False
    elif isinstance(node, (cst.Yield, cst.Await, cst.NamedExpr, cst.Lambda, cst.BaseComp)):
        return False
    return all(_only_gives(scene, child) for child in node.children)


_GIVING = names(
    "all any bool dim eq expand expand_as flatten float ge gt int item le long lt max mean min ne numel permute reshape size squeeze"
    " sum to transpose unsqueeze view view_as"
)


def _merge(replacements: Iterable[Replacement]) -> tuple[Replacement, ...]:
    """Removals in order; those that share an empty line are made one."""
    merged: list[Replacement] = []
    for one in sorted(replacements):
        if merged and one.start < merged[-1].end:
            merged[-1] = Replacement(merged[-1].start, max(one.end, merged[-1].end), merged[-1].text + one.text)
        else:
            merged.append(one)
    return tuple(merged)
