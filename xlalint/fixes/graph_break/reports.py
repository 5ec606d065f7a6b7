"""XLA701 and XLA303: what is logged or printed in compiled code → `if not torch.compiler.is_compiling():` in front of it.

Dynamo knows that `is_compiling()` is true, and leaves the block out of its graph together with what it would say.
"""

from __future__ import annotations

from collections.abc import Sequence

import libcst as cst

from xlalint.abstract.values import LibraryInstance, Value, members
from xlalint.fixes.model import NoFix, Rewrite, Site
from xlalint.fixes.toolkit import values
from xlalint.fixes.toolkit.conditions import conjunct
from xlalint.fixes.toolkit.function_source import FunctionSource, Replacement
from xlalint.fixes.toolkit.imports import Imports
from xlalint.fixes.toolkit.operations import READS, operation
from xlalint.fixes.toolkit.speculation import barrier_of
from xlalint.fixes.toolkit.text import block, movable

_SAYING = frozenset(("critical", "debug", "error", "exception", "fatal", "info", "log", "warn", "warning"))
_ONCE = "_once"  # a method that libraries add to loggers: once for each text
_ASSUMED = "what it says is not needed where the function is compiled"
_READING = READS | {"float", "int", "bool"}


def say_uncompiled(site: Site) -> Rewrite | NoFix | None:
    """`logger.info("…")` → the same under `if not torch.compiler.is_compiling():`, asked in front of a condition that is for it alone."""
    scene = site.scene
    if site.framework != "torch" or site.target != "torch_compile":
        return None
    line = scene.nearest(site.node, cst.SimpleStatementLine)
    if line is None or not _says(scene, line) or not scene.holds(line.body[0], site.node):
        return None
    lines = _find_neighbours(scene, line)
    if any(_acts(scene, arg) for one in lines for arg in _arguments(one)):
        return NoFix("an argument of the call does more than give a value: take it out of the call first")
    if not movable(scene, lines):
        return NoFix("its text goes over several lines, which a new indentation would change")
    return _rewrite(scene, lines)


def _says(scene: FunctionSource, line: cst.CSTNode) -> bool:
    """Return whether a line does nothing but log, print or warn."""
    if not isinstance(line, cst.SimpleStatementLine) or len(line.body) != 1 or not isinstance(line.body[0], cst.Expr):
        return False
    call = line.body[0].value
    if not isinstance(call, cst.Call):
        return False
    owner, _, last = values.callee(scene.value(call.func)).rpartition(".")
    if isinstance(call.func, cst.Attribute) and _is_logger(scene.value(call.func.value)):
        return last.removesuffix(_ONCE) in _SAYING
    return f"{owner}.{last}" in ("builtins.print", "warnings.warn") or (owner == "logging" and last in _SAYING)


def _is_logger(value: Value) -> bool:
    found = members(value)
    return bool(found) and all(type(one) is LibraryInstance and one.name == "logging.Logger" for one in found)


def _acts(scene: FunctionSource, node: cst.CSTNode) -> bool:
    """Return whether computing a node may do more than give a value; to read a tensor is none of it."""
    if any(scene.descend(node, cst.NamedExpr, cst.Yield, cst.Await)):
        return True
    calls = (call for call in scene.descend(node, cst.Call) if operation(scene, call) not in _READING)
    return any(barrier_of(scene, call, "torch") for call in calls)


def _arguments(line: cst.SimpleStatementLine) -> Sequence[cst.Arg]:
    (statement,) = line.body
    assert isinstance(statement, cst.Expr)
    assert isinstance(statement.value, cst.Call)
    return statement.value.args


def _find_neighbours(scene: FunctionSource, line: cst.SimpleStatementLine) -> list[cst.SimpleStatementLine]:
    """The lines around one that say something, too, without anything between them."""
    statements, place = scene.siblings(line)
    first = last = place
    while first > 0 and _says(scene, statements[first - 1]):
        first -= 1
    while last + 1 < len(statements) and _says(scene, statements[last + 1]):
        last += 1
    return [one for one in statements[first : last + 1] if isinstance(one, cst.SimpleStatementLine)]


def _rewrite(scene: FunctionSource, lines: Sequence[cst.SimpleStatementLine]) -> Rewrite:
    imports = Imports(scene, lines[0])
    asked = f"not {imports.name('torch')}.compiler.is_compiling()"
    message = "Say it only where the code runs uncompiled"
    holder = _find_condition(scene, lines)
    if holder is not None:
        changed = Replacement(*scene.whole(holder.test), f"{asked} and {_as_conjunct(scene, holder.test)}")
    else:
        indent = scene.indent(lines[0])
        start, end = scene.whole(lines[0])[0], scene.whole(lines[-1])[1]
        inner = block(scene, lines, indent + scene.step)
        changed = Replacement(start, end, f"{indent}if {asked}:\n{inner}")
    return Rewrite(message, (changed, *imports.needed), _ASSUMED)


def _find_condition(scene: FunctionSource, lines: Sequence[cst.SimpleStatementLine]) -> cst.If | None:
    """The `if` of which some lines are all, if nothing happens where its condition is not asked."""
    holder = scene.nearest(scene.parent(lines[0]), cst.If)
    if holder is None or holder.orelse is not None or isinstance(scene.parent(holder), cst.If):
        return None
    if tuple(holder.body.body) != tuple(lines) or _acts(scene, holder.test):
        return None
    return holder


def _as_conjunct(scene: FunctionSource, test: cst.BaseExpression) -> str:
    """A condition's code behind `and`: as it stands where it has parentheses, or is an `and` itself."""
    if test.lpar:
        return scene.document.text[slice(*scene.whole(test))]
    joins = isinstance(test, cst.BooleanOperation) and isinstance(test.operator, cst.And)
    return scene.code(test) if joins else conjunct(scene, test)
