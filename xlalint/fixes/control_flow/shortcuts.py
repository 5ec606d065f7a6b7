"""XLA101, XLA104, XLA105: what a test of a mask's values leaves out, though the code behind it serves any mask → no test of values.

`if mask is None or mask.all(): return None` takes a shortcut where there is no mask, and where the mask masks nothing. The code behind it
has to serve masks that mask something, and gives the same for one that is true everywhere: the test on the host alone is enough.
"""

from __future__ import annotations

from typing import NamedTuple, Union

import libcst as cst

from xlalint.abstract.values import Function, members
from xlalint.fixes.control_flow.assertions import drop_check
from xlalint.fixes.model import NoFix, Rewrite, Site
from xlalint.fixes.toolkit import values
from xlalint.fixes.toolkit.conditions import condition, holder_of
from xlalint.fixes.toolkit.dataflow import definition
from xlalint.fixes.toolkit.function_source import FunctionSource, Replacement
from xlalint.fixes.toolkit.imports import Imports
from xlalint.fixes.toolkit.operations import CASTS, VIEWS, arguments_of, is_method, operation
from xlalint.fixes.toolkit.text import brief
from xlalint.lowering import ir
from xlalint.program.linker import FunctionInfo

_WHOLE = {cst.Equal: ("1", "True", "1.0"), cst.NotEqual: ("0", "False", "0.0"), cst.GreaterThan: ("0",)}


class _Shortcut(NamedTuple):
    """`mask is None or mask.all()`, or `mask is not None and not mask.all()`: the mask, what is said of it where the shortcut is taken, the
    part on the host, and all of it."""

    mask: str
    asked: str
    host: cst.BaseExpression
    whole: cst.BooleanOperation


def take_general_path(site: Site) -> Rewrite | NoFix | None:
    """`if mask is None or mask.all():` → `if mask is None:`."""
    scene = site.scene
    if not isinstance(site.node, cst.BaseExpression):
        return None
    found = _shortcut(scene, site.node)
    if found is None:
        return None
    if holder_of(scene, found.whole) is None and not isinstance(scene.parent(found.whole), cst.Return):
        return None
    if not _only_leaves_out(scene, found):
        return NoFix("the branch does more than take a shortcut: see what it would do for a mask that masks nothing")
    host = scene.document.text[slice(*scene.span(found.host))]
    made = Replacement(*_extent(scene, found.whole), host)
    assumes = f"what runs for any other `{found.mask}` gives the same for one {found.asked}"
    return Rewrite("Leave the shortcut to calls without a mask", (made,), assumes)


def _shortcut(scene: FunctionSource, node: cst.BaseExpression) -> _Shortcut | None:
    """The test around a question of the host's that asks whether there is a mask that masks anything."""
    mask, told = find_whole_mask(scene, node), "that is true everywhere"
    asked: cst.CSTNode = node
    joint: type[cst.BaseBooleanOp] = cst.Or
    if not mask:
        asked = _all_parts(scene, node)
        mask = _find_mask_of_part(scene, node) if asked is not node else ""
        told = f"of which `{brief(scene.code(asked))}` holds"
    holder = scene.parent(asked)
    if isinstance(holder, cst.UnaryOperation) and isinstance(holder.operator, cst.Not) and asked is node:
        holder, asked, joint = scene.parent(holder), holder, cst.And
    if not mask or "mask" not in mask or not isinstance(holder, cst.BooleanOperation) or holder.right is not asked:
        return None
    if not isinstance(holder.operator, joint):
        return None
    nearest = holder.left
    if isinstance(nearest, cst.BooleanOperation) and isinstance(nearest.operator, joint):
        nearest = nearest.right
    wanted = cst.Is if joint is cst.Or else cst.IsNot
    return _Shortcut(mask, told, holder.left, holder) if _is_none_test(scene, nearest, mask, wanted) else None


def _is_none_test(
    scene: FunctionSource, node: cst.BaseExpression, mask: str, kind: type[Union[cst.Is, cst.IsNot]]
) -> bool:
    if not isinstance(node, cst.Comparison) or len(node.comparisons) != 1 or scene.code(node.left) != mask:
        return False
    compared = node.comparisons[0]
    return isinstance(compared.operator, kind) and scene.code(compared.comparator) == "None"


def find_whole_mask(scene: FunctionSource, node: cst.BaseExpression) -> str:
    """The name of the mask of which an expression asks whether it is true everywhere: `mask.all()`, `torch.all(mask == 1)`."""
    if not isinstance(node, cst.Call):
        return ""
    asked_by_helper = _asks_by_helper(scene, node)
    mask = node.args[0].value if asked_by_helper else _asked_of_all(scene, node)
    if not asked_by_helper and isinstance(mask, cst.Comparison) and len(mask.comparisons) == 1:
        compared = mask.comparisons[0]
        if scene.code(compared.comparator) not in _WHOLE.get(type(compared.operator), ()):
            return ""
        mask = mask.left
    return scene.code(mask) if isinstance(mask, (cst.Name, cst.Attribute)) else ""


def _asked_of_all(scene: FunctionSource, node: cst.Call) -> cst.BaseExpression | None:
    """Return what a call says to be true everywhere. A mask that callers of all kinds give is one that is not known to be a tensor alone:
    there its method's name tells.
    """
    if not node.args and isinstance(node.func, cst.Attribute) and node.func.attr.value == "all":
        return node.func.value
    operands = arguments_of(scene, node)
    asks = operation(scene, node).removeprefix("reduce_") == "all" and len(operands) == 1 and len(node.args) <= 1
    return operands[0] if asks else None


def _all_parts(scene: FunctionSource, node: cst.BaseExpression) -> cst.BaseExpression:
    """The conjunction of questions about parts of one mask that a question stands in: `mask[:, :n].all() and (~mask[:, n:]).all()`."""
    both = scene.parent(node)
    if not isinstance(both, cst.BooleanOperation) or not isinstance(both.operator, cst.And):
        return node
    named = {_find_mask_of_part(scene, one) for one in (both.left, both.right)}
    return both if len(named) == 1 and "" not in named else node


def _find_mask_of_part(scene: FunctionSource, node: cst.BaseExpression) -> str:
    """The name of the mask of which an expression asks whether a part, or what that leaves out, is true everywhere."""
    if not isinstance(node, cst.Call):
        return ""
    operands = arguments_of(scene, node)
    asks = operation(scene, node) == "all" and len(operands) == 1 and len(node.args) <= 1
    if not asks and not _asks_by_helper(scene, node):
        return ""
    part = operands[0]
    if isinstance(part, cst.UnaryOperation) and isinstance(part.operator, cst.BitInvert):
        part = part.expression
    sliced = isinstance(part, cst.Subscript) and all(isinstance(one.slice, cst.Slice) for one in part.slice)
    return (
        scene.code(part.value)
        if sliced and isinstance(part, cst.Subscript) and isinstance(part.value, cst.Name)
        else ""
    )


def _asks_by_helper(scene: FunctionSource, node: cst.Call) -> bool:
    """Return whether a call is of a function of the program that says whether its only argument is true everywhere."""
    if len(node.args) != 1 or node.args[0].keyword is not None or node.args[0].star:
        return False
    found = members(scene.value(node.func))
    return bool(found) and all(
        isinstance(one, Function) and one.receiver is None and one.info.answers(_asks_for_all) for one in found
    )


def _asks_for_all(info: FunctionInfo) -> bool:
    """Return whether a function gives `x.all()`, or `x.sum() == x.numel()`, of its only parameter."""
    body = [
        line for line in info.body if not (isinstance(line, ir.Eval) and isinstance(line.value, (ir.Const, ir.Literal)))
    ]
    if len(info.params) != 1 or info.ir.decorators or len(body) != 1 or not isinstance(body[0], ir.Return):
        return False
    given, name = body[0].value, info.params[0].name
    if isinstance(given, ir.Compare):
        counts = {_method_of(given.left, name), *(_method_of(one, name) for one in given.rights)}
        return given.ops == ("==",) and counts == {"sum", "numel"}
    return _method_of(given, name) == "all"


def _method_of(node: ir.Node | None, name: str) -> str:
    """The method of a variable that is called without arguments; "" for anything else."""
    if not isinstance(node, ir.Call) or node.args or node.keywords or not isinstance(node.func, ir.Attr):
        return ""
    return node.func.name if isinstance(node.func.value, ir.Name) and node.func.value.id == name else ""


def _counts_nothing(scene: FunctionSource, node: cst.BaseExpression, name: str) -> bool:
    """Return whether an expression asks whether the running count that a name holds is still zero at its end: `(m[:, -1] == 0).all()`."""
    operands = arguments_of(scene, node) if isinstance(node, cst.Call) else []
    if not isinstance(node, cst.Call) or operation(scene, node) != "all" or len(operands) != 1 or len(node.args) > 1:
        return False
    compared = operands[0]
    if not isinstance(compared, cst.Comparison) or len(compared.comparisons) != 1:
        return False
    last, zero = compared.left, compared.comparisons[0]
    if not isinstance(zero.operator, cst.Equal) or scene.code(zero.comparator) != "0":
        return False
    if not isinstance(last, cst.Subscript) or scene.code(last) not in (f"{name}[:, -1]", f"{name}[..., -1]"):
        return False
    made = definition(scene, last.value) if isinstance(last.value, cst.Name) else None
    count = made.value if made is not None else None
    if not isinstance(count, cst.Call) or operation(scene, count) != "cumsum":
        return False
    counted = arguments_of(scene, count)
    return values.is_bool(scene.value(counted[0])) and [scene.code(one.value) for one in count.args][-1:] == ["-1"]


def _only_leaves_out(scene: FunctionSource, found: _Shortcut) -> bool:
    """Return whether a branch, or the outcome that is returned, only spares work: it gives a constant, no mask, or what it was given."""
    holder = holder_of(scene, found.whole)
    if isinstance(found.whole.operator, cst.And):
        return isinstance(holder, (cst.If, cst.IfExp))
    if isinstance(holder, cst.IfExp):
        return _is_plain(scene, holder.body)
    if isinstance(holder, cst.If):
        return _is_positive(scene, found.whole, holder) and _spares(scene, holder.body)
    return isinstance(scene.parent(found.whole), cst.Return)


def _is_positive(scene: FunctionSource, node: cst.CSTNode, holder: cst.If) -> bool:
    """Return whether a part of a condition makes it true, not false: there is no `not` in between."""
    between = (one for one in scene.above(node) if scene.holds(holder.test, one) or one is holder.test)
    return not any(isinstance(one, cst.UnaryOperation) for one in between)


def _spares(scene: FunctionSource, body: cst.BaseSuite) -> bool:
    """Return whether a block only returns, or sets a name to, a constant or what is at hand."""
    line = body.body[0] if len(body.body) == 1 else None
    small = line.body[0] if isinstance(line, cst.SimpleStatementLine) and len(line.body) == 1 else line
    if isinstance(small, cst.Return):
        return small.value is None or _is_plain(scene, small.value)
    return (
        isinstance(small, cst.Assign)
        and len(small.targets) == 1
        and isinstance(small.targets[0].target, cst.Name)
        and _is_plain(scene, small.value)
    )


def _is_plain(scene: FunctionSource, node: cst.BaseExpression) -> bool:
    return isinstance(node, cst.Name) or values.is_none(scene.value(node))


def _extent(scene: FunctionSource, node: cst.BooleanOperation) -> tuple[int, int]:
    """Where the part on the host comes: for the parentheses as well, unless it is of several parts or negated."""
    around = scene.parent(node)
    bare = isinstance(node.left, cst.Comparison) and not isinstance(around, cst.UnaryOperation)
    return (
        scene.whole(node)
        if bare and len(node.lpar) == 1 and isinstance(around, cst.BooleanOperation)
        else scene.span(node)
    )


def kept_mask(site: Site) -> Rewrite | NoFix | None:
    """`if mask.all(): mask = None` → nothing: a mask that masks nothing stays one."""
    scene = site.scene
    node = holder_of(scene, site.node)
    if not isinstance(node, cst.If) or node.orelse is not None or isinstance(scene.parent(node), cst.If):
        return None
    line = node.body.body[0] if len(node.body.body) == 1 else None
    small = line.body[0] if isinstance(line, cst.SimpleStatementLine) and len(line.body) == 1 else None
    if not isinstance(small, cst.Assign) or len(small.targets) != 1 or scene.code(small.value) != "None":
        return None
    name = scene.code(small.targets[0].target)
    asked = condition(scene, node.test, site.framework, Imports(scene, node))
    if isinstance(asked, NoFix) or asked.turned or len(asked.tensors) != 1 or "mask" not in name:
        return None
    if find_whole_mask(scene, asked.tensors[0]) != name or not isinstance(small.targets[0].target, cst.Name):
        return None
    made = drop_check(scene, node, f"`{name}` gives what None gives where it is true everywhere")
    return made._replace(message=f"Keep `{name}`")


def returned_mask(site: Site) -> Rewrite | None:
    """`if mask.all(): return None` with a `return mask` behind it → that alone: a mask that masks nothing is returned."""
    scene = site.scene
    node = holder_of(scene, site.node)
    if not isinstance(node, cst.If) or node.orelse is not None or isinstance(scene.parent(node), cst.If):
        return None
    siblings, index = scene.siblings(node)
    early = _find_returned(node.body.body[0]) if len(node.body.body) == 1 else None
    last = _find_returned(siblings[index + 1]) if index + 2 == len(siblings) else None
    if early is None or scene.code(early) != "None" or last is None:
        return None
    name = scene.code(_unwrap_rearrangement(scene, last))
    asked = condition(scene, node.test, site.framework, Imports(scene, node))
    if isinstance(asked, NoFix) or asked.turned or len(asked.tensors) != 1 or "mask" not in name:
        return None
    told = "true" if find_whole_mask(scene, asked.tensors[0]) == name else ""
    told = told or ("zero" if _counts_nothing(scene, asked.tensors[0], name) else "")
    if not name.isidentifier() or not told:
        return None
    made = drop_check(scene, node, f"the caller treats `{name}` that is {told} everywhere like None")
    return made._replace(message=f"Return `{name}`")


def _find_returned(line: cst.CSTNode) -> cst.BaseExpression | None:
    """Return the returned expression of a line that does nothing else."""
    one = line.body[0] if isinstance(line, cst.SimpleStatementLine) and len(line.body) == 1 else None
    return one.value if isinstance(one, cst.Return) else None


def _unwrap_rearrangement(scene: FunctionSource, node: cst.BaseExpression) -> cst.BaseExpression:
    """Return the expression that this one rearranges, takes a part of, or converts to another dtype."""
    while True:
        if isinstance(node, cst.Subscript):
            node = node.value
        elif isinstance(node, cst.Call) and isinstance(node.func, cst.Attribute) and _rearranges(scene, node):
            node = node.func.value
        else:
            return node


def _rearranges(scene: FunctionSource, node: cst.Call) -> bool:
    name = operation(scene, node)
    return is_method(scene, node) and (name in VIEWS or name in CASTS or name in ("clone", "contiguous"))
