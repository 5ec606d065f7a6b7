"""XLA103: checks of a tensor's value: without the check, or asynchronous under torch.compile."""

from __future__ import annotations

import libcst as cst

from xlalint.fixes.model import NoFix, Rewrite, Site, all_of
from xlalint.fixes.toolkit import values
from xlalint.fixes.toolkit.checks import reason_to_keep_written
from xlalint.fixes.toolkit.conditions import Condition, condition, find_undecided, holder_of, holds_tensor
from xlalint.fixes.toolkit.function_source import FunctionSource, Replacement
from xlalint.fixes.toolkit.imports import Imports
from xlalint.fixes.toolkit.removal import end_of, taken_out
from xlalint.fixes.toolkit.speculation import speculate
from xlalint.fixes.toolkit.text import brief, call, width_of

# Calls that are nothing but a check.
_CHECKS = frozenset(
    (
        "torch._assert",
        "torch._assert_async",
        "torch._check",
        "torch._check_value",
        "torch._check_index",
        "torch._check_tensor_all",
        "torch._check_tensor_all_with",
        "torch._check_with",
    )
)
# Methods of loggers, and of `warnings`.
_TELLING = frozenset(
    (
        "critical",
        "debug",
        "error",
        "exception",
        "info",
        "info_once",
        "log",
        "warn",
        "warn_once",
        "warning",
        "warning_once",
    )
)


def remove_check(site: Site) -> Rewrite | NoFix | None:
    """`assert t` and `if t: raise …`, of which nothing is left, or what the host can check."""
    scene = site.scene
    holder = holder_of(scene, site.node)
    if isinstance(holder, cst.Assert):
        return _assertion(site, holder)
    if isinstance(holder, cst.If):
        return _raising(site, holder)
    return _drop_call(site)


def asynchronous(site: Site) -> Rewrite | NoFix | None:
    """`if t: raise E("…")` → `torch._assert_async(~t, "…")`, which torch.compile captures."""
    scene = site.scene
    holder = holder_of(scene, site.node)
    if site.framework != "torch" or site.target != "torch_compile" or not isinstance(holder, cst.If):
        return None
    raised = _find_raise(holder)
    if raised is None or holder.orelse is not None or isinstance(scene.parent(holder), cst.If):
        return None
    imports = Imports(scene, holder)
    asked = condition(scene, holder.test, site.framework, imports)
    if isinstance(asked, NoFix):
        return asked
    message = _message(raised)
    if message is None:
        return None
    assumes = ["a failed check may stop the program later, with a `RuntimeError`", *asked.assumes]
    if asked.rank != 0:
        assumes.append(f"`{brief(asked.text)}` has one element")
    indent = scene.indent(holder)
    inner = f"{indent}    " if asked.static else indent
    arguments = [_negate(asked), *([scene.code(message)] if isinstance(message, cst.BaseExpression) else [])]
    made = call(f"{imports.name('torch')}._assert_async", arguments, len(inner), inner, width=width_of(scene))
    text = f"if {asked.static}:\n{inner}{made}" if asked.static else made
    start, _ = scene.span(holder)
    replacements = (Replacement(start, end_of(scene, holder), text), *imports.needed)
    return Rewrite("Use `torch._assert_async`", replacements, all_of(assumes))


def drop_report(site: Site) -> Rewrite | NoFix | None:
    """XLA101: `if t:` with nothing under it but warnings, log records, prints and `raise`, of which nothing is left."""
    scene = site.scene
    node = holder_of(scene, site.node)
    if not isinstance(node, cst.If) or node.orelse is not None or not _only_tells(scene, node.body):
        return None
    kept = reason_to_keep_written(site, node, node.test)
    if kept is not None:
        return kept
    if site.framework == "torch" and _warns(scene, node):
        return NoFix("the branch warns of what is wrong: warn every n steps, or where the value is on the host anyway")
    effects = _effects(site, node.test)
    if isinstance(effects, NoFix):
        return effects
    assumes = all_of((f"nobody needs the message where `{brief(scene.code(node.test))}` holds", *effects))
    above = scene.parent(node)
    if isinstance(above, cst.If):
        return NoFix("the branch only reports values: report them where they are on the host")
    return drop_check(scene, node, assumes)._replace(message="Drop what only reports values")


def _only_tells(scene: FunctionSource, body: cst.BaseSuite) -> bool:
    """Return whether a block only warns, logs, prints or raises."""
    for one in body.body:
        if isinstance(one, cst.If):
            rest = one.orelse
            while isinstance(rest, cst.If):
                if not _only_tells(scene, rest.body):
                    return False
                rest = rest.orelse
            if not _only_tells(scene, one.body) or (rest is not None and not _only_tells(scene, rest.body)):
                return False
        elif not isinstance(one, cst.SimpleStatementLine) or not all(_tells(scene, small) for small in one.body):
            return False
    return bool(body.body)


def _warns(scene: FunctionSource, node: cst.If) -> bool:
    """Return whether a branch warns or records an error, where a print is what somebody left who looked for one."""
    called = (one.func for one in scene.descend(node.body, cst.Call) if isinstance(one.func, cst.Attribute))
    return any(
        func.attr.value in _TELLING and not func.attr.value.startswith(("debug", "info", "log")) for func in called
    )


def _tells(scene: FunctionSource, node: cst.BaseSmallStatement) -> bool:
    if isinstance(node, cst.Raise):
        return True
    if not isinstance(node, cst.Expr) or not isinstance(node.value, cst.Call):
        return False
    function = node.value.func
    if isinstance(function, cst.Attribute) and function.attr.value in _TELLING:
        holder = scene.code(function.value).rpartition(".")[2].strip("_").lower()
        return holder in ("log", "logger", "logging", "warnings")
    return values.callee(scene.value(function)) in ("builtins.print", "warnings.warn")


def _effects(site: Site, test: cst.BaseExpression) -> tuple[str, ...] | NoFix:
    """List what is assumed for a check of tensors to have no effects, or return why it has to stay."""
    scene = site.scene
    either = find_undecided(scene, test, site.framework)
    if either:
        return NoFix(f"`{brief(either)}` is not a tensor in every call: the check may belong to the host")
    if any(scene.descend(test, cst.NamedExpr)):
        return NoFix("the check names a value with `:=`: assign it in a line of its own")
    if speculate(scene, [test], site.framework).barrier:
        return (f"computing `{brief(scene.code(test))}` changes nothing else",)
    return ()


def _assertion(site: Site, node: cst.Assert) -> Rewrite | NoFix:
    scene = site.scene
    kept = reason_to_keep_written(site, scene.statement(node), node.test)
    if kept is not None:
        return kept
    effects = _effects(site, node.test)
    if isinstance(effects, NoFix):
        return effects
    hosts = _host_part(scene, node.test, cst.And)
    if isinstance(hosts, NoFix):
        return hosts
    assumes = all_of((f"`{brief(scene.code(node.test))}` holds, which nothing checks any more", *effects))
    if hosts:
        place = scene.whole(node.test)
        return Rewrite("Drop the check of values", (Replacement(*place, hosts),), assumes)
    return _line_dropped(scene, node, assumes)


def _raising(site: Site, node: cst.If) -> Rewrite | NoFix:
    scene = site.scene
    if _find_raise(node) is None:
        return NoFix("the branch does more than raise")
    if node.orelse is not None:
        return NoFix("the check has an `else`: raise on the host, before the call")
    above = scene.parent(node)
    kept = reason_to_keep_written(site, node, node.test)
    if kept is not None:
        return kept
    effects = _effects(site, node.test)
    if isinstance(effects, NoFix):
        return effects
    assumes = all_of((f"`{brief(scene.code(node.test))}` never holds, which nothing checks any more", *effects))
    if isinstance(above, cst.If):
        text = scene.document.text
        first, last = scene.whole(node)
        while text[first - 1] in " \t":
            first -= 1
        return Rewrite("Drop the check of values", (Replacement(first, last, ""),), assumes)
    hosts = _host_part(scene, node.test, cst.Or)
    if isinstance(hosts, NoFix):
        return hosts
    if hosts:
        place = scene.whole(node.test)
        return Rewrite("Drop the check of values", (Replacement(*place, hosts),), assumes)
    return drop_check(scene, node, assumes)


def _drop_call(site: Site) -> Rewrite | NoFix | None:
    """A statement that is a call of a framework's function that checks."""
    scene = site.scene
    node = scene.nearest(site.node, cst.Call)
    while node is not None:
        name = values.callee(scene.value(node.func))
        holder = scene.parent(node)
        if (name in _CHECKS or ".debugging.assert_" in name) and isinstance(holder, cst.Expr):
            kept = reason_to_keep_written(site, scene.statement(holder), node)
            assumes = f"`{brief(scene.code(node))}` never fails, which nothing checks any more"
            return kept or _line_dropped(scene, node, assumes)
        node = scene.nearest(holder, cst.Call)
    return None


def _host_part(scene: FunctionSource, test: cst.BaseExpression, joint: type[cst.BaseBooleanOp]) -> str | NoFix:
    """The part of a check that the host can make without tensors: `a` of `a and t` that is asserted, of `a or t` that raises."""
    if not isinstance(test, cst.BooleanOperation):
        return ""
    if not isinstance(test.operator, joint):
        mixed = not all(holds_tensor(scene, one) for one in (test.left, test.right))
        return (
            ""
            if not mixed or joint is cst.Or
            else NoFix("a part of the check decides on the host whether the values matter")
        )
    parts = [part for part in _parts(test, joint) if not holds_tensor(scene, part)]
    symbol = " and " if joint is cst.And else " or "
    return symbol.join(scene.document.text[slice(*scene.whole(part))] for part in parts)


def _parts(node: cst.BaseExpression, kind: type[cst.BaseBooleanOp]) -> list[cst.BaseExpression]:
    if isinstance(node, cst.BooleanOperation) and isinstance(node.operator, kind):
        return [*_parts(node.left, kind), *_parts(node.right, kind)]
    return [node]


def _line_dropped(scene: FunctionSource, node: cst.CSTNode, assumes: str) -> Rewrite | NoFix:
    statement = scene.statement(node)
    if isinstance(statement, cst.SimpleStatementLine) and len(statement.body) > 1:
        return NoFix("the line holds another statement: give the check a line of its own")
    return drop_check(scene, statement, assumes)


def drop_check(scene: FunctionSource, statement: cst.BaseStatement, assumes: str) -> Rewrite:
    """A check taken out, with what was computed for it alone."""
    return Rewrite("Drop the check", taken_out(scene, statement), assumes)


def _find_raise(node: cst.If) -> cst.Raise | None:
    """The `raise` that is all that a branch does."""
    line = node.body.body[0] if len(node.body.body) == 1 else None
    if isinstance(line, cst.SimpleStatementLine):
        line = line.body[0]
    return line if isinstance(line, cst.Raise) else None


def _message(node: cst.Raise) -> cst.BaseExpression | bool | None:
    """The plain text that an exception is made with; True if there is none, None if it is worked out."""
    if not isinstance(node.exc, cst.Call) or not node.exc.args:
        return True
    first = node.exc.args[0].value
    plain = len(node.exc.args) == 1 and isinstance(first, (cst.SimpleString, cst.ConcatenatedString))
    formatted = any(isinstance(part, cst.FormattedString) for part in _strings(first))
    return first if plain and not formatted else None


def _strings(node: cst.BaseExpression) -> list[cst.BaseExpression]:
    if isinstance(node, cst.ConcatenatedString):
        return [*_strings(node.left), *_strings(node.right)]
    return [node]


def _negate(asked: Condition) -> str:
    if asked.turned:
        return asked.text
    return (
        f"~{asked.text}"
        if len(asked.tensors) == 1 and "(" in asked.text and asked.text.endswith(")")
        else f"~({asked.text})"
    )
