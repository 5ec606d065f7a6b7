"""XLA202: positions of true values that are only counted, or asked whether there are any → the count, or `any`, of the mask itself.

Of `nonzero`'s rows, of a vector of positions and of an element of a tuple of these, the first size is the number of true values.
"""

from __future__ import annotations

from typing import NamedTuple

import libcst as cst

from xlalint.abstract.values import NEVER, Const, Value
from xlalint.fixes.model import NoFix, Rewrite, Site, all_of
from xlalint.fixes.toolkit import values
from xlalint.fixes.toolkit.consumers import Consumer, consumers, in_test
from xlalint.fixes.toolkit.dataflow import definition, reads, unchanged, uses
from xlalint.fixes.toolkit.function_source import FunctionSource, Replacement
from xlalint.fixes.toolkit.imports import Imports
from xlalint.fixes.toolkit.indexing import rank
from xlalint.fixes.toolkit.operations import RANDOM, arguments_of, operation
from xlalint.fixes.toolkit.selection import host_use, number_as_tensor
from xlalint.fixes.toolkit.text import atom, brief

_MATRICES = frozenset(("nonzero", "argwhere"))
_FLAT = frozenset(("flatten", "ravel"))
# What raises for tensors of bools, or inverts them, where Python bools are numbers.
_REFUSE_BOOLS = (cst.BitInvert, cst.Minus, cst.Power, cst.Subtract)
# Whether `count <operator> number` asks for at least one true value, or for none.
_PRESENT = ((cst.GreaterThan, 0), (cst.NotEqual, 0), (cst.GreaterThanEqual, 1))
_ABSENT = ((cst.Equal, 0), (cst.LessThanEqual, 0), (cst.LessThan, 1))


class Count(NamedTuple):
    """`len(mask.nonzero())`: the expression that is the number of a tensor's true values."""

    node: cst.BaseExpression
    mask: cst.BaseExpression


def count_in_mask(site: Site) -> Rewrite | NoFix | None:
    """`len(mask.nonzero()) > 0` → `mask.any()`; `mask.nonzero().shape[0]` → `mask.sum()`."""
    scene = site.scene
    if not isinstance(site.node, cst.Call) or not values.is_tensor(_subject(scene, site.node), site.framework):
        return None
    if len(arguments_of(scene, site.node)) > 1 or not _options(site.node) <= {"as_tuple"}:
        return None
    mask = arguments_of(scene, site.node)[0]
    place, removed = _find_uses(scene, site.node)
    if isinstance(place, NoFix):
        return place
    size = size_of(scene, site.framework, place[0], place[1])
    if size is None:
        return None
    if removed is not None and not stays(scene, mask, size):
        return NoFix(f"what `{scene.code(mask)}` is computed from changes before its true values are counted")
    made = present(site, Count(size, mask)) or number(site, Count(size, mask))
    if removed is None or isinstance(made, NoFix):
        return made
    return made._replace(replacements=(*made.replacements, Replacement(*scene.lines(removed), "")))


def _options(node: cst.Call) -> set[str]:
    return {arg.keyword.value for arg in node.args if arg.keyword is not None}


def _subject(scene: FunctionSource, node: cst.Call) -> Value:
    given = arguments_of(scene, node)
    return scene.value(given[0]) if given else NEVER


def _find_uses(
    scene: FunctionSource, node: cst.Call
) -> tuple[tuple[cst.BaseExpression, str] | NoFix, cst.CSTNode | None]:
    """The positions and of what form they are, where they are read: at once, or by a name that is read once, whose statement goes."""
    place = _positions(scene, node)
    assign = scene.parent(place[0])
    function = scene.function(node)
    if not isinstance(assign, cst.Assign) or len(assign.targets) != 1 or function is None:
        return place, None
    target = assign.targets[0].target
    if not isinstance(target, cst.Name) or place[1] == "tuple":
        return place, None
    found = [use for use in uses(scene, function, target.value) if definition(scene, use) is assign]
    every = [one for one in scene.descend(function, cst.Name) if one.value == target.value]
    line = scene.statement(assign)
    if len(found) != 1 or len(every) != 2 or len(scene.siblings(line)[0]) < 2:
        return place, None
    return (found[0], place[1]), line


def _positions(scene: FunctionSource, node: cst.Call) -> tuple[cst.BaseExpression, str]:
    """The expression that holds positions, from the call outward, and its form: "rows", "vector", "tuple" of vectors."""
    name = operation(scene, node)
    options = {arg.keyword.value: scene.code(arg.value) for arg in node.args if arg.keyword is not None}
    if name == "flatnonzero":
        return node, "vector"
    if name == "where" and values.callee(scene.value(node.func)).startswith("tensorflow"):
        return _vector(scene, node, node)
    if name not in _MATRICES or options == {"as_tuple": "True"} or _is_jax_tuple(scene, node, name):
        first = _item(scene, node)
        return (first, "vector") if first is not None else (node, "tuple")
    return _vector(scene, node, node)


def _is_jax_tuple(scene: FunctionSource, node: cst.Call, name: str) -> bool:
    return name == "nonzero" and values.is_tensor(_subject(scene, node), "jax")


def _vector(scene: FunctionSource, call: cst.Call, node: cst.BaseExpression) -> tuple[cst.BaseExpression, str]:
    """Rows of positions, or the vector that is made of them where a row has one element."""
    holder = scene.parent(node)
    method = scene.parent(holder) if isinstance(holder, cst.Attribute) else None
    alone = rank(scene, arguments_of(scene, call)[0]) == 1
    if alone and isinstance(holder, cst.Attribute) and isinstance(method, cst.Call) and method.func is holder:
        given = [scene.code(arg) for arg in method.args]
        if (holder.attr.value in _FLAT and not given) or (
            (holder.attr.value, *given) in (("squeeze", "-1"), ("squeeze", "1"), ("view", "-1"), ("reshape", "-1"))
        ):
            return method, "vector"
    return node, "vector" if alone else "rows"


def _item(scene: FunctionSource, node: cst.BaseExpression) -> cst.Subscript | None:
    """`node[0]`, or another element: all are of one size."""
    holder = scene.parent(node)
    if not isinstance(holder, cst.Subscript) or holder.value is not node or len(holder.slice) != 1:
        return None
    part = holder.slice[0].slice
    return holder if isinstance(part, cst.Index) and type(scene.value(part.value)) is Const else None


def size_of(scene: FunctionSource, framework: str, node: cst.BaseExpression, form: str) -> cst.BaseExpression | None:
    """The expression around positions that is their number."""
    if form == "tuple":
        return None
    holder = scene.parent(node)
    if isinstance(holder, cst.Arg):
        called = scene.parent(holder)
        if not isinstance(called, cst.Call) or len(called.args) != 1:
            return None
        name = values.callee(scene.value(called.func))
        if name == "builtins.len" or (name == "tensorflow.size" and form == "vector"):
            return called
        return _first_size(scene, called) if name == "tensorflow.shape" else None
    if not isinstance(holder, cst.Attribute) or holder.value is not node:
        return None
    called = scene.parent(holder)
    if isinstance(called, cst.Call) and called.func is holder:
        given = [scene.code(arg) for arg in called.args]
        sizes = holder.attr.value == "size" and given == ["0"]
        elements = holder.attr.value in ("numel", "nelement") and not given and form == "vector"
        return called if sizes or elements else None
    if holder.attr.value == "size" and framework == "jax" and form == "vector":
        return holder
    return _first_size(scene, holder) if holder.attr.value == "shape" else None


def _first_size(scene: FunctionSource, shape: cst.BaseExpression) -> cst.Subscript | None:
    holder = _item(scene, shape)
    return holder if holder is not None and scene.code(holder.slice[0]) == "0" else None


def stays(scene: FunctionSource, mask: cst.BaseExpression, size: cst.BaseExpression) -> bool:
    """Return whether a mask may be computed where it is counted: in the next statement, from names that still mean the same."""
    pure = not any(operation(scene, one) in RANDOM | {""} for one in scene.descend(mask, cst.Call))
    siblings, index = scene.siblings(scene.statement(mask))
    following = siblings[index + 1] if index + 1 < len(siblings) else None
    near = following is not None and scene.statement(size) is following
    since = scene.span(mask)[1]
    return pure and near and all(unchanged(scene, name, since, size) for name in reads(scene, mask))


# ------------------------------------------------------------------------------------------------------------ any


def present(site: Site, count: Count) -> Rewrite | NoFix | None:
    """Rewrite a test for any true value to `any`."""
    scene = site.scene
    asked, turned = _question(scene, count.node)
    if asked is None or site.framework == "tensorflow":
        return None
    new = f"{atom(scene, count.mask)}.any()"
    assumed = as_bool(scene, asked, new)
    if isinstance(assumed, NoFix):
        return assumed
    return Rewrite("Use `any`", (Replacement(*scene.whole(asked), f"~{new}" if turned else new),), assumed)


def as_bool(scene: FunctionSource, asked: cst.BaseExpression, new: str) -> str | NoFix:
    """Return what must be assumed for the tensor `new` to replace a Python bool, or the reason why a condition forbids it."""
    if in_test(scene, asked):
        return NoFix(
            f"`{brief(new)}` computes the same in a fixed shape, but a condition that depends on it still waits for the device"
        )
    takers = consumers(scene, asked)
    if takers & {Consumer.TEST, Consumer.STORED_TEST}:
        return NoFix(
            f"a condition that depends on `{brief(scene.code(asked))}` waits for the device, whatever its form"
        )
    holder = scene.parent(asked)
    if isinstance(holder, (cst.BinaryOperation, cst.UnaryOperation)) and isinstance(holder.operator, _REFUSE_BOOLS):
        return NoFix(f"`{brief(scene.code(holder))}` computes with a Python bool as with a number: use `.int()` of it")
    return "" if takers <= {Consumer.TENSOR} else "a tensor works where this was a Python bool"


def _question(scene: FunctionSource, count: cst.BaseExpression) -> tuple[cst.BaseExpression | None, bool]:
    """The expression that asks by a count whether there is any, and whether it is true where there is none."""
    holder = scene.parent(count)
    if isinstance(holder, cst.Comparison) and holder.left is count and len(holder.comparisons) == 1:
        target = holder.comparisons[0]
        value = scene.value(target.comparator)
        asked = (type(target.operator), value.value if type(value) is Const else None)
        if asked in _PRESENT:
            return holder, False
        return (holder, True) if asked in _ABSENT else (None, False)
    return (count, False) if in_test(scene, count) else (None, False)


# ---------------------------------------------------------------------------------------------------------- count


def number(site: Site, count: Count) -> Rewrite | NoFix:
    """The count as a tensor of no dimensions."""
    scene = site.scene
    bound = _least(scene, count.node)
    held = scene.parent(scene.parent(bound)) if bound is not None else None
    node = held if isinstance(held, cst.Call) and site.framework != "tensorflow" else count.node
    assumed = as_number(site, node)
    if isinstance(assumed, NoFix):
        return assumed
    text, imports = _write_sum(site, count)
    if bound is not None and node is not count.node:
        text = _at_least(site, text, scene.code(bound), imports)
    return Rewrite("Count in the mask", (Replacement(*scene.span(node), text), *imports.needed), all_of(assumed))


def as_number(site: Site, node: cst.BaseExpression) -> list[str] | NoFix:
    """List what must be assumed for a tensor without dimensions to replace a Python number, or return the reason why it cannot."""
    scene = site.scene
    if _is_size(scene, node):
        return NoFix("the number is a size, or a bound, of what follows")
    used = _host_use(scene, node, set())
    if used:
        return NoFix(f"the number is needed on the host: `{brief(used)}`")
    if values.is_tensor(scene.value(node), site.framework) or _takes_tensor(scene, node):
        return []  # what TensorFlow says of a size is a tensor, but for `len` and static shapes
    return [number_as_tensor(site.framework)]


def _host_use(scene: FunctionSource, node: cst.BaseExpression, followed: set[str]) -> str:
    """Where a number, or another that is worked out from it, is needed on the host; "" if that is not known."""
    outer = node
    while isinstance(holder := scene.parent(outer), (cst.BinaryOperation, cst.UnaryOperation)):
        if isinstance(holder, cst.BinaryOperation):
            other = holder.right if holder.left is outer else holder.left
            if values.tensors_only(scene.value(other)):
                return ""
        outer = holder
    if _is_size(scene, outer) or _is_kept(holder):
        return scene.code(scene.statement(outer)).split("\n")[0]
    name = _target(holder)
    if not name or name in followed:
        return ""
    followed.add(name)
    found = (_host_use(scene, use, followed) for use in uses(scene, scene.function(node) or scene.root, name))
    return next(filter(None, found), "") or host_use(scene, scene.statement(node), name)


def _is_kept(holder: cst.CSTNode) -> bool:
    """Return whether an assignment keeps a number in an attribute, which code elsewhere may make layers of."""
    return isinstance(holder, cst.Assign) and any(isinstance(one.target, cst.Attribute) for one in holder.targets)


def _target(holder: cst.CSTNode) -> str:
    """The name that an assignment is to."""
    if isinstance(holder, cst.AugAssign):
        return holder.target.value if isinstance(holder.target, cst.Name) else ""
    target = holder.targets[0].target if isinstance(holder, cst.Assign) and len(holder.targets) == 1 else None
    return target.value if isinstance(target, cst.Name) else ""


def number_of(scene: FunctionSource, framework: str, vector: cst.BaseExpression) -> cst.BaseExpression | None:
    """The expression that is the number of a vector's elements: `len(v)`, `v.numel()`, `v.shape[0]`."""
    return size_of(scene, framework, vector, "vector")


def _write_sum(site: Site, count: Count) -> tuple[str, Imports]:
    scene = site.scene
    imports = Imports(scene, count.node)
    code = scene.code(count.mask)
    if site.framework == "tensorflow":
        tf = imports.name("tensorflow")
        return f"{tf}.math.count_nonzero({code}, dtype={tf}.int32)", imports
    if values.is_bool(scene.value(count.mask)):
        return f"{atom(scene, count.mask)}.sum()", imports
    module = imports.name("torch" if site.framework == "torch" else "jax.numpy")
    return f"{module}.count_nonzero({code})", imports


def _least(scene: FunctionSource, count: cst.BaseExpression) -> cst.BaseExpression | None:
    """The number that a count is made at least by `max(1, count)`."""
    arg = scene.parent(count)
    called = scene.parent(arg)
    if not isinstance(arg, cst.Arg) or not isinstance(called, cst.Call) or len(called.args) != 2:
        return None
    other = next((one.value for one in called.args if one is not arg), None)
    alone = all(one.keyword is None and not one.star for one in called.args)
    if other is None or not alone or values.callee(scene.value(called.func)) != "builtins.max":
        return None
    value = scene.value(other)
    return other if type(value) is Const and type(value.value) is int else None


def _at_least(site: Site, count: str, least: str, imports: Imports) -> str:
    if site.framework == "torch":
        return f"{count}.clamp(min={least})"
    return f"{imports.name('jax.numpy')}.maximum({count}, {least})"


def _takes_tensor(scene: FunctionSource, node: cst.BaseExpression) -> bool:
    """Return whether a count goes into arithmetic with a tensor of floats, so that it does not decide the dtype."""
    holder = scene.parent(node)
    if not isinstance(holder, cst.BinaryOperation) or consumers(scene, node) != {Consumer.TENSOR}:
        return False
    other = holder.right if holder.left is node else holder.left
    return values.dtype_of(scene.value(other)) == "f"


def _is_size(scene: FunctionSource, node: cst.BaseExpression) -> bool:
    """Return whether a number is used where a tensor will not do: in an index, a `range`, a shape, or a comparison for a branch."""
    inner: cst.CSTNode = node
    for holder in scene.above(node):
        if isinstance(holder, cst.BinaryOperation):
            other = holder.right if holder.left is inner else holder.left
            if values.tensors_only(scene.value(other)):
                return False
        if isinstance(holder, cst.Call) and inner is not holder.func:
            return operation(scene, holder) not in ("clamp", "clip")
        if isinstance(holder, (cst.Subscript, cst.Comparison, cst.Tuple, cst.List, cst.Dict, cst.FormattedString)):
            return not isinstance(holder, (cst.Tuple, cst.List)) or not isinstance(scene.parent(holder), cst.Return)
        if isinstance(holder, cst.BaseStatement):
            return isinstance(holder, (cst.For, cst.While, cst.If))
        inner = holder
    return False
