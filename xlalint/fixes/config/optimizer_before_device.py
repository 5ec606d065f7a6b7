"""XLA519: an optimizer made behind the move of its model."""

from __future__ import annotations

import libcst as cst

from xlalint.fixes.model import NoFix, Rewrite, Site
from xlalint.fixes.toolkit.function_source import FunctionSource, Replacement
from xlalint.fixes.toolkit.text import last_name

_KINDS: tuple[type[cst.BaseExpression], ...] = (cst.Name, cst.Attribute)
_APART = NoFix("create the optimizer after the model was moved")


def behind(site: Site) -> Rewrite | NoFix | None:
    """`opt = SGD(model.parameters())`, `model.to(device)` → the other way round. Where the optimizer is used in between, the model is moved
    up."""
    scene, node = site.scene, site.node
    if not isinstance(node, cst.Call) or not isinstance(node.func, cst.Attribute):
        return None
    line = scene.statement(node)
    block, place = scene.siblings(line)
    made = f"{scene.code(node.func.value)}.parameters()"
    before = [one for one in block[:place] if isinstance(one, cst.SimpleStatementLine) and made in scene.code(one)]
    if len(before) != 1 or not isinstance(line, cst.SimpleStatementLine):
        return _APART
    optimizer = before[0]
    between = block[block.index(optimizer) + 1 : place]
    names = _list_assigned(scene, optimizer)
    used_between = names & {scene.code(one) for each in between for one in scene.descend(each, cst.Name)}
    if used_between and _may_go_up(scene, line, (optimizer, *between)):
        return _moved_up(scene, line, optimizer)
    used = {scene.code(name) for one in (*between, line) for kind in _KINDS for name in scene.descend(one, kind)}
    if (
        not names
        or names & used
        or any(_reach(scene, one, names) for one in between)
        or len(optimizer.body) != 1
        or "#" in scene.document.text[slice(*scene.lines(optimizer))]
    ):
        return _APART
    end = scene.span(line)[1]
    line_end = scene.document.text.find("\n", end)
    place_after = len(scene.document.text) if line_end < 0 else line_end
    if scene.document.text[place_after - 1 : place_after] == "\r":
        place_after -= 1
    start, stop = scene.whole(optimizer)
    text = f"\n{scene.indent(optimizer)}{scene.code(optimizer).strip()}"
    return Rewrite(
        "Create the optimizer after the move",
        (Replacement(start, stop, ""), Replacement(place_after, place_after, text)),
        "the optimizer should train the moved model",
    )


def _may_go_up(scene: FunctionSource, line: cst.SimpleStatementLine, passed: tuple[cst.CSTNode, ...]) -> bool:
    """Return whether a model may be moved in front of statements: they are simple ones, and assign nothing that the move takes."""
    taken = {scene.code(one) for kind in _KINDS for one in scene.descend(line, kind)}
    targets = [target.target for one in passed for target in scene.descend(one, cst.AssignTarget)]
    plain = all(isinstance(one, cst.SimpleStatementLine) for one in passed) and len(line.body) == 1
    unpacks = any(isinstance(one, (cst.Tuple, cst.List)) for one in targets)
    trails = line.trailing_whitespace.comment is not None
    return plain and not unpacks and not trails and not taken & {scene.code(one) for one in targets}


def _moved_up(scene: FunctionSource, line: cst.SimpleStatementLine, optimizer: cst.CSTNode) -> Rewrite:
    (start, end), before = scene.span(line), scene.span(optimizer)[0]
    text, newline = scene.document.text, scene.document.newline
    begin = text.rfind("\n", 0, start) + 1
    stop = text.find("\n", end) + 1 or len(text)
    first = f"{text[start:end].strip()}{newline}{scene.indent(optimizer)}"
    return Rewrite(
        "Move the model first",
        (Replacement(before, before, first), Replacement(begin, stop, "")),
        "the optimizer should train the moved model",
    )


def _list_assigned(scene: FunctionSource, line: cst.CSTNode) -> set[str]:
    return {
        scene.code(target.target)
        for target in scene.descend(line, cst.AssignTarget)
        if isinstance(target.target, (cst.Name, cst.Attribute))
    }


def _reach(scene: FunctionSource, line: cst.CSTNode, names: set[str]) -> bool:
    """Return whether what a statement calls of the file may use an attribute: `self.restore()` with `self.optimizer` in it."""
    own = {name.rpartition(".")[2] for name in names if "." in name}
    called = {last_name(one.func) for one in scene.descend(line, cst.Call)} if own else set()
    file = scene.document.whole() if called else None
    if file is None:
        return bool(called)
    functions = (one for one in file.descend(file.root, cst.FunctionDef) if one.name.value in called)
    return any(one.attr.value in own for each in functions for one in file.descend(each, cst.Attribute))
