"""XLA508: a model that forked processes build → built once, and passed to them."""

from __future__ import annotations

import libcst as cst

from xlalint.fixes.model import NoFix, Rewrite, Site
from xlalint.fixes.toolkit.function_source import FunctionSource, Replacement
from xlalint.fixes.toolkit.text import last_name

_LAUNCHERS = frozenset(("notebook_launcher", "launch", "spawn"))
_ELSEWHERE = NoFix("it is not certain where the processes are started: build it there and pass it in `args`")
_ONCE = "it may be built once, before the processes start"


def outside(site: Site) -> Rewrite | NoFix | None:
    """`def train(): model = Net()`, launched → `def train(model):`, `model = Net()`, launched with `args=(model,)`."""
    document, node = site.scene.document, site.node
    whole = document.scene(len(document.data) - 1) if document.data else None
    start, end = site.scene.span(node)
    built = whole.find(document.byte(start), document.byte(end)) if whole is not None else None
    if whole is None or built is None:
        whole, built = site.scene, node
    assigned = whole.parent(built)
    function = whole.function(built)
    line = whole.statement(built)
    if (
        function is None
        or not isinstance(assigned, cst.Assign)
        or len(assigned.targets) != 1
        or not isinstance(assigned.targets[0].target, cst.Name)
        or whole.parent(line) is not function.body
    ):
        return NoFix("it is built under a condition, or for more than one name: build it outside the function")
    name = assigned.targets[0].target.value
    calls = [call for call in whole.descend(whole.root, cst.Call) if _starts(call, function.name.value)]
    if len(calls) != 1 or whole.function(calls[0]) is not None:
        return _ELSEWHERE
    return _move_out(whole, function, line, name, calls[0])


def _move_out(
    scene: FunctionSource, function: cst.FunctionDef, line: cst.BaseStatement, name: str, call: cst.Call
) -> Rewrite | NoFix:
    known = {param.name.value for param in scene.descend(function.params, cst.Param)}
    known |= {one.value for one in _list_assigned(scene, function)} - {name}
    built = scene.code(line)
    used = {one.value for one in scene.descend(line, cst.Name)}
    params = function.params
    if (
        used & known
        or "#" in built
        or params.star_arg is not cst.MaybeSentinel.DEFAULT
        or params.kwonly_params
        or params.star_kwarg
    ):
        return NoFix("it is built from what only the function knows: build it outside and pass it in `args`")
    if name in scene.document.unit.defs or name in scene.document.unit.assigned:
        return NoFix(f"`{name}` means another thing outside the function")
    last = params.params[-1] if params.params else None
    if last is not None and last.default is not None:
        return NoFix("the function's parameters have defaults: build it outside and pass it in `args`")
    given = _with_argument(scene, call, name)
    if given is None:
        return _ELSEWHERE
    open_at = (
        scene.whole(last.name)[1]
        if last is not None
        else scene.document.text.index("(", scene.span(function.name)[1]) + 1
    )
    if last is not None and last.annotation is not None:
        open_at = scene.whole(last.annotation.annotation)[1]
    started = scene.span(scene.statement(call))[0]
    indent = scene.indent(scene.statement(call))
    return Rewrite(
        "Build it once, and pass it",
        (
            Replacement(*scene.lines(line), ""),
            Replacement(open_at, open_at, f", {name}" if last is not None else name),
            Replacement(started, started, f"{built}\n{indent}"),
            given,
        ),
        _ONCE,
    )


def _list_assigned(scene: FunctionSource, function: cst.FunctionDef) -> list[cst.Name]:
    """Names that the function's statements assign."""
    return [one.target for one in scene.descend(function.body, cst.AssignTarget) if isinstance(one.target, cst.Name)]


def _starts(call: cst.Call, function: str) -> bool:
    """Return whether a call launches the function."""
    func = call.func
    last = last_name(func)
    first = call.args[0].value if call.args else None
    return last in _LAUNCHERS and isinstance(first, cst.Name) and first.value == function


def _with_argument(scene: FunctionSource, call: cst.Call, name: str) -> Replacement | None:
    """One more value for the launched function."""
    given = [one for one in call.args if one.keyword is not None and one.keyword.value == "args"]
    second = call.args[1] if len(call.args) > 1 and call.args[1].keyword is None else None
    held = given[0] if given else second
    if held is None:
        place = scene.whole(call.args[0].value)[1]
        return Replacement(place, place, f", args=({name},)")
    if not isinstance(held.value, cst.Tuple) or not held.value.lpar or held.star:
        return None
    items = [scene.code(element.value) for element in held.value.elements]
    return Replacement(*scene.whole(held.value), f"({', '.join([*items, name])}{',' if not items else ''})")
