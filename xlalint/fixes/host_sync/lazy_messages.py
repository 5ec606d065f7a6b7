"""XLA201 to XLA303: a tensor in the message of a check → a message that is made where the check fails: `lambda: f"{count} tokens"`.

An f-string is made at each call, and waits for the device whatever the check finds. Checks that take a function in place of a text ask for
it by `callable`; that is read from their own body.
"""

from __future__ import annotations

import libcst as cst

from xlalint.abstract.values import Function, LibrarySymbol, Value, members
from xlalint.fixes.control_flow.validators import LIBRARY_CHECKS, only_checks
from xlalint.fixes.model import Rewrite, Site
from xlalint.fixes.toolkit.function_source import FunctionSource, Replacement
from xlalint.fixes.toolkit.speculation import barrier_of
from xlalint.lowering import ir
from xlalint.program.linker import FunctionInfo

# What belongs to the function in which it is written.
_BOUND_TO_FUNCTION = (cst.Await, cst.NamedExpr, cst.Yield)
_OF_FRAME = ("locals", "super", "vars")


def make_when_needed(site: Site) -> Rewrite | None:
    """`check(ok, f"{count} tokens")` → `check(ok, lambda: f"{count} tokens")`."""
    scene = site.scene
    arg = scene.nearest(site.node, cst.Arg)
    called = scene.parent(arg) if arg is not None else None
    while arg is not None and isinstance(called, cst.Call) and not _is_message(scene, called, arg):
        arg = scene.nearest(called, cst.Arg)
        called = scene.parent(arg) if arg is not None else None
    if arg is None or not isinstance(called, cst.Call) or not _is_only_text(scene, arg.value, site.framework):
        return None
    start, _ = scene.whole(arg.value)
    return Rewrite("Make the message where the check fails", (Replacement(start, start, "lambda: "),))


def _is_message(scene: FunctionSource, called: cst.Call, arg: cst.Arg) -> bool:
    """Return whether an argument is the text of a call that only checks, and that takes a function in place of the text."""
    checks = members(scene.value(called.func))
    if not checks or arg.star or not only_checks(scene, called):
        return False
    place = called.args.index(arg)
    if arg.keyword is None and any(one.star for one in called.args[:place]):
        return False
    return all(_takes_function(one, place, arg.keyword.value if arg.keyword is not None else "") for one in checks)


def _takes_function(check: Value, place: int, keyword: str) -> bool:
    """Return whether a check takes a function for what it is given by place or keyword."""
    if isinstance(check, LibrarySymbol):
        return (keyword or place) in LIBRARY_CHECKS.get(check.name, ())
    if not isinstance(check, Function) or check.info.owner is not None:
        return False
    params = [one.name for one in check.info.params if one.kind in ("", "/")]
    name = keyword or (params[place] if place < len(params) else "")
    return any(one.name == name for one in check.info.params) and _asks_whether_callable(check.info, name)


def _asks_whether_callable(info: FunctionInfo, name: str) -> bool:
    """Return whether a function asks whether a parameter is `callable`, and does not raise for that alone."""
    for node in ir.walk(info.body):
        if isinstance(node, ir.If) and any(_asks(one, name) for one in ir.walk((node.test,))):
            return not any(isinstance(one, ir.Raise) for one in ir.walk((*node.body, *node.orelse)))
        if isinstance(node, ir.IfExp) and any(_asks(one, name) for one in ir.walk((node.test,))):
            return True
    return False


def _asks(node: object, name: str) -> bool:
    if not isinstance(node, ir.Call) or not isinstance(node.func, ir.Name) or node.func.id != "callable":
        return False
    return len(node.args) == 1 and isinstance(node.args[0], ir.Name) and node.args[0].id == name


def _is_only_text(scene: FunctionSource, node: cst.BaseExpression, framework: str) -> bool:
    """Return whether an expression formats a text and does nothing else, so that it may be left undone."""
    if not isinstance(node, (cst.FormattedString, cst.ConcatenatedString)):
        return False
    if any(scene.descend(node, *_BOUND_TO_FUNCTION)) or scene.function(node) is None:
        return False
    return not any(
        (isinstance(one.func, cst.Name) and one.func.value in _OF_FRAME) or barrier_of(scene, one, framework)
        for one in scene.descend(node, cst.Call)
    )
