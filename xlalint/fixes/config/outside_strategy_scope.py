"""XLA502: what belongs into a strategy's scope → under `with strategy.scope():`."""

from __future__ import annotations

import re
from collections.abc import Sequence

import libcst as cst

from xlalint.fixes.model import NoFix, Rewrite, Site
from xlalint.fixes.toolkit.function_source import FunctionSource, Replacement
from xlalint.fixes.toolkit.text import block, movable

_NAMED = re.compile(r"outside `([\w.]+)\.scope\(\)`")
_BLANK = re.compile(r"\A(?:[ \t]*\n)+")
# What ends the preparation of a model: it runs as well outside of the scope.
_RUNNING = frozenset(("fit", "evaluate", "predict", "train_on_batch", "run"))
_ELSEWHERE = NoFix("the strategy has no name here: pass it to this code and create the model in its scope")
_LATER = NoFix("the strategy is created further down: create it first")
_MEANT = "what is created there is meant for the TPU"


def move_into_scope(site: Site) -> Rewrite | NoFix | None:
    """`model = …` → `with strategy.scope():\\n    model = …`, with the statements that follow up to the model's `compile`."""
    scene, node = site.scene, site.node
    named = _NAMED.search(site.hazard.detail)
    if named is None:
        return _ELSEWHERE
    statement = scene.statement(node)
    if not isinstance(statement, cst.SimpleStatementLine):
        return NoFix("it is created as part of another statement: give it a line of its own")
    if any(isinstance(one, cst.Return) for one in statement.body):
        return NoFix("it is created in a `return`: open the scope where the function is called")
    strategy = named[1]
    if _made_after(scene, strategy, scene.span(statement)[0]):
        return _LATER
    siblings, index = scene.siblings(statement)
    end = _last(scene, siblings, index)
    statements = [one for one in siblings[index : end + 1] if isinstance(one, cst.SimpleStatementLine)]
    if not movable(scene, statements):
        return NoFix("a string of several lines would be moved with it")
    message = f"Create it under `with {strategy}.scope():`"
    return Rewrite(
        message,
        _move_into_block(scene, strategy, siblings, index, end) or _wrap_in_scope(scene, strategy, statements),
        _MEANT,
    )


def _made_after(scene: FunctionSource, strategy: str, start: int) -> bool:
    """Return whether the scene assigns a name, but not before a place."""
    assigned = [
        scene.span(target)[0]
        for target in scene.descend(scene.root, cst.AssignTarget)
        if scene.code(target.target) == strategy
    ]
    return bool(assigned) and min(assigned) > start


def _last(scene: FunctionSource, siblings: Sequence[cst.CSTNode], index: int) -> int:
    """The last of the statements that go into the scope with the first: up to the model's `compile`, else what only calls its methods."""
    names = _list_bound(siblings[index])
    last = index
    attached = True
    for place in range(index + 1, len(siblings)):
        one = siblings[place]
        called = _method(scene, one)
        if not isinstance(one, cst.SimpleStatementLine) or _runs(scene, one):
            break
        if called is not None and called[0] in names and called[1] == "compile":
            return place
        attached = attached and called is not None and called[0] in names
        last = place if attached else last
    return last


def _list_bound(statement: cst.CSTNode) -> set[str]:
    if not isinstance(statement, cst.SimpleStatementLine):
        return set()
    targets = [target.target for one in statement.body if isinstance(one, cst.Assign) for target in one.targets]
    return {target.value for target in targets if isinstance(target, cst.Name)}


def _method(scene: FunctionSource, statement: cst.CSTNode) -> tuple[str, str] | None:
    """The name and the method of a statement that is `name.method(…)` and nothing else."""
    if not isinstance(statement, cst.SimpleStatementLine) or len(statement.body) != 1:
        return None
    held = statement.body[0]
    call = held.value if isinstance(held, cst.Expr) else None
    if not isinstance(call, cst.Call) or not isinstance(call.func, cst.Attribute):
        return None
    return scene.code(call.func.value), call.func.attr.value


def _runs(scene: FunctionSource, statement: cst.CSTNode) -> bool:
    names = (
        call.func.attr.value for call in scene.descend(statement, cst.Call) if isinstance(call.func, cst.Attribute)
    )
    return not _RUNNING.isdisjoint(names)


def _wrap_in_scope(
    scene: FunctionSource, strategy: str, statements: Sequence[cst.SimpleStatementLine]
) -> tuple[Replacement, ...]:
    start, end = scene.whole(statements[0])[0], scene.whole(statements[-1])[1]
    indent = scene.indent(statements[0])
    text = block(scene, statements, indent + scene.step)
    blank = _BLANK.match(text)
    lead = blank[0] if blank is not None else ""
    return (Replacement(start, end, f"{lead}{indent}with {strategy}.scope():\n{text[len(lead) :]}"),)


def _move_into_block(
    scene: FunctionSource, strategy: str, siblings: Sequence[cst.CSTNode], index: int, end: int
) -> tuple[Replacement, ...]:
    """The statements moved into a block of the scope that stands right before or behind them; nothing where none does."""
    before = _find_scope_block(scene, strategy, siblings[index - 1]) if index else None
    behind = _find_scope_block(scene, strategy, siblings[end + 1]) if end + 1 < len(siblings) else None
    held = before or behind
    if held is None:
        return ()
    statements = siblings[index : end + 1]
    text = _BLANK.sub("", block(scene, statements, scene.indent(held.body[0])))
    removed = Replacement(scene.whole(statements[0])[0], scene.whole(statements[-1])[1], "")
    place = scene.whole(held.body[-1])[1] if before is not None else scene.whole(held.body[0])[0]
    if place == removed.start:
        return (removed._replace(text=text),)
    if before is None:
        blank = _BLANK.match(scene.document.text[removed.start :].replace("\r\n", "\n"))
        kept = len(blank[0]) if blank is not None else 0
        removed = removed._replace(start=removed.start + kept) if scene.document.newline == "\n" else removed
        leading = scene.document.text[removed.end : scene.span(siblings[end + 1])[0]]
        removed = removed._replace(end=removed.end + len(leading) - len(leading.lstrip("\r\n")))
    return (removed, Replacement(place, place, text))


def _find_scope_block(scene: FunctionSource, strategy: str, statement: cst.CSTNode) -> cst.IndentedBlock | None:
    """The block of `with strategy.scope():`."""
    if (
        not isinstance(statement, cst.With)
        or len(statement.items) != 1
        or not isinstance(statement.body, cst.IndentedBlock)
    ):
        return None
    return statement.body if scene.code(statement.items[0].item) == f"{strategy}.scope()" else None
