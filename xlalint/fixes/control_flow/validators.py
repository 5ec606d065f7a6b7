"""Findings in the arguments of a call that does nothing but check them: the call goes, with what was computed for it alone.

What a function of the program does is read from its own body: raise, assert, call a check of the framework's, and return nothing.
"""

from __future__ import annotations

import libcst as cst

from xlalint.abstract.values import Function, LibrarySymbol, Tensor, members
from xlalint.fixes.model import NoFix, Rewrite, Site
from xlalint.fixes.toolkit import values
from xlalint.fixes.toolkit.checks import reason_to_keep
from xlalint.fixes.toolkit.function_source import FunctionSource
from xlalint.fixes.toolkit.operations import READS, operation
from xlalint.fixes.toolkit.removal import taken_out
from xlalint.fixes.toolkit.speculation import speculate
from xlalint.fixes.toolkit.text import brief
from xlalint.lowering import ir
from xlalint.program.linker import FunctionInfo

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

# The same of libraries, whose bodies are not at hand, and where they take a function that makes the message.
LIBRARY_CHECKS = {
    "transformers.utils.import_utils.torch_compilable_check": (1, "msg"),
    "transformers.utils.torch_compilable_check": (1, "msg"),
}


def drop_validation(site: Site) -> Rewrite | NoFix | None:
    """Take out the statement that is a call of a checking function, if the finding is in its arguments."""
    scene = site.scene
    line = scene.nearest(site.node, cst.SimpleStatementLine)
    if line is None or len(line.body) != 1 or not isinstance(line.body[0], cst.Expr):
        return None
    called = line.body[0].value
    if not isinstance(called, cst.Call) or not only_checks(scene, called):
        return None
    if any(scene.descend(called, cst.NamedExpr)):
        return None
    given = [arg.value for arg in called.args]
    if _is_told(site, called):
        return NoFix(
            f"the host can check `{brief(scene.code(given[0]))}`: compute what the message says only where that fails"
        )
    kept = reason_to_keep(site, line, called)
    if kept is not None:
        return kept
    tested = brief(scene.code(given[0])) if given else brief(scene.code(called))
    assumes = f"`{tested}` holds, which nothing checks any more"
    if speculate(scene, given, site.framework).barrier:
        assumes += f", and computing `{tested}` changes nothing else"
    return Rewrite("Drop the check of values", taken_out(scene, line), assumes)


def _is_told(site: Site, called: cst.Call) -> bool:
    """Return whether a finding lies in the message of a failing check that itself needs no tensor."""
    scene, first = site.scene, called.args[0] if called.args else None
    around = {site.node, *scene.above(site.node)}
    if first is None or first in around or first.keyword is not None or first.star:
        return False
    return not _asks(scene, first.value)


_STATIC = frozenset(("device", "dim", "dtype", "ndim", "shape", "size"))


def _asks(scene: FunctionSource, node: cst.CSTNode) -> bool:
    """Return whether an expression asks for a tensor's elements, or for a size that depends on such."""
    if isinstance(node, cst.Attribute) and node.attr.value in _STATIC:
        return _is_sized(scene, node.value)
    if isinstance(node, cst.Call) and values.callee(scene.value(node.func)) == "builtins.len":
        return any(_is_sized(scene, arg.value) for arg in node.args)
    if isinstance(node, cst.BaseExpression) and any(type(one) is Tensor for one in members(scene.value(node))):
        return True
    return any(_asks(scene, child) for child in node.children)


def _is_sized(scene: FunctionSource, node: cst.BaseExpression) -> bool:
    """Return whether a tensor's shape may depend on another one's elements: it is indexed by it, or holds a selection."""
    if any(operation(scene, call) in READS for call in scene.descend(node, cst.Call)):
        return True
    indices = (part.slice for one in scene.descend(node, cst.Subscript) for part in one.slice)
    return any(
        type(one) is Tensor
        for index in indices
        for inner in (index, *index.children)
        if isinstance(inner, cst.BaseExpression)
        for one in members(scene.value(inner))
    )


def only_checks(scene: FunctionSource, called: cst.Call) -> bool:
    """Return whether a call does nothing but raise or not."""
    return all(
        (isinstance(one, Function) and not one.info.ir.decorators and checks_only(one.info))
        or (isinstance(one, LibrarySymbol) and one.name in LIBRARY_CHECKS)
        for one in members(scene.value(called.func))
    )


def checks_only(info: FunctionInfo) -> bool:
    """Return whether a function of the program does nothing but raise if its arguments are wrong."""
    if info.ir.is_generator or info.ir.is_async:
        return False
    return all(map(_harmless, info.body)) and any(map(_raises, ir.walk(info.body)))


def _harmless(node: ir.Statement) -> bool:
    """Return whether a statement only decides, binds local names, or checks."""
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
