"""XLA203: distinct values that are only counted → where sorted neighbours differ; in JAX, `size=` where only a sum is taken of them."""

from __future__ import annotations

import libcst as cst

from xlalint.abstract.values import Const
from xlalint.fixes.dynamic_shape import positions
from xlalint.fixes.dynamic_shape.counts import as_bool, as_number, number_of
from xlalint.fixes.model import NoFix, Rewrite, Site, all_of
from xlalint.fixes.toolkit import values
from xlalint.fixes.toolkit.function_source import FunctionSource, Replacement
from xlalint.fixes.toolkit.indexing import rank
from xlalint.fixes.toolkit.operations import arguments_of, operation
from xlalint.fixes.toolkit.text import atom, brief, call_at

_SIZED = {
    "intersect1d": 1,
    "setdiff1d": 1,
    "union1d": 2,
    "unique": 1,
}  # of how many arguments the sizes add up to the most


def count_neighbours(site: Site) -> Rewrite | NoFix | None:
    """`x.unique().numel() == 1` → `(x.diff() == 0).all()`; `len(x.unique())` → `(x.sort().values.diff() != 0).sum() + 1`."""
    scene, node = site.scene, site.node
    if site.framework != "torch" or not isinstance(node, cst.Call):
        return None
    name, given = operation(scene, node), arguments_of(scene, node)
    if name not in ("unique", "unique_consecutive") or len(given) != 1 or _has_options(scene, node):
        return None
    size = number_of(scene, "torch", node)
    if size is None:
        return None
    flat = atom(scene, given[0]) + ("" if rank(scene, given[0]) == 1 else ".flatten()")
    assumed = [f"`{brief(scene.code(given[0]))}` is not empty"]
    if values.dtype_of(scene.value(given[0])) not in ("b", "i"):
        assumed.append("its values are finite")
    return _all_same(site, size, flat, assumed) or _number(site, size, flat, name == "unique", assumed)


def _has_options(scene: FunctionSource, node: cst.Call) -> bool:
    """Return whether a call asks for more than the values, or for rows. Sorting does not matter."""
    return any(arg.keyword is not None and arg.keyword.value != "sorted" for arg in node.args) or any(
        arg.star for arg in node.args
    )


def _all_same(site: Site, size: cst.BaseExpression, flat: str, assumed: list[str]) -> Rewrite | NoFix | None:
    scene, holder = site.scene, site.scene.parent(size)
    if not isinstance(holder, cst.Comparison) or holder.left is not size or len(holder.comparisons) != 1:
        return None
    target = holder.comparisons[0]
    value = scene.value(target.comparator)
    asked = (type(target.operator), value.value if type(value) is Const else None)
    if asked in ((cst.Equal, 1), (cst.LessThanEqual, 1), (cst.LessThan, 2)):
        new = f"({flat}.diff() == 0).all()"
    elif asked in ((cst.NotEqual, 1), (cst.GreaterThan, 1), (cst.GreaterThanEqual, 2)):
        new = f"({flat}.diff() != 0).any()"
    else:
        return None
    told = as_bool(scene, holder, new)
    if isinstance(told, NoFix):
        return told
    if told:
        assumed.append(told)
    return Rewrite("Compare neighbours", (Replacement(*scene.whole(holder), new),), all_of(assumed))


def _number(site: Site, size: cst.BaseExpression, flat: str, unsorted: bool, assumed: list[str]) -> Rewrite | NoFix:
    scene = site.scene
    refused = as_number(site, size)
    if isinstance(refused, NoFix):
        return refused
    ordered = f"{flat}.sort().values" if unsorted else flat
    new = f"({ordered}.diff() != 0).sum() + 1"
    holder = scene.parent(size)
    closer = (cst.BinaryOperation, cst.UnaryOperation, cst.Comparison, cst.Attribute)
    if isinstance(holder, closer) and not size.lpar:
        new = f"({new})"
    return Rewrite(
        "Count where neighbours differ", (Replacement(*scene.span(size), new),), all_of([*assumed, *refused])
    )


def give_size(site: Site) -> Rewrite | NoFix | None:
    """`jnp.unique(x).sum()` → `jnp.unique(x, size=x.size, fill_value=0).sum()`."""
    scene, node = site.scene, site.node
    if site.framework != "jax" or not isinstance(node, cst.Call):
        return None
    most = _SIZED.get(operation(scene, node), 0)
    given = [arg.value for arg in node.args]
    if not most or len(given) > 2 or any(arg.keyword is not None or arg.star for arg in node.args):
        return None
    if not all(isinstance(one, (cst.Name, cst.Attribute)) for one in given):
        return NoFix("its arguments have no names to take the size of")
    if positions.find_fill_value(scene, node) != "0":
        return NoFix(
            "it is not known what padded values would do here; give `size=` and a `fill_value=` that later code ignores"
        )
    size = " + ".join(f"{scene.code(one)}.size" for one in given[:most])
    text = call_at(scene, node, scene.code(node.func), [*map(scene.code, given), f"size={size}", "fill_value=0"])
    assumed = (
        ""
        if values.dtype_of(scene.value(given[0])) in ("b", "i")
        else "the order in which numbers are added does not matter"
    )
    return Rewrite("Give the size", (Replacement(*scene.span(node), text),), assumed)


def explain_values(site: Site) -> NoFix:
    """Why distinct values stay."""
    scene = site.scene
    if isinstance(scene.parent(site.node), cst.For):
        return NoFix(
            "the loop runs once for each distinct value; compute over all possible values, or over the batch at once"
        )
    return NoFix(
        "it is not known how many distinct values there can be; if they are numbered, compute over all numbers"
        " (`one_hot`, a sum by segments), otherwise find them on the host, before the step"
    )
