"""XLA106: `in`, and the builtins `any`, `all` and `sorted`, over tensors → operations on the whole tensor."""

from __future__ import annotations

from collections.abc import Callable

import libcst as cst

from xlalint.abstract.values import TRUE, Const
from xlalint.fixes.model import NoFix, Rewrite, Site, all_of
from xlalint.fixes.toolkit import values
from xlalint.fixes.toolkit.consumers import Consumer, consumers
from xlalint.fixes.toolkit.function_source import FunctionSource, Replacement
from xlalint.fixes.toolkit.imports import Imports
from xlalint.fixes.toolkit.shapes import SCALAR, Types
from xlalint.fixes.toolkit.speculation import speculate
from xlalint.fixes.toolkit.text import argument, atom, bare_extent, stands_alone

_MOST_CASES = 5  # for which a chain of comparisons is still readable
_LONGEST_REPEATED = 24  # characters of code


def compare_elements(site: Site) -> Rewrite | NoFix | None:
    """`v in x` → `(x == v).any()`, and `x in (1, 2)` → `(x == 1) | (x == 2)`."""
    scene, node = site.scene, site.node
    if not isinstance(node, cst.Comparison) or len(node.comparisons) != 1:
        return None
    operator = node.comparisons[0].operator
    if not isinstance(operator, (cst.In, cst.NotIn)):
        return NoFix("Python compares the containers element by element: compare the tensors in them")
    container = node.comparisons[0].comparator
    if any(scene.descend(node, cst.Comment)):
        return NoFix("there is a comment inside the comparison: compare with `==`, and use `any`")
    if values.is_tensor(scene.value(container), site.framework):
        return _in_tensor(site, node, container, negated=isinstance(operator, cst.NotIn))
    return _in_display(site, node, container, negated=isinstance(operator, cst.NotIn))


def _in_tensor(site: Site, node: cst.Comparison, container: cst.BaseExpression, *, negated: bool) -> Rewrite | NoFix:
    scene = site.scene
    value = scene.value(node.left)
    if not values.is_number(value) and not values.is_tensor(value, site.framework):
        return NoFix(f"`{scene.code(node.left)}` is not known to be a tensor or a number in every call")
    refused = _explain_refusal(scene, node, "in")
    if refused:
        return NoFix(refused)
    if value is TRUE and values.is_bool(scene.value(container)) and not negated:
        compound = atom(scene, container) != scene.code(container)
        return _over(site, node, "any", scene.code(container), compound=compound)
    sign, word = ("!=", "all") if negated else ("==", "any")
    compared = f"{_side(scene, container)} {sign} {_side(scene, node.left)}"
    return _over(site, node, word, compared, compound=True)


def _in_display(site: Site, node: cst.Comparison, container: cst.BaseExpression, *, negated: bool) -> Rewrite | NoFix:
    scene, tensor = site.scene, node.left
    code = scene.code(tensor)
    if not values.is_tensor(scene.value(tensor), site.framework):
        return NoFix(
            f"`{code}` is not a tensor in every call, or `{scene.code(container)}` holds tensors: compare them with `==`"
        )
    cases = _cases(scene, container)
    if not 0 < len(cases) <= _MOST_CASES:
        return NoFix(f"`{scene.code(container)}` does not hold a few numbers: use {_is_in(site.framework)}")
    if len(cases) > 1 and (len(code) > _LONGEST_REPEATED or speculate(scene, [tensor], site.framework).barrier):
        return NoFix(f"`{code}` would be computed more than once: give it a name, and compare that with `==`")
    refused = _explain_refusal(scene, node, "in")
    if refused:
        return NoFix(refused)
    sign, join = ("!=", " & ") if negated else ("==", " | ")
    parts = [f"{_side(scene, tensor)} {sign} {case}" for case in cases]
    text = join.join(f"({part})" for part in parts) if len(parts) > 1 else parts[0]
    if not stands_alone(scene, node):
        text = f"({text})"
    single = Types(scene, site.framework).of(tensor).shape == SCALAR
    used = f"`{sign}` and `{join.strip()}`" if len(parts) > 1 else f"`{sign}`"
    return Rewrite(
        f"Use {used}", (Replacement(*scene.span(node), text),), "" if single else f"`{code}` has no dimensions"
    )


def _cases(scene: FunctionSource, container: cst.BaseExpression) -> list[str]:
    """The numbers of a list or tuple that is written out; none where it is something else. A set goes by the hash."""
    if not isinstance(container, (cst.List, cst.Tuple)):
        return []
    found = [one.value for one in container.elements]
    plain = all(type(value := scene.value(one)) is Const and type(value.value) in (int, float) for one in found)
    return [scene.code(one) for one in found] if plain else []


def _is_in(framework: str) -> str:
    return {"torch": "`(x[..., None] == values).any(-1)`", "jax": "`jnp.isin`"}.get(
        framework, "`tf.reduce_any(x[..., None] == values, -1)`"
    )


def _side(scene: FunctionSource, node: cst.BaseExpression) -> str:
    """An operand of `==`."""
    code = scene.code(node)
    looser = (cst.Comparison, cst.BooleanOperation, cst.IfExp, cst.Lambda, cst.NamedExpr, cst.Tuple)
    negation = isinstance(node, cst.UnaryOperation) and isinstance(node.operator, cst.Not)
    return f"({code})" if node.lpar or negation or isinstance(node, looser) else code


# ---------------------------------------------------------------------------------------------------- any, all


def any_or_all(site: Site) -> Rewrite | NoFix | None:
    """`any(x == 2)` → `(x == 2).any()`."""
    scene, node = site.scene, site.node
    word = _builtin(scene, node, ("any", "all"))
    if not isinstance(node, cst.Call) or not word or len(node.args) != 1:
        return None
    operand = node.args[0].value
    value = scene.value(operand)
    if not values.is_tensor(value, site.framework):
        return NoFix(f"`{word}` looks at tensors one by one: stack them, and take `{word}` of the stack")
    refused = _explain_refusal(scene, node, word)
    if refused:
        return NoFix(refused)
    kind = values.dtype_of(value)
    compound = atom(scene, operand) != scene.code(operand)
    if kind in ("i", "f", "c") and (kind == "i" or site.framework == "tensorflow"):
        return _over(site, node, word, f"{_side(scene, operand)} != 0", compound=True)
    assumed = "" if kind or site.framework == "jax" else f"`{scene.code(operand)}` holds bools"
    return _over(site, node, word, scene.code(operand), compound=compound, assumes=assumed)


def _over(site: Site, node: cst.BaseExpression, word: str, code: str, *, compound: bool, assumes: str = "") -> Rewrite:
    """`any` or `all` of code, as the framework writes it."""
    imports = Imports(site.scene, node)
    if site.framework == "tensorflow":
        function = f"{imports.name('tensorflow')}.reduce_{word}"
        text, used = f"{function}({code})", function
    else:
        text, used = f"({code}).{word}()" if compound else f"{code}.{word}()", f".{word}()"
    return Rewrite(f"Use `{used}`", (Replacement(*bare_extent(site.scene, node), text), *imports.needed), assumes)


def _explain_refusal(scene: FunctionSource, node: cst.BaseExpression, word: str) -> str:
    """Why no tensor may stand where a Python bool did; "" if it may."""
    takers = consumers(scene, node)
    if Consumer.STORED_TEST in takers:
        return "a condition reads the result by its name: rewrite that condition as well (XLA101)"
    if Consumer.OTHER in takers:
        return f"`{word}` gives a Python bool, which the code that uses it may need; if a tensor works too, use the tensor operation"
    return ""


def _builtin(scene: FunctionSource, node: cst.CSTNode, names: tuple[str, ...]) -> str:
    """Name the builtin that a node calls; "" for other nodes."""
    if not isinstance(node, cst.Call):
        return ""
    name = values.callee(scene.value(node.func)).removeprefix("builtins.")
    return name if name in names else ""


# ------------------------------------------------------------------------------------------------------ sorted


def in_order(site: Site) -> Rewrite | NoFix | None:
    """`sorted(x)[0]` → `x.sort().values[0]`."""
    scene, node = site.scene, site.node
    if not isinstance(node, cst.Call) or not _builtin(scene, node, ("sorted",)) or not node.args:
        return None
    operand = node.args[0].value
    value = scene.value(operand)
    if not values.is_tensor(value, site.framework):
        return NoFix("`sorted` compares tensors one by one: stack them, and sort the stack")
    descending = _descending(scene, node)
    if descending is None or not _is_indexed(scene, node):
        return NoFix("`sorted` gives a list, which the code after it may need: sort the tensor, and use it as a tensor")
    assumed = [] if values.rank_of(value) == 1 else [f"`{scene.code(operand)}` has one dimension"]
    if values.dtype_of(value) != "i":
        assumed += ["no element is NaN", "no gradient is taken where elements are equal"]
    imports = Imports(scene, node)
    text = _SORTS[site.framework](scene, operand, imports, descending)
    return Rewrite(
        f"Use `{_SORT_NAMES[site.framework]}`", (Replacement(*scene.span(node), text), *imports.needed), all_of(assumed)
    )


def _descending(scene: FunctionSource, node: cst.Call) -> bool | None:
    """Read `reverse=`; None if it is not known, or another keyword is given."""
    if len(node.args) == 1:
        return False
    keyword, value = node.args[1].keyword, scene.value(node.args[1].value)
    if len(node.args) > 2 or keyword is None or keyword.value != "reverse" or type(value) is not Const:
        return None
    return bool(value.value)


def _is_indexed(scene: FunctionSource, node: cst.Call) -> bool:
    """Return whether one element is taken by a number, and the list has no other use."""
    holder = scene.parent(node)
    if not isinstance(holder, cst.Subscript) or holder.value is not node or len(holder.slice) != 1:
        return False
    index = holder.slice[0].slice
    return isinstance(index, cst.Index) and values.is_number(scene.value(index.value))


def _torch_sort(scene: FunctionSource, operand: cst.BaseExpression, imports: Imports, descending: bool) -> str:
    return f"{atom(scene, operand)}.sort({'descending=True' if descending else ''}).values"


def _tensorflow_sort(scene: FunctionSource, operand: cst.BaseExpression, imports: Imports, descending: bool) -> str:
    extra = ', direction="DESCENDING"' if descending else ""
    return f"{imports.name('tensorflow')}.sort({argument(scene, operand)}{extra})"


def _jax_sort(scene: FunctionSource, operand: cst.BaseExpression, imports: Imports, descending: bool) -> str:
    extra = ", descending=True" if descending else ""
    return f"{imports.name('jax.numpy')}.sort({argument(scene, operand)}{extra})"


_SORTS: dict[str, Callable[[FunctionSource, cst.BaseExpression, Imports, bool], str]] = {
    "torch": _torch_sort,
    "tensorflow": _tensorflow_sort,
    "jax": _jax_sort,
}
_SORT_NAMES = {"torch": "sort", "tensorflow": "tf.sort", "jax": "jnp.sort"}


def other(site: Site) -> NoFix | None:
    """Say what a person would do about forms that have no rewrite."""
    if "hash" in site.hazard.detail:
        return NoFix("a set or dict needs the hash of its keys: use Python values that identify them as keys")
    if isinstance(site.node, cst.Call):
        return NoFix("a list is searched by comparing tensors one by one: stack them, and compare the stack once")
    return None
