"""XLA205 in JAX: `x.at[mask].set(value)` and its siblings → `jnp.where`."""

from __future__ import annotations

import libcst as cst

from xlalint.fixes.model import NoFix, Rewrite, Site, all_of
from xlalint.fixes.toolkit import values
from xlalint.fixes.toolkit.function_source import FunctionSource, Replacement
from xlalint.fixes.toolkit.gradients import is_infinite
from xlalint.fixes.toolkit.imports import Imports
from xlalint.fixes.toolkit.indexing import Aligned, align, mask_assumption, read_masked
from xlalint.fixes.toolkit.shapes import Types
from xlalint.fixes.toolkit.text import argument, atom, call, width_of

_OPERATORS = {"add": "+", "subtract": "-", "multiply": "*", "mul": "*", "divide": "/", "div": "/"}
_FUNCTIONS = {"min": "minimum", "max": "maximum"}
_ORDER = "bifc"


def update(site: Site) -> Rewrite | NoFix | None:
    """`x.at[mask].add(1)` → `jnp.where(mask, x + 1, x)`."""
    scene = site.scene
    if site.framework != "jax" or not isinstance(site.node, cst.Subscript):
        return None
    at, method = site.node.value, scene.parent(site.node)
    called = scene.parent(method)
    if not isinstance(at, cst.Attribute) or at.attr.value != "at" or not isinstance(method, cst.Attribute):
        return None
    if not isinstance(called, cst.Call) or called.func is not method:
        return None
    name = method.attr.value
    if name not in ("set", *_OPERATORS, *_FUNCTIONS):
        return NoFix(f"`{name}` through a mask has no equivalent with `jnp.where`")
    if len(called.args) != 1 or called.args[0].keyword is not None or called.args[0].star:
        return NoFix("its options have no equivalent in `jnp.where`")
    return _rewrite(site, called, at.value, name, called.args[0].value)


def _rewrite(
    site: Site, called: cst.Call, base: cst.BaseExpression, name: str, value: cst.BaseExpression
) -> Rewrite | NoFix | None:
    scene = site.scene
    index = read_masked(scene, site.node)
    if index is None:
        return None
    index = index._replace(base=base)
    assumption = mask_assumption(scene, index.mask, "jax")
    if isinstance(assumption, NoFix):
        return assumption
    place = align(scene, index)
    if isinstance(place, NoFix):
        return place
    if place.whole != atom(scene, base):
        return NoFix(f"the mask covers a part of `{scene.code(base)}` only")
    flat = values.is_number(scene.value(value)) or values.rank_of(scene.value(value)) == 0
    if not flat:
        return NoFix(f"it is not known that `{scene.code(value)}` is one number for all positions")
    finite = values.is_number(scene.value(value)) and not is_infinite(scene, value)
    tame = _OPERATORS.get(name) not in ("*", "/") or (finite and _OPERATORS[name] == "*")
    risk = "" if tame else f"`{name}` has a finite gradient where `{scene.code(index.mask)}` is false, or none is taken"
    imports = Imports(scene, called)
    numpy = imports.name("jax.numpy")
    chosen = [place.mask, _write_choice(scene, place, name, value, numpy, base), place.whole]
    start, end = scene.span(called)
    line = scene.document.text.rfind("\n", 0, start) + 1
    text = call(f"{numpy}.where", chosen, start - line, scene.indent(called), width=width_of(scene))
    assumed = all_of(filter(None, (assumption, place.assumes, _kept_dtype(scene, base, name, value), risk)))
    return Rewrite("Use `jnp.where`", (Replacement(start, end, text), *imports.needed), assumed)


def _write_choice(
    scene: FunctionSource, place: Aligned, name: str, value: cst.BaseExpression, numpy: str, base: cst.BaseExpression
) -> str:
    """Return the code of the elements where the mask is true."""
    if name in _OPERATORS:
        return f"{place.whole} {_OPERATORS[name]} {atom(scene, value)}"
    if name in _FUNCTIONS:
        return f"{numpy}.{_FUNCTIONS[name]}({place.whole}, {argument(scene, value)})"
    types = Types(scene, "jax")
    if values.is_number(scene.value(value)) or types.of(value).dtype == types.of(base).dtype != "":
        return argument(scene, value)
    return f"{atom(scene, value)}.astype({place.whole}.dtype)"


def _kept_dtype(scene: FunctionSource, base: cst.BaseExpression, name: str, value: cst.BaseExpression) -> str:
    """Return what must be assumed for the result to keep the dtype of what is updated. A Python number takes that of its kind."""
    types = Types(scene, "jax")
    given, kind = types.of(value), values.dtype_of(scene.value(base))
    if not given.number:
        same = name == "set" or given.dtype == types.of(base).dtype != ""
        return "" if same else f"`{scene.code(value)}` has the dtype of `{scene.code(base)}`"
    if kind and given.kind and _ORDER.index(given.kind) <= _ORDER.index(kind):
        return ""
    return f"`{scene.code(base)}` holds numbers of the kind of `{scene.code(value)}`"
