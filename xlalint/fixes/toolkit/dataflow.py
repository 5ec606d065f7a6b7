"""Find what statements read, bind and do: liveness and effects in one function, for rewrites.

Everything here errs on the side of "it may": a name that may be read later is live, a call that is not known does something.
"""

from __future__ import annotations

from bisect import bisect_right
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from itertools import accumulate
from typing import NamedTuple
from weakref import WeakKeyDictionary

import libcst as cst

from xlalint.diagnostics.finding import Touches
from xlalint.fixes.toolkit.function_source import FunctionSource, Replacement
from xlalint.fixes.toolkit.occurrences import is_bound, is_read, occurrences


def reads(scene: FunctionSource, node: cst.CSTNode) -> set[str]:
    """The names whose value a node may read, those in nested functions included."""
    return {name.value for name in scene.descend(node, cst.Name) if is_read(scene, name)}


def binds(scene: FunctionSource, node: cst.CSTNode) -> set[str]:
    """The names that a node may bind: by assignment, loop, `with`, `import`, `:=`, definition or deletion."""
    return {name.value for name in scene.descend(node, cst.Name) if is_bound(scene, name)}


def live_after(scene: FunctionSource, statement: cst.CSTNode, name: str) -> bool:
    """Return whether a name that a statement binds may be read behind it, before it is bound anew."""
    function: cst.CSTNode = scene.function(statement) or scene.root
    if occurrences(scene).read_by_nested(function, name):
        return True
    if any(True for _ in reads_after(scene, statement, name)):
        return True
    declared: list[cst.Global | cst.Nonlocal] = [*scene.descend(function, cst.Global)]
    declared += scene.descend(function, cst.Nonlocal)
    return any(item.name.value == name for one in declared for item in one.names)


def leaves(body: cst.BaseSuite) -> bool:
    """Return whether a block ends by leaving the function or the loop."""
    return isinstance(_last_of(body), (cst.Return, cst.Raise, cst.Break, cst.Continue))


def ends_function(body: cst.BaseSuite) -> bool:
    """Return whether a block ends by leaving the function."""
    return isinstance(_last_of(body), (cst.Return, cst.Raise))


def _last_of(body: cst.BaseSuite) -> cst.CSTNode | None:
    last = body.body[-1] if body.body else None
    return last.body[-1] if isinstance(last, cst.SimpleStatementLine) and last.body else last


def reads_after(scene: FunctionSource, statement: cst.CSTNode, name: str) -> Iterator[cst.Name]:
    """The reads of a name in its function that may see what it holds behind a statement; those in nested functions are not among them."""
    function: cst.CSTNode = scene.function(statement) or scene.root
    found = occurrences(scene)
    _, end = scene.extent(statement)
    reads = [(end, found.bound_again(statement, name)), (scene.extent(scene.parent(statement))[1], None)]
    loop = scene.nearest(scene.parent(statement), cst.For, cst.While)
    if loop is not None:
        reads.append((scene.extent(loop)[0], scene.extent(statement)[0]))
    for first, last in reads:
        for other in found.reads_from(function, name, first, last):
            if not _bound_anew(scene, statement, other):
                yield other


def _bound_anew(scene: FunctionSource, statement: cst.CSTNode, read: cst.Name) -> bool:
    """Return whether a name is surely assigned between a statement and a read: by a simple statement before the read, in its block or
    one around it that does not hold the statement, or by each turn of the loop that the read is in."""
    node: cst.CSTNode = scene.statement(read)
    while node is not statement and not scene.holds(node, statement):
        block = scene.parent(node)
        before = scene.child_towards(block, statement) if scene.holds(block, statement) else node
        since = scene.extent(before)[1] if scene.extent(before)[0] < scene.extent(node)[0] else 0
        if occurrences(scene).assigned_before(node, read.value, since):
            return True
        if _binds_in_turn(scene, block, node, read.value) and block is not statement:
            return True
        node = block
    return False


def _binds_in_turn(scene: FunctionSource, loop: cst.CSTNode, body: cst.CSTNode, name: str) -> bool:
    """Return whether a loop binds a name anew in front of each turn through its body."""
    return isinstance(loop, cst.For) and loop.body is body and name in binds(scene, loop.target)


def uses(scene: FunctionSource, node: cst.CSTNode, name: str) -> list[cst.Name]:
    """Where a node reads a name."""
    return occurrences(scene).reads(node, name)


def touches(scene: FunctionSource, replacements: Iterable[Replacement]) -> Touches:
    """Find what the statements that replacements change read, and what they bind, with all that is worked out from that and the names that
    they introduce."""
    steps = _steps(scene)
    changed = steps.within(replacements)
    bound = steps.worked_out_from(scene.introduced | {name for step in changed for name in step.binds})
    row = scene.document.place(scene.span(scene.root)[0]).row
    return Touches(row, tuple(sorted(bound)), tuple(sorted({name for step in changed for name in step.reads})))


class _Step(NamedTuple):
    """A simple statement, or the header of a compound one: its extent, and the names that it reads and binds."""

    start: int
    end: int
    reads: set[str]
    binds: set[str]


class _Steps:
    """All statements and headers of a scene, by their place, and by the names that they read."""

    def __init__(self, steps: Iterable[_Step]) -> None:
        self._steps = sorted(steps, key=lambda step: step.start)
        self._starts = [step.start for step in self._steps]
        self._ends = list(accumulate((step.end for step in self._steps), max))
        self._made_of: defaultdict[str, set[str]] = defaultdict(set)
        for step in self._steps:
            for name in step.reads:
                self._made_of[name] |= step.binds

    def within(self, replacements: Iterable[Replacement]) -> list[_Step]:
        """The steps that replacements touch, in order."""
        touched: set[int] = set()
        for one in replacements:
            first = bisect_right(self._ends, one.start)
            last = bisect_right(self._starts, one.end)
            touched.update(index for index in range(first, last) if one.start < self._steps[index].end)
        return [self._steps[index] for index in sorted(touched)]

    def worked_out_from(self, names: Iterable[str]) -> set[str]:
        """Names with all that any step works out from them."""
        found = set(names)
        todo = list(found)
        while todo:
            new = self._made_of.get(todo.pop(), set()) - found
            found |= new
            todo += new
        return found


def _steps(scene: FunctionSource) -> _Steps:
    """All statements and headers of a scene; worked out once."""
    known = _known_steps.get(scene)
    if known is None:
        known = _known_steps[scene] = _Steps(
            _Step(
                scene.span(node)[0],
                scene.span(node.body)[0] if isinstance(node, cst.BaseCompoundStatement) else scene.span(node)[1],
                {name for part in parts for name in reads(scene, part)},
                {name for part in parts for name in binds(scene, part)},
            )
            for node, parts in _statements(scene)
        )
    return known


_known_steps: WeakKeyDictionary[FunctionSource, _Steps] = WeakKeyDictionary()


def _statements(scene: FunctionSource) -> Iterator[tuple[cst.CSTNode, Sequence[cst.CSTNode]]]:
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


def bindings(scene: FunctionSource, node: cst.CSTNode, name: str) -> list[cst.Name]:
    """Where a node binds a name."""
    return occurrences(scene).find_bindings(node, name)


def definition(scene: FunctionSource, name: cst.Name) -> cst.Assign | None:
    """The assignment `name = …` that surely gave a name the value that it has where it is read; None where there may be others."""
    return definition_at(scene, name.value, name)


def definition_at(scene: FunctionSource, name: str, node: cst.CSTNode) -> cst.Assign | None:
    """The same of the value that a name has where a node begins."""
    bound = _binding(scene, name, node)
    target = scene.parent(bound) if bound is not None else None
    return _alone(scene, target) if isinstance(target, cst.AssignTarget) else None


def unpacking(scene: FunctionSource, name: cst.Name) -> cst.Assign | None:
    """The same of an assignment to several names at once: `a, b = …`."""
    bound = _binding(scene, name.value, name)
    element = scene.parent(bound) if bound is not None else None
    targets = scene.parent(element) if isinstance(element, cst.Element) else None
    target = scene.parent(targets) if isinstance(targets, cst.Tuple) else None
    return _alone(scene, target) if isinstance(target, cst.AssignTarget) else None


def _alone(scene: FunctionSource, target: cst.AssignTarget) -> cst.Assign | None:
    statement = scene.parent(target)
    return statement if isinstance(statement, cst.Assign) and len(statement.targets) == 1 else None


def _binding(scene: FunctionSource, name: str, node: cst.CSTNode) -> cst.Name | None:
    """Where a name surely got the value that it has at a node; None where that may have been in several places."""
    last = _last_binding(scene, name, node)
    return last if last is not None and _surely_runs(scene, last, node) else None


def _surely_runs(scene: FunctionSource, bound: cst.Name, node: cst.CSTNode) -> bool:
    """Return whether what binds a name runs whenever a node behind it does."""
    return scene.holds(scene.parent(scene.statement(bound)), node)


def _last_binding(scene: FunctionSource, name: str, node: cst.CSTNode) -> cst.Name | None:
    """The last place before a node that may have bound a name, where nothing binds it between the two."""
    function = scene.function(node)
    done = occurrences(scene).bindings(function or scene.root, name).last(scene.span(node)[0])
    if done is None:
        return None
    moment, last, furthest = done
    return last if scene.function(furthest) is function and unchanged(scene, name, moment, node) else None


def version(scene: FunctionSource, name: str, node: cst.CSTNode) -> int | None:
    """Return what tells the values of a name apart: two nodes of one function with the same version see the same value whenever both run.

    It is the offset where the name surely got its value, 0 for what its body did not bind before, and a negative number where a branch
    before the node may have bound it: none of its bindings then stands between two nodes of that number. None if unknown.
    """
    last = _last_binding(scene, name, node)
    if last is not None and _surely_runs(scene, last, node):
        return scene.span(last)[0]
    function = scene.function(node)
    since = scene.span(function.body)[0] - 1 if function is not None else 0
    if unchanged(scene, name, since, node):
        return 0
    return None if last is None else -1 - scene.span(last)[0]


def unchanged(scene: FunctionSource, name: str, since: int, use: cst.CSTNode) -> bool:
    """Return whether a name is not bound between an offset and a node behind it that reads it, loops that lead back included."""
    function = scene.function(use) or scene.root
    bound = occurrences(scene).bindings(function, name)
    for loop in scene.above(use):
        if loop is function:
            break
        if isinstance(loop, (cst.For, cst.While)):
            start, end = scene.span(loop)
            if start >= since and bound.within(start, end):
                return False
    return not bound.within(since + 1, scene.span(use)[0])
