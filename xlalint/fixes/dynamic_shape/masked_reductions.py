"""XLA201, XLA204: a reduction of what a mask selects → that of the whole, with the reducer's identity where the mask is false.

`where` keeps what is masked out from values and gradients, NaN and infinities included; a product with the mask would not. Between the
selection and the reduction there may be what keeps zeros zero: `(x[m] - y[m]).abs().mean()`.
"""

from __future__ import annotations

from typing import NamedTuple

import libcst as cst

from xlalint.abstract.values import Const
from xlalint.fixes.dynamic_shape import deviations
from xlalint.fixes.model import NoFix, Rewrite, Site, all_of
from xlalint.fixes.toolkit import values
from xlalint.fixes.toolkit.autocast import autocasts
from xlalint.fixes.toolkit.dataflow import binds, definition
from xlalint.fixes.toolkit.function_source import FunctionSource, Replacement
from xlalint.fixes.toolkit.gradients import without_gradient
from xlalint.fixes.toolkit.imports import Imports
from xlalint.fixes.toolkit.indexing import Aligned, Masked, align, base_assumption, mask_assumption, same_rank
from xlalint.fixes.toolkit.occurrences import occurrences
from xlalint.fixes.toolkit.operations import RANDOM, arguments_of, is_method, operation
from xlalint.fixes.toolkit.picking import (
    SAME_ELEMENTS,
    Selection,
    find_selections,
    has_product,
    selection,
    without_mask,
)
from xlalint.fixes.toolkit.text import WIDTH, atom, indent_expression

_MODULES = {"torch": "torch", "tensorflow": "tensorflow", "jax": "jax.numpy"}
_REDUCERS = {
    "all": "all",
    "amax": "max",
    "amin": "min",
    "any": "any",
    "max": "max",
    "mean": "mean",
    "min": "min",
    "prod": "prod",
    "reduce_all": "all",
    "reduce_any": "any",
    "reduce_max": "max",
    "reduce_mean": "mean",
    "reduce_min": "min",
    "reduce_prod": "prod",
    "reduce_sum": "sum",
    "std": "std",
    "sum": "sum",
    "var": "var",
}
_KEEP_ZERO = frozenset(("abs", "absolute", "relu", "square"))
ORDER = "the order in which numbers are added does not matter"


class MaskedReduction(NamedTuple):
    """A reduction of an expression `operand`, made of selections and of what keeps zeros; `name` is sum, mean, max, …"""

    call: cst.Call
    name: str
    inner: cst.BaseExpression  # the selections' sum
    operand: cst.BaseExpression


def reduction(site: Site) -> Rewrite | NoFix | None:
    """`x[mask].sum()` → `torch.where(mask, x, 0).sum()`."""
    scene = site.scene
    one = selection(scene, site.node) if isinstance(site.node, (cst.Subscript, cst.Call)) else None
    if one is None:
        return None
    found = _find_reduction(scene, one)
    if not isinstance(found, MaskedReduction):
        return found
    picked = find_selections(scene, found.inner, scene.code(one.mask))
    place = find_place(site, picked)
    if not isinstance(place, MaskPlacement):
        return place
    if has_product(scene, found.inner):
        place.assume(f"what `{scene.code(one.mask)}` leaves out is finite, or has no gradient")
    return _rewrite(site, found, place, without_mask(scene, found.inner, picked))


def reduce_named(site: Site) -> Rewrite | NoFix | None:
    """`chosen = x[mask]`, of which nothing but sums, or means, are taken later: `chosen = torch.where(mask, x, 0)`."""
    scene = site.scene
    one = selection(scene, site.node) if isinstance(site.node, (cst.Subscript, cst.Call)) else None
    statement = scene.parent(site.node)
    if one is None or not isinstance(statement, cst.Assign) or len(statement.targets) != 1:
        return None
    target, function = statement.targets[0].target, scene.function(statement)
    if not isinstance(target, cst.Name) or function is None:
        return None
    reductions = _reductions_of_name(scene, function, statement, target.value)
    if isinstance(reductions, NoFix):
        return reductions
    place = find_place(site, [one])
    if not isinstance(place, MaskPlacement):
        return place
    means = [found for found in reductions if found.name == "mean"]
    if means and "(None,) *" in place.mask:
        return NoFix(
            f"the number of dimensions is not known, on which the count of `{place.mask}` depends; align the mask by hand"
        )
    if means and not _stays(scene, one, statement):
        return NoFix(f"what `{scene.code(one.mask)}` is computed from changes before the mean is taken")
    imports = Imports(scene, statement)
    module = imports.name(_MODULES[site.framework])
    texts = [(Replacement(*scene.span(found.call), _write_mean(site, found, place))) for found in means]
    if means:
        _means(site, place)
    elif place.kind not in ("b", "i"):
        place.assume(ORDER)
    value = f"{module}.where({place.mask}, {scene.code(one.whole)}, 0)"
    first = Replacement(*scene.span(one.node), value)
    return Rewrite("Use `where`", (first, *texts, *imports.needed), all_of(place.assumptions))


def _reductions_of_name(
    scene: FunctionSource, function: cst.FunctionDef, statement: cst.Assign, name: str
) -> list[MaskedReduction] | NoFix:
    """The sums and means that are all that is made of a name's value."""
    found: list[MaskedReduction] = []
    other = NoFix(f"`{name}` is used for more than its sum or mean, and other code may expect its shape")
    if occurrences(scene).read_by_nested(function, name):
        return other
    for use in occurrences(scene).reads_from(function, name, scene.extent(statement)[1]):
        if definition(scene, use) is not statement:
            return other
        one = find_reduction_of(scene, use, use)
        if not isinstance(one, MaskedReduction) or one.name not in ("sum", "mean"):
            return other
        found.append(one)
    return found or other


def _stays(scene: FunctionSource, one: Selection, statement: cst.Assign) -> bool:
    """Return whether a mask may be computed again later: nothing that it is made of is bound, by the statement itself or after it, or
    changed in place.
    """
    function = scene.function(statement)
    if function is None or not is_repeatable(scene, one.mask):
        return False
    made_of = {name.value for name in scene.descend(one.mask, cst.Name)}
    if made_of & binds(scene, statement):
        return False
    start = scene.span(statement)[1]
    for name in scene.descend(function, cst.Name):
        if name.value in made_of and scene.span(name)[0] >= start and _may_change(scene, name):
            return False
    return True


def _may_change(scene: FunctionSource, name: cst.Name) -> bool:
    holder = scene.parent(name)
    if isinstance(holder, cst.Subscript):
        return isinstance(scene.parent(holder), (cst.AssignTarget, cst.AugAssign))
    if isinstance(holder, cst.Attribute):
        return holder.attr.value.endswith("_") or isinstance(scene.parent(holder), (cst.AssignTarget, cst.AugAssign))
    return isinstance(holder, (cst.AssignTarget, cst.AugAssign, cst.For, cst.Element, cst.NamedExpr))


def _write_mean(site: Site, found: MaskedReduction, place: MaskPlacement) -> str:
    """A mean as the quotient of a sum and the number of elements."""
    scene = site.scene
    text = with_replaced(scene, found, scene.document.text[slice(*scene.whole(found.inner))])
    return deviations.quotient(scene, found.call, f"{text} / {place.count}")


# --------------------------------------------------------------------------------------------------- from the inside out


def _find_reduction(scene: FunctionSource, one: Selection) -> MaskedReduction | NoFix | None:
    """The reduction that a selection goes into."""
    mask = scene.code(one.mask)
    inner: cst.BaseExpression = one.node
    while (outer := _outer(scene, inner)) is not None and find_selections(scene, outer, mask):
        inner = outer
    return find_reduction_of(scene, inner, inner)


def find_reduction_of(
    scene: FunctionSource, inner: cst.BaseExpression, operand: cst.BaseExpression
) -> MaskedReduction | NoFix | None:
    """The reduction of an expression, perhaps behind what keeps zeros."""
    while (outer := _outer(scene, operand)) is not None and _keeps_zero(scene, outer, operand):
        operand = outer
    holder = _outer(scene, operand)
    if not isinstance(holder, cst.Call) or arguments_of(scene, holder)[:1] != [operand]:
        return None
    name = _REDUCERS.get(operation(scene, holder), "")
    if not name:
        return None
    optional = name in ("std", "var") and deviations.correction(scene, holder)
    if not optional and (len(arguments_of(scene, holder)) > 1 or any(arg.keyword is not None for arg in holder.args)):
        return NoFix(f"`{scene.code(holder)}` reduces along a dimension, or has options")
    if operand is not inner and name not in ("sum", "mean"):
        return NoFix(f"`{name}` has no neutral value that `{scene.code(operand)}` keeps")
    return MaskedReduction(holder, name, inner, operand)


def _outer(scene: FunctionSource, node: cst.BaseExpression) -> cst.BaseExpression | None:
    """The operation that an expression is an operand of: an operator, a method of it, or a function's argument."""
    holder = scene.parent(node)
    if isinstance(holder, (cst.BinaryOperation, cst.UnaryOperation)):
        return holder
    if isinstance(holder, cst.Attribute):
        called = scene.parent(holder)
        return called if isinstance(called, cst.Call) and called.func is holder else None
    called = scene.parent(holder)
    return called if isinstance(holder, cst.Arg) and isinstance(called, cst.Call) else None


def _keeps_zero(scene: FunctionSource, outer: cst.BaseExpression, operand: cst.BaseExpression) -> bool:
    """Return whether an operation gives zero for zero, with a finite slope."""
    if isinstance(outer, cst.UnaryOperation):
        return isinstance(outer.operator, cst.Minus)
    if isinstance(outer, cst.BinaryOperation):
        value = scene.value(outer.right)
        if outer.left is not operand or type(value) is not Const or not isinstance(value.value, (int, float)):
            return False
        scaled = isinstance(outer.operator, (cst.Multiply, cst.Divide)) and value.value != 0
        return (scaled and abs(value.value) < 1e30) or (isinstance(outer.operator, cst.Power) and value.value >= 1)
    if not isinstance(outer, cst.Call):
        return False
    given, name = arguments_of(scene, outer), operation(scene, outer)
    if given[:1] != [operand] or any(arg.keyword is not None for arg in outer.args):
        return False
    if name == "pow" and len(given) == 2:
        power = scene.value(given[1])
        return type(power) is Const and isinstance(power.value, (int, float)) and power.value >= 1
    return (name in _KEEP_ZERO and len(given) == 1) or (name in SAME_ELEMENTS and is_method(scene, outer))


# ------------------------------------------------------------------------------------------------------------ alignment


class MaskPlacement:
    """How the mask lines up with what it selects from, of which dtype that is, and what was assumed."""

    def __init__(self, mask: str, count: str, kind: str, simple: bool) -> None:
        self.mask = mask
        self.count = count
        self.kind = kind
        self.simple = simple
        self.broadcast = ""
        self.assumptions: list[str] = []

    def assume(self, what: str) -> None:
        """Note an assumption."""
        if what and what not in self.assumptions:
            self.assumptions.append(what)


def find_place(site: Site, picked: list[Selection]) -> MaskPlacement | NoFix | None:
    """How the mask of some selections lines up with what they select from, or why that cannot be told."""
    scene, framework = site.scene, site.framework
    assumptions: list[str] = []
    lined: list[tuple[Selection, Aligned]] = []
    for one in picked:
        told = assume_tensors(scene, framework, one)
        if isinstance(told, NoFix):
            return told
        assumptions += told
        exact = one.broadcasts or same_rank(scene, one.mask, one.whole)
        place = (
            Aligned(atom(scene, one.whole), scene.code(one.mask))
            if exact
            else align(scene, Masked(one.whole, one.mask))
        )
        if isinstance(place, NoFix):
            return place
        assumptions.append(place.assumes)
        lined.append((one, place))
    first, place = lined[0]
    if len({place.mask for _, place in lined}) > 1:
        if not all("(None,) *" in place.mask for _, place in lined):
            return NoFix("the mask aligns differently with each tensor that it selects from")
        others = " and ".join(f"`{scene.code(one.whole)}`" for one, _ in lined[1:])
        assumptions.append(f"`{scene.code(first.whole)}` has as many dimensions as {others}")
    kinds = {values.dtype_of(scene.value(one.whole)) for one, _ in lined}
    kind = kinds.pop() if len(kinds) == 1 else ""
    made = MaskPlacement(place.mask, _count(scene, framework, first, place), kind, is_repeatable(scene, first.mask))
    for assumption in assumptions:
        made.assume(assumption)
    if first.broadcasts and not same_rank(scene, first.mask, first.whole):
        made.broadcast = f"`{place.mask}` has the shape of `{place.whole}`"
    return made


def assume_tensors(scene: FunctionSource, framework: str, one: Selection) -> list[str] | NoFix:
    """List what must hold for a selection to be one by a mask from a tensor, or return why it may be none."""
    takes_bools = isinstance(one.node, cst.Call) and operation(scene, one.node) in ("masked_select", "boolean_mask")
    of_mask = base_assumption if takes_bools else mask_assumption
    assumptions: list[str] = []
    for found in (base_assumption(scene, one.whole, framework), of_mask(scene, one.mask, framework)):
        if isinstance(found, NoFix):
            return found
        assumptions.append(found)
    return assumptions


def _count(scene: FunctionSource, framework: str, one: Selection, place: Aligned) -> str:
    """The number of elements that are selected, as code."""
    whole = place.mask == scene.code(one.mask)
    if framework == "tensorflow":
        spread = place.mask if whole else f"tf.broadcast_to({place.mask}, tf.shape({place.whole}))"
        return f"tf.math.count_nonzero({spread}, dtype={place.whole}.dtype)"
    mask = atom(scene, one.mask) if whole else place.mask
    return f"{mask}.sum()" if whole else f"{mask}.expand_as({place.whole}).sum()"


def is_repeatable(scene: FunctionSource, mask: cst.BaseExpression) -> bool:
    """Return whether a mask may be computed twice: it is a name, or made by operations that draw nothing."""
    calls = list(scene.descend(mask, cst.Call))
    return not any(operation(scene, one) in RANDOM | {""} for one in calls) and not list(
        scene.descend(mask, cst.NamedExpr)
    )


# ------------------------------------------------------------------------------------------------------------- the result


def _rewrite(site: Site, found: MaskedReduction, place: MaskPlacement, whole: str) -> Rewrite | NoFix:
    scene = site.scene
    if found.name in ("std", "var") and site.framework == "torch":
        return _spread(site, found, place, whole)
    if found.name in ("std", "var") and site.framework != "jax":
        return NoFix(
            f"`{found.name}` of a part: write the mean, then the mean of the squared distances, each with `where`"
        )
    if site.framework == "jax":
        return _jax(site, found, place, whole)
    if found.name == "mean" and "(None,) *" in place.mask:
        return NoFix(
            f"the number of dimensions is not known, on which the count of `{place.mask}` depends; align the mask by hand"
        )
    if found.name == "mean" and not place.simple:
        return NoFix(f"the mask is needed twice; give `{place.mask}` a name")
    imports = Imports(scene, found.call)
    module = imports.name(_MODULES[site.framework])
    identity = _identity(site, found.name, place, whole)
    if isinstance(identity, NoFix):
        return identity
    if identity in ("&", "|") and found.inner is found.operand:
        negation = "" if identity == "&" else "~"
        new, message = f"({whole} {identity} {negation}{as_atom(place.mask)})", "Combine the masks"
    else:
        new, message = _where(scene, found, f"{module}.where", [place.mask, whole, identity]), "Use `where`"
        if "(None,) *" in place.mask and "\n" in new and "\n" not in scene.code(found.inner):
            return NoFix(f"the number of dimensions is not known; align `{place.mask}` by hand")
    text = with_replaced(scene, found, new)
    if found.name == "mean":
        _means(site, place)
        text = deviations.quotient(scene, found.call, f"{text} / {place.count}")
    elif found.name in ("sum", "prod") and place.kind not in ("b", "i"):
        place.assume(ORDER)
    return Rewrite(message, (Replacement(*scene.span(found.call), text), *imports.needed), all_of(place.assumptions))


def _spread(site: Site, found: MaskedReduction, place: MaskPlacement, whole: str) -> Rewrite | NoFix:
    """`x[mask].std()` → the root of the mean square of what the mask selects of the distances from its mean."""
    if place.kind not in ("f", "") or "(None,) *" in place.mask:
        return NoFix(f"`{found.name}` of values that may not be floats, or may have any number of dimensions")
    if not place.simple:
        return NoFix(f"the mask is needed twice; give `{place.mask}` a name")
    place.assume(place.broadcast)
    made = deviations.spread(site, found.call, found.name, deviations.MaskedPart(place.mask, place.count, whole))
    if isinstance(made, NoFix):
        return made
    return made._replace(assumes=all_of([*place.assumptions, ORDER, *filter(None, [_sum_kept(site)]), made.assumes]))


def _sum_kept(site: Site) -> str:
    """Return what is assumed where a sum replaces an operation that autocast leaves alone; "" for nothing."""
    under = site.framework == "torch" and autocasts(site.scene, site.node)
    return "autocast leaves the dtype of a sum as it is, which it does not on CUDA" if under else ""


def _means(site: Site, place: MaskPlacement) -> None:
    place.assume(ORDER)
    place.assume(place.broadcast)
    place.assume(_sum_kept(site))
    if site.framework == "tensorflow" and place.kind != "f":
        place.assume("these are floats")


def _identity(site: Site, name: str, place: MaskPlacement, whole: str) -> str | NoFix:
    """Return the neutral element of a reduction, as code with the dtype of the rest."""
    kind, low = place.kind, name == "max"
    if name == "sum" and kind == "b" and _is_plain(whole.removeprefix("~")):
        return "&"  # counts what both select
    if name in ("sum", "mean"):
        return "0"  # of any dtype: Python's ints take that of the tensor
    if name == "prod":
        return "1"
    if name in ("any", "all"):
        if kind == "b" and _is_plain(whole.removeprefix("~")):
            return "&" if name == "any" else "|"
        return str(name == "all")
    if kind == "i":
        limit = "min" if low else "max"
        dtype = f"{as_atom(whole)}.dtype"
        return f"torch.iinfo({dtype}).{limit}" if site.framework == "torch" else f"{dtype}.{limit}"
    if kind in ("", "c", "b"):
        if kind:
            return NoFix(f"`{name}` has no neutral value of this dtype")
        place.assume(f"`{whole}` holds floats")
    _assume_finite(site, place)
    return 'float("-inf")' if low else 'float("inf")'


def _assume_finite(site: Site, place: MaskPlacement) -> None:
    """The gradient of an extremum goes to all elements that are it: also to what fills the rest, where nothing else is selected."""
    if not without_gradient(site.scene, site.node):
        place.assume(f"`{place.mask}` selects something finite, or no gradient is taken")


def _jax(site: Site, found: MaskedReduction, place: MaskPlacement, whole: str) -> Rewrite | NoFix:
    """`x[mask].sum()` → `x.sum(where=mask)`: the reductions of `jnp` take a mask."""
    scene, call = site.scene, found.call
    imports = Imports(scene, call)
    options = [f"where={place.mask}"]
    if found.name in ("max", "min"):
        identity = _jax_identity(site, imports, found.name, place, whole)
        if isinstance(identity, NoFix):
            return identity
        options.append(f"initial={identity}")
    new = whole
    if found.operand is not found.inner:
        new = f"{imports.name('jax.numpy')}.where({place.mask}, {whole}, 0)"
    elif is_method(scene, call) and not _is_plain(whole):
        new = f"({whole})"
    start, end = scene.whole(found.inner)
    text, (first, last) = scene.document.text, scene.span(call)
    body = f"{text[first:start]}{new}{text[end:last]}".rstrip()
    open_ = body[:-1].rstrip().removesuffix(",")
    body = f"{open_}{'' if open_.endswith('(') else ', '}{', '.join(options)})"
    if found.name in ("sum", "mean", "prod", "std", "var") and place.kind not in ("b", "i"):
        place.assume(ORDER)
    place.assume(place.broadcast)
    return Rewrite("Use `where=`", (Replacement(first, last, body), *imports.needed), all_of(place.assumptions))


def _jax_identity(site: Site, imports: Imports, name: str, place: MaskPlacement, whole: str) -> str | NoFix:
    numpy = imports.name("jax.numpy")
    if place.kind == "i":
        return f"{numpy}.iinfo({as_atom(whole)}.dtype).{'min' if name == 'max' else 'max'}"
    if place.kind in ("b", "c"):
        return NoFix(f"`{name}` has no neutral value of this dtype")
    if not place.kind:
        place.assume(f"`{whole}` holds floats")
    _assume_finite(site, place)
    return f"-{numpy}.inf" if name == "max" else f"{numpy}.inf"


def with_replaced(scene: FunctionSource, found: MaskedReduction, new: str) -> str:
    """The reduction's code with its selections replaced; a mean becomes a sum."""
    text = scene.document.text
    first, last = scene.span(found.call)
    start, end = scene.whole(found.inner)
    before, after = text[first:start], text[end:last]
    if found.name != "mean":
        return f"{before}{new}{after}".replace("\r\n", "\n")
    func = found.call.func
    name = func.attr if isinstance(func, cst.Attribute) else func
    at, until = scene.span(name)
    summed = scene.code(name).replace("mean", "sum")
    if at < start:
        before = text[first:at] + summed + text[until:start]
    else:
        after = text[end:at] + summed + text[until:last]
    return f"{before}{new}{after}".replace("\r\n", "\n")


def _where(scene: FunctionSource, found: MaskedReduction, function: str, given: list[str]) -> str:
    """The call of `where`, on lines of its own for each argument if it does not fit."""
    line = f"{function}({', '.join(given)})"
    start, _ = scene.span(found.call)
    column = start - (scene.document.text.rfind("\n", 0, start) + 1)
    if column + len(line) <= WIDTH + 20 and "\n" not in line:
        return line
    indent = scene.indent(found.call)
    inner = f"{indent}    "
    return f"{function}(\n{''.join(f'{inner}{indent_expression(one, inner)},{chr(10)}' for one in given)}{indent})"


def as_atom(code: str) -> str:
    """Code, in parentheses unless it binds as closely as a name."""
    return code if _is_plain(code) else f"({code})"


def _is_plain(code: str) -> bool:
    """Return whether code binds as closely as a name: a name, a call, a subscript, attributes of these."""
    try:
        node = cst.parse_expression(code)
    except cst.ParserSyntaxError:
        return False
    closed = bool(getattr(node, "lpar", ()))
    return closed or isinstance(node, (cst.Name, cst.Attribute, cst.Call, cst.Subscript))


def explain_selection(site: Site) -> NoFix:
    """Why a selection stays whose elements are not reduced at once."""
    code = site.scene.code(site.node)
    if len(code) > 60 or "\n" in code:
        return NoFix(
            "code that reads the selection may expect its shape; keep the whole tensor and pass the mask along"
        )
    return NoFix(f"code that reads `{code}` may expect its shape; keep the whole tensor and pass the mask along")
