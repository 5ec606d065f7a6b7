"""What statements read, bind and do: liveness and effects in one function, as a rewrite needs to know them.

Everything here errs on the side of "it may": a name that may be read later is live, a call that is not known does something.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple
from weakref import WeakKeyDictionary

import libcst as cst

from xlalint.checks.finding import Touches
from xlalint.fixes.scene import Replacement, Scene


def reads(scene: Scene, node: cst.CSTNode) -> set[str]:
    """The names whose value a node may read, those in nested functions included."""
    return {name.value for name in scene.descend(node, cst.Name) if _is_read(scene, name)}


def binds(scene: Scene, node: cst.CSTNode) -> set[str]:
    """The names that a node may bind: by assignment, loop, `with`, `import`, `:=`, definition or deletion."""
    return {name.value for name in scene.descend(node, cst.Name) if _is_bound(scene, name)}


def live_after(scene: Scene, statement: cst.CSTNode, name: str) -> bool:
    """Whether a name that a statement binds may be read behind it, before it is bound anew."""
    _, end = scene.span(statement)
    function = scene.function(statement) or scene.root
    loop = scene.nearest(scene.parent(statement), cst.For, cst.While)
    start = scene.span(loop)[0] if loop is not None else end
    for other in scene.descend(function, cst.Name):
        if other.value == name and _is_read(scene, other):
            at, _ = scene.span(other)
            nested = scene.function(other) is not scene.function(statement)
            later = at >= end or (loop is not None and start <= at < scene.span(statement)[0])
            if nested or (later and not _bound_anew(scene, statement, other)):
                return True
    declared: list[cst.Global | cst.Nonlocal] = [*scene.descend(function, cst.Global)]
    declared += scene.descend(function, cst.Nonlocal)
    return any(item.name.value == name for one in declared for item in one.names)


def _bound_anew(scene: Scene, statement: cst.CSTNode, read: cst.Name) -> bool:
    """Whether a name is surely assigned between a statement and a read of it: by a simple statement in front of the read, in its block or
    one around it that does not hold the statement."""
    around = {statement, *scene.above(statement)}
    node: cst.CSTNode = scene.statement(read)
    while node not in around:
        siblings, index = scene.siblings(node)
        for sibling in reversed(siblings[:index]):
            if sibling in around:
                break
            if isinstance(sibling, cst.SimpleStatementLine) and read.value in binds(scene, sibling):
                return True
        node = scene.parent(node)
    return False


def uses(scene: Scene, node: cst.CSTNode, name: str) -> Iterator[cst.Name]:
    """Where a node reads a name."""
    return (one for one in scene.descend(node, cst.Name) if one.value == name and _is_read(scene, one))


def touches(scene: Scene, replacements: Iterable[Replacement]) -> Touches:
    """What the statements that replacements change read, and what they bind, with all that is worked out from that and the names that
    they introduce."""
    steps = _steps(scene)
    changed = [step for step in steps if any(one.start < step.end and step.start < one.end + 1 for one in replacements)]
    bound = scene.introduced | {name for step in changed for name in step.binds}
    grown = -1
    while grown != len(bound):
        grown = len(bound)
        bound |= {name for step in steps if step.reads & bound for name in step.binds}
    row = scene.document.place(scene.span(scene.root)[0]).row
    return Touches(row, tuple(sorted(bound)), tuple(sorted({name for step in changed for name in step.reads})))


class _Step(NamedTuple):
    """A simple statement, or the header of a compound one: its extent, and the names that it reads and binds."""

    start: int
    end: int
    reads: set[str]
    binds: set[str]


def _steps(scene: Scene) -> list[_Step]:
    """All statements and headers of a scene, in order; worked out once."""
    known = _known_steps.get(scene)
    if known is None:
        known = _known_steps[scene] = [
            _Step(
                scene.span(node)[0],
                scene.span(node.body)[0] if isinstance(node, cst.BaseCompoundStatement) else scene.span(node)[1],
                {name for part in parts for name in reads(scene, part)},
                {name for part in parts for name in binds(scene, part)},
            )
            for node, parts in _statements(scene)
        ]
    return known


_known_steps: WeakKeyDictionary[Scene, list[_Step]] = WeakKeyDictionary()


def _statements(scene: Scene) -> Iterator[tuple[cst.CSTNode, Sequence[cst.CSTNode]]]:
    for line in scene.descend(scene.root, cst.SimpleStatementLine, cst.SimpleStatementSuite):
        yield line, line.body
    for loop in scene.descend(scene.root, cst.For):
        yield loop, [loop.target, loop.iter]
    for branch in scene.descend(scene.root, cst.If):
        yield branch, [branch.test]
    for turn in scene.descend(scene.root, cst.While):
        yield turn, [turn.test]
    for block in scene.descend(scene.root, cst.With):
        yield block, block.items


def bindings(scene: Scene, node: cst.CSTNode, name: str) -> list[cst.Name]:
    """Where a node binds a name."""
    return [one for one in scene.descend(node, cst.Name) if one.value == name and _is_bound(scene, one)]


def _is_read(scene: Scene, name: cst.Name) -> bool:
    holder = scene.parent(name)
    if isinstance(holder, cst.Attribute):
        return holder.value is name
    if isinstance(holder, (cst.Arg, cst.Param)) and getattr(holder, "keyword", getattr(holder, "name", None)) is name:
        return False
    if isinstance(holder, (cst.FunctionDef, cst.ClassDef, cst.NameItem, cst.ImportAlias, cst.AsName)):
        return holder.__class__ is cst.FunctionDef and holder.returns is name  # type: ignore[comparison-overlap]
    if isinstance(holder, cst.NamedExpr) and holder.target is name:
        return False
    return not _is_target(scene, name) or isinstance(holder, cst.AugAssign)


def _is_bound(scene: Scene, name: cst.Name) -> bool:
    holder = scene.parent(name)
    if isinstance(holder, (cst.FunctionDef, cst.ClassDef)):
        return holder.name is name
    if isinstance(holder, cst.NamedExpr):
        return holder.target is name
    if isinstance(holder, (cst.AsName, cst.ImportAlias, cst.Del)):
        return True
    return _is_target(scene, name)


def _is_target(scene: Scene, name: cst.CSTNode) -> bool:
    """Whether a name stands, alone or in a tuple, where something is assigned to it."""
    node, holder = name, scene.parent(name)
    while isinstance(holder, (cst.Element, cst.StarredElement, cst.Tuple, cst.List)):
        node, holder = holder, scene.parent(holder)
    if isinstance(holder, (cst.AssignTarget, cst.AnnAssign, cst.AugAssign, cst.For, cst.CompFor)):
        return holder.target is node
    return False


def definition(scene: Scene, name: cst.Name) -> cst.Assign | None:
    """The assignment `name = …` that surely gave a name the value that it has where it is read; None where there may be others."""
    bound = _binding(scene, name)
    target = scene.parent(bound) if bound is not None else None
    return _alone(scene, target) if isinstance(target, cst.AssignTarget) else None


def unpacking(scene: Scene, name: cst.Name) -> cst.Assign | None:
    """The same of an assignment to several names at once: `a, b = …`."""
    bound = _binding(scene, name)
    element = scene.parent(bound) if bound is not None else None
    targets = scene.parent(element) if isinstance(element, cst.Element) else None
    target = scene.parent(targets) if isinstance(targets, cst.Tuple) else None
    return _alone(scene, target) if isinstance(target, cst.AssignTarget) else None


def _alone(scene: Scene, target: cst.AssignTarget) -> cst.Assign | None:
    statement = scene.parent(target)
    return statement if isinstance(statement, cst.Assign) and len(statement.targets) == 1 else None


def _binding(scene: Scene, name: cst.Name) -> cst.Name | None:
    """Where a name surely got the value that it has where it is read; None where that may have been in several places."""
    function = scene.function(name) or scene.root
    at = scene.span(name)[0]
    before = [one for one in scene.descend(function, cst.Name) if one.value == name.value and _is_bound(scene, one)]
    done = [(moment, one) for one in before if (moment := _moment(scene, one)) <= at]
    if not done or scene.function(done[-1][1]) is not scene.function(name):
        return None
    moment, last = max(done, key=lambda pair: pair[0])
    if scene.parent(scene.statement(last)) not in scene.above(name):
        return None
    return last if unchanged(scene, name.value, moment, name) else None


def unchanged(scene: Scene, name: str, since: int, use: cst.CSTNode) -> bool:
    """Whether a name is not bound between an offset and a node behind it that reads it, loops that lead back included."""
    function = scene.function(use) or scene.root
    at = scene.span(use)[0]
    moments = [
        _moment(scene, one) for one in scene.descend(function, cst.Name) if one.value == name and _is_bound(scene, one)
    ]
    for loop in scene.above(use):
        if loop is function:
            break
        if isinstance(loop, (cst.For, cst.While)):
            start, end = scene.span(loop)
            if start >= since and any(start <= moment <= end for moment in moments):
                return False
    return not any(since < moment <= at for moment in moments)


def _moment(scene: Scene, name: cst.Name) -> int:
    """The offset behind which a name is bound by a node: an assignment's value is worked out first."""
    holder = scene.nearest(name, cst.Assign, cst.AnnAssign, cst.AugAssign, cst.For)
    if isinstance(holder, cst.For):
        return scene.span(name)[0]
    return scene.span(holder)[1] if holder is not None else scene.span(name)[0]
